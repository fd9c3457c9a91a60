/* planned: offsets planned offline from a recording, served in its order.
 *
 *   1. The plan gives each request of the recording a slot: bytes at an offset of one arena, from
 *      its own time until another's. Time is counted in requests. Slots that live at once do not
 *      overlap. First come the slots that are served once, then rounds: one for each kind of
 *      iteration.
 *   2. The cursor is at the slot of the next request. A request of the slot's size, and of its tag
 *      where both are known, gets the slot, and the cursor moves on. There is no search.
 *   3. At the end of a round, and at a mark, the next request chooses the round: the one that
 *      follows the last one most recently, or another that begins with this request. If later
 *      requests differ, a round that begins with the same ones and goes on with this one takes its
 *      place.
 *   4. A live block in the arena that the plan does not have there at this time is a stray: freed
 *      late, or served out of order. A slot is not handed out if its bytes are those of a stray. If
 *      there are none, all live blocks are live in the plan too, so the slot at the cursor is free.
 *   5. A request of another size or tag looks for the next slot of its size. If that is at most
 *      four slots ahead, and no live or skipped slot needs its bytes before, it is handed out
 *      early. If three requests in a row find slots in a row, up to 64 ahead, the cursor moves
 *      there: the slots between were left out. Farther ahead, or back at the first round, it takes
 *      eight.
 *   6. A smaller request that has no slot of its own size gets the slot at the cursor, if at least
 *      half of it is used.
 *   7. All else is a guest, and the cursor stays: what is inserted shifts nothing. A guest gets the
 *      end of the smallest free range of the arena that holds it, of equal ones the lowest; of a
 *      mapped arena (rule 11) one of which least is to be mapped. If there is none, the fallback
 *      (`else`) serves it, as it does what the plan has no place for. After four requests in a row
 *      without a slot, all requests are guests until a run of requests (rule 5) or a mark finds the
 *      place in the plan again.
 *   8. The free ranges are known only while there are guests or strays: they are worked out from
 *      the live blocks when one comes, and forgotten after a while without another.
 *   9. When no planned block lives, a request that differs begins the sequence again.
 *  10. The arena is one memory, asked for at the first slot that is served. Without a live block in
 *      it, trim gives it back, and so does a request that is refused. When the fallback was not
 *      needed from one round to the next, it is trimmed; each time, one round later than the last
 *      time.
 *  11. With else=own, where the source has virtual memory, the arena is a range of addresses as
 *      large as the device, and there is no fallback: what the plan has no place for lies above the
 *      plan's height. Chunks of 1/256 of the height, and of at least 2 MiB, are mapped as they are
 *      needed. Before the arena holds more than the plan's height and more than it ever held,
 *      chunks without a live block are unmapped, after a wait for all queues. For 12 of them it may
 *      hold one more, so that a program which goes its own way is not mapped anew for ever.
 *
 * Why: a program that repeats itself needs no allocator, only the places found once, and a planner
 * that sees all lifetimes comes close to the least memory. A wrong guess of which request it is
 * costs memory and never data. Source: static planners (STAlloc, openvm's VPMM, PyTorch's
 * CPUProfilingAllocator); rules 3 to 11 are gamut's, and say what those leave open.
 *
 * Queues: a block may be handed out while commands of its last owner still run. They come first,
 * because both are on one in-order queue: each queue has an instance of its own, with a sequence
 * and an arena of its own. The source's free makes released memory safe.
 *
 * Needs: alloc/planned/byte_ranges.c alloc/planned/offset_plan.c alloc/source.c base/arena.c
 * base/clock.c base/error.c base/sort.c base/text.c base/text_bytes.c base/treap.c
 */
#include "alloc/planned/planned.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/planned/byte_ranges.h"
#include "alloc/source_vm.h"
#include "alloc/tag_table.h"
#include "base/slab.h"

enum {
    /* The first three were chosen on one program of bench_planned, where they lose least. */
    EARLY =
        4, /* slots ahead that may be handed out early: more take the places of later requests */
    RUN_NEAR = 3, /* requests in a row that say that up to NEAR slots were left out */
    NEAR = 64,
    RUN_FAR = 8,
    LOST = 4, /* requests in a row without a slot that say that the plan does not have what comes */
    TAGS_TRIED = 16,  /* slots of one size that are looked at for one of the same tag */
    LEAD_MOST = 4096, /* requests after which a round is not exchanged for another one */
    /* Requests without a guest after which the free ranges are forgotten: an eighth of the slots,
     * so that looking at all slots costs a constant time a request, and at least these. */
    CALM_LEAST = 64,
    CALM_SHARE = 8,
    CHUNKS = 256,    /* that a plan's height is mapped in, or fewer */
    GAPS_TRIED = 64, /* for a guest, to find one that is mapped */
    CHUNK_LEAST = 2 << 20,
    DROPS = 12, /* chunks unmapped, after which the arena may hold one more: calls cost time */
};
/* Out of the way of the requests that are served from the plan. */
#define COLD     __attribute__((noinline))
#define NO_PLACE UINT32_MAX
#define NO_ROUND (-2)

/* A slot and its state: two in a line of the processor's cache. */
struct place {
    uint64_t key; /* its size; 0 if it has no offset */
    uint64_t offset;
    uint32_t
        end; /* the count of `due` that it is in while it lives and is not marked; if `carried`,
                   * counted from where those of the next round begin */
    uint32_t due;  /* the count that it is in */
    uint32_t pass; /* number of the pass in which it was last handed out */
    bool carried, has_tag, live;
    bool marked; /* it is live, and in `strays` or, while the arena is mapped, not in `gaps` */
};

struct guest {
    uint64_t offset, end;
    size_t index; /* in `guests` */
};

