/* Where an allocator gets memory from, and the one place that counts what that costs.
 *
 * A source hands out whole *memories*: in production the driver's objects (a cl_mem, a CUdeviceptr,
 * a host mapping), in tests a fake with a capacity. Every strategy goes through source_alloc and
 * source_free, so that driver calls, bytes and time are measured by the same code for all of them.
 *
 * Some drivers offer more: a pool of their own, whose allocations and releases are commands of a
 * queue, and virtual memory, where addresses and what lies behind them are asked for apart. And on
 * some devices a heap can be made of a memory that the device itself looks after. A strategy built
 * on one of them finds out at its start whether the source has it: the call that opens it returns
 * ERR_UNSUPPORTED and the reason. Memory may also live elsewhere than on the device (enum
 * source_kind); which it is concerns no strategy.
 */
#ifndef GAMUT_ALLOC_SOURCE_H
#define GAMUT_ALLOC_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Where memory lives. */
enum source_kind {
    SOURCE_DEVICE,
    SOURCE_PINNED,     /* on the host, locked in place: the device reads it through its bus */
    SOURCE_COARSE_SVM, /* OpenCL's shared virtual memory, the host's while it is mapped */
    SOURCE_FINE_SVM,   /* ... which the host may touch without that */
    SOURCE_MANAGED,    /* CUDA's managed memory: the driver moves pages to who touches them */
};

/* Of every kind but SOURCE_DEVICE. */
struct source_kind_ops {
    /* 0, or ERR_UNSUPPORTED and the reason. */
    int (*offered)(void *context, enum source_kind kind, struct error *error);
    int (*alloc)(void *context, enum source_kind kind, uint64_t bytes, uint64_t *memory,
                 struct error *error);
    int (*free)(void *context, enum source_kind kind, uint64_t memory, uint64_t bytes,
                struct error *error);
};

/* Handles for parts of memories. A part serves as a memory that begins there. */
struct source_part_ops {
    /* 0, or ERR_UNSUPPORTED and the reason; of memory of that kind. */
    int (*offered)(void *context, enum source_kind kind, struct error *error);
    /* `offset` is a multiple of the source's alignment. */
    int (*create)(void *context, uint64_t memory, uint64_t offset, uint64_t bytes, uint64_t *part,
                  struct error *error);
    /* Commands may still use the part: the release is deferred until they are done. */
    int (*release)(void *context, uint64_t part, uint64_t bytes, struct error *error);
};

/* How the driver's pool behaves, in the CUDA driver's words. */
struct source_pool_options {
    uint64_t release_threshold_bytes; /* kept when somebody waits; UINT64_MAX: everything */
    bool follow_event_dependencies;   /* reuse across queues that events have ordered */
    bool allow_opportunistic;         /* ... and where the free turns out to be done already */
    bool allow_internal_dependencies; /* ... and by making the second queue wait */
};

struct source_pool_ops {
    /* `most_bytes`: the pool refuses beyond this; 0: the driver decides. */
    int (*open)(void *context, const struct source_pool_options *options, uint64_t most_bytes,
                uint64_t *pool, struct error *error);
    /* Waits until all memory is back. */
    int (*close)(void *context, uint64_t pool, struct error *error);
    int (*alloc)(void *context, uint64_t pool, unsigned queue, uint64_t bytes, uint64_t *memory,
                 struct error *error);
    int (*free)(void *context, uint64_t pool, unsigned queue, uint64_t memory, uint64_t bytes,
                struct error *error);
    int (*trim)(void *context, uint64_t pool, uint64_t keep_bytes, struct error *error);
    /* What the driver holds for the pool, and held at most since open or reset_peak. */
    int (*reserved)(void *context, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                    struct error *error);
    int (*reset_peak)(void *context, uint64_t pool, struct error *error);
};

struct source_vm_info {
    uint64_t granularity_bytes; /* what ranges and chunks are multiples of */
    uint64_t memory_bytes;      /* of the device */
};

/* A range of addresses serves as a memory once chunks are mapped into it and made accessible. */
struct source_vm_ops {
    int (*info)(void *context, struct source_vm_info *info, struct error *error);
    int (*reserve)(void *context, uint64_t bytes, uint64_t *range, struct error *error);
    int (*unreserve)(void *context, uint64_t range, uint64_t bytes, struct error *error);
    int (*create)(void *context, uint64_t bytes, uint64_t *chunk, struct error *error);
    int (*release)(void *context, uint64_t chunk, uint64_t bytes, struct error *error);
    int (*map)(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
               struct error *error);
    int (*access)(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                  struct error *error);
    int (*unmap)(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                 struct error *error);
};

