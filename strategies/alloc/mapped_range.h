/* A range of addresses into which chunks of memory are mapped, all of one size: what `vmm` and
 * `planned` hold. A chunk is mapped in one place until it is released. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "alloc/source_vm.h"
#include "base/arena.h"

struct mapped_range {
    struct source *source;
    uint64_t address, bytes; /* the handle of the range; 0: it is not open */
    uint64_t chunk_bytes, held_bytes;
    bool admits;      /* no chunk is refused for the source's capacity */
    uint64_t *chunks; /* the chunk that is mapped at chunk_bytes * i; 0: none */
};

/* Reserves addresses for a struct of zeros; `bytes` is a multiple of `chunk_bytes`, which is one of
 * the granularity. */
static inline int mapped_range_open(struct mapped_range *r, struct source *source, uint64_t bytes,
                                    uint64_t chunk_bytes)
{
    uint64_t address;
    TRY(source_vm_reserve(source, bytes, &address));
    r->source = source;
    r->address = address;
    r->bytes = bytes;
    r->chunk_bytes = chunk_bytes;
    r->chunks = (uint64_t *)must_alloc(bytes / chunk_bytes * sizeof *r->chunks);
    return 0;
}

/* Unmaps and releases the chunks in [start, end), without a wait. All count as released, whatever
 * the driver returns; the first failure is returned. */
static inline int mapped_range_unmap(struct mapped_range *r, uint64_t start, uint64_t end)
{
    const uint64_t bytes = r->chunk_bytes;
    int first_failure = 0;
    for (uint64_t at = start; at < end; at += bytes) {
        uint64_t *chunk = &r->chunks[at / bytes];
        if (!*chunk)
            continue;
        ALSO(first_failure, source_vm_unmap(r->source, r->address, at, bytes));
        ALSO(first_failure, source_vm_release(r->source, *chunk, bytes));
        *chunk = 0;
        r->held_bytes -= bytes;
    }
    return first_failure;
}

static inline int mapped_range_map_chunk(struct mapped_range *r, uint64_t at)
{
    uint64_t bytes = r->chunk_bytes, chunk;
    TRY(r->admits ? source_vm_create_admitted(r->source, bytes, &chunk)
                  : source_vm_create(r->source, bytes, &chunk));
    int code = source_vm_map(r->source, r->address, at, chunk, bytes);
    if (code) {
        int released = source_vm_release(r->source, chunk, bytes);
        return released ? released : code;
    }
    r->chunks[at / bytes] = chunk;
    r->held_bytes += bytes;
    return 0;
}

/* Maps chunks over [start, end), where none is, or none. They are new, so undoing it needs no
 * wait. */
static inline int mapped_range_map(struct mapped_range *r, uint64_t start, uint64_t end)
{
    uint64_t at = start;
    int code = 0;
    for (; at < end && !code; at += code ? 0 : r->chunk_bytes)
        code = mapped_range_map_chunk(r, at);
    THEN(code, source_vm_access(r->source, r->address, start, end - start));
    if (code) {
        int undone = mapped_range_unmap(r, start, at);
        return undone ? undone : code;
    }
    return 0;
}

/* Gives all back. */
static inline int mapped_range_close(struct mapped_range *r)
{
    int code = mapped_range_unmap(r, 0, r->bytes);
    ALSO(code, source_vm_unreserve(r->source, r->address, r->bytes));
    free(r->chunks);
    memset(r, 0, sizeof *r);
    return code;
}
