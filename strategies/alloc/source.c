#include "alloc/source.h"

#include "base/clock.h"
#include "base/text.h"

static int refuse(struct source *s, uint64_t bytes)
{
    char asked[32], held[32], capacity[32];
    s->counts.refused_count++;
    return error_set(&s->error, ERR_OOM, "asked for %s with %s of the capacity of %s reserved",
                     text_bytes(asked, bytes), text_bytes(held, s->counts.reserved_bytes),
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
    int code = s->ops->free(s->context, memory, bytes, error);
    s->counts.free_ns += clock_ns() - start;
    s->counts.free_count++;
    return code;
}

int source_alloc(struct source *s, uint64_t bytes, enum source_flags flags, uint64_t *memory)
{
    if (s->capacity_bytes &&
        (bytes > s->capacity_bytes || s->counts.reserved_bytes > s->capacity_bytes - bytes))
        return refuse(s, bytes);

    uint64_t start = clock_ns();
    int code = s->ops->alloc(s->context, bytes, memory, &s->error);
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
    s->counts.reserved_bytes += bytes;
    if (s->counts.reserved_bytes > s->counts.peak_reserved_bytes)
        s->counts.peak_reserved_bytes = s->counts.reserved_bytes;
    return 0;
}

int source_free(struct source *s, uint64_t memory, uint64_t bytes)
{
    s->counts.reserved_bytes -= bytes;
    return release(s, memory, bytes, &s->error);
}
