/* Exact search from the bottom up, for buffers of one interval and one alignment.
 *
 * The tops of the placed items are a skyline over the sections. A valley is a run of sections of
 * one level between higher neighbours. No item can lie across the edge of a valley at its level. So
 * the next thing above a section of a valley is either an unplaced item that lies inside the
 * valley, on its ground; or nothing (waste), and the level rises to the next on which an item could
 * rest. These are all cases, at any section of any valley:
 *
 *   1. Branch at the section with the fewest cases. If several come close, branch at the one at
 *      which the search has failed most often (Boussemart, Hemery, Lecoutre, Sais 2004, for
 *      constraint networks).
 *   2. The capacity less the bytes that have to lie in a section is its room for waste. Without
 *      room, waste is no case. Full plans leave few cases this way.
 *   3. A plan can be pushed down until each item rests on the ground or on another item. So an item
 *      is not placed where all of its sections are waste.
 *   4. Equal items are placed in the static order. If one of two items with the same life lies on
 *      the other, the first in the static order is below: exchanging them changes nothing but the
 *      height, and that only if the other has less padding; then both are tried.
 *
 * The static order decides which case is tried first.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "merge/pack/pack_model.h"

enum {
    GROUND = -1,
    WASTE = -2,
    NO_TWIN = -1,
    NO_VALLEY = -1,
    DEPTH_MOST =
        6000, /* most levels of recursion on the host's stack: waste can rise in many steps */
    CLOCK_EVERY = 256,
    STEPS_NODE = 20,
    STEPS_ITEM = 3,
};

struct section {
    int64_t level;    /* the height of the skyline here */
    int64_t unplaced; /* bytes to place here; 0: the section is a wall */
    int64_t room;     /* bytes that may be wasted */
    int64_t top;      /* the top of the skyline here: an item, GROUND or WASTE */
};

struct undo {
    unsigned section;
    struct section before;
};

struct valley {
    struct pack_range range;
    int64_t smallest; /* the smallest size of an item inside */
};

struct piece { /* an item, in the static order */
    struct pack_range life;
    int64_t size, pad;
    int twin;            /* the equal piece before it, or NO_TWIN */
    unsigned list_index; /* in `unplaced` */
    unsigned item;
    int64_t offset;
    bool placed;
};

struct pack_skyline {
    struct arena arena; /* all but the stacks */
    unsigned count, section_count;
    struct piece *pieces;
    unsigned *unplaced, unplaced_count;
    struct section *sections,
        *fresh;         /* fresh: the state at the start, with a room that lacks the capacity */
    uint64_t *failures; /* by section */
    int *valley_of;     /* by section */
    int *change;        /* by section: placeable pieces, less those of the section before */
    struct valley *valleys;
    unsigned *cases; /* a stack of pieces to try, shared by all depths */
    size_t case_count, case_capacity;
    struct undo *undo;
    size_t undo_count, undo_capacity;
    unsigned depth;
    struct pack_question *question;
};

/* The next branch of the search. */
struct branch {
    unsigned section;
    int64_t level, next_level; /* next_level: the level after waste; INT64_MAX: waste is no case */
    bool may_waste;
    bool dead; /* there is no case */
};

static void change_section(struct pack_skyline *s, unsigned section, struct section after)
{
    if (s->undo_count == s->undo_capacity) {
        s->undo_capacity = 2 * s->undo_capacity + 1024;
        s->undo = must_realloc(s->undo, s->undo_capacity * sizeof *s->undo);
    }
    s->undo[s->undo_count++] = (struct undo){section, s->sections[section]};
    s->sections[section] = after;
}

static void skyline_rewind(struct pack_skyline *s, size_t mark)
{
    while (s->undo_count > mark) {
        const struct undo *undo = &s->undo[--s->undo_count];
        s->sections[undo->section] = undo->before;
    }
}

/* The level of a section next to a valley; a wall is INT64_MAX high. */
static int64_t level_next_to(const struct pack_skyline *s, unsigned section)
{
    return section >= s->section_count || !s->sections[section].unplaced
               ? INT64_MAX
               : s->sections[section].level;
}

