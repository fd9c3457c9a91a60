/* planned: offsets planned offline from a recording, served in its order.
 *
 *   1. The plan gives each request of the recording a slot: bytes at an offset of one arena, from
 *      its own time until another's. Time is counted in requests. Slots that live at once do not
 *      overlap. First come the slots that are served once, then rounds: one for each kind of
 *      iteration.
 *   2. The cursor is at the slot of the next request. A request of the slot's size, and of its tag
 *      where both are known, gets the slot, and the cursor moves on. There is no search.
 *   3. At the end of a round, and at a mark, the next request chooses the first round that begins
 *      with it. If later requests differ, a round that begins with the same ones and goes on with
 *      this one takes its place.
 *   4. A slot is not handed out while another block, freed late or served out of order, has some
 *      of its bytes. The free ranges of the arena are kept in order, so a request and a free take
 *      logarithmic time.
 *   5. A request of another size or tag looks for the next slot of its size. If that is the one
 *      after the cursor's, it is handed out early. If three requests in a row find slots in a row,
 *      up to 64 ahead, the cursor moves there: the slots between were left out. Farther ahead, or
 *      back, it takes eight.
 *   6. A smaller request that has no slot of its own size gets the slot at the cursor, if at least
 *      half of it is used.
 *   7. All else is a guest, and the cursor stays: what is inserted shifts nothing. A guest gets the
 *      end of the smallest free range of the arena that holds it, of equal ones the lowest; of a
 *      mapped arena (rule 9) one of which least is to be mapped. If there is none, the driver
 *      serves it. What the plan has no place for lies above the plan's height, or is the driver's,
 *      and so do guests of up to 1 MiB in a mapped arena: a small one keeps a chunk mapped.
 *      After four requests in a row without a slot, all requests are guests until a run of requests
 *      (rule 5) or a mark finds the place in the plan again.
 *   8. Where the source has no virtual memory, the arena is one memory, asked for at the first slot
 *      that is served. Without a live block in it, trim gives it back, and so does a request that
 *      is refused.
 *   9. Elsewhere the arena is a range of addresses larger than the device. Chunks of 1/256 of the
 *      plan's height, and of at least 2 MiB, are mapped as they are needed. All blocks are placed
 *      as `vmm` would place them, too, in a shadow that has no memory. Before the arena holds more
 *      than `vmm` would have held so far, chunks without a live block are unmapped, after a wait
 *      for all queues. So it holds more than `vmm` only where blocks live in all its chunks. If
 *      most requests were guests, one whose slot needs that is a guest where mapped bytes are free.
 *  10. If the slots of a round are taken and given back in the order of the last one, no chunk is
 *      mapped, and the shadow has each where it had it, then all is as when the round began. So it
 *      is after the next one, and neither free ranges nor shadow are kept until that one differs.
 *
 * Why: a program that repeats itself needs no allocator, only the places found once, and a planner
 * that sees all lifetimes comes close to the least memory. A wrong guess of which request it is
 * costs memory and never data. Source: static planners (STAlloc, openvm's VPMM, PyTorch's
 * CPUProfilingAllocator); rules 3 to 10 are gamut's, and say what those leave open.
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

#include "alloc/mapped_range.h"
#include "alloc/planned/byte_ranges.h"
#include "alloc/tag_table.h"
#include "base/slab.h"

enum {
    /* The first two were chosen on one program of bench_planned, where they lose least. */
    RUN_NEAR = 3, /* requests in a row that say that up to NEAR slots were left out */
    NEAR = 64,
    RUN_FAR = 8,
    LOST = 4, /* requests in a row without a slot that say that the plan does not have what comes */
    TAGS_TRIED = 16,  /* slots of one size that are looked at for one of the same tag */
    LEAD_MOST = 4096, /* requests after which a round is not exchanged for another one */
    CHUNKS = 256,     /* that a plan's height is mapped in, or fewer */
    GAPS_TRIED = 64,  /* for a guest, to find one that is mapped */
    CHUNK_LEAST = 2 << 20,
    SHADOW_UNIT = 512,
    SMALL_MOST = 1 << 20,
    LARGE_CHUNK = 20 << 20,
    EVENTS = 3, /* of a slot in a round, at most: a block goes, another comes and goes */
};
#define NO_PLACE UINT32_MAX

