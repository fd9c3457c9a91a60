#include "replay/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/tree.h"

#define KIND(name, hidden, title) {#name, title, hidden},
static const struct {
    const char *name, *title;
    bool is_hidden;
} kinds[WAIT_KINDS] = {WAIT_KIND_LIST(KIND)};

const char *wait_kind_title(enum wait_kind kind)
{
    return kinds[kind].title;
}
bool wait_is_hidden(enum wait_kind kind)
{
    return kinds[kind].is_hidden;
}

enum { IDLE_MOST = 4096, SIZES = 65 };

/* Durations of calls of one kind that had nothing to wait for. */
struct idle {
    unsigned count, capacity;
    uint64_t *ns, median_ns;
};

/* A queue and the commands that it was given. */
struct wait_queue {
    uint64_t count;
    unsigned capacity;
    struct given {
        uint64_t ended_ns; /* when this command and all before it had ended */
        unsigned name;
        unsigned char kind; /* enum trace_kind */
        bool is_known;      /* the end of this one is */
    } * given;
    uint64_t waited;     /* the host has waited for so many of them */
    bool is_ordered;     /* the next command waits for another queue, */
    bool order_is_known; /* ... of whose part the end is known, */
    uint64_t ordered_ns; /* which had ended its part then */
};

struct wait_block {
    bool is_fresh;
    unsigned name;
};

/* A call, until the event after it shows all that belongs to it. */
struct call {
    bool is_there, is_blocking;
    bool first_launch, first_use; /* of its kernel; of one of its blocks */
    uint64_t number;              /* of its event, from 1 on */
    struct trace_event e;
    unsigned name;
    bool is_pending,
        is_known; /* of what it has to wait for: commands not yet waited for; their ends */
    uint64_t until_ns;
    unsigned for_name;
    unsigned char for_kind; /* TRACE_KINDS: unknown */
};

/* A call that waited, and its place. */
struct waited {
    struct {
        unsigned kind, name, for_name, for_kind;
    } at;
    uint64_t number, ns;
};

struct reading {
    struct trace_reader *reader;
    struct waits *out;
    bool collects; /* the first pass: durations of calls while the device is idle */
    bool has_begun;
    uint64_t began_ns, ended_ns, number;
    unsigned queue_count, queue_capacity, block_capacity;
    struct wait_queue *queues;
    struct wait_block *blocks; /* by slot */
    unsigned kernel_capacity;
    bool *launched;    /* kernels, by name */
    struct idle *idle; /* by class_of */
    struct call call;
    unsigned waited_count, waited_capacity;
    struct waited *waited;
};

/* ---- what is idle ---- */

static enum wait_kind kind_of(const struct call *c)
{
    switch (c->e.kind) {
    case TRACE_wait:
        return WAIT_wait;
    case TRACE_alloc:
    case TRACE_refused:
        return WAIT_alloc;
    case TRACE_free:
        return WAIT_free;
    default:
        break;
    }
    if (c->is_blocking)
        return c->e.kind == TRACE_map     ? WAIT_map
               : c->e.kind == TRACE_write ? WAIT_write
                                          : WAIT_read;
    return c->first_launch ? WAIT_first_launch : c->first_use ? WAIT_first_use : WAIT_command;
}

static struct idle *idle_of(const struct reading *r, const struct call *c)
{
    unsigned size = 0;
    for (uint64_t bytes = c->e.bytes; bytes; bytes >>= 1)
        size++;
    return &r->idle[((unsigned)c->e.kind * WAIT_KINDS + kind_of(c)) * SIZES + size];
}

static void add_idle(struct reading *r, const struct call *c)
{
    struct idle *idle = idle_of(r, c);
    if (!c->e.call_ns || idle->count == IDLE_MOST)
        return;
    idle->ns = must_grow(idle->ns, idle->count, &idle->capacity, sizeof *idle->ns);
    idle->ns[idle->count++] = c->e.call_ns;
}

static void find_medians(struct reading *r)
{
    for (unsigned i = 0; i < TRACE_KINDS * WAIT_KINDS * SIZES; i++) {
        struct idle *idle = &r->idle[i];
        if (!idle->count)
            continue;
        sort_u64(idle->ns, idle->count);
        idle->median_ns = idle->ns[(idle->count - 1) / 2];
    }
}

/* ---- queues ---- */