static unsigned find_valleys(struct pack_skyline *s)
{
    unsigned valley_count = 0, end;
    for (unsigned first = 0; first < s->section_count; first = end) {
        const int64_t level = level_next_to(s, first);
        for (end = first + 1; end < s->section_count && level_next_to(s, end) == level; end++)
            ;
        const bool low = level != INT64_MAX && level_next_to(s, first - 1) > level &&
                         level_next_to(s, end) > level;
        for (unsigned k = first; k < end; k++) {
            s->valley_of[k] = low ? (int)valley_count : NO_VALLEY;
            s->change[k] = 0;
        }
        s->change[end] = 0;
        if (low)
            s->valleys[valley_count++] = (struct valley){{first, end}, INT64_MAX};
    }
    return valley_count;
}

/* The valley that a piece lies inside, or NO_VALLEY. Valleys are unbroken, so the piece's ends
 * suffice. */
static int valley_around(const struct pack_skyline *s, const struct piece *piece)
{
    const int valley = s->valley_of[piece->life.first];
    return valley == s->valley_of[piece->life.end - 1] ? valley : NO_VALLEY;
}

static void count_cases(struct pack_skyline *s)
{
    for (unsigned i = 0; i < s->unplaced_count; i++) {
        const struct piece *piece = &s->pieces[s->unplaced[i]];
        const int valley = valley_around(s, piece);
        if (valley == NO_VALLEY)
            continue;
        struct valley *v = &s->valleys[valley];
        s->change[piece->life.first]++;
        if (piece->life.end < v->range.end)
            s->change[piece->life.end]--;
        v->smallest = pack_min(v->smallest, piece->size);
    }
}

/* The lowest level above a valley's ground on which an item inside or across it can rest. */
static int64_t next_level(const struct pack_skyline *s, const struct valley *v)
{
    const int64_t neighbour =
        pack_min(level_next_to(s, v->range.first - 1), level_next_to(s, v->range.end));
    return v->smallest == INT64_MAX
               ? neighbour
               : pack_min(neighbour, s->sections[v->range.first].level + v->smallest);
}

/* Lowers next_capacity to the capacity with which waste would have been a case here. */
static void note_waste(struct pack_skyline *s, const struct branch *b)
{
    if (b->next_level != INT64_MAX)
        s->question->next_capacity =
            pack_min(s->question->next_capacity, s->question->capacity + b->next_level - b->level -
                                                     s->sections[b->section].room);
}

static struct branch choose(struct pack_skyline *s)
{
    struct branch best = {.dead = true};
    uint64_t best_cases = UINT64_MAX, best_failures = 1;
    const unsigned valley_count = find_valleys(s);
    count_cases(s);
    for (unsigned v = 0; v < valley_count; v++) {
        const struct valley *valley = &s->valleys[v];
        const int64_t level = s->sections[valley->range.first].level, next = next_level(s, valley);
        uint64_t inside = 0;
        for (unsigned k = valley->range.first; k < valley->range.end; k++) {
            inside += (uint64_t)(int64_t)s->change[k];
            const bool may_waste = next != INT64_MAX && next - level <= s->sections[k].room;
            /* Waste is half a case: it leads nowhere new, but leaves less room. */
            uint64_t cases = 2 * inside + may_waste;
            cases = cases <= 2 ? 0 : cases; /* a section without a choice comes first */
            if (inside + may_waste == 0) {
                s->failures[k]++;
                return (struct branch){k, level, next, false, true};
            }
            if (cases * best_failures < best_cases * s->failures[k] || best.dead) {
                best = (struct branch){k, level, next, may_waste, false};
                best_cases = cases;
                best_failures = s->failures[k];
            }
        }
    }
    return best;
}

/* Pushes the pieces that can be next above a section onto the stack of cases, in static order. */
static void collect_cases(struct pack_skyline *s, unsigned section)
{
    const int valley = s->valley_of[section];
    const size_t base = s->case_count;
    if (base + s->unplaced_count > s->case_capacity) {
        s->case_capacity = 2 * s->case_capacity + s->unplaced_count;
        s->cases = must_realloc(s->cases, s->case_capacity * sizeof *s->cases);
    }
    for (unsigned i = 0; i < s->unplaced_count; i++) {
        const struct piece *piece = &s->pieces[s->unplaced[i]];
        if (piece->life.first > section || piece->life.end <= section ||
            valley_around(s, piece) != valley)
            continue;
        size_t slot = s->case_count++;
        for (; slot > base && s->cases[slot - 1] > s->unplaced[i]; slot--)
            s->cases[slot] = s->cases[slot - 1];
        s->cases[slot] = s->unplaced[i];
    }
}

