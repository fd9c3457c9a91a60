#include "run/replay/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "merge/pack/pack.h"
#include "trace/trace.h"

enum { GRAM = 8, PERIODS_TRIED = 32 };
static const int64_t usual_limit_ns = INT64_C(5000000000);

#define NEVER UINT32_MAX

/* A request of a queue, and when its block was free again, in requests of the queue. */
struct request {
    uint64_t size;
    uint32_t tag, end; /* end: NEVER, or the number of the next request */
};

/* A begin of a phase: how many requests the queue had before it. */
struct phase {
    unsigned name; /* index of its plan_mark_name */
    uint32_t time;
};

struct sequence {
    struct request *requests;
    unsigned count, capacity;
    struct phase *phases;
    unsigned phase_count, phase_capacity;
};

/* The block in a slot of the trace. */
struct held {
    unsigned queue, request;
    bool lives;
};

struct recording {
    struct sequence *queues;
    unsigned queue_count, queue_capacity;
    struct held *slots;
    unsigned slot_count;
    uint32_t *tags; /* by name of the trace: its tag */
    unsigned name_count;
    char (*phases)[128];
    unsigned phase_count, phase_capacity;
    uint64_t *phase_uses;
    int64_t time_limit_ns; /* of the planner */
};

/* ---- reading ---- */

static struct sequence *sequence_of(struct recording *r, unsigned queue)
{
    while (r->queue_count <= queue) {
        r->queues = must_grow(r->queues, r->queue_count, &r->queue_capacity, sizeof *r->queues);
        r->queues[r->queue_count++] = (struct sequence){0};
    }
    return &r->queues[queue];
}

static struct held *slot_of(struct recording *r, unsigned slot)
{
    if (slot >= r->slot_count) {
        const unsigned count = 2 * slot + 256;
        r->slots = must_realloc(r->slots, count * sizeof *r->slots);
        memset(r->slots + r->slot_count, 0, (count - r->slot_count) * sizeof *r->slots);
        r->slot_count = count;
    }
    return &r->slots[slot];
}

static uint32_t tag_of(struct recording *r, struct offset_plan *plan, const char *name,
                       unsigned index, unsigned *tag_capacity)
{
    if (index >= r->name_count) {
        const unsigned count = 2 * index + 64;
        r->tags = must_realloc(r->tags, count * sizeof *r->tags);
        memset(r->tags + r->name_count, 0, (count - r->name_count) * sizeof *r->tags);
        r->name_count = count;
    }
    if (!index || !*name || strchr(name, '\n'))
        return 0;
    if (!r->tags[index]) {
        plan->tags =
            arena_grow(&plan->arena, plan->tags, plan->tag_count, tag_capacity, sizeof *plan->tags);
        plan->tags[plan->tag_count] = arena_printf(&plan->arena, "%s", name);
        r->tags[index] = plan->tag_count++;
    }
    return r->tags[index];
}

static void add_phase(struct recording *r, const char *name)
{
    char mark[128];
    unsigned index = 0;
    plan_mark_name(mark, name);
    while (index < r->phase_count && strcmp(r->phases[index], mark) != 0)
        index++;
    if (index == r->phase_count) {
        unsigned capacity = r->phase_capacity;
        r->phases = must_grow(r->phases, index, &r->phase_capacity, sizeof *r->phases);
        r->phase_uses = must_grow(r->phase_uses, index, &capacity, sizeof *r->phase_uses);
        strcpy(r->phases[r->phase_count], mark);
        r->phase_uses[r->phase_count++] = 0;
    }
    r->phase_uses[index]++;
    for (unsigned q = 0; q < r->queue_count; q++) {
        struct sequence *s = &r->queues[q];
        s->phases = must_grow(s->phases, s->phase_count, &s->phase_capacity, sizeof *s->phases);
        s->phases[s->phase_count++] = (struct phase){index, s->count};
    }
}

static void end_block(struct recording *r, unsigned slot)
{
    struct held *h = slot_of(r, slot);
    if (h->lives)
        r->queues[h->queue].requests[h->request].end = r->queues[h->queue].count;
    h->lives = false;
}

