#include "alloc/source.h"

#include "base/clock.h"
#include "base/text.h"

/* What counts against the capacity. */
static uint64_t held_bytes(const struct source *s)
{
    return s->total ? s->total->reserved_bytes : s->counts.reserved_bytes;
}

static int refuse(struct source *s, uint64_t bytes)
{
    char asked[32], held[32], capacity[32];
    s->counts.refused_count++;
    return error_set(&s->error, ERR_OOM, "asked for %s with %s of the capacity of %s reserved",
                     text_bytes(asked, bytes), text_bytes(held, held_bytes(s)),
                     text_bytes(capacity, s->capacity_bytes));
}

static int touch(struct source *s, uint64_t memory, uint64_t bytes)
{
    uint64_t start = clock_ns();
    int code = s->ops->touch(s->context, memory, bytes, &s->error);
    s->counts.touch_ns += clock_ns() - start;
    s->counts.touch_count++;
    return code;
}

static int release(struct source *s, uint64_t memory, uint64_t bytes, struct error *error)
{
    uint64_t start = clock_ns();
    int code = s->kind == SOURCE_DEVICE
                   ? s->ops->free(s->context, memory, bytes, error)
                   : s->ops->kinds->free(s->context, s->kind, memory, bytes, error);
    s->counts.free_ns += clock_ns() - start;
    s->counts.free_count++;
    return code;
}

static bool beyond_capacity(const struct source *s, uint64_t bytes)
{
    return s->capacity_bytes &&
           (bytes > s->capacity_bytes || held_bytes(s) > s->capacity_bytes - bytes);
}

static void grow_to(uint64_t *peak_bytes, uint64_t bytes)
{
    if (bytes > *peak_bytes)
        *peak_bytes = bytes;
}

static void set_reserved(struct source *s, uint64_t bytes)
{
    if (s->total) {
        s->total->reserved_bytes += bytes - s->counts.reserved_bytes;
        grow_to(&s->total->peak_reserved_bytes, s->total->reserved_bytes);
    }
    s->counts.reserved_bytes = bytes;
    grow_to(&s->counts.peak_reserved_bytes, bytes);
}

static void count_reserved(struct source *s, uint64_t bytes)
{
    set_reserved(s, s->counts.reserved_bytes + bytes);
}

static void count_given_back(struct source *s, uint64_t bytes)
{
    set_reserved(s, s->counts.reserved_bytes - bytes);
}

int source_alloc(struct source *s, uint64_t bytes, enum source_flags flags, uint64_t *memory)
{
    if (beyond_capacity(s, bytes))
        return refuse(s, bytes);

    uint64_t start = clock_ns();
    int code = s->kind == SOURCE_DEVICE
                   ? s->ops->alloc(s->context, bytes, memory, &s->error)
                   : s->ops->kinds->alloc(s->context, s->kind, bytes, memory, &s->error);
    s->counts.alloc_ns += clock_ns() - start;
    s->counts.alloc_count++;
    if (code == 0 && (flags & SOURCE_RESIDENT) && s->ops->touch) {
        code = touch(s, *memory, bytes);
        if (code)
            release(s, *memory, bytes, NULL); /* the first failure is the one to report */
    }
    if (code) {
        s->counts.refused_count += code == ERR_OOM;
        return code;
    }
    count_reserved(s, bytes);
    return 0;
}

int source_free(struct source *s, uint64_t memory, uint64_t bytes)
{
    count_given_back(s, bytes);
    return release(s, memory, bytes, &s->error);
}

int source_hold(struct source *s, uint64_t bytes)
{
    if (beyond_capacity(s, bytes))
        return refuse(s, bytes);
    count_reserved(s, bytes);
    return 0;
}

void source_unhold(struct source *s, uint64_t bytes)
{
    count_given_back(s, bytes);
}

int source_use_kind(struct source *s, enum source_kind kind)
{
    if (kind != SOURCE_DEVICE && !s->ops->kinds)
        return error_set(&s->error, ERR_UNSUPPORTED, "this source has device memory alone");
    int code = kind == SOURCE_DEVICE ? 0 : s->ops->kinds->offered(s->context, kind, &s->error);
    if (code == 0)
        s->kind = kind;
    return code;
}

/* A call of the kind that `count` counts, begun at `start`. */
static int count_call(uint64_t *count, uint64_t *ns, uint64_t start, int code)
{
    ++*count;
    *ns += clock_ns() - start;
    return code;
}

int source_sync(struct source *s)
{
    uint64_t start = clock_ns();
    int code = s->ops->sync(s->context, &s->error);
    return count_call(&s->counts.sync_count, &s->counts.free_ns, start, code);
}

