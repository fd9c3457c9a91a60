/* Plans items in the order of time, as an allocator would, but with the ends of their lives known.
 *
 *   1. The items that are alive stand in a list by offset, with the gaps between them. An item goes
 *      to that end of a gap where its neighbour ends at nearly the same time as itself, so that
 *      gaps grow together; a gap of which little is left, and above all one of its size, is better.
 *   2. Where no gap is large enough, the sweep goes back to an earlier time, weighs rest against
 *      ends otherwise, and comes to the same place with other gaps. If that does not help some
 *      times, the memory becomes a little higher.
 *   3. The next sweep begins with half of the distance to the bound, and tries more often.
 *
 * The memory has a gap for about every root of the items that are alive, so that an item takes a
 * fraction of what the tree of pack_place.c takes, and most are placed once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "merge/pack/pack_model.h"

enum { BELOW, ABOVE, ENDS }; /* the neighbours of a gap */
enum {
    TRIES = 16,       /* at one place in the first sweep; twice as many in the next */
    FAILURES = 3,     /* after so many sweeps without a lower plan there is no other */
    MARKS = 32,       /* the last places to go back to */
    MARKS_A_LIFE = 8, /* while the items that are alive are placed anew */
    MARKS_APART = 16, /* the fewest items between two */
    GAPS_MOST = 4096, /* of more, an item looks at so many */
    STEPS_GAP = 2,
    STEPS_ITEM = 50,
};
/* What the memory grows by, as a part of the bound. */
static const double GROWTH = 1.0 / 2048;
/* The weight of what is left of a gap: at first, and the least and its spread (a logarithm). */
static const double REST = 0.1, REST_LEAST = 0.02, REST_SPREAD = 3;

struct gap {
    int64_t begin, end;
    unsigned below, ends[ENDS]; /* the item below, and the ends of the lives of both neighbours */
};

/* The items that are alive before item `next` of the order is placed, by offset. */
struct mark {
    unsigned next, count, capacity, *alive;
};

struct sweeper {
    struct arena arena;
    const struct pack_item *items;
    unsigned count, *order, *ending, *next_ending; /* the items that end at a section, as a list */
    int64_t *offset, height;                       /* of the memory */
    /* The list of items that are alive; item `count` is the floor, count + 1 the ceiling. */
    unsigned *neighbour[ENDS], alive, section;
    struct gap *gaps;
    unsigned gap_count, *gap_above; /* by item: the number of the gap, from 1 */
    struct mark marks[MARKS];
    unsigned first_mark, mark_count;
    double rest, late; /* weights */
    struct random random;
};

static int64_t end_of(const struct sweeper *s, unsigned item)
{
    return item < s->count ? s->offset[item] + s->items[item].size : 0;
}

static unsigned death_of(const struct sweeper *s, unsigned item)
{
    return item < s->count ? s->items[item].hull.end : UINT32_MAX / 2;
}

static void drop_gap(struct sweeper *s, unsigned item)
{
    const struct gap last = s->gaps[--s->gap_count];
    s->gaps[s->gap_above[item] - 1] = last;
    s->gap_above[last.below] = s->gap_above[item];
    s->gap_above[item] = 0;
}

/* Makes, changes or drops the gap above an item. */
static void set_gap(struct sweeper *s, unsigned item)
{
    const unsigned above = s->neighbour[ABOVE][item];
    const struct gap gap = {.begin = end_of(s, item),
                            .end = above < s->count ? s->offset[above] : s->height,
                            .below = item,
                            .ends = {death_of(s, item), death_of(s, above)}};
    unsigned *number = &s->gap_above[item];
    if (gap.begin < gap.end) {
        *number = *number ? *number : ++s->gap_count;
        s->gaps[*number - 1] = gap;
    } else if (*number) {
        drop_gap(s, item);
    }
}

static void link_items(struct sweeper *s, unsigned below, unsigned above)
{
    s->neighbour[ABOVE][below] = above;
    s->neighbour[BELOW][above] = below;
}

static void insert_item(struct sweeper *s, unsigned below, unsigned item)
{
    link_items(s, item, s->neighbour[ABOVE][below]);
    link_items(s, below, item);
    s->alive++;
}

