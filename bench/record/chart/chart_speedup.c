/* How many times faster than raw each way to run is: bars by workload.
 *
 *     x speedup ci_lo ci_hi status
 */
#include <string.h>

#include "record/chart/matrix.h"
#include "base/tree.h"

static bool is_baseline(const json_t *one_case)
{
    const json_t *speedup = json_object_get(one_case, "speedup_over_raw");
    return strcmp(tree_get_text(speedup, "baseline"), tree_get_text(one_case, "id")) == 0;
}

static bool print_cell(const struct grid *grid, size_t c, size_t s, FILE *out)
{
    /* A mean is its own interval; a case carries one. */
    const json_t *cell = grid_cell(grid, c, s);
    const json_t *speedup = json_object_get(cell, "speedup_over_raw");
    const json_t *interval = json_is_object(speedup) ? speedup : cell;
    data_number(tree_get_number(interval, "median"), out);
    data_number(tree_get_number(interval, "ci_lo"), out);
    data_number(tree_get_number(interval, "ci_hi"), out);
    bool known = data_status(cell, tree_get_number(interval, "median"), out);
    fputc('\n', out);
    return known;
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    static const struct grid_rules rules = {
        .are_bars = true, .is_baseline = is_baseline, .has_mean = true, .mean_of_summary = true};
    struct grid grid;
    int code = grid_make(&chart_speedup, of, &rules, &grid, error);
    if (code)
        return code;
    if (grid_print(&grid, "speedup", "x speedup ci_lo ci_hi status", print_cell, data) == 0)
        code = grid_is_empty(&chart_speedup, &grid, error);
    grid_variables(&grid, variables);
    grid_free(&grid);
    return code;
}

const struct chart chart_speedup = {
    .name = "speedup",
    .help = "wall time of raw over that of each strategy, by workload, with intervals",
    .scope = CHART_OF_DEVICE,
    .write = write,
};
