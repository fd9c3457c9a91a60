/* XLA's plan of a program's memory, from --xla_dump_to (*-buffer-assignment.txt):
 *
 *     BufferAssignment:
 *     allocation 0: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}:
 *      value: <0 param.1 @0> (size=400,offset=0): f32[100]
 *     allocation 1: size 800, preallocated-temp:
 *      value: <1 fusion.2{0} @0> (size=600,offset=0): f32[150]
 *
 * The plan has no times. Alone, it makes a trace in which every allocation lives throughout: its
 * peak is what the program needs, and there is nothing to reuse. If the live ranges follow in the
 * same log (*-live-range.txt of the same dump, appended with cat),
 *
 *       BufferLiveRange:
 *         param.1{}:0-1
 *         fusion.2{0}:1-2
 *
 * the values are blocks instead, from the first number up to and with the last: instructions of the
 * schedule. A value without a range lives throughout.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "trace/import.h"

struct item {
    const char *name;
    uint64_t bytes, first, last;
    bool has_range;
};

struct items {
    struct item *items;
    unsigned count, capacity;
};

struct xla {
    struct import *log;
    struct arena arena;
    struct items allocations, values, ranges;
};

static const char head[] = "BufferAssignment:";

static struct item *add_item(struct items *list)
{
    list->items = must_grow(list->items, list->count, &list->capacity, sizeof *list->items);
    struct item *item = &list->items[list->count++];
    *item = (struct item){0};
    return item;
}

/* allocation 1: size 800, preallocated-temp: */
static int read_allocation(struct xla *x, const char *line, struct error *error)
{
    uint64_t number;
    struct item allocation = {0};
    int length = 0;
    if (sscanf(line, "allocation %" SCNu64 ": size %" SCNu64 "%n", &number, &allocation.bytes,
               &length) < 2 ||
        length == 0)
        return import_error(x->log, error, "expected 'allocation N: size BYTES', found '%.60s'",
                            line);
    size_t rest = strcspn(line + length, "\r\n");
    while (rest && strchr(": ", line[length + (int)rest - 1]))
        rest--;
    allocation.name = arena_printf(&x->arena, "allocation %" PRIu64 "%.*s", number,
                                   (int)(rest < 200 ? rest : 200), line + length);
    *add_item(&x->allocations) = allocation;
    return 0;
}

/* value: <36 fusion.2{0} @0> (size=600,offset=0): f32[150] */
static int read_value(struct xla *x, const char *line, struct error *error)
{
    struct item value = {0};
    const char *number = strchr(line, '<'), *size = strstr(line, "(size=");
    const char *name = number ? strchr(number, ' ') : NULL;
    if (!name || !size || size < name || sscanf(size, "(size=%" SCNu64, &value.bytes) != 1)
        return import_error(
            x->log, error, "expected 'value: <N NAME> (size=BYTES,offset=N)', found '%.60s'", line);
    const size_t length = strcspn(++name, " >");
    value.name =
        arena_printf(&x->arena, "%.*s%s", (int)length, name, memchr(name, '{', length) ? "" : "{}");
    *add_item(&x->values) = value;
    return 0;
}

/* fusion.2{0}:1-2 */
static int read_range(struct xla *x, const char *line, struct error *error)
{
    struct item range = {.has_range = true};
    const char *colon = strrchr(line, ':');
    if (!colon || sscanf(colon, ":%" SCNu64 "-%" SCNu64, &range.first, &range.last) != 2 ||
        range.last < range.first)
        return import_error(x->log, error, "expected 'NAME{INDEX}:FIRST-LAST', found '%.60s'",
                            line);
    range.name = arena_copy(&x->arena, line, (size_t)(colon - line));
    *add_item(&x->ranges) = range;
    return 0;
}