static void remove_item(struct sweeper *s, unsigned item)
{
    const unsigned below = s->neighbour[BELOW][item];
    if (s->gap_above[item])
        drop_gap(s, item);
    link_items(s, below, s->neighbour[ABOVE][item]);
    set_gap(s, below);
    s->alive--;
}

/* The offset of an item at an end of a gap; it may be outside. */
static int64_t place_at(const struct gap *gap, const struct pack_item *item, int side)
{
    return side == BELOW ? pack_align(gap->begin, item->alignment)
                         : gap->end - item->size - (gap->end - item->size) % item->alignment;
}

static double cost_of(const struct sweeper *s, const struct pack_item *item, const struct gap *gap,
                      int side)
{
    const double late = (double)item->hull.end - gap->ends[side];
    return late > 0 ? late * s->late : -late;
}

/* Puts an item into the best gap; false if none is large enough. */
static bool place_item(struct sweeper *s, unsigned number)
{
    const struct pack_item *item = &s->items[number];
    const double size = (double)item->size, life = item->hull.end - item->hull.first + 1.0;
    const unsigned tries = s->gap_count < GAPS_MOST ? s->gap_count : GAPS_MOST;
    const unsigned first = tries < s->gap_count ? random_below(&s->random, s->gap_count) : 0;
    double best = HUGE_VAL;
    unsigned below = 0;
    pack_steps += STEPS_ITEM + STEPS_GAP * tries;
    for (unsigned k = 0, i = first; k < tries; k++, i = i + 1 < s->gap_count ? i + 1 : 0) {
        const struct gap *gap = &s->gaps[i];
        const int64_t rest = gap->end - gap->begin - item->size;
        if (rest < 0)
            continue;
        const double costs[ENDS] = {cost_of(s, item, gap, BELOW), cost_of(s, item, gap, ABOVE)};
        const int side = costs[ABOVE] < costs[BELOW] ? ABOVE : BELOW;
        const double part = (double)rest < size ? (double)rest / size : 1;
        const double cost = rest ? costs[side] / life + s->rest * part : 0;
        if (cost >= best)
            continue;
        const int64_t at = place_at(gap, item, side);
        if (at < gap->begin || at + item->size > gap->end)
            continue;
        best = cost;
        below = gap->below;
        s->offset[number] = at;
    }
    if (best == HUGE_VAL)
        return false;
    insert_item(s, below, number);
    set_gap(s, below);
    set_gap(s, number);
    return true;
}

static void end_items(struct sweeper *s, unsigned section)
{
    for (; s->section <= section; s->section++)
        for (unsigned i = s->ending[s->section]; i != s->count; i = s->next_ending[i])
            remove_item(s, i);
}

static void set_mark(struct sweeper *s, unsigned next)
{
    struct mark *mark = &s->marks[(s->first_mark + s->mark_count) % MARKS];
    if (s->mark_count == MARKS)
        s->first_mark++;
    else
        s->mark_count++;
    if (mark->capacity < s->alive) {
        mark->capacity = 2 * s->alive;
        mark->alive = must_realloc(mark->alive, mark->capacity * sizeof *mark->alive);
    }
    mark->next = next;
    mark->count = 0;
    for (unsigned i = s->neighbour[ABOVE][s->count]; i < s->count; i = s->neighbour[ABOVE][i])
        mark->alive[mark->count++] = i;
}

static void empty_memory(struct sweeper *s)
{
    for (unsigned i = 0; i < s->gap_count; i++)
        s->gap_above[s->gaps[i].below] = 0;
    s->gap_count = s->alive = 0;
    link_items(s, s->count, s->count + 1);
}

/* Goes back by some marks, and forgets those after it. Returns the next item of the order. */
static unsigned go_back(struct sweeper *s, unsigned marks)
{
    s->mark_count -= marks < s->mark_count ? marks : s->mark_count - 1;
    const struct mark *mark = &s->marks[(s->first_mark + s->mark_count - 1) % MARKS];
    empty_memory(s);
    unsigned below = s->count;
    for (unsigned i = 0; i < mark->count; below = mark->alive[i++]) {
        insert_item(s, below, mark->alive[i]);
        set_gap(s, below);
    }
    set_gap(s, below);
    s->section = s->items[s->order[mark->next]].hull.first + 1;
    return mark->next;
}