static int read_events(struct recording *r, struct trace_reader *reader, struct offset_plan *plan,
                       struct error *error)
{
    const bool knows_done = trace_reader_info(reader)->knows[TRACE_KNOWS_done];
    struct trace_event e;
    unsigned tag_capacity = 0;
    int more;
    plan->tags = arena_grow(&plan->arena, NULL, 0, &tag_capacity, sizeof *plan->tags);
    plan->tags[plan->tag_count++] = "";
    while ((more = trace_next(reader, &e, error)) > 0) {
        const bool takes = e.kind == TRACE_held || e.kind == TRACE_alloc;
        if (takes && !e.pool && !e.memory && e.bytes) {
            struct sequence *s = sequence_of(r, e.queue);
            if (s->count == PLAN_SLOTS_MOST)
                return error_set(error, ERR_UNSUPPORTED, "%s: a plan has room for %d requests",
                                 trace_reader_path(reader), PLAN_SLOTS_MOST);
            s->requests = must_grow(s->requests, s->count, &s->capacity, sizeof *s->requests);
            *slot_of(r, e.slot) = (struct held){e.queue, s->count, true};
            s->requests[s->count++] = (struct request){
                e.bytes, tag_of(r, plan, trace_name_of(reader, e.name), e.name, &tag_capacity),
                NEVER};
        } else if (e.kind == (knows_done ? TRACE_done : TRACE_free)) {
            end_block(r, e.slot);
        } else if (e.kind == TRACE_begin) {
            add_phase(r, trace_name_of(reader, e.name));
        }
    }
    plan->digest = trace_reader_totals(reader)->digest;
    return more;
}

/* The phase that begins an iteration: the first one that comes again. */
static unsigned iteration_phase(const struct recording *r)
{
    unsigned i = 0;
    while (i < r->phase_count && r->phase_uses[i] < 2)
        i++;
    return i;
}

/* ---- the loop ---- */

struct loop {
    uint32_t begin, period; /* requests from `begin` on repeat; period 0: there is no loop */
    uint32_t end;           /* where they cease to */
};

static bool same(const struct request *a, const struct request *b)
{
    return a->size == b->size && a->tag == b->tag;
}

/* The longest part of the sequence that repeats with a period. */
static struct loop longest(const struct sequence *s, uint32_t period)
{
    struct loop best = {0};
    uint32_t run = 0;
    for (uint32_t i = 0; i + period < s->count; i++) {
        run = same(&s->requests[i], &s->requests[i + period]) ? run + 1 : 0;
        if (run >= period && run + period > best.end - best.begin)
            best = (struct loop){i + 1 - run, period, i + 1 + period};
    }
    return best;
}

struct vote {
    uint32_t period, votes;
};

static int by_votes(const void *left, const void *right)
{
    const struct vote *a = left, *b = right;
    if (a->votes != b->votes)
        return a->votes > b->votes ? -1 : 1;
    return a->period < b->period ? -1 : a->period > b->period;
}

/* How far back the same few requests stood last: the distances that come most often, first. */
static void likely_periods(const struct sequence *s, uint32_t periods[PERIODS_TRIED])
{
    const unsigned bits = 64 - (unsigned)__builtin_clzll(2 * (uint64_t)s->count + 16);
    uint32_t *last = must_alloc(sizeof *last << bits); /* by hash: the position + 1 */
    struct vote *votes = must_alloc((s->count + (size_t)1) * sizeof *votes);
    const uint32_t gram = s->count < 4 * GRAM ? 1 : GRAM;
    for (uint32_t i = 0; i + gram <= s->count; i++) {
        uint64_t hash = 0;
        for (uint32_t k = 0; k < gram; k++)
            hash = (hash ^ s->requests[i + k].size ^ (uint64_t)s->requests[i + k].tag << 40) *
                   0x9e3779b97f4a7c15u;
        uint32_t *at = &last[hash >> (64 - bits)];
        if (*at)
            votes[i + 1 - *at].votes++;
        *at = i + 1;
    }
    for (uint32_t i = 0; i <= s->count; i++)
        votes[i].period = i;
    votes[0].votes = 0;
    qsort(votes, s->count + (size_t)1, sizeof *votes, by_votes);
    for (uint32_t i = 0; i < PERIODS_TRIED; i++)
        periods[i] = i <= s->count && votes[i].votes ? votes[i].period : 0;
    free(votes);
    free(last);
}

static struct loop find_loop(const struct sequence *s)
{
    uint32_t periods[PERIODS_TRIED];
    struct loop best = {0};
    likely_periods(s, periods);
    for (unsigned i = 0; i < PERIODS_TRIED && periods[i]; i++) {
        const struct loop loop = longest(s, periods[i]);
        const uint64_t new = loop.end - loop.begin, old = best.end - best.begin;
        /* A multiple of a period repeats as well. */
        if (new * 20 > old * 21 ||
            (new * 21 >= old * 20 && loop.period &&loop.period < best.period))
            best = loop;
    }
    if ((uint64_t)(best.end - best.begin) * 2 < s->count - best.begin)
        best = (struct loop){0};
    return best;
}