static int read_lines(struct xla *x, struct error *error)
{
    enum { IN_ASSIGNMENT, IN_RANGES, ELSEWHERE } part = ELSEWHERE;
    char *line;
    int more;
    while ((more = import_line(x->log, &line, error)) > 0) {
        const bool indented = isspace((unsigned char)*line);
        line += strspn(line, " \t");
        if (strncmp(line, head, sizeof head - 1) == 0)
            part = *(line + sizeof head - 1) ? ELSEWHERE : IN_ASSIGNMENT;
        else if (strcmp(line, "BufferLiveRange:") == 0)
            part = IN_RANGES;
        else if (part == IN_ASSIGNMENT && strncmp(line, "allocation ", 11) == 0)
            TRY(read_allocation(x, line, error));
        else if (part == IN_ASSIGNMENT && strncmp(line, "value: ", 7) == 0)
            TRY(read_value(x, line, error));
        else if (part == IN_RANGES && indented && strchr(line, '{') && strchr(line, ':'))
            TRY(read_range(x, line, error));
        else if (!indented && *line)
            part = ELSEWHERE;
        else if (part == IN_RANGES)
            part = ELSEWHERE;
    }
    return more;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct item *)left)->name, ((const struct item *)right)->name);
}

static void find_ranges(struct xla *x)
{
    if (x->ranges.count)
        qsort(x->ranges.items, x->ranges.count, sizeof *x->ranges.items, by_name);
    for (unsigned i = 0; i < x->values.count && x->ranges.count; i++) {
        struct item *value = &x->values.items[i];
        const struct item *range =
            bsearch(value, x->ranges.items, x->ranges.count, sizeof *x->ranges.items, by_name);
        if (range) {
            value->has_range = true;
            value->first = range->first;
            value->last = range->last;
        }
    }
}

/* The begin or the end of a block in the schedule. */
struct bound {
    uint64_t at;
    unsigned block;
    bool begins;
};

static int by_time(const void *left, const void *right)
{
    const struct bound *a = left, *b = right;
    ORDER_STEP(a->at, b->at);
    ORDER_STEP(a->begins, b->begins);
    return a->block < b->block ? -1 : a->block > b->block;
}

static void add_blocks(struct import_stream *stream, const struct items *blocks)
{
    struct bound *bounds = must_alloc((2 * (size_t)blocks->count + 1) * sizeof *bounds);
    struct trace_writer *w = import_writer(stream);
    size_t count = 0;
    for (unsigned i = 0; i < blocks->count; i++) {
        const struct item *block = &blocks->items[i];
        bounds[count++] = (struct bound){block->first, i, true};
        if (block->has_range && block->last < UINT64_MAX)
            bounds[count++] = (struct bound){block->last + 1, i, false};
    }
    qsort(bounds, count, sizeof *bounds, by_time);
    for (size_t i = 0; i < count; i++) {
        const struct item *block = &blocks->items[bounds[i].block];
        struct trace_event e = {.kind = bounds[i].begins ? TRACE_alloc : TRACE_free,
                                .queue = trace_queue(w, "0")};
        if (!bounds[i].begins) {
            import_free(stream, bounds[i].block, &e);
            continue;
        }
        e.bytes = block->bytes;
        e.name = trace_name(w, block->name);
        import_alloc(stream, bounds[i].block, &e);
    }
    free(bounds);
}

static int add_trace(struct xla *x, struct error *error)
{
    const bool has_ranges = x->ranges.count > 0;
    struct trace_info info = {.time_unit_ns = 1};
    struct import_stream *stream;
    if (!x->allocations.count)
        return import_error(x->log, error, "the buffer assignment has no allocation");
    snprintf(info.source, sizeof info.source, "XLA buffer assignment, %s",
             has_ranges ? "with live ranges" : "static");
    info.knows[TRACE_KNOWS_sites] = true;
    info.knows[TRACE_KNOWS_frees] = has_ranges;
    TRY(import_stream(x->log, "", &info, &stream, error));
    find_ranges(x);
    add_blocks(stream, has_ranges ? &x->values : &x->allocations);
    return 0;
}

int import_xla(struct import *log, struct error *error)
{
    struct xla x = {.log = log};
    int code = read_lines(&x, error);
    THEN(code, add_trace(&x, error));
    free(x.allocations.items);
    free(x.values.items);
    free(x.ranges.items);
    arena_free(&x.arena);
    return code;
}
