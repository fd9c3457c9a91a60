/* The charts of a matrix of cases (matrix.h): bars by workload, and the matrix itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/chart/gnuplot.h"
#include "record/result/result.h"
#include "record/statistics/statistics.h"

static int no_number(const struct chart *chart, const struct chart_subject *of, struct error *error)
{
    return error_set(error, ERR_NOT_FOUND,
                     "no case on %s has a number that the chart %s could show", of->device,
                     chart->name);
}

/* ---- bars -----------------------------------------------------------------------------------
 *
 * Block 0: the position and label of each row. Then a block a column, a line a row: the position of
 * the bar, the numbers of the chart, and "ok" or the reason why the first of them is unknown. */

enum { NUMBERS_MOST = 4, BARS_MOST = 24 };

struct bars {
    struct matrix_rules rules;
    const char *numbers; /* names of the numbers */
    size_t count;
    void (*of_cell)(const struct matrix *m, size_t row, size_t column, double number[NUMBERS_MOST]);
};

/* Returns how many bars have a number. */
static size_t print_bars(const struct bars *bars, const struct matrix *m, FILE *out)
{
    size_t known = 0;
    for (size_t c = 0; c < m->columns.count; c++) {
        fputs("\n\n", out);
        gnuplot_comment(out, "%s", m->columns.name[c]);
        gnuplot_comment(out, "x %s status", bars->numbers);
        for (size_t r = 0; r < m->rows.count; r++) {
            /* The bars of a row fill 0.8 of its width. */
            const double offset = ((double)c - (double)(m->columns.count - 1) / 2) * 0.8;
            double number[NUMBERS_MOST];
            bars->of_cell(m, r, c, number);
            fprintf(out, "%.6g", (double)r + offset / (double)m->columns.count);
            for (size_t i = 0; i < bars->count; i++)
                gnuplot_data(number[i], out);
            known += gnuplot_status(matrix_cell(m, r, c), number[0], out);
            fputc('\n', out);
        }
    }
    return known;
}

static int bars_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                      struct text *variables, struct error *error)
{
    const struct bars *bars = chart->detail;
    struct matrix m;
    int code = matrix_make(chart->name, of, &bars->rules, &m, error);
    if (code)
        return code;
    gnuplot_comment(data, "gamut %s on %s%s%s", chart->name, of->device,
                    of->strategy ? " under " : "", of->strategy ? of->strategy : "");
    gnuplot_label_block(&m.rows, "x label", data);
    if (print_bars(bars, &m, data) == 0)
        code = no_number(chart, of, error);
    gnuplot_matrix_variables(&m, variables);
    matrix_free(&m);
    return code;
}

/* ---- speedup: how many times faster than raw ------------------------------------------------ */

/* A case has its speed-up as a member; a mean is one itself. */
static const json_t *speedup_of(const json_t *cell)
{
    const json_t *speedup = json_object_get(cell, "speedup_over_raw");
    return json_is_object(speedup) ? speedup : cell;
}

static void speedup_numbers(const struct matrix *m, size_t row, size_t column, double number[])
{
    const json_t *speedup = speedup_of(matrix_cell(m, row, column));
    number[0] = tree_get_number(speedup, "median");
    number[1] = tree_get_number(speedup, "ci_lo");
    number[2] = tree_get_number(speedup, "ci_hi");
}

static const struct bars speedup_bars = {
    .rules = {.is_baseline = case_is_baseline,
              .has_mean = true,
              .mean_of_summary = true,
              .columns_most = BARS_MOST},
    .numbers = "speedup ci_lo ci_hi",
    .count = 3,
    .of_cell = speedup_numbers,
};

const struct chart chart_speedup = {
    .name = "speedup",
    .help = "wall time of raw over that of each strategy, by workload, with intervals",
    .scope = CHART_OF_DEVICE,
    .write = bars_write,
    .detail = &speedup_bars,
};

/* ---- peak_memory: the most memory held from the driver, over what no strategy can go below -- */

static void peak_memory_numbers(const struct matrix *m, size_t row, size_t column, double number[])
{
    const json_t *cell = matrix_cell(m, row, column);
    const double reserved = case_peak(cell, "peak_reserved_bytes");
    const double least = case_peak(cell, "live_lower_bound_bytes");
    const double bound = least > 0 ? least : NAN;
    number[0] = reserved / bound;
    number[1] = case_peak(cell, "peak_requested_bytes") / bound;
    number[2] = reserved;
    number[3] = bound;
}

static const struct bars peak_memory_bars = {
    .rules = {.columns_most = BARS_MOST},
    .numbers = "reserved/bound requested/bound reserved_bytes bound_bytes",
    .count = 4,
    .of_cell = peak_memory_numbers,
};

