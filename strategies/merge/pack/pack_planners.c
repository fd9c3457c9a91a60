/* Static planners of other projects. Each is an order of the buffers and a rule for the gap that
 * each of them takes.
 *
 *   tflite        From the largest buffer to the smallest; of equal sizes the one that was added
 *                 last comes first. Each takes the lowest gap. GreedyMemoryPlanner,
 *                 tensorflow/tflite-micro,
 *                 tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc, 17bebc09
 *                 (2019).
 *   xla-spatial   By size, then by duration, from the most to the least; the smallest gap, of
 *                 equals the lowest. Durations count allocations and frees, not instructions.
 *   xla-temporal  The same by duration, then by size.
 *   xla           The lower of these two plans, which is what XLA's buffer assignment takes.
 *                 GlobalDecreasingSizeBestFitHeap and ChooseBestHeapAlgorithm, openxla/xla,
 *                 xla/service/heap_simulator/heap_simulator.cc, 0e06ac82 (2017).
 *   tvm           Hill climbing. It begins with the order by size, then by the number of buffers
 *                 that are alive at the same time, and the lowest gap. Up to 500 times it takes
 *                 a topmost buffer, and exchanges one that was placed before it and is alive
 *                 with it, with one of those around that. A lower plan is kept, and a higher one
 *                 with a probability that soon is 0. The last plan that was kept is the answer,
 *                 and no plan is sought below the bytes alive. apache/tvm,
 *                 src/tir/usmp/algo/hill_climb.cc, 01e04237 (2022).
 *   onnxruntime   In the order of time into the smallest gap, of equals the lowest, as requests
 *                 come. MemPatternPlanner, microsoft/onnxruntime,
 *                 onnxruntime/core/framework/mem_pattern_planner.h, 00ca1689 (2018).
 *   iree          The same plan. IREE compares a buffer with all that were placed before it; in
 *                 the order of time these are the ones that are alive when it starts.
 *                 packStaticSlicesGreedily, iree-org/iree,
 *                 compiler/src/iree/compiler/Dialect/Stream/Transforms/LayoutSlices.cpp,
 *                 0ca4f62a (2021).
 *   ggml          The same, but of equal gaps the highest. ggml_dyn_tallocr, ggml-org/llama.cpp,
 *                 ggml/src/ggml-alloc.c, 0450e2f9 (2023).
 *
 * The commit is the one that was read; the year is that of the file's first version.
 *
 * Departures: alignment is that of each buffer, where the originals have one for all. Buffers have
 * numbers and no names, so tvm puts the later of equals first, and its random numbers are gamut's.
 * Limits of the originals are left out: pools of tvm, chunks and 256 free blocks of ggml. So are
 * the newer packing strategies of XLA, and all that shares a buffer in place, which has happened
 * before there are lifetimes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "merge/pack/pack_model.h"

enum planner_order { BY_TFLITE, BY_SPACE, BY_DURATION, BY_TVM, BY_TIME };

struct pack_planner {
    const char *name;
    enum planner_order order;
    enum pack_gap gap;
    unsigned tries; /* orders that hill climbing tries */
    bool is_best;   /* the lower plan of the two planners above it */
};

static const struct pack_planner planners[] = {
    {"tflite", BY_TFLITE, PACK_FIRST_GAP, 1, false},
    {"xla-spatial", BY_SPACE, PACK_BEST_GAP, 1, false},
    {"xla-temporal", BY_DURATION, PACK_BEST_GAP, 1, false},
    {"xla", BY_SPACE, PACK_BEST_GAP, 1, true},
    {"tvm", BY_TVM, PACK_FIRST_GAP, 500, false},
    {"onnxruntime", BY_TIME, PACK_BEST_GAP, 1, false},
    {"iree", BY_TIME, PACK_BEST_GAP, 1, false},
    {"ggml", BY_TIME, PACK_HIGHEST_BEST_GAP, 1, false},
};

const struct pack_planner *pack_planner_at(size_t i)
{
    return i < sizeof planners / sizeof *planners ? &planners[i] : NULL;
}

