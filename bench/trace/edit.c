#include "trace/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "trace/text.h"

/* ---- cut ---- */

/* What a block needs to be held at the start of the part. */
struct cut_block {
    bool lives, let_go;
    struct trace_event event;
};

struct cut {
    struct trace_reader *reader;
    struct trace_writer *writer;
    struct cut_block *blocks; /* by slot, of the events before the part */
    unsigned capacity;
    unsigned phase_count, phase_capacity;
    struct trace_event *phases; /* that began before the part and have not ended */
    uint64_t began_ns;
    bool knows_done;
};

static void follow_before(struct cut *c, const struct trace_event *e)
{
    if (e->kind == TRACE_held || e->kind == TRACE_alloc) {
        c->blocks = must_reach(c->blocks, e->slot, &c->capacity, sizeof *c->blocks);
        c->blocks[e->slot] = (struct cut_block){.lives = true, .event = *e};
    } else if (e->kind == TRACE_done || (e->kind == TRACE_free && !c->knows_done)) {
        c->blocks[e->slot].lives = false;
    } else if (e->kind == TRACE_free) {
        c->blocks[e->slot].let_go = true;
    } else if (e->kind == TRACE_begin) {
        c->phases = must_grow(c->phases, c->phase_count, &c->phase_capacity, sizeof *c->phases);
        c->phases[c->phase_count++] = *e;
    } else if (e->kind == TRACE_end) {
        for (unsigned i = c->phase_count; i-- > 0;)
            if (c->phases[i].name == e->name) {
                memmove(&c->phases[i], &c->phases[i + 1],
                        (--c->phase_count - i) * sizeof *c->phases);
                break;
            }
    }
}

/* The indices of the reader, as those of the writer. */
static void rename_indices(const struct cut *c, struct trace_event *e)
{
    e->name = e->name ? trace_name(c->writer, trace_name_of(c->reader, e->name)) : 0;
    e->queue = trace_queue(c->writer, trace_queue_of(c->reader, e->queue));
    e->thread = trace_thread(c->writer, trace_thread_of(c->reader, e->thread));
    if (e->kind == TRACE_order)
        e->other = trace_queue(c->writer, trace_queue_of(c->reader, e->other));
    e->time_ns = e->time_ns > c->began_ns ? e->time_ns - c->began_ns : 0;
}

/* Blocks that live are held from the start; those that were let go are freed at once. */
static void begin_part(struct cut *c, uint64_t began_ns)
{
    c->began_ns = began_ns;
    for (unsigned slot = 0; slot < c->capacity; slot++) {
        if (!c->blocks[slot].lives)
            continue;
        struct trace_event held = c->blocks[slot].event;
        held.kind = TRACE_held;
        held.time_ns = held.call_ns = 0;
        rename_indices(c, &held);
        trace_put_held(c->writer, &held);
        if (c->blocks[slot].let_go)
            trace_put(c->writer, &(struct trace_event){.kind = TRACE_free,
                                                       .queue = held.queue,
                                                       .thread = held.thread,
                                                       .slot = slot});
    }
    for (unsigned i = 0; i < c->phase_count; i++) {
        struct trace_event begin = c->phases[i];
        rename_indices(c, &begin);
        trace_put(c->writer, &begin);
    }
}

static int copy_part(struct cut *c, uint64_t first, uint64_t last, struct error *error)
{
    struct trace_event event;
    uint64_t number = 0;
    int more = trace_rewind(c->reader, error);
    while (!more && number < last && (more = trace_next(c->reader, &event, error)) > 0) {
        more = 0;
        if (++number < first) {
            follow_before(c, &event);
            continue;
        }
        if (number == first)
            begin_part(c, event.time_ns);
        rename_indices(c, &event);
        if (event.kind == TRACE_held)
            trace_put_held(c->writer, &event);
        else
            trace_put(c->writer, &event);
    }
    if (!more && number < first)
        return error_set(error, ERR_USAGE,
                         "%s has %" PRIu64 " events, and the part begins at %" PRIu64,
                         trace_reader_path(c->reader), number, first);
    return more;
}

int trace_cut(struct trace_reader *reader, uint64_t first, uint64_t last, const char *out,
              bool replace, struct trace_totals *totals, struct error *error)
{
    const struct trace_info *info = trace_reader_info(reader);
    struct cut c = {.reader = reader, .knows_done = info->knows[TRACE_KNOWS_done]};
    TRY(trace_create(out, info, &c.writer, error));
    if (first > 1)
        trace_writer_info(c.writer)->began[0] = 0;
    int code = copy_part(&c, first, last, error);
    if (code)
        trace_abandon(c.writer);
    else
        code = trace_finish(c.writer, replace, totals, error);
    free(c.blocks);
    free(c.phases);
    return code;
}

/* ---- diff ---- */

struct side {
    struct trace_reader *reader;
    struct text line;
    int more; /* of trace_next */
};

/* The event with its names as texts. */
static int next_line(struct side *s, struct error *error)
{
    struct trace_event e;
    s->line.length = 0;
    s->more = s->more > 0 ? trace_next(s->reader, &e, error) : s->more;
    if (s->more <= 0)
        return s->more;
    const char *name = trace_name_of(s->reader, e.name);
    e.name = 0;
    trace_event_text(s->reader, &e, &s->line);
    if (*name) {
        char *quoted = trace_quoted(name);
        text_add(&s->line, " name=%s", quoted);
        free(quoted);
    }
    return 0;
}

static bool same(const struct side *a, const struct side *b)
{
    return (a->more > 0) == (b->more > 0) &&
           (a->more <= 0 || strcmp(a->line.data, b->line.data) == 0);
}

static int compare(struct side side[2], unsigned most, FILE *out, uint64_t *differences,
                   struct error *error)
{
    unsigned printed = 0;
    for (uint64_t number = 1;; number++) {
        TRY(next_line(&side[0], error));
        TRY(next_line(&side[1], error));
        if (side[0].more <= 0 && side[1].more <= 0)
            return 0;
        if (same(&side[0], &side[1]))
            continue;
        ++*differences;
        if (printed++ >= most)
            continue;
        fprintf(out, "event %" PRIu64 "\n", number);
        for (int i = 0; i < 2; i++)
            if (side[i].more > 0)
                fprintf(out, "%c %s\n", i ? '+' : '-', side[i].line.data);
            else
                fprintf(out, "%c (the trace has ended)\n", i ? '+' : '-');
    }
}

int trace_diff(struct trace_reader *left, struct trace_reader *right, unsigned most, FILE *out,
               uint64_t *differences, struct error *error)
{
    struct side side[2] = {{.reader = left, .more = 1}, {.reader = right, .more = 1}};
    *differences = 0;
    int code = trace_rewind(left, error);
    if (!code)
        code = trace_rewind(right, error);
    if (!code)
        code = compare(side, most, out, differences, error);
    text_free(&side[0].line);
    text_free(&side[1].line);
    return code;
}
