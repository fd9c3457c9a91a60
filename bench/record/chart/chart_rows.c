/* Charts with a row for each program and a dot for each configuration (rows.h): how many times faster than raw,
 * memory over the lower bound, and what merging gains. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/chart/gnuplot.h"
#include "record/chart/rows.h"
#include "record/result/result.h"

enum { COLUMNS_MOST = 24 };

/* The `detail` of a chart. */
struct rows {
    struct matrix_rules rules;
    void (*of_cell)(const struct matrix *m, const json_t *cell, struct row_numbers *numbers);
    struct rows_style style;
};

static double ns_of_baseline(const struct chart_subject *of, const char *id)
{
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(of->root, "cases"), i, other)
    {
        if (*id && strcmp(tree_get_text(other, "id"), id) == 0)
            return case_stat(other, "wall_ns", "median");
    }
    return NAN;
}

static char *bytes_text(char out[32], double bytes)
{
    return text_bytes(out, (uint64_t)bytes);
}

static int rows_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                      struct text *variables, struct error *error)
{
    const struct rows *rows = chart->detail;
    struct matrix m;
    TRY(matrix_make(chart->name, of, &rows->rules, &m, error));
    const size_t row_count = matrix_row_count(&m), columns = m.columns.count;
    struct row_numbers *cell = must_alloc(row_count * columns * sizeof *cell), own;
    struct measure *mean = must_alloc(columns * sizeof *mean);
    for (size_t i = 0; i < row_count * columns; i++)
        rows->of_cell(&m, m.cell[i], &cell[i]);
    for (size_t c = 0; c < columns && m.has_mean; c++) {
        rows->of_cell(&m, matrix_cell(&m, row_count, c), &own);
        mean[c] = own.measure[0];
    }
    gnuplot_comment(data, "gamut %s on %s%s%s", chart->name, of->device,
                    of->strategy ? " under " : "", of->strategy ? of->strategy : "");
    gnuplot_matrix_variables(&m, variables);
    const struct rows_table table = {.style = &rows->style,
                                     .rows = &m.rows,
                                     .columns = &m.columns,
                                     .row_count = row_count,
                                     .cell = cell,
                                     .status = m.cell,
                                     .mean = m.has_mean ? mean : NULL};
    const int code = rows_print(chart->name, of->device, &table, data, variables, error);
    free(mean);
    free(cell);
    matrix_free(&m);
    return code;
}

/* ---- speedup: how many times faster than raw ------------------------------------------------ */

/* A case has its speed-up as a member; a mean is one itself. */
static void speedup_numbers(const struct matrix *m, const json_t *cell, struct row_numbers *numbers)
{
    const json_t *speedup = json_object_get(cell, "speedup_over_raw");
    const json_t *own = json_is_object(speedup) ? speedup : cell;
    *numbers = (struct row_numbers){
        .measure = {{tree_get_number(own, "median"), tree_get_number(own, "ci_lo"),
                     tree_get_number(own, "ci_hi")}},
        .reference = ns_of_baseline(m->of, tree_get_text(speedup, "baseline"))};
}

const struct chart chart_speedup = {
    .name = "speedup",
    .help = "wall time of raw over that of each strategy, by workload, with intervals",
    .scope = CHART_OF_DEVICE,
    .write = rows_write,
    .detail = &(const struct rows){.rules = {.is_baseline = case_is_baseline,
                                             .has_mean = true,
                                             .mean_of_summary = true,
                                             .columns_most = COLUMNS_MOST},
                                   .of_cell = speedup_numbers,
                                   .style = {.reference_text = text_ns, .measures = 1}},
};

/* ---- peak_memory: the most memory held from the driver, over what no strategy can go below -- */

static const char requested[] = "peak_requested_bytes";

static void peak_memory_numbers(const struct matrix *m, const json_t *cell,
                                struct row_numbers *numbers)
{
    const double least = case_peak(cell, "live_lower_bound_bytes");
    const double bound = least > 0 ? least : NAN;
    (void)m;
    *numbers = (struct row_numbers){
        .measure = {measure_of_value(case_peak(cell, "peak_reserved_bytes") / bound)},
        .reference = bound};
}

const struct chart chart_peak_memory = {
    .name = "peak_memory",
    .help = "peak reserved memory over the live lower bound, by workload",
    .scope = CHART_OF_DEVICE,
    .write = rows_write,
    .detail =
        &(const struct rows){
            .rules = {.columns_most = COLUMNS_MOST},
            .of_cell = peak_memory_numbers,
            .style = {.reference_text = bytes_text, .measures = 1, .less_is_better = true}},
};

/* ---- merging: the case without merging over the one that differs from it in the merge set alone.
 * Both measures are above 1 where merging gains, as a speed-up is. ---- */

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

static void merging_numbers(const struct matrix *m, const json_t *cell, struct row_numbers *numbers)
{
    const json_t *unmerged = cell ? unmerged_of(m->of->root, cell) : NULL;
    const struct statistics time = case_ratio(unmerged, cell);
    const double bytes = case_peak(cell, requested);
    *numbers = (struct row_numbers){
        .measure = {{time.median, time.ci_lo, time.ci_hi},
                    measure_of_value(bytes > 0 ? case_peak(unmerged, requested) / bytes : NAN)},
        .reference = case_stat(unmerged, "wall_ns", "median")};
}

const struct chart chart_merging = {
    .name = "merging",
    .help = "what each merge set gains over none, in time and in peak requested bytes, by workload",
    .scope = CHART_OF_STRATEGY,
    .write = rows_write,
    .detail = &(
        const struct rows){.rules = {.is_baseline = case_is_unmerged, .columns_most = COLUMNS_MOST},
                           .of_cell = merging_numbers,
                           .style = {.reference_text = text_ns, .measures = 2}},
};
