/* Exact search in order of offset, for any buffers: the algorithm of MiniMalloc (Moffitt 2023) with
 * one more prune and dense arrays.
 *
 * It searches depth first and places each item as low as the placed items allow (`least`):
 *
 *   1. Canonical: offsets never go down from one placement to the next, and at one offset the
 *      static order goes up. Every plan that cannot be pushed down has exactly one such order.
 *   2. Dominance: no item goes above room that a whole unplaced item would fit in.
 *   3. Sections: the unplaced members of a section start no lower than its floor, the smallest
 *      `least` of them; floor and unplaced bytes must stay within the capacity.
 *   4. No later item is lower than the current offset, in any section. So one offset rules out all
 *      higher ones: the candidates end at the first that leaves too little room above it in some
 *      section.
 *   5. Decomposition: if no unplaced item crosses a boundary, the two sides are solved alone.
 *   6. Hatless: if no unplaced item meets an item and the rest fails, it fails wherever the item
 *      lies.
 *
 * A life of several intervals only means more sections; it crosses the boundaries between its
 * intervals. Alignment only raises `least`, which stays monotonic in the items below; rules 1 and 2
 * need no more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "merge/pack/pack_model.h"

static const int64_t PLACED = INT64_MAX; /* the `least` of a placed item: no minimum takes it */
enum { CLOCK_EVERY = 256, STEPS_NODE = 200, STEPS_ITEM = 3 };

struct undo {
    int64_t *where, old;
};

/* Lists of unsigned numbers, one after the other: list i is [first[i], first[i + 1]). */
struct lists {
    unsigned *first, *values;
};

struct pack_search {
    struct arena arena; /* all but the neighbours and the stack of changes */
    unsigned count, section_count;
    struct pack_item *items; /* in the static order */
    unsigned *source;        /* by item: its number in the caller's order */
    struct lists neighbours; /* by item: the items that it meets */
    struct lists members;    /* by section: its items */
    int64_t *least, *offset; /* by item */
    int64_t *floor, *unplaced, *pad;
    int64_t *crossing; /* by section: unplaced items that cross the boundary in front of it */
    unsigned *slice;   /* item numbers; a subproblem is a range of it */
    unsigned *dirty;   /* the sections whose floor may have risen */
    unsigned dirty_count;
    bool *is_dirty;
    struct undo *undo;
    size_t undo_count, undo_capacity;
    struct pack_question *question;
};

/* A subproblem: the items slice[first..end) are to be placed, after (`offset`, `item`). */
struct position {
    unsigned first, end;
    int64_t offset;
    int64_t item;
};

static void search_set(struct pack_search *s, int64_t *where, int64_t value)
{
    if (s->undo_count == s->undo_capacity) {
        s->undo_capacity = 2 * s->undo_capacity + 1024;
        s->undo = must_realloc(s->undo, s->undo_capacity * sizeof *s->undo);
    }
    s->undo[s->undo_count++] = (struct undo){where, *where};
    *where = value;
}

static void search_rewind(struct pack_search *s, size_t mark)
{
    while (s->undo_count > mark) {
        const struct undo *undo = &s->undo[--s->undo_count];
        *undo->where = undo->old;
    }
}

static bool within(struct pack_search *s, int64_t needed)
{
    if (needed <= s->question->capacity)
        return true;
    s->question->next_capacity = pack_min(s->question->next_capacity, needed);
    return false;
}

/* Marks the sections of an item whose floor is no lower than `from`. */
static void mark_dirty(struct pack_search *s, const struct pack_item *item, int64_t from)
{
    for (unsigned r = 0; r < item->range_count; r++)
        for (unsigned k = item->ranges[r].first; k < item->ranges[r].end; k++)
            if (s->floor[k] >= from && !s->is_dirty[k]) {
                s->is_dirty[k] = true;
                s->dirty[s->dirty_count++] = k;
            }
}

static bool raise_floors(struct pack_search *s)
{
    bool fits = true;
    for (unsigned i = 0; i < s->dirty_count; i++) {
        const unsigned k = s->dirty[i];
        s->is_dirty[k] = false;
        if (!fits || !s->unplaced[k])
            continue;
        int64_t least = PLACED;
        pack_steps += s->members.first[k + 1] - s->members.first[k];
        for (unsigned m = s->members.first[k]; m < s->members.first[k + 1]; m++)
            least = pack_min(least, s->least[s->members.values[m]]);
        search_set(s, &s->floor[k], least);
        fits = within(s, least + s->unplaced[k] - s->pad[k]);
    }
    s->dirty_count = 0;
    return fits;
}

