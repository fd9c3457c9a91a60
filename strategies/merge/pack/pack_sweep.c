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
 *      place with other weights and other gaps.
 *   4. If that does not help some times, most likely nearly as many bytes are alive there as at the
 *      peak. So a bridge is made. The fullest section nearby becomes a peak of its own, with
 *      nothing wasted. A second sweep goes from it towards the first, to a valley: a section some
 *      lives earlier where few bytes are alive. What is alive in the valley has its place, and is
 *      a wall for this second sweep. The first sweep goes on beyond the new peak.
 *   5. If no bridge holds, the memory becomes a little higher.
 *   6. The next sweep begins with half of the distance to the bound, and tries more often.
 *
 * Gaps are few, so that an item takes a fraction of what it takes in pack_place.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
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
    BRIDGES = 4,     /* at one place, each two of them twice as long as the two before */
    BRIDGE_TRIES = 16,
    NO_VALLEY = BRIDGES + 1,
    STEPS_GAP = 1, /* of about 2.5 ns */
    STEPS_ITEM = 300,
    NEVER = INT32_MAX, /* the floor ends */
};
/* What the memory grows by, as a part of the bound. */
static const double GROWTH = 1.0 / 2048;
/* The weight of what is left of a gap: at first, the least and the spread of its logarithm. Ends
 * weigh less if less than 1 / NEAR of the item's size is left. */
static const double REST = 0.1, REST_LEAST = 0.02, REST_SPREAD = 3, NEAR = 16;
/* Without tries the smallest gap is safer. */
static const double REST_ALONE = 1000;
/* How far from the end of an item the floor and the ceiling end, in lives. */
static const double FLOOR_APART = 0.1;
/* Most of the logarithm of the weight of age at the peak, after a failure, and at a bridge's. */
static const double BIAS = 2;
/* In mean lives from where the sweep is stuck: the fullest section is sought up to AHEAD, the
 * valley from BEHIND at first to NEAR_VALLEY. Bridges that do not hold take at most this share of
 * the work. */
static const double AHEAD = 1.5, BEHIND = 4.5, NEAR_VALLEY = 2.25, BRIDGE_SHARE = 0.5;

struct gap {
    int64_t begin, end;
    unsigned below, ends[SIDES]; /* the item below, and the ends of the lives of both neighbours */
};

struct sweeper {
    const struct pack_item *items;
    const int64_t *load;                    /* by section */
    unsigned count, *order[MOMENTS], ended; /* ended: so many have */
    int64_t *offset, height;                /* of the memory */
    unsigned last;                          /* sections */
    bool is_back;                           /* time runs back from `last` */
    /* The items that are alive, by offset; item `count` is the floor, count + 1 the ceiling. Those
     * that have ended keep the neighbours that they had. */
    unsigned *neighbour[SIDES], alive;
    struct gap *gaps;
    unsigned gap_count, *gap_above;        /* by item: the number of the gap, from 1 */
    double rest, late;                     /* weights */
    unsigned *wall, wall_count, wall_time; /* by offset; at this time the first begins */
    struct random random;
};

/* What makes bridges: the second sweep, and the valley that the first has gone back to. */
struct bridges {
    struct sweeper *other;
    unsigned *at_peak; /* room for the items that are alive at the new peak, by offset */
    uint64_t deadline_ns;
    unsigned tried;        /* from this valley; NO_VALLEY: there is none yet */
    unsigned first;        /* the number of the first item behind the sweep's peak */
    unsigned from;         /* the time where the sweep was stuck */
    double life;           /* mean of the items that were alive there */
    unsigned time;         /* of the valley: all that starts before it is placed, */
    unsigned at;           /* so many items, */
    unsigned *item, count; /* and these, by offset, are alive */
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
        return NEVER;
    return s->is_back ? s->last - s->items[item].hull.first : s->items[item].hull.end;
}

/* The item that starts, or ends, as number i. */
static unsigned nth(const struct sweeper *s, int moment, unsigned i)
{
    return s->is_back ? s->order[!moment][s->count - 1 - i] : s->order[moment][i];
}

/* How many items have started, or ended, at this time. */
static unsigned rank_of(const struct sweeper *s, int moment, unsigned time)
{
    unsigned at = 0;
    FIND_PLACE(at, s->count, (moment == START ? start_of : end_of)(s, nth(s, moment, at)) <= time);
    return at;
}

