#include "alloc/source.h"

#include "alloc/source_sub_buffer.h"
#include "base/driver_pool.h"
#include "base/sort.h"
#include "base/text.h"

int source_check_capacity(struct source *s, uint64_t bytes)
{
    char asked[64], held[64], capacity[64];
    struct source_total unshared = {0}, *total = s->total ? s->total : &unshared;
    const uint64_t needed = source_held_bytes(s) + bytes;
    if (s->capacity_bytes == 0 || (bytes <= s->capacity_bytes && needed <= s->capacity_bytes)) {
        total->most_served_bytes = larger(total->most_served_bytes, needed);
        return 0;
    }
    s->counts.refused_count++;
    if (!total->least_refused_bytes || needed < total->least_refused_bytes)
        total->least_refused_bytes = needed;
    return error_set(&s->error, ERR_OOM, "asked for %s with %s of the capacity of %s reserved",
                     text_bytes_exact(asked, bytes), text_bytes_exact(held, source_held_bytes(s)),
                     text_bytes_exact(capacity, s->capacity_bytes));
}

static int touch_memory(struct source *s, uint64_t memory, uint64_t bytes)
{
    uint64_t start = clock_start();
    int code = s->ops->touch(s->context, memory, bytes, &s->error);
    s->counts.touch_ns += clock_since(start);
    s->counts.touch_count++;
    return code;
}

static int release_memory(struct source *s, uint64_t memory, uint64_t bytes, struct error *error)
{
    uint64_t start = clock_start();
    int code = s->kind == MEMORY_DEVICE ? s->ops->free(s->context, memory, bytes, error)
                                        : s->kinds->free(s->context, s->kind, memory, bytes, error);
    s->counts.free_ns += clock_since(start);
    s->counts.free_count++;
    return code;
}

static void grow_to(uint64_t *peak_bytes, uint64_t bytes)
{
    *peak_bytes = larger(*peak_bytes, bytes);
}

void source_set_reserved(struct source *s, uint64_t bytes)
{
    if (s->total) {
        s->total->reserved_bytes += bytes - s->counts.reserved_bytes;
        grow_to(&s->total->peak_reserved_bytes, s->total->reserved_bytes);
    }
    s->counts.reserved_bytes = bytes;
    grow_to(&s->counts.peak_reserved_bytes, bytes);
}

int source_alloc(struct source *s, uint64_t bytes, enum source_flags flags, uint64_t *memory)
{
    TRY(source_check_capacity(s, bytes));
    uint64_t start = clock_start();
    int code = s->kind == MEMORY_DEVICE
                   ? s->ops->alloc(s->context, bytes, memory, &s->error)
                   : s->kinds->alloc(s->context, s->kind, bytes, memory, NULL, &s->error);
    s->counts.alloc_ns += clock_since(start);
    s->counts.alloc_count++;
    if (code == 0 && (flags & SOURCE_RESIDENT) && s->ops->touch) {
        code = touch_memory(s, *memory, bytes);
        if (code)
            release_memory(s, *memory, bytes, NULL); /* the first failure is the one to report */
    }
    if (code) {
        s->counts.refused_count += code == ERR_OOM;
        return code;
    }
    source_set_reserved(s, s->counts.reserved_bytes + bytes);
    return source_tell(s, 0, SOURCE_HELD, *memory, 0, bytes);
}

int source_free(struct source *s, uint64_t memory, uint64_t bytes)
{
    source_set_reserved(s, s->counts.reserved_bytes - bytes);
    source_tell(s, 0, SOURCE_GIVEN_BACK, memory, 0, bytes);
    return release_memory(s, memory, bytes, &s->error);
}

static const char *name_of(const struct source *s)
{
    return s->name ? s->name : "this source";
}

/* ---- optional features ---- */

int source_use_kind(struct source *s, enum driver_memory kind)
{
    enum { PROBE_BYTES = 4096 };
    uint64_t memory;
    int code = 0;
    if (kind != MEMORY_DEVICE && !s->kinds)
        return error_set(&s->error, ERR_UNSUPPORTED,
                         "%s has one kind of memory: OpenCL and CUDA devices have more",
                         name_of(s));
    if (kind != MEMORY_DEVICE && s->kinds->offered) {
        code = s->kinds->offered(s->context, kind, &s->error);
    } else if (kind != MEMORY_DEVICE) {
        code = s->kinds->alloc(s->context, kind, PROBE_BYTES, &memory, NULL, &s->error);
        THEN(code, s->kinds->free(s->context, kind, memory, PROBE_BYTES, &s->error));
    }
    if (!code)
        s->kind = kind;
    return code;
}

int source_has_sub_buffers(struct source *s)
{
    if (!s->sub_buffers)
        return error_set(&s->error, ERR_UNSUPPORTED,
                         "%s has no sub-buffers: only single OpenCL devices have them", name_of(s));
    if (s->sub_buffers->offered)
        return s->sub_buffers->offered(s->context, s->kind, &s->error);
    if (s->kind == MEMORY_COARSE_SVM || s->kind == MEMORY_FINE_SVM)
        return error_set(&s->error, ERR_UNSUPPORTED,
                         "shared virtual memory has no sub-buffers: a pointer into it is as good");
    return 0;
}

int source_requires_split(struct source *s, const char *strategy)
{
    if (s->can_split)
        return 0;
    return error_set(&s->error, ERR_UNSUPPORTED,
                     "%s hands out parts of a memory, and this device takes only whole ones; use "
                     "pool or tagged",
                     strategy);
}

int source_requires(struct source *s, bool has, const char *lack, const char *device_alone)
{
    if (!has)
        return error_set(&s->error, ERR_UNSUPPORTED, "%s has no %s", name_of(s), lack);
    if (s->kind != MEMORY_DEVICE)
        return error_set(&s->error, ERR_UNSUPPORTED, "%s device memory alone", device_alone);
    return 0;
}

/* ---- waits, and the bytes of a pool ---- */

int source_sync(struct source *s)
{
    uint64_t start = clock_start();
    s->counts.sync_count++;
    return source_gave(s, start, s->ops->sync(s->context, &s->error));
}

int source_hand_over(struct source *s, uint64_t memory, uint64_t offset, uint64_t bytes)
{
    return source_tell(s, source_sync(s), SOURCE_HANDED_OVER, memory, offset, bytes);
}

int source_settle(struct source *s, uint64_t enough_bytes, unsigned *count)
{
    unsigned ignored, *given = count ? count : &ignored;
    *given = 0;
    return s->pending ? s->pending->settle(s->pending->context, enough_bytes, given) : 0;
}

int source_update(struct source *s)
{
    if (!s->has_pool)
        return 0;
    uint64_t bytes, peak_bytes;
    TRY(s->pools->reserved(s->context, s->pool, &bytes, &peak_bytes, &s->error));
    source_set_reserved(s, bytes);
    grow_to(&s->counts.peak_reserved_bytes, peak_bytes);
    if (s->total)
        grow_to(&s->total->peak_reserved_bytes, s->total->reserved_bytes - bytes + peak_bytes);
    return 0;
}

int source_reset_peak(struct source *s)
{
    int code = source_update(s);
    if (code == 0 && s->has_pool)
        code = s->pools->reset_peak(s->context, s->pool, &s->error);
    s->counts.peak_reserved_bytes = s->counts.reserved_bytes;
    if (s->total)
        s->total->peak_reserved_bytes = s->total->reserved_bytes;
    return code;
}
