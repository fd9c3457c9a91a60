/* Where an allocator gets memory from, and the one place that counts what that costs.
 *
 * A source hands out whole *memories*: in production the driver's objects (a cl_mem, a CUdeviceptr,
 * a host mapping), in tests a fake with a capacity. Every strategy goes through source_alloc and
 * source_free, so that driver calls, bytes and time are measured by the same code for all of them.
 *
 * This header is all that most strategies use. What only some drivers offer has a table of hooks
 * and counted calls of its own:
 *
 *     source_pool.h        a pool of the driver's, whose allocations are commands of a queue
 *     source_vm.h          virtual memory: addresses and the memory behind them, separately
 *     source_heap.h        heaps that the device itself runs
 *     source_sub_buffer.h  handles for parts of a memory (allocator.c makes them)
 *
 * A strategy built on one of them learns at its start whether the source has it: the call that
 * opens it returns ERR_UNSUPPORTED and the reason. Memory may also live elsewhere than on the
 * device (enum driver_memory); no strategy needs to know.
 */
#ifndef GAMUT_ALLOC_SOURCE_H
#define GAMUT_ALLOC_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/driver_memory.h"
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
    /* Required where there is a pool or virtual memory. Waits for the commands of all queues. */
    int (*sync)(void *context, struct error *error);
};

/* Calls of the driver, nanoseconds in them, and bytes held from the driver. */
struct source_counts {
    uint64_t alloc_count, alloc_ns; /* memories, blocks of pools and heaps, chunks, heaps made */
    uint64_t touch_count, touch_ns;
    uint64_t free_count, free_ns; /* of the same, and trims of a pool; a heap's free is no call */
    uint64_t map_count; /* ranges reserved, chunks mapped, ranges made accessible, sub-buffers made;
                         * their time is in alloc_ns */
    uint64_t unmap_count;   /* the opposites of those; their time is in free_ns */
    uint64_t sync_count;    /* waits, to give memory back (time in free_ns) or to learn the place of
                             * a heap's block (time in alloc_ns) */
    uint64_t refused_count; /* calls that returned ERR_OOM, and requests beyond the capacity */
    uint64_t reserved_bytes, peak_reserved_bytes;
};

/* Bytes that several sources of one program hold together; each is one of its memory spaces. A
 * driver's pool reports its peak but not when it occurred: the total then adds the bytes that the
 * other sources hold at the end of the run. */
struct source_total {
    uint64_t reserved_bytes, peak_reserved_bytes;
};

struct source {
    const struct source_ops *ops;
    /* Optional tables, each with all of its hooks; NULL: the source lacks the feature. */
    const struct driver_memory_ops *kinds;
    const struct driver_sub_buffer_ops *sub_buffers;
    const struct driver_pool_ops *pools;
    const struct driver_vm_ops *vm;
    const struct source_heap_ops *heaps;
    void *context;           /* handed to all hooks */
    const char *name;        /* the device, for messages; NULL: "this source" */
    uint64_t alignment;      /* every memory begins at a multiple of this power of two */
    bool can_split;          /* a block may be a part of a memory: (memory, offset) */
    uint64_t capacity_bytes; /* refuse beyond this many reserved bytes; 0: the driver decides */
    enum driver_memory kind; /* where source_alloc's memories live; set by source_use_kind */
    uint64_t pool;           /* the open pool, if has_pool: source_pool.h */
    bool has_pool;
    struct source_counts counts;
    struct source_total *total; /* shared with other sources, and what the capacity limits; NULL:
                                 * the source is alone */
    struct error error;         /* of the last call that failed */
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

/* Accounts for device memory that the caller took without this source, and for its release: it
 * counts as reserved. ERR_OOM where that is beyond the capacity. */
int source_hold(struct source *source, uint64_t bytes);
void source_unhold(struct source *source, uint64_t bytes);

/* From now on, and before the first source_alloc, memories are of this kind. ERR_UNSUPPORTED and
 * the reason where there is none. Pools and virtual memory have MEMORY_DEVICE alone. */
int source_use_kind(struct source *source, enum driver_memory kind);

/* For strategies that hand out parts of a memory: 0, or ERR_UNSUPPORTED where the source cannot
 * split. */
int source_requires_split(struct source *source, const char *strategy);

/* Waits for the commands of all queues; counted. */
int source_sync(struct source *source);

/* Only the driver knows the reserved bytes of its pool. This asks it and brings reserved_bytes and
 * peak_reserved_bytes up to date; without an open pool they always are. */
int source_update(struct source *source);
/* Restarts the peak, and that of the total, from what is reserved now. */
int source_reset_peak(struct source *source);

/* ---- for the headers of the optional tables ---- */

/* ERR_UNSUPPORTED unless the source `has` the table of a feature, and its memories live on the
 * device: "X has no LACK", or "DEVICE_ALONE device memory alone". */
int source_requires(struct source *source, bool has, const char *lack, const char *device_alone);
/* Whether that many bytes more fit into the capacity: 0, or ERR_OOM, counted as refused. */
int source_check_capacity(struct source *source, uint64_t bytes);
/* Sets reserved_bytes, the peak, and the total's. */
void source_set_reserved(struct source *source, uint64_t bytes);

/* Counts a call that began at `start` (clock_ns) and returned `code`; returns the code. */
static inline int source_took(struct source *s, uint64_t start, int code)
{
    s->counts.alloc_ns += clock_ns() - start;
    s->counts.refused_count += code == ERR_OOM;
    return code;
}
static inline int source_gave(struct source *s, uint64_t start, int code)
{
    s->counts.free_ns += clock_ns() - start;
    return code;
}

#endif