struct planned {
    struct place *at; /* the cursor's slot, or `nothing` at the end of a round */
    uint32_t *due;    /* how many unmarked live slots end at each time: see due_of */
    bool quick;       /* there is an arena, and it is not mapped */
    uint32_t cursor, pass;
    uint32_t round_begin, round_end;
    uint32_t due_in, due_out; /* where the counts of what the last round left begin, and of what
                               * this one leaves */
    uint32_t live_count;
    uint64_t arena, arena_bytes; /* 0: there is none; where it is a range, its addresses */
    uint64_t *chunks;            /* of a range: what is mapped at chunk_bytes * i; 0: nothing */
    unsigned chunk_capacity;
    uint64_t chunk_bytes, held_bytes, most_bytes; /* held: of the arena */
    uint64_t range_bytes, granularity;            /* of virtual memory; 0: the source has none */
    uint64_t drop_count;
    bool ends;                      /* what is left is given back without a wait if that fails */
    uint64_t low_count, low_mapped; /* chunks of the planned bytes, and how many are mapped */
    uint64_t unit;
    struct planned_counts counts;
    struct source *source;
    const struct offset_plan *plan;
    const struct plan_queue *queue; /* of this instance; NULL until its first request */
    struct place *places, nothing;
    const char **seen_tags;     /* by slot: the tag of the program that agreed with it last */
    struct plan_sized *by_size; /* the plan's slots; NULL until the first is asked for */
    int round, last_round;      /* -1: before the first one; last_round NO_ROUND: there was none */
    int *follows;               /* by round + 1: which one came after it, NO_ROUND: none yet */
    uint32_t longest;           /* slots of a round, or before the first one */
    uint32_t lead;              /* where the iteration began in the plan */
    bool has_marks;             /* there was one of the plan's */
    bool awaits_mark;      /* the program has marks, and there was none since the round began */
    bool leads;            /* all requests of this round were those of its slots */
    uint32_t matched, run; /* the slot found last out of order, and how many were in a row */
    uint32_t missed;       /* requests in a row that have no slot */
    bool is_lost;          /* so many that the plan does not have these requests */
    bool is_mapped;        /* `gaps` has the free ranges, and all live slots are marked */
    uint32_t calm;         /* requests since there was a reason for that */
    struct byte_ranges strays, gaps; /* of the arena; the free ranges are the gaps */
    struct slab spare_guests;
    struct guest **guests;
    size_t guest_count;
    unsigned guest_capacity;
    struct tag_table tags; /* of the program: their numbers in the plan, 0 if the plan lacks them */
    uint32_t refused_pass; /* the pass in which there was no memory for the arena */
    const struct allocator_ops *other; /* the fallback; NULL: the driver */
    void *other_state;
    uint32_t idle_rounds, patience; /* without a request to the fallback; until it is trimmed */
    uint64_t direct_bytes; /* without a fallback: memories that requests got of the driver */
};

/* ---- start ---- */

static const struct option_spec planned_options[] = {
    [PLANNED_TRACE] = {"trace", OPTION_TEXT, "", NULL, 0, 0,
                       "file of a trace, or of the plan that gamut trace plan made of it"},
    [PLANNED_ELSE] = {"else", OPTION_TEXT, "own", NULL, 0, 0,
                      "strategy for requests that the plan does not have; own: the arena grows "
                      "where the device maps memory, else caching"},
    {0},
};

static int planned_init(struct source *source, const struct option_values *options, void **state)
{
    const struct planned_given *given = options->given;
    TRY(source_requires_split(source, "planned"));
    if (!given)
        return error_set(&source->error, ERR_USAGE,
                         "planned serves from a plan, and its caller handed it none");
    struct planned *p = must_alloc(sizeof *p);
    *p = (struct planned){.source = source,
                          .plan = given->plan,
                          .other = given->other,
                          .pass = 1,
                          .round = -1,
                          .last_round = NO_ROUND,
                          .patience = 1,
                          .spare_guests.item_bytes = sizeof(struct guest)};
    p->unit = p->plan->unit;
    byte_ranges_open(&p->strays);
    byte_ranges_open(&p->gaps);
    struct driver_vm_info vm;
    if (given->maps && source_vm_info(source, &vm) == 0) {
        p->other = NULL;
        p->granularity = vm.granularity_bytes;
        p->range_bytes = vm.memory_bytes / 8 * 9;
    }
    int code = p->other ? p->other->init(source, &given->other_options, &p->other_state) : 0;
    if (code)
        free(p);
    else
        *state = p;
    return code;
}

static uint32_t rounds_begin(const struct planned *p)
{
    return plan_round_end(p->queue, -1);
}

/* A slot that ends with its round ends as the next one begins. */
static void make_places(struct planned *p)
{
    int round = -1;
    for (uint32_t i = 0; i < p->queue->count; i++) {
        const struct plan_slot *s = &p->queue->slots[i];
        while (i >= plan_round_end(p->queue, round))
            round++;
        const uint32_t round_end = plan_round_end(p->queue, round);
        const bool ends_round =
            p->queue->round_count && s->end != PLAN_FOREVER && s->end >= round_end;
        p->places[i] =
            (struct place){.key = s->offset == PLAN_NOT_PLANNED ? 0 : s->size,
                           .offset = s->offset,
                           .end = !s->carried && ends_round                ? 0
                                  : s->end < p->queue->count || s->carried ? s->end
                                                                           : p->queue->count,
                           .has_tag = s->tag != 0,
                           .carried = s->carried || ends_round};
    }
}

/* The counts of `due`: by time of the plan; those of blocks that are never freed; and twice by time
 * since a round began, for what the last round left to this one and this one will leave. */
static uint32_t due_base(const struct planned *p, uint32_t pass)
{
    return p->queue->count + 1 + (pass & 1) * (p->longest + 1);
}

static void set_round(struct planned *p, int round, uint32_t time)
{
    p->round = round;
    p->round_begin = round < 0 ? 0 : p->queue->rounds[round];
    p->round_end = plan_round_end(p->queue, round);
    p->due_in = due_base(p, p->pass);
    p->due_out = due_base(p, p->pass + 1);
    p->cursor = time;
    p->at = time < p->round_end ? &p->places[time] : &p->nothing;
}

/* The queue is known at the first request. */
static void open_queue(struct planned *p, unsigned queue)
{
    static const struct plan_queue none = {.turns = 1};
    p->queue = &none;
    for (unsigned i = 0; i < p->plan->queue_count; i++)
        if (p->plan->queues[i].queue == queue)
            p->queue = &p->plan->queues[i];
    const struct plan_queue *q = p->queue;
    p->longest = rounds_begin(p);
    for (int r = 0; r < (int)q->round_count; r++)
        if (plan_round_end(q, r) - q->rounds[r] > p->longest)
            p->longest = plan_round_end(q, r) - q->rounds[r];
    p->places = must_alloc((q->count + (size_t)1) * sizeof *p->places);
    p->seen_tags = must_alloc((q->count + (size_t)1) * sizeof *p->seen_tags);
    p->due = must_alloc((due_base(p, 1) + (size_t)p->longest + 1) * sizeof *p->due);
    p->follows = must_alloc((q->round_count + (size_t)1) * sizeof *p->follows);
    for (unsigned r = 0; r <= q->round_count; r++)
        p->follows[r] = NO_ROUND;
    make_places(p);
    set_round(p, -1, 0);
}