/* Rules 3 and 4, and the capacity. */
static bool may_place(struct pack_skyline *s, unsigned number, int64_t level)
{
    const struct piece *piece = &s->pieces[number];
    if (piece->twin != NO_TWIN && !s->pieces[piece->twin].placed)
        return false;
    const int64_t below = s->sections[piece->life.first].top;
    if (below > (int64_t)number && s->pieces[below].life.first == piece->life.first &&
        s->pieces[below].life.end == piece->life.end && s->pieces[below].pad >= piece->pad)
        return false;
    bool rests = false;
    for (unsigned k = piece->life.first; k < piece->life.end && !rests; k++)
        rests = s->sections[k].top != WASTE;
    if (!rests)
        return false;
    const int64_t needed = level + piece->size - piece->pad;
    if (needed <= s->question->capacity)
        return true;
    s->question->next_capacity = pack_min(s->question->next_capacity, needed);
    return false;
}

static void skyline_place(struct pack_skyline *s, unsigned number, int64_t level)
{
    struct piece *piece = &s->pieces[number];
    piece->placed = true;
    piece->offset = level;
    for (unsigned k = piece->life.first; k < piece->life.end; k++)
        change_section(s, k,
                       (struct section){.level = level + piece->size,
                                        .unplaced = s->sections[k].unplaced - piece->size,
                                        .room = s->sections[k].room,
                                        .top = number});
    const unsigned last = s->unplaced[--s->unplaced_count];
    s->unplaced[piece->list_index] = last;
    s->pieces[last].list_index = piece->list_index;
}

/* Undoes the last place. */
static void take_back(struct pack_skyline *s, unsigned number, unsigned list_index)
{
    struct piece *piece = &s->pieces[number];
    piece->placed = false;
    const unsigned last = s->unplaced[list_index];
    s->unplaced[s->unplaced_count] = last;
    s->pieces[last].list_index = s->unplaced_count++;
    s->unplaced[list_index] = number;
    piece->list_index = list_index;
}

static enum pack_verdict skyline_solve(struct pack_skyline *s);

static enum pack_verdict try_waste(struct pack_skyline *s, const struct branch *b)
{
    if (!b->may_waste) {
        note_waste(s, b);
        return PACK_IMPOSSIBLE;
    }
    const size_t mark = s->undo_count;
    struct section raised = s->sections[b->section];
    raised.room -= b->next_level - b->level;
    raised.level = b->next_level;
    raised.top = WASTE;
    change_section(s, b->section, raised);
    const enum pack_verdict verdict = skyline_solve(s);
    skyline_rewind(s, mark);
    return verdict;
}

static enum pack_verdict try_pieces(struct pack_skyline *s, const struct branch *b)
{
    enum pack_verdict verdict = PACK_IMPOSSIBLE;
    const size_t base = s->case_count, mark = s->undo_count;
    collect_cases(s, b->section);
    const size_t end = s->case_count;
    for (size_t i = base; i < end && verdict == PACK_IMPOSSIBLE; i++) {
        const unsigned number = s->cases[i], list_index = s->pieces[number].list_index;
        if (!may_place(s, number, b->level))
            continue;
        skyline_place(s, number, b->level);
        verdict = skyline_solve(s);
        skyline_rewind(s, mark);
        take_back(s, number, list_index);
    }
    s->case_count = base;
    return verdict;
}

static bool out_of_effort(const struct pack_skyline *s)
{
    const struct pack_question *q = s->question;
    return q->nodes >= q->node_limit || s->depth >= DEPTH_MOST ||
           (q->nodes % CLOCK_EVERY == 0 && pack_now() > q->deadline_ns);
}

