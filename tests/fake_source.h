/* A source of memories that do not exist, for tests of allocators: it has a capacity, refuses the
 * calls it is told to refuse, remembers what is live and writes down every call. */
#ifndef GAMUT_TESTS_FAKE_SOURCE_H
#define GAMUT_TESTS_FAKE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "alloc/allocator.h"
#include "base/text.h"

struct fake_memory {
    uint64_t handle, bytes;
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
    struct fake_refusal alloc_refusal, touch_refusal, free_refusal;
    uint64_t alloc_calls, touch_calls, free_calls;
    uint64_t injected_count; /* failures that a refusal caused */
    uint64_t failed_frees;   /* those of free */
    uint64_t next_handle;
    struct fake_memory *live;
    size_t live_count, live_capacity;
    uint64_t live_bytes;
    unsigned misuse_count; /* frees of what is not live, or of the wrong size */
    struct text log;       /* "+100 -100 ?200 *100": granted, given back, refused, made resident */
};

void fake_source_open(struct fake_source *fake, uint64_t alignment, bool can_split);
/* Releases the fake's own memory; what is still live stays counted in live_count. */
void fake_source_close(struct fake_source *fake);

/* Opens the strategy that `spec` names over the fake; the test fails where that is not possible. */
void fake_source_allocator(struct fake_source *fake, const char *spec, struct allocator *allocator);

/* The size of a live memory; 0 where the handle is not live. */
uint64_t fake_source_bytes(const struct fake_source *fake, uint64_t handle);

#endif
