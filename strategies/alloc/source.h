/* A source is where an allocator gets memory from. It counts the calls, bytes and time.
 *
 * A source hands out whole *memories*: in production the driver's objects (a cl_mem, a CUdeviceptr,
 * a host mapping), in tests a fake with a capacity. Every strategy goes through source_alloc and
 * source_free, so that driver calls, bytes and time are measured by the same code for all of them.
 *
 * Most strategies use this header alone. A feature that only some drivers offer has a table of
 * hooks and counted calls of its own:
 *
 *     source_pool.h        a pool of the driver's, whose allocations are commands of a queue
 *     source_vm.h          virtual memory: addresses, and memory that is mapped to them
 *     source_sub_buffer.h  handles for parts of a memory (allocator.c makes them)
 *
 * A strategy that needs a feature opens it at its start. If the source lacks it, that call returns
 * ERR_UNSUPPORTED and the reason. Memory may also live elsewhere than on the device (enum
 * driver_memory); no strategy needs to know.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/driver_memory.h"
#include "base/error.h"

struct source_ops {
    /* Required. Stores a non-zero handle in *memory. On failure nothing is held: ERR_OOM (the
     * allocator may give something back and ask again) or another negative code. */
    int (*alloc)(void *context, uint64_t bytes, uint64_t *memory, struct error *error);
    /* Optional. Makes the memory resident now instead of at its first use. */
    int (*touch)(void *context, uint64_t memory, uint64_t bytes, struct error *error);
    /* Required. `bytes` is the size given to alloc. Commands of any queue may still use the memory:
     * the source waits for them, or defers the release until they are done. */
    int (*free)(void *context, uint64_t memory, uint64_t bytes, struct error *error);
    /* Required where there is a pool or virtual memory. Waits for the commands of all queues. */
    int (*sync)(void *context, struct error *error);
    /* Optional. The address of a memory, for strategies that prefer low ones. */
    uint64_t (*address)(void *context, uint64_t memory);
};

/* Counts of driver calls, nanoseconds in them, and bytes held from the driver. */
struct source_counts {
    uint64_t alloc_count, alloc_ns; /* memories, blocks of pools, chunks */
    uint64_t touch_count, touch_ns;
    uint64_t free_count, free_ns; /* their releases, trims of a pool */
    uint64_t map_count; /* ranges reserved, chunks mapped, ranges made accessible, sub-buffers made;
                         * their time is in alloc_ns */
    uint64_t unmap_count;   /* the opposites of the maps; their time is in free_ns */
    uint64_t sync_count;    /* waits, to give memory back; their time is in free_ns */
    uint64_t refused_count; /* calls that returned ERR_OOM, and requests beyond the capacity */
    uint64_t reserved_bytes, peak_reserved_bytes;
};

/* Bytes that the sources of one program, one for each memory space, hold together. A
 * driver's pool reports its peak but not when it occurred: the total then adds the bytes that the
 * other sources hold at the end of the run. */
struct source_total {
    uint64_t reserved_bytes, peak_reserved_bytes;
    /* Of the requests that the capacity refused: the least bytes that would have been held after
     * one. A larger capacity below it refuses the same. 0: none was refused. */
    uint64_t least_refused_bytes;
    /* Of those that it did not refuse: the most. A smaller capacity above it refuses as little. */
    uint64_t most_served_bytes;
    bool capacity_is_read; /* by a strategy that does otherwise under another one */
};

/* Blocks that the program has freed while queues that are not theirs may still use them. The
 * strategy gets them back when those queues are done, or by source_settle. */
struct source_pending {
    void *context;
    /* Waits for the oldest of them until they have `enough_bytes` together, or for all, and has the
     * strategy free each: allocator_free is called before this returns. *count: how many. */
    int (*settle)(void *context, uint64_t enough_bytes, unsigned *count);
};

enum source_event {
    SOURCE_HELD,
    SOURCE_GIVEN_BACK,
    SOURCE_MAPPED,
    SOURCE_UNMAPPED,
    SOURCE_HANDED_OVER /* no call of the driver: source_hand_over */
};

/* Hears where a source gets memory: a memory, a pool's block, or a part of a range of virtual
 * memory. Memory is heard of after the driver gave it, and before the driver has it back. */
struct source_listener {
    void *context;
    void (*event)(void *context, enum source_event event, uint64_t memory, uint64_t offset,
                  uint64_t bytes);
};

