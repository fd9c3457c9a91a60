/* Squeaky wheel optimization (Joslin, Clements 1999) makes an order of the items from the last one
 * and the plan that this gave:
 *
 *   1. Each item has a priority: at first its size, times a power of its duration. Of equal items
 *      the one that is alive first comes first: for one size alone that is optimal. So items of
 *      like size are taken as equal too: these classes are geometric, as in boxing after Buchsbaum,
 *      Karloff, Kenyon, Reingold, Thorup (OPT versus LOAD in dynamic storage allocation, 2003).
 *      Factor and power are drawn at random for some first orders, and the best one is kept.
 *   2. All are placed in the order of priority, each into its lowest gap, until one is as high as
 *      the best plan. As large ones come first, that often is early.
 *   3. Items that end above the least possible height squeak: their priority grows by up to a half.
 *      The other ones that were placed move by so little that only ties are broken otherwise.
 *   4. Both only in a window of time around the item that was too high. So what is well placed at
 *      other times stays so.
 *   5. After some work without a better plan a wheel with another power of the duration has its
 *      turn.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/sort.h"
#include "merge/pack/pack_model.h"

/* The powers of the duration. None is best everywhere; those near 0 mostly are. */
static const double powers[] = {0, 0.2, 0.3, 0.1, 1, 3};
enum {
    WHEELS = sizeof powers / sizeof *powers,
    PATIENCE = 20,  /* so many times all items are placed in a turn without a better plan */
    MARGIN = 4,     /* the window before and after an item, as a multiple of its life */
    AUDITIONS = 10, /* so many orders a wheel may begin with */
    FEW = 4,        /* a window of less than this part of the placed items is mended alone */
    MEND_SHARE = 4, /* the items placed to mend it, as a multiple of the placed ones */
};
/* The logarithm of a priority grows by at most this. */
static const double SQUEAK = 0.4, NOISE = 0.0001;
/* Of first orders: the logarithm of the factor of a class, and the power of the duration. */
static const double STEP_LEAST = 0.03, STEP_MOST = 1.4, POWER_MOST = 0.3;
/* The fractions of its multiples are spread evenly. */
static const double GOLDEN = 0.6180339887498949;

struct wheel {
    double *priority; /* by item: its logarithm */
    unsigned *order;
};

/* The first order of a wheel. */
struct first_order {
    double power;  /* power of the duration */
    double step;   /* the logarithm of a class's factor; 0: no classes */
    double phase;  /* the part of a step by which classes are shifted */
    bool from_end; /* in a class in the order of deaths, the last first */
};

struct ranked {
    double priority;
    unsigned rank, item; /* rank: in the last order */
};

struct pack_squeaky {
    const struct pack_item *items;
    unsigned count;
    unsigned sections;
    int64_t bound;
    struct pack_placer *placer;
    struct wheel wheels[WHEELS];
    unsigned turn;      /* the wheel whose turn it is */
    unsigned auditions; /* orders to try before the wheel of this turn begins with the best */
    unsigned best_placed;
    struct first_order best_first;
    uint64_t stale; /* items placed in this turn without a better plan */
    struct ranked *ranked;
    unsigned *window_order; /* the items of the window that is mended; none if window_count is 0 */
    unsigned window_count;
    unsigned failed;    /* the items of the wheel's order that were placed before that */
    uint64_t mend_work; /* items to place until the whole is tried again */
    struct random random;
};

ORDER_FROM_MOST(by_priority, struct ranked, priority, rank)

static void sort_order(struct pack_squeaky *s, const double *priority, unsigned *order,
                       unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        s->ranked[i] = (struct ranked){priority[order[i]], i, order[i]};
    qsort(s->ranked, count, sizeof *s->ranked, by_priority);
    for (unsigned i = 0; i < count; i++)
        order[i] = s->ranked[i].item;
}

/* The next wheel has its turn. */
static void turn_on(struct pack_squeaky *s)
{
    s->turn = (s->turn + 1) % WHEELS;
    s->stale = s->window_count = 0;
    struct wheel *w = &s->wheels[s->turn];
    if (w->order)
        return;
    w->order = must_alloc(s->count * sizeof *w->order);
    w->priority = must_alloc(s->count * sizeof *w->priority);
    s->auditions = AUDITIONS;
    s->best_placed = 0;
}

static void start_wheel(struct pack_squeaky *s, struct first_order first)
{
    const struct wheel *w = &s->wheels[s->turn];
    for (unsigned i = 0; i < s->count; i++) {
        const struct pack_item *item = &s->items[i];
        const double key = log((double)item->size) + first.power * log(item->duration);
        const double late = first.from_end ? s->sections - item->hull.end : item->hull.first;
        w->priority[i] = key;
        if (first.step > 0)
            w->priority[i] =
                first.step * (floor(key / first.step + first.phase) - late / (2.0 * s->sections));
        w->order[i] = i;
    }
    sort_order(s, w->priority, w->order, s->count);
}

/* Number 0 has no classes. Two of three of the others have the wheel's own power. */
static struct first_order draw_first(struct random *random, double power, unsigned number)
{
    const double spread = fmod(number * GOLDEN, 1);
    if (number == 0)
        return (struct first_order){.power = power};
    return (struct first_order){.power = number % 3 ? power : POWER_MOST * random_unit(random),
                                .step = STEP_LEAST * pow(STEP_MOST / STEP_LEAST, spread),
                                .phase = random_unit(random),
                                .from_end = random_below(random, 2)};
}