/* Places an item. False if the other items cannot be placed then. */
static bool search_place(struct pack_search *s, unsigned number)
{
    const struct pack_item *item = &s->items[number];
    const int64_t top = s->least[number] + item->size;
    bool fits = true;
    s->offset[number] = s->least[number];
    search_set(s, &s->least[number], PLACED);
    for (unsigned r = 0; r < item->range_count; r++)
        for (unsigned k = item->ranges[r].first; k < item->ranges[r].end; k++)
            search_set(s, &s->unplaced[k], s->unplaced[k] - item->size);
    for (unsigned k = item->hull.first + 1; k < item->hull.end; k++)
        search_set(s, &s->crossing[k], s->crossing[k] - 1);
    mark_dirty(s, item, 0);
    for (unsigned i = s->neighbours.first[number]; i < s->neighbours.first[number + 1]; i++) {
        const unsigned other = s->neighbours.values[i];
        const int64_t old = s->least[other], raised = pack_align(top, s->items[other].alignment);
        if (old >= raised)
            continue;
        search_set(s, &s->least[other], raised);
        fits = within(s, raised + s->items[other].size - s->items[other].pad) && fits;
        mark_dirty(s, &s->items[other], old);
    }
    return raise_floors(s) && fits;
}

/* The sections that the items of a position are in. */
static struct pack_range position_span(const struct pack_search *s, const struct position *p)
{
    struct pack_range all = {s->section_count, 0};
    for (unsigned i = p->first; i < p->end; i++) {
        const struct pack_range hull = s->items[s->slice[i]].hull;
        all.first = hull.first < all.first ? hull.first : all.first;
        all.end = hull.end > all.end ? hull.end : all.end;
    }
    return all;
}

/* Rules 2 and 4: candidates lie lower than `below` and no higher than `highest`. */
static void position_limits(const struct pack_search *s, const struct position *p, int64_t *below,
                            int64_t *highest)
{
    const struct pack_range all = position_span(s, p);
    *below = *highest = INT64_MAX;
    for (unsigned i = p->first; i < p->end; i++)
        *below = pack_min(*below, s->least[s->slice[i]] + s->items[s->slice[i]].size);
    for (unsigned k = all.first; k < all.end; k++)
        if (s->unplaced[k])
            *highest = pack_min(*highest, s->question->capacity + s->pad[k] - s->unplaced[k]);
}

/* The slot of the first item after the position's in canonical order; p->end if there is none. */
static unsigned next_candidate(const struct pack_search *s, const struct position *p)
{
    unsigned best = p->end;
    int64_t best_least = INT64_MAX;
    pack_steps += STEPS_ITEM * (p->end - p->first);
    for (unsigned i = p->first; i < p->end; i++) {
        const unsigned item = s->slice[i];
        const int64_t least = s->least[item];
        if (least > best_least || least < p->offset || (least == p->offset && item <= p->item))
            continue;
        if (least < best_least || item < s->slice[best]) {
            best = i;
            best_least = least;
        }
    }
    return best;
}

static bool is_cut(const struct pack_search *s, const struct pack_item *item)
{
    for (unsigned k = item->hull.first + 1; k < item->hull.end; k++)
        if (!s->crossing[k])
            return true;
    return false;
}

static bool is_hatless(const struct pack_search *s, unsigned number)
{
    for (unsigned i = s->neighbours.first[number]; i < s->neighbours.first[number + 1]; i++)
        if (s->least[s->neighbours.values[i]] != PLACED)
            return false;
    return true;
}

static void swap_numbers(unsigned *a, unsigned *b)
{
    const unsigned t = *a;
    *a = *b;
    *b = t;
}

static enum pack_verdict search_solve(struct pack_search *s, struct position p);

/* Splits a position at the first boundary that no unplaced item crosses. */
static enum pack_verdict solve_parts(struct pack_search *s, struct position p)
{
    const struct pack_range all = position_span(s, &p);
    for (unsigned k = all.first + 1; k < all.end; k++) {
        if (s->crossing[k])
            continue;
        unsigned split = p.first;
        for (unsigned i = p.first; i < p.end; i++)
            if (s->items[s->slice[i]].hull.first < k)
                swap_numbers(&s->slice[i], &s->slice[split++]);
        if (split == p.first || split == p.end)
            continue;
        const size_t mark = s->undo_count;
        enum pack_verdict verdict =
            search_solve(s, (struct position){p.first, split, p.offset, p.item});
        if (verdict == PACK_SOLVED)
            verdict = solve_parts(s, (struct position){split, p.end, p.offset, p.item});
        if (verdict != PACK_SOLVED)
            search_rewind(s, mark);
        return verdict;
    }
    return search_solve(s, p);
}

