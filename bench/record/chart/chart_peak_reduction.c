/* What merging takes off the peak of the bytes that a program asks for: bars by workload, a series
 * for each merge set (and release policy), over the program as written, freed at last use. The
 * bytes asked for are the same under every strategy, so one case of them stands for all.
 *
 *     x reduction bound peak_bytes unmerged_bytes status
 *
 * reduction is 1 - peak / peak of the program as written; bound is what it would be at the least
 * live lower bound that any merge set of the file has for the program: a set's own bound is no aim,
 * for what it merged lives as long as the longest part. The last cluster, if there are several, has
 * geometric means.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/chart/matrix.h"
#include "record/statistics/statistics.h"
#include "base/tree.h"

static const char requested[] = "peak_requested_bytes";

static bool is_as_written(const json_t *one_case)
{
    const char *release = tree_get_text(json_object_get(one_case, "key"), "release");
    return case_is_unmerged(one_case) && strcmp(release, "last-use") == 0;
}

/* What the cases of one cluster have in common; NaN where it is not known. */
struct common {
    double unmerged; /* the peak of the program as written */
    double bound;    /* the least lower bound */
};

static struct common common_of(const struct chart_subject *of, const json_t *one_case)
{
    const json_t *key = json_object_get(one_case, "key");
    const struct chart_subject same = {.device = of->device,
                                       .workload = tree_get_text(key, "workload"),
                                       .dataset = tree_get_text(key, "dataset")};
    struct common common = {NAN, NAN};
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(of->root, "cases"), i, other)
    {
        if (!case_is_of(json_object_get(other, "key"), &same))
            continue;
        if (is_as_written(other) && case_peak(other, requested) > 0)
            common.unmerged = case_peak(other, requested);
        common.bound = fmin(common.bound, case_peak(other, "live_lower_bound_bytes"));
    }
    return common;
}

static bool print_reduction(double peak, double bound, double bytes, double unmerged,
                            const json_t *cell, FILE *out)
{
    data_number(1 - peak, out);
    data_number(1 - bound, out);
    data_number(bytes, out);
    data_number(unmerged, out);
    bool known = data_status(cell, peak, out);
    fputc('\n', out);
    return known;
}

static bool print_mean(const struct grid *grid, size_t series, FILE *out)
{
    double *peaks = must_alloc(grid->clusters.count * sizeof *peaks);
    size_t count = 0;
    for (size_t c = 0; c + 1 < grid->clusters.count; c++) {
        const json_t *cell = grid_cell(grid, c, series);
        const double peak =
            cell ? case_peak(cell, requested) / common_of(grid->of, cell).unmerged : NAN;
        if (!isnan(peak))
            peaks[count++] = peak;
    }
    const double mean = statistics_geometric_mean(peaks, count);
    free(peaks);
    return print_reduction(mean, NAN, NAN, NAN, NULL, out);
}

static bool print_cell(const struct grid *grid, size_t c, size_t s, FILE *out)
{
    const json_t *cell = grid_cell(grid, c, s);
    if (grid_is_mean(grid, c))
        return print_mean(grid, s, out);
    const struct common common = common_of(grid->of, cell);
    const double bytes = case_peak(cell, requested);
    return print_reduction(bytes / common.unmerged, common.bound / common.unmerged, bytes,
                           common.unmerged, cell, out);
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    static const struct grid_rules rules = {
        .are_bars = true, .is_baseline = is_as_written, .has_mean = true, .any_strategy = true};
    struct grid grid;
    int code = grid_make(&chart_peak_reduction, of, &rules, &grid, error);
    if (code)
        return code;
    if (grid_print(&grid, chart_peak_reduction.name,
                   "x reduction bound peak_bytes unmerged_bytes status", print_cell, data) == 0)
        code = grid_is_empty(&chart_peak_reduction, &grid, error);
    grid_variables(&grid, variables);
    grid_free(&grid);
    return code;
}

const struct chart chart_peak_reduction = {
    .name = "peak_reduction",
    .help = "how much merging takes off the peak of requested bytes, and what is left to take",
    .scope = CHART_OF_DEVICE,
    .write = write,
};