/* Makes room for an item that fits nowhere, a little of it at a time while there are tries. */
static void grow_memory(struct sweeper *s, unsigned item, int64_t most)
{
    const unsigned top = s->neighbour[BELOW][s->count + 1];
    const int64_t need = pack_align(end_of(s, top), s->items[item].alignment) + s->items[item].size;
    s->height = pack_min(need, s->height + most);
    set_gap(s, top);
}

/* One sweep through a memory of s->height, which grows; false if it would reach `below`. */
static bool sweep(struct sweeper *s, int64_t growth, unsigned tries, int64_t below,
                  uint64_t deadline_ns)
{
    unsigned far = 0, tried = 0, until_mark = 0;
    empty_memory(s);
    set_gap(s, s->count);
    s->section = s->mark_count = 0;
    s->rest = REST;
    s->late = 1;
    for (unsigned i = 0; i < s->count;) {
        const bool is_late = pack_now() > deadline_ns;
        end_items(s, s->items[s->order[i]].hull.first);
        if (!is_late && until_mark-- == 0) {
            set_mark(s, i);
            until_mark = s->alive / MARKS_A_LIFE + MARKS_APART;
        }
        if (place_item(s, s->order[i])) {
            i++;
            continue;
        }
        if (i > far) {
            far = i;
            tried = 0;
        }
        if (!is_late && tried++ < tries) {
            i = go_back(s, (unsigned)random_below(&s->random, tried + 2));
            until_mark = s->alive / MARKS_A_LIFE + MARKS_APART;
            s->rest = REST_LEAST * exp(REST_SPREAD * random_unit(&s->random));
            s->late = 0.5 + random_unit(&s->random);
        } else {
            grow_memory(s, s->order[i], is_late ? INT64_MAX / 2 : growth);
            tried = 0;
            if (s->height >= below)
                return false;
        }
    }
    return true;
}

/* The first item that ends at each section, and the next that ends there. */
static void open_sweeper(struct sweeper *s)
{
    const unsigned count = s->count, sections = pack_section_count(s->items, count);
    s->order = arena_alloc(&s->arena, count * sizeof *s->order);
    s->offset = arena_alloc(&s->arena, count * sizeof *s->offset);
    s->ending = arena_alloc(&s->arena, (sections + 1) * sizeof *s->ending);
    s->next_ending = arena_alloc(&s->arena, count * sizeof *s->next_ending);
    for (int side = BELOW; side < ENDS; side++)
        s->neighbour[side] = arena_alloc(&s->arena, (count + 2) * sizeof **s->neighbour);
    s->gaps = arena_alloc(&s->arena, (count + 2) * sizeof *s->gaps);
    s->gap_above = arena_alloc(&s->arena, (count + 2) * sizeof *s->gap_above);
    pack_order_fill(s->items, count, PACK_TIME, s->order);
    for (unsigned i = 0; i <= sections; i++)
        s->ending[i] = count;
    for (unsigned i = count; i-- > 0;) {
        s->next_ending[i] = s->ending[s->items[i].hull.end];
        s->ending[s->items[i].hull.end] = i;
    }
}

int64_t pack_sweep(const struct pack_item *items, unsigned count, int64_t enough, int64_t below,
                   uint64_t deadline_ns, int64_t *offset)
{
    struct sweeper s = {.items = items, .count = count};
    const int64_t floor = pack_max(enough, pack_load_bound(items, count));
    int64_t best = INT64_MAX, target = floor;
    unsigned tries = TRIES, failures = 0;
    open_sweeper(&s);
    do {
        s.height = target;
        if (sweep(&s, (int64_t)((double)floor * GROWTH) + 1, tries, below, deadline_ns)) {
            best = below = pack_height(items, count, s.offset);
            memcpy(offset, s.offset, count * sizeof *offset);
        } else {
            failures++;
        }
        tries *= 2;
        target = floor + (below - floor) / 2;
    } while (best > floor && failures < FAILURES && pack_now() <= deadline_ns);
    for (unsigned i = 0; i < MARKS; i++)
        free(s.marks[i].alive);
    arena_free(&s.arena);
    return best;
}
