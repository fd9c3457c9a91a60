/* A private pool: an instance of a strategy whose memory captured graphs use. What the strategy
 * gives back stays reserved until the pool ends, because a graph may be launched at any time. A
 * live server and a replay of its recording have this in common.
 *
 * Virtual memory and the driver's pools would take addresses back from a graph: a strategy that
 * needs them serves private pools by `caching`.
 */
#pragma once

#include "alloc/allocator.h"

struct private_pool {
    struct source driver;       /* where the memory comes from */
    struct source_total *total; /* of the pool's source */
    unsigned kept_count, capacity;
    struct kept_memory *kept;
};

/* Opens `allocator` over `source`, which becomes one that keeps memory: it has the driver's hooks
 * before, and no more than plain memory afterwards. `source->total` is required. All three outlive
 * the pool. Errors of allocator_open. */
int private_pool_open(struct private_pool *pool, const struct allocator_ops *strategy,
                      const struct option_values *options, struct source *source,
                      struct allocator *allocator, struct error *error);
/* Closes the allocator, and gives back what was kept. The caller has waited for the device, and no
 * block lives. The driver's first failure. */
int private_pool_close(struct private_pool *pool, struct allocator *allocator, struct error *error);