static struct wait_queue *queue_of(struct reading *r, unsigned queue)
{
    r->queues = must_reach(r->queues, queue, &r->queue_capacity, sizeof *r->queues);
    if (queue >= r->queue_count)
        r->queue_count = queue + 1;
    return &r->queues[queue];
}

static void give(struct reading *r, const struct trace_event *e)
{
    struct wait_queue *q = queue_of(r, e->queue);
    q->given = must_grow(q->given, (unsigned)q->count, &q->capacity, sizeof *q->given);
    const uint64_t before_ns = q->count ? q->given[q->count - 1].ended_ns : 0;
    /* A copy of 0 bytes has no end of its own: it ends with the command before it. */
    const bool is_empty = e->kind <= TRACE_read && !trace_has_work(e);
    const bool before_is_known = !q->count || q->given[q->count - 1].is_known;
    q->given[q->count++] =
        (struct given){.ended_ns = e->ended_ns > before_ns ? e->ended_ns : before_ns,
                       .name = e->name,
                       .kind = (unsigned char)e->kind,
                       .is_known = e->ended_ns || (is_empty && before_is_known)};
    if (r->collects)
        return;
    r->out->commands++;
    r->out->without_end += !e->ended_ns && !is_empty;
}

/* The first `count` commands of a queue are among those that a call has to wait for. */
static void must_wait(struct call *c, const struct wait_queue *q, uint64_t count, bool by_ends)
{
    if (q->is_ordered && count == q->count) {
        c->is_pending = true;
        c->is_known &= q->order_is_known || !by_ends;
        c->until_ns = q->ordered_ns > c->until_ns ? q->ordered_ns : c->until_ns;
    }
    if (!count)
        return;
    const struct given *last = &q->given[count - 1];
    c->is_pending |= count > q->waited;
    c->is_known &= last->is_known || !by_ends;
    if (last->ended_ns >= c->until_ns) {
        c->until_ns = last->ended_ns;
        c->for_name = last->name;
        c->for_kind = last->kind;
    }
}

static void has_waited(struct wait_queue *q, uint64_t count)
{
    if (count > q->waited)
        q->waited = count;
    if (q->waited == q->count)
        q->is_ordered = false;
}

/* The number of ended commands, among those that are in the order of their ends. */
static uint64_t ended_by(const struct wait_queue *q, uint64_t ns)
{
    uint64_t count;
    FIND_PLACE(count, q->count, q->given[count].ended_ns <= ns);
    return count;
}

/* Whether the device had nothing to do when a call began. */
static bool is_idle(const struct reading *r, const struct call *c)
{
    for (unsigned i = 0; i < r->queue_count; i++) {
        const struct wait_queue *q = &r->queues[i];
        if (q->waited == q->count)
            continue;
        if (!r->out->by_ends || !q->given[q->count - 1].is_known ||
            q->given[q->count - 1].ended_ns > trace_begin_ns(&c->e))
            return false;
    }
    return true;
}

/* Whether the end of a command is unknown that may have ended within a call: it is one after the
 * last that is known to have. */
static bool may_have_ended_within(const struct reading *r, const struct call *c)
{
    for (unsigned i = 0; i < r->queue_count; i++) {
        const struct wait_queue *q = &r->queues[i];
        const uint64_t count = ended_by(q, trace_end_ns(&c->e));
        if (count > q->waited && !q->given[count - 1].is_known)
            return true;
    }
    return false;
}

/* The last command that ended within a call which did not have to wait. */
static void find_ended_within(struct reading *r, struct call *c)
{
    const uint64_t begin_ns = trace_begin_ns(&c->e);
    c->until_ns = begin_ns;
    c->for_kind = TRACE_KINDS;
    for (unsigned i = 0; i < r->queue_count; i++) {
        const struct wait_queue *q = &r->queues[i];
        const uint64_t count = ended_by(q, trace_end_ns(&c->e));
        if (count && q->given[count - 1].ended_ns > c->until_ns) {
            c->until_ns = q->given[count - 1].ended_ns;
            c->for_name = q->given[count - 1].name;
            c->for_kind = q->given[count - 1].kind;
        }
    }
}

/* ---- calls ---- */

static bool is_exact(enum wait_kind kind)
{
    return kind <= WAIT_map;
}

