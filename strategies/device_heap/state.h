/* What the files of the device heap share. */
#ifndef GAMUT_DEVICE_HEAP_STATE_H
#define GAMUT_DEVICE_HEAP_STATE_H

#include "base/text.h"
#include "device_heap/heap.h"
#include "device_heap/heap_kernels.h"

/* A batch of so many is collected without asking the host for memory. */
enum { COMMAND_BYTES = COMMAND_WORDS * 4, BATCH_COMMANDS = 256 };

struct heap_memory {
    uint64_t handle, bytes;
};

/* An arena with its index, the slots that are its own, and the commands that wait for a submit. */
struct heap_arena {
    struct heap_memory words, index;
    uint32_t first_slot;
    uint32_t *spare_slots; /* a stack */
    uint32_t spare_count;
    uint32_t *batch; /* COMMAND_WORDS words each */
    uint32_t batch_count, batch_capacity;
};

struct device_heap {
    struct device *device;
    const struct device_ops *ops;
    struct device_heap_kernels *kernels;
    bool own_kernels;
    enum device_heap_policy policy;
    enum device_heap_padding padding;
    uint32_t words, capacity, slots_each, slot_count, ring_commands;
    struct heap_memory slots, report, commands, pinned;
    uint32_t *pinned_words; /* the host's address of `pinned`; NULL where there is none */
    uint32_t ring_count;    /* commands of the ring in use since the last wait */
    uint8_t *taken;         /* by slot */
    uint64_t launches, waits;
    unsigned arena_count;
    struct heap_arena arenas[];
};

static inline struct heap_arena *heap_arena_of(const struct device_heap *h, uint32_t slot)
{
    return (struct heap_arena *)&h->arenas[slot / h->slots_each];
}

struct device_heap_kernels {
    struct device *device;
    struct device_program *program;
    struct text text; /* must live as long as the program */
};

/* ---- batch.c ---- */

/* All slots are spare and the batches empty. */
void heap_free_all_slots(struct device_heap *heap);

/* The arguments of a launch, in the order of its kernel's parameters. */
enum { ARGUMENTS_MAX = 40 };
struct heap_arguments {
    enum launch_arg_kind kinds[ARGUMENTS_MAX];
    union launch_value values[ARGUMENTS_MAX];
    size_t count;
};
void heap_add_memory(struct heap_arguments *a, uint64_t memory);
void heap_add_word(struct heap_arguments *a, uint32_t word);
/* Index, arena and slots. */
void heap_add_memories(struct heap_arguments *a, const struct device_heap *heap,
                       const struct heap_arena *arena);
/* What every kernel is told of the heap, in the order of heap_begin. */
void heap_add_sizes(struct heap_arguments *a, const struct device_heap *heap);
/* One group of so many items. */
int heap_launch(struct device_heap *heap, enum heap_kernel kernel, unsigned items,
                const struct heap_arguments *a, struct error *error);

#endif
