#include "replay/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "base/treap.h"
#include "merge/pack/pack.h"
#include "trace/trace.h"

enum {
    GRAM = 8,
    PERIODS_TRIED = 32,
    KINDS_MOST = 32, /* rounds by marks, without turns */
    ONCE_MOST = 4,   /* iterations that may differ at the beginning */
    KINDS_TRIED = KINDS_MOST + ONCE_MOST,
    LEFT_SHARE =
        50, /* marks part the sequence if no more than this part of the bytes outlive them */
};
static const uint64_t usual_steps = UINT64_C(4000000000);

#define NEVER UINT32_MAX

/* A request of a queue, and when its block was free again, in requests of the queue. */
struct request {
    uint64_t size;
    uint32_t tag, end; /* end: NEVER, or the number of the next request */
};

/* A begin of a phase: how many requests the queue had before it. */
struct phase {
    unsigned name; /* index of its mark */
    uint32_t time;
};

struct sequence {
    struct request *requests;
    unsigned count, capacity;
    struct phase *phases;
    unsigned phase_count, phase_capacity;
};

/* The name of phases, as plan_mark_name writes it. */
struct mark {
    struct treap_node node;
    unsigned index, uses;
    char name[128];
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
    unsigned slot_capacity;
    uint32_t *tags; /* by name of the trace: its tag */
    unsigned tag_capacity;
    struct arena arena; /* owns the marks */
    struct treap marks;
    const struct mark *iteration; /* the first one that comes again; NULL: none does */
    uint64_t step_limit;          /* of the planner, for each queue */
};

/* ---- reading ---- */

static struct held *slot_of(struct recording *r, unsigned slot)
{
    r->slots = must_reach(r->slots, slot, &r->slot_capacity, sizeof *r->slots);
    return &r->slots[slot];
}

static uint32_t tag_of(struct recording *r, struct offset_plan *plan, const char *name,
                       unsigned index, unsigned *tag_capacity)
{
    r->tags = must_reach(r->tags, index, &r->tag_capacity, sizeof *r->tags);
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

static int by_mark(const struct treap_node *a, const struct treap_node *b)
{
    return strcmp(((const struct mark *)a)->name, ((const struct mark *)b)->name);
}

static void add_phase(struct recording *r, const char *name)
{
    struct mark new = {.index = (unsigned)r->marks.insert_count};
    plan_mark_name(new.name, name);
    struct mark *mark = (struct mark *)treap_from(&r->marks, &new.node);
    if (!mark || by_mark(&mark->node, &new.node) != 0) {
        mark = arena_alloc(&r->arena, sizeof *mark);
        *mark = new;
        treap_insert(&r->marks, &mark->node);
    }
    if (++mark->uses == 2 && (!r->iteration || mark->index < r->iteration->index))
        r->iteration = mark;
    for (unsigned q = 0; q < r->queue_count; q++) {
        struct sequence *s = &r->queues[q];
        s->phases = must_grow(s->phases, s->phase_count, &s->phase_capacity, sizeof *s->phases);
        s->phases[s->phase_count++] = (struct phase){mark->index, s->count};
    }
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
            r->queues = must_reach(r->queues, e.queue, &r->queue_capacity, sizeof *r->queues);
            r->queue_count = e.queue < r->queue_count ? r->queue_count : e.queue + 1;
            struct sequence *s = &r->queues[e.queue];
            if (s->count == PLAN_SLOTS_MOST)
                return error_set(error, ERR_UNSUPPORTED, "%s: a plan has room for %d requests",
                                 trace_reader_path(reader), PLAN_SLOTS_MOST);
            s->requests = must_grow(s->requests, s->count, &s->capacity, sizeof *s->requests);
            *slot_of(r, e.slot) = (struct held){e.queue, s->count, true};
            s->requests[s->count++] = (struct request){
                e.bytes, tag_of(r, plan, trace_name_of(reader, e.name), e.name, &tag_capacity),
                NEVER};
        } else if (e.kind == (knows_done ? TRACE_done : TRACE_free)) {
            struct held *h = slot_of(r, e.slot);
            if (h->lives)
                r->queues[h->queue].requests[h->request].end = r->queues[h->queue].count;
            h->lives = false;
        } else if (e.kind == TRACE_begin) {
            add_phase(r, trace_name_of(reader, e.name));
        }
    }
    plan->digest = trace_reader_totals(reader)->digest;
    for (unsigned q = 0; q < r->queue_count; q++) { /* so that the sanitizers see where they end */
        struct sequence *s = &r->queues[q];
        if (s->count)
            s->requests = must_realloc(s->requests, s->count * sizeof *s->requests);
    }
    return more;
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