/* A slot and its state, or a guest. */
struct place {
    uint64_t key; /* its size; 0 if it has no offset */
    uint64_t offset;
    uint32_t pass;   /* number of the pass in which it was last handed out */
    uint32_t shadow; /* while it lives: where `vmm` would have it, in units of SHADOW_UNIT */
    bool has_tag, live;
};

struct planned {
    struct place *at; /* the cursor's slot, or `nothing` at the end of a round */
    uint32_t cursor, pass;
    uint32_t round_begin, round_end;
    uint32_t live_count;
    uint64_t arena, arena_bytes;       /* 0: there is none */
    struct mapped_range range;         /* that is the arena, if range_bytes */
    uint64_t range_end;                /* the end of the highest chunk that was mapped */
    uint64_t range_bytes, granularity; /* of virtual memory; 0: the source has none */
    struct shadow {
        struct byte_ranges free;
        uint64_t bytes;
    } shadow[2]; /* of small and of large requests: what `vmm` would hold */
    uint64_t unit;
    struct planned_counts counts;
    struct source *source;
    const struct offset_plan *plan;
    const struct plan_queue *queue; /* of this instance; NULL until its first request */
    struct place *places, nothing;
    struct plan_sized *by_size; /* the plan's slots; NULL until the first is asked for */
    int round;                  /* -1: before the first one */
    uint32_t lead;              /* where the iteration began in the plan */
    bool has_marks;             /* there was one of the plan's */
    bool awaits_mark;        /* the program has marks, and there was none since the round began */
    bool leads;              /* all requests of this round were those of its slots */
    uint32_t matched, run;   /* the slot found last out of order, and how many were in a row */
    uint32_t missed;         /* requests in a row that have no slot */
    bool is_lost;            /* so many that the plan does not have these requests */
    struct byte_ranges gaps; /* the free ranges of the arena */
    /* An event is twice the index of a slot that is taken, and one more where it is given back. */
    uint32_t *events, event, event_count; /* up to `event` of this round, then of the last one */
    bool is_same;                         /* so far the round has done as the last one */
    bool repeats; /* gaps and shadow are as they were when the round began */
    struct slab spare_guests;
    size_t guest_count;
    struct tag_table tags; /* of the program: their numbers in the plan, 0 if the plan lacks them */
    uint32_t refused_pass; /* the pass in which there was no memory for the arena */
    uint64_t direct_bytes; /* memories that requests got of the driver */
};

/* ---- start ---- */

static const struct option_spec planned_options[] = {
    [PLANNED_TRACE] = {"trace", OPTION_TEXT, "", NULL, 0, 0,
                       "file of a trace, or of the plan that gamut trace plan made of it"},
    {0},
};

static int planned_init(struct source *source, const struct option_values *options, void **state)
{
    TRY(source_requires_split(source, "planned"));
    if (!options->given)
        return error_set(&source->error, ERR_USAGE,
                         "planned serves from a plan, and its caller handed it none");
    struct planned *p = must_alloc(sizeof *p);
    *p = (struct planned){.source = source,
                          .plan = options->given,
                          .pass = 1,
                          .round = -1,
                          .spare_guests.item_bytes = sizeof(struct place)};
    p->unit = p->plan->unit;
    byte_ranges_open(&p->gaps);
    byte_ranges_open(&p->shadow[0].free);
    byte_ranges_open(&p->shadow[1].free);
    struct driver_vm_info vm;
    if (source_vm_info(source, &vm) == 0) {
        p->granularity = vm.granularity_bytes;
        p->range_bytes = vm.memory_bytes / 8 * 9;
    }
    *state = p;
    return 0;
}

