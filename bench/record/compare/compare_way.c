/* The rows over all cases that were run in one way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record/compare/compare_parts.h"
#include "record/statistics/shared_shift.h"
#include "base/tree.h"
#include "record/compare/way.h"

/* Rows of one metric in one file, as far as both cases were measured, and how it is gated. */
struct pairs {
    size_t count;
    const json_t **base, **fresh;
    struct compare_row row; /* any of them: rows move when more are added */
};

static struct pairs pairs_of(const struct comparer *c, const struct counter_info *metric)
{
    struct pairs pairs = {.base = must_alloc(c->row_count * sizeof *pairs.base),
                          .fresh = must_alloc(c->row_count * sizeof *pairs.fresh)};
    for (size_t i = 0; i < c->row_count; i++) {
        const struct compare_row *row = &c->rows[i];
        if (row->file != c->file || row->metric != metric || !row->base_rounds ||
            !row->fresh_rounds)
            continue;
        pairs.row = *row;
        pairs.base[pairs.count] = row->base_case;
        pairs.fresh[pairs.count++] = row->fresh_case;
    }
    return pairs;
}

static void pairs_free(struct pairs *pairs)
{
    free(pairs->base);
    free(pairs->fresh);
}

/* As many rounds of both files as one table. Of the file with more of them they are taken evenly:
 * the fastest of more rounds is faster for that alone. */
static struct shared_rounds rounds_of(struct arena *arena, const struct pairs *pairs,
                                      const struct way *way, const char *metric)
{
    const json_t **cases = arena_alloc(arena, way->count * sizeof *cases);
    double *of_set[2];
    size_t count[2];
    for (int set = 0; set < 2; set++) {
        for (size_t i = 0; i < way->count; i++)
            cases[i] = (set ? pairs->fresh : pairs->base)[way->member[i]];
        count[set] = way_rounds(cases, way->count, metric, arena, &of_set[set]);
    }
    const size_t fewer = count[0] < count[1] ? count[0] : count[1];
    double *value = arena_alloc(arena, way->count * 2 * fewer * sizeof *value);
    for (size_t i = 0; i < way->count; i++)
        for (size_t r = 0; r < 2 * fewer; r++) {
            const size_t set = r / fewer, taken = r % fewer * count[set] / fewer;
            value[i * 2 * fewer + r] = of_set[set][i * count[set] + taken];
        }
    return (struct shared_rounds){way->count, fewer, value};
}

/* `finest`: the smallest p that must be told apart. */
static struct compare_row row_of(struct comparer *c, const struct pairs *pairs,
                                 const struct way *way, double finest)
{
    const struct counter_info *metric = pairs->row.metric;
    struct arena arena = {0};
    const struct shared_rounds rounds = rounds_of(&arena, pairs, way, metric->name);
    struct compare_row row = {
        .file = c->file,
        .cases = way->count,
        .one_case = way->key,
        .metric = metric,
        .gate = pairs->row.gate,
        .limit = pairs->row.limit,
        .floor = compare_floor(c, way->key, metric->name),
        .base = NAN,
        .fresh = NAN,
        .base_rounds = rounds.count,
        .fresh_rounds = rounds.count,
        .has_test = rounds.count >= RANKS_LEAST_ROUNDS,
        .p_adjusted = NAN,
        .shift = {.estimate = NAN},
    };
    json_array_append(c->way_keys, way->key);
    if (row.has_test)
        row.shift = shared_shift(&rounds, c->options->alpha, finest);
    else if (rounds.count)
        row.shift.estimate = shared_shift_estimate(&rounds);
    arena_free(&arena);
    return row;
}

static void compare_metric(struct comparer *c, const struct counter_info *metric)
{
    struct pairs pairs = pairs_of(c, metric);
    size_t count, kept = 0;
    struct way *ways = way_list(pairs.fresh, pairs.count, &count);
    for (size_t w = 0; w < count; w++)
        kept += ways[w].count >= SHARED_SHIFT_LEAST_CASES;
    for (size_t w = 0; w < count; w++)
        if (ways[w].count >= SHARED_SHIFT_LEAST_CASES) {
            const struct compare_row row =
                row_of(c, &pairs, &ways[w], c->options->alpha / (double)(2 * kept * c->file_count));
            compare_add_row(c, &row);
        }
    way_list_free(ways, count);
    pairs_free(&pairs);
}

void compare_ways(struct comparer *c)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    /* Workloads or datasets beside each other are no way to run. */
    if (c->by && (strcmp(c->by, "workload") == 0 || strcmp(c->by, "dataset") == 0))
        return;
    for (size_t i = 0; i < count && !c->leave_out_times; i++)
        if (list[i].kind == KIND_SAMPLED && !c->options->leave_out[i] &&
            (c->by || c->options->gates.gate[i].is_set))
            compare_metric(c, &list[i]);
}
