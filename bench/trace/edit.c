#include "trace/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "trace/text.h"

/* ---- cut ---- */

/* A block that may be held at the start of the part. */
struct cut_block {
    bool lives, let_go;
    bool is_left_out; /* it is not in the part, and still in its slot */
    struct trace_event event;
};

struct cut {
    struct trace_reader *reader;
    struct trace_writer *writer;
    struct trace_known frames;
    struct cut_block *blocks; /* by slot, of the events before the part */
    unsigned capacity;
    unsigned phase_count, phase_capacity;
    struct trace_event *phases; /* begins of phases that have not ended when the part begins */
    bool *named; /* by slot: an event of the part names the block that lives there before */
    unsigned named_capacity;
    bool only_named;
    uint64_t began_ns;
    bool knows_frees, knows_done;
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

static void name_slot(struct cut *c, bool *taken, unsigned slot)
{
    c->named[slot] = c->named[slot] || !taken[slot];
}

/* Finds the blocks from before the part that its events name. */
static int find_named(struct cut *c, const struct trace_part *part, struct error *error)
{
    struct trace_event e;
    unsigned capacity = 0;
    bool *taken = NULL; /* by slot: the part itself put a block there */
    int more = trace_rewind(c->reader, error);
    for (uint64_t number = 1;
         !more && number <= part->last && (more = trace_next(c->reader, &e, error)) > 0; number++) {
        more = 0;
        if (number < part->first)
            continue;
        const unsigned most = (unsigned)trace_reader_totals(c->reader)->slots;
        c->named = must_reach(c->named, most, &c->named_capacity, sizeof *c->named);
        taken = must_reach(taken, most, &capacity, sizeof *taken);
        if (e.kind == TRACE_held || e.kind == TRACE_alloc)
            taken[e.slot] = true;
        else if (e.kind == TRACE_free || (e.kind == TRACE_done && !c->knows_frees))
            name_slot(c, taken, e.slot);
        for (unsigned i = 0; i < e.use_count; i++)
            name_slot(c, taken, e.uses[i].slot);
    }
    free(taken);
    return more < 0 ? more : 0;
}

/* A block that was freed before the part, and whose last command ended in it. */
static bool is_of_left_out(struct cut *c, const struct trace_event *e)
{
    struct cut_block *block = e->slot < c->capacity ? &c->blocks[e->slot] : NULL;
    if (block && (e->kind == TRACE_held || e->kind == TRACE_alloc))
        block->is_left_out = false;
    return block && e->kind == TRACE_done && block->is_left_out;
}

/* The indices of the reader, as those of the writer. */
static void rename_indices(struct cut *c, struct trace_event *e)
{
    e->stack = trace_copy_frame(c->writer, trace_reader_names(c->reader), e->stack, &c->frames);
    e->name = e->name ? trace_name(c->writer, trace_name_of(c->reader, e->name)) : 0;
    e->queue = trace_queue(c->writer, trace_queue_of(c->reader, e->queue));
    e->thread = trace_thread(c->writer, trace_thread_of(c->reader, e->thread));
    if (e->kind == TRACE_order)
        e->other = trace_queue(c->writer, trace_queue_of(c->reader, e->other));
    e->time_ns = e->time_ns > c->began_ns ? e->time_ns - c->began_ns : 0;
}

/* Blocks that live are held from the start; those that were freed before are freed at once. */
static void begin_part(struct cut *c, uint64_t began_ns)
{
    c->began_ns = began_ns;
    for (unsigned slot = 0; slot < c->capacity; slot++) {
        c->blocks[slot].is_left_out =
            c->only_named && (slot >= c->named_capacity || !c->named[slot]);
        if (!c->blocks[slot].lives || c->blocks[slot].is_left_out)
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

static int copy_part(struct cut *c, const struct trace_part *part, struct error *error)
{
    struct trace_event event;
    uint64_t number = 0;
    const uint64_t first = part->first;
    if (c->only_named)
        TRY(find_named(c, part, error));
    int more = trace_rewind(c->reader, error);
    while (!more && number < part->last && (more = trace_next(c->reader, &event, error)) > 0) {
        more = 0;
        if (++number < first) {
            follow_before(c, &event);
            continue;
        }
        if (number == first)
            begin_part(c, event.time_ns);
        if (is_of_left_out(c, &event))
            continue;
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

int trace_find_phase(struct trace_reader *reader, const char *name, struct trace_part *part,
                     struct error *error)
{
    struct trace_event e;
    uint64_t number = 0, phases = 0, depth = 0;
    *part = (struct trace_part){.last = UINT64_MAX, .only_named = true};
    int more = trace_rewind(reader, error);
    while (!more && (more = trace_next(reader, &e, error)) > 0) {
        more = 0;
        number++;
        phases += e.kind == TRACE_begin;
        if ((e.kind != TRACE_begin && e.kind != TRACE_end) ||
            strcmp(trace_name_of(reader, e.name), name) != 0)
            continue;
        if (e.kind == TRACE_begin && depth++ == 0)
            part->first = number;
        else if (e.kind == TRACE_end && depth && --depth == 0) {
            part->last = number;
            return 0;
        }
    }
    if (!more && !part->first)
        return error_set(error, ERR_USAGE,
                         "%s: none of its %" PRIu64 " phases is called '%s'; gamut trace show has "
                         "them as `begin` and `end`",
                         trace_reader_path(reader), phases, name);
    return more;
}

int trace_cut(struct trace_reader *reader, const struct trace_part *part, const char *out,
              bool replace, struct trace_totals *totals, struct error *error)
{
    const struct trace_info *info = trace_reader_info(reader);
    struct cut c = {.reader = reader,
                    .only_named = part->only_named,
                    .knows_frees = info->knows[TRACE_KNOWS_frees],
                    .knows_done = info->knows[TRACE_KNOWS_done]};
    TRY(trace_create(out, info, &c.writer, error));
    if (part->first > 1)
        trace_writer_info(c.writer)->began[0] = 0;
    int code = copy_part(&c, part, error);
    if (code)
        trace_abandon(c.writer);
    else
        code = trace_finish(c.writer, replace, totals, error);
    free(c.frames.index);
    free(c.blocks);
    free(c.phases);
    free(c.named);
    return code;
}

/* ---- diff ---- */

struct side {
    struct trace_reader *reader;
    enum trace_view view;
    struct text line;
    int more;        /* the answer of trace_next */
    uint64_t number; /* number of the event, from 1 on */
    unsigned queue_count, queue_capacity;
    unsigned *queues; /* by index: their numbers in the order of first use, from 1 on */
};

/* The event with its names as texts. */
static void add_event(struct side *s, struct trace_event *e)
{
    const char *name = trace_name_of(s->reader, e->name);
    e->name = e->stack = 0;
    trace_event_text(s->reader, e, &s->line);
    if (*name) {
        char *quoted = trace_quoted(name);
        text_add(&s->line, " name=%s", quoted);
        free(quoted);
    }
}

static unsigned queue_number(struct side *s, unsigned queue)
{
    s->queues = must_reach(s->queues, queue, &s->queue_capacity, sizeof *s->queues);
    if (!s->queues[queue])
        s->queues[queue] = ++s->queue_count;
    return s->queues[queue] - 1;
}

static bool is_request(enum trace_kind kind)
{
    return kind == TRACE_held || kind == TRACE_alloc;
}

static bool is_action(enum trace_kind kind)
{
    return is_request(kind) || kind == TRACE_free || (kind >= TRACE_launch && kind <= TRACE_order);
}

static void add_action(struct side *s, const struct trace_event *e)
{
    struct text *line = &s->line;
    text_add(line, "%s", trace_kind_name(is_request(e->kind) ? TRACE_alloc : e->kind));
    if (e->block)
        text_add(line, " b%" PRIu64, e->block);
    if (e->bytes)
        text_add(line, " %" PRIu64, e->bytes);
    if (e->memory)
        text_add(line, " memory=%u", e->memory);
    if (is_request(e->kind) || e->kind == TRACE_free)
        return;
    text_add(line, " q%u", queue_number(s, e->queue));
    if (e->kind == TRACE_order)
        text_add(line, " other=%u", queue_number(s, e->other));
    if (e->behind)
        text_add(line, " behind=%" PRIu64, e->behind);
    trace_uses_text(s->reader, e, line);
}

static int next_line(struct side *s, struct error *error)
{
    struct trace_event e;
    s->line.length = 0;
    do {
        s->more = s->more > 0 ? trace_next(s->reader, &e, error) : s->more;
        s->number++;
    } while (s->more > 0 && s->view == TRACE_VIEW_ACTIONS && !is_action(e.kind));
    if (s->more > 0 && s->view == TRACE_VIEW_ACTIONS)
        add_action(s, &e);
    else if (s->more > 0)
        add_event(s, &e);
    return s->more < 0 ? s->more : 0;
}

static int compare(struct side side[2], unsigned most, FILE *out, uint64_t *differences,
                   struct error *error)
{
    unsigned printed = 0;
    for (;;) {
        TRY(next_line(&side[0], error));
        TRY(next_line(&side[1], error));
        if (side[0].more <= 0 && side[1].more <= 0)
            return 0;
        if (side[0].more > 0 && side[1].more > 0 &&
            strcmp(side[0].line.data, side[1].line.data) == 0)
            continue;
        ++*differences;
        if (printed++ >= most)
            continue;
        fprintf(out, "event %" PRIu64, side[0].number);
        if (side[1].number != side[0].number)
            fprintf(out, " and %" PRIu64, side[1].number);
        fputc('\n', out);
        for (int i = 0; i < 2; i++)
            if (side[i].more > 0)
                fprintf(out, "%c %s\n", i ? '+' : '-', side[i].line.data);
            else
                fprintf(out, "%c (the trace has ended)\n", i ? '+' : '-');
    }
}

int trace_diff(struct trace_reader *left, struct trace_reader *right, enum trace_view view,
               unsigned most, FILE *out, uint64_t *differences, struct error *error)
{
    struct side side[2] = {{.reader = left, .view = view, .more = 1},
                           {.reader = right, .view = view, .more = 1}};
    *differences = 0;
    int code = trace_rewind(left, error);
    THEN(code, trace_rewind(right, error));
    THEN(code, compare(side, most, out, differences, error));
    for (int i = 0; i < 2; i++) {
        text_free(&side[i].line);
        free(side[i].queues);
    }
    return code;
}