static uint32_t rounds_begin(const struct planned *p)
{
    return plan_round_end(p->queue, -1);
}

static void set_cursor(struct planned *p, uint32_t time)
{
    p->cursor = time;
    p->at = time < p->round_end ? &p->places[time] : &p->nothing;
}

static void set_round(struct planned *p, int round, uint32_t time)
{
    p->round = round;
    p->round_begin = round < 0 ? 0 : p->queue->rounds[round];
    p->round_end = plan_round_end(p->queue, round);
    set_cursor(p, time);
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
    p->places = must_alloc((q->count + (size_t)1) * sizeof *p->places);
    for (uint32_t i = 0; i < q->count; i++)
        p->places[i] =
            (struct place){.key = q->slots[i].offset == PLAN_NOT_PLANNED ? 0 : q->slots[i].size,
                           .offset = q->slots[i].offset,
                           .has_tag = q->slots[i].tag != 0};
    p->events = must_alloc((EVENTS * (size_t)q->count + 1) * sizeof *p->events);
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

/* As `vmm` places a block: in the smallest free piece, of equals the lowest, the last one last. */
static void shadow_take(struct planned *p, struct place *place)
{
    const uint64_t bytes = vm_round_up(place->key, SHADOW_UNIT);
    const bool is_large = bytes > SMALL_MOST;
    struct shadow *s = &p->shadow[is_large];
    const struct byte_range *at = byte_ranges_best(&s->free, bytes), *next;
    if (at && at->end == s->bytes && (next = byte_ranges_next(&s->free, at)))
        at = next;
    if (!at) {
        const uint64_t chunk = is_large ? LARGE_CHUNK : CHUNK_LEAST, end = s->bytes;
        const struct byte_range *last = byte_ranges_from(&s->free, end);
        const uint64_t spare = last ? end - last->begin : 0;
        s->bytes += (bytes - spare + chunk - 1) / chunk * chunk;
        byte_ranges_add(&s->free, end, s->bytes);
        at = byte_ranges_from(&s->free, s->bytes);
    }
    p->is_same = p->is_same && place->shadow == at->begin / SHADOW_UNIT;
    place->shadow = (uint32_t)(at->begin / SHADOW_UNIT);
    byte_ranges_remove(&s->free, at->begin, at->begin + bytes);
}

static void shadow_give(struct planned *p, const struct place *place)
{
    const uint64_t at = (uint64_t)place->shadow * SHADOW_UNIT,
                   bytes = vm_round_up(place->key, SHADOW_UNIT);
    byte_ranges_add(&p->shadow[bytes > SMALL_MOST].free, at, at + bytes);
}

static bool is_free(const struct planned *p, const struct place *place)
{
    return byte_ranges_have(&p->gaps, place->offset, end_of(p, place));
}

/* Unmaps chunks without a live block, the highest first, until there were `most`, but for those of
 * [begin, end). */
static int drop_chunks(struct planned *p, uint64_t begin, uint64_t end, uint64_t most)
{
    const uint64_t bytes = p->range.chunk_bytes;
    uint64_t count = 0;
    int code = 0;
    for (uint64_t at = p->range_end; at > 0 && count < most; at -= bytes) {
        const uint64_t start = at - bytes;
        if (!p->range.chunks[start / bytes] || (start < end && begin < at) ||
            !byte_ranges_have(&p->gaps, start, at))
            continue;
        if (!count++)
            TRY(source_sync(p->source));
        ALSO(code, mapped_range_unmap(&p->range, start, at));
    }
    return code;
}

/* The chunks of [begin, end) that are not mapped. */
static uint64_t missing_of(const struct planned *p, uint64_t begin, uint64_t end)
{
    uint64_t missing = 0;
    for (uint64_t at = begin / p->range.chunk_bytes; at * p->range.chunk_bytes < end; at++)
        missing += !p->range.chunks[at];
    return missing;
}

static int map_missing(struct planned *p, uint64_t begin, uint64_t end)
{
    const uint64_t bytes = p->range.chunk_bytes;
    for (uint64_t first = begin / bytes, last; first * bytes < end; first = last) {
        for (last = first; last * bytes < end && !p->range.chunks[last]; last++)
            ;
        if (last > first)
            TRY(mapped_range_map(&p->range, first * bytes, last * bytes));
        else
            last++;
    }
    return 0;
}

/* By how much the arena would hold more with so many chunks than `vmm` held so far. */
static uint64_t excess_of(const struct planned *p, uint64_t missing)
{
    const uint64_t most = p->shadow[0].bytes + p->shadow[1].bytes,
                   after = p->range.held_bytes + missing * p->range.chunk_bytes;
    return missing && after > most ? after - most : 0;
}

/* Maps what is not mapped of [begin, end). What the arena would hold beyond what `vmm` would, it
 * takes from chunks without a live block first. */
static int map_bytes(struct planned *p, uint64_t begin, uint64_t end)
{
    const uint64_t bytes = p->range.chunk_bytes, missing = missing_of(p, begin, end),
                   excess = excess_of(p, missing);
    if (!missing)
        return 0;
    p->is_same = false;
    if (excess)
        TRY(drop_chunks(p, begin, end, (excess + bytes - 1) / bytes));
    if (p->range_end < end)
        p->range_end = (end + bytes - 1) / bytes * bytes;
    int code = map_missing(p, begin, end);
    if (code == ERR_OOM) {
        TRY(drop_chunks(p, begin, end, UINT64_MAX));
        code = map_missing(p, begin, end);
    }
    return code;
}

/* Takes the bytes of a place. */
static int take_bytes(struct planned *p, struct place *place)
{
    if (p->range_bytes) {
        shadow_take(p, place);
        int code = map_bytes(p, place->offset, end_of(p, place));
        if (code) {
            shadow_give(p, place);
            return code;
        }
    }
    byte_ranges_remove(&p->gaps, place->offset, end_of(p, place));
    return 0;
}

static void give_bytes(struct planned *p, const struct place *place)
{
    byte_ranges_add(&p->gaps, place->offset, end_of(p, place));
    if (p->range_bytes)
        shadow_give(p, place);
}

/* Brings gaps and shadow up to the last event. */
static void catch_up(struct planned *p)
{
    const uint32_t count = p->repeats ? p->event : 0;
    p->is_same = p->repeats = false;
    for (uint32_t i = 0; i < count; i++) {
        struct place *place = &p->places[p->events[i] / 2];
        if (p->events[i] % 2)
            give_bytes(p, place);
        else
            take_bytes(p, place); /* its chunks are mapped */
    }
}

/* A slot is taken, or (`gives`) given back. Can gaps and shadow be left as they are? */
static bool comes_again(struct planned *p, const struct place *place, bool gives)
{
    const uint32_t event = (uint32_t)(2 * (place - p->places) + gives);
    if (p->event >= p->event_count || p->events[p->event] != event)
        catch_up(p);
    if (p->event < EVENTS * p->queue->count)
        p->events[p->event++] = event;
    return p->repeats;
}

/* ---- the cursor ---- */

static inline bool is_served(const struct planned *p, uint32_t i)
{
    return p->places[i].pass == p->pass;
}

/* Moves the cursor past its slot and those after it that were handed out early. */
static inline void step(struct planned *p)
{
    uint32_t next = p->cursor + 1;
    while (next < p->round_end && is_served(p, next))
        next++;
    set_cursor(p, next);
}

/* Moves the cursor ahead in its round, or to its end. */
static void skip_to(struct planned *p, uint32_t time)
{
    p->counts.jump_count++;
    p->run = 0;
    p->leads = false;
    set_cursor(p, time);
}

/* Takes the sequence up at another time, in a new pass. */
static void jump(struct planned *p, uint32_t time)
{
    int round = -1;
    while (time >= plan_round_end(p->queue, round))
        round++;
    p->pass++;
    set_round(p, round, time);
    skip_to(p, time);
}

/* ---- rounds ---- */

static void enter_round(struct planned *p, int round)
{
    if (p->round < 0 || round <= p->round) {
        if (p->event != p->event_count)
            catch_up(p);
        p->repeats = p->is_same;
        p->is_same = true;
        p->event_count = p->event;
        p->event = 0;
    }
    p->pass++;
    p->leads = true;
    p->awaits_mark = p->has_marks;
    p->lead = p->queue->rounds[round];
    set_round(p, round, p->lead);
}

/* Enters the first round that begins with a request. A size that the plan does not have may be that
 * of a slot which has changed. */
static void choose_round(struct planned *p, uint64_t size, uint32_t tag)
{
    const struct plan_queue *q = p->queue;
    const bool is_changed = slots_of(p, size, 0)->size != size;
    for (unsigned r = p->round < 0 ? 0 : (unsigned)(p->round + 1) % q->turns; r < q->round_count;
         r += q->turns) {
        const struct place *first = &p->places[q->rounds[r]];
        if (is_changed || (size_of(p, first) == size && agree(p, tag, first))) {
            enter_round(p, (int)r);
            return;
        }
    }
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
        p->pass += p->round < 0;
        set_round(p, r, i);
        p->lead = begin;
        p->awaits_mark = p->has_marks;
        return true;
    }
    return false;
}

