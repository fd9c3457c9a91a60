/* A heap that lives on the device: allocations and frees are commands of the device's queue.
 *
 * The host enqueues commands without knowing where blocks will lie or, where counts are taken from
 * device memory, how large they will be, and never waits to learn either. It does know the *slot*
 * of the address buffer that it chose for a block: kernels enqueued after the allocation look into
 * the slot to find the block. One work-item carries out all commands of a batch in their order.
 *
 *     device_heap_alloc_counted(heap, chunk, 9, &slot, e);    count: word `chunk` of `counts`
 *     device_heap_submit(heap, counts, chunks, e);
 *     launch "emit" with device_heap_arena(heap, slot), device_heap_slots(heap), slot
 *     ...
 *     device_heap_free(heap, slot, e);      now, although "emit" may not have begun
 *     device_heap_submit(heap, 0, 0, e);
 *
 * where the kernel does (heap_layout.h has the words of a slot)
 *
 *     const uint *s = slots + 4 * slot;
 *     if (s[SLOT_BLOCK] != 0)                                  nothing was granted otherwise
 *         element e, of s[SLOT_COUNT], is words arena[(s[SLOT_INDEX] + e) * s[SLOT_STRIDE] + ...]
 *
 * All commands of a heap, and all kernels that use its blocks, belong on one in-order queue of
 * the device (device_ops.use_queue), or between waits.
 *
 * Source: the "shader heap" of the Arterra game (the design as published: boundary tags of three
 * words, a binary heap of free blocks by size, the address buffer); its policy is
 * DEVICE_HEAP_LARGER with DEVICE_HEAP_SEED. TLSF: Masmano, Ripoll, Crespo, Real 2004. Departures:
 * - the arena ends in allocated blocks without payload, so that nothing is special about the first
 *   and the last block, and a block that fits exactly is taken;
 * - the rest of a block that is cut stays in the block if it could not hold a word of payload;
 * - an allocated block's tag names its slot instead of being 0: a stale or forged slot is noticed;
 * - a slot also has count and stride, and a free clears it: consumers know how much was granted,
 *   double frees are noticed, and blocks can be moved;
 * - a free that joins neighbours changes an entry instead of removing all and adding one;
 * - errors set bits of a status word, which stay set (heap_layout.h). A refused command changes
 *   nothing else, and whatever commands, counts, slots and arena contain, nothing is written
 *   outside of the heap's own memories.
 */
#ifndef GAMUT_DEVICE_HEAP_DEVICE_HEAP_H
#define GAMUT_DEVICE_HEAP_DEVICE_HEAP_H

#include <stdint.h>

#include "base/error.h"
#include "device/device.h"
#include "device_heap/heap_layout.h"

struct device_heap_options {
    enum device_heap_policy policy;
    enum device_heap_padding padding;
    uint64_t arena_bytes; /* of all arenas together; a multiple of 4 */
    /* The most bytes of one arena: a larger heap has several of one size. 0: what the device gives
     * in one piece, at most what 32-bit words address. */
    uint64_t arena_most_bytes;
    uint32_t slots;          /* most live blocks of all arenas, empty ones included */
    uint32_t index_capacity; /* most free blocks of an arena; 0: enough for all slots */
    uint32_t ring_commands;  /* see device_heap_submit; 0: DEVICE_HEAP_RING_COMMANDS */
    /* Memory of arena_bytes to use, which stays the caller's; 0: the heap takes what it needs. */
    uint64_t arena;
    struct device_heap_kernels *kernels; /* they outlive the heap; NULL: the heap builds its own */
};

struct device_heap;

/* The kernels, built for a device: once for all heaps on it. */
struct device_heap_kernels;
int device_heap_kernels_build(struct device *device, struct device_heap_kernels **kernels,
                              struct error *error);
void device_heap_kernels_free(struct device_heap_kernels *kernels); /* NULL: nothing */

/* Takes the memories from the device (the arenas as one allocation each), builds the kernels unless
 * the options have them, and enqueues heap_init. ERR_OOM or what the device says; nothing is held
 * then. */
int device_heap_open(struct device *device, const struct device_heap_options *options,
                     struct device_heap **heap, struct error *error);
/* Gives everything back; the device waits for what still uses it. NULL: nothing. */
void device_heap_close(struct device_heap *heap);

