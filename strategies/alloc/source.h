/* Where an allocator gets memory from, and the one place that counts what that costs.
 *
 * A source hands out whole *memories*: in production the driver's objects (a cl_mem, a CUdeviceptr,
 * a host mapping), in tests a fake with a capacity. Every strategy goes through source_alloc and
 * source_free, so that driver calls, bytes and time are measured by the same code for all of them.
 */
#ifndef GAMUT_ALLOC_SOURCE_H
#define GAMUT_ALLOC_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct source_ops {
    /* Required. Stores a non-zero handle in *memory, or returns ERR_OOM (nothing is held then; the
     * allocator may give something back and ask again) or another negative code. */
    int (*alloc)(void *context, uint64_t bytes, uint64_t *memory, struct error *error);
    /* Optional. Makes the memory resident now instead of at its first use. */
    int (*touch)(void *context, uint64_t memory, uint64_t bytes, struct error *error);
    /* Required. `bytes` is what was asked of alloc. Commands of any queue may still use the memory:
     * the source waits for them, or defers the release until they are done. */
    int (*free)(void *context, uint64_t memory, uint64_t bytes, struct error *error);
};

/* Calls and nanoseconds in the driver, bytes held from it. `refused_count` counts the ERR_OOMs. */
struct source_counts {
    uint64_t alloc_count, alloc_ns;
    uint64_t touch_count, touch_ns;
    uint64_t free_count, free_ns;
    uint64_t refused_count;
    uint64_t reserved_bytes, peak_reserved_bytes;
};

struct source {
    const struct source_ops *ops;
    void *context;
    uint64_t alignment;      /* of every memory, in bytes; a power of two */
    bool can_split;          /* a block may be a part of a memory: (memory, offset) */
    uint64_t capacity_bytes; /* refuse beyond this many reserved bytes; 0: the driver decides */
    struct source_counts counts;
    struct error error; /* of the last call that failed */
};

enum source_flags {
    SOURCE_LAZY = 0,
    SOURCE_RESIDENT = 1, /* touch the memory before handing it out, where the source can */
};

/* Asks for `bytes` (> 0). 0, ERR_OOM or another negative code; source->error then says what was
 * asked for, what is held and what the driver said. A memory that could not be made resident is
 * given back before this returns. */
int source_alloc(struct source *source, uint64_t bytes, enum source_flags flags, uint64_t *memory);

/* Gives a memory back. The memory counts as given back even if the driver complains. */
int source_free(struct source *source, uint64_t memory, uint64_t bytes);

#endif