/* How a heap on the device places blocks; what they mean is the heap's business. */
enum source_heap_policy { HEAP_LARGER, HEAP_SMALLER, HEAP_BEST, HEAP_TLSF };

struct source_heap_options {
    enum source_heap_policy policy;
    bool seed_padding; /* an element more than is asked for, as published */
    bool mirror; /* the host repeats what the device does, and so knows places without asking */
    uint64_t arena_bytes;
    uint64_t block_count; /* that can be live */
};

/* A heap in a memory of the source, whose allocations and frees are commands of the queue that it
 * was opened on, carried out by the device. */
struct source_heap_ops {
    /* What all heaps need (their kernels), and its end. */
    int (*begin)(void *context, uint64_t *kernels, struct error *error);
    void (*end)(void *context, uint64_t kernels);
    /* *books_bytes: device memory that it holds besides. */
    int (*open)(void *context, uint64_t kernels, uint64_t memory, unsigned queue,
                const struct source_heap_options *options, uint64_t *heap, uint64_t *books_bytes,
                struct error *error);
    int (*close)(void *context, uint64_t heap, struct error *error);
    /* Gives the command, with all frees since the last one, and learns where the block is: unless
     * the host mirrors the heap, it waits for that. ERR_OOM where the heap has no room. `offset` is
     * a multiple of alignment, `block` names it to free. */
    int (*alloc)(void *context, uint64_t heap, uint64_t bytes, uint64_t alignment, uint64_t *block,
                 uint64_t *offset, struct error *error);
    /* Is given to the device with the next alloc: what is freed is of use to nobody before. */
    int (*free)(void *context, uint64_t heap, uint64_t block, struct error *error);
    /* Waits; the number of the heap's invariants that do not hold. */
    int (*check)(void *context, uint64_t heap, uint64_t *broken, struct error *error);
};

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
    const struct source_kind_ops *kinds; /* optional; with all its hooks, like those that follow */
    const struct source_part_ops *parts; /* optional */
    const struct source_pool_ops *pool;  /* optional */
    const struct source_vm_ops *vm;      /* optional */
    const struct source_heap_ops *heap;  /* optional */
};

/* Calls and nanoseconds in the driver, bytes held from it. `refused_count` counts the ERR_OOMs. A
 * pool's allocations and a chunk's creation are allocations; a pool's releases and trims and a
 * chunk's release are frees. The time of maps is in alloc_ns, that of unmaps and waits in free_ns.
 * An allocation from a heap on the device is one, because it launches a kernel; where the host
 * waits to learn the place, that is a wait, and its time is in alloc_ns. A free from such a heap
 * launches nothing, and is no call. Making a heap is an allocation besides that of its memory: of
 * its books.
 */
struct source_counts {
    uint64_t alloc_count, alloc_ns;
    uint64_t touch_count, touch_ns;
    uint64_t free_count, free_ns;
    uint64_t map_count; /* ranges reserved, chunks mapped, ranges made accessible, parts created */
    uint64_t unmap_count; /* pieces of ranges unmapped, ranges given back, parts released */
    uint64_t sync_count;  /* waits, so that memory can be given back, or to learn where it is */
    uint64_t refused_count;
    uint64_t reserved_bytes, peak_reserved_bytes;
};

/* What several sources hold together that serve one program, each a memory space of it: the peak is
 * that of the sum. What a driver's pool held at most within a run is known, but not when: the sum
 * then is with what the others hold at its end. */
struct source_total {
    uint64_t reserved_bytes, peak_reserved_bytes;
};

