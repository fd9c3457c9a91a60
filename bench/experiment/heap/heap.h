/* A heap that lives on the device: allocations and frees are commands of the device's queue.
 *
 * The host enqueues commands without knowing where blocks will lie. If counts are taken from device
 * memory, it does not know their sizes either. It never waits to learn them. It does know the
 * *slot* of the address buffer that it chose for a block: kernels enqueued after the allocation
 * find the block through the slot. One work-item carries out the commands of a batch in order.
 *
 *     device_heap_alloc_counted(heap, chunk, 9, &slot, e);    count: word `chunk` of `counts`
 *     device_heap_submit(heap, counts, chunks, e);
 *     launch "emit" with device_heap_arena(heap, slot), device_heap_slots(heap), slot
 *     ...
 *     device_heap_free(heap, slot, e);      at once, although "emit" may not have begun
 *     device_heap_submit(heap, 0, 0, e);
 *
 * where the kernel does (heap_layout.h has the words of a slot)
 *
 *     const uint *s = slots + 4 * slot;
 *     if (s[SLOT_BLOCK] != 0)                                  0: the allocation was refused
 *         element e, of s[SLOT_COUNT], is words arena[(s[SLOT_INDEX] + e) * s[SLOT_STRIDE] + ...]
 *
 * All commands of a heap, and all kernels that use its blocks, belong on one in-order queue of the
 * device (device_queue_ops.use). To change the queue, wait in between.
 *
 * Source: the "shader heap" of the Arterra game (the design as published: boundary tags of three
 * words, a binary heap of free blocks by size, the address buffer); its policy is
 * DEVICE_HEAP_LARGER with DEVICE_HEAP_SEED. TLSF: Masmano, Ripoll, Crespo, Real 2004. Departures:
 * - the arena ends in allocated blocks without payload, so that nothing is special about the first
 *   and the last block, and a block that fits exactly is taken;
 * - the rest of a block that is cut stays in the block if it could not hold a word of payload;
 * - an allocated block's tag names its slot instead of being 0: a stale or forged slot is noticed;
 * - a slot also has count and stride, and a free clears it: consumers know how much was granted,
 *   and double frees are noticed;
 * - a free that joins neighbours changes an entry instead of removing all and adding one;
 * - errors set bits of a status word, which stay set (heap_layout.h). A refused command changes
 *   nothing else. Whatever commands, counts, slots and arena contain, the kernels write only to
 *   the heap's own memories.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "device/device.h"
#include "experiment/heap/heap_layout.h"

struct device_heap_options {
    enum device_heap_policy policy;
    enum device_heap_padding padding;
    uint64_t arena_bytes;   /* a multiple of 4, and no more than 32-bit words address */
    uint32_t slots;         /* most live blocks, empty ones included */
    uint32_t ring_commands; /* see device_heap_submit; 0: DEVICE_HEAP_RING_COMMANDS */
};

struct device_heap;

/* Allocates the memories, builds the kernels, and enqueues heap_init. On failure nothing is held:
 * ERR_UNSUPPORTED where the device has no memory as large as the arena, ERR_OOM, ERR_BUILD or
 * another code of the device. */
int device_heap_open(struct device *device, const struct device_heap_options *options,
                     struct device_heap **heap, struct error *error);
/* Frees all memories; the device waits for commands that still use them. NULL: nothing. */
void device_heap_close(struct device_heap *heap);

/* ---- a batch of commands ---- */

/* Adds a command to the batch. The block's elements are `stride` words each (1 and up), and the
 * first one is at a multiple of stride in the arena. *slot receives a slot that is unused when
 * the command runs. ERR_OOM where all slots are taken. */
int device_heap_alloc(struct device_heap *heap, uint32_t count, uint32_t stride, uint32_t *slot,
                      struct error *error);
/* The same, with the count read from word `index` of the array handed to device_heap_submit. */
int device_heap_alloc_counted(struct device_heap *heap, uint32_t index, uint32_t stride,
                              uint32_t *slot, struct error *error);
/* Adds a free of the slot's block, if its allocation was not refused. The next device_heap_alloc
 * may hand the slot out again. ERR_PROGRAM if the slot is not taken. */
int device_heap_free(struct device_heap *heap, uint32_t slot, struct error *error);

/* Enqueues the batch, and begins an empty one.
 * `counts` is device memory of counts_words 32-bit words, or 0 if no command reads a count there.
 * The commands go through a ring of pinned memory. When the ring is full, the host waits for the
 * earlier batches, because a device reports no progress; else the call does not wait. */
int device_heap_submit(struct device_heap *heap, uint64_t counts, uint32_t counts_words,
                       struct error *error);
enum { DEVICE_HEAP_RING_COMMANDS = 1 << 18 };

/* ---- what kernels need ---- */

/* The address buffer: SLOT_WORDS words for each slot. */
uint64_t device_heap_slots(const struct device_heap *heap);
/* The arena in which the blocks lie, an array of words. */
uint64_t device_heap_arena(const struct device_heap *heap);

/* The parts of a heap, for callers that run the kernels' text elsewhere, or compare. */
struct device_heap_parts {
    uint64_t index, arena; /* memories */
    uint32_t words, capacity, slot_count;
};
struct device_heap_parts device_heap_parts(const struct device_heap *heap);

/* ---- looking after it ---- */

/* The next three calls wait for the queue. */

/* Reads the counters, by enum device_heap_header_word. */
int device_heap_read_header(struct device_heap *heap, uint32_t header[HEAP_HEADER_WORDS],
                            struct error *error);
/* Reads a slot, by enum device_heap_slot_word; SLOT_INDEX is in elements of SLOT_STRIDE words. */
int device_heap_read_slot(struct device_heap *heap, uint32_t slot, uint32_t words[SLOT_WORDS],
                          struct error *error);
/* Checks the heap and reports by enum device_heap_report_word. *broken receives the sum over the
 * invariants. */
int device_heap_check(struct device_heap *heap, uint32_t report[REPORT_WORDS], uint32_t *broken,
                      struct error *error);

/* ---- numbers that the host knows without a wait ---- */

/* Bytes of device memory that the heap took: arena, index, buffers. */
uint64_t device_heap_held_bytes(const struct device_heap *heap);
/* Kernel launches since the heap was opened. */
uint64_t device_heap_launches(const struct device_heap *heap);

/* The policies' names on the command line: "larger", "smaller", "best", "tlsf". */
extern const char *const device_heap_policy_names[DEVICE_HEAP_POLICIES];
