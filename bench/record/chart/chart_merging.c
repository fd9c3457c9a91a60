/* What merging does under one strategy: a case over the one that differs from it in the merge set
 * alone.
 *
 *     x time ci_lo ci_hi peak status
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/chart/matrix.h"
#include "record/result/result.h"
#include "record/statistics/statistics.h"
#include "base/tree.h"

static const json_t *unmerged_of(const json_t *root, const json_t *one_case)
{
    static const char *const same[] = {"device",  "workload", "dataset",
                                       "release", "strategy", "residency"};
    const json_t *key = json_object_get(one_case, "key");
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(root, "cases"), i, other)
    {
        bool found = case_is_unmerged(other);
        for (size_t s = 0; s < sizeof same / sizeof *same; s++)
            found &= strcmp(tree_get_text(key, same[s]),
                            tree_get_text(json_object_get(other, "key"), same[s])) == 0;
        if (found)
            return other;
    }
    return NULL;
}

static double peak_over(const json_t *cell, const json_t *unmerged)
{
    static const char requested[] = "peak_requested_bytes";
    const double bytes = case_peak(unmerged, requested);
    return bytes > 0 ? case_peak(cell, requested) / bytes : NAN;
}

/* Geometric means over the clusters that have both numbers. */
static bool print_mean(const struct grid *grid, size_t series, FILE *out)
{
    double *times = must_alloc(grid->clusters.count * sizeof *times);
    double *peaks = must_alloc(grid->clusters.count * sizeof *peaks);
    size_t count = 0;
    for (size_t c = 0; c + 1 < grid->clusters.count; c++) {
        const json_t *cell = grid_cell(grid, c, series);
        const json_t *unmerged = cell ? unmerged_of(grid->of->root, cell) : NULL;
        times[count] = result_ratio(cell, unmerged).median;
        peaks[count] = peak_over(cell, unmerged);
        count += !isnan(times[count]) && !isnan(peaks[count]);
    }
    const double time = statistics_geometric_mean(times, count);
    data_number(time, out);
    fputs(" NaN NaN", out);
    data_number(statistics_geometric_mean(peaks, count), out);
    free(times);
    free(peaks);
    return data_status(NULL, time, out);
}

static bool print_case(const struct grid *grid, const json_t *cell, FILE *out)
{
    const json_t *unmerged = unmerged_of(grid->of->root, cell);
    const struct statistics time = result_ratio(cell, unmerged);
    data_number(time.median, out);
    data_number(time.ci_lo, out);
    data_number(time.ci_hi, out);
    data_number(peak_over(cell, unmerged), out);
    return data_status(cell, time.median, out);
}

static bool print_cell(const struct grid *grid, size_t c, size_t s, FILE *out)
{
    bool known = grid_is_mean(grid, c) ? print_mean(grid, s, out)
                                       : print_case(grid, grid_cell(grid, c, s), out);
    fputc('\n', out);
    return known;
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    static const struct grid_rules rules = {
        .are_bars = true, .is_baseline = case_is_unmerged, .has_mean = true};
    struct grid grid;
    int code = grid_make(&chart_merging, of, &rules, &grid, error);
    if (code)
        return code;
    if (grid_print(&grid, "merging", "x time ci_lo ci_hi peak status", print_cell, data) == 0)
        code = grid_is_empty(&chart_merging, &grid, error);
    grid_variables(&grid, variables);
    grid_free(&grid);
    return code;
}

const struct chart chart_merging = {
    .name = "merging",
    .help = "time and peak requested bytes of each merge set over those of none, by workload",
    .scope = CHART_OF_STRATEGY,
    .write = write,
};