/* ---- tags ---- */

/* The number of a request's tag in the plan; 0: it is not known there. */
static uint32_t tag_of(struct planned *p, const char *tag)
{
    if (!tag || p->plan->tag_count <= 1)
        return 0;
    struct tag_cell *cell = tag_table_find(&p->tags, tag);
    if (cell)
        return cell->value;
    cell = tag_table_add(&p->tags, tag);
    for (uint32_t i = 1; i < p->plan->tag_count && !cell->value && *tag; i++)
        if (strcmp(p->plan->tags[i], tag) == 0)
            cell->value = i;
    return cell->value;
}

/* The tag of a slot; 0: unknown. */
static uint32_t tag_at(const struct planned *p, const struct place *place)
{
    return place->has_tag ? p->queue->slots[place - p->places].tag : 0;
}

static bool agree(const struct planned *p, uint32_t tag, const struct place *place)
{
    const uint32_t own = tag_at(p, place);
    return tag == own || !tag || !own;
}

/* 0 at the end of a round. */
static uint64_t size_of(const struct planned *p, const struct place *place)
{
    return place == &p->nothing ? 0 : p->queue->slots[place - p->places].size;
}

/* The plan's slots of a size from a time on, as plan_sized_from has them. A program that does as
 * recorded needs no slots by size. */
static const struct plan_sized *slots_of(struct planned *p, uint64_t size, uint32_t time)
{
    if (!p->by_size)
        p->by_size = plan_sort_by_size(p->queue);
    return plan_sized_from(p->by_size, p->queue->count, size, time);
}

/* ---- ranges of the arena ---- */

/* Ranges begin and end at multiples of the unit. */
static uint64_t round_up(const struct planned *p, uint64_t bytes)
{
    return (bytes + p->unit - 1) & ~(p->unit - 1);
}

static uint64_t end_of(const struct planned *p, const struct place *place)
{
    return place->offset + round_up(p, place->key);
}

COLD static bool is_stray(const struct planned *p, const struct place *place)
{
    return byte_ranges_touch(&p->strays, place->offset, end_of(p, place));
}

static void set_quick(struct planned *p)
{
    p->quick = p->arena && !p->is_mapped && p->low_mapped == p->low_count;
}

static void forget_ranges(struct planned *p)
{
    byte_ranges_clear(&p->strays);
    byte_ranges_clear(&p->gaps);
    p->is_mapped = false;
    set_quick(p);
}

/* Whether the bytes of a slot are free: those of a marked block are not. */
static bool is_free(const struct planned *p, const struct place *place)
{
    return p->is_mapped ? byte_ranges_have(&p->gaps, place->offset, end_of(p, place))
                        : !is_stray(p, place);
}

/* Works out the free ranges, and marks all live slots. */
static void map_arena(struct planned *p)
{
    if (p->is_mapped || !p->arena)
        return;
    forget_ranges(p);
    p->is_mapped = true;
    set_quick(p);
    p->calm = 0;
    byte_ranges_add(&p->gaps, 0, p->arena_bytes);
    for (uint32_t i = 0; i < p->queue->count; i++) {
        struct place *place = &p->places[i];
        if (!place->live)
            continue;
        p->due[place->due] -= !place->marked;
        place->marked = true;
        byte_ranges_remove(&p->gaps, place->offset, end_of(p, place));
    }
    for (size_t i = 0; i < p->guest_count; i++) {
        const struct guest *g = p->guests[i];
        byte_ranges_remove(&p->gaps, g->offset, g->end);
    }
}

/* ---- the arena as a range ---- */

static int drop_chunk(struct planned *p, uint64_t i)
{
    int code = source_vm_unmap(p->source, p->arena, i * p->chunk_bytes, p->chunk_bytes);
    ALSO(code, source_vm_release(p->source, p->chunks[i], p->chunk_bytes));
    p->chunks[i] = 0;
    p->held_bytes -= p->chunk_bytes;
    p->low_mapped -= i < p->low_count;
    return code;
}

/* Unmaps chunks without a live block from `from` on, the highest first, until there were `most`,
 * but for those of [begin, end). */
static int drop_chunks(struct planned *p, uint64_t from, uint64_t begin, uint64_t end,
                       uint64_t most)
{
    const uint64_t bytes = p->chunk_bytes;
    uint64_t count = 0;
    int code = 0;
    map_arena(p);
    for (uint64_t i = p->chunk_capacity; i-- > from / bytes && count < most;) {
        if (!p->chunks[i] || !byte_ranges_have(&p->gaps, i * bytes, (i + 1) * bytes) ||
            (i * bytes < end && begin < (i + 1) * bytes))
            continue;
        if (!count++)
            code = source_sync(p->source);
        if (code && count == 1 && !p->ends)
            return code;
        ALSO(code, drop_chunk(p, i));
        if (++p->drop_count % DROPS == 0)
            p->most_bytes += bytes;
    }
    return code;
}

/* Maps a chunk, which may be used after source_vm_access. */
static int map_chunk(struct planned *p, uint64_t i)
{
    const uint64_t bytes = p->chunk_bytes;
    uint64_t chunk;
    TRY(source_vm_create(p->source, bytes, &chunk));
    int code = source_vm_map(p->source, p->arena, i * bytes, chunk, bytes);
    if (code) {
        source_vm_release(p->source, chunk, bytes);
        return code;
    }
    p->chunks[i] = chunk;
    p->held_bytes += bytes;
    p->low_mapped += i < p->low_count;
    return 0;
}

/* The chunks of [begin, end) that are not mapped. */
static uint64_t missing_of(const struct planned *p, uint64_t begin, uint64_t end)
{
    uint64_t missing = 0;
    for (uint64_t i = begin / p->chunk_bytes; i * p->chunk_bytes < end; i++)
        missing += i >= p->chunk_capacity || !p->chunks[i];
    return missing;
}

/* Maps what is not mapped of [begin, end). What the arena would hold beyond the most that it held,
 * or that the plan needs, it takes from chunks without a live block first. */