static int64_t load_at(const struct sweeper *s, unsigned time)
{
    return s->load[s->is_back ? s->last - 1 - time : time];
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

struct place {
    double cost;
    unsigned below;
    int64_t offset;
};

/* Takes the better end of a gap if it is better than the best place so far. */
static void consider(const struct sweeper *s, unsigned number, const struct gap *gap,
                     struct place *best)
{
    const struct pack_item *item = &s->items[number];
    if (gap->end - gap->begin < item->size)
        return;
    const double end = end_of(s, number), life = end - start_of(s, number);
    const double rest = (double)(gap->end - gap->begin - item->size) / (double)item->size;
    double apart[SIDES];
    for (int side = BELOW; side < SIDES; side++) {
        const double late = end - gap->ends[side];
        apart[side] = gap->ends[side] == NEVER ? FLOOR_APART * life
                      : late > 0               ? late * s->late
                                               : -late;
    }
    const int side = apart[ABOVE] < apart[BELOW] ? ABOVE : BELOW;
    const double cost = apart[side] / life * fmin(1, NEAR * rest) + s->rest * fmin(1, rest);
    const int64_t over = (gap->end - item->size) % item->alignment;
    const int64_t at =
        side == BELOW ? pack_align(gap->begin, item->alignment) : gap->end - item->size - over;
    if (cost < best->cost && at >= gap->begin && at + item->size <= gap->end)
        *best = (struct place){cost, gap->below, at};
}

/* The same for what the walls that the item meets leave of a gap. Beside a wall it ends in time. */
static void consider_walls(const struct sweeper *s, unsigned number, struct gap gap,
                           struct place *best)
{
    const unsigned end = end_of(s, number), end_above = gap.ends[ABOVE];
    const int64_t gap_end = gap.end;
    unsigned i = 0;
    FIND_PLACE(i, s->wall_count, top_of(s, s->wall[i]) <= gap.begin);
    for (; i < s->wall_count && s->offset[s->wall[i]] < gap_end; i++) {
        const unsigned wall = s->wall[i];
        pack_steps += STEPS_GAP;
        if (start_of(s, wall) >= end)
            continue;
        gap.end = s->offset[wall];
        gap.ends[ABOVE] = end;
        consider(s, number, &gap, best);
        gap.begin = pack_max(gap.begin, top_of(s, wall));
        gap.ends[BELOW] = end;
    }
    gap.end = gap_end;
    gap.ends[ABOVE] = end_above;
    consider(s, number, &gap, best);
}

/* Puts an item into the best gap; false if none is large enough. */
static bool place_item(struct sweeper *s, unsigned number)
{
    const unsigned looks = s->gap_count < GAPS_MOST ? s->gap_count : GAPS_MOST;
    const bool has_walls = s->wall_count && end_of(s, number) > s->wall_time;
    unsigned i = looks < s->gap_count ? (unsigned)random_below(&s->random, s->gap_count) : 0;
    struct place best = {.cost = HUGE_VAL};
    pack_steps += STEPS_ITEM + STEPS_GAP * looks;
    for (unsigned k = 0; k < (best.cost < HUGE_VAL ? looks : s->gap_count);
         k++, i = i + 1 < s->gap_count ? i + 1 : 0) {
        if (s->gaps[i].end - s->gaps[i].begin < s->items[number].size)
            continue;
        if (has_walls)
            consider_walls(s, number, s->gaps[i], &best);
        else
            consider(s, number, &s->gaps[i], &best);
    }
    if (best.cost == HUGE_VAL)
        return false;
    s->offset[number] = best.offset;
    insert_item(s, best.below, number);
    return true;
}

/* Takes the items out whose lives have ended at this time. */
static void end_lives(struct sweeper *s, unsigned time)
{
    while (s->ended < s->count && end_of(s, nth(s, END, s->ended)) <= time)
        remove_item(s, nth(s, END, s->ended++));
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
    s->height = need > s->height ? pack_min(need, s->height + most) : s->height + most;
    set_gap(s, top, true);
}

/* Draws how many items try number `tried` goes back, and its weights. */
static uint64_t draw_back(struct sweeper *s, unsigned tried)
{
    const uint64_t most =
        (uint64_t)s->alive * (tried + 2 < BACK_MOST ? tried + 2 : BACK_MOST) / BACK + 1;
    s->rest = REST_LEAST * exp(REST_SPREAD * random_unit(&s->random));
    s->late = 0.5 + random_unit(&s->random);
    return 1 + random_below(&s->random, most);
}

/* Begins at a time at which these items are alive, which are by offset. */
static void begin_at(struct sweeper *s, unsigned time, const unsigned *item, unsigned count)
{
    while (s->gap_count)
        s->gap_above[s->gaps[--s->gap_count].below] = 0;
    s->alive = 0;
    link_items(s, s->count, s->count + 1);
    set_gap(s, s->count, true);
    for (unsigned i = 0; i < count; i++)
        insert_item(s, i ? item[i - 1] : s->count, item[i]);
    s->ended = rank_of(s, END, time);
    s->rest = REST;
    s->late = 1;
}

/* Fills item[] with those that are alive, by offset. Returns their number. */
static unsigned list_alive(const struct sweeper *s, unsigned *item)
{
    unsigned count = 0;
    for (unsigned k = s->neighbour[ABOVE][s->count]; k < s->count; k = s->neighbour[ABOVE][k])
        item[count++] = k;
    return count;
}

struct layer {
    uint64_t key;
    unsigned item;
    bool is_laid;
};

ORDER_BY_BOTH(by_layer, struct layer, key, item)

/* The next of the layers that fits below `limit`; if it is not the next of all, the largest. */
static struct layer *next_layer(const struct sweeper *s, struct layer *layers, unsigned count,
                                unsigned *next, int64_t top, int64_t limit)
{
    struct layer *found = NULL;
    while (*next < count && layers[*next].is_laid)
        ++*next;
    for (unsigned i = *next; i < count; i++) {
        const struct pack_item *item = &s->items[layers[i].item];
        if (!layers[i].is_laid && pack_align(top, item->alignment) + item->size <= limit &&
            (!found || item->size > s->items[found->item].size))
            found = &layers[i];
        pack_steps++;
        if (found == &layers[*next])
            break;
    }
    return found;
}

/* Lays items that are alive at a time one on the other: those that start as number `first` or
 * later, and not before `from`. `fixed` items of item[] have their offsets already. Then item[]
 * has all, by offset. Returns their number, and in *top the height; with more `bias` less of them
 * lie by end. */
static unsigned lay_items(struct sweeper *s, unsigned time, unsigned first, unsigned from,
                          double bias, unsigned *item, unsigned fixed, int64_t *top)
{
    const unsigned end = rank_of(s, START, time), peak = s->is_back ? s->last - 1 - time : time;
    struct layer *layers = must_alloc((end - first + 1) * sizeof *layers);
    unsigned *all = must_alloc((end - first + fixed + 1) * sizeof *all), count = 0, laid = 0;
    for (unsigned i = first; i < end; i++) {
        const unsigned number = nth(s, START, i);
        const struct pack_range life = s->items[number].hull;
        const bool is_young = peak - life.first < bias * (life.end - peak);
        if (end_of(s, number) > time && start_of(s, number) >= from)
            layers[count++] = (struct layer){
                (uint64_t)is_young << 32 | (is_young ? life.first : life.end), number, false};
    }
    qsort(layers, count, sizeof *layers, by_layer);
    *top = 0;
    for (unsigned f = 0, next = 0; f <= fixed; f++) {
        const int64_t limit = f < fixed ? s->offset[item[f]] : INT64_MAX;
        struct layer *layer;
        while ((layer = next_layer(s, layers, count, &next, *top, limit))) {
            layer->is_laid = true;
            all[laid++] = layer->item;
            s->offset[layer->item] = pack_align(*top, s->items[layer->item].alignment);
            *top = top_of(s, layer->item);
        }
        if (f < fixed) {
            all[laid++] = item[f];
            *top = top_of(s, item[f]);
        }
    }
    memcpy(item, all, laid * sizeof *all);
    free(all);
    free(layers);
    return laid;
}

static double mean_life(const struct sweeper *s)
{
    double sum = 0;
    for (unsigned k = s->neighbour[ABOVE][s->count]; k < s->count; k = s->neighbour[ABOVE][k])
        sum += end_of(s, k) - start_of(s, k);
    return sum / s->alive;
}

/* Goes back to the valley for the next bridge; so many items are placed. */
static void go_to_valley(struct sweeper *s, struct bridges *b, unsigned placed)
{
    const unsigned begin = start_of(s, nth(s, START, b->first));
    const unsigned most = b->from > begin ? b->from - begin : 0;
    const double far = b->life * BEHIND * (1u << b->tried / 2), near = b->life * NEAR_VALLEY;
    const unsigned end = most > near ? b->from - (unsigned)near : begin;
    b->time = most > far ? b->from - (unsigned)far : begin;
    for (unsigned k = b->time; k < end && k < start_of(s, nth(s, START, placed)); k++)
        if (load_at(s, k) < load_at(s, b->time))
            b->time = k;
    while (placed > b->first && start_of(s, nth(s, START, placed - 1)) >= b->time)
        go_back(s, nth(s, START, --placed));
    end_lives(s, b->time);
    b->count = list_alive(s, b->item);
    b->at = placed;
}

/* Makes walls of the items that are alive in the valley, but of those that are alive at `peak` the
 * first items of at_peak[]. Returns the number of these. */
static unsigned build_walls(const struct sweeper *s, struct bridges *b, unsigned peak)
{
    struct sweeper *other = b->other;
    unsigned fixed = 0;
    other->wall_count = 0;
    other->wall_time = s->last;
    for (unsigned k = 0; k < b->count; k++) {
        const unsigned number = b->item[k], begin = start_of(other, number);
        if (end_of(s, number) > peak) {
            b->at_peak[fixed++] = number;
            continue;
        }
        other->wall[other->wall_count++] = number;
        other->wall_time = begin < other->wall_time ? begin : other->wall_time;
    }
    return fixed;
}

/* Sweeps from the new peak to the valley; false if it is stuck. */
static bool come_back(const struct sweeper *s, const struct bridges *b, unsigned first)
{
    struct sweeper *other = b->other;
    for (unsigned i = first, far = 0, tried = 0; i < s->count;) {
        const unsigned number = nth(other, START, i);
        if (end_of(s, number) <= b->time)
            break;
        end_lives(other, start_of(other, number));
        if (start_of(s, number) < b->time || place_item(other, number)) {
            i++;
            continue;
        }
        tried = i > far ? 1 : tried + 1;
        far = i > far ? i : far;
        if (tried > BRIDGE_TRIES || pack_now() > b->deadline_ns)
            return false;
        for (uint64_t back = draw_back(other, tried); back > 0 && i > first; back--) {
            const unsigned last = nth(other, START, --i);
            if (start_of(s, last) >= b->time)
                go_back(other, last);
        }
    }
    return true;
}

/* Makes a bridge from the valley over the time `stuck` to the fullest section nearby, and begins
 * there. Returns how many items are placed, or 0 if it does not hold. */
static unsigned make_bridge(struct sweeper *s, struct bridges *b, unsigned stuck)
{
    const double ahead = stuck + AHEAD * b->life;
    const double bias = exp(BIAS * (2 * random_unit(&s->random) - 1));
    struct sweeper *other = b->other;
    unsigned peak = b->from;
    int64_t top;
    for (unsigned k = peak; k < s->last && k <= ahead; k++)
        if (load_at(s, k) > load_at(s, peak))
            peak = k;
    const unsigned placed = rank_of(s, START, peak), back = s->last - 1 - peak;
    other->height = s->height;
    begin_at(other, back, b->at_peak, build_walls(s, b, peak));
    /* Items of the peak that meet walls are placed first. */
    const unsigned from = s->last - other->wall_time;
    for (unsigned k = b->at; k < placed && start_of(s, nth(s, START, k)) < from; k++)
        if (end_of(s, nth(s, START, k)) > peak && !place_item(other, nth(s, START, k)))
            return 0;
    const unsigned fixed = list_alive(other, b->at_peak);
    const unsigned alive = lay_items(s, peak, b->at, from, bias, b->at_peak, fixed, &top);
    if (top > s->height)
        return 0;
    begin_at(other, back, b->at_peak, alive);
    if (!come_back(s, b, rank_of(other, START, back)))
        return 0;
    begin_at(s, peak, b->at_peak, alive);
    return placed;
}

/* Makes bridges until one holds; item number `stuck` fits nowhere, and *first is the first that may
 * be taken back. Returns how many items are placed, which is then *first; or 0: the sweep is in the
 * valley. */
static unsigned cross(struct sweeper *s, struct bridges *b, unsigned stuck, unsigned *first)
{
    const unsigned time = start_of(s, nth(s, START, stuck));
    if (b->tried == NO_VALLEY || time - start_of(s, nth(s, START, *first)) >= BEHIND * b->life) {
        b->tried = 0;
        b->first = *first;
        b->from = time;
        b->life = mean_life(s);
        go_to_valley(s, b, stuck);
    } else {
        begin_at(s, b->time, b->item, b->count);
    }
    *first = b->first;
    for (unsigned placed; b->tried < BRIDGES;) {
        if (b->tried && b->tried % 2 == 0)
            go_to_valley(s, b, b->at);
        placed = make_bridge(s, b, time);
        b->tried++;
        if (placed)
            return *first = placed;
    }
    b->tried = NO_VALLEY;
    return 0;
}

/* Sweeps from a peak in one direction through a memory of s->height, which grows; false if it
 * would reach `below`, or that is a limit and the time is over. */
static bool sweep(struct sweeper *s, struct bridges *b, unsigned peak, const unsigned *at_peak,
                  unsigned alive, int64_t growth, unsigned tries, int64_t below)
{
    const uint64_t begun = pack_steps;
    uint64_t wasted = 0; /* steps, for bridges */
    unsigned first = rank_of(s, START, peak);
    begin_at(s, peak, at_peak, alive);
    s->rest = pack_now() > b->deadline_ns ? REST_ALONE : REST;
    b->other->is_back = !s->is_back;
    b->tried = NO_VALLEY;
    for (unsigned i = first, far = 0, tried = 0; i < s->count && s->height < below;) {
        const unsigned number = nth(s, START, i);
        end_lives(s, start_of(s, number));
        const bool is_late = pack_now() > b->deadline_ns, is_limited = below < INT64_MAX;
        if (is_late && is_limited)
            return false;
        if (place_item(s, number)) {
            i++;
            continue;
        }
        tried = i > far ? 1 : tried + 1;
        far = i > far ? i : far;
        if (!is_late && tried <= tries) {
            for (uint64_t back = draw_back(s, tried); back > 0 && i > first; back--)
                go_back(s, nth(s, START, --i));
            continue;
        }
        far = tried = 0;
        const uint64_t before = pack_steps;
        if (is_limited && wasted <= BRIDGE_SHARE * (pack_steps - begun) &&
            2 * BEHIND * mean_life(s) <= s->last) {
            const unsigned placed = cross(s, b, i, &first);
            i = placed ? placed : b->at;
            if (placed)
                continue;
        }
        wasted += pack_steps - before;
        grow_memory(s, &s->items[number],
                    is_late      ? INT64_MAX / 2
                    : is_limited ? pack_max(growth, (below - s->height) / 2)
                                 : growth);
    }
    return s->height < below;
}

static void open_sweeper(struct sweeper *s, struct arena *arena)
{
    unsigned **numbers[] = {&s->neighbour[BELOW], &s->neighbour[ABOVE], &s->gap_above, &s->wall};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = arena_alloc(arena, (s->count + 2) * sizeof **numbers[i]);
    memset(s->gap_above, 0, (s->count + 2) * sizeof *s->gap_above);
    s->gaps = arena_alloc(arena, (s->count + 2) * sizeof *s->gaps);
}

int64_t pack_sweep(const struct pack_item *items, unsigned count, int64_t enough,
                   uint64_t deadline_ns, int64_t *offset)
{
    struct arena arena = {0};
    struct sweeper s = {.items = items, .count = count, .last = pack_section_count(items, count)};
    int64_t *load = arena_alloc(&arena, 2 * (s.last + 1) * sizeof *load), below = INT64_MAX, top;
    unsigned failures = 0, peak, *at_peak;
    struct sweeper other;
    struct bridges bridges = {.other = &other};
    unsigned **numbers[] = {&s.order[START], &s.order[END], &at_peak, &bridges.at_peak,
                            &bridges.item};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = arena_alloc(&arena, count * sizeof **numbers[i]);
    const int64_t floor = pack_max(enough, pack_load_bound(items, count, &peak));
    const int64_t growth = (int64_t)((double)floor * GROWTH) + 1;
    pack_section_loads(items, count, load, load + s.last + 1);
    pack_order_fill(items, count, PACK_TIME, s.order[START]);
    pack_order_fill(items, count, PACK_END, s.order[END]);
    s.offset = arena_alloc(&arena, count * sizeof *s.offset);
    s.load = load;
    other = s;
    open_sweeper(&s, &arena);
    open_sweeper(&other, &arena);
    for (unsigned tries = TRIES; below > floor && failures < FAILURES; tries *= 2) {
        const uint64_t now = pack_now(), left = deadline_ns > now ? deadline_ns - now : 0;
        const int64_t half = (below - floor) / 2;
        const bool is_first = below == INT64_MAX;
        const double bias = failures ? exp(BIAS * (2 * random_unit(&s.random) - 1)) : 1;
        bool fits = true;
        s.is_back = false;
        const unsigned alive = lay_items(&s, peak, 0, 0, bias, at_peak, 0, &top);
        s.height = pack_max(top, is_first || half < growth ? floor : floor + half);
        for (int back = 0; fits && back < 2; back++) {
            s.is_back = back;
            bridges.deadline_ns = is_first && !back ? now + left / 2 : deadline_ns;
            fits = sweep(&s, &bridges, back ? s.last - 1 - peak : peak, at_peak, alive, growth,
                         tries, below);
        }
        if (fits) {
            below = pack_height(items, count, s.offset);
            memcpy(offset, s.offset, count * sizeof *offset);
        } else {
            failures++;
        }
        if (pack_now() > deadline_ns)
            break;
    }
    arena_free(&arena);
    return below;
}
