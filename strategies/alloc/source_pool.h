/* The driver's pool: allocations and releases are commands of a queue. A source has at most one
 * open pool, and while it is open all memory comes from it. */
#pragma once

#include "alloc/source.h"
#include "base/driver_pool.h"

/* Opens the pool; the driver enforces the source's capacity, if it has one. ERR_UNSUPPORTED and the
 * reason where there is no pool. */
static inline int source_pool_open(struct source *s, const struct driver_pool_options *options)
{
    int code =
        source_requires(s, s->pools, "stream-ordered pool: only single CUDA devices have one",
                        "the driver's pool has");
    THEN(code, s->pools->open(s->context, options, s->capacity_bytes, &s->pool, &s->error));
    s->has_pool = code == 0;
    return code;
}

/* Closes the pool and waits until all its memory is back. */
static inline int source_pool_close(struct source *s)
{
    s->has_pool = false;
    source_set_reserved(s, 0);
    return s->pools->close(s->context, s->pool, &s->error);
}

/* Allocates memory that later commands of `queue` may use. 0, ERR_OOM or another negative code, as
 * source_alloc. */
static inline int source_pool_alloc(struct source *s, unsigned queue, uint64_t bytes,
                                    uint64_t *memory)
{
    uint64_t start = clock_start();
    s->counts.alloc_count++;
    int code = source_took(s, start,
                           s->pools->alloc(s->context, s->pool, queue, bytes, memory, &s->error));
    return source_tell(s, code, SOURCE_HELD, *memory, 0, bytes);
}

/* Frees memory once earlier commands of `queue` are done. */
static inline int source_pool_free(struct source *s, unsigned queue, uint64_t memory,
                                   uint64_t bytes)
{
    uint64_t start = clock_start();
    s->counts.free_count++;
    source_tell(s, 0, SOURCE_GIVEN_BACK, memory, 0, bytes);
    return source_gave(s, start,
                       s->pools->free(s->context, s->pool, queue, memory, bytes, &s->error));
}

/* Gives the pool's spare memory back to the driver. */
static inline int source_pool_trim(struct source *s)
{
    uint64_t start = clock_start();
    s->counts.free_count++;
    return source_gave(s, start, s->pools->trim(s->context, s->pool, 0, &s->error));
}