/* Frees everything, clears all slots, and sets counters and status to 0. Enqueued after what was
 * submitted; commands not yet submitted are dropped. */
int device_heap_reset(struct device_heap *heap, struct error *error);

/* ---- a batch of commands ---- */

/* Adds a command to the batch. The block's elements are `stride` words each (1 and up), and the
 * first one is at a multiple of stride in the arena. *slot receives a slot that is unused when
 * the command runs, in an arena with the fewest taken slots. ERR_OOM where all slots are taken. */
int device_heap_alloc(struct device_heap *heap, uint32_t count, uint32_t stride, uint32_t *slot,
                      struct error *error);
/* The same, with the count read from word `index` of the array handed to device_heap_submit. */
int device_heap_alloc_counted(struct device_heap *heap, uint32_t index, uint32_t stride,
                              uint32_t *slot, struct error *error);
/* Adds a free of what the slot will hold by then: nothing, if the allocation was refused. The very
 * next call may hand the slot out again. ERR_PROGRAM if the slot is not taken. */
int device_heap_free(struct device_heap *heap, uint32_t slot, struct error *error);

/* Enqueues the batch, one launch for each arena that has commands in it, and begins an empty one.
 * `counts` is device memory of counts_words 32-bit words, or 0 where no count comes from there.
 * Waits in one case only: a batch of more than HEAP_FEW commands travels through a ring of pinned
 * memory, and since a device reports no progress, the host waits for what was submitted when the
 * ring is full and nothing else has waited in between (device_heap_waits). */
int device_heap_submit(struct device_heap *heap, uint64_t counts, uint32_t counts_words,
                       struct error *error);
enum { DEVICE_HEAP_RING_COMMANDS = 1 << 18 };

/* ---- what kernels need ---- */

/* The address buffer: SLOT_WORDS words for each slot. */
uint64_t device_heap_slots(const struct device_heap *heap);
/* The arena in which a slot's block lies, an array of words. */
uint64_t device_heap_arena(const struct device_heap *heap, uint32_t slot);

/* The parts of an arena, for callers that run the kernels' text elsewhere and compare. */
struct device_heap_parts {
    uint64_t index, arena; /* memories */
    uint32_t words, capacity, slot_count, first_slot, end_slot;
};
struct device_heap_parts device_heap_parts(const struct device_heap *heap, unsigned arena);

/* ---- looking after it ---- */

/* Slides all blocks to the left, so that all free words are one block, and updates the address
 * buffer: kernels that find blocks by their slots do not notice. Enqueued; does not wait. */
int device_heap_compact(struct device_heap *heap, struct error *error);

/* All of these wait for the queue. */

/* Reads the counters, by enum device_heap_header_word: the sums over the arenas, and their status
 * bits joined. */
int device_heap_read_header(struct device_heap *heap, uint64_t header[HEAP_HEADER_WORDS],
                            struct error *error);
/* Reads a slot, by enum device_heap_slot_word; SLOT_INDEX is in elements of SLOT_STRIDE words. */
int device_heap_read_slot(struct device_heap *heap, uint32_t slot, uint32_t words[SLOT_WORDS],
                          struct error *error);
/* Checks the arenas and reports by enum device_heap_report_word: the sums over the arenas (of
 * REPORT_LARGEST_FREE_WORDS the largest). *broken receives the sum over the invariants. */
int device_heap_check(struct device_heap *heap, uint64_t report[REPORT_WORDS], uint64_t *broken,
                      struct error *error);

/* The names of set bits, separated by ", "; "ok" where there are none. `text` has room for 128. */
const char *device_heap_status_text(char *text, uint32_t status);

/* ---- numbers that the host knows without a wait ---- */

/* Bytes of device memory that the heap took: arenas (unless they are the caller's), indices,
 * buffers. */
uint64_t device_heap_held_bytes(const struct device_heap *heap);
/* Kernel launches, and waits in device_heap_submit, since the heap was opened. */
uint64_t device_heap_launches(const struct device_heap *heap);
uint64_t device_heap_waits(const struct device_heap *heap);
unsigned device_heap_arena_count(const struct device_heap *heap);

/* The policies' names on the command line: "larger", "smaller", "best", "tlsf". */
extern const char *const device_heap_policy_names[DEVICE_HEAP_POLICIES];

#endif
