/* Plans items in the order of time, as an allocator would, but with the ends of their lives known.
 *
 *   1. The sweep begins where most bytes are alive, and wastes nothing there. From there it goes
 *      forward to the end, then back to the start. Elsewhere fewer bytes are alive, so that
 *      there is room for gaps. At the peak, items that end sooner than they are old lie in the
 *      order of their ends, the others above them in the order of their starts: so both sweeps
 *      first free items that are neighbours.
 *   2. An item goes to that end of a gap where its neighbour ends at nearly the same time, so that
 *      gaps grow together. A gap of which little is left is better.
 *   3. Where no gap is large enough, the sweep goes back to an earlier time, and comes to the same
 *      place with other weights and other gaps. If that does not help some times, the memory
 *      becomes a little higher.
 *   4. The next sweep begins with half of the distance to the bound, and tries more often.
 *
 * Gaps are few, so that an item takes a fraction of what it takes in pack_place.c.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "merge/pack/pack_model.h"

enum {
    BELOW,
    ABOVE,
    SIDES,
    START = 0,
    END,
    MOMENTS,
    TRIES = 16,      /* at one place in the first sweep; twice as many in the next */
    FAILURES = 4,    /* sweeps without a lower plan, after which there is no other */
    BACK = 8,        /* try k goes back by up to (k + 2) / BACK of the live items, */
    BACK_MOST = 40,  /* at most by this / BACK */
    GAPS_MOST = 512, /* that an item looks at, or more until it fits */
    STEPS_GAP = 2,
    STEPS_ITEM = 50,
};
/* What the memory grows by, as a part of the bound. */
static const double GROWTH = 1.0 / 2048;
/* The weight of what is left of a gap: at first, the least and the spread of its logarithm. Ends
 * weigh less if less than 1 / NEAR of the item's size is left. */
static const double REST = 0.1, REST_LEAST = 0.02, REST_SPREAD = 3, NEAR = 16;
/* Without tries the smallest gap is safer. */
static const double REST_ALONE = 1000;
/* Most of the logarithm of the weight of age at the peak, after a failure. */
static const double BIAS = 2;

struct gap {
    int64_t begin, end;
    unsigned below, ends[SIDES]; /* the item below, and the ends of the lives of both neighbours */
};

struct sweeper {
    struct arena arena;
    const struct pack_item *items;
    unsigned count, *order[MOMENTS], ended; /* ended: so many have */
    int64_t *offset, height;                /* of the memory */
    unsigned peak, last;                    /* sections */
    unsigned *at_peak, peak_count;          /* the items that are alive at the peak, by offset */
    bool is_back;                           /* time runs back from `last` */
    /* The items that are alive, by offset; item `count` is the floor, count + 1 the ceiling. Those
     * that have ended keep the neighbours that they had. */
    unsigned *neighbour[SIDES], alive;
    struct gap *gaps;
    unsigned gap_count, *gap_above; /* by item: the number of the gap, from 1 */
    double rest, late;              /* weights */
    struct random random;
};

static int64_t top_of(const struct sweeper *s, unsigned item)
{
    return item < s->count ? s->offset[item] + s->items[item].size : 0;
}

static unsigned start_of(const struct sweeper *s, unsigned item)
{
    return s->is_back ? s->last - s->items[item].hull.end : s->items[item].hull.first;
}

static unsigned end_of(const struct sweeper *s, unsigned item)
{
    if (item >= s->count)
        return UINT32_MAX / 2;
    return s->is_back ? s->last - s->items[item].hull.first : s->items[item].hull.end;
}

/* The item that starts, or ends, as number i. */
static unsigned nth(const struct sweeper *s, int moment, unsigned i)
{
    return s->is_back ? s->order[!moment][s->count - 1 - i] : s->order[moment][i];
}