/* ---- requests out of order ---- */

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

/* The next place of a request in the plan: after the one found last, or the next one of its size,
 * or the first in the rounds. */
static uint32_t next_match(struct planned *p, uint64_t size, uint32_t tag)
{
    const uint32_t follows = p->matched + 1;
    if (follows < p->queue->count && size_of(p, &p->places[follows]) == size &&
        !is_served(p, follows) && agree(p, tag, &p->places[follows]))
        return follows;
    const uint32_t next = next_of(p, size, tag);
    if (next != NO_PLACE)
        return next;
    const struct plan_sized *first = slots_of(p, size, rounds_begin(p));
    return first->size == size && agree(p, tag, &p->places[first->time]) ? first->time : NO_PLACE;
}

/* The slot for a request that is not the one at the cursor; NO_PLACE: none. */
static uint32_t find_place(struct planned *p, uint64_t size, uint32_t tag)
{
    const struct place *at = p->at;
    if (slots_of(p, size, 0)->size != size)
        return !p->is_lost && size_of(p, at) > size && size_of(p, at) / 2 <= size &&
                       agree(p, tag, at)
                   ? p->cursor
                   : NO_PLACE;
    const uint32_t i = next_match(p, size, tag);
    const bool is_ahead = i != NO_PLACE && i >= p->cursor && i < p->round_end;
    const bool is_near = is_ahead && i - p->cursor <= NEAR;
    if (i != NO_PLACE) {
        p->run = i == p->matched + 1 ? p->run + 1 : 1;
        p->matched = i;
    }
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
    return !p->is_lost && is_ahead && i <= p->cursor + 1 && is_free(p, &p->places[i]) ? i
                                                                                      : NO_PLACE;
}

