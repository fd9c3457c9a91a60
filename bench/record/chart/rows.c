#include "record/chart/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/chart/gnuplot.h"
#include "record/result/case_tree.h"

enum { REMARKS_MOST = 2 };

static const double FAR = 2;

/* A table with the means and orders that follow from it. */
struct picture {
    const struct rows_table *table;
    const struct rows_style *style;
    size_t row_count, column_count;
    struct measure (*mean)[MEASURES_MOST]; /* of each column */
    size_t *mean_of;                       /* the number of rows in it */
    size_t *row_order, *column_order;
    double low[MEASURES_MOST], high[MEASURES_MOST]; /* of the axis */
};

struct measure measure_of_value(double value)
{
    return (struct measure){value, NAN, NAN};
}

/* ---- means and orders ---- */

static const struct row_numbers *numbers_of(const struct picture *p, size_t row, size_t column)
{
    return &p->table->cell[row * p->column_count + column];
}

/* The geometric mean of `count` values with NaN among them. */
static double mean_value(double *values, size_t count, size_t *known)
{
    *known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            values[(*known)++] = values[i];
    return statistics_geometric_mean(values, *known);
}

/* A mean is over the rows that have all measures. Those that the result has are better: they have intervals. */
static void find_mean(struct picture *p, size_t column, double *values)
{
    for (size_t k = 0; k < p->style->measures; k++) {
        for (size_t r = 0; r < p->row_count; r++) {
            const struct measure *measure = numbers_of(p, r, column)->measure;
            const bool has_all =
                !isnan(measure[0].value) && !isnan(measure[p->style->measures - 1].value);
            values[r] = has_all ? measure[k].value : NAN;
        }
        p->mean[column][k] =
            measure_of_value(mean_value(values, p->row_count, &p->mean_of[column]));
    }
    if (p->row_count == 1)
        memcpy(p->mean[column], numbers_of(p, 0, column)->measure, sizeof p->mean[column]);
    const struct measure *known = p->table->mean ? &p->table->mean[column] : NULL;
    if (known && !isnan(known->value))
        p->mean[column][0] = *known;
}

/* A mean over fewer programs stands after those over all: they cannot be compared. */
static void find_orders(struct picture *p)
{
    const double incomplete = 1e9;
    const size_t most = p->row_count > p->column_count ? p->row_count : p->column_count;
    double *score = must_alloc(most * sizeof *score), *values = must_alloc(most * sizeof *values);
    size_t known;
    for (size_t c = 0; c < p->column_count; c++) {
        find_mean(p, c, values);
        score[c] = (p->style->less_is_better ? -1 : 1) * p->mean[c][0].value -
                   (p->mean_of[c] < p->row_count ? incomplete : 0);
    }
    matrix_order(score, p->column_count, p->column_order);
    for (size_t r = 0; r < p->row_count; r++) {
        for (size_t c = 0; c < p->column_count; c++)
            values[c] = numbers_of(p, r, c)->measure[0].value;
        score[r] = mean_value(values, p->column_count, &known);
    }
    matrix_order(score, p->row_count, p->row_order);
    free(score);
    free(values);
}

/* The axis has all values and 1, no effect, unless some are far off, and intervals as far as they go less than a
 * quarter of an octave beyond. Returns how many values there are. */
