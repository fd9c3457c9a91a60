/* A strategy whose memory has been in use, over a driver that only counts: the benchmark and the
 * test of what a pair of free and alloc costs.
 *
 * Sizes lie between 256 bytes and 64 KiB, any number of bytes, each power of two as likely.
 */
#pragma once

#include "alloc/allocator.h"
#include "base/arena.h"
#include "base/random.h"

enum heap_use {
    HEAP_REPEATS, /* a step frees a random block, and asks for its size at its site again */
    HEAP_MIXED,   /* half as many blocks are free as live; a step frees a random block, and asks for
                   * another size at another site */
};

struct used_block {
    struct block block;
    uint64_t size;
    const char *site;
};

struct used_heap {
    enum heap_use use;
    struct source source;
    uint64_t memory_count; /* memories that the driver has given out */
    struct allocator allocator;
    struct random random;
    size_t live_count;
    struct arena arena;
    struct used_block *live, *next; /* next: to be freed */
    char *sites;                    /* one for each block that was live at first */
    size_t site_count;
};

/* Opens a strategy and makes its live blocks. False if that takes longer than until the time
 * `deadline_ns` of clock_ns; the heap is to be closed either way. A strategy that fails ends the
 * program. */
bool used_heap_open(struct used_heap *heap, const char *spec, enum heap_use use, size_t live_count,
                    uint64_t deadline_ns);
/* One free and one alloc. */
void used_heap_step(struct used_heap *heap);
void used_heap_close(struct used_heap *heap);