/* ---- requests ---- */

/* Nothing lives in it, and all queues are done. */
static int close_arena(struct planned *p)
{
    const uint64_t arena = p->arena, bytes = p->arena_bytes;
    p->arena = p->arena_bytes = p->range_end = 0;
    byte_ranges_clear(&p->gaps);
    return p->range_bytes ? mapped_range_close(&p->range) : source_free(p->source, arena, bytes);
}

static int release_arena(struct planned *p)
{
    if (!p->arena || p->live_count || p->guest_count)
        return 0;
    if (p->range.held_bytes)
        TRY(source_sync(p->source));
    return close_arena(p);
}

static int open_range(struct planned *p, uint64_t height)
{
    const uint64_t unit = CHUNK_LEAST > p->granularity ? CHUNK_LEAST : p->granularity,
                   chunk = (height / CHUNKS + unit - 1) / unit * unit, bytes = chunk ? chunk : unit;
    TRY(mapped_range_open(&p->range, p->source, (p->range_bytes + height + bytes) / bytes * bytes,
                          bytes));
    p->arena = p->range.address;
    p->arena_bytes = p->range.bytes;
    return 0;
}

static int make_arena(struct planned *p)
{
    if (p->refused_pass == p->pass)
        return ERR_OOM;
    const uint64_t bytes = round_up(p, p->queue->height);
    p->arena_bytes = bytes;
    int code = p->range_bytes ? open_range(p, bytes)
                              : source_alloc(p->source, bytes, SOURCE_LAZY, &p->arena);
    if (code) {
        p->refused_pass = code == ERR_OOM ? p->pass : 0;
        p->arena = p->arena_bytes = 0;
        return code;
    }
    byte_ranges_add(&p->gaps, 0, p->arena_bytes);
    return 0;
}

