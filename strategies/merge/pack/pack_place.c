/* Puts items, one after the other, into gaps between those placed before.
 *
 * A gap of an item is a range of bytes that is free in all sections of its life. To list the items
 * that it meets would take memory, and time, that grows with the number of pairs. So:
 *
 *   1. A tree stands over the sections. An item covers the fewest nodes whose sections are its own,
 *      a few in each level.
 *   2. Each node keeps two sets of bytes: `covered`, by items that cover this node; and `touched`,
 *      by items that are alive in any of its sections.
 *   3. The bytes that are taken from an item's point of view are those touched in the nodes that it
 *      covers, and those covered in the nodes above these.
 *
 * A set is a list of runs, which touch no other run. Plans are mostly full, so there are few runs:
 * an item costs about the logarithm of the number of sections.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "merge/pack/pack_model.h"

enum {
    FAN = 8, /* children of a node; a binary tree takes twice as long */
    /* The most nodes of a range: less than two times FAN in each of the levels. */
    LEVELS_MOST = 12,
    NODES_A_RANGE = 2 * FAN * LEVELS_MOST,
    CLOCK_EVERY = 64,
    STEPS_ITEM = 50,
    STEPS_NODE = 30,
};

/* The bytes from `begin` up to, but without, `end`. */
struct run {
    int64_t begin, end;
};

/* Runs in ascending order, with room between any two. Most lists have one run, which stands in the
 * list itself while `capacity` is 0. */
struct run_list {
    union {
        struct run one;
        struct run *many;
    };
    unsigned count, capacity;
};

struct node {
    struct run_list covered, touched;
};

/* A list that an item must avoid, and the first of its runs that may still matter. */
struct obstacle {
    const struct run *runs;
    unsigned count, next;
};

struct pack_placer {
    const struct pack_item *items;
    unsigned leaf_count, first_leaf, node_count; /* the root is node 0 */
    struct node *nodes;
    unsigned *used, used_count; /* the nodes with runs */
    unsigned *full, *part;      /* the nodes that the item covers, and those above them */
    unsigned full_count, part_count, capacity;
    struct obstacle *obstacles;
    unsigned obstacle_count;
};

static struct run *list_runs(struct run_list *list)
{
    return list->capacity ? list->many : &list->one;
}

static void free_list(struct run_list *list)
{
    if (list->capacity)
        free(list->many);
}

struct pack_placer *pack_placer_open(const struct pack_item *items, unsigned count)
{
    struct pack_placer *p = must_alloc(sizeof *p);
    const unsigned sections = pack_section_count(items, count);
    p->items = items;
    for (p->leaf_count = 1; p->leaf_count < sections; p->leaf_count *= FAN)
        p->first_leaf = FAN * p->first_leaf + 1;
    p->node_count = p->first_leaf + (sections ? sections : 1);
    p->nodes = must_alloc(p->node_count * sizeof *p->nodes);
    p->used = must_alloc(p->node_count * sizeof *p->used);
    return p;
}

void pack_placer_close(struct pack_placer *p)
{
    for (unsigned i = 0; i < p->node_count; i++) {
        free_list(&p->nodes[i].covered);
        free_list(&p->nodes[i].touched);
    }
    free(p->nodes);
    free(p->used);
    free(p->full);
    free(p->part);
    free(p->obstacles);
    free(p);
}

/* Finds the nodes below `node`, which has the sections `all`, that a range covers. */
static void find_nodes(struct pack_placer *p, unsigned node, struct pack_range all,
                       struct pack_range range)
{
    if (range.first <= all.first && all.end <= range.end) {
        p->full[p->full_count++] = node;
        return;
    }
    const unsigned each = (all.end - all.first) / FAN;
    p->part[p->part_count++] = node;
    for (unsigned k = range.first > all.first ? (range.first - all.first) / each : 0; k < FAN;
         k++) {
        const unsigned first = all.first + k * each;
        if (first >= range.end)
            break;
        find_nodes(p, FAN * node + 1 + k, (struct pack_range){first, first + each}, range);
    }
}

static void add_obstacle(struct pack_placer *p, struct run_list *list)
{
    if (list->count)
        p->obstacles[p->obstacle_count++] = (struct obstacle){list_runs(list), list->count, 0};
}

/* Finds the nodes of an item, and what it must avoid in them. */
static void visit_item(struct pack_placer *p, const struct pack_item *item)
{
    if (item->range_count * NODES_A_RANGE > p->capacity) {
        p->capacity = item->range_count * NODES_A_RANGE;
        p->full = must_realloc(p->full, p->capacity * sizeof *p->full);
        p->part = must_realloc(p->part, p->capacity * sizeof *p->part);
        p->obstacles = must_realloc(p->obstacles, 2 * p->capacity * sizeof *p->obstacles);
    }
    p->full_count = p->part_count = p->obstacle_count = 0;
    for (unsigned r = 0; r < item->range_count; r++)
        find_nodes(p, 0, (struct pack_range){0, p->leaf_count}, item->ranges[r]);
    for (unsigned i = 0; i < p->full_count; i++)
        add_obstacle(p, &p->nodes[p->full[i]].touched);
    for (unsigned i = 0; i < p->part_count; i++)
        add_obstacle(p, &p->nodes[p->part[i]].covered);
}

/* Moves an obstacle on to the first run that ends above `at`. */
static void skip_runs(struct obstacle *o, int64_t at)
{
    if (o->next == o->count || o->runs[o->next].end > at)
        return;
    unsigned low = o->next, step = 1; /* the run at `low` ends at or below `at` */
    while (low + step < o->count && o->runs[low + step].end <= at) {
        low += step;
        step *= 2;
    }
    unsigned high = low + step < o->count ? low + step : o->count;
    while (high - low > 1) {
        const unsigned middle = low + (high - low) / 2;
        if (o->runs[middle].end <= at)
            low = middle;
        else
            high = middle;
    }
    o->next = high;
}