/* ---- slots ---- */

/* Where the plan's loop begins: at a mark after the first round, or with the second round. */
static uint32_t loop_start(const struct sequence *s, const struct loop *loop, uint32_t length,
                           unsigned phase)
{
    const uint32_t start = loop->begin + loop->period;
    for (unsigned i = 0; i < s->phase_count; i++) {
        const struct phase *p = &s->phases[i];
        if (p->name == phase && p->time >= start && p->time + length <= loop->end)
            return p->time;
    }
    return start;
}

/* The longest life of a request's counterparts in all rounds, in requests; NEVER: none has ended.
 * What ended after the last round was not ended by the loop. */
static uint32_t longest_life(const struct sequence *s, const struct loop *loop, uint32_t i)
{
    uint32_t first = i, life = 0;
    while (first >= loop->begin + loop->period)
        first -= loop->period;
    for (uint32_t k = first; k < loop->end; k += loop->period) {
        const uint32_t end = s->requests[k].end;
        if (end != NEVER && end <= loop->end && end - k > life)
            life = end - k;
    }
    return life ? life : NEVER;
}

/* The requests in the plan's loop: those of one round, or of two where a block lives until after its
 * counterpart of the next round is made, as what a program keeps in a variable does. */
static uint32_t loop_length(const struct sequence *s, const struct loop *loop)
{
    const uint32_t start = loop->begin + loop->period, period = loop->period;
    bool is_long = false;
    for (uint32_t i = start; i < start + period && !is_long; i++) {
        const uint32_t life = longest_life(s, loop, i);
        is_long = life > period && life <= 2 * (uint64_t)period;
    }
    return is_long && loop->end - start >= 2 * (uint64_t)period ? 2 * period : period;
}

static void plan_slot(const struct sequence *s, const struct loop *loop, struct plan_queue *q,
                      uint32_t i)
{
    const struct request *r = &s->requests[i];
    struct plan_slot *slot = &q->slots[i];
    *slot = (struct plan_slot){r->size, 0, r->end, r->tag};
    if (i < q->loop) {
        if (r->end > q->count)
            slot->end = PLAN_FOREVER;
        return;
    }
    const uint32_t life = longest_life(s, loop, i);
    if (life > q->count - q->loop) {
        slot->offset = PLAN_NOT_PLANNED;
        slot->end = q->count;
        return;
    }
    const uint64_t end = (uint64_t)i + life;
    slot->end = (uint32_t)(end <= q->count ? end : end - q->count + q->loop);
}

/* The slot that has the place of this one in the first round: its counterpart before the loop, if
 * that reaches into the loop, as this one reaches into the next round. NEVER: none. */
static uint32_t shares_with(const struct plan_queue *q, uint32_t i)
{
    const struct plan_slot *s = &q->slots[i];
    if (i < q->loop || s->end > i || s->offset == PLAN_NOT_PLANNED || i < q->count - q->loop)
        return NEVER;
    const struct plan_slot *before = s - (q->count - q->loop);
    return before->size == s->size && before->end > q->loop && before->end <= s->end
               ? (uint32_t)(before - q->slots)
               : NEVER;
}

/* The lives of a slot in one pass through the sequence. */
static void set_lives(const struct plan_queue *q, uint32_t i, struct pack_buffer *b,
                      struct pack_interval lives[2])
{
    const struct plan_slot *s = &q->slots[i];
    *b = (struct pack_buffer){.lower = i,
                              .upper = s->end == PLAN_FOREVER ? q->count : s->end,
                              .size = (int64_t)s->size,
                              .alignment = PLAN_UNIT_BYTES};
    if (s->offset == PLAN_NOT_PLANNED)
        b->upper = b->lower;
    if (s->offset == PLAN_NOT_PLANNED || s->end > i)
        return;
    const uint32_t shared = shares_with(q, i);
    lives[0] = (struct pack_interval){shared == NEVER ? q->loop : shared, s->end};
    lives[1] = (struct pack_interval){i, q->count};
    const bool two = lives[0].lower < lives[0].upper;
    b->intervals = two ? lives : lives + 1;
    b->interval_count = two ? 2 : 1;
}

