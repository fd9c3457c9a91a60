/* The host's side of the device heap: its memories, slots and batches of commands. */
#include "experiment/heap/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "experiment/heap/heap_kernels.h"
#include "program/prelude.h"

enum { SLOT_BYTES = SLOT_WORDS * 4, REPORT_BYTES = REPORT_WORDS * 4 };

/* Words of an arena: positions and sizes, and sums of a position and a group's items, must not
 * wrap around. */
static const uint64_t words_most = UINT32_MAX - 1024;

const char *const device_heap_policy_names[DEVICE_HEAP_POLICIES] = {
    [DEVICE_HEAP_LARGER] = "larger",
    [DEVICE_HEAP_SMALLER] = "smaller",
    [DEVICE_HEAP_BEST] = "best",
    [DEVICE_HEAP_TLSF] = "tlsf",
};

enum { COMMAND_BYTES = COMMAND_WORDS * 4 };

struct heap_memory {
    uint64_t handle, bytes;
};

struct device_heap {
    struct device *device;
    const struct device_ops *ops;
    struct device_program *program;
    struct text text; /* of the program, as long as it lives */
    enum device_heap_policy policy;
    enum device_heap_padding padding;
    uint32_t words, capacity, slot_count, ring_commands;
    struct heap_memory arena, index, slots, report, commands, pinned;
    uint32_t *pinned_words; /* the host's address of `pinned`; NULL: there is no pinned memory */
    uint32_t ring_count;    /* commands put into the ring since the last wait */
    uint8_t *taken;         /* by slot */
    uint32_t *spare_slots;  /* a stack */
    uint32_t spare_count;
    uint32_t *batch; /* the commands that wait for a submit, COMMAND_WORDS words each */
    uint32_t batch_count, batch_capacity;
    uint64_t launches;
};

/* ---- memories ---- */

static int take_memory(struct device_heap *h, struct heap_memory *m, uint64_t bytes,
                       struct error *error)
{
    int code = h->ops->alloc(h->device, bytes, &m->handle, error);
    if (code)
        error_prefix(error, "device heap: ");
    else
        m->bytes = bytes;
    return code;
}

static void give_memory(struct device_heap *h, struct heap_memory *m)
{
    if (m->bytes)
        h->ops->free(h->device, m->handle, m->bytes, NULL);
    *m = (struct heap_memory){0};
}

/* If the device has no pinned memory, commands are written instead, and each write waits. */
static int take_ring(struct device_heap *h, struct error *error)
{
    uint64_t bytes = (uint64_t)h->ring_commands * COMMAND_BYTES;
    int code = take_memory(h, &h->commands, bytes, error);
    if (code || !h->ops->host_memory)
        return code;
    void *host;
    code = h->ops->host_memory->alloc(h->device, MEMORY_PINNED, bytes, &h->pinned.handle, &host,
                                      error);
    if (code)
        return code == ERR_UNSUPPORTED ? 0 : code;
    h->pinned.bytes = bytes;
    h->pinned_words = host;
    return 0;
}

static int take_memories(struct device_heap *h, struct error *error)
{
    int code = take_memory(h, &h->slots, (uint64_t)h->slot_count * SLOT_BYTES, error);
    THEN(code, take_memory(h, &h->report, REPORT_BYTES, error));
    THEN(code, take_ring(h, error));
    THEN(code, take_memory(h, &h->arena, (uint64_t)h->words * 4, error));
    THEN(code, take_memory(h, &h->index, heap_index_words(h->policy, h->capacity) * 4, error));
    return code;
}

/* ---- launches ---- */

/* The arguments of a launch, in the order of its kernel's parameters. */
enum { ARGUMENTS_MAX = 16 };
struct heap_arguments {
    enum launch_arg_kind kinds[ARGUMENTS_MAX];
    union launch_value values[ARGUMENTS_MAX];
    size_t count;
};
static void add_memory(struct heap_arguments *a, uint64_t memory)
{
    a->kinds[a->count] = ARG_MEMORY;
    a->values[a->count++].memory = memory;
}