ORDER_FROM_MOST(by_votes, struct vote, votes, period)

/* The distances back to the last place of the same few requests: those that come most often,
 * first. */
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

/* ---- rounds ---- */

/* A part of the recording that comes again. */
struct round {
    uint32_t begin, length; /* requests of the recording */
    unsigned turn;
};

/* The parts of a queue's plan. */
struct layout {
    uint32_t first; /* requests that are served once */
    struct round *rounds;
    unsigned round_count, turns;
    struct plan_slot *lives; /* of the slots of all rounds in turn: without offsets */
};

/* Notes the time that a block lived beyond its round, if it was requested at `i` of the round at
 * `begin`; its life is noted in `slot`, which has those of its counterparts. `next_end`: the next
 * round's end. */
static void note_life(struct plan_slot *slot, uint32_t end, uint32_t begin, uint32_t length,
                      uint32_t next_end)
{
    const uint32_t local = end == NEVER ? NEVER : end - begin;
    if (end == NEVER || end > next_end)
        slot->offset = PLAN_NOT_PLANNED;
    else if (local > length || slot->carried)
        slot->end = local <= length                               ? slot->end
                    : slot->carried && slot->end > local - length ? slot->end
                                                                  : local - length;
    else if (local > slot->end)
        slot->end = local;
    slot->carried = slot->carried || (end != NEVER && end <= next_end && local > length);
}

/* A block that lives until its counterpart of the next round is made needs two places. */
static unsigned turns_for(const struct round *rounds, unsigned count, const struct plan_slot *lives)
{
    for (unsigned r = 0; r < count; lives += rounds[r++].length)
        for (uint32_t i = 0; i < rounds[r].length; i++)
            if (lives[i].carried && lives[i].offset != PLAN_NOT_PLANNED && lives[i].end > i)
                return 2;
    return 1;
}

/* The rounds of the second turn are those of the first. */
static void add_turns(struct layout *l)
{
    uint32_t slots = 0;
    l->turns = turns_for(l->rounds, l->round_count, l->lives);
    if (l->turns == 1)
        return;
    for (unsigned r = 0; r < l->round_count; r++)
        slots += l->rounds[r].length;
    l->rounds = must_realloc(l->rounds, 2 * l->round_count * sizeof *l->rounds);
    l->lives = must_realloc(l->lives, 2 * (size_t)slots * sizeof *l->lives);
    for (unsigned r = l->round_count; r-- > 0;) {
        const struct round round = l->rounds[r];
        slots -= round.length;
        for (unsigned turn = 2; turn-- > 0;) {
            l->rounds[2 * r + turn] = (struct round){round.begin, round.length, turn};
            memmove(&l->lives[2 * slots + turn * round.length], &l->lives[slots],
                    round.length * sizeof *l->lives);
        }
    }
    l->round_count *= 2;
}

static void empty_slots(const struct sequence *s, uint32_t begin, uint32_t count,
                        struct plan_slot *slots)
{
    for (uint32_t i = 0; i < count; i++)
        slots[i] = (struct plan_slot){.size = s->requests[begin + i].size,
                                      .tag = s->requests[begin + i].tag};
}

/* ---- rounds by repetition ---- */

/* The begin of the plan's loop: a mark after the first round, or with the second round. */
static uint32_t loop_start(const struct sequence *s, const struct loop *loop, unsigned phase)
{
    const uint32_t start = loop->begin + loop->period;
    for (unsigned i = 0; i < s->phase_count; i++) {
        const struct phase *p = &s->phases[i];
        if (p->name == phase && p->time >= start && p->time + loop->period <= loop->end)
            return p->time;
    }
    return start;
}

/* One round, which is the period. What ended after the last one was not ended by the loop. */
static bool layout_by_loop(const struct sequence *s, unsigned phase, struct layout *l)
{
    const struct loop loop = find_loop(s);
    const uint32_t period = loop.period;
    if (!period)
        return false;
    l->first = loop_start(s, &loop, phase);
    l->rounds = must_alloc(sizeof *l->rounds);
    l->rounds[0] = (struct round){l->first, period, 0};
    l->round_count = 1;
    l->lives = must_alloc(period * sizeof *l->lives);
    empty_slots(s, l->first, period, l->lives);
    for (uint32_t i = 0; i < period; i++) {
        uint32_t k = l->first + i;
        bool ended = false;
        while (k >= loop.begin + period)
            k -= period;
        for (; k < loop.end; k += period)
            if (s->requests[k].end <= loop.end && s->requests[k].end != NEVER) {
                note_life(&l->lives[i], s->requests[k].end, k - i, period, k - i + 2 * period);
                ended = true;
            }
        if (!ended)
            l->lives[i].offset = PLAN_NOT_PLANNED;
    }
    return true;
}