const struct chart chart_peak_memory = {
    .name = "peak_memory",
    .help = "peak reserved memory over the live lower bound, by workload",
    .scope = CHART_OF_DEVICE,
    .write = bars_write,
    .detail = &peak_memory_bars,
};

/* ---- peak_reduction: how much merging reduces the peak of requested bytes --------------------
 *
 * A column is a merge set (and release policy). Its numbers are over the program as written, freed
 * at last use. Every strategy gets the same requests, so one strategy's case stands for all.
 * `reduction` is 1 - peak / peak of the program as written. `bound` is the reduction at the least
 * live lower bound that any merge set of the file has for the program. The bound of a merge set
 * itself is no aim, because merged arrays live as long as the longest-lived of them. */

static const char requested[] = "peak_requested_bytes";

static bool is_as_written(const json_t *one_case)
{
    const char *release = tree_get_text(json_object_get(one_case, "key"), "release");
    return case_is_unmerged(one_case) && strcmp(release, "last-use") == 0;
}

/* Peaks that the cases of one workload and dataset share; NaN if unknown. */
struct common {
    double unmerged; /* the peak of the program as written */
    double bound;    /* the least lower bound */
};

static struct common common_of(const struct chart_subject *of, const json_t *one_case)
{
    const json_t *key = json_object_get(one_case, "key"), *other;
    const struct chart_subject same = {.root = of->root,
                                       .device = of->device,
                                       .workload = tree_get_text(key, "workload"),
                                       .dataset = tree_get_text(key, "dataset")};
    struct common common = {NAN, NAN};
    for (size_t i = 0; (other = case_next(&same, &i));) {
        if (is_as_written(other) && case_peak(other, requested) > 0)
            common.unmerged = case_peak(other, requested);
        common.bound = fmin(common.bound, case_peak(other, "live_lower_bound_bytes"));
    }
    return common;
}

static double mean_peak(const struct matrix *m, size_t column)
{
    double *peaks = must_alloc(m->rows.count * sizeof *peaks);
    size_t count = 0;
    for (size_t r = 0; r < matrix_row_count(m); r++) {
        const json_t *cell = matrix_cell(m, r, column);
        peaks[count] = cell ? case_peak(cell, requested) / common_of(m->of, cell).unmerged : NAN;
        count += !isnan(peaks[count]);
    }
    const double mean = statistics_geometric_mean(peaks, count);
    free(peaks);
    return mean;
}

static void peak_reduction_numbers(const struct matrix *m, size_t row, size_t column,
                                   double number[])
{
    const json_t *cell = matrix_cell(m, row, column);
    if (matrix_is_mean(m, row)) {
        number[0] = 1 - mean_peak(m, column);
        number[1] = number[2] = number[3] = NAN;
        return;
    }
    const struct common common = common_of(m->of, cell);
    const double bytes = case_peak(cell, requested);
    number[0] = 1 - bytes / common.unmerged;
    number[1] = 1 - common.bound / common.unmerged;
    number[2] = bytes;
    number[3] = common.unmerged;
}

static const struct bars peak_reduction_bars = {
    .rules = {.is_baseline = is_as_written,
              .has_mean = true,
              .any_strategy = true,
              .columns_most = BARS_MOST},
    .numbers = "reduction bound peak_bytes unmerged_bytes",
    .count = 4,
    .of_cell = peak_reduction_numbers,
};

const struct chart chart_peak_reduction = {
    .name = "peak_reduction",
    .help = "reduction of the peak of requested bytes by merging, and the largest one possible",
    .scope = CHART_OF_DEVICE,
    .write = bars_write,
    .detail = &peak_reduction_bars,
};

/* ---- merging: a case over the one that differs from it in the merge set alone ---------------- */

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

static void merging_of_case(const json_t *root, const json_t *cell, double number[])
{
    const json_t *unmerged = cell ? unmerged_of(root, cell) : NULL;
    const struct statistics time = case_ratio(cell, unmerged);
    const double bytes = case_peak(unmerged, requested);
    number[0] = time.median;
    number[1] = time.ci_lo;
    number[2] = time.ci_hi;
    number[3] = bytes > 0 ? case_peak(cell, requested) / bytes : NAN;
}

/* A mean is over the rows that have both a time and a peak. */
static void merging_numbers(const struct matrix *m, size_t row, size_t column, double number[])
{
    if (!matrix_is_mean(m, row)) {
        merging_of_case(m->of->root, matrix_cell(m, row, column), number);
        return;
    }
    double *times = must_alloc(m->rows.count * sizeof *times);
    double *peaks = must_alloc(m->rows.count * sizeof *peaks);
    size_t count = 0;
    for (size_t r = 0; r < matrix_row_count(m); r++) {
        merging_of_case(m->of->root, matrix_cell(m, r, column), number);
        times[count] = number[0];
        peaks[count] = number[3];
        count += !isnan(number[0]) && !isnan(number[3]);
    }
    number[0] = statistics_geometric_mean(times, count);
    number[1] = number[2] = NAN;
    number[3] = statistics_geometric_mean(peaks, count);
    free(times);
    free(peaks);
}

