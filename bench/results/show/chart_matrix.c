/* The chart of a matrix of cases (matrix.h): every cell over raw. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "results/show/gnuplot.h"
#include "results/statistics/statistics.h"

/* Raw is the case that speedup_over_raw names as its baseline. Rows and columns stand by their
 * gain, the largest first, and the mean stands last. Block 0: row and label; block 1: column and
 * label; block 2, a line a cell: row, column, value, status, and 1 where the value is noise,
 * because its interval contains 1. */

/* A picture with more cells a side than this cannot be read. */
enum { COLUMNS_MOST = 72, ROWS_MOST = 120 };

/* Colours end at this many octaves; numbers go on. */
static const double OCTAVES_MOST = 4;

/* A matrix of numbers, and the order of its rows and columns. */
struct ordered {
    const struct matrix *m;
    double *value; /* [row * columns + column] */
    size_t known;
    size_t *rows, *columns;
    double low, high; /* octaves of the values */
};

static void find_values(struct ordered *o)
{
    const size_t columns = o->m->columns.count;
    for (size_t r = 0; r < o->m->rows.count; r++)
        for (size_t c = 0; c < columns; c++) {
            const struct result_case *cell = matrix_cell(o->m, r, c);
            const struct result_mean *mean = r == matrix_row_count(o->m) ? o->m->mean[c] : NULL;
            const double value = cell   ? cell->speedup_over_raw.over.median
                                 : mean ? mean->over.median
                                        : NAN;
            o->value[r * columns + c] = value;
            o->known += !isnan(value);
            if (value > 0) {
                o->low = fmin(o->low, log2(value));
                o->high = fmax(o->high, log2(value));
            }
        }
}

/* The geometric mean of `count` values that stand `apart` from each other, as a gain. */
static double gain_of(const double *value, size_t count, size_t apart)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (value[i * apart] > 0) {
            sum += log(value[i * apart]);
            known++;
        }
    return known ? sum / (double)known : NAN;
}

/* A mean that the result does not have, because cases were chosen from it, is one of the rows. */
static void find_means(struct ordered *o)
{
    const size_t rows = matrix_row_count(o->m), columns = o->m->columns.count;
    for (size_t c = 0; o->m->has_mean && c < columns; c++)
        if (isnan(o->value[rows * columns + c]))
            o->value[rows * columns + c] = exp(gain_of(o->value + c, rows, columns));
}

static void find_order(struct ordered *o)
{
    const size_t rows = matrix_row_count(o->m), columns = o->m->columns.count;
    double *gain = must_alloc((rows + columns) * sizeof *gain);
    for (size_t r = 0; r < rows; r++)
        gain[r] = gain_of(o->value + r * columns, columns, 1);
    matrix_order(gain, rows, o->rows);
    for (size_t c = 0; c < columns; c++)
        gain[c] = gain_of(o->value + c, rows, columns);
    matrix_order(gain, columns, o->columns);
    if (o->m->has_mean)
        o->rows[rows] = rows;
    free(gain);
}

static void print_labels(const struct labels *labels, const size_t *order, const char *columns,
                         FILE *out)
{
    gnuplot_comment(out, "%s", columns);
    for (size_t i = 0; i < labels->count; i++) {
        fprintf(out, "%zu", i);
        gnuplot_data_text(labels->name[order[i]], out);
        fputc('\n', out);
    }
}

static void print_cells(const struct ordered *o, FILE *out)
{
    const struct matrix *m = o->m;
    fputs("\n\n# row column value status noise\n", out);
    for (size_t r = 0; r < m->rows.count; r++)
        for (size_t c = 0; c < m->columns.count; c++) {
            const struct result_case *cell = matrix_cell(m, o->rows[r], o->columns[c]);
            const struct statistics *s = cell ? &cell->speedup_over_raw.over : NULL;
            const bool noise = cell && !case_is_baseline(cell) && s->ci_lo <= 1 && s->ci_hi >= 1;
            const double value = o->value[o->rows[r] * m->columns.count + o->columns[c]];
            fprintf(out, "%zu %zu", r, c);
            gnuplot_data(value, out);
            gnuplot_status(cell, value, out);
            fprintf(out, " %d\n", noise);
        }
}

static void print_matrix(struct ordered *o, FILE *data, struct text *variables)
{
    find_means(o);
    find_order(o);
    print_labels(&o->m->rows, o->rows, "row label", data);
    fputs("\n\n", data);
    print_labels(&o->m->columns, o->columns, "column label", data);
    print_cells(o, data);
    gnuplot_number(variables, "mean_row", o->m->has_mean ? (double)o->m->rows.count - 1 : -1);
    gnuplot_number(variables, "low", fmax(o->low, -OCTAVES_MOST));
    gnuplot_number(variables, "high", fmin(o->high, OCTAVES_MOST));
}

static int matrix_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                        struct text *variables, struct error *error)
{
    const struct matrix_rules rules = {.has_mean = true};
    struct matrix m;
    TRY(matrix_make(chart->name, of, &rules, &m, error));
    int code = 0;
    struct ordered o = {.m = &m};
    o.value = must_alloc(m.rows.count * m.columns.count * sizeof *o.value);
    o.rows = must_alloc(m.rows.count * sizeof *o.rows);
    o.columns = must_alloc(m.columns.count * sizeof *o.columns);
    find_values(&o);
    gnuplot_comment(data, "gamut %s on %s", chart->name, of->device);
    gnuplot_matrix_variables(&m, variables);
    if (m.columns.count > COLUMNS_MOST || m.rows.count > ROWS_MOST)
        code = error_set(
            error, ERR_USAGE,
            "the chart %s of %s would have %zu rows and %zu columns, more than the %d and "
            "%d that can be read: choose some with -w and -s",
            chart->name, of->device, m.rows.count, m.columns.count, ROWS_MOST, COLUMNS_MOST);
    else if (o.known == 0)
        code = error_set(error, ERR_NOT_FOUND,
                         "no case on %s can be compared with raw, which the chart %s is over",
                         of->device, chart->name);
    else
        print_matrix(&o, data, variables);
    free(o.value);
    free(o.rows);
    free(o.columns);
    matrix_free(&m);
    return code;
}

const struct chart chart_matrix = {
    .name = "matrix",
    .help = "speed-up over raw as a matrix of workloads and configurations",
    .scope = CHART_OF_DEVICE,
    .write = matrix_write,
};
