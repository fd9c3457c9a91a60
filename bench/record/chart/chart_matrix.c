/* Matrices: a row for each workload, a column for each way to run, a cell for each case.
 *
 * matrix: how many times faster than raw; matrix_memory: its peak of reserved memory over that of
 * raw. What raw is here is what speedup_over_raw names as its baseline.
 *
 * Block 0: row and label; block 1: column and label; block 2, a line a cell:
 *     row column value status
 */
#include <math.h>
#include <string.h>

#include "record/chart/matrix.h"
#include "record/chart/gnuplot.h"
#include "base/tree.h"

/* A picture with more cells a side than this cannot be read. */
enum { COLUMNS_MOST = 72, ROWS_MOST = 120 };

static double speedup_of(const struct chart_subject *of, const json_t *cell)
{
    const json_t *speedup = json_object_get(cell, "speedup_over_raw");
    (void)of;
    return tree_get_number(json_is_object(speedup) ? speedup : cell, "median");
}

static double memory_of(const struct chart_subject *of, const json_t *cell)
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

typedef double value_of(const struct chart_subject *of, const json_t *cell);

/* How many cells have a value. */
static size_t print_cells(const struct grid *grid, value_of *value, FILE *out)
{
    size_t known = 0;
    fputs("\n\n# row column value status\n", out);
    for (size_t c = 0; c < grid->clusters.count; c++)
        for (size_t s = 0; s < grid->series.count; s++) {
            const json_t *cell = grid_cell(grid, c, s);
            const double of_cell = cell ? value(grid->of, cell) : NAN;
            fprintf(out, "%zu %zu", c, s);
            data_number(of_cell, out);
            data_status(cell, of_cell, out);
            fputc('\n', out);
            known += !isnan(of_cell);
        }
    return known;
}

static void print_labels(const struct labels *labels, const char *columns, FILE *out)
{
    fprintf(out, "# %s\n", columns);
    for (size_t i = 0; i < labels->count; i++)
        fprintf(out, "%zu \"%s\"\n", i, labels->name[i]);
}

static int write_matrix(const struct chart *chart, const struct chart_subject *of, bool has_mean,
                        value_of *value, FILE *data, struct text *variables, struct error *error)
{
    const struct grid_rules rules = {.has_mean = has_mean, .mean_of_summary = true};
    struct grid grid;
    int code = grid_make(chart, of, &rules, &grid, error);
    if (code)
        return code;
    fprintf(data, "# gamut %s on %s\n", chart->name, of->device);
    print_labels(&grid.clusters, "row label", data);
    fputs("\n\n", data);
    print_labels(&grid.series, "column label", data);
    if (grid.series.count > COLUMNS_MOST || grid.clusters.count > ROWS_MOST)
        code = error_set(
            error, ERR_USAGE,
            "the chart %s of %s would have %zu rows and %zu columns, more than the %d and "
            "%d that can be read: choose some with -w and -s",
            chart->name, of->device, grid.clusters.count, grid.series.count, ROWS_MOST,
            COLUMNS_MOST);
    else if (print_cells(&grid, value, data) == 0)
        code = error_set(error, ERR_NOT_FOUND,
                         "no case on %s can be compared with raw, which the chart %s is over",
                         of->device, chart->name);
    grid_variables(&grid, variables);
    gnuplot_number(variables, "mean_row", grid.has_mean ? (double)grid.clusters.count - 1 : -1);
    grid_free(&grid);
    return code;
}

static int write_speedup(const struct chart_subject *of, FILE *data, struct text *variables,
                         struct error *error)
{
    return write_matrix(&chart_matrix, of, true, speedup_of, data, variables, error);
}

static int write_memory(const struct chart_subject *of, FILE *data, struct text *variables,
                        struct error *error)
{
    return write_matrix(&chart_matrix_memory, of, false, memory_of, data, variables, error);
}

const struct chart chart_matrix = {
    .name = "matrix",
    .help = "speed-up over raw as a matrix of workloads and ways to run",
    .scope = CHART_OF_DEVICE,
    .write = write_speedup,
};

const struct chart chart_matrix_memory = {
    .name = "matrix_memory",
    .help = "peak reserved memory over that of raw as a matrix of workloads and ways to run",
    .scope = CHART_OF_DEVICE,
    .write = write_memory,
};