static size_t find_range(struct picture *p, size_t k)
{
    double *values = must_alloc((p->row_count * p->column_count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < p->row_count * p->column_count; i++) {
        const double value = p->table->cell[i].measure[k].value;
        if (value > 0)
            values[count++] = log2(value);
    }
    double least = 0, most = 0;
    for (size_t i = 0; i < p->row_count * p->column_count; i++) {
        least = fmin(least, log2(p->table->cell[i].measure[k].lo));
        most = fmax(most, log2(p->table->cell[i].measure[k].hi));
    }
    statistics_sort(values, count);
    p->low[k] = count ? fmin(0, values[0]) : 0;
    p->high[k] = count ? fmax(0, values[count - 1]) : 0;
    if (count) {
        p->low[k] = fmax(p->low[k], fmin(0, statistics_quantile(values, count, 0.05)) - FAR);
        p->high[k] = fmin(p->high[k], fmax(0, statistics_quantile(values, count, 0.95)) + FAR);
        p->low[k] = fmin(p->low[k], fmax(least, p->low[k] - 0.25));
        p->high[k] = fmax(p->high[k], fmin(most, p->high[k] + 0.25));
    }
    free(values);
    return count;
}

/* ---- data ---- */

/* "1.16×", "23831×". */
static void value_text(double value, struct text *out)
{
    text_add(out, value < 10 ? "%.2f×" : value < 100 ? "%.1f×" : "%.0f×", value);
}

static void mean_text(const struct picture *p, size_t column, size_t k, struct text *out)
{
    const struct measure *mean = &p->mean[column][k];
    if (isnan(mean->value))
        return;
    value_text(mean->value, out);
    if (!isnan(mean->lo) && p->style->measures == 1)
        text_add(out, " [%.2f, %.2f]", mean->lo, mean->hi);
    if (p->mean_of[column] < p->row_count && k + 1 == p->style->measures)
        text_add(out, " of %zu", p->mean_of[column]);
}

static bool is_off(const struct picture *p, double value)
{
    const double at = log2(value);
    return at < p->low[0] - 1e-9 || at > p->high[0] + 1e-9;
}

/* Values that are off the axis, and cases without a value: "bufalloc 23831×, stream OOM, 2 more". */
static void add_remark(const struct picture *p, size_t row, struct text *out)
{
    size_t count = 0;
    for (size_t i = 0; i < p->column_count; i++) {
        const size_t c = p->column_order[i];
        const json_t *cell = p->table->status[row * p->column_count + c];
        const double value = numbers_of(p, row, c)->measure[0].value;
        if (!cell || (!isnan(value) && !is_off(p, value)) || count++ >= REMARKS_MOST)
            continue;
        text_add(out, "%s%s ", count > 1 ? ", " : "", p->table->columns->name[c]);
        if (isnan(value))
            text_add(out, "%s", case_is_ok(cell) ? "n/a" : tree_get_text(cell, "status"));
        else
            value_text(value, out);
    }
    if (count > REMARKS_MOST)
        text_add(out, ", %zu more", count - REMARKS_MOST);
}

static void print_row(const struct picture *p, size_t place, FILE *out)
{
    const size_t row = p->row_order[place];
    double reference = NAN;
    char text[32] = "";
    struct text remark = {0};
    for (size_t c = 0; c < p->column_count; c++)
        reference = fmin(reference, numbers_of(p, row, c)->reference);
    fprintf(out, "%zu", place + 1);
    gnuplot_data_text(p->table->rows->name[row], out);
    gnuplot_data_text(reference > 0 ? p->style->reference_text(text, reference) : "", out);
    add_remark(p, row, &remark);
    gnuplot_data_text(remark.length ? remark.data : "", out);
    fputc('\n', out);
    text_free(&remark);
}

static void print_measure(const struct measure *measure, FILE *out)
{
    gnuplot_data(measure->value, out);
    gnuplot_data(measure->lo, out);
    gnuplot_data(measure->hi, out);
}

static void print_picture(const struct picture *p, FILE *out)
{
    gnuplot_comment(out, "row label reference remark");
    for (size_t r = 0; r < p->row_count; r++)
        print_row(p, r, out);
    fputs("\n\n# means: number name, a measure: value lo hi text\n", out);
    for (size_t i = 0; i < p->column_count; i++) {
        const size_t c = p->column_order[i];
        fprintf(out, "%zu", i + 1);
        gnuplot_data_text(p->table->columns->name[c], out);
        for (size_t k = 0; k < p->style->measures; k++) {
            struct text text = {0};
            print_measure(&p->mean[c][k], out);
            mean_text(p, c, k, &text);
            gnuplot_data_text(text.length ? text.data : "", out);
            text_free(&text);
        }
        fputc('\n', out);
    }
    for (size_t i = 0; i < p->column_count; i++) {
        const size_t c = p->column_order[i];
        fputs("\n\n", out);
        gnuplot_comment(out, "%s", p->table->columns->name[c]);
        gnuplot_comment(out, "row, a measure: value lo hi");
        for (size_t r = 0; r < p->row_count; r++) {
            fprintf(out, "%zu", r + 1);
            for (size_t k = 0; k < p->style->measures; k++)
                print_measure(&numbers_of(p, p->row_order[r], c)->measure[k], out);
            fputc('\n', out);
        }
    }
}

static void add_variables(const struct picture *p, struct text *variables)
{
    struct labels series = {0};
    for (size_t i = 0; i < p->column_count; i++)
        labels_add(&series, p->table->columns->name[p->column_order[i]]);
    gnuplot_labels(variables, "series", &series);
    for (size_t k = 0; k < p->style->measures; k++) {
        char name[32];
        snprintf(name, sizeof name, "low_%zu", k + 1);
        gnuplot_number(variables, name, p->low[k]);
        snprintf(name, sizeof name, "high_%zu", k + 1);
        gnuplot_number(variables, name, p->high[k]);
    }
    labels_free(&series);
}

static int picture_make(const char *chart, const char *device, struct picture *p,
                        struct error *error)
{
    size_t known = 0;
    find_orders(p);
    for (size_t k = 0; k < p->style->measures; k++)
        known += find_range(p, k);
    if (known == 0)
        return error_set(error, ERR_NOT_FOUND,
                         "no case on %s has a number that the chart %s could show", device, chart);
    return p->row_count <= ROWS_MOST
               ? 0
               : error_set(error, ERR_USAGE,
                           "the chart %s of %s would have %zu rows, more than the %d that can be "
                           "read: choose some with -w",
                           chart, device, p->row_count, ROWS_MOST);
}

int rows_print(const char *chart, const char *device, const struct rows_table *table, FILE *data,
               struct text *variables, struct error *error)
{
    struct picture p = {.table = table,
                        .style = table->style,
                        .row_count = table->row_count,
                        .column_count = table->columns->count};
    p.mean = must_alloc(p.column_count * sizeof *p.mean);
    p.mean_of = must_alloc(p.column_count * sizeof *p.mean_of);
    p.row_order = must_alloc(p.row_count * sizeof *p.row_order);
    p.column_order = must_alloc(p.column_count * sizeof *p.column_order);
    const int code = picture_make(chart, device, &p, error);
    if (code == 0) {
        print_picture(&p, data);
        add_variables(&p, variables);
    }
    free(p.mean);
    free(p.mean_of);
    free(p.row_order);
    free(p.column_order);
    return code;
}