/* ---- rounds by marks ---- */

/* An iteration: from one mark to the next. */
struct iteration {
    uint32_t begin, end;
    unsigned kind; /* the first iteration with the same requests */
};

static bool same_requests(const struct sequence *s, const struct iteration *a,
                          const struct iteration *b)
{
    bool are_same = a->end - a->begin == b->end - b->begin;
    for (uint32_t i = 0; are_same && i < a->end - a->begin; i++)
        are_same = same(&s->requests[a->begin + i], &s->requests[b->begin + i]);
    return are_same;
}

/* The iterations of a sequence that have requests; the last one has no end. */
static unsigned find_iterations(const struct sequence *s, unsigned phase, struct iteration *all)
{
    unsigned count = 0;
    uint32_t begin = NEVER;
    for (unsigned i = 0; i < s->phase_count; i++) {
        if (s->phases[i].name != phase || s->phases[i].time == begin)
            continue;
        if (begin != NEVER)
            all[count++] = (struct iteration){begin, s->phases[i].time, 0};
        begin = s->phases[i].time;
    }
    return count;
}

/* The lives of a kind's slots, from its iterations after the first `once` ones. What ends after the
 * last iteration was not ended by an iteration. */
static void kind_lives(const struct sequence *s, const struct iteration *all, unsigned count,
                       unsigned once, unsigned kind, struct plan_slot *lives)
{
    const uint32_t length = all[kind].end - all[kind].begin;
    empty_slots(s, all[kind].begin, length, lives);
    bool *ended = must_alloc((length + (size_t)1) * sizeof *ended);
    for (unsigned k = once; k < count; k++)
        for (uint32_t i = 0; i < length && all[k].kind == kind; i++) {
            const uint32_t end = s->requests[all[k].begin + i].end;
            if (end == NEVER && k + 1 >= count)
                continue;
            note_life(&lives[i], end, all[k].begin, length,
                      k + 1 < count ? all[k + 1].end : s->count);
            ended[i] = true;
        }
    for (uint32_t i = 0; i < length; i++)
        if (!ended[i])
            lives[i].offset = PLAN_NOT_PLANNED;
    free(ended);
}

/* Does a kind come after the first `once` iterations? */
static bool is_kind(const struct iteration *all, unsigned count, unsigned once, unsigned kind)
{
    for (unsigned k = once; k < count; k++)
        if (all[k].kind == kind)
            return true;
    return false;
}

/* A round for each kind of iteration after the first `once` ones. */
static bool layout_kinds(const struct sequence *s, const struct iteration *all, unsigned count,
                         unsigned once, struct layout *l)
{
    uint64_t left = 0, bytes = 0; /* of slots that live longer than the next round, and of all */
    uint32_t slots = 0;
    l->first = all[once].begin;
    l->round_count = 0;
    for (unsigned k = 0; k < count; k++)
        if (all[k].kind == k && is_kind(all, count, once, k)) {
            const uint32_t length = all[k].end - all[k].begin;
            if (l->round_count == KINDS_MOST)
                return false;
            kind_lives(s, all, count, once, k, &l->lives[slots]);
            l->rounds[l->round_count++] = (struct round){all[k].begin, length, 0};
            for (const uint32_t end = slots + length; slots < end; slots++) {
                bytes += l->lives[slots].size;
                left += l->lives[slots].offset == PLAN_NOT_PLANNED ? l->lives[slots].size : 0;
            }
        }
    return left * LEFT_SHARE <= bytes;
}

/* Numbers the kinds of iterations, and returns how many there are; more than KINDS_TRIED cannot be
 * rounds, and are not told apart. */
static unsigned find_kinds(const struct sequence *s, struct iteration *all, unsigned count)
{
    unsigned first[KINDS_TRIED + 1], kinds = 0;
    for (unsigned k = 0; k < count && kinds <= KINDS_TRIED; k++) {
        unsigned i = 0;
        while (i < kinds && !same_requests(s, &all[first[i]], &all[k]))
            i++;
        if (i == kinds)
            first[kinds++] = k;
        all[k].kind = first[i];
    }
    return kinds;
}