/* Tries one first order of the wheel; after the last the wheel has the best. */
static int64_t hold_audition(struct pack_squeaky *s, struct pack_run *run, int64_t *offset)
{
    const struct first_order first =
        draw_first(&s->random, powers[s->turn], AUDITIONS - s->auditions);
    start_wheel(s, first);
    const int64_t height =
        pack_placer_run(s->placer, s->wheels[s->turn].order, s->count, PACK_FIRST_GAP, run, offset);
    if (height != INT64_MAX || run->placed > s->best_placed) {
        s->best_placed = run->placed;
        s->best_first = first;
    }
    if (--s->auditions == 0)
        start_wheel(s, s->best_first);
    return height;
}

static int64_t item_end(const struct pack_squeaky *s, unsigned item, const int64_t *offset)
{
    return offset[item] + s->items[item].size - s->items[item].pad;
}

/* The sections around those of the highest of these items. */
static struct pack_range find_window(const struct pack_squeaky *s, const unsigned *order,
                                     unsigned count, const int64_t *offset)
{
    unsigned highest = order[count - 1];
    for (unsigned i = 0; i < count; i++)
        if (item_end(s, order[i], offset) > item_end(s, highest, offset))
            highest = order[i];
    const struct pack_range hull = s->items[highest].hull;
    const uint64_t margin = (uint64_t)MARGIN * (hull.end - hull.first);
    return (struct pack_range){margin < hull.first ? hull.first - (unsigned)margin : 0,
                               margin < UINT_MAX - hull.end ? hull.end + (unsigned)margin
                                                            : UINT_MAX};
}

/* After the first `count` of an order: priorities only grow, so the others keep their places.
 * Returns how many items of the window there are, and has them in `window_order`. */
static unsigned squeak(struct pack_squeaky *s, unsigned *order, unsigned count,
                       const int64_t *offset)
{
    const struct pack_range window = find_window(s, order, count, offset);
    double *priority = s->wheels[s->turn].priority;
    unsigned inside = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct pack_range hull = s->items[order[i]].hull;
        if (hull.first >= window.end || hull.end <= window.first)
            continue;
        priority[order[i]] +=
            (item_end(s, order[i], offset) > s->bound ? SQUEAK : NOISE) * random_unit(&s->random);
        inside++;
    }
    sort_order(s, priority, order, count);
    if (order == s->window_order || inside >= count / FEW)
        return 0;
    inside = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct pack_range hull = s->items[order[i]].hull;
        if (hull.first < window.end && hull.end > window.first)
            s->window_order[inside++] = order[i];
    }
    return inside;
}

/* Places the items of the window alone: that is quicker. */
static void mend_window(struct pack_squeaky *s, struct pack_run *run, int64_t *offset)
{
    const int64_t height =
        pack_placer_run(s->placer, s->window_order, s->window_count, PACK_FIRST_GAP, run, offset);
    const struct wheel *w = &s->wheels[s->turn];
    const unsigned placed = run->placed + (run->placed < s->window_count);
    s->stale += placed;
    s->mend_work -= s->mend_work < placed ? s->mend_work : placed;
    if (height == INT64_MAX && s->mend_work) {
        squeak(s, s->window_order, placed, offset);
        return;
    }
    s->window_count = 0;
    sort_order(s, w->priority, w->order, s->failed);
}

int64_t pack_squeaky_round(struct pack_squeaky *s, int64_t below, uint64_t deadline_ns,
                           int64_t *offset)
{
    struct pack_run run = {.below = below, .deadline_ns = deadline_ns};
    if (s->auditions)
        return hold_audition(s, &run, offset);
    if (s->window_count) {
        mend_window(s, &run, offset);
        return INT64_MAX;
    }
    unsigned *order = s->wheels[s->turn].order;
    const int64_t height =
        pack_placer_run(s->placer, order, s->count, PACK_FIRST_GAP, &run, offset);
    s->failed = run.placed + (run.placed < s->count);
    s->stale = height < below ? 0 : s->stale + s->failed;
    s->window_count = squeak(s, order, s->failed, offset);
    s->mend_work = (uint64_t)MEND_SHARE * s->failed;
    if (s->stale / PATIENCE >= s->count)
        turn_on(s);
    return height;
}

struct pack_squeaky *pack_squeaky_open(const struct pack_item *items, unsigned count)
{
    struct pack_squeaky *s = must_alloc(sizeof *s);
    s->items = items;
    s->count = count;
    s->ranked = must_alloc(count * sizeof *s->ranked);
    s->window_order = must_alloc(count * sizeof *s->window_order);
    s->sections = pack_section_count(items, count);
    s->bound = pack_load_bound(items, count, NULL);
    s->placer = pack_placer_open(items, count);
    s->turn = WHEELS - 1;
    turn_on(s);
    return s;
}

void pack_squeaky_close(struct pack_squeaky *s)
{
    if (!s)
        return;
    for (int i = 0; i < WHEELS; i++) {
        free(s->wheels[i].priority);
        free(s->wheels[i].order);
    }
    pack_placer_close(s->placer);
    free(s->ranked);
    free(s->window_order);
    free(s);
}