/* Serves a request by the driver. The arena makes room for it if no block lives in it. */
static int serve_direct(struct planned *p, const struct alloc_request *request, struct block *block)
{
    *block = (struct block){.size = request->size};
    int code = source_alloc(p->source, request->size, SOURCE_LAZY, &block->memory);
    if (code == ERR_OOM && p->arena && !p->live_count && !p->guest_count) {
        TRY(release_arena(p));
        code = source_alloc(p->source, request->size, SOURCE_LAZY, &block->memory);
    }
    p->direct_bytes += code ? 0 : request->size;
    return code;
}

/* The place of a guest in a gap: its end, but the beginning of the addresses above all blocks. */
static uint64_t place_in(const struct planned *p, const struct byte_range *gap, uint64_t bytes,
                         uint64_t from, uint64_t alignment)
{
    uint64_t at = (gap->end - bytes) & ~(alignment - 1);
    if (p->range_bytes && gap->end == p->arena_bytes) {
        at = gap->begin > from ? gap->begin : from;
        at = (at + alignment - 1) & ~(alignment - 1);
    }
    return at < gap->begin || at < from || at + bytes > gap->end ? UINT64_MAX : at;
}

/* A place from `from` on that is free and, of the first few, mapped, or is above all blocks;
 * UINT64_MAX: there is none. */
static uint64_t guest_place(const struct planned *p, uint64_t bytes, uint64_t from,
                            uint64_t alignment)
{
    uint64_t best = UINT64_MAX, least = UINT64_MAX;
    unsigned tried = 0;
    const struct byte_range *gap = byte_ranges_best(&p->gaps, bytes);
    for (; gap && tried < GAPS_TRIED; gap = byte_ranges_next(&p->gaps, gap), tried++) {
        const uint64_t at = place_in(p, gap, bytes, from, alignment);
        if (at == UINT64_MAX)
            continue;
        const uint64_t missing = p->range_bytes ? missing_of(p, at, at + bytes) : 0;
        if (missing < least) {
            best = at;
            least = missing;
        }
        if (!missing)
            break;
    }
    gap = best == UINT64_MAX && p->range_bytes ? byte_ranges_from(&p->gaps, p->arena_bytes) : NULL;
    return gap ? place_in(p, gap, bytes, from, alignment) : best;
}