struct source {
    const struct source_ops *ops;
    void *context;
    uint64_t alignment;      /* of every memory, in bytes; a power of two */
    bool can_split;          /* a block may be a part of a memory: (memory, offset) */
    uint64_t capacity_bytes; /* refuse beyond this many reserved bytes; 0: the driver decides */
    enum source_kind kind;   /* of source_alloc's memories; set by source_use_kind */
    uint64_t pool;           /* of source_pool_open, which sets has_pool */
    bool has_pool;
    struct source_counts counts;
    struct source_total *total; /* its own and others', and what the capacity is for; NULL: alone */
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

/* Memory of the device that somebody has taken beside the source, and has given back: it counts as
 * reserved. ERR_OOM where that is beyond the capacity. */
int source_hold(struct source *source, uint64_t bytes);
void source_unhold(struct source *source, uint64_t bytes);

/* All memory of source_alloc is of this kind from now on; before the first of it. ERR_UNSUPPORTED
 * and the reason where there is none. Pool and virtual memory are the device's alone. */
int source_use_kind(struct source *source, enum source_kind kind);

/* Whether it can give parts of its memory handles of their own (OpenCL: sub-buffers); of the kind
 * that is in use. ERR_UNSUPPORTED and the reason where it cannot. */
int source_has_parts(struct source *source);
/* A part goes before its memory does. It counts as released even if the driver complains. */
int source_create_part(struct source *source, uint64_t memory, uint64_t offset, uint64_t bytes,
                       uint64_t *part);
int source_release_part(struct source *source, uint64_t part, uint64_t bytes);

/* Waits for the commands of all queues; counted. */
int source_sync(struct source *source);

/* The driver's pool. A source has one at a time, and while it is open all memory comes from it. The
 * capacity, if there is one, is handed to the driver. */
int source_pool_open(struct source *source, const struct source_pool_options *options);
int source_pool_close(struct source *source);
/* Commands of `queue`: the memory may be used by that queue's later commands, and is free once its
 * earlier ones are done. alloc: 0, ERR_OOM or another negative code, as source_alloc. */
int source_pool_alloc(struct source *source, unsigned queue, uint64_t bytes, uint64_t *memory);
int source_pool_free(struct source *source, unsigned queue, uint64_t memory, uint64_t bytes);
/* Gives back what is spare now. */
int source_pool_trim(struct source *source);

/* Bytes reserved by a pool are the driver's to know. This asks it and brings reserved_bytes and
 * peak_reserved_bytes up to date; without a pool they always are. */
int source_update(struct source *source);
/* The peak starts again from what is reserved now, and so does that of the total. */
int source_reset_peak(struct source *source);

/* Virtual memory. `range` is what vm_reserve gave, and the memory of blocks in it. Chunks count as
 * reserved bytes, ranges do not. */
int source_vm_info(struct source *source, struct source_vm_info *info);
int source_vm_reserve(struct source *source, uint64_t bytes, uint64_t *range);
int source_vm_unreserve(struct source *source, uint64_t range, uint64_t bytes);
/* 0, ERR_OOM or another negative code, as source_alloc. */
int source_vm_create(struct source *source, uint64_t bytes, uint64_t *chunk);
/* The chunk must be unmapped. It counts as given back even if the driver complains. */
int source_vm_release(struct source *source, uint64_t chunk, uint64_t bytes);
/* Lays a chunk over [offset, offset + bytes) of a range; it may be used after vm_access. */
int source_vm_map(struct source *source, uint64_t range, uint64_t offset, uint64_t chunk,
                  uint64_t bytes);
int source_vm_access(struct source *source, uint64_t range, uint64_t offset, uint64_t bytes);
/* Waits for nothing: no command may still use that part, see source_sync. */
int source_vm_unmap(struct source *source, uint64_t range, uint64_t offset, uint64_t bytes);

/* Before the first heap and after the last; not counted. */
int source_heap_begin(struct source *source, uint64_t *kernels);
void source_heap_end(struct source *source, uint64_t kernels);
/* A heap on the device in `memory`, of arena_bytes. While it is open, what is in that memory is its
 * own. */
int source_heap_open(struct source *source, uint64_t kernels, uint64_t memory, unsigned queue,
                     const struct source_heap_options *options, uint64_t *heap,
                     uint64_t *books_bytes);
/* `books_bytes` is what open said. */
int source_heap_close(struct source *source, uint64_t heap, uint64_t books_bytes);
/* 0, ERR_OOM where the heap has no room, or another negative code. `waits`: the heap has no mirror.
 */
int source_heap_alloc(struct source *source, uint64_t heap, bool waits, uint64_t bytes,
                      uint64_t alignment, uint64_t *block, uint64_t *offset);
int source_heap_free(struct source *source, uint64_t heap, uint64_t block);
/* Not counted. */
int source_heap_check(struct source *source, uint64_t heap, uint64_t *broken);

#endif