/* Marks part the sequence into rounds if iterations come again and hardly any block outlives the
 * iteration after its own. The first few may differ: they make what stays. */
static bool layout_by_marks(const struct sequence *s, unsigned phase, struct layout *l)
{
    struct iteration *all = must_alloc((s->phase_count + (size_t)1) * sizeof *all);
    const unsigned count = find_iterations(s, phase, all);
    const unsigned kinds = find_kinds(s, all, count);
    const bool may_be = kinds <= KINDS_TRIED && 2 * kinds <= count + 2;
    bool found = false;
    l->rounds = must_alloc(KINDS_MOST * sizeof *l->rounds);
    l->lives = must_alloc((s->count + (size_t)1) * sizeof *l->lives);
    for (unsigned once = 1; may_be && once <= ONCE_MOST && once + 1 < count && !found; once++)
        found = layout_kinds(s, all, count, once, l);
    free(all);
    if (!found) {
        free(l->rounds);
        free(l->lives);
        *l = (struct layout){0};
    }
    return found;
}

/* ---- slots ---- */

static void fill_slots(const struct sequence *s, const struct layout *l, struct plan_queue *q)
{
    uint32_t longest = 0, time = l->first;
    for (unsigned r = 0; r < l->round_count; r++)
        longest = l->rounds[r].length > longest ? l->rounds[r].length : longest;
    for (uint32_t i = 0; i < l->first; i++) {
        const struct request *one = &s->requests[i];
        q->slots[i] = (struct plan_slot){.size = one->size, .end = one->end, .tag = one->tag};
        q->slots[i].carried =
            one->end != NEVER && one->end > l->first && one->end - l->first <= longest;
        if (q->slots[i].carried)
            q->slots[i].end -= l->first;
        else if (one->end > l->first)
            q->slots[i].end = PLAN_FOREVER;
    }
    const struct plan_slot *lives = l->lives;
    for (unsigned r = 0; r < l->round_count; time += l->rounds[r++].length) {
        q->rounds[r] = time;
        for (uint32_t i = 0; i < l->rounds[r].length; i++, lives++) {
            struct plan_slot *slot = &q->slots[time + i];
            *slot = *lives;
            if (slot->offset == PLAN_NOT_PLANNED) {
                slot->carried = false;
                slot->end = l->rounds[r].length;
            }
            slot->end += slot->carried ? 0 : time;
        }
    }
}

static void fill_marks(const struct sequence *s, const struct layout *l, unsigned phase,
                       struct plan_queue *q)
{
    for (int r = -1; r < (int)q->round_count; r++) {
        const uint32_t begin = r < 0 ? 0 : l->rounds[r].begin,
                       length = r < 0 ? l->first : l->rounds[r].length,
                       time = r < 0 ? 0 : q->rounds[r];
        for (unsigned i = 0; i < s->phase_count; i++)
            if (s->phases[i].name == phase && s->phases[i].time >= begin &&
                s->phases[i].time - begin < length)
                q->marks[q->mark_count++] = time + s->phases[i].time - begin;
    }
}

/* ---- places ---- */

/* Slots that have one place: `leader` is the first of them. */
struct shared {
    uint32_t leader, next; /* by slot; NEVER: none */
    /* Of a leader, counted from the beginning of a round: the latest end of its slots, and the
     * first request of one of them in a round. */
    uint32_t end, begin;
};

struct sharer {
    uint64_t size;
    uint32_t tag, ordinal, slot;
    uint32_t begin; /* requests of its round before it; NEVER before the first round */
    unsigned turn;
};