static int map_bytes(struct planned *p, uint64_t begin, uint64_t end)
{
    const uint64_t missing = p->chunk_bytes ? missing_of(p, begin, end) : 0;
    if (!missing)
        return 0;
    const uint64_t bytes = p->chunk_bytes, first = begin / bytes, last = (end - 1) / bytes;
    int code = 0;
    p->chunks = must_reach(p->chunks, last, &p->chunk_capacity, sizeof *p->chunks);
    const uint64_t after = p->held_bytes + missing * bytes;
    if (after > p->most_bytes)
        TRY(drop_chunks(p, 0, begin, end, (after - p->most_bytes) / bytes));
    for (uint64_t i = first; i <= last && !code; i++) {
        code = p->chunks[i] ? 0 : map_chunk(p, i);
        if (code == ERR_OOM) {
            TRY(drop_chunks(p, 0, begin, end, UINT64_MAX));
            code = map_chunk(p, i);
        }
    }
    THEN(code, source_vm_access(p->source, p->arena, first * bytes, (last + 1 - first) * bytes));
    if (code)
        drop_chunks(p, 0, 0, 0, UINT64_MAX);
    p->most_bytes = p->held_bytes > p->most_bytes ? p->held_bytes : p->most_bytes;
    set_quick(p);
    return code;
}

/* ---- the cursor ---- */

/* Does the last round leave the block of this slot to the cursor's time? */
static bool is_left(const struct planned *p, const struct place *place, int round)
{
    return place->carried && round == p->last_round && place->end >= p->cursor - p->round_begin;
}

/* Whether the plan has the block of a live slot at the cursor's time; `round`: the slot's. */
static bool is_due_later(const struct planned *p, uint32_t i, int round)
{
    const struct place *place = &p->places[i];
    if (p->queue->slots[i].end == PLAN_FOREVER)
        return i < p->cursor;
    if (round == p->round && i < p->cursor)
        return place->carried || place->end >= p->cursor;
    return is_left(p, place, round) && (round != p->round || place->pass != p->pass);
}

static inline void set_due(struct planned *p, struct place *place, uint32_t due)
{
    place->due = due;
    p->due[due]++;
}

/* The end of a slot of this round. */
static inline uint32_t due_of(const struct planned *p, const struct place *place)
{
    return place->end + (p->due_out & (0u - place->carried));
}

/* Forgets the free ranges. Live slots that the plan has at this time are marked no longer. */
static void unmap_arena(struct planned *p)
{
    int round = -1;
    forget_ranges(p);
    for (uint32_t i = 0; i < p->queue->count; i++) {
        struct place *place = &p->places[i];
        while (i >= plan_round_end(p->queue, round))
            round++;
        if (!place->live)
            continue;
        place->marked = !is_due_later(p, i, round);
        if (place->marked)
            byte_ranges_add(&p->strays, place->offset, end_of(p, place));
        else if (round == p->round && i < p->cursor)
            set_due(p, place, due_of(p, place));
        else
            set_due(p, place, place->carried ? p->due_in + place->end : p->queue->count);
    }
    for (size_t i = 0; i < p->guest_count; i++)
        byte_ranges_add(&p->strays, p->guests[i]->offset, p->guests[i]->end);
}

/* Whether a block lives that should have been freed by the cursor's time. */
static inline bool is_late(const struct planned *p)
{
    return p->due[p->cursor] || p->due[p->due_in + (p->cursor - p->round_begin)];
}

static inline bool is_served(const struct planned *p, uint32_t i)
{
    return p->places[i].pass == p->pass;
}

/* Moves the cursor past those slots that were handed out early. */
COLD static void pass_served(struct planned *p)
{
    while (p->cursor < p->round_end && is_served(p, p->cursor)) {
        if (is_late(p))
            map_arena(p);
        p->cursor++;
    }
    p->at = p->cursor < p->round_end ? &p->places[p->cursor] : &p->nothing;
}

static inline void step(struct planned *p)
{
    p->cursor++;
    p->at++;
    if (p->cursor == p->round_end || p->at->pass == p->pass)
        pass_served(p);
}

/* Moves the cursor ahead in its round, or to its end. */
static void skip_to(struct planned *p, uint32_t time)
{
    map_arena(p);
    p->counts.jump_count++;
    p->run = 0;
    p->leads = false;
    p->cursor = time;
    p->at = time < p->round_end ? &p->places[time] : &p->nothing;
}

/* Takes the sequence up at another time, in a new pass. */
static void jump(struct planned *p, uint32_t time)
{
    int round = -1;
    map_arena(p);
    while (time >= plan_round_end(p->queue, round))
        round++;
    if (round != p->round)
        p->last_round = p->round;
    p->pass++;
    p->counts.jump_count++;
    p->run = 0;
    p->leads = false;
    set_round(p, round, time);
}

/* ---- rounds ---- */

static int trim_other(struct planned *p)
{
    if (p->chunks)
        return drop_chunks(p, p->low_count * p->chunk_bytes, 0, 0, UINT64_MAX);
    return p->other ? p->other->trim(p->other_state) : 0;
}

static void enter_round(struct planned *p, int round)
{
    uint32_t late = 0;
    for (uint32_t t = 0; t <= p->longest; t++)
        late += p->due[p->due_in + t]; /* these counts are for what this round will leave */
    if (late)
        map_arena(p);
    p->pass++;
    p->last_round = p->round;
    p->follows[p->round + 1] = round;
    p->leads = true;
    p->awaits_mark = p->has_marks;
    p->lead = p->queue->rounds[round];
    set_round(p, round, p->lead);
}

/* Chooses the round that begins with a request. */
static bool choose_round(struct planned *p, uint64_t size, uint32_t tag)
{
    const struct plan_queue *q = p->queue;
    const unsigned turn = p->round < 0 ? 0 : (unsigned)(p->round + 1) % q->turns;
    const int usual = p->follows[p->round + 1];
    int found = NO_ROUND;
    for (int r = (int)turn; r < (int)q->round_count; r += (int)q->turns) {
        const struct place *first = &p->places[q->rounds[r]];
        if (size_of(p, first) == size && agree(p, tag, first) && (found == NO_ROUND || r == usual))
            found = r;
    }
    /* A size that the plan does not have may be that of a slot which has changed. */
    if (found == NO_ROUND && turn < q->round_count && slots_of(p, size, 0)->size != size)
        found = usual == NO_ROUND ? (int)turn : usual;
    if (found == NO_ROUND)
        return false;
    enter_round(p, found);
    return true;
}