const char *pack_planner_name(const struct pack_planner *planner)
{
    return planner->name;
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* What the orders ask of a buffer. Times are numbers of allocations and frees. */
struct traits {
    int64_t begin, end, ended_before, conflicts;
};

static void find_traits(const struct pack_buffer *buffers, size_t count, struct traits *traits)
{
    struct pack_event *events;
    const size_t event_count = pack_events(buffers, count, &events);
    int64_t starts = 0, ends = 0;
    for (size_t i = 0; i < event_count; i++) {
        struct traits *t = &traits[events[i].buffer];
        if (!events[i].is_start) {
            t->end = (int64_t)i;
            t->conflicts = starts - t->ended_before - 1;
            ends++;
        } else {
            if (!t->end) /* its first life */
                *t = (struct traits){.begin = (int64_t)i, .ended_before = ends};
            starts++;
        }
    }
    free(events);
}

struct ranked {
    int64_t key[3]; /* from the most to the least */
    unsigned item;
};

static int by_rank(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    for (int i = 0; i < 3; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] > b->key[i] ? -1 : 1;
    return 0;
}

static struct ranked rank_item(const struct pack_item *item, const struct traits *t,
                               enum planner_order order, unsigned number)
{
    const int64_t size = item->size, later = (int64_t)item->source, life = t->end - t->begin;
    const struct ranked ranks[] = {
        [BY_TFLITE] = {{size, later}, number},
        [BY_SPACE] = {{size, life, -later}, number},
        [BY_DURATION] = {{life, size, -later}, number},
        [BY_TVM] = {{size, t->conflicts, later}, number},
        [BY_TIME] = {{-t->begin}, number},
    };
    return ranks[order];
}

static void fill_order(const struct pack_model *model, const struct traits *traits,
                       enum planner_order order, unsigned *out)
{
    struct ranked *ranked = must_alloc((model->count + 1) * sizeof *ranked);
    for (unsigned i = 0; i < model->count; i++)
        ranked[i] = rank_item(&model->items[i], &traits[model->items[i].source], order, i);
    qsort(ranked, model->count, sizeof *ranked, by_rank);
    for (unsigned i = 0; i < model->count; i++)
        out[i] = ranked[i].item;
    free(ranked);
}

/* ---- hill climbing --------------------------------------------------------------------------- */

struct climb {
    const struct pack_item *items;
    unsigned count, *order, *position; /* position: of an item in the order */
    unsigned *near, *around; /* how often an item is among those alive with the topmost one and
                              * placed before it; and among those of these, of any of them */
    uint64_t near_count, around_count;
    unsigned first, second; /* the items that were exchanged last */
    struct random random;
};

static void exchange(struct climb *c)
{
    const unsigned at = c->position[c->first], other = c->position[c->second];
    c->order[at] = c->second;
    c->order[other] = c->first;
    c->position[c->first] = other;
    c->position[c->second] = at;
}

/* Counts in `around` the items that are placed before this one and alive with it. */
static uint64_t count_before(const struct climb *c, unsigned item, unsigned *around)
{
    uint64_t found = 0;
    for (unsigned k = 0; k < c->position[item]; k++)
        if (pack_items_meet(&c->items[item], &c->items[c->order[k]])) {
            around[c->order[k]]++;
            found++;
        }
    return found;
}

static void find_neighbours(struct climb *c, unsigned top)
{
    memset(c->near, 0, c->count * sizeof *c->near);
    memset(c->around, 0, c->count * sizeof *c->around);
    c->near_count = count_before(c, top, c->near);
    c->around_count = 0;
    for (unsigned i = 0; i < c->count; i++)
        if (i != top && pack_items_meet(&c->items[top], &c->items[i]))
            c->around_count += count_before(c, i, c->around);
}

static unsigned draw(struct climb *c, const unsigned *times, uint64_t sum)
{
    uint64_t left = random_below(&c->random, sum);
    unsigned i = 0;
    for (; left >= times[i]; i++)
        left -= times[i];
    return i;
}

/* One of the items that reach the height. */
static unsigned draw_top(struct climb *c, const int64_t *offset)
{
    int64_t height = 0;
    unsigned reach = 0, top = 0;
    for (unsigned i = 0; i < c->count; i++)
        height = pack_max(height, offset[i] + c->items[i].size);
    for (unsigned i = 0; i < c->count; i++)
        if (offset[i] + c->items[i].size == height && random_below(&c->random, ++reach) == 0)
            top = i;
    return top;
}

/* Exchanges two items in the order; does nothing where there is only one to take. */
static void move_on(struct climb *c, const int64_t *offset)
{
    find_neighbours(c, draw_top(c, offset));
    if (!c->near_count)
        return;
    const unsigned first = draw(c, c->near, c->near_count);
    if (c->near[first] == c->near_count && c->around[first] == c->around_count)
        return;
    unsigned second = first;
    while (second == first) {
        const bool is_around = c->around_count && random_below(&c->random, 100) > 25;
        second = is_around ? draw(c, c->around, c->around_count) : draw(c, c->near, c->near_count);
    }
    c->first = first;
    c->second = second;
    exchange(c);
}

static bool is_kept(struct climb *c, int64_t height, int64_t kept, unsigned tried)
{
    return height < kept || (int64_t)random_below(&c->random, 100) <
                                (int64_t)(50.0 * (double)(height - kept) / (double)height) / tried;
}

/* Changes the order up to `tries` times; `offset` is that of the last plan that was kept. */
static int64_t climb(struct climb *c, struct pack_placer *placer, unsigned tries,
                     uint64_t deadline_ns, int64_t *offset)
{
    const int64_t bound = pack_load_bound(c->items, c->count, NULL);
    int64_t *next = must_alloc((c->count + 1) * sizeof *next), kept = INT64_MAX;
    for (unsigned i = 0; i < c->count; i++)
        c->position[c->order[i]] = i;
    for (unsigned tried = 0; tried < tries && kept > bound; tried++) {
        struct pack_run run = {.below = INT64_MAX, .deadline_ns = deadline_ns};
        const int64_t height =
            pack_placer_run(placer, c->order, c->count, PACK_FIRST_GAP, &run, next);
        if (height == INT64_MAX || (tried && clock_ns() > deadline_ns))
            break;
        if (!tried || is_kept(c, height, kept, tried)) {
            kept = height;
            memcpy(offset, next, c->count * sizeof *next);
        } else {
            exchange(c);
        }
        move_on(c, offset);
    }
    free(next);
    return kept;
}

/* ---- a plan ---------------------------------------------------------------------------------- */

static int64_t plan_model(const struct pack_planner *planner, const struct pack_model *model,
                          const struct traits *traits, uint64_t deadline_ns, int64_t *offset)
{
    struct pack_placer *placer = pack_placer_open(model->items, model->count);
    unsigned *order = must_alloc((model->count + 1) * sizeof *order);
    int64_t height;
    fill_order(model, traits, planner->order, order);
    if (planner->tries > 1) {
        struct climb c = {.items = model->items, .count = model->count, .order = order};
        c.position = must_alloc((c.count + 1) * sizeof *c.position);
        c.near = must_alloc((c.count + 1) * sizeof *c.near);
        c.around = must_alloc((c.count + 1) * sizeof *c.around);
        height = climb(&c, placer, planner->tries, deadline_ns, offset);
        free(c.position);
        free(c.near);
        free(c.around);
    } else {
        struct pack_run run = {.below = INT64_MAX, .deadline_ns = deadline_ns};
        height = pack_placer_run(placer, order, model->count, planner->gap, &run, offset);
    }
    free(order);
    pack_placer_close(placer);
    return height;
}

bool pack_planner_run(const struct pack_planner *planner, const struct pack_buffer *buffers,
                      size_t count, uint64_t deadline_ns, int64_t *offset)
{
    struct pack_model model;
    struct traits *traits = must_alloc((count + 1) * sizeof *traits);
    pack_model_build(&model, buffers, count);
    find_traits(buffers, count, traits);
    int64_t *at = must_alloc((model.count + 1) * sizeof *at), least = INT64_MAX;
    const struct pack_planner *one = planner->is_best ? planner - 2 : planner;
    const struct pack_planner *last = planner->is_best ? planner - 1 : planner;
    for (; one <= last; one++) {
        const int64_t height = plan_model(one, &model, traits, deadline_ns, at);
        for (unsigned i = 0; height < least && i < model.count; i++)
            offset[model.items[i].source] = at[i];
        least = pack_min(least, height);
    }
    free(at);
    free(traits);
    pack_model_free(&model);
    return least < INT64_MAX;
}
