/* Heaps that the device runs, each in a memory of a source: strategies/device_heap. Allocations and
 * frees are commands of the queue that a heap was opened on, carried out by the device. */
#ifndef GAMUT_ALLOC_SOURCE_HEAP_H
#define GAMUT_ALLOC_SOURCE_HEAP_H

#include "alloc/source.h"
#include "device_heap/heap_layout.h"

struct source_heap_options {
    enum device_heap_policy policy;
    enum device_heap_padding padding;
    bool mirror; /* the host repeats the device's work, and so knows places without a wait */
    uint64_t arena_bytes;
    uint64_t block_count; /* most blocks that can be live */
};

struct source_heap_ops {
    /* Builds the kernels that all heaps need. */
    int (*begin)(void *context, uint64_t *kernels, struct error *error);
    /* Frees the kernels. */
    void (*end)(void *context, uint64_t kernels);
    /* *index_bytes receives the device memory that the heap holds in addition to `memory`. */
    int (*open)(void *context, uint64_t kernels, uint64_t memory, unsigned queue,
                const struct source_heap_options *options, uint64_t *heap, uint64_t *index_bytes,
                struct error *error);
    int (*close)(void *context, uint64_t heap, struct error *error);
    /* Submits the command, with all frees since the last one, and learns the block's offset; unless
     * the host mirrors the heap, it waits for that. ERR_OOM where the heap has no room. *offset is
     * a multiple of `alignment`; *block names the block in free. */
    int (*alloc)(void *context, uint64_t heap, uint64_t bytes, uint64_t alignment, uint64_t *block,
                 uint64_t *offset, struct error *error);
    /* Queued; submitted together with the next alloc, since freed space cannot be used before then.
     */
    int (*free)(void *context, uint64_t heap, uint64_t block, struct error *error);
    /* Waits. *broken receives the number of the heap's invariants that do not hold. */
    int (*check)(void *context, uint64_t heap, uint64_t *broken, struct error *error);
};

/* Called before the first heap; not counted. ERR_UNSUPPORTED and the reason if the device runs no
 * heaps. */
static inline int source_heap_begin(struct source *s, uint64_t *kernels)
{
    if (!s->heaps)
        return source_requires(s, false, "heap on the device", NULL);
    return s->heaps->begin(s->context, kernels, &s->error);
}

/* Called after the last heap; not counted. */
static inline void source_heap_end(struct source *s, uint64_t kernels)
{
    s->heaps->end(s->context, kernels);
}

/* Makes a heap in `memory` of options->arena_bytes, which the heap uses until it is closed. */
static inline int source_heap_open(struct source *s, uint64_t kernels, uint64_t memory,
                                   unsigned queue, const struct source_heap_options *options,
                                   uint64_t *heap, uint64_t *index_bytes)
{
    uint64_t start = clock_start();
    *index_bytes = 0;
    s->counts.alloc_count++;
    int code = source_took(
        s, start,
        s->heaps->open(s->context, kernels, memory, queue, options, heap, index_bytes, &s->error));
    if (code)
        return code;
    code = *index_bytes ? source_check_capacity(s, *index_bytes) : 0;
    if (code)
        s->heaps->close(s->context, *heap, NULL);
    else
        source_set_reserved(s, s->counts.reserved_bytes + *index_bytes);
    return code;
}

/* Ends a heap; `index_bytes` is the value from source_heap_open. */
static inline int source_heap_close(struct source *s, uint64_t heap, uint64_t index_bytes)
{
    source_set_reserved(s, s->counts.reserved_bytes - index_bytes);
    uint64_t start = clock_start();
    s->counts.free_count++;
    return source_gave(s, start, s->heaps->close(s->context, heap, &s->error));
}

/* 0, ERR_OOM where the heap has no room, or another negative code. `waits`: the host must wait to
 * learn the block's offset (the heap has no mirror); the wait is counted. */
static inline int source_heap_alloc(struct source *s, uint64_t heap, bool waits, uint64_t bytes,
                                    uint64_t alignment, uint64_t *block, uint64_t *offset)
{
    uint64_t start = clock_start();
    s->counts.alloc_count++;
    s->counts.sync_count += waits;
    return source_took(
        s, start, s->heaps->alloc(s->context, heap, bytes, alignment, block, offset, &s->error));
}

/* Frees a block; the command goes with the next alloc. */
static inline int source_heap_free(struct source *s, uint64_t heap, uint64_t block)
{
    uint64_t start = clock_start();
    return source_gave(s, start, s->heaps->free(s->context, heap, block, &s->error));
}

/* Calls the hook `check`; not counted. */
static inline int source_heap_check(struct source *s, uint64_t heap, uint64_t *broken)
{
    return s->heaps->check(s->context, heap, broken, &s->error);
}

#endif