static enum pack_verdict search_solve(struct pack_search *s, struct position p)
{
    if (p.first == p.end)
        return PACK_SOLVED;
    struct pack_question *q = s->question;
    pack_steps += STEPS_NODE;
    if (++q->nodes > q->node_limit || (q->nodes % CLOCK_EVERY == 0 && pack_now() > q->deadline_ns))
        return PACK_GAVE_UP;
    int64_t below, highest;
    position_limits(s, &p, &below, &highest);
    const size_t mark = s->undo_count;
    for (unsigned slot; (slot = next_candidate(s, &p)) != p.end;) {
        const unsigned item = s->slice[slot];
        p.offset = s->least[item];
        p.item = item;
        if (p.offset >= below)
            break;
        if (p.offset > highest) {
            within(s, q->capacity + p.offset - highest);
            break;
        }
        swap_numbers(&s->slice[slot], &s->slice[p.first]);
        if (search_place(s, item)) {
            const struct position rest = {p.first + 1, p.end, p.offset, p.item};
            const bool hatless = is_hatless(s, item);
            const enum pack_verdict verdict =
                is_cut(s, &s->items[item]) ? solve_parts(s, rest) : search_solve(s, rest);
            if (verdict != PACK_IMPOSSIBLE)
                return verdict;
            if (hatless) {
                search_rewind(s, mark);
                break;
            }
        }
        search_rewind(s, mark);
    }
    return PACK_IMPOSSIBLE;
}

static void list_neighbours(struct pack_search *s)
{
    unsigned capacity = 0, used = 0;
    s->neighbours.first = arena_alloc(&s->arena, (s->count + 1) * sizeof(unsigned));
    for (unsigned i = 0; i < s->count; i++) {
        if (used + s->count > capacity) {
            capacity = 2 * capacity + s->count;
            s->neighbours.values = must_realloc(s->neighbours.values, capacity * sizeof(unsigned));
        }
        for (unsigned k = 0; k < s->count; k++)
            if (k != i && pack_items_meet(&s->items[i], &s->items[k]))
                s->neighbours.values[used++] = k;
        s->neighbours.first[i + 1] = used;
    }
}

static void list_members(struct pack_search *s)
{
    unsigned *first = arena_alloc(&s->arena, (s->section_count + 2) * sizeof *first);
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < s->count; i++)
            for (unsigned r = 0; r < s->items[i].range_count; r++)
                for (unsigned k = s->items[i].ranges[r].first; k < s->items[i].ranges[r].end; k++)
                    if (pass == 0)
                        first[k + 2]++;
                    else /* first[k + 1] runs from the start of list k to its end */
                        s->members.values[first[k + 1]++] = i;
        for (unsigned k = 0; pass == 0 && k < s->section_count; k++)
            first[k + 2] += first[k + 1];
        if (pass == 0)
            s->members.values =
                arena_alloc(&s->arena, (first[s->section_count + 1] + 1) * sizeof(unsigned));
    }
    s->members.first = first;
}

struct hashed {
    uint64_t hash;
    unsigned section;
};

ORDER_BY_BOTH(by_hash, struct hashed, hash, section)

static bool same_members(const struct pack_search *s, unsigned a, unsigned b)
{
    const unsigned *first = s->members.first, count = first[a + 1] - first[a];
    return count == first[b + 1] - first[b] &&
           memcmp(&s->members.values[first[a]], &s->members.values[first[b]],
                  count * sizeof *s->members.values) == 0;
}

/* number[k] becomes the number of section k without those that repeat one before; theirs is
 * REPEATED. Returns how many are left. */
static const unsigned REPEATED = UINT32_MAX;
static unsigned number_sections(const struct pack_search *s, unsigned *number)
{
    struct hashed *hashed = must_alloc((s->section_count + 1) * sizeof *hashed);
    for (unsigned k = 0; k < s->section_count; k++) {
        hashed[k].section = k;
        for (unsigned m = s->members.first[k]; m < s->members.first[k + 1]; m++)
            hashed[k].hash += random_mix(s->members.values[m] + 1);
    }
    qsort(hashed, s->section_count, sizeof *hashed, by_hash);
    for (unsigned k = 1; k < s->section_count; k++)
        if (hashed[k].hash == hashed[k - 1].hash &&
            same_members(s, hashed[k].section, hashed[k - 1].section))
            number[hashed[k].section] = REPEATED;
    free(hashed);
    unsigned left = 0;
    for (unsigned k = 0; k < s->section_count; k++)
        if (number[k] != REPEATED)
            number[k] = left++;
    return left;
}

