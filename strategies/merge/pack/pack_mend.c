/* Lowers a plan of very many items where it is high. The bytes alive differ over time, so most of a
 * plan is far below its height, and a few short times decide. An order of all items takes seconds,
 * and one of the items around a high place milliseconds.
 *
 *   1. Around the highest item there is a window of time. Items that are alive before or after it
 *      keep their places.
 *   2. The others are placed anew, by classes of size in the order of time, each into its lowest
 *      gap, until one is as high as the plan.
 *   3. Then those that end above the least possible height squeak, as in pack_squeaky.c, and 2 is
 *      tried again. Priorities stay from window to window.
 *   4. If all fit, the plan is lower there. If TRIES orders do not help, the next window is a
 *      wider or a narrower one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "merge/pack/pack_model.h"

enum {
    TRIES = 40,
    /* Items of windows without a lower plan, as a part of all: the plan is high everywhere. */
    PATIENCE = 2,
};
/* The sections before and after the highest item; a window that did not help is followed by one of
 * 0.3 to 3.3 times as many. */
static const double MARGIN = 600, MARGIN_LEAST = 0.3, MARGIN_SPREAD = 3;
/* As in pack_squeaky.c, but bolder. */
static const double CLASS_STEP = 0.3, SQUEAK = 1, NOISE = 0.0001;

struct ranked {
    double priority;
    unsigned number;
};

struct mender {
    struct arena arena;
    const struct pack_item *items;
    unsigned count, longest;     /* the most sections of an item */
    int64_t *offset, *at, bound; /* at: what is tried in the window; elsewhere the same */
    double *priority;
    struct random random;
    struct pack_placer *placer;
    /* The items of the window; the first `fixed` of the order keep their places. */
    unsigned inside, fixed, *order;
    struct ranked *ranked;
    uint64_t stale; /* items of the orders since the plan became lower */
};

ORDER_FROM_MOST(by_priority, struct ranked, priority, number)

static int64_t end_of(const struct mender *m, unsigned item)
{
    return m->offset[item] + m->items[item].size - m->items[item].pad;
}

static unsigned find_top(const struct mender *m)
{
    unsigned top = 0;
    for (unsigned i = 1; i < m->count; i++)
        if (end_of(m, i) > end_of(m, top))
            top = i;
    return top;
}

static void open_window(struct mender *m, struct pack_range window)
{
    unsigned first;
    FIND_PLACE(first, m->count, m->items[first].hull.first + m->longest < window.first);
    m->inside = 0;
    for (unsigned i = first; i < m->count && m->items[i].hull.first < window.end; i++) {
        const struct pack_range hull = m->items[i].hull;
        const bool is_fixed = hull.first < window.first || hull.end > window.end;
        if (hull.end > window.first)
            m->ranked[m->inside++] = (struct ranked){is_fixed ? HUGE_VAL : m->priority[i], i};
    }
}

static void sort_window(struct mender *m)
{
    qsort(m->ranked, m->inside, sizeof *m->ranked, by_priority);
    m->fixed = 0;
    for (unsigned i = 0; i < m->inside; i++) {
        m->order[i] = m->ranked[i].number;
        m->fixed += m->ranked[i].priority == HUGE_VAL;
    }
}

static void squeak(struct mender *m, unsigned placed)
{
    for (unsigned i = m->fixed; i < placed; i++) {
        const unsigned item = m->order[i];
        m->ranked[i].priority += (m->at[item] + m->items[item].size > m->bound ? SQUEAK : NOISE) *
                                 random_unit(&m->random);
        m->priority[item] = m->ranked[i].priority;
    }
}

/* Places the items of the window lower than `below`; false if no order does. */
static bool mend_window(struct mender *m, int64_t below, uint64_t deadline_ns)
{
    bool fits = false;
    for (int i = 0; i < TRIES && !fits && pack_now() <= deadline_ns; i++) {
        sort_window(m);
        struct pack_run run = {.below = below, .deadline_ns = deadline_ns, .fixed = m->fixed};
        fits = pack_placer_run(m->placer, m->order, m->inside, PACK_FIRST_GAP, &run, m->at) <
               INT64_MAX;
        m->stale = fits ? 0 : m->stale + m->inside;
        squeak(m, fits ? 0 : run.placed + (run.placed < m->inside));
    }
    for (unsigned k = 0; k < m->inside; k++)
        if (fits)
            m->offset[m->order[k]] = m->at[m->order[k]];
        else
            m->at[m->order[k]] = m->offset[m->order[k]];
    return fits;
}

static void open_mender(struct mender *m)
{
    const size_t count = m->count;
    const double sections = pack_section_count(m->items, m->count);
    m->bound = pack_load_bound(m->items, m->count);
    m->priority = arena_alloc(&m->arena, count * sizeof *m->priority);
    m->order = arena_alloc(&m->arena, count * sizeof *m->order);
    m->at = arena_alloc(&m->arena, count * sizeof *m->at);
    memcpy(m->at, m->offset, count * sizeof *m->at);
    m->ranked = arena_alloc(&m->arena, count * sizeof *m->ranked);
    for (unsigned i = 0; i < m->count; i++) {
        const struct pack_item *item = &m->items[i];
        const unsigned life = item->hull.end - item->hull.first;
        m->longest = life > m->longest ? life : m->longest;
        m->priority[i] = CLASS_STEP * (floor(log((double)item->size) / CLASS_STEP) -
                                       item->hull.first / (2 * sections));
    }
}

int64_t pack_mend(const struct pack_item *items, unsigned count, int64_t enough,
                  uint64_t deadline_ns, int64_t *offset)
{
    struct mender m = {.items = items, .count = count, .offset = offset};
    double margin = MARGIN;
    open_mender(&m);
    m.placer = pack_placer_open(items, count);
    unsigned top = find_top(&m);
    while (m.stale < count / PATIENCE && end_of(&m, top) > enough && pack_now() <= deadline_ns) {
        const struct pack_range hull = items[top].hull;
        const unsigned wide = (unsigned)margin;
        open_window(
            &m, (struct pack_range){hull.first > wide ? hull.first - wide : 0, hull.end + wide});
        const bool is_lower = mend_window(&m, end_of(&m, top), deadline_ns);
        margin =
            is_lower ? MARGIN : MARGIN * (MARGIN_LEAST + MARGIN_SPREAD * random_unit(&m.random));
        top = is_lower ? find_top(&m) : top;
    }
    pack_placer_close(m.placer);
    arena_free(&m.arena);
    return end_of(&m, top);
}