static void add_word(struct heap_arguments *a, uint32_t word)
{
    a->kinds[a->count] = ARG_U32;
    a->values[a->count++].u32 = word;
}

/* Adds index, arena and slots. */
static void add_memories(struct heap_arguments *a, const struct device_heap *h)
{
    add_memory(a, h->index.handle);
    add_memory(a, h->arena.handle);
    add_memory(a, h->slots.handle);
}

/* Adds the arguments that every kernel has for heap_begin, in its order. */
static void add_sizes(struct heap_arguments *a, const struct device_heap *h)
{
    add_word(a, h->words);
    add_word(a, h->capacity);
    add_word(a, h->slot_count);
    add_word(a, h->policy);
    add_word(a, h->padding);
}

/* Launches one work-item. */
static int launch(struct device_heap *h, enum heap_kernel kernel, const struct heap_arguments *a,
                  struct error *error)
{
    const struct launch shape = {.extent = {1, 1, 1}, .rank = 1, .group_items = 1};
    h->launches++;
    int code =
        h->ops->launch(h->device, h->program, kernel, &shape, a->count, a->kinds, a->values, error);
    if (code)
        error_prefix(error, "device heap: %s: ", heap_kernel_names[kernel]);
    return code;
}

/* ---- open and close ---- */

static int build_kernels(struct device_heap *h, struct error *error)
{
    const enum kernel_language language = h->device->info->language;
    if (h->device->info->members > 1)
        return error_set(error, ERR_UNSUPPORTED,
                         "a heap lives on one device, and %s is several: run it on one of them",
                         h->device->info->id);
    text_add(&h->text, "%s%s", prelude_text(language), kernel_text_device_heap);
    const struct kernel_source source = {
        .name = "device_heap",
        .text = h->text.data,
        .kernel_count = HEAP_KERNELS,
        .kernel_names = heap_kernel_names,
        .host_kernels = language == KERNEL_HOST_C ? heap_host_kernels : NULL,
    };
    return h->ops->build(h->device, &source, &h->program, error);
}

static int check_options(const struct device_info *info, const struct device_heap_options *o,
                         struct error *error)
{
    char asked[64], largest[64];
    uint64_t most = words_most * 4;
    if (info->max_alloc_bytes && info->max_alloc_bytes < most)
        most = info->max_alloc_bytes;
    if (o->arena_bytes == 0 || o->arena_bytes % 4 || o->slots == 0)
        return error_set(error, ERR_USAGE,
                         "device heap: an arena of %llu bytes with %u slots: bytes are a multiple "
                         "of 4, and neither is 0",
                         (unsigned long long)o->arena_bytes, o->slots);
    if (o->slots >= HEAP_SLOTS_MAX)
        return error_set(error, ERR_USAGE, "device heap: %u slots: at most %d", o->slots,
                         HEAP_SLOTS_MAX - 1);
    if (o->arena_bytes > most)
        return error_set(error, ERR_UNSUPPORTED,
                         "device heap: %s are more than one arena has on this device, %s: ask for "
                         "a smaller heap",
                         text_bytes(asked, o->arena_bytes), text_bytes(largest, most));
    return 0;
}

/* Clears all slots, makes them spare, the lowest the first, and enqueues the command that makes the
 * arena one free block. */
static int start(struct device_heap *h, struct error *error)
{
    struct heap_arguments a = {0};
    h->spare_count = h->slot_count;
    for (uint32_t s = 0; s < h->slot_count; s++)
        h->spare_slots[s] = h->slot_count - 1 - s;
    add_memories(&a, h);
    add_sizes(&a, h);
    TRY(h->ops->fill(h->device, h->slots.handle, 0, 0, h->slots.bytes, error));
    TRY(h->ops->fill(h->device, h->index.handle, 0, 0, h->index.bytes, error));
    return launch(h, HEAP_KERNEL_INIT, &a, error);
}