struct source {
    const struct source_ops *ops;
    /* Optional tables, each with all of its hooks; NULL: the source lacks the feature. */
    const struct driver_memory_ops *kinds;
    const struct driver_sub_buffer_ops *sub_buffers;
    const struct driver_pool_ops *pools;
    const struct driver_vm_ops *vm;
    void *context;           /* handed to all hooks */
    const char *name;        /* the device, for messages; NULL: "this source" */
    uint64_t alignment;      /* every memory begins at a multiple of this power of two */
    bool can_split;          /* a block may be a part of a memory: (memory, offset) */
    uint64_t capacity_bytes; /* most reserved bytes, then ERR_OOM; 0: the driver decides */
    enum driver_memory kind; /* where source_alloc's memories live; set by source_use_kind */
    uint64_t pool;           /* the open pool, if has_pool: source_pool.h */
    bool has_pool;
    struct source_counts counts;
    struct source_total *total; /* shared with the program's other sources; the capacity limits this
                                 * sum. NULL: the source is alone */
    const struct source_listener *listener; /* NULL: there is none */
    const struct source_pending *pending;   /* NULL: there are never any */
    struct error error;                     /* message of the last call that failed */
};

enum source_flags {
    SOURCE_LAZY = 0,
    SOURCE_RESIDENT = 1, /* touch the memory before it is handed out, if the source can */
};

/* Allocates a memory of `bytes` (> 0). 0, ERR_OOM or another negative code; source->error then has
 * the bytes requested, the bytes held and the driver's message. A memory that could not be made
 * resident is given back before the call returns. */
int source_alloc(struct source *source, uint64_t bytes, enum source_flags flags, uint64_t *memory);

/* Gives a memory back. It counts as given back even if the driver reports a failure. */
int source_free(struct source *source, uint64_t memory, uint64_t bytes);

/* Sets the kind of all memories; called before the first source_alloc. ERR_UNSUPPORTED and the
 * reason where the source lacks the kind. Pools and virtual memory have MEMORY_DEVICE alone. */
int source_use_kind(struct source *source, enum driver_memory kind);

/* Bytes that this source, and those with which it shares a total, hold from the driver. */
static inline uint64_t source_held_bytes(const struct source *source)
{
    return source->total ? source->total->reserved_bytes : source->counts.reserved_bytes;
}

/* The capacity, for a strategy that does otherwise under another one. The total notes it. */
static inline uint64_t source_read_capacity(const struct source *source)
{
    if (source->total)
        source->total->capacity_is_read = true;
    return source->capacity_bytes;
}

/* For strategies that hand out parts of a memory: 0, or ERR_UNSUPPORTED where the source cannot
 * split. */
int source_requires_split(struct source *source, const char *strategy);

/* Waits for the commands of all queues; counted. */
int source_sync(struct source *source);
/* The same, and then these bytes, in which no block is live, may pass to another queue. */
int source_hand_over(struct source *source, uint64_t memory, uint64_t offset, uint64_t bytes);

/* A strategy that is refused waits for pending blocks of at least `enough_bytes`, or for all that
 * there are. It is not counted. *count, which may be NULL: blocks that the strategy then got back.
 */
int source_settle(struct source *source, uint64_t enough_bytes, unsigned *count);

/* Asks the driver for the reserved bytes of the open pool, and updates reserved_bytes and
 * peak_reserved_bytes. Without an open pool they are always up to date. */
int source_update(struct source *source);
/* Sets the peak, and the peak of the total, to the bytes that are reserved now. */
int source_reset_peak(struct source *source);

/* ---- for the headers of the optional tables ---- */

/* ERR_UNSUPPORTED unless the source `has` the table of a feature, and its memories live on the
 * device. The message is "X has no LACK", or "DEVICE_ALONE device memory alone". */
int source_requires(struct source *source, bool has, const char *lack, const char *device_alone);
/* Checks that `bytes` more fit into the capacity: 0, or ERR_OOM, which counts as refused. */
int source_check_capacity(struct source *source, uint64_t bytes);
/* Sets reserved_bytes, and updates the peak and the total. */
void source_set_reserved(struct source *source, uint64_t bytes);

/* Tells the listener, if the call succeeded. Returns `code`, the call's result. */
static inline int source_tell(struct source *s, int code, enum source_event event, uint64_t memory,
                              uint64_t offset, uint64_t bytes)
{
    if (s->listener && code == 0)
        s->listener->event(s->listener->context, event, memory, offset, bytes);
    return code;
}
/* Adds the time of a call that began at `start` (clock_start) to alloc_ns, and counts ERR_OOM as
 * refused. Returns `code`, the call's result. */
static inline int source_took(struct source *s, uint64_t start, int code)
{
    s->counts.alloc_ns += clock_since(start);
    s->counts.refused_count += code == ERR_OOM;
    return code;
}
/* The same for a call whose time goes to free_ns. */
static inline int source_gave(struct source *s, uint64_t start, int code)
{
    s->counts.free_ns += clock_since(start);
    return code;
}
