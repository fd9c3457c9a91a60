/* The chance that memory does not suffice, with a pool for each chunk and with a shared one.
 *
 * The account of a memory heap in shader code claims: if each of k buffers is too small with chance
 * C, then at least one of them is too small with a chance of at least C, but one pool for all of
 * them is full only with chance C^k. That would hold if sizes were independent and the pool were
 * full only if every chunk is too large. In fact the pool is full if the sizes of k chunks
 * add up to more than it has, and neighbouring chunks are alike. The sizes are those of the
 * isosurface experiment, and the chunks of a pool are neighbours there: a row of a layer, a layer,
 * all of the window in a frame.
 *
 * A pool is as large as k chunks of `percent` of the mean size. A row has the measured chance and
 * three others: the claimed one, C^k; that of separate buffers, each as large as its share of the
 * pool; and that of a pool whose k sizes are drawn one by one from all sizes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/random.h"
#include "experiment/isosurface.h"
#include "experiment/list.h"

enum { OPTION_CELLS, OPTION_WINDOW, OPTION_FRAMES };
static const struct option_spec options[] = {
    [OPTION_CELLS] = {"cells", OPTION_COUNT, "8", NULL, 4, 64,
                      "cells of a chunk in each direction"},
    [OPTION_WINDOW] = {"window", OPTION_COUNT, "4", NULL, 2, 32,
                       "chunks of the window in each direction"},
    [OPTION_FRAMES] = {"frames", OPTION_COUNT, "60", NULL, 1, 100000,
                       "positions of the window, one layer apart"},
    {NULL, OPTION_COUNT, NULL, NULL, 0, 0, NULL},
};

enum { PARAMETER_CHUNKS, PARAMETER_PERCENT };
static const struct experiment_parameter parameters[] = {
    [PARAMETER_CHUNKS] = {"chunks", true, UNIT_COUNT, "neighbours that share a pool"},
    [PARAMETER_PERCENT] = {"percent", true, UNIT_COUNT,
                           "size of the pool, in percent of the mean size of its chunks"},
    {NULL, false, UNIT_COUNT, NULL},
};

/* clang-format off */
#define METRIC_LIST(X)                                                                             \
    X(pool_bytes, BYTES, EXACT, LOWER, "size of the pool")                                           \
    X(overflow_ratio, RATIO, EXACT, LOWER, "measured: how often its chunks add up to more")          \
    X(claim_ratio, RATIO, EXACT, NEITHER, "claimed: C^k, that each chunk is above its share, independently") \
    X(drawn_ratio, RATIO, EXACT, NEITHER, "the same, with sizes drawn one by one from all chunks") \
    X(separate_ratio, RATIO, EXACT, NEITHER, "how often at least one chunk is above its share")      \
    X(pool_count, COUNT, EXACT, NEITHER, "number of pools examined")
/* clang-format on */
EXPERIMENT_METRICS(METRIC_LIST);

struct overflow {
    uint32_t window, layers;
    uint64_t seed;
    uint32_t *counts; /* triangles of each chunk of each layer */
    double mean_bytes;
};

/* ---- the sizes ------------------------------------------------------------------------------- */

static int no_memory(struct march *m, uint32_t layer, struct error *error)
{
    (void)m, (void)layer, (void)error;
    return 0;
}

static const struct isosurface_method counting = {
    .name = "counting", .create = no_memory, .destroy = no_memory};

/* Compares the counts of a few chunks with those that the host computes. */
static int check_counts(const struct overflow *s, const struct isosurface_field *field,
                        uint32_t cells, struct error *error)
{
    enum { CHECKED = 8 };
    const uint32_t chunks = s->window * s->window;
    struct random random = {s->seed};
    for (int i = 0; i < CHECKED; i++) {
        const uint32_t layer = (uint32_t)random_below(&random, s->layers);
        const uint32_t c = (uint32_t)random_below(&random, chunks);
        const uint32_t expected =
            isosurface_reference(field, cells, layer, c % s->window, c / s->window).count;
        if (s->counts[layer * chunks + c] != expected)
            return error_set(error, ERR_WRONG,
                             "chunk %u of layer %u has %u triangles; the host finds %u", c, layer,
                             s->counts[layer * chunks + c], expected);
    }
    return 0;
}

static int count_all(struct overflow *s, struct device *device, uint32_t cells, struct error *error)
{
    const uint32_t chunks = s->window * s->window;
    const struct isosurface_field field = isosurface_hills(s->window, cells, s->seed);
    const size_t all = (size_t)s->layers * chunks;
    struct marcher marcher;
    struct march m;
    TRY(marcher_open(device, s->window, cells, s->layers, &marcher, error));
    int code = march_open(&marcher, &counting, NULL, &field, s->window, s->layers, &m, error);
    for (uint32_t layer = 0; layer < s->layers && !code; layer++)
        code = march_frame(&m, layer, error);
    THEN(code, device->ops->read(device, s->counts, marcher.counts, 0, all * 4, error));
    march_close(&m);
    marcher_close(&marcher);
    if (code)
        return code;
    for (size_t i = 0; i < all; i++)
        s->mean_bytes += (double)s->counts[i] * TRIANGLE_BYTES / (double)all;
    return check_counts(s, &field, cells, error);
}