int device_heap_open(struct device *device, const struct device_heap_options *options,
                     struct device_heap **heap, struct error *error)
{
    TRY(check_options(device->info, options, error));
    struct device_heap *h = must_alloc(sizeof *h);
    *h = (struct device_heap){.device = device,
                              .ops = device->ops,
                              .policy = options->policy,
                              .padding = options->padding,
                              .words = (uint32_t)(options->arena_bytes / 4),
                              .capacity = options->slots + 1,
                              .slot_count = options->slots,
                              .ring_commands = options->ring_commands ? options->ring_commands
                                                                      : DEVICE_HEAP_RING_COMMANDS};
    h->taken = must_alloc(h->slot_count);
    h->spare_slots = must_alloc(h->slot_count * sizeof *h->spare_slots);
    int code = take_memories(h, error);
    THEN(code, build_kernels(h, error));
    THEN(code, start(h, error));
    if (code)
        device_heap_close(h);
    else
        *heap = h;
    return code;
}

void device_heap_close(struct device_heap *h)
{
    if (!h)
        return;
    if (h->pinned.bytes) { /* a command may still read the pinned memory */
        h->ops->sync(h->device, NULL);
        h->ops->host_memory->free(h->device, MEMORY_PINNED, h->pinned.handle, h->pinned.bytes,
                                  NULL);
    }
    give_memory(h, &h->slots);
    give_memory(h, &h->report);
    give_memory(h, &h->commands);
    give_memory(h, &h->arena);
    give_memory(h, &h->index);
    if (h->program)
        h->ops->unbuild(h->device, h->program);
    text_free(&h->text);
    free(h->spare_slots);
    free(h->batch);
    free(h->taken);
    free(h);
}

uint64_t device_heap_slots(const struct device_heap *h)
{
    return h->slots.handle;
}

uint64_t device_heap_arena(const struct device_heap *h)
{
    return h->arena.handle;
}

struct device_heap_parts device_heap_parts(const struct device_heap *h)
{
    return (struct device_heap_parts){.index = h->index.handle,
                                      .arena = h->arena.handle,
                                      .words = h->words,
                                      .capacity = h->capacity,
                                      .slot_count = h->slot_count};
}

/* ---- a batch ---- */

static void add_command(struct device_heap *h, uint32_t what, uint32_t count, uint32_t stride)
{
    h->batch = must_grow(h->batch, h->batch_count, &h->batch_capacity, COMMAND_BYTES);
    uint32_t *command = h->batch + (size_t)h->batch_count++ * COMMAND_WORDS;
    command[COMMAND_DO] = what;
    command[COMMAND_COUNT] = count;
    command[COMMAND_STRIDE] = stride;
}

static int add_alloc(struct device_heap *h, enum device_heap_command what, uint32_t count,
                     uint32_t stride, uint32_t *slot, struct error *error)
{
    if (stride == 0)
        return error_set(error, ERR_PROGRAM, "device heap: elements of 0 words were asked for");
    if (h->spare_count == 0)
        return error_set(error, ERR_OOM,
                         "device heap: all %u slots of the address buffer are taken: open it with "
                         "more, or free first",
                         h->slot_count);
    *slot = h->spare_slots[--h->spare_count];
    h->taken[*slot] = 1;
    add_command(h, (uint32_t)what | *slot, count, stride);
    return 0;
}

int device_heap_alloc(struct device_heap *h, uint32_t count, uint32_t stride, uint32_t *slot,
                      struct error *error)
{
    return add_alloc(h, HEAP_ALLOC, count, stride, slot, error);
}

int device_heap_alloc_counted(struct device_heap *h, uint32_t index, uint32_t stride,
                              uint32_t *slot, struct error *error)
{
    return add_alloc(h, HEAP_ALLOC_COUNTED, index, stride, slot, error);
}

int device_heap_free(struct device_heap *h, uint32_t slot, struct error *error)
{
    if (slot >= h->slot_count || !h->taken[slot])
        return error_set(error, ERR_PROGRAM,
                         "device heap: slot %u is freed, which %s: it was freed before, or never "
                         "handed out",
                         slot, slot < h->slot_count ? "is not taken" : "does not exist");
    h->taken[slot] = 0;
    h->spare_slots[h->spare_count++] = slot;
    add_command(h, (uint32_t)HEAP_FREE | slot, 0, 0);
    return 0;
}