/* The time that a call waited, or at most waited. False: it is unknown. */
static bool measure(struct reading *r, struct call *c, uint64_t *ns)
{
    const enum wait_kind kind = kind_of(c);
    const struct idle *idle = idle_of(r, c);
    const uint64_t begin_ns = trace_begin_ns(&c->e), end_ns = trace_end_ns(&c->e);
    const uint64_t beyond_ns = c->e.call_ns > idle->median_ns ? c->e.call_ns - idle->median_ns : 0;
    *ns = 0;
    if (is_exact(kind) ? !c->is_pending : is_idle(r, c))
        return true;
    if (!c->e.call_ns)
        return false;
    if (r->out->by_ends && (is_exact(kind) ? !c->is_known : may_have_ended_within(r, c)))
        return false;
    if (!r->out->by_ends) {
        *ns = beyond_ns;
        return true;
    }
    if (!is_exact(kind))
        find_ended_within(r, c);
    const uint64_t until_ns = c->until_ns < end_ns ? c->until_ns : end_ns;
    *ns = until_ns > begin_ns ? until_ns - begin_ns : 0;
    if (!is_exact(kind) && *ns > beyond_ns)
        *ns = beyond_ns;
    return true;
}

static void add_wait(struct wait_sum *sum, uint64_t ns)
{
    sum->waited += ns > 0;
    sum->ns += ns;
    sum->longest_ns = ns > sum->longest_ns ? ns : sum->longest_ns;
}

static void count_call(struct reading *r, struct call *c)
{
    uint64_t ns;
    const enum wait_kind kind = kind_of(c);
    struct wait_sum *sum = &r->out->kinds[kind];
    sum->calls++;
    if (!measure(r, c, &ns)) {
        sum->unknown++;
        return;
    }
    add_wait(sum, ns);
    if (!ns)
        return;
    r->waited = must_grow(r->waited, r->waited_count, &r->waited_capacity, sizeof *r->waited);
    r->waited[r->waited_count++] =
        (struct waited){{kind, c->name, c->for_name, c->for_kind}, c->number, ns};
}

/* All that belongs to the call has been read. */
static void end_call(struct reading *r)
{
    struct call *c = &r->call;
    if (!c->is_there)
        return;
    c->is_there = false;
    const bool is_command = c->e.kind >= TRACE_launch && c->e.kind <= TRACE_unmap;
    struct wait_queue *q = queue_of(r, c->e.queue);
    if (c->is_blocking)
        must_wait(c, q, q->count, r->out->by_ends);
    if (!r->collects)
        count_call(r, c);
    else if (is_exact(kind_of(c)) ? !c->is_pending : is_idle(r, c))
        add_idle(r, c);
    if (!is_command)
        return;
    give(r, &c->e);
    q->is_ordered = false; /* this command is */
    if (c->is_blocking)
        has_waited(q, q->count);
}

/* A wait event that is a part of the call before it. */
static bool belongs(const struct call *c, const struct trace_event *e)
{
    return c->is_there && e->kind == TRACE_wait && !e->call_ns && e->thread == c->e.thread &&
           e->time_ns == c->e.time_ns &&
           (c->e.kind == TRACE_wait || (c->e.kind >= TRACE_launch && c->e.kind <= TRACE_map &&
                                        e->queue == c->e.queue && !e->behind));
}

static void begin_call(struct reading *r, const struct trace_event *e)
{
    r->call = (struct call){.is_there = true,
                            .number = r->number,
                            .e = *e,
                            .name = e->name,
                            .is_known = true,
                            .for_kind = TRACE_KINDS};
    r->call.e.uses = NULL;
    const uint64_t end_ns = trace_end_ns(e);
    if (!r->has_begun)
        r->began_ns = trace_begin_ns(e);
    r->has_begun = true;
    r->ended_ns = end_ns > r->ended_ns ? end_ns : r->ended_ns;
    if (e->kind == TRACE_launch && e->name) {
        r->launched = must_reach(r->launched, e->name, &r->kernel_capacity, sizeof *r->launched);
        r->call.first_launch = !r->launched[e->name];
        r->launched[e->name] = true;
    }
    for (unsigned i = 0; i < e->use_count; i++) {
        r->blocks = must_reach(r->blocks, e->uses[i].slot, &r->block_capacity, sizeof *r->blocks);
        r->call.first_use |= r->blocks[e->uses[i].slot].is_fresh;
        r->blocks[e->uses[i].slot].is_fresh = false;
    }
}