static enum pack_verdict skyline_solve(struct pack_skyline *s)
{
    if (!s->unplaced_count) {
        for (unsigned i = 0; i < s->count; i++)
            s->question->offset[s->pieces[i].item] = s->pieces[i].offset;
        return PACK_SOLVED;
    }
    s->question->nodes++;
    pack_steps += STEPS_NODE + STEPS_ITEM * (s->unplaced_count + s->section_count);
    if (out_of_effort(s))
        return PACK_GAVE_UP;
    const struct branch b = choose(s);
    if (b.dead) {
        note_waste(s, &b);
        return PACK_IMPOSSIBLE;
    }
    s->depth++;
    enum pack_verdict verdict = try_pieces(s, &b);
    if (verdict == PACK_IMPOSSIBLE)
        verdict = try_waste(s, &b);
    s->depth--;
    return verdict;
}

bool pack_skyline_fits(const struct pack_item *items, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (items[i].range_count != 1 || items[i].alignment != items[0].alignment)
            return false;
    return true;
}

static int find_twin(const struct piece *pieces, unsigned number)
{
    const struct piece *a = &pieces[number];
    for (unsigned i = number; i-- > 0;)
        if (pieces[i].life.first == a->life.first && pieces[i].life.end == a->life.end &&
            pieces[i].size == a->size && pieces[i].pad == a->pad)
            return (int)i;
    return NO_TWIN;
}

struct pack_skyline *pack_skyline_open(const struct pack_item *items, unsigned count,
                                       const unsigned *order)
{
    struct pack_skyline *s = must_alloc(sizeof *s);
    const size_t sections = pack_section_count(items, count) + 1;
    s->count = count;
    s->section_count = (unsigned)sections - 1;
    s->pieces = arena_alloc(&s->arena, count * sizeof *s->pieces);
    s->unplaced = arena_alloc(&s->arena, count * sizeof *s->unplaced);
    s->sections = arena_alloc(&s->arena, sections * sizeof *s->sections);
    s->fresh = arena_alloc(&s->arena, sections * sizeof *s->fresh);
    s->failures = arena_alloc(&s->arena, sections * sizeof *s->failures);
    s->valley_of = arena_alloc(&s->arena, sections * sizeof *s->valley_of);
    s->change = arena_alloc(&s->arena, sections * sizeof *s->change);
    s->valleys = arena_alloc(&s->arena, sections * sizeof *s->valleys);
    for (unsigned i = 0; i < count; i++) {
        const struct pack_item *item = &items[order[i]];
        s->pieces[i] = (struct piece){
            .life = item->hull, .size = item->size, .pad = item->pad, .item = order[i]};
        s->pieces[i].twin = find_twin(s->pieces, i);
        for (unsigned k = item->hull.first; k < item->hull.end; k++) {
            s->fresh[k].unplaced += item->size;
            s->fresh[k].room = pack_max(s->fresh[k].room, item->pad);
        }
    }
    for (unsigned k = 0; k < s->section_count; k++) {
        s->fresh[k].room -= s->fresh[k].unplaced;
        s->fresh[k].top = GROUND;
    }
    return s;
}

/* Failures are counted anew: those of a search that gave up more often mislead the next one. */
enum pack_verdict pack_skyline_ask(struct pack_skyline *s, struct pack_question *question)
{
    question->nodes = 0;
    question->next_capacity = INT64_MAX;
    s->question = question;
    for (unsigned k = 0; k < s->section_count; k++) {
        s->sections[k] = s->fresh[k];
        s->failures[k] = 1;
        s->sections[k].room += question->capacity;
        if (s->sections[k].room < 0) {
            question->next_capacity = -s->fresh[k].room;
            return PACK_IMPOSSIBLE;
        }
    }
    for (unsigned i = 0; i < s->count; i++) {
        s->unplaced[i] = s->pieces[i].list_index = i;
        s->pieces[i].placed = false;
    }
    s->unplaced_count = s->count;
    s->undo_count = s->case_count = s->depth = 0;
    return skyline_solve(s);
}

void pack_skyline_close(struct pack_skyline *s)
{
    if (!s)
        return;
    arena_free(&s->arena);
    free(s->cases);
    free(s->undo);
    free(s);
}
