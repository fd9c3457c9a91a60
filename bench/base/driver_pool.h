/* A stream-ordered pool: a pool of the driver's, whose allocations and releases are commands of the
 * queue that they name. Memory of a pool is used like any other. driver_memory.h describes
 * `context` and the owner of the table. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Settings of a pool, in the words of the CUDA driver. */
struct driver_pool_options {
    uint64_t release_threshold_bytes; /* kept at a synchronisation; UINT64_MAX: everything */
    bool follow_event_dependencies;   /* reuse across queues that events have ordered */
    bool allow_opportunistic;         /* reuse across queues where the free turns out to be done */
    bool allow_internal_dependencies; /* reuse across queues by making the second one wait */
};

struct driver_pool_ops {
    /* Makes a pool. `most_bytes`: its limit; 0: the driver decides. */
    int (*open)(void *context, const struct driver_pool_options *options, uint64_t most_bytes,
                uint64_t *pool, struct error *error);
    /* Waits for all queues and ends the pool: all its memory is back when the call returns. */
    int (*close)(void *context, uint64_t pool, struct error *error);
    /* Allocates memory that later commands of `queue` may use. */
    int (*alloc)(void *context, uint64_t pool, unsigned queue, uint64_t bytes, uint64_t *memory,
                 struct error *error);
    /* Frees memory once earlier commands of `queue` are done. */
    int (*free)(void *context, uint64_t pool, unsigned queue, uint64_t memory, uint64_t bytes,
                struct error *error);
    /* Gives spare memory beyond keep_bytes back. Memory whose free is still queued is not spare. */
    int (*trim)(void *context, uint64_t pool, uint64_t keep_bytes, struct error *error);
    /* The bytes that the driver holds for the pool, and the most since open or reset_peak. */
    int (*reserved)(void *context, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                    struct error *error);
    /* Restarts the peak from the bytes held at present. */
    int (*reset_peak)(void *context, uint64_t pool, struct error *error);
};
/* Of functions that are named as the members are. */
#define DRIVER_POOL_OPS                                                                            \
    pool_open, pool_close, pool_alloc, pool_free, pool_trim, pool_reserved, pool_reset_peak