static void read_wait(struct reading *r, const struct trace_event *e)
{
    if (!belongs(&r->call, e)) {
        end_call(r);
        begin_call(r, e);
    } else if (r->call.e.kind != TRACE_wait) {
        r->call.is_blocking = true;
        return;
    }
    struct wait_queue *q = queue_of(r, e->queue);
    const uint64_t count = q->count > e->behind ? q->count - e->behind : 0;
    must_wait(&r->call, q, count, r->out->by_ends);
    has_waited(q, count);
}

static void read_order(struct reading *r, const struct trace_event *e)
{
    const struct wait_queue *other = queue_of(r, e->other);
    const uint64_t count = other->count > e->behind ? other->count - e->behind : 0;
    const uint64_t ended_ns = count ? other->given[count - 1].ended_ns : 0;
    const bool is_known = count <= other->waited || other->given[count - 1].is_known;
    struct wait_queue *q = queue_of(r, e->queue);
    q->order_is_known = is_known && (q->order_is_known || !q->is_ordered);
    q->is_ordered = true;
    q->ordered_ns = ended_ns > q->ordered_ns ? ended_ns : q->ordered_ns;
}

static void read_block(struct reading *r, const struct trace_event *e)
{
    r->blocks = must_reach(r->blocks, e->slot, &r->block_capacity, sizeof *r->blocks);
    struct wait_block *block = &r->blocks[e->slot];
    if (e->kind == TRACE_free)
        r->call.name = block->name;
    else
        *block = (struct wait_block){.is_fresh = e->kind == TRACE_alloc, .name = e->name};
}

static void read_event(struct reading *r, const struct trace_event *e)
{
    r->number++;
    if (e->kind == TRACE_wait) {
        read_wait(r, e);
        return;
    }
    end_call(r);
    if (e->kind == TRACE_order)
        read_order(r, e);
    if ((e->kind >= TRACE_alloc && e->kind <= TRACE_unmap && e->kind != TRACE_done))
        begin_call(r, e);
    if (e->kind == TRACE_held || e->kind == TRACE_alloc || e->kind == TRACE_free)
        read_block(r, e);
}

static void free_state(struct reading *r)
{
    for (unsigned i = 0; i < r->queue_count; i++)
        free(r->queues[i].given);
    free(r->queues);
    free(r->blocks);
    free(r->launched);
    r->queues = NULL;
    r->blocks = NULL;
    r->launched = NULL;
    r->queue_count = r->queue_capacity = r->block_capacity = r->kernel_capacity = 0;
    r->number = 0;
}

static int read_all(struct reading *r, bool collects, struct error *error)
{
    struct trace_event event;
    free_state(r);
    r->collects = collects;
    int more = trace_rewind(r->reader, error);
    while (!more && (more = trace_next(r->reader, &event, error)) > 0) {
        read_event(r, &event);
        more = 0;
    }
    end_call(r);
    return more;
}

/* ---- places ---- */

static const char *text_of(struct reading *r, unsigned name, unsigned kind)
{
    const char *text = trace_name_of(r->reader, name);
    if (*text)
        return arena_copy(&r->out->arena, text, strlen(text));
    return kind < TRACE_KINDS ? trace_kind_name((enum trace_kind)kind) : NULL;
}

static int by_place(const void *left, const void *right)
{
    const struct waited *a = left, *b = right;
    const int order = memcmp(&a->at, &b->at, sizeof a->at);
    return order ? order : a->number < b->number ? -1 : a->number > b->number;
}

static int by_time(const void *left, const void *right)
{
    const struct wait_place *a = left, *b = right;
    if (a->sum.ns != b->sum.ns)
        return a->sum.ns > b->sum.ns ? -1 : 1;
    return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1)
                              : strcmp(a->at ? a->at : "", b->at ? b->at : "");
}

static void find_places(struct reading *r)
{
    struct waits *out = r->out;
    unsigned capacity = 0;
    if (r->waited_count)
        qsort(r->waited, r->waited_count, sizeof *r->waited, by_place);
    for (unsigned i = 0; i < r->waited_count; i++) {
        const struct waited *w = &r->waited[i];
        if (!i || memcmp(&w->at, &w[-1].at, sizeof w->at) != 0) {
            out->places = must_grow(out->places, out->place_count, &capacity, sizeof *out->places);
            out->places[out->place_count++] =
                (struct wait_place){.kind = (enum wait_kind)w->at.kind,
                                    .at = text_of(r, w->at.name, TRACE_KINDS),
                                    .last = text_of(r, w->at.for_name, w->at.for_kind)};
        }
        out->places[out->place_count - 1].sum.calls++;
        add_wait(&out->places[out->place_count - 1].sum, w->ns);
    }
    if (out->place_count)
        qsort(out->places, out->place_count, sizeof *out->places, by_time);
}