static bool has_same_lead(const struct planned *p, uint32_t begin, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct place *a = &p->places[p->lead + i], *b = &p->places[begin + i];
        if (size_of(p, a) != size_of(p, b) || tag_at(p, a) != tag_at(p, b))
            return false;
    }
    return true;
}

/* Exchanges the round, or the first iteration, for a round that begins with the same requests and
 * goes on with this one. */
static bool exchange_round(struct planned *p, uint64_t size, uint32_t tag)
{
    const struct plan_queue *q = p->queue;
    const uint32_t count = p->cursor - p->lead;
    if (!p->leads || count > LEAD_MOST)
        return false;
    for (int r = p->round < 0 ? 0 : p->round % (int)q->turns; r < (int)q->round_count;
         r += (int)q->turns) {
        const uint32_t begin = q->rounds[r], i = begin + count;
        if (r == p->round || i >= plan_round_end(q, r) || size_of(p, &p->places[i]) != size ||
            !agree(p, tag, &p->places[i]) || !has_same_lead(p, begin, count))
            continue;
        map_arena(p);
        if (p->round < 0) {
            p->last_round = p->round;
            p->pass++;
        }
        p->follows[p->last_round + 1] = r;
        set_round(p, r, i);
        p->lead = begin;
        p->awaits_mark = p->has_marks;
        return true;
    }
    return false;
}

/* ---- requests out of order ---- */

static bool overlap(const struct place *a, const struct place *b)
{
    return a->key && b->key && a->offset < b->offset + b->key && b->offset < a->offset + a->key;
}

/* Whether a slot ahead can be handed out now: no live block has its bytes, and no slot before it
 * still needs them. */
static bool is_ready(struct planned *p, uint32_t i)
{
    const struct place *place = &p->places[i];
    if (!place->key)
        return true;
    if (place->live)
        return false;
    map_arena(p);
    if (p->arena && !byte_ranges_have(&p->gaps, place->offset, end_of(p, place)))
        return false;
    for (uint32_t t = p->cursor; t < i; t++)
        if (!is_served(p, t) && overlap(place, &p->places[t]))
            return false;
    return true;
}

/* The next slot of a size and tag that was not served in this pass. */
static uint32_t next_of(struct planned *p, uint64_t size, uint32_t tag)
{
    unsigned tried = 0;
    for (const struct plan_sized *s = slots_of(p, size, p->cursor);
         s->size == size && tried < TAGS_TRIED; s++) {
        if (is_served(p, s->time))
            continue;
        if (agree(p, tag, &p->places[s->time]))
            return s->time;
        tried++;
    }
    return NO_PLACE;
}

/* A slot that is never freed and has no block: what a round does not have may be what the first
 * iteration has. */
static uint32_t resident_of(struct planned *p, uint64_t size, uint32_t tag)
{
    if (p->round < 0 || p->is_lost)
        return NO_PLACE;
    for (const struct plan_sized *s = slots_of(p, size, 0);
         s->size == size && s->time < rounds_begin(p); s++) {
        const struct place *place = &p->places[s->time];
        if (place->key && !place->live && p->queue->slots[s->time].end == PLAN_FOREVER &&
            agree(p, tag, place) && is_free(p, place))
            return s->time;
    }
    return NO_PLACE;
}

static void note_match(struct planned *p, uint32_t i)
{
    p->run = i == p->matched + 1 ? p->run + 1 : 1;
    p->matched = i;
}

/* The next place of a request in the plan: after the one found last, or the next one of its size,
 * or the first in the rounds. */
static uint32_t next_match(struct planned *p, uint64_t size, uint32_t tag)
{
    const uint32_t follows = p->matched + 1;
    if (follows < p->queue->count && size_of(p, &p->places[follows]) == size &&
        !is_served(p, follows) && agree(p, tag, &p->places[follows]))
        return follows;
    const uint32_t i = next_of(p, size, tag);
    if (i != NO_PLACE)
        return i;
    const struct plan_sized *first = slots_of(p, size, rounds_begin(p));
    return first->size == size && first->time < p->cursor && agree(p, tag, &p->places[first->time])
               ? first->time
               : NO_PLACE;
}

/* Whether a slot may be near because the cursor is at the end of a round, and the next one
 * begins. */
static bool begins_round(const struct planned *p, uint32_t i)
{
    for (unsigned r = 0; r < p->queue->round_count && p->at == &p->nothing; r++)
        if (i >= p->queue->rounds[r] && i - p->queue->rounds[r] <= NEAR)
            return true;
    return false;
}

/* The slot for a request that is not the one at the cursor; NO_PLACE: none. */
static uint32_t find_place(struct planned *p, uint64_t size, uint32_t tag)
{
    const struct place *at = p->at;
    if (!p->live_count && p->queue->count && size_of(p, &p->places[0]) == size &&
        agree(p, tag, &p->places[0])) {
        jump(p, 0);
        return 0;
    }
    if (slots_of(p, size, 0)->size != size)
        return !p->is_lost && size_of(p, at) > size && size_of(p, at) / 2 <= size &&
                       agree(p, tag, at)
                   ? p->cursor
                   : NO_PLACE;
    const uint32_t i = next_match(p, size, tag);
    const bool is_ahead = i != NO_PLACE && i >= p->cursor && i < p->round_end;
    const bool is_near = is_ahead ? i - p->cursor <= NEAR : begins_round(p, i);
    if (i != NO_PLACE)
        note_match(p, i);
    if (i != NO_PLACE && p->run >= (is_near ? RUN_NEAR : RUN_FAR)) {
        p->is_lost = false;
        if (is_ahead)
            skip_to(p, i);
        else
            jump(p, i);
        return i;
    }
    const uint32_t resident = resident_of(p, size, tag);
    if (resident != NO_PLACE)
        return resident;
    return !p->is_lost && is_ahead && i - p->cursor <= EARLY && is_ready(p, i) ? i : NO_PLACE;
}

/* ---- requests ---- */

