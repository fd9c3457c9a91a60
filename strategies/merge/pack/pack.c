#include "merge/pack/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "merge/pack/pack_model.h"

/* Search depth and tables grow with the buffers; beyond this the greedy plan stays as it is. */
enum { EXACT_MOST = 4096 };

/* Buffers whose lives have nothing in common with those of others: a problem of its own. */
struct component {
    struct pack_model model;
    struct pack_plan plan;
    size_t *buffer; /* the caller's number of each buffer that the model was built from */
};

static void plan_greedily(struct component *c, int64_t enough, uint64_t deadline_ns)
{
    const struct pack_item *items = c->model.items;
    const unsigned count = c->model.count;
    unsigned *order = must_alloc(count * sizeof *order);
    int64_t *offset = must_alloc(count * sizeof *offset);
    c->plan.lower_bound = pack_load_bound(items, count);
    c->plan.height = INT64_MAX;
    c->plan.offset = must_alloc(count * sizeof *c->plan.offset);
    for (int k = 0; k < PACK_ORDER_COUNT * PACK_GAP_COUNT; k++) {
        if (k > 0 &&
            (c->plan.height <= pack_max(enough, c->plan.lower_bound) || clock_ns() > deadline_ns))
            break;
        const enum pack_order o = (enum pack_order)(k / PACK_GAP_COUNT);
        const enum pack_gap gap = (enum pack_gap)(k % PACK_GAP_COUNT);
        pack_order_fill(items, count, o, order);
        const int64_t height = pack_place(items, count, order, gap, offset);
        if (height >= c->plan.height)
            continue;
        c->plan.height = height;
        c->plan.method = pack_greedy_name(o, gap);
        memcpy(c->plan.offset, offset, count * sizeof *offset);
    }
    free(order);
    free(offset);
}

/* From the first start to the last end. */
struct life {
    int64_t lower, upper;
    size_t buffer;
};

static int by_start(const void *left, const void *right)
{
    const struct life *a = left, *b = right;
    if (a->lower != b->lower)
        return a->lower < b->lower ? -1 : 1;
    return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

/* Of the buffers that take room, by start. */
static size_t collect_lives(const struct pack_buffer *buffers, size_t count, struct life *lives)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct life life = {.buffer = i};
        bool alive = false;
        for (size_t k = 0; buffers[i].size && k < pack_interval_count(&buffers[i]); k++) {
            const struct pack_interval part = pack_interval_at(&buffers[i], k);
            if (part.lower == part.upper)
                continue;
            life.lower = alive ? life.lower : part.lower;
            life.upper = part.upper;
            alive = true;
        }
        if (alive)
            lives[used++] = life;
    }
    qsort(lives, used, sizeof *lives, by_start);
    return used;
}

static void open_component(struct component *c, const struct pack_buffer *buffers,
                           const struct life *lives, size_t count)
{
    struct pack_buffer *own = must_alloc(count * sizeof *own);
    c->buffer = must_alloc(count * sizeof *c->buffer);
    for (size_t i = 0; i < count; i++) {
        own[i] = buffers[lives[i].buffer];
        c->buffer[i] = lives[i].buffer;
    }
    pack_model_build(&c->model, own, count);
    free(own);
}

static size_t open_components(const struct pack_buffer *buffers, size_t count,
                              struct component *components)
{
    struct life *lives = must_alloc((count + 1) * sizeof *lives);
    const size_t life_count = collect_lives(buffers, count, lives);
    size_t component_count = 0, end;
    for (size_t first = 0; first < life_count; first = end) {
        int64_t upper = lives[first].upper;
        for (end = first + 1; end < life_count && lives[end].lower < upper; end++)
            upper = pack_max(upper, lives[end].upper);
        open_component(&components[component_count++], buffers, &lives[first], end - first);
    }
    free(lives);
    return component_count;
}

static int by_bound(const void *left, const void *right)
{
    const struct component *a = left, *b = right;
    if (a->plan.lower_bound != b->plan.lower_bound)
        return a->plan.lower_bound > b->plan.lower_bound ? -1 : 1;
    return a->buffer[0] < b->buffer[0] ? -1 : a->buffer[0] > b->buffer[0];
}

/* The rest need be no lower than the component that has to be highest, so that comes first. */
static uint64_t plan_components(struct component *components, size_t count, int64_t enough,
                                uint64_t deadline_ns)
{
    uint64_t nodes = 0;
    for (size_t i = 0; i < count; i++)
        plan_greedily(&components[i], enough, deadline_ns);
    qsort(components, count, sizeof *components, by_bound);
    for (size_t i = 0; i < count; i++) {
        struct component *c = &components[i];
        enough = pack_max(enough, components[0].plan.lower_bound);
        if (c->model.count <= EXACT_MOST)
            nodes += pack_exact(c->model.items, c->model.count, enough, deadline_ns, &c->plan);
        enough = pack_max(enough, c->plan.lower_bound);
    }
    return nodes;
}

static void take_plan(const struct component *c, struct pack_result *result)
{
    for (unsigned i = 0; i < c->model.count; i++)
        result->offset[c->buffer[c->model.items[i].source]] = c->plan.offset[i];
    result->lower_bound = pack_max(result->lower_bound, c->plan.lower_bound);
    if (c->plan.height > result->height) {
        result->height = c->plan.height;
        result->method = c->plan.method;
    }
}

int pack_solve(const struct pack_buffer *buffers, size_t count, const struct pack_options *options,
               struct pack_result *result, struct error *error)
{
    const uint64_t start = clock_ns();
    const uint64_t deadline = start + (uint64_t)pack_max(options->time_limit_ns, 0);
    *result = (struct pack_result){.method = "nothing to place"};
    const int code = pack_verify(buffers, count, error);
    if (code)
        return code;
    result->offset = must_alloc((count + 1) * sizeof *result->offset);
    struct component *components = must_alloc((count + 1) * sizeof *components);
    const size_t component_count = open_components(buffers, count, components);
    result->nodes = plan_components(components, component_count, options->capacity, deadline);
    for (size_t i = 0; i < component_count; i++) {
        take_plan(&components[i], result);
        pack_model_free(&components[i].model);
        free(components[i].plan.offset);
        free(components[i].buffer);
    }
    free(components);
    result->optimal = result->height == result->lower_bound;
    result->elapsed_ns = (int64_t)(clock_ns() - start);
    return 0;
}

void pack_result_free(struct pack_result *result)
{
    free(result->offset);
    *result = (struct pack_result){0};
}
