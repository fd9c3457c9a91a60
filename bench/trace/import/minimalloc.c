/* The inputs of minimalloc: buffers with the logical times between which they live
 * (lifetime_table.h).
 *
 *     id,lower,upper,size
 *     0,995328,1000448,656384
 *
 * A buffer lives from `lower` up to, and without, `upper`: at one time, frees come first. A buffer
 * that never lives is left out.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/sort.h"
#include "trace/import.h"
#include "trace/lifetime_table.h"

enum { LOG_MOST = 1 << 30 };

/* The begin or the end of a buffer. */
struct bound {
    int64_t time;
    uint64_t buffer;
    bool begins;
};

static int by_time(const void *left, const void *right)
{
    const struct bound *a = left, *b = right;
    ORDER_STEP(a->time, b->time);
    ORDER_STEP(a->begins, b->begins);
    return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

static unsigned sorted_bounds(const struct lifetime_table *table, struct bound *bounds)
{
    unsigned count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct lifetime *b = &table->buffers[i];
        if (b->lower == b->upper)
            continue;
        bounds[count++] = (struct bound){b->lower, i, true};
        bounds[count++] = (struct bound){b->upper, i, false};
    }
    if (count)
        qsort(bounds, count, sizeof *bounds, by_time);
    return count;
}

static int add_buffers(struct import *log, const struct lifetime_table *table, struct error *error)
{
    struct trace_info info = {.source = "minimalloc buffers: logical times", .time_unit_ns = 1};
    struct import_stream *stream;
    info.knows[TRACE_KNOWS_frees] = true;
    TRY(import_stream(log, "", &info, &stream, error));
    struct bound *bounds = must_alloc((2 * table->count + 1) * sizeof *bounds);
    const unsigned count = sorted_bounds(table, bounds);
    const unsigned queue = count ? trace_queue(import_writer(stream), "0") : 0;
    for (unsigned i = 0; i < count; i++) {
        const struct lifetime *b = &table->buffers[bounds[i].buffer];
        struct trace_event e = {.queue = queue, .bytes = (uint64_t)b->size};
        if (bounds[i].begins) {
            e.kind = TRACE_alloc;
            e.alignment = b->alignment > 1 ? (uint64_t)b->alignment : 0;
            import_alloc(stream, bounds[i].buffer, &e);
        } else {
            e.kind = TRACE_free;
            import_free(stream, bounds[i].buffer, &e);
        }
    }
    free(bounds);
    return 0;
}

int import_minimalloc(struct import *log, struct error *error)
{
    struct text text = {0};
    struct lifetime_table table;
    int code = import_rest(log, LOG_MOST, &text, error);
    THEN(code, lifetime_table_read_text(import_path(log), text.data ? text.data : "", text.length,
                                        &table, error));
    text_free(&text);
    if (code)
        return code;
    code = add_buffers(log, &table, error);
    lifetime_table_free(&table);
    return code;
}
