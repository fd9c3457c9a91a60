/* A stream-ordered pool: a pool of the driver's, whose allocations and releases are commands of the
 * queue that they name. Memory of a pool is used like any other. `context` and who fills in the
 * table: driver_memory.h. */
#ifndef GAMUT_BASE_DRIVER_POOL_H
#define GAMUT_BASE_DRIVER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* How a pool behaves, in the words of the CUDA driver. */
struct driver_pool_options {
    uint64_t release_threshold_bytes; /* kept at a synchronisation; UINT64_MAX: everything */
    bool follow_event_dependencies;   /* reuse across queues that events have ordered */
    bool allow_opportunistic;         /* ... and where the free turns out to be done already */
    bool allow_internal_dependencies; /* ... and by making the second queue wait */
};

struct driver_pool_ops {
    /* `most_bytes`: the pool refuses beyond this; 0: the driver decides. */
    int (*open)(void *context, const struct driver_pool_options *options, uint64_t most_bytes,
                uint64_t *pool, struct error *error);
    /* Waits for all queues: all memory is back when it returns. */
    int (*close)(void *context, uint64_t pool, struct error *error);
    int (*alloc)(void *context, uint64_t pool, unsigned queue, uint64_t bytes, uint64_t *memory,
                 struct error *error);
    int (*free)(void *context, uint64_t pool, unsigned queue, uint64_t memory, uint64_t bytes,
                struct error *error);
    /* Gives back what is spare beyond keep_bytes. Memory whose free is still queued is not spare.
     */
    int (*trim)(void *context, uint64_t pool, uint64_t keep_bytes, struct error *error);
    /* The bytes that the driver holds for the pool, and the most since open or reset_peak. */
    int (*reserved)(void *context, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                    struct error *error);
    int (*reset_peak)(void *context, uint64_t pool, struct error *error);
};

#endif