/* *room receives the number of commands that fit into the ring, at least 1; waits if it is full. */
static int ring_room(struct device_heap *h, uint32_t *room, struct error *error)
{
    int code = 0;
    if (h->ring_count == h->ring_commands) {
        code = h->pinned_words ? h->ops->sync(h->device, error) : 0;
        h->ring_count = 0;
    }
    *room = h->ring_commands - h->ring_count;
    return code;
}

/* Brings commands to the device, after those in the ring that a kernel may still read. */
static int send_commands(struct device_heap *h, const uint32_t *commands, uint32_t count,
                         struct error *error)
{
    uint64_t offset = (uint64_t)h->ring_count * COMMAND_BYTES,
             bytes = (uint64_t)count * COMMAND_BYTES;
    if (!h->pinned_words)
        return h->ops->write(h->device, h->commands.handle, offset, commands, bytes, error);
    memcpy((char *)h->pinned_words + offset, commands, bytes);
    return h->ops->copy(h->device, h->commands.handle, offset, h->pinned.handle, offset, bytes,
                        error);
}

static int submit_some(struct device_heap *h, const uint32_t *commands, uint32_t count,
                       uint64_t counts, uint32_t counts_words, struct error *error)
{
    struct heap_arguments a = {0};
    add_memories(&a, h);
    add_memory(&a, counts);
    add_sizes(&a, h);
    add_word(&a, counts ? counts_words : 0);
    add_word(&a, count);
    add_memory(&a, h->commands.handle);
    add_word(&a, h->ring_count);
    int code = send_commands(h, commands, count, error);
    THEN(code, launch(h, HEAP_KERNEL_OPS, &a, error));
    h->ring_count += count;
    return code;
}

int device_heap_submit(struct device_heap *h, uint64_t counts, uint32_t counts_words,
                       struct error *error)
{
    const uint32_t all = h->batch_count;
    int code = 0;
    for (uint32_t done = 0, count; done < all && !code; done += count) {
        uint32_t room;
        code = ring_room(h, &room, error);
        count = all - done < room ? all - done : room;
        THEN(code, submit_some(h, h->batch + (size_t)done * COMMAND_WORDS, count, counts,
                               counts_words, error));
    }
    h->batch_count = 0;
    return code;
}

/* ---- looking after it ---- */

/* Reads device memory. All submitted commands are done afterwards, so the ring is free. */
static int read_words(struct device_heap *h, uint32_t *words, uint64_t memory, uint64_t offset,
                      uint64_t bytes, struct error *error)
{
    int code = h->ops->read(h->device, words, memory, offset, bytes, error);
    if (!code)
        h->ring_count = 0;
    return code;
}

int device_heap_read_header(struct device_heap *h, uint32_t header[HEAP_HEADER_WORDS],
                            struct error *error)
{
    return read_words(h, header, h->index.handle, 0, HEAP_HEADER_WORDS * sizeof *header, error);
}

int device_heap_read_slot(struct device_heap *h, uint32_t slot, uint32_t words[SLOT_WORDS],
                          struct error *error)
{
    return read_words(h, words, h->slots.handle, (uint64_t)slot * SLOT_BYTES, SLOT_BYTES, error);
}

int device_heap_check(struct device_heap *h, uint32_t report[REPORT_WORDS], uint32_t *broken,
                      struct error *error)
{
    struct heap_arguments a = {0};
    add_memories(&a, h);
    add_memory(&a, h->report.handle);
    add_sizes(&a, h);
    TRY(launch(h, HEAP_KERNEL_CHECK, &a, error));
    TRY(read_words(h, report, h->report.handle, 0, REPORT_BYTES, error));
    *broken = 0;
    for (unsigned w = 0; w < REPORT_INVARIANTS; w++)
        *broken += report[w];
    return 0;
}

/* ---- numbers ---- */

uint64_t device_heap_held_bytes(const struct device_heap *h)
{
    return h->arena.bytes + h->index.bytes + h->slots.bytes + h->report.bytes + h->commands.bytes;
}

uint64_t device_heap_launches(const struct device_heap *h)
{
    return h->launches;
}