/* Gives the slots their offsets. */
static int pack_queue(struct plan_queue *q, int64_t time_limit_ns, struct error *error)
{
    struct pack_buffer *buffers = must_alloc((q->count + (size_t)1) * sizeof *buffers);
    struct pack_interval(*lives)[2] = must_alloc((q->count + (size_t)1) * sizeof *lives);
    const struct pack_options options = {.time_limit_ns = time_limit_ns};
    struct pack_result result;
    for (uint32_t i = 0; i < q->count; i++)
        set_lives(q, i, &buffers[i], lives[i]);
    for (uint32_t i = q->loop; i < q->count; i++) {
        const uint32_t shared = shares_with(q, i);
        if (shared != NEVER)
            buffers[shared].upper = buffers[shared].lower;
    }
    int code = pack_solve(buffers, q->count, &options, &result, error);
    for (uint32_t i = 0; i < q->count && !code; i++) {
        const uint32_t shared = shares_with(q, i);
        if (q->slots[i].offset != PLAN_NOT_PLANNED)
            q->slots[i].offset = (uint64_t)result.offset[i];
        if (shared != NEVER)
            q->slots[shared].offset = (uint64_t)result.offset[i];
    }
    if (!code) {
        q->height = (uint64_t)result.height;
        q->bound = (uint64_t)result.lower_bound;
        pack_result_free(&result);
    }
    free(buffers);
    free(lives);
    return code;
}

static int plan_queue(struct offset_plan *plan, const struct sequence *s, unsigned queue,
                      unsigned phase, int64_t time_limit_ns, struct error *error)
{
    struct plan_queue *q = &plan->queues[plan->queue_count];
    const struct loop loop = find_loop(s);
    q->queue = queue;
    const uint32_t length = loop.period ? loop_length(s, &loop) : 0;
    q->loop = length ? loop_start(s, &loop, length, phase) : s->count;
    q->count = q->loop + length;
    q->slots = arena_alloc(&plan->arena, (q->count + (size_t)1) * sizeof *q->slots);
    q->marks = arena_alloc(&plan->arena, (s->phase_count + (size_t)1) * sizeof *q->marks);
    for (uint32_t i = 0; i < q->count; i++)
        plan_slot(s, &loop, q, i);
    for (unsigned i = 0; i < s->phase_count; i++)
        if (s->phases[i].name == phase && s->phases[i].time < q->count)
            q->marks[q->mark_count++] = s->phases[i].time;
    TRY(pack_queue(q, time_limit_ns, error));
    plan->queue_count++;
    return 0;
}

/* ---- the whole ---- */

static int plan_recording(struct recording *r, struct trace_reader *reader,
                          struct offset_plan *plan, struct error *error)
{
    const struct trace_info *info = trace_reader_info(reader);
    if (!info->knows[TRACE_KNOWS_done] && !info->knows[TRACE_KNOWS_frees])
        return error_set(error, ERR_USAGE, "%s: a trace without frees cannot be planned",
                         trace_reader_path(reader));
    TRY(read_events(r, reader, plan, error));
    const unsigned phase = iteration_phase(r);
    plan->unit = PLAN_UNIT_BYTES;
    plan->mark = phase < r->phase_count ? arena_printf(&plan->arena, "%s", r->phases[phase]) : "";
    plan->queues = arena_alloc(&plan->arena, (r->queue_count + (size_t)1) * sizeof *plan->queues);
    for (unsigned q = 0; q < r->queue_count; q++)
        if (r->queues[q].count)
            TRY(plan_queue(plan, &r->queues[q], q, phase, r->time_limit_ns, error));
    return plan->queue_count
               ? 0
               : error_set(error, ERR_USAGE, "%s: the trace has no request of common device memory",
                           trace_reader_path(reader));
}

int plan_of_trace(const char *path, struct offset_plan *plan, struct error *error)
{
    return plan_of_trace_within(path, usual_limit_ns, plan, error);
}

int plan_of_trace_within(const char *path, int64_t time_limit_ns, struct offset_plan *plan,
                         struct error *error)
{
    struct recording r = {.time_limit_ns = time_limit_ns};
    struct trace_reader *reader;
    *plan = (struct offset_plan){0};
    TRY(trace_open(path, &reader, error));
    int code = plan_recording(&r, reader, plan, error);
    trace_close(reader);
    for (unsigned q = 0; q < r.queue_count; q++) {
        free(r.queues[q].requests);
        free(r.queues[q].phases);
    }
    free(r.queues);
    free(r.slots);
    free(r.tags);
    free(r.phases);
    free(r.phase_uses);
    if (code)
        plan_free(plan);
    return code;
}