/* Serves a request that has no slot, from `from` on. */
static int serve_guest(struct planned *p, const struct alloc_request *request, uint64_t from,
                       struct block *block)
{
    if (p->range_bytes && !p->arena)
        TRY(make_arena(p));
    if (p->range_bytes && request->size <= SMALL_MOST)
        from = round_up(p, p->queue->height);
    const uint64_t bytes = round_up(p, request->size),
                   at = p->arena ? guest_place(p, bytes, from, request->alignment) : UINT64_MAX;
    if (at == UINT64_MAX)
        return serve_direct(p, request, block);
    struct place *guest = slab_take(&p->spare_guests);
    *guest = (struct place){.key = request->size, .offset = at};
    int code = take_bytes(p, guest);
    if (code) {
        slab_give(&p->spare_guests, guest);
        return code;
    }
    p->guest_count++;
    p->counts.guest_count++;
    p->counts.guest_bytes += request->size;
    *block = (struct block){.memory = p->arena, .offset = at, .size = request->size, .node = guest};
    return 0;
}

#define COUNT(p, name, bytes)                                                                      \
    ((void)(p)->counts.name##_count++, (void)((p)->counts.name##_bytes += (bytes)))

/* A slot that is not handed out: why not. It counts as served, so the cursor passes it. If the
 * slot was in use, a guest may lie anywhere in the arena, else above the plan. */
static int serve_unplanned(struct planned *p, struct place *place, int code,
                           const struct alloc_request *request, struct block *block)
{
    catch_up(p);
    if (code && code != ERR_OOM)
        return code;
    if (code)
        COUNT(p, no_arena, request->size);
    else if (place->key)
        COUNT(p, busy, request->size);
    else
        COUNT(p, left_out, request->size);
    return serve_guest(p, request, place->key && !code ? 0 : round_up(p, p->queue->height), block);
}

/* Must chunks be unmapped for a slot, though mapped bytes are free elsewhere? That counts if most
 * requests are guests. */
static bool costs_chunks(const struct planned *p, const struct place *place)
{
    const uint64_t bytes = end_of(p, place) - place->offset;
    if (!p->range_bytes || p->counts.guest_count < p->counts.hit_count ||
        !excess_of(p, missing_of(p, place->offset, place->offset + bytes)))
        return false;
    const uint64_t at = guest_place(p, bytes, 0, 1);
    return at != UINT64_MAX && !missing_of(p, at, at + bytes);
}

/* Hands a slot out if its bytes are free, else serves the request from elsewhere. `passes`: it is
 * the request of the cursor's slot. */
static int serve_place(struct planned *p, uint32_t i, bool passes,
                       const struct alloc_request *request, struct block *block)
{
    struct place *place = &p->places[i];
    bool serves = place->key && !place->live && (place->offset & (request->alignment - 1)) == 0;
    int code = serves && !p->arena ? make_arena(p) : 0;
    serves = serves && !code;
    if (serves && !comes_again(p, place, false) &&
        (serves = is_free(p, place) && !costs_chunks(p, place))) {
        code = take_bytes(p, place);
        serves = !code;
    }
    (passes ? p->at : place)->pass = p->pass;
    if (passes)
        step(p);
    if (!serves)
        return serve_unplanned(p, place, code, request, block);
    place->live = true;
    p->live_count++;
    p->missed = 0;
    COUNT(p, hit, request->size);
    *block = (struct block){
        .memory = p->arena, .offset = place->offset, .size = place->key, .node = place};
    return 0;
}

static int planned_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct planned *p = state;
    if (!p->queue)
        open_queue(p, request->queue);
    const uint32_t tag = tag_of(p, request->tag);
    if (p->at == &p->nothing && !p->is_lost && !p->awaits_mark && p->queue->round_count)
        choose_round(p, request->size, tag);
    bool is_next = size_of(p, p->at) == request->size && agree(p, tag, p->at);
    if (!is_next && p->at != &p->nothing)
        is_next = exchange_round(p, request->size, tag);
    is_next = is_next && !p->is_lost;
    if (!is_next && p->cursor != p->lead)
        p->leads = false;
    if (!is_next)
        catch_up(p);
    const uint32_t i = is_next ? p->cursor : find_place(p, request->size, tag);
    if (i != NO_PLACE)
        return serve_place(p, i, is_next || i == p->cursor, request, block);
    if (tag && tag_at(p, p->at) == tag && size_of(p, p->at) < request->size) {
        /* By its tag it is the slot's request. */
        COUNT(p, larger, request->size);
        p->at->pass = p->pass;
        step(p);
    } else {
        COUNT(p, inserted, request->size);
        p->is_lost = p->is_lost || ++p->missed >= LOST;
    }
    return serve_guest(p, request, 0, block);
}