static void overflow_close(void *state)
{
    struct overflow *s = state;
    free(s->counts);
    free(s);
}

static int overflow_open(struct device *device, const struct experiment_settings *settings,
                         void **state, struct error *error)
{
    const uint64_t *value = settings->options.value;
    struct overflow *s = must_alloc(sizeof *s);
    *s = (struct overflow){.window = (uint32_t)value[OPTION_WINDOW],
                           .layers = (uint32_t)(value[OPTION_FRAMES] + value[OPTION_WINDOW] - 1),
                           .seed = settings->seed};
    s->counts = must_alloc((size_t)s->layers * s->window * s->window * sizeof *s->counts);
    int code = count_all(s, device, (uint32_t)value[OPTION_CELLS], error);
    if (code)
        overflow_close(s);
    else
        *state = s;
    return code;
}

/* ---- the chances ----------------------------------------------------------------------------- */

enum { DRAWS = 20000 };

/* The counts of a pool's chunks are neighbours in memory. Pools of a part of a layer stand side by
 * side; a pool of several layers moves by one layer. */
static void look_at_pools(const struct overflow *s, size_t k, double pool_triangles,
                          struct experiment_record *record)
{
    const size_t chunks = s->window * s->window, all = s->layers * chunks;
    const size_t step = k > chunks ? chunks : k;
    const double share = pool_triangles / (double)k;
    size_t pools = 0, full = 0, one_full = 0;
    for (size_t first = 0; first + k <= all; first += step) {
        uint64_t sum = 0;
        bool any = false;
        for (size_t i = first; i < first + k; i++) {
            sum += s->counts[i];
            any |= s->counts[i] > share;
        }
        pools++;
        full += (double)sum > pool_triangles;
        one_full += any;
    }
    experiment_take(record, METRIC_pool_count, (double)pools);
    experiment_take(record, METRIC_overflow_ratio, (double)full / (double)pools);
    experiment_take(record, METRIC_separate_ratio, (double)one_full / (double)pools);
}

static double drawn_ratio(const struct overflow *s, size_t k, double pool_triangles)
{
    const size_t all = (size_t)s->layers * s->window * s->window;
    struct random random = {random_split(s->seed, k)};
    size_t full = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < k; i++)
            sum += s->counts[random_below(&random, all)];
        full += (double)sum > pool_triangles;
    }
    return (double)full / DRAWS;
}

static double claim_ratio(const struct overflow *s, size_t k, double pool_triangles)
{
    const size_t all = (size_t)s->layers * s->window * s->window;
    const double share = pool_triangles / (double)k;
    size_t above = 0;
    for (size_t i = 0; i < all; i++)
        above += s->counts[i] > share;
    return pow((double)above / (double)all, (double)k);
}

static int overflow_measure(void *state, const struct experiment_row *row,
                            struct experiment_record *record, struct error *error)
{
    const struct overflow *s = state;
    const size_t k = row->number[PARAMETER_CHUNKS];
    const double bytes = s->mean_bytes * (double)k * (double)row->number[PARAMETER_PERCENT] / 100;
    const double triangles = floor(bytes / TRIANGLE_BYTES);
    (void)error;
    experiment_take(record, METRIC_pool_bytes, triangles * TRIANGLE_BYTES);
    look_at_pools(s, k, triangles, record);
    experiment_take(record, METRIC_claim_ratio, claim_ratio(s, k, triangles));
    experiment_take(record, METRIC_drawn_ratio, drawn_ratio(s, k, triangles));
    snprintf(record->digest, sizeof record->digest, "%016llx",
             (unsigned long long)digest_bytes(
                 0, s->counts, (size_t)s->layers * s->window * s->window * sizeof *s->counts));
    return 0;
}

/* ---- the rows -------------------------------------------------------------------------------- */

static int overflow_plan(const struct experiment_settings *settings, struct experiment_plan *out,
                         struct error *error)
{
    static const uint64_t percents[] = {50, 80, 100, 110, 120, 150, 200, 300, 500, 800};
    const uint64_t window = settings->options.value[OPTION_WINDOW];
    (void)error;
    for (uint64_t k = 1; k <= window * window * window; k *= window)
        for (size_t p = 0; p < sizeof percents / sizeof *percents; p++) {
            struct experiment_row *row = experiment_add_row(out);
            row->number[PARAMETER_CHUNKS] = k;
            row->number[PARAMETER_PERCENT] = percents[p];
        }
    return 0;
}

const struct experiment experiment_overflow = {
    .name = "overflow",
    .summary =
        "how often a pool shared by chunks of a surface is too small, and the published claim",
    .options = options,
    .parameters = parameters,
    .metrics = metrics,
    .metric_count = METRICS,
    .plan = overflow_plan,
    .open = overflow_open,
    .measure = overflow_measure,
    .close = overflow_close,
};
