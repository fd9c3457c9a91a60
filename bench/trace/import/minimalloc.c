/* The inputs of minimalloc: buffers with the logical times between which they live.
 *
 *     id,lower,upper,size
 *     0,995328,1000448,656384
 *
 * A buffer lives from `lower` up to, and without, `upper`: at one time, frees come first. Columns
 * may stand in any order; `buffer,start,end,size` is understood too, `alignment` is taken, and
 * other columns are ignored.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "trace/import.h"

enum column { COLUMN_LOWER, COLUMN_UPPER, COLUMN_SIZE, COLUMN_ALIGNMENT, COLUMNS };
enum { FIELDS_MOST = 64 };

static const struct {
    const char *name;
    enum column column;
} column_names[] = {
    {"lower", COLUMN_LOWER}, {"start", COLUMN_LOWER}, {"upper", COLUMN_UPPER},
    {"end", COLUMN_UPPER},   {"size", COLUMN_SIZE},   {"alignment", COLUMN_ALIGNMENT},
};

struct columns {
    int at[FIELDS_MOST]; /* enum column, or -1 */
    unsigned count;
    bool has[COLUMNS];
};

/* The begin or the end of a buffer. */
struct bound {
    uint64_t time, buffer, bytes, alignment;
    bool begins;
};

struct bounds {
    struct bound *items;
    unsigned count, capacity;
};

static void read_columns(const char *line, size_t length, struct columns *columns)
{
    const char *list = line, *end = line + length;
    *columns = (struct columns){.count = 0};
    while (list < end && columns->count < FIELDS_MOST) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        const size_t n = (size_t)((comma ? comma : end) - list);
        columns->at[columns->count] = -1;
        for (unsigned i = 0; i < sizeof column_names / sizeof *column_names; i++)
            if (strlen(column_names[i].name) == n && strncmp(column_names[i].name, list, n) == 0) {
                columns->at[columns->count] = (int)column_names[i].column;
                columns->has[column_names[i].column] = true;
            }
        columns->count++;
        list = comma ? comma + 1 : end;
    }
}

static bool is_complete(const struct columns *c)
{
    return c->has[COLUMN_LOWER] && c->has[COLUMN_UPPER] && c->has[COLUMN_SIZE];
}

static bool recognises(const char *start, size_t length)
{
    (void)length;
    struct columns columns;
    read_columns(start, strcspn(start, "\r\n"), &columns);
    return is_complete(&columns);
}

static int read_row(const struct import *log, const struct columns *columns, char *line,
                    struct bounds *bounds, struct error *error)
{
    static const char *const names[COLUMNS] = {"lower", "upper", "size", "alignment"};
    uint64_t number[COLUMNS] = {0};
    char *rest = line;
    for (unsigned i = 0; i < columns->count; i++) {
        const char *field = strsep(&rest, ",");
        const int column = columns->at[i];
        if (!field)
            return import_error(log, error, "expected %u fields, found %u", columns->count, i);
        if (column >= 0 && !text_to_u64(field, &number[column]) &&
            !(column == COLUMN_ALIGNMENT && *field == 0))
            return import_error(log, error, "expected a number for %s, found '%.40s'",
                                names[column], field);
    }
    if (rest)
        return import_error(log, error, "expected %u fields, found more", columns->count);
    if (number[COLUMN_UPPER] <= number[COLUMN_LOWER])
        return import_error(log, error,
                            "the buffer ends at %" PRIu64 ", not after its begin at %" PRIu64,
                            number[COLUMN_UPPER], number[COLUMN_LOWER]);
    for (int ends = 0; ends < 2; ends++) {
        bounds->items =
            must_grow(bounds->items, bounds->count, &bounds->capacity, sizeof *bounds->items);
        bounds->items[bounds->count] =
            (struct bound){.time = number[ends ? COLUMN_UPPER : COLUMN_LOWER],
                           .buffer = bounds->count / 2,
                           .bytes = number[COLUMN_SIZE],
                           .alignment = number[COLUMN_ALIGNMENT],
                           .begins = !ends};
        bounds->count++;
    }
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct bound *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->begins != b->begins)
        return a->begins ? 1 : -1;
    return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

static int add_bounds(struct import *log, struct bounds *bounds, struct error *error)
{
    struct trace_info info = {.source = "minimalloc buffers: logical times", .time_unit_ns = 1};
    struct import_stream *stream;
    info.knows[TRACE_KNOWS_frees] = true;
    TRY(import_stream(log, "", &info, &stream, error));
    if (bounds->count)
        qsort(bounds->items, bounds->count, sizeof *bounds->items, by_time);
    for (unsigned i = 0; i < bounds->count; i++) {
        const struct bound *b = &bounds->items[i];
        struct trace_event e = {.kind = b->begins ? TRACE_alloc : TRACE_free,
                                .queue = trace_queue(import_writer(stream), "0"),
                                .bytes = b->bytes,
                                .alignment = b->begins ? b->alignment : 0};
        if (b->begins)
            import_alloc(stream, b->buffer, &e);
        else
            import_free(stream, b->buffer, &e);
    }
    return 0;
}

static int import_buffers(struct import *log, struct error *error)
{
    struct columns columns;
    struct bounds bounds = {0};
    char *line;
    int more = import_line(log, &line, error);
    if (more < 0)
        return more;
    read_columns(line, more ? strlen(line) : 0, &columns);
    if (!is_complete(&columns))
        return import_error(log, error, "expected the columns id,lower,upper,size");
    int code = 0;
    while (!code && (more = import_line(log, &line, error)) != 0)
        code = more < 0 ? more : *line ? read_row(log, &columns, line, &bounds, error) : 0;
    if (!code)
        code = add_bounds(log, &bounds, error);
    free(bounds.items);
    return code;
}

const struct importer importer_minimalloc = {
    .name = "minimalloc",
    .recognises = recognises,
    .import = import_buffers,
};