/* ---- parts ---- */

int source_has_parts(struct source *s)
{
    if (!s->ops->parts)
        return error_set(&s->error, ERR_UNSUPPORTED, "this source has no sub-buffers");
    return s->ops->parts->offered(s->context, s->kind, &s->error);
}

int source_create_part(struct source *s, uint64_t memory, uint64_t offset, uint64_t bytes,
                       uint64_t *part)
{
    uint64_t start = clock_ns();
    int code = s->ops->parts->create(s->context, memory, offset, bytes, part, &s->error);
    s->counts.refused_count += code == ERR_OOM;
    return count_call(&s->counts.map_count, &s->counts.alloc_ns, start, code);
}

int source_release_part(struct source *s, uint64_t part, uint64_t bytes)
{
    uint64_t start = clock_ns();
    int code = s->ops->parts->release(s->context, part, bytes, &s->error);
    return count_call(&s->counts.unmap_count, &s->counts.free_ns, start, code);
}

/* ---- the driver's pool ---- */

int source_pool_open(struct source *s, const struct source_pool_options *options)
{
    if (!s->ops->pool)
        return error_set(&s->error, ERR_UNSUPPORTED, "this source has no stream-ordered pool");
    if (s->kind != SOURCE_DEVICE)
        return error_set(&s->error, ERR_UNSUPPORTED, "the driver's pool has device memory alone");
    int code = s->ops->pool->open(s->context, options, s->capacity_bytes, &s->pool, &s->error);
    s->has_pool = code == 0;
    return code;
}

int source_pool_close(struct source *s)
{
    s->has_pool = false;
    set_reserved(s, 0);
    return s->ops->pool->close(s->context, s->pool, &s->error);
}

int source_pool_alloc(struct source *s, unsigned queue, uint64_t bytes, uint64_t *memory)
{
    uint64_t start = clock_ns();
    int code = s->ops->pool->alloc(s->context, s->pool, queue, bytes, memory, &s->error);
    s->counts.refused_count += code == ERR_OOM;
    return count_call(&s->counts.alloc_count, &s->counts.alloc_ns, start, code);
}

int source_pool_free(struct source *s, unsigned queue, uint64_t memory, uint64_t bytes)
{
    uint64_t start = clock_ns();
    int code = s->ops->pool->free(s->context, s->pool, queue, memory, bytes, &s->error);
    return count_call(&s->counts.free_count, &s->counts.free_ns, start, code);
}

int source_pool_trim(struct source *s)
{
    uint64_t start = clock_ns();
    int code = s->ops->pool->trim(s->context, s->pool, 0, &s->error);
    return count_call(&s->counts.free_count, &s->counts.free_ns, start, code);
}

int source_update(struct source *s)
{
    if (!s->has_pool)
        return 0;
    uint64_t bytes, peak_bytes;
    int code = s->ops->pool->reserved(s->context, s->pool, &bytes, &peak_bytes, &s->error);
    if (code)
        return code;
    set_reserved(s, bytes);
    grow_to(&s->counts.peak_reserved_bytes, peak_bytes);
    if (s->total)
        grow_to(&s->total->peak_reserved_bytes, s->total->reserved_bytes - bytes + peak_bytes);
    return 0;
}

int source_reset_peak(struct source *s)
{
    int code = source_update(s);
    if (code == 0 && s->has_pool)
        code = s->ops->pool->reset_peak(s->context, s->pool, &s->error);
    s->counts.peak_reserved_bytes = s->counts.reserved_bytes;
    if (s->total)
        s->total->peak_reserved_bytes = s->total->reserved_bytes;
    return code;
}

/* ---- virtual memory ---- */

int source_vm_info(struct source *s, struct source_vm_info *info)
{
    if (!s->ops->vm)
        return error_set(&s->error, ERR_UNSUPPORTED, "this source has no virtual memory");
    if (s->kind != SOURCE_DEVICE)
        return error_set(&s->error, ERR_UNSUPPORTED,
                         "virtual memory is laid over device memory alone");
    return s->ops->vm->info(s->context, info, &s->error);
}

int source_vm_reserve(struct source *s, uint64_t bytes, uint64_t *range)
{
    uint64_t start = clock_ns();
    int code = s->ops->vm->reserve(s->context, bytes, range, &s->error);
    s->counts.refused_count += code == ERR_OOM;
    return count_call(&s->counts.map_count, &s->counts.alloc_ns, start, code);
}