/* Makes, changes or drops the gap above an item, whose end is the next item's offset. */
static void set_gap(struct sweeper *s, unsigned item, bool is_alive)
{
    const unsigned above = s->neighbour[ABOVE][item];
    const struct gap gap = {.begin = top_of(s, item),
                            .end = above < s->count ? s->offset[above] : s->height,
                            .below = item,
                            .ends = {end_of(s, item), end_of(s, above)}};
    unsigned *number = &s->gap_above[item];
    if (is_alive && gap.begin < gap.end) {
        *number = *number ? *number : ++s->gap_count;
        s->gaps[*number - 1] = gap;
    } else if (*number) {
        const struct gap last = s->gaps[--s->gap_count];
        s->gaps[*number - 1] = last;
        s->gap_above[last.below] = *number;
        *number = 0;
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
    set_gap(s, below, true);
    set_gap(s, item, true);
    s->alive++;
}

static void remove_item(struct sweeper *s, unsigned item)
{
    const unsigned below = s->neighbour[BELOW][item], above = s->neighbour[ABOVE][item];
    set_gap(s, item, false);
    link_items(s, below, above);
    set_gap(s, below, true);
    s->alive--;
}

/* Puts an item into the best gap; false if none is large enough. */
static bool place_item(struct sweeper *s, unsigned number)
{
    const struct pack_item *item = &s->items[number];
    const double end = end_of(s, number), per_life = 1 / (end - start_of(s, number));
    const unsigned looks = s->gap_count < GAPS_MOST ? s->gap_count : GAPS_MOST;
    unsigned i = looks < s->gap_count ? (unsigned)random_below(&s->random, s->gap_count) : 0;
    double best = HUGE_VAL;
    unsigned below = 0;
    pack_steps += STEPS_ITEM + STEPS_GAP * looks;
    for (unsigned k = 0; k < (best < HUGE_VAL ? looks : s->gap_count);
         k++, i = i + 1 < s->gap_count ? i + 1 : 0) {
        const struct gap *gap = &s->gaps[i];
        if (gap->end - gap->begin < item->size)
            continue;
        const double rest = (double)(gap->end - gap->begin - item->size) / (double)item->size;
        double apart[SIDES];
        for (int side = BELOW; side < SIDES; side++) {
            const double late = end - gap->ends[side];
            apart[side] = late > 0 ? late * s->late : -late;
        }
        const int side = apart[ABOVE] < apart[BELOW] ? ABOVE : BELOW;
        const double cost = apart[side] * per_life * fmin(1, NEAR * rest) + s->rest * fmin(1, rest);
        const int64_t over = (gap->end - item->size) % item->alignment;
        const int64_t at =
            side == BELOW ? pack_align(gap->begin, item->alignment) : gap->end - item->size - over;
        if (cost >= best || at < gap->begin || at + item->size > gap->end)
            continue;
        best = cost;
        below = gap->below;
        s->offset[number] = at;
    }
    if (best < HUGE_VAL)
        insert_item(s, below, number);
    return best < HUGE_VAL;
}

/* Takes back the item that was placed last, and the ends of lives since. */
static void go_back(struct sweeper *s, unsigned last)
{
    while (s->ended > 0 && end_of(s, nth(s, END, s->ended - 1)) > start_of(s, last)) {
        const unsigned item = nth(s, END, --s->ended);
        insert_item(s, s->neighbour[BELOW][item], item);
    }
    remove_item(s, last);
}

/* Makes room for an item that fits nowhere: what it needs, but at most so much. */
static void grow_memory(struct sweeper *s, const struct pack_item *item, int64_t most)
{
    const unsigned top = s->neighbour[BELOW][s->count + 1];
    const int64_t need = pack_align(top_of(s, top), item->alignment) + item->size;
    s->height = pack_min(need, s->height + most);
    set_gap(s, top, true);
}

/* Lays the items of the peak one on the other; with more `bias` less of them by end. */
static void lay_peak(struct sweeper *s, double bias)
{
    int64_t top = 0;
    s->peak_count = 0;
    for (unsigned i = 0; i < 2 * s->count; i++) {
        const bool is_young = i >= s->count;
        const unsigned number = is_young ? s->order[START][i - s->count] : s->order[END][i];
        const struct pack_item *item = &s->items[number];
        if (item->hull.first > s->peak || item->hull.end <= s->peak ||
            is_young != (s->peak - item->hull.first < bias * (item->hull.end - s->peak)))
            continue;
        s->offset[number] = pack_align(top, item->alignment);
        top = s->offset[number] + item->size;
        s->at_peak[s->peak_count++] = number;
    }
    s->height = pack_max(s->height, top);
}

/* Sweeps from the peak in one direction through a memory of s->height, which grows; false if it
 * would reach `below`, or that is a limit and the time is over. */
static bool sweep(struct sweeper *s, int64_t growth, unsigned tries, int64_t below,
                  uint64_t deadline_ns)
{
    const unsigned peak = s->is_back ? s->last - 1 - s->peak : s->peak;
    unsigned first = 0;
    memset(s->gap_above, 0, (s->count + 2) * sizeof *s->gap_above);
    s->gap_count = s->alive = s->ended = 0;
    link_items(s, s->count, s->count + 1);
    set_gap(s, s->count, true);
    for (unsigned i = 0; i < s->peak_count; i++)
        insert_item(s, i ? s->at_peak[i - 1] : s->count, s->at_peak[i]);
    while (end_of(s, nth(s, END, s->ended)) <= peak)
        s->ended++;
    while (first < s->count && start_of(s, nth(s, START, first)) <= peak)
        first++;
    s->rest = pack_now() > deadline_ns ? REST_ALONE : REST;
    s->late = 1;
    for (unsigned i = first, far = 0, tried = 0; i < s->count && s->height < below;) {
        const unsigned item = nth(s, START, i);
        while (s->ended < s->count && end_of(s, nth(s, END, s->ended)) <= start_of(s, item))
            remove_item(s, nth(s, END, s->ended++));
        const bool is_late = pack_now() > deadline_ns;
        if (is_late && below < INT64_MAX)
            return false;
        if (place_item(s, item)) {
            i++;
            continue;
        }
        tried = i > far ? 1 : tried + 1;
        far = i > far ? i : far;
        if (is_late || tried > tries) {
            grow_memory(s, &s->items[item], is_late ? INT64_MAX / 2 : growth);
            tried = 0;
            continue;
        }
        const uint64_t most =
            (uint64_t)s->alive * (tried + 2 < BACK_MOST ? tried + 2 : BACK_MOST) / BACK + 1;
        for (uint64_t back = 1 + random_below(&s->random, most); back > 0 && i > first; back--)
            go_back(s, nth(s, START, --i));
        s->rest = REST_LEAST * exp(REST_SPREAD * random_unit(&s->random));
        s->late = 0.5 + random_unit(&s->random);
    }
    return s->height < below;
}

int64_t pack_sweep(const struct pack_item *items, unsigned count, int64_t enough,
                   uint64_t deadline_ns, int64_t *offset)
{
    struct sweeper s = {.items = items, .count = count, .last = pack_section_count(items, count)};
    const int64_t floor = pack_max(enough, pack_load_bound(items, count, &s.peak));
    const int64_t growth = (int64_t)((double)floor * GROWTH) + 1;
    int64_t below = INT64_MAX;
    unsigned failures = 0;
    unsigned **numbers[] = {&s.order[START],     &s.order[END], &s.neighbour[BELOW],
                            &s.neighbour[ABOVE], &s.gap_above,  &s.at_peak};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = arena_alloc(&s.arena, (count + 2) * sizeof **numbers[i]);
    s.offset = arena_alloc(&s.arena, count * sizeof *s.offset);
    s.gaps = arena_alloc(&s.arena, (count + 2) * sizeof *s.gaps);
    pack_order_fill(items, count, PACK_TIME, s.order[START]);
    pack_order_fill(items, count, PACK_END, s.order[END]);
    for (unsigned tries = TRIES; below > floor && failures < FAILURES; tries *= 2) {
        const uint64_t now = pack_now(), left = deadline_ns > now ? deadline_ns - now : 0;
        const int64_t half = (below - floor) / 2;
        const bool is_first = below == INT64_MAX;
        s.height = is_first || half < growth ? floor : floor + half;
        lay_peak(&s, failures ? exp(BIAS * (2 * random_unit(&s.random) - 1)) : 1);
        bool fits = sweep(&s, growth, tries, below, is_first ? now + left / 2 : deadline_ns);
        s.is_back = true;
        fits = fits && sweep(&s, growth, tries, below, deadline_ns);
        s.is_back = false;
        if (fits) {
            below = pack_height(items, count, s.offset);
            memcpy(offset, s.offset, count * sizeof *offset);
        } else {
            failures++;
        }
        if (pack_now() > deadline_ns)
            break;
    }
    arena_free(&s.arena);
    return below;
}