static int release_arena(struct planned *p)
{
    const uint64_t arena = p->arena, bytes = p->arena_bytes;
    int code = 0;
    if (!arena || p->live_count || p->guest_count)
        return 0;
    if (p->chunk_bytes)
        code = drop_chunks(p, 0, 0, 0, UINT64_MAX);
    if (p->chunk_bytes && p->held_bytes) /* there could be no wait */
        return code;
    p->arena = p->arena_bytes = p->held_bytes = 0;
    forget_ranges(p);
    ALSO(code, p->chunk_bytes ? source_vm_unreserve(p->source, arena, bytes)
                              : source_free(p->source, arena, bytes));
    return code;
}

static int make_arena(struct planned *p)
{
    if (p->refused_pass == p->pass)
        return ERR_OOM;
    const uint64_t bytes = round_up(p, p->queue->height);
    if (p->range_bytes) {
        const uint64_t least = bytes / CHUNKS > CHUNK_LEAST ? bytes / CHUNKS : CHUNK_LEAST,
                       unit = CHUNK_LEAST > p->granularity ? CHUNK_LEAST : p->granularity;
        p->chunk_bytes = (least + unit - 1) / unit * unit;
        p->low_count = (bytes + p->chunk_bytes - 1) / p->chunk_bytes;
        p->most_bytes = p->low_count * p->chunk_bytes;
        const uint64_t addresses = p->range_bytes / p->chunk_bytes * p->chunk_bytes + p->most_bytes;
        TRY(source_vm_reserve(p->source, addresses, &p->arena));
        p->arena_bytes = addresses;
        set_quick(p);
        return 0;
    }
    int code = source_alloc(p->source, bytes, SOURCE_LAZY, &p->arena);
    if (code == ERR_OOM) {
        const uint64_t held = p->source->counts.reserved_bytes;
        TRY(trim_other(p));
        if (p->source->counts.reserved_bytes < held)
            code = source_alloc(p->source, bytes, SOURCE_LAZY, &p->arena);
    }
    if (code == ERR_OOM)
        p->refused_pass = p->pass;
    if (!code)
        p->arena_bytes = p->held_bytes = bytes;
    else
        p->arena = 0;
    set_quick(p);
    return code;
}

static int ask_other(struct planned *p, const struct alloc_request *request, struct block *block)
{
    p->idle_rounds = 0;
    if (p->other)
        return p->other->alloc(p->other_state, request, block);
    *block = (struct block){.size = request->size};
    TRY(source_alloc(p->source, request->size, SOURCE_LAZY, &block->memory));
    p->direct_bytes += request->size;
    return 0;
}

/* Serves a request from elsewhere. The arena makes room for it if no block lives in it. */
static int serve_other(struct planned *p, const struct alloc_request *request, struct block *block)
{
    int code = ask_other(p, request, block);
    if (code == ERR_OOM && p->arena && !p->live_count && !p->guest_count) {
        TRY(release_arena(p));
        code = ask_other(p, request, block);
    }
    return code;
}

/* The place of a guest in a gap: its end, but the beginning of the addresses above all blocks. */
static uint64_t place_in(const struct planned *p, const struct byte_range *gap, uint64_t bytes,
                         uint64_t from, uint64_t alignment)
{
    uint64_t at = (gap->end - bytes) & ~(alignment - 1);
    if (p->chunk_bytes && gap->end == p->arena_bytes) {
        at = gap->begin > from ? gap->begin : from;
        at = (at + alignment - 1) & ~(alignment - 1);
    }
    return at < gap->begin || at < from || at + bytes > gap->end ? UINT64_MAX : at;
}

/* A place from `from` on that is free and, of the first few, mapped; UINT64_MAX: there is none. */
static uint64_t guest_place(const struct planned *p, uint64_t bytes, uint64_t from,
                            uint64_t alignment)
{
    uint64_t best = UINT64_MAX, least = UINT64_MAX;
    unsigned tried = 0;
    for (const struct byte_range *gap = byte_ranges_best(&p->gaps, bytes);
         gap && tried < GAPS_TRIED; gap = byte_ranges_next(&p->gaps, gap), tried++) {
        const uint64_t at = place_in(p, gap, bytes, from, alignment);
        if (at == UINT64_MAX)
            continue;
        const uint64_t missing = p->chunk_bytes ? missing_of(p, at, at + bytes) : 0;
        if (missing < least) {
            best = at;
            least = missing;
        }
        if (!missing)
            break;
    }
    return best;
}

/* Serves a request that has no slot, from `from` on. */
static int serve_guest(struct planned *p, const struct alloc_request *request, uint64_t from,
                       struct block *block)
{
    if (p->range_bytes && !p->arena)
        TRY(make_arena(p));
    map_arena(p);
    p->calm = 0;
    const uint64_t bytes = round_up(p, request->size),
                   at = p->arena ? guest_place(p, bytes, from, request->alignment) : UINT64_MAX;
    if (at == UINT64_MAX)
        return serve_other(p, request, block);
    TRY(map_bytes(p, at, at + bytes));
    struct guest *g = slab_take(&p->spare_guests);
    *g = (struct guest){at, at + bytes, p->guest_count};
    byte_ranges_remove(&p->gaps, g->offset, g->end);
    p->guests = must_grow(p->guests, p->guest_count, &p->guest_capacity, sizeof(struct guest *));
    p->guests[p->guest_count++] = g;
    p->counts.guest_count++;
    p->counts.guest_bytes += request->size;
    *block =
        (struct block){.memory = p->arena, .offset = g->offset, .size = request->size, .node = g};
    return 0;
}

/* Frees the bytes of a guest or of a marked slot. */
static void free_bytes(struct planned *p, uint64_t offset, uint64_t end)
{
    if (p->is_mapped)
        byte_ranges_add(&p->gaps, offset, end);
    else
        byte_ranges_remove(&p->strays, offset, end);
}

COLD static void free_guest(struct planned *p, struct guest *g)
{
    free_bytes(p, g->offset, g->end);
    p->guests[g->index] = p->guests[--p->guest_count];
    p->guests[g->index]->index = g->index;
    slab_give(&p->spare_guests, g);
}