/* The ranges of an item in new numbers, at `to`. */
static void renumber_item(struct pack_item *item, const unsigned *number, struct pack_range *to)
{
    unsigned count = 0;
    for (unsigned r = 0; r < item->range_count; r++)
        for (unsigned k = item->ranges[r].first; k < item->ranges[r].end; k++) {
            if (number[k] == REPEATED)
                continue;
            if (count && to[count - 1].end == number[k])
                to[count - 1].end++;
            else
                to[count++] = (struct pack_range){number[k], number[k] + 1};
        }
    item->ranges = to;
    item->range_count = count;
    item->hull = (struct pack_range){to[0].first, to[count - 1].end};
}

/* Lives of several intervals repeat: the same items are alive at once many times. One section of
 * each kind is enough. */
static void drop_repeated_sections(struct pack_search *s)
{
    size_t ranges = 0;
    for (unsigned i = 0; i < s->count; i++)
        ranges += s->items[i].range_count;
    if (ranges == s->count)
        return;
    unsigned *number = must_alloc((s->section_count + 1) * sizeof *number);
    const unsigned left = number_sections(s, number);
    if (left < s->section_count) {
        struct pack_range *to = arena_alloc(&s->arena, ranges * sizeof *to);
        for (unsigned i = 0; i < s->count; i++) {
            const unsigned before = s->items[i].range_count;
            renumber_item(&s->items[i], number, to);
            to += before;
        }
        s->section_count = left;
        list_members(s);
    }
    free(number);
}

struct pack_search *pack_search_open(const struct pack_item *items, unsigned count,
                                     const unsigned *order)
{
    struct pack_search *s = must_alloc(sizeof *s);
    s->count = count;
    s->section_count = pack_section_count(items, count);
    s->items = arena_alloc(&s->arena, count * sizeof *s->items);
    s->source = arena_alloc(&s->arena, count * sizeof *s->source);
    s->least = arena_alloc(&s->arena, count * sizeof *s->least);
    s->offset = arena_alloc(&s->arena, count * sizeof *s->offset);
    s->slice = arena_alloc(&s->arena, count * sizeof *s->slice);
    s->floor = arena_alloc(&s->arena, s->section_count * sizeof *s->floor);
    s->unplaced = arena_alloc(&s->arena, s->section_count * sizeof *s->unplaced);
    s->pad = arena_alloc(&s->arena, s->section_count * sizeof *s->pad);
    s->crossing = arena_alloc(&s->arena, s->section_count * sizeof *s->crossing);
    s->dirty = arena_alloc(&s->arena, s->section_count * sizeof *s->dirty);
    s->is_dirty = arena_alloc(&s->arena, s->section_count * sizeof *s->is_dirty);
    for (unsigned i = 0; i < count; i++) {
        s->source[i] = order[i];
        s->items[i] = items[order[i]];
    }
    list_neighbours(s);
    list_members(s);
    drop_repeated_sections(s);
    return s;
}

enum pack_verdict pack_search_ask(struct pack_search *s, struct pack_question *question)
{
    s->question = question;
    question->nodes = 0;
    question->next_capacity = INT64_MAX;
    memset(s->least, 0, s->count * sizeof *s->least);
    memset(s->floor, 0, s->section_count * sizeof *s->floor);
    memset(s->crossing, 0, s->section_count * sizeof *s->crossing);
    pack_section_loads(s->items, s->count, s->unplaced, s->pad);
    for (unsigned k = 0; k < s->section_count; k++)
        if (!within(s, s->unplaced[k] - s->pad[k]))
            return PACK_IMPOSSIBLE;
    for (unsigned i = 0; i < s->count; i++) {
        s->slice[i] = i;
        for (unsigned k = s->items[i].hull.first + 1; k < s->items[i].hull.end; k++)
            s->crossing[k]++;
    }
    s->undo_count = 0;
    const enum pack_verdict verdict = solve_parts(s, (struct position){0, s->count, -1, -1});
    for (unsigned i = 0; verdict == PACK_SOLVED && i < s->count; i++)
        question->offset[s->source[i]] = s->offset[i];
    return verdict;
}

void pack_search_close(struct pack_search *s)
{
    if (!s)
        return;
    arena_free(&s->arena);
    free(s->neighbours.values);
    free(s->undo);
    free(s);
}
