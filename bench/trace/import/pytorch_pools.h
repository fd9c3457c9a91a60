/* The pools of a history's segments, in snapshots whose entries do not name them (PyTorch 2.11 and
 * older). The segments of the end do; those that were released are known by what follows
 * from PyTorch's rules (c10/cuda/CUDACachingAllocator.cpp, v2.11, get_pool and
 * release_cached_blocks):
 *
 *   1. In a capture, all that its stream allocates is of one pool. So allocations of a stream, one
 *      after another, with none of another stream and no segment_free between them, are of one,
 *      unless they touch a segment of which the end says that it is the common pool's. CUDA does
 *      not capture the default stream, 0: its private pools (torch.cuda.MemPool) tell nothing of
 *      other segments.
 *   2. A stream of captures allocates elsewhere by exception alone. A segment that no allocation
 *      ties to another is private where the stream's segments of its size class are so at the end;
 *      where there are none of its class, those of the other class decide.
 *   3. Segments of one pool that were made before the history go in one run: the graph is gone.
 *
 * Rules 2 and 3 are guesses, and what no rule reaches counts as the common pool's.
 */
#pragma once

#include "trace/import/pytorch_entries.h"

struct value;

struct pool_segment {
    uint64_t address, bytes, stream;
    unsigned pool; /* 0: the common one */
    bool is_expandable;
    unsigned index;            /* in the list of the snapshot */
    const struct value *value; /* the caller's */
};

/* What lives from a segment_alloc, or the start, to a segment_free, or the end. */
struct pool_life {
    uint64_t stream, run; /* run: of segment_free entries, the one that ends it */
    unsigned group;       /* the number of a life in the same pool, this or a lower one */
    unsigned pool;
    uint64_t first, last; /* entries; the lowest number of a group is the last to end */
    bool is_known, is_small, is_made, is_private;
};

/* All zeros: empty. Life 0 is the common pool's. */
struct pytorch_pools {
    struct pool_life *lives;
    unsigned life_count, life_capacity;
};

/* Finds the pools of all entries without `has_pool`: the `pool` of each becomes the number of a
 * life. `segments`: those of the end, by address. `pool_count`: the highest number of a pool. */
void pytorch_pools_find(struct pytorch_pools *pools, struct pytorch_entries *entries,
                        const struct pool_segment *segments, unsigned count, unsigned pool_count);
void pytorch_pools_free(struct pytorch_pools *pools);