static const struct bars merging_bars = {
    .rules = {.is_baseline = case_is_unmerged, .has_mean = true, .columns_most = BARS_MOST},
    .numbers = "time ci_lo ci_hi peak",
    .count = 4,
    .of_cell = merging_numbers,
};

const struct chart chart_merging = {
    .name = "merging",
    .help = "time and peak requested bytes of each merge set over those of none, by workload",
    .scope = CHART_OF_STRATEGY,
    .write = bars_write,
    .detail = &merging_bars,
};

/* ---- matrix and matrix_memory: every cell over raw -------------------------------------------
 *
 * Raw is the case that speedup_over_raw names as its baseline. Block 0: row and label; block 1:
 * column and label; block 2, a line a cell: row, column, value, status. */

/* A picture with more cells a side than this cannot be read. */
enum { COLUMNS_MOST = 72, ROWS_MOST = 120 };

struct cells {
    bool has_mean;
    double (*value)(const struct chart_subject *of, const json_t *cell);
};

static double cell_speedup(const struct chart_subject *of, const json_t *cell)
{
    (void)of;
    return tree_get_number(speedup_of(cell), "median");
}

static double cell_memory(const struct chart_subject *of, const json_t *cell)
{
    static const char reserved[] = "peak_reserved_bytes";
    const char *id = tree_get_text(json_object_get(cell, "speedup_over_raw"), "baseline");
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(of->root, "cases"), i, other)
    {
        if (!*id || strcmp(tree_get_text(other, "id"), id) != 0)
            continue;
        const double bytes = case_peak(other, reserved);
        return bytes > 0 ? case_peak(cell, reserved) / bytes : NAN;
    }
    return NAN;
}

/* Returns how many cells have a value. */
static size_t print_cells(const struct cells *cells, const struct matrix *m, FILE *out)
{
    size_t known = 0;
    fputs("\n\n# row column value status\n", out);
    for (size_t r = 0; r < m->rows.count; r++)
        for (size_t c = 0; c < m->columns.count; c++) {
            const json_t *cell = matrix_cell(m, r, c);
            const double value = cell ? cells->value(m->of, cell) : NAN;
            fprintf(out, "%zu %zu", r, c);
            gnuplot_data(value, out);
            known += gnuplot_status(cell, value, out);
            fputc('\n', out);
        }
    return known;
}

static int cells_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                       struct text *variables, struct error *error)
{
    const struct cells *cells = chart->detail;
    const struct matrix_rules rules = {.has_mean = cells->has_mean, .mean_of_summary = true};
    struct matrix m;
    int code = matrix_make(chart->name, of, &rules, &m, error);
    if (code)
        return code;
    gnuplot_comment(data, "gamut %s on %s", chart->name, of->device);
    gnuplot_label_block(&m.rows, "row label", data);
    fputs("\n\n", data);
    gnuplot_label_block(&m.columns, "column label", data);
    if (m.columns.count > COLUMNS_MOST || m.rows.count > ROWS_MOST)
        code = error_set(
            error, ERR_USAGE,
            "the chart %s of %s would have %zu rows and %zu columns, more than the %d and "
            "%d that can be read: choose some with -w and -s",
            chart->name, of->device, m.rows.count, m.columns.count, ROWS_MOST, COLUMNS_MOST);
    else if (print_cells(cells, &m, data) == 0)
        code = error_set(error, ERR_NOT_FOUND,
                         "no case on %s can be compared with raw, which the chart %s is over",
                         of->device, chart->name);
    gnuplot_matrix_variables(&m, variables);
    gnuplot_number(variables, "mean_row", m.has_mean ? (double)m.rows.count - 1 : -1);
    matrix_free(&m);
    return code;
}

const struct chart chart_matrix = {
    .name = "matrix",
    .help = "speed-up over raw as a matrix of workloads and configurations",
    .scope = CHART_OF_DEVICE,
    .write = cells_write,
    .detail = &(const struct cells){.has_mean = true, .value = cell_speedup},
};

const struct chart chart_matrix_memory = {
    .name = "matrix_memory",
    .help = "peak reserved memory over that of raw as a matrix of workloads and configurations",
    .scope = CHART_OF_DEVICE,
    .write = cells_write,
    .detail = &(const struct cells){.value = cell_memory},
};