static int planned_free(void *state, const struct block *block, const char *tag)
{
    struct planned *p = state;
    struct place *place = block->node;
    (void)tag;
    if (!place) {
        p->direct_bytes -= block->size;
        return source_free(p->source, block->memory, block->size);
    }
    if (place < p->places || place >= p->places + p->queue->count) {
        catch_up(p);
        give_bytes(p, place);
        p->guest_count--;
        slab_give(&p->spare_guests, place);
        return 0;
    }
    if (!comes_again(p, place, true))
        give_bytes(p, place);
    place->live = false;
    p->live_count--;
    return 0;
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
    const bool is_over = time == p->round_end || (time == p->round_begin && p->round >= 0);
    if (time != p->cursor && is_over)
        skip_to(p, p->round_end); /* the next request chooses a round */
    else if (time != p->cursor)
        jump(p, time);
    if (p->round < 0) {
        p->lead = p->cursor;
        p->leads = true;
    }
}

static int planned_trim(void *state)
{
    struct planned *p = state;
    p->refused_pass = 0;
    catch_up(p);
    return p->live_count || p->guest_count ? drop_chunks(p, 0, 0, UINT64_MAX) : release_arena(p);
}

/* ---- checks ---- */

/* The gaps have all bytes of the arena without a live block. */
static unsigned check_places(const struct planned *p)
{
    uint64_t bytes = p->gaps.bytes;
    unsigned broken = byte_ranges_check(&p->gaps);
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->queue->count; i++) {
        const struct place *place = &p->places[i];
        if (!place->live)
            continue;
        count++;
        bytes += end_of(p, place) - place->offset;
        broken += byte_ranges_touch(&p->gaps, place->offset, end_of(p, place));
    }
    return broken + (count != p->live_count) + (bytes > p->arena_bytes) +
           (!p->guest_count && bytes != p->arena_bytes);
}

static unsigned planned_check(const void *state)
{
    const struct planned *p = state;
    unsigned broken = (p->arena == 0) != (p->arena_bytes == 0);
    broken += !p->arena && (p->live_count || p->guest_count);
    if (!p->queue)
        return broken;
    broken += p->cursor > p->round_end;
    broken += p->at != (p->cursor < p->round_end ? &p->places[p->cursor] : &p->nothing);
    broken += p->cursor < p->round_end && is_served(p, p->cursor);
    return broken + (p->repeats ? p->event > p->event_count : check_places(p));
}

static uint64_t planned_reserved(const void *state)
{
    const struct planned *p = state;
    return (p->range_bytes ? p->range.held_bytes : p->arena_bytes) + p->direct_bytes;
}

static void planned_fini(void *state)
{
    struct planned *p = state;
    if (p->range.held_bytes)
        source_sync(p->source);
    if (p->arena)
        close_arena(p);
    byte_ranges_clear(&p->gaps);
    byte_ranges_clear(&p->shadow[0].free);
    byte_ranges_clear(&p->shadow[1].free);
    slab_free(&p->spare_guests);
    free(p->places);
    free(p->by_size);
    free(p->events);
    tag_table_free(&p->tags);
    free(p);
}

uint64_t planned_digest(const struct allocator_ops *ops, const struct option_values *options)
{
    const struct offset_plan *plan = options->given;
    return ops == &allocator_planned && plan ? plan->digest : 0;
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
    counts->held_bytes += planned_reserved(p);
}

static const struct allocator_origin planned_origins[] = {
    {.what = "gamut's own design: rules 3 to 10"},
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