#define COUNT(p, name, bytes)                                                                      \
    ((void)(p)->counts.name##_count++, (void)((p)->counts.name##_bytes += (bytes)))

/* A slot that is not handed out: why not. It counts as served, so the cursor passes it. */
static int serve_unplanned(struct planned *p, struct place *place, int code,
                           const struct alloc_request *request, struct block *block)
{
    if (code && code != ERR_OOM)
        return code;
    if (place->key && !code) {
        COUNT(p, busy, request->size);
        return serve_guest(p, request, 0, block);
    }
    if (code)
        COUNT(p, no_arena, request->size);
    else
        COUNT(p, left_out, request->size);
    if (p->range_bytes)
        return serve_guest(p, request, round_up(p, p->queue->height), block);
    return serve_other(p, request, block);
}

static inline void hand_out(struct planned *p, struct place *place, uint64_t requested,
                            struct block *block)
{
    place->live = true;
    p->live_count++;
    COUNT(p, hit, requested);
    *block = (struct block){
        .memory = p->arena, .offset = place->offset, .size = place->key, .node = place};
}

/* Hands a slot out if its bytes are free, else serves the request from elsewhere. `passes`: it is
 * the request of the cursor's slot. */
static int serve_place(struct planned *p, uint32_t i, bool passes,
                       const struct alloc_request *request, struct block *block)
{
    struct place *place = &p->places[i];
    if (p->at != &p->nothing && is_late(p))
        map_arena(p);
    const bool fits = place->key && !place->live &&
                      (place->offset & (request->alignment - 1)) == 0 && is_free(p, place);
    int code = fits && !p->arena ? make_arena(p) : 0;
    if (fits && !code)
        code = map_bytes(p, place->offset, end_of(p, place));
    const bool serves = fits && !code;
    if (i > p->cursor)
        map_arena(p); /* it is handed out early, from a new arena */
    (passes ? p->at : place)->pass = p->pass;
    if (serves) {
        hand_out(p, place, request->size, block);
        place->marked = p->is_mapped;
        if (!p->is_mapped)
            set_due(p, place, due_of(p, place));
        else
            byte_ranges_remove(&p->gaps, place->offset, end_of(p, place));
    }
    if (passes)
        step(p);
    if (!serves)
        return serve_unplanned(p, place, code, request, block);
    const uint32_t share = p->queue->count / CALM_SHARE;
    p->missed = 0;
    if (p->is_mapped && !p->is_lost && ++p->calm >= (share > CALM_LEAST ? share : CALM_LEAST))
        unmap_arena(p);
    return 0;
}

/* At the end of a round. */
static int begin_round(struct planned *p, uint64_t size, uint32_t tag)
{
    if (!p->queue->round_count || !choose_round(p, size, tag) || ++p->idle_rounds <= p->patience)
        return 0;
    p->idle_rounds = 0;
    if (p->chunk_bytes ? p->held_bytes <= p->low_mapped * p->chunk_bytes
                       : !p->other || !p->other->reserved(p->other_state))
        return 0;
    p->patience++;
    return trim_other(p);
}

/* Any request: the quick way is in planned_alloc. */
COLD static int serve_request(struct planned *p, const struct alloc_request *request,
                              struct block *block)
{
    if (!p->queue)
        open_queue(p, request->queue);
    const uint32_t tag = tag_of(p, request->tag);
    if (p->at == &p->nothing && !p->is_lost && !p->awaits_mark)
        TRY(begin_round(p, request->size, tag));
    bool is_next = size_of(p, p->at) == request->size && agree(p, tag, p->at);
    if (!is_next && p->at != &p->nothing)
        is_next = exchange_round(p, request->size, tag);
    is_next = is_next && !p->is_lost;
    if (is_next)
        p->seen_tags[p->cursor] = request->tag;
    else if (p->cursor != p->lead)
        p->leads = false;
    const uint32_t i = is_next ? p->cursor : find_place(p, request->size, tag);
    if (i != NO_PLACE)
        return serve_place(p, i, is_next || i == p->cursor, request, block);
    if (tag && tag_at(p, p->at) == tag && size_of(p, p->at) < request->size) {
        /* By its tag it is the slot's request. */
        COUNT(p, larger, request->size);
        if (is_late(p))
            map_arena(p);
        p->at->pass = p->pass;
        step(p);
    } else {
        COUNT(p, inserted, request->size);
        p->is_lost = p->is_lost || ++p->missed >= LOST;
    }
    return serve_guest(p, request, 0, block);
}

static int planned_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct planned *p = state;
    struct place *at = p->at;
    if (!p->quick || at->key != request->size ||
        (at->has_tag && p->seen_tags[p->cursor] != request->tag) || at->live ||
        request->alignment > p->unit || is_late(p) || (p->strays.bytes && is_stray(p, at)))
        return serve_request(p, request, block);
    at->pass = p->pass;
    hand_out(p, at, request->size, block);
    set_due(p, at, due_of(p, at));
    step(p);
    return 0;
}

COLD static void free_marked(struct planned *p, struct place *place)
{
    free_bytes(p, place->offset, end_of(p, place));
    place->marked = false;
}

COLD static int free_elsewhere(struct planned *p, const struct block *block, const char *tag)
{
    if (p->other)
        return p->other->free(p->other_state, block, tag);
    p->direct_bytes -= block->size;
    return source_free(p->source, block->memory, block->size);
}

static int planned_free(void *state, const struct block *block, const char *tag)
{
    struct planned *p = state;
    struct place *place = block->node;
    if (!p->arena || block->memory != p->arena)
        return free_elsewhere(p, block, tag);
    if (place < p->places || place >= p->places + p->queue->count) {
        free_guest(p, block->node);
        return 0;
    }
    place->live = false;
    p->live_count--;
    if (place->marked)
        free_marked(p, place);
    else
        p->due[place->due]--;
    return 0;
}

static void move_to_mark(struct planned *p, uint32_t time)
{
    if (time == p->round_end || (time == p->round_begin && p->round >= 0))
        skip_to(p, p->round_end); /* the next request chooses a round */
    else
        jump(p, time);
}

static void planned_mark(void *state, const char *name)
{
    struct planned *p = state;
    char mark[128];
    if (!p->queue || !p->queue->mark_count || !*p->plan->mark)
        return;
    plan_mark_name(mark, name);
    if (strcmp(mark, p->plan->mark) != 0)
        return;
    p->is_lost = p->awaits_mark = false;
    p->has_marks = true;
    p->missed = 0;
    const uint32_t time = plan_nearest_mark(p->queue, p->round_begin, p->round_end, p->cursor);
    if (time != p->cursor)
        move_to_mark(p, time);
    if (p->round < 0) {
        p->lead = p->cursor;
        p->leads = true;
    }
}