/* The lowest offset from `at` on at which the item overlaps no obstacle. */
static int64_t next_fit(struct pack_placer *p, const struct pack_item *item, int64_t at)
{
    at = pack_align(at, item->alignment);
    for (unsigned i = 0, agreed = 0; agreed < p->obstacle_count;
         i = i + 1 < p->obstacle_count ? i + 1 : 0) {
        struct obstacle *o = &p->obstacles[i];
        const int64_t before = at;
        for (skip_runs(o, at); o->next < o->count && o->runs[o->next].begin - at < item->size;
             o->next++)
            at = pack_align(o->runs[o->next].end, item->alignment);
        agreed = at == before ? agreed + 1 : 1;
    }
    return at;
}

/* The gap around an offset that is free: from `begin` up to `end`, INT64_MAX where it has none. */
static struct run gap_around(const struct pack_placer *p)
{
    struct run gap = {0, INT64_MAX};
    for (unsigned i = 0; i < p->obstacle_count; i++) {
        const struct obstacle *o = &p->obstacles[i];
        if (o->next > 0)
            gap.begin = pack_max(gap.begin, o->runs[o->next - 1].end);
        if (o->next < o->count)
            gap.end = pack_min(gap.end, o->runs[o->next].begin);
    }
    return gap;
}

/* The offset in the smallest gap; of equal ones, in the lowest or in the highest. */
static int64_t best_fit(struct pack_placer *p, const struct pack_item *item, bool highest)
{
    int64_t at = next_fit(p, item, 0), best = at, best_room = INT64_MAX - 1;
    for (;; at = next_fit(p, item, at)) {
        const struct run gap = gap_around(p);
        if (gap.end == INT64_MAX)
            return best_room == INT64_MAX - 1 ? at : best;
        if (gap.end - gap.begin < best_room + highest) {
            best_room = gap.end - gap.begin;
            best = at;
        }
        if (best_room == item->size && !highest)
            return best;
        at = gap.end;
    }
}

/* Makes room for one more run. */
static void make_room(struct run_list *list)
{
    const struct run one = list->one;
    if (list->count < (list->capacity ? list->capacity : 1))
        return;
    const unsigned capacity = list->capacity ? 2 * list->capacity : 4;
    list->many = must_realloc(list->capacity ? list->many : NULL, capacity * sizeof one);
    if (!list->capacity)
        list->many[0] = one;
    list->capacity = capacity;
}

/* Adds a run, and joins it with those that it touches. */
static void add_run(struct run_list *list, struct run run)
{
    struct run *runs = list_runs(list);
    unsigned first = 0, end = list->count; /* the runs [first, end) touch it */
    if (end && runs[end - 1].end < run.begin) {
        first = end; /* above all, as often */
    } else {
        FIND_PLACE(first, list->count, runs[first].end < run.begin);
        for (end = first; end < list->count && runs[end].begin <= run.end; end++)
            ;
    }
    if (first < end) {
        run.begin = pack_min(run.begin, runs[first].begin);
        run.end = pack_max(run.end, runs[end - 1].end);
    } else {
        make_room(list);
        runs = list_runs(list);
    }
    if (end != first + 1)
        memmove(&runs[first + 1], &runs[end], (list->count - end) * sizeof *runs);
    runs[first] = run;
    list->count = list->count + 1 - (end - first);
}

static void touch_node(struct pack_placer *p, unsigned node, struct run run)
{
    struct run_list *touched = &p->nodes[node].touched;
    if (!touched->count)
        p->used[p->used_count++] = node;
    add_run(touched, run);
}

/* Takes the bytes of the item that was visited last. */
static void take_bytes(struct pack_placer *p, struct run run)
{
    for (unsigned i = 0; i < p->full_count; i++) {
        touch_node(p, p->full[i], run);
        if (p->full[i] < p->first_leaf) /* a leaf has no node below that would ask */
            add_run(&p->nodes[p->full[i]].covered, run);
    }
    for (unsigned i = 0; i < p->part_count; i++)
        touch_node(p, p->part[i], run);
}

/* Gives all bytes back. */
static void clear_nodes(struct pack_placer *p)
{
    for (; p->used_count > 0; p->used_count--) {
        struct node *node = &p->nodes[p->used[p->used_count - 1]];
        node->covered.count = node->touched.count = 0;
    }
}

int64_t pack_placer_run(struct pack_placer *p, const unsigned *order, unsigned count,
                        enum pack_gap gap, struct pack_run *run, int64_t *offset)
{
    int64_t height = 0;
    clear_nodes(p);
    for (unsigned i = 0; i < count; i++) {
        const struct pack_item *item = &p->items[order[i]];
        run->placed = i;
        if (i % CLOCK_EVERY == CLOCK_EVERY - 1 && pack_now() > run->deadline_ns)
            return INT64_MAX;
        visit_item(p, item);
        pack_steps += STEPS_ITEM + STEPS_NODE * (p->full_count + p->part_count);
        const int64_t at = i < run->fixed ? offset[order[i]]
                           : gap == PACK_FIRST_GAP
                               ? next_fit(p, item, 0)
                               : best_fit(p, item, gap == PACK_HIGHEST_BEST_GAP);
        offset[order[i]] = at;
        height = pack_max(height, at + item->size - item->pad);
        if (height >= run->below)
            return INT64_MAX;
        take_bytes(p, (struct run){at, at + item->size});
    }
    run->placed = count;
    return height;
}