static int by_kind(const void *left, const void *right)
{
    const struct sharer *a = left, *b = right;
    ORDER_STEP(a->size, b->size);
    ORDER_STEP(a->turn, b->turn);
    ORDER_STEP(a->tag, b->tag);
    ORDER_STEP(a->ordinal, b->ordinal);
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

ORDER_BY(by_slot_of_kind, struct sharer, slot)

/* The carried slots of one turn, each with its number among those of its size and tag in its
 * round. */
static uint32_t find_sharers(const struct plan_queue *q, struct sharer *all)
{
    uint32_t count = 0;
    for (int r = -1; r < (int)q->round_count; r++) {
        const uint32_t begin = r < 0 ? 0 : q->rounds[r], first = count;
        const unsigned turn = r < 0 ? q->turns - 1 : (unsigned)r % q->turns;
        for (uint32_t i = begin; i < plan_round_end(q, r); i++) {
            const struct plan_slot *s = &q->slots[i];
            if (s->carried && s->offset != PLAN_NOT_PLANNED)
                all[count++] =
                    (struct sharer){s->size, s->tag, 0, i, r < 0 ? NEVER : i - begin, turn};
        }
        qsort(all + first, count - first, sizeof *all, by_kind);
        for (uint32_t k = first + 1; k < count; k++)
            if (all[k].size == all[k - 1].size && all[k].tag == all[k - 1].tag)
                all[k].ordinal = all[k - 1].ordinal + 1;
        qsort(all + first, count - first, sizeof *all, by_slot_of_kind);
    }
    return count;
}

/* A block that a round leaves to the next one shares its place with its counterparts in other
 * rounds of its turn: only one of these rounds is the last. If there is one turn, all of them must
 * have ended when the first of them is made in the next round. */
static void share_places(const struct plan_queue *q, struct shared *shared)
{
    struct sharer *all = must_alloc((q->count + (size_t)1) * sizeof *all);
    const uint32_t count = find_sharers(q, all);
    for (uint32_t i = 0; i < q->count; i++)
        shared[i] = (struct shared){i, NEVER, q->slots[i].end, NEVER};
    qsort(all, count, sizeof *all, by_kind);
    for (uint32_t k = 0; k < count; k++) {
        const struct sharer *b = &all[k], *a = k ? b - 1 : b;
        struct shared *leader = &shared[shared[a->slot].leader];
        const uint32_t end = leader->end > q->slots[b->slot].end ? leader->end
                                                                 : q->slots[b->slot].end,
                       begin = leader->begin < b->begin ? leader->begin : b->begin;
        shared[b->slot].begin = b->begin;
        if (a == b || a->size != b->size || a->tag != b->tag || a->turn != b->turn ||
            a->ordinal != b->ordinal || (q->turns == 1 && end > begin))
            continue;
        shared[b->slot].leader = shared[a->slot].leader;
        shared[a->slot].next = b->slot;
        leader->end = end;
        leader->begin = begin;
    }
    free(all);
}

struct lives {
    struct pack_interval *items;
    unsigned count, capacity;
};

static void add_life(struct lives *lives, uint32_t lower, uint32_t upper)
{
    if (lower == upper)
        return;
    lives->items = must_grow(lives->items, lives->count, &lives->capacity, sizeof *lives->items);
    lives->items[lives->count++] = (struct pack_interval){lower, upper};
}

ORDER_BY(by_lower, struct pack_interval, lower)

/* The lives of a leader's slots, in the order of time and without overlap. */
static void carried_lives(const struct plan_queue *q, const struct shared *shared, uint32_t leader,
                          struct lives *lives)
{
    const unsigned first = lives->count;
    unsigned turns = 0; /* bits: turns of rounds that come after one with such a slot */
    int round = -1;
    for (uint32_t i = leader; i != NEVER; i = shared[i].next) {
        while (i >= plan_round_end(q, round))
            round++;
        turns |= 1u << (round < 0 ? 0 : (unsigned)(round + 1) % q->turns);
        add_life(lives, i, plan_round_end(q, round));
    }
    for (unsigned r = 0; r < q->round_count; r++) {
        const uint32_t begin = q->rounds[r], end = plan_round_end(q, (int)r);
        if (turns >> r % q->turns & 1)
            add_life(lives, begin,
                     end - begin < shared[leader].end ? end : begin + shared[leader].end);
    }
    qsort(lives->items + first, lives->count - first, sizeof *lives->items, by_lower);
    unsigned kept = first;
    for (unsigned i = first; i < lives->count; i++)
        if (i > first && lives->items[i].lower <= lives->items[kept - 1].upper) {
            if (lives->items[i].upper > lives->items[kept - 1].upper)
                lives->items[kept - 1].upper = lives->items[i].upper;
        } else {
            lives->items[kept++] = lives->items[i];
        }
    lives->count = kept;
}

/* Gives the slots their offsets. */
static int pack_queue(struct plan_queue *q, uint64_t step_limit, struct error *error)
{
    const size_t room = q->count + (size_t)1;
    struct pack_buffer *buffers = must_alloc(room * sizeof *buffers);
    struct shared *shared = must_alloc(room * sizeof *shared);
    unsigned *first = must_alloc((room + 1) * sizeof *first);
    const struct pack_options options = {.step_limit = step_limit};
    struct pack_result result;
    struct lives lives = {0};
    share_places(q, shared);
    for (uint32_t i = 0; i < q->count; i++) {
        const struct plan_slot *s = &q->slots[i];
        first[i] = lives.count;
        if (s->offset == PLAN_NOT_PLANNED || shared[i].leader != i)
            ;
        else if (s->carried)
            carried_lives(q, shared, i, &lives);
        else
            add_life(&lives, i, s->end == PLAN_FOREVER ? q->count : s->end);
    }
    first[q->count] = lives.count;
    for (uint32_t i = 0; i < q->count; i++) {
        const unsigned count = first[i + 1] - first[i];
        buffers[i] = (struct pack_buffer){.lower = i,
                                          .upper = i,
                                          .size = (int64_t)q->slots[i].size,
                                          .alignment = PLAN_UNIT_BYTES,
                                          .intervals = count ? lives.items + first[i] : NULL,
                                          .interval_count = count};
    }
    int code = pack_solve(buffers, q->count, &options, &result, error);
    for (uint32_t i = 0; i < q->count && !code; i++)
        if (q->slots[i].offset != PLAN_NOT_PLANNED)
            q->slots[i].offset = (uint64_t)result.offset[shared[i].leader];
    if (!code) {
        q->height = (uint64_t)result.height;
        q->bound = (uint64_t)result.lower_bound;
        pack_result_free(&result);
    }
    free(buffers);
    free(shared);
    free(first);
    free(lives.items);
    return code;
}

static int plan_queue(struct offset_plan *plan, const struct sequence *s, unsigned queue,
                      unsigned phase, uint64_t step_limit, struct error *error)
{
    struct plan_queue *q = &plan->queues[plan->queue_count];
    struct layout l = {0};
    if (!layout_by_marks(s, phase, &l) && !layout_by_loop(s, phase, &l))
        l.first = s->count;
    add_turns(&l);
    q->queue = queue;
    q->turns = l.turns;
    q->round_count = l.round_count;
    q->count = l.first;
    for (unsigned r = 0; r < l.round_count; r++)
        q->count += l.rounds[r].length;
    if (q->count > PLAN_SLOTS_MOST) {
        free(l.rounds);
        free(l.lives);
        return error_set(error, ERR_UNSUPPORTED,
                         "queue %u: a plan has room for %d requests, and two turns of %u rounds "
                         "need %u",
                         queue, PLAN_SLOTS_MOST, l.round_count / 2, q->count);
    }
    q->slots = arena_alloc(&plan->arena, (q->count + (size_t)1) * sizeof *q->slots);
    q->rounds = arena_alloc(&plan->arena, (q->round_count + (size_t)1) * sizeof *q->rounds);
    q->marks = arena_alloc(&plan->arena, (2 * (size_t)(KINDS_MOST + 1) * (s->phase_count + 1)) *
                                             sizeof *q->marks);
    fill_slots(s, &l, q);
    fill_marks(s, &l, phase, q);
    free(l.rounds);
    free(l.lives);
    TRY(pack_queue(q, step_limit, error));
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
    const unsigned phase = r->iteration ? r->iteration->index : UINT32_MAX;
    plan->unit = PLAN_UNIT_BYTES;
    plan->mark = r->iteration ? arena_printf(&plan->arena, "%s", r->iteration->name) : "";
    plan->queues = arena_alloc(&plan->arena, (r->queue_count + (size_t)1) * sizeof *plan->queues);
    for (unsigned q = 0; q < r->queue_count; q++)
        if (r->queues[q].count)
            TRY(plan_queue(plan, &r->queues[q], q, phase, r->step_limit, error));
    return plan->queue_count
               ? 0
               : error_set(error, ERR_USAGE, "%s: the trace has no request of common device memory",
                           trace_reader_path(reader));
}

int plan_of_trace(const char *path, struct offset_plan *plan, struct error *error)
{
    return plan_of_trace_within(path, usual_steps, plan, error);
}

int plan_of_trace_within(const char *path, uint64_t step_limit, struct offset_plan *plan,
                         struct error *error)
{
    struct recording r = {.step_limit = step_limit, .marks.compare = by_mark};
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
    arena_free(&r.arena);
    if (code)
        plan_free(plan);
    return code;
}