static int planned_trim(void *state)
{
    struct planned *p = state;
    int first_failure = trim_other(p);
    int code = release_arena(p);
    p->refused_pass = 0;
    return first_failure ? first_failure : code;
}

/* ---- checks ---- */

/* Adds a live block in the arena to `live`: no other one may have its bytes, and no gap. */
static unsigned check_block(const struct planned *p, struct byte_ranges *live, uint64_t begin,
                            uint64_t end)
{
    if (end > p->arena_bytes || byte_ranges_touch(live, begin, end))
        return 1;
    byte_ranges_add(live, begin, end);
    return byte_ranges_touch(&p->gaps, begin, end);
}

/* The gaps have all bytes of the arena without a live block while it is mapped; else the strays
 * have those of marked blocks, here `marked_bytes`. */
static unsigned check_ranges(const struct planned *p, uint64_t live_bytes, uint64_t marked_bytes)
{
    unsigned broken = byte_ranges_check(&p->gaps) + byte_ranges_check(&p->strays);
    broken += p->gaps.bytes != (p->is_mapped ? p->arena_bytes - live_bytes : 0);
    return broken + (p->strays.bytes != (p->is_mapped ? 0 : marked_bytes));
}

/* A live slot that is not marked is live in the plan, too, and is counted where it ends. */
static unsigned check_places(const struct planned *p)
{
    struct byte_ranges live;
    uint64_t due = 0, due_count = 0, marked_bytes = 0;
    unsigned broken = 0;
    uint32_t count = 0;
    int round = -1;
    byte_ranges_open(&live);
    for (uint32_t i = 0; i < p->queue->count; i++) {
        const struct place *place = &p->places[i];
        while (i >= plan_round_end(p->queue, round))
            round++;
        broken += place->marked && !place->live;
        if (!place->live)
            continue;
        count++;
        broken += check_block(p, &live, place->offset, end_of(p, place));
        if (place->marked) {
            marked_bytes += end_of(p, place) - place->offset;
            continue;
        }
        due_count++;
        broken += p->is_mapped || !is_due_later(p, i, round);
        broken += !p->due[place->due];
    }
    broken += count != p->live_count;
    for (uint32_t i = 0; i < due_base(p, 1) + p->longest + 1; i++)
        due += p->due[i];
    broken += due != due_count;
    for (size_t i = 0; i < p->guest_count; i++) {
        const struct guest *g = p->guests[i];
        broken += g->index != i;
        broken += check_block(p, &live, g->offset, g->end);
        marked_bytes += g->end - g->offset;
    }
    broken += check_ranges(p, live.bytes, marked_bytes);
    byte_ranges_clear(&live);
    return broken;
}

static unsigned planned_check(const void *state)
{
    const struct planned *p = state;
    unsigned broken = p->other ? p->other->check(p->other_state) : 0;
    broken += (p->arena == 0) != (p->arena_bytes == 0);
    broken += !p->arena && (p->live_count || p->guest_count || p->is_mapped);
    broken += p->quick != (p->arena && !p->is_mapped && p->low_mapped == p->low_count);
    if (!p->queue)
        return broken;
    broken += p->cursor > p->round_end;
    broken += p->at != (p->cursor < p->round_end ? &p->places[p->cursor] : &p->nothing);
    broken += p->cursor < p->round_end && is_served(p, p->cursor);
    return broken + check_places(p);
}

static uint64_t planned_reserved(const void *state)
{
    const struct planned *p = state;
    return p->held_bytes + (p->other ? p->other->reserved(p->other_state) : p->direct_bytes);
}

static void planned_fini(void *state)
{
    struct planned *p = state;
    p->live_count = 0;
    p->guest_count = 0;
    p->ends = true;
    release_arena(p);
    if (p->other)
        p->other->fini(p->other_state);
    forget_ranges(p);
    slab_free(&p->spare_guests);
    free(p->guests);
    free(p->chunks);
    free(p->places);
    free(p->seen_tags);
    free(p->by_size);
    free(p->due);
    free(p->follows);
    tag_table_free(&p->tags);
    free(p);
}

uint64_t planned_digest(const struct allocator_ops *ops, const struct option_values *options)
{
    const struct planned_given *given = options->given;
    return ops == &allocator_planned && given ? given->plan->digest : 0;
}

const struct allocator_ops *planned_apart(const struct allocator_ops *ops,
                                          const struct option_values *options,
                                          struct option_values *values)
{
    const struct planned_given *given = options->given;
    const bool has_other = ops == &allocator_planned && given && given->other;
    *values = has_other ? given->other_options : *options;
    return has_other ? given->other : ops;
}

void planned_count(const void *state, struct planned_counts *counts)
{
    const struct planned *p = state;
#define X(name, help)                                                                              \
    counts->name##_count += p->counts.name##_count;                                                \
    counts->name##_bytes += p->counts.name##_bytes;
    PLANNED_LIST(X)
#undef X
    counts->guest_count += p->counts.guest_count;
    counts->guest_bytes += p->counts.guest_bytes;
    counts->jump_count += p->counts.jump_count;
    const uint64_t arena = p->chunk_bytes ? p->low_mapped * p->chunk_bytes : p->held_bytes;
    counts->arena_bytes += arena;
    counts->fallback_bytes += planned_reserved(p) - arena;
}

static const struct allocator_origin planned_origins[] = {
    {.what = "gamut's own design: rules 3 to 11"},
    {"STAlloc: planning from a profiled run, arXiv 2507.16274", NULL, NULL, NULL, 2025},
    {"openvm's static planner: recording and replaying allocations, pull request 377",
     "openvm-org/stark-backend", NULL, NULL, 2026},
    {.what = "PyTorch's CPUProfilingAllocator",
     .repository = "pytorch/pytorch",
     .file = "c10/mobile/CPUProfilingAllocator.cpp"},
    {0},
};

const struct allocator_ops allocator_planned = {
    .version = ALLOCATOR_API_VERSION,
    .name = "planned",
    .summary = "offsets planned from a recording, served in its order without searching",
    .origins = planned_origins,
    .options = planned_options,
    .serves_plan = true,
    .queues = QUEUES_APART,
    .init = planned_init,
    .alloc = planned_alloc,
    .free = planned_free,
    .mark = planned_mark,
    .trim = planned_trim,
    .check = planned_check,
    .reserved = planned_reserved,
    .fini = planned_fini,
};