int source_vm_unreserve(struct source *s, uint64_t range, uint64_t bytes)
{
    uint64_t start = clock_ns();
    int code = s->ops->vm->unreserve(s->context, range, bytes, &s->error);
    return count_call(&s->counts.unmap_count, &s->counts.free_ns, start, code);
}

int source_vm_create(struct source *s, uint64_t bytes, uint64_t *chunk)
{
    if (beyond_capacity(s, bytes))
        return refuse(s, bytes);
    uint64_t start = clock_ns();
    int code = s->ops->vm->create(s->context, bytes, chunk, &s->error);
    s->counts.refused_count += code == ERR_OOM;
    if (code == 0)
        count_reserved(s, bytes);
    return count_call(&s->counts.alloc_count, &s->counts.alloc_ns, start, code);
}

int source_vm_release(struct source *s, uint64_t chunk, uint64_t bytes)
{
    count_given_back(s, bytes);
    uint64_t start = clock_ns();
    int code = s->ops->vm->release(s->context, chunk, bytes, &s->error);
    return count_call(&s->counts.free_count, &s->counts.free_ns, start, code);
}

int source_vm_map(struct source *s, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes)
{
    uint64_t start = clock_ns();
    int code = s->ops->vm->map(s->context, range, offset, chunk, bytes, &s->error);
    s->counts.refused_count += code == ERR_OOM;
    return count_call(&s->counts.map_count, &s->counts.alloc_ns, start, code);
}

int source_vm_access(struct source *s, uint64_t range, uint64_t offset, uint64_t bytes)
{
    uint64_t start = clock_ns();
    int code = s->ops->vm->access(s->context, range, offset, bytes, &s->error);
    s->counts.refused_count += code == ERR_OOM;
    return count_call(&s->counts.map_count, &s->counts.alloc_ns, start, code);
}

int source_vm_unmap(struct source *s, uint64_t range, uint64_t offset, uint64_t bytes)
{
    uint64_t start = clock_ns();
    int code = s->ops->vm->unmap(s->context, range, offset, bytes, &s->error);
    return count_call(&s->counts.unmap_count, &s->counts.free_ns, start, code);
}

/* ---- a heap on the device ---- */

int source_heap_begin(struct source *s, uint64_t *kernels)
{
    if (!s->ops->heap)
        return error_set(&s->error, ERR_UNSUPPORTED, "this source has no heap on the device");
    return s->ops->heap->begin(s->context, kernels, &s->error);
}

void source_heap_end(struct source *s, uint64_t kernels)
{
    s->ops->heap->end(s->context, kernels);
}

int source_heap_open(struct source *s, uint64_t kernels, uint64_t memory, unsigned queue,
                     const struct source_heap_options *options, uint64_t *heap,
                     uint64_t *books_bytes)
{
    uint64_t start = clock_ns();
    *books_bytes = 0;
    int code = s->ops->heap->open(s->context, kernels, memory, queue, options, heap, books_bytes,
                                  &s->error);
    count_call(&s->counts.alloc_count, &s->counts.alloc_ns, start, code);
    if (code == 0 && *books_bytes && beyond_capacity(s, *books_bytes)) {
        s->ops->heap->close(s->context, *heap, NULL);
        return refuse(s, *books_bytes);
    }
    s->counts.refused_count += code == ERR_OOM;
    if (code == 0)
        count_reserved(s, *books_bytes);
    return code;
}

int source_heap_close(struct source *s, uint64_t heap, uint64_t books_bytes)
{
    count_given_back(s, books_bytes);
    uint64_t start = clock_ns();
    int code = s->ops->heap->close(s->context, heap, &s->error);
    return count_call(&s->counts.free_count, &s->counts.free_ns, start, code);
}

int source_heap_alloc(struct source *s, uint64_t heap, bool waits, uint64_t bytes,
                      uint64_t alignment, uint64_t *block, uint64_t *offset)
{
    uint64_t start = clock_ns();
    int code = s->ops->heap->alloc(s->context, heap, bytes, alignment, block, offset, &s->error);
    s->counts.sync_count += waits;
    s->counts.refused_count += code == ERR_OOM;
    return count_call(&s->counts.alloc_count, &s->counts.alloc_ns, start, code);
}

int source_heap_free(struct source *s, uint64_t heap, uint64_t block)
{
    uint64_t start = clock_ns();
    int code = s->ops->heap->free(s->context, heap, block, &s->error);
    s->counts.free_ns += clock_ns() - start;
    return code;
}

int source_heap_check(struct source *s, uint64_t heap, uint64_t *broken)
{
    return s->ops->heap->check(s->context, heap, broken, &s->error);
}
