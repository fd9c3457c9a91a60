/* A source of memories that do not exist, for tests of allocators: it has a capacity, refuses the
 * calls it is told to refuse, remembers what is live and writes down every call.
 *
 * It has memory of all kinds but fine SVM, and checks that each is freed as the kind that it is.
 * Its pool hands freed memory out again for the same size. Freed memory becomes spare when the host
 * waits, and spare memory beyond the threshold is then given back. Its virtual memory keeps a table
 * of what is mapped where. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "alloc/allocator.h"
#include "base/text.h"

/* Sizes of the fake's virtual memory: of a page, and of all of it. */
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
    enum driver_memory where; /* FAKE_MEMORY: its kind */
    uint64_t parent;          /* FAKE_SUB_BUFFER: handle of its memory, which it must not outlive */
    unsigned queue;           /* FAKE_POOLED and FAKE_FREED: the queue that has it */
    bool mapped;              /* FAKE_CHUNK: it is mapped somewhere */
    struct fake_page {
        uint64_t chunk;
        bool usable;
    } * pages; /* FAKE_RANGE: one for each page */
};

/* Makes the call number `at` of a kind, counted from 1, fail with `code`; if `onwards`, all later
 * calls too. */
struct fake_refusal {
    uint64_t at; /* 0: never */
    bool onwards;
    int code;
};

struct fake_source {
    struct source source;    /* the source that the allocator gets */
    uint64_t capacity_bytes; /* capacity of the driver; 0: no limit */
    /* map: reserve, map, access and sub-buffers; unmap: their opposites; free: also
     * a pool's trim. */
    struct fake_refusal alloc_refusal, touch_refusal, free_refusal, map_refusal, unmap_refusal,
        sync_refusal;
    uint64_t alloc_calls, touch_calls, free_calls, map_calls, unmap_calls, sync_calls;
    uint64_t injected_count; /* calls that failed by a refusal */
    uint64_t failed_frees;   /* calls of free and unmap that failed */
    uint64_t next_handle;
    struct fake_memory *live; /* includes the pool's freed memory */
    size_t live_count, live_capacity;
    uint64_t live_bytes; /* without ranges and sub-buffers */
    uint64_t peak_bytes; /* peak of the pool */
    uint64_t threshold_bytes;
    bool pool_is_open;
    unsigned misuse_count; /* frees of memory that is not live or has another size, and the like */
    /* "+100 -100 ?200 *100": granted, given back, refused, made resident; "w" waited;
     * "o64/110": a pool opened (its threshold, -1 for all, and options), "t" trimmed;
     * "r4096 x4096": addresses reserved, given back; "m0 a0+2048 u0": mapped, made accessible,
     * unmapped, at an offset; "p64+100 q100": a sub-buffer made at an offset, and its end. */
    struct text log;
};

/* Opens a fake whose memories have this alignment. `can_split`: commands can use a part of a
 * memory. */
void fake_source_open(struct fake_source *fake, uint64_t alignment, bool can_split);
/* Releases the fake's own memory. live_count keeps the number of memories that are still live. */
void fake_source_close(struct fake_source *fake);

/* Opens the strategy that `spec` names over the fake; the test fails if that is not
 * possible. */
void fake_source_allocator(struct fake_source *fake, const char *spec, struct allocator *allocator);

/* Can all these bytes of a live memory be used? */
bool fake_source_holds(const struct fake_source *fake, uint64_t handle, uint64_t offset,
                       uint64_t bytes);