/* ---- the whole ---- */

static int read_waits(struct reading *r, struct error *error)
{
    struct waits *out = r->out;
    TRY(read_all(r, true, error));
    find_medians(r);
    TRY(read_all(r, false, error));
    out->duration_ns = r->ended_ns - r->began_ns;
    find_places(r);
    return 0;
}

int waits_read(struct trace_reader *reader, struct waits *waits, struct error *error)
{
    const struct trace_info *info = trace_reader_info(reader);
    *waits = (struct waits){.by_ends = info->knows[TRACE_KNOWS_ends]};
    if (!info->knows[TRACE_KNOWS_times] || !info->knows[TRACE_KNOWS_uses])
        return error_set(error, ERR_UNSUPPORTED,
                         "%s: the trace does not know %s: waits need a recording by gamut record",
                         trace_reader_path(reader),
                         info->knows[TRACE_KNOWS_times] ? "the commands" : "when calls were made");
    struct reading r = {.reader = reader,
                        .out = waits,
                        .idle = must_alloc(TRACE_KINDS * WAIT_KINDS * SIZES * sizeof *r.idle)};
    const int code = read_waits(&r, error);
    for (unsigned i = 0; i < TRACE_KINDS * WAIT_KINDS * SIZES; i++)
        free(r.idle[i].ns);
    free(r.idle);
    free(r.waited);
    free_state(&r);
    return code;
}

struct wait_sum waits_sum(const struct waits *waits, bool hidden)
{
    struct wait_sum sum = {0};
    for (int k = 0; k < WAIT_KINDS; k++) {
        const struct wait_sum *more = &waits->kinds[k];
        if (kinds[k].is_hidden != hidden)
            continue;
        sum.calls += more->calls;
        sum.waited += more->waited;
        sum.unknown += more->unknown;
        sum.ns += more->ns;
        sum.longest_ns = more->longest_ns > sum.longest_ns ? more->longest_ns : sum.longest_ns;
    }
    return sum;
}

static json_t *sum_to_json(const struct wait_sum *sum)
{
    const bool is_known = sum->unknown < sum->calls || !sum->calls;
    json_t *json = tree_object();
    tree_put(json, "calls", tree_count(sum->calls));
    tree_put(json, "waited", tree_known(is_known, sum->waited));
    tree_put(json, "unknown", tree_count(sum->unknown));
    tree_put(json, "ns", tree_known(is_known, sum->ns));
    tree_put(json, "longest_ns", tree_known(is_known, sum->longest_ns));
    return json;
}

json_t *waits_to_json(const struct waits *waits, unsigned most)
{
    json_t *json = tree_object(), *by_kind = tree_object(), *places = tree_array();
    const struct wait_sum asked = waits_sum(waits, false), hidden = waits_sum(waits, true);
    tree_put(json, "by", tree_text(waits->by_ends ? "ends" : "bounds"));
    tree_put(json, "commands", tree_count(waits->commands));
    tree_put(json, "without_end", tree_count(waits->without_end));
    tree_put(json, "duration_ns", tree_count(waits->duration_ns));
    tree_put(json, "asked", sum_to_json(&asked));
    tree_put(json, "hidden", sum_to_json(&hidden));
    for (int k = 0; k < WAIT_KINDS; k++)
        tree_put(by_kind, kinds[k].name, sum_to_json(&waits->kinds[k]));
    tree_put(json, "kinds", by_kind);
    for (unsigned i = 0; i < waits->place_count && i < most; i++) {
        const struct wait_place *p = &waits->places[i];
        json_t *place = sum_to_json(&p->sum);
        tree_put(place, "kind", tree_text(kinds[p->kind].name));
        tree_put(place, "hidden", json_boolean(kinds[p->kind].is_hidden));
        tree_put(place, "at", tree_text_or_null(p->at));
        tree_put(place, "for", tree_text_or_null(p->last));
        tree_append(places, place);
    }
    tree_put(json, "places", places);
    return json;
}

void waits_free(struct waits *waits)
{
    free(waits->places);
    arena_free(&waits->arena);
    *waits = (struct waits){0};
}
