/* A source of memories that do not exist, for tests of allocators: it has a capacity, refuses the
 * calls it is told to refuse, remembers what is live and writes down every call.
 *
 * It has memory of all kinds but fine SVM, and takes each back as the kind that it is. Its pool
 * hands freed memory out again for the same size; freed memory is spare once somebody has waited,
 * and what is spare beyond the threshold goes back then. Its virtual memory keeps a table of what
 * is mapped where. */
#ifndef GAMUT_TESTS_FAKE_SOURCE_H
#define GAMUT_TESTS_FAKE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "alloc/allocator.h"
#include "base/text.h"
#include "tests/device_heap/fake_heap.h"

/* Of the fake's virtual memory. */
enum { FAKE_PAGE_BYTES = 1024, FAKE_DEVICE_BYTES = 1 << 20 };

enum fake_kind {
    FAKE_MEMORY,
    FAKE_CHUNK,
    FAKE_RANGE,
    FAKE_POOLED,
    FAKE_FREED,
    FAKE_SPARE,
    FAKE_SUB_BUFFER
};

struct fake_memory {
    enum fake_kind kind;
    uint64_t handle, bytes;
    enum driver_memory where; /* of FAKE_MEMORY */
    uint64_t parent; /* of FAKE_SUB_BUFFER: the handle of its memory, which it must not outlive */
    unsigned queue;  /* of FAKE_POOLED and FAKE_FREED */
    bool mapped;     /* of FAKE_CHUNK */
    struct fake_page {
        uint64_t chunk;
        bool usable;
    } * pages; /* of FAKE_RANGE */
};

/* The k-th call of a kind, counted from 1, fails with `code`; all from the k-th on if `onwards`. */
struct fake_refusal {
    uint64_t at; /* 0: never */
    bool onwards;
    int code;
};

struct fake_source {
    struct source source;    /* what the allocator is given */
    uint64_t capacity_bytes; /* of the driver; 0: no limit */
    /* map: reserve, map, access and sub-buffers; unmap: their opposites; free: also
     * a pool's trim. */
    struct fake_refusal alloc_refusal, touch_refusal, free_refusal, map_refusal, unmap_refusal,
        sync_refusal;
    uint64_t alloc_calls, touch_calls, free_calls, map_calls, unmap_calls, sync_calls;
    uint64_t injected_count; /* failures that a refusal caused */
    uint64_t failed_frees;   /* those of free and unmap */
    uint64_t next_handle;
    struct fake_memory *live; /* a pool's freed memory is among it */
    size_t live_count, live_capacity;
    uint64_t live_bytes; /* ranges and sub-buffers are none */
    uint64_t peak_bytes; /* of the pool */
    uint64_t threshold_bytes;
    bool pool_is_open;
    struct fake_heaps heaps;
    unsigned misuse_count; /* frees of what is not live, or of the wrong size, and the like */
    /* "+100 -100 ?200 *100": granted, given back, refused, made resident; "w" waited;
     * "o64/110": a pool opened (its threshold, -1 for all, and options), "t" trimmed;
     * "r4096 x4096": addresses reserved, given back; "m0 a0+2048 u0": mapped, made accessible,
     * unmapped, at an offset; "h4096 c": a heap made in as many bytes, closed, "g100@0 f":
     * granted by it, where, and freed; "p64+100 q100": a sub-buffer made at an offset, and its end. */
    struct text log;
};

void fake_source_open(struct fake_source *fake, uint64_t alignment, bool can_split);
/* Releases the fake's own memory; what is still live stays counted in live_count. */
void fake_source_close(struct fake_source *fake);

/* Opens the strategy that `spec` names over the fake; the test fails where that is not possible. */
void fake_source_allocator(struct fake_source *fake, const char *spec, struct allocator *allocator);

/* Whether all those bytes of a live memory are there to be used. */
bool fake_source_holds(const struct fake_source *fake, uint64_t handle, uint64_t offset,
                       uint64_t bytes);

#endif
