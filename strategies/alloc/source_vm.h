/* Virtual memory of a source; base/driver_vm.h describes the calls. Chunks count as reserved bytes,
 * ranges do not. A range is the memory of the blocks in it. */
#pragma once

#include "alloc/source.h"
#include "base/driver_vm.h"

static inline uint64_t vm_round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* ERR_UNSUPPORTED and the reason where there is no virtual memory. */
static inline int source_vm_info(struct source *s, struct driver_vm_info *info)
{
    int code = source_requires(
        s, s->vm,
        "virtual memory for programs to map: only single CUDA devices and the host have it",
        "virtual memory is laid over");
    return code ? code : s->vm->info(s->context, info, &s->error);
}

static inline int source_vm_reserve(struct source *s, uint64_t bytes, uint64_t *range)
{
    uint64_t start = clock_start();
    s->counts.map_count++;
    return source_took(s, start, s->vm->reserve(s->context, bytes, range, &s->error));
}

static inline int source_vm_unreserve(struct source *s, uint64_t range, uint64_t bytes)
{
    uint64_t start = clock_start();
    s->counts.unmap_count++;
    source_tell(s, 0, SOURCE_GIVEN_BACK, range, 0, bytes);
    return source_gave(s, start, s->vm->unreserve(s->context, range, bytes, &s->error));
}

/* Makes a chunk for a request that source_check_capacity has admitted as a whole: the chunk alone
 * may exceed the capacity. 0, ERR_OOM or another negative code, as source_alloc. */
static inline int source_vm_create_admitted(struct source *s, uint64_t bytes, uint64_t *chunk)
{
    uint64_t start = clock_start();
    s->counts.alloc_count++;
    int code = source_took(s, start, s->vm->create(s->context, bytes, chunk, &s->error));
    if (!code)
        source_set_reserved(s, s->counts.reserved_bytes + bytes);
    return code;
}

/* Makes a chunk that must fit into the capacity. */
static inline int source_vm_create(struct source *s, uint64_t bytes, uint64_t *chunk)
{
    int code = source_check_capacity(s, bytes);
    return code ? code : source_vm_create_admitted(s, bytes, chunk);
}

/* Releases a chunk, which must be unmapped. It counts as given back even if the driver reports a
 * failure. */
static inline int source_vm_release(struct source *s, uint64_t chunk, uint64_t bytes)
{
    source_set_reserved(s, s->counts.reserved_bytes - bytes);
    uint64_t start = clock_start();
    s->counts.free_count++;
    return source_gave(s, start, s->vm->release(s->context, chunk, bytes, &s->error));
}

/* Lays a chunk over [offset, offset + bytes) of a range; it may be used after source_vm_access. */
static inline int source_vm_map(struct source *s, uint64_t range, uint64_t offset, uint64_t chunk,
                                uint64_t bytes)
{
    uint64_t start = clock_start();
    s->counts.map_count++;
    int code =
        source_took(s, start, s->vm->map(s->context, range, offset, chunk, bytes, &s->error));
    return source_tell(s, code, SOURCE_MAPPED, range, offset, bytes);
}

static inline int source_vm_access(struct source *s, uint64_t range, uint64_t offset,
                                   uint64_t bytes)
{
    uint64_t start = clock_start();
    s->counts.map_count++;
    return source_took(s, start, s->vm->access(s->context, range, offset, bytes, &s->error));
}

/* Unmaps chunks without a wait: no command may still use these bytes (source_sync). */
static inline int source_vm_unmap(struct source *s, uint64_t range, uint64_t offset, uint64_t bytes)
{
    uint64_t start = clock_start();
    s->counts.unmap_count++;
    source_tell(s, 0, SOURCE_UNMAPPED, range, offset, bytes);
    return source_gave(s, start, s->vm->unmap(s->context, range, offset, bytes, &s->error));
}
