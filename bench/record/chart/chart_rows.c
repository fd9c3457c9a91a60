/* Charts with a row for each program and a dot for each configuration (Cleveland 1985): how many times
 * faster than raw, memory over the lower bound, and what merging saves.
 *
 * Rows stand by their gain, the largest mean over the configurations first. Means over the programs
 * stand apart, the best configuration first, and after all others those that lack programs. A value far from all others would squeeze them, so an axis ends
 * FAR octaves beyond the middle nine tenths of the values, and the row of such a value says it in words.
 *
 * Block 0, a line a row: number, label, reference, mark, remark. The reference is what 1 stands for
 * ("1.01 ms"), the mark what no configuration can pass, the remark what has no place in the picture.
 * Block 1, a line a configuration: number, name, and for each measure its mean as value lo hi text.
 * Then a block a configuration, a line a row: row, and for each measure value lo hi.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/chart/gnuplot.h"
#include "record/result/result.h"
#include "record/statistics/statistics.h"

enum { MEASURES_MOST = 2, COLUMNS_MOST = 24, ROWS_MOST = 120, REMARKS_MOST = 2 };

static const double FAR = 2;

/* Unknown numbers are NaN. */
struct measure {
    double value, lo, hi;
};
struct row_numbers {
    struct measure measure[MEASURES_MOST];
    double reference; /* ns or bytes */
    double mark;      /* of the first measure */
};

/* The `detail` of a chart. */
struct rows {
    struct matrix_rules rules;
    void (*of_cell)(const struct matrix *m, const json_t *cell, struct row_numbers *numbers);
    char *(*reference_text)(char out[32], double reference);
    size_t measures;
    bool is_share; /* values are 1 - a factor, on a linear axis; else factors, on a log2 axis */
    bool less_is_better; /* of factors */
};

/* What the picture shows: cells by [row * columns + column] of the matrix, and the orders. */
struct picture {
    const struct rows *rows;
    const struct matrix *m;
    size_t row_count, column_count;
    struct row_numbers *cell;
    struct measure (*mean)[MEASURES_MOST]; /* of each column */
    size_t *mean_of;                       /* the number of rows in it */
    size_t *row_order, *column_order;
    double low[MEASURES_MOST], high[MEASURES_MOST]; /* of the axis */
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

static struct measure value_alone(double value)
{
    return (struct measure){value, NAN, NAN};
}

static char *bytes_text(char out[32], double bytes)
{
    return text_bytes(out, (uint64_t)bytes);
}

/* ---- means and orders ---- */

static struct row_numbers *numbers_of(const struct picture *p, size_t row, size_t column)
{
    return &p->cell[row * p->column_count + column];
}

/* The geometric mean of `count` values with NaN among them; shares are averaged as factors. */
static double mean_value(const struct rows *rows, double *values, size_t count, size_t *known)
{
    *known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            values[(*known)++] = rows->is_share ? 1 - values[i] : values[i];
    const double mean = statistics_geometric_mean(values, *known);
    return rows->is_share ? 1 - mean : mean;
}

/* A mean is over the rows that have all measures. The result's own means have intervals. */
static void find_mean(struct picture *p, size_t column, double *values)
{
    for (size_t k = 0; k < p->rows->measures; k++) {
        for (size_t r = 0; r < p->row_count; r++) {
            const struct measure *measure = numbers_of(p, r, column)->measure;
            const bool has_all =
                !isnan(measure[0].value) && !isnan(measure[p->rows->measures - 1].value);
            values[r] = has_all ? measure[k].value : NAN;
        }
        p->mean[column][k] =
            value_alone(mean_value(p->rows, values, p->row_count, &p->mean_of[column]));
    }
    if (p->row_count == 1)
        memcpy(p->mean[column], numbers_of(p, 0, column)->measure, sizeof p->mean[column]);
    const json_t *summary = p->m->has_mean ? matrix_cell(p->m, p->m->rows.count - 1, column) : NULL;
    struct row_numbers own;
    if (summary && p->rows->rules.mean_of_summary) {
        p->rows->of_cell(p->m, summary, &own);
        if (!isnan(own.measure[0].value))
            p->mean[column][0] = own.measure[0];
    }
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
        score[c] = (p->rows->less_is_better ? -1 : 1) * p->mean[c][0].value -
                   (p->mean_of[c] < p->row_count ? incomplete : 0);
    }
    matrix_order(score, p->column_count, p->column_order);
    for (size_t r = 0; r < p->row_count; r++) {
        for (size_t c = 0; c < p->column_count; c++)
            values[c] = numbers_of(p, r, c)->measure[0].value;
        score[r] = mean_value(p->rows, values, p->column_count, &known);
    }
    matrix_order(score, p->row_count, p->row_order);
    free(score);
    free(values);
}

/* The axis has all values and no effect (1, or a share of 0), unless some are far off, and intervals as far as
 * they go less than a quarter of an octave beyond; shares have their marks on it. Returns how many values there are. */
static size_t find_range(struct picture *p, size_t k)
{
    double *values = must_alloc((p->row_count * p->column_count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < p->row_count * p->column_count; i++) {
        const double value = p->cell[i].measure[k].value;
        if (p->rows->is_share ? !isnan(value) : value > 0)
            values[count++] = p->rows->is_share ? value : log2(value);
    }
    double least = 0, most = 0;
    for (size_t i = 0; i < p->row_count * p->column_count; i++) {
        if (p->rows->is_share) {
            most = fmax(most, p->cell[i].mark);
            continue;
        }
        least = fmin(least, log2(p->cell[i].measure[k].lo));
        most = fmax(most, log2(p->cell[i].measure[k].hi));
    }
    statistics_sort(values, count);
    p->low[k] = count ? fmin(0, values[0]) : 0;
    p->high[k] = count ? fmax(0, values[count - 1]) : 0;
    if (p->rows->is_share) {
        p->low[k] = fmax(p->low[k], -1);
        p->high[k] = fmax(p->high[k], most);
    } else if (count) {
        p->low[k] = fmax(p->low[k], fmin(0, statistics_quantile(values, count, 0.05)) - FAR);
        p->high[k] = fmin(p->high[k], fmax(0, statistics_quantile(values, count, 0.95)) + FAR);
        p->low[k] = fmin(p->low[k], fmax(least, p->low[k] - 0.25));
        p->high[k] = fmax(p->high[k], fmin(most, p->high[k] + 0.25));
    }
    free(values);
    return count;
}

/* ---- data ---- */

/* "1.16×", "23831×", "-31 %". */
static void value_text(const struct rows *rows, double value, struct text *out)
{
    if (rows->is_share)
        text_add(out, "%.1f %%", 100 * value);
    else
        text_add(out, value < 10 ? "%.2f×" : value < 100 ? "%.1f×" : "%.0f×", value);
}

static void mean_text(const struct picture *p, size_t column, size_t k, struct text *out)
{
    const struct measure *mean = &p->mean[column][k];
    if (isnan(mean->value))
        return;
    value_text(p->rows, mean->value, out);
    if (!isnan(mean->lo) && p->rows->measures == 1)
        text_add(out, " [%.2f, %.2f]", mean->lo, mean->hi);
    if (p->mean_of[column] < p->row_count && k + 1 == p->rows->measures)
        text_add(out, " of %zu", p->mean_of[column]);
}

static bool is_off(const struct picture *p, double value)
{
    const double at = p->rows->is_share ? value : log2(value);
    return at < p->low[0] - 1e-9 || at > p->high[0] + 1e-9;
}

/* Values that are off the axis, and cases without a value: "bufalloc 23831×, stream OOM, 2 more". */
static void add_remark(const struct picture *p, size_t row, struct text *out)
{
    size_t count = 0;
    for (size_t i = 0; i < p->column_count; i++) {
        const size_t c = p->column_order[i];
        const json_t *cell = matrix_cell(p->m, row, c);
        const double value = numbers_of(p, row, c)->measure[0].value;
        if (!cell || (!isnan(value) && !is_off(p, value)) || count++ >= REMARKS_MOST)
            continue;
        text_add(out, "%s%s ", count > 1 ? ", " : "", p->m->columns.name[c]);
        if (isnan(value))
            text_add(out, "%s", case_is_ok(cell) ? "n/a" : tree_get_text(cell, "status"));
        else
            value_text(p->rows, value, out);
    }
    if (count > REMARKS_MOST)
        text_add(out, ", %zu more", count - REMARKS_MOST);
}

static void print_row(const struct picture *p, size_t place, FILE *out)
{
    const size_t row = p->row_order[place];
    double reference = NAN, mark = NAN;
    char text[32] = "";
    struct text remark = {0};
    for (size_t c = 0; c < p->column_count; c++) {
        reference = fmin(reference, numbers_of(p, row, c)->reference);
        mark = fmin(mark, numbers_of(p, row, c)->mark);
    }
    fprintf(out, "%zu", place + 1);
    gnuplot_data_text(p->m->rows.name[row], out);
    gnuplot_data_text(reference > 0 ? p->rows->reference_text(text, reference) : "", out);
    gnuplot_data(mark, out);
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
    gnuplot_comment(out, "row label reference mark remark");
    for (size_t r = 0; r < p->row_count; r++)
        print_row(p, r, out);
    fputs("\n\n# means: number name, a measure: value lo hi text\n", out);
    for (size_t i = 0; i < p->column_count; i++) {
        const size_t c = p->column_order[i];
        fprintf(out, "%zu", i + 1);
        gnuplot_data_text(p->m->columns.name[c], out);
        for (size_t k = 0; k < p->rows->measures; k++) {
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
        gnuplot_comment(out, "%s", p->m->columns.name[c]);
        gnuplot_comment(out, "row, a measure: value lo hi");
        for (size_t r = 0; r < p->row_count; r++) {
            fprintf(out, "%zu", r + 1);
            for (size_t k = 0; k < p->rows->measures; k++)
                print_measure(&numbers_of(p, p->row_order[r], c)->measure[k], out);
            fputc('\n', out);
        }
    }
}

static void add_variables(const struct picture *p, struct text *variables)
{
    struct labels series = {0};
    gnuplot_matrix_variables(p->m, variables);
    for (size_t i = 0; i < p->column_count; i++)
        labels_add(&series, p->m->columns.name[p->column_order[i]]);
    gnuplot_labels(variables, "series", &series);
    gnuplot_number(variables, "is_share", p->rows->is_share);
    for (size_t k = 0; k < p->rows->measures; k++) {
        char name[16];
        snprintf(name, sizeof name, "low_%zu", k + 1);
        gnuplot_number(variables, name, p->low[k]);
        snprintf(name, sizeof name, "high_%zu", k + 1);
        gnuplot_number(variables, name, p->high[k]);
    }
    labels_free(&series);
}

static int picture_make(const struct chart *chart, const struct matrix *m, struct picture *p,
                        struct error *error)
{
    const struct rows *rows = chart->detail;
    const size_t row_count = matrix_row_count(m), columns = m->columns.count;
    size_t known = 0;
    *p = (struct picture){.rows = rows, .m = m, .row_count = row_count, .column_count = columns};
    p->cell = must_alloc(row_count * columns * sizeof *p->cell);
    p->mean = must_alloc(columns * sizeof *p->mean);
    p->mean_of = must_alloc(columns * sizeof *p->mean_of);
    p->row_order = must_alloc(row_count * sizeof *p->row_order);
    p->column_order = must_alloc(columns * sizeof *p->column_order);
    for (size_t r = 0; r < row_count; r++)
        for (size_t c = 0; c < columns; c++)
            rows->of_cell(m, matrix_cell(m, r, c), numbers_of(p, r, c));
    find_orders(p);
    for (size_t k = 0; k < rows->measures; k++)
        known += find_range(p, k);
    if (known == 0)
        return error_set(error, ERR_NOT_FOUND,
                         "no case on %s has a number that the chart %s could show", m->of->device,
                         chart->name);
    return row_count <= ROWS_MOST
               ? 0
               : error_set(error, ERR_USAGE,
                           "the chart %s of %s would have %zu rows, more than the %d that can be "
                           "read: choose some with -w",
                           chart->name, m->of->device, row_count, ROWS_MOST);
}

static int rows_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                      struct text *variables, struct error *error)
{
    const struct rows *rows = chart->detail;
    struct matrix m;
    struct picture p;
    TRY(matrix_make(chart->name, of, &rows->rules, &m, error));
    const int code = picture_make(chart, &m, &p, error);
    gnuplot_comment(data, "gamut %s on %s%s%s", chart->name, of->device,
                    of->strategy ? " under " : "", of->strategy ? of->strategy : "");
    if (code == 0) {
        print_picture(&p, data);
        add_variables(&p, variables);
    }
    free(p.cell);
    free(p.mean);
    free(p.mean_of);
    free(p.row_order);
    free(p.column_order);
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
        .reference = ns_of_baseline(m->of, tree_get_text(speedup, "baseline")),
        .mark = NAN};
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
                                   .reference_text = text_ns,
                                   .measures = 1},
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
        .measure = {value_alone(case_peak(cell, "peak_reserved_bytes") / bound)},
        .reference = bound,
        .mark = NAN};
}

const struct chart chart_peak_memory = {
    .name = "peak_memory",
    .help = "peak reserved memory over the live lower bound, by workload",
    .scope = CHART_OF_DEVICE,
    .write = rows_write,
    .detail = &(const struct rows){.rules = {.columns_most = COLUMNS_MOST},
                                   .of_cell = peak_memory_numbers,
                                   .reference_text = bytes_text,
                                   .measures = 1,
                                   .less_is_better = true},
};

/* ---- peak_reduction: how much merging reduces the peak of requested bytes --------------------
 *
 * A column is a merge set (and release policy). Its numbers are over the program as written, freed
 * at last use. Every strategy gets the same requests, so one strategy's case stands for all. The mark is
 * the reduction at the least live lower bound that any merge set of the file has for the program. The bound
 * of a merge set itself is no aim, because merged arrays live as long as the longest-lived of them. */

static bool is_as_written(const json_t *one_case)
{
    const char *release = tree_get_text(json_object_get(one_case, "key"), "release");
    return case_is_unmerged(one_case) && strcmp(release, "last-use") == 0;
}

static void peak_reduction_numbers(const struct matrix *m, const json_t *cell,
                                   struct row_numbers *numbers)
{
    const json_t *key = json_object_get(cell, "key"), *other;
    const struct chart_subject same = {.root = m->of->root,
                                       .device = m->of->device,
                                       .workload = tree_get_text(key, "workload"),
                                       .dataset = tree_get_text(key, "dataset")};
    double unmerged = NAN, bound = NAN;
    for (size_t i = 0; (other = case_next(&same, &i));) {
        if (is_as_written(other) && case_peak(other, requested) > 0)
            unmerged = case_peak(other, requested);
        bound = fmin(bound, case_peak(other, "live_lower_bound_bytes"));
    }
    *numbers =
        (struct row_numbers){.measure = {value_alone(1 - case_peak(cell, requested) / unmerged)},
                             .reference = unmerged,
                             .mark = 1 - bound / unmerged};
}

const struct chart chart_peak_reduction = {
    .name = "peak_reduction",
    .help = "reduction of the peak of requested bytes by merging, and the largest one possible",
    .scope = CHART_OF_DEVICE,
    .write = rows_write,
    .detail = &(const struct rows){.rules = {.is_baseline = is_as_written,
                                             .any_strategy = true,
                                             .columns_most = COLUMNS_MOST},
                                   .of_cell = peak_reduction_numbers,
                                   .reference_text = bytes_text,
                                   .measures = 1,
                                   .is_share = true},
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
                    value_alone(bytes > 0 ? case_peak(unmerged, requested) / bytes : NAN)},
        .reference = case_stat(unmerged, "wall_ns", "median"),
        .mark = NAN};
}

const struct chart chart_merging = {
    .name = "merging",
    .help = "what each merge set gains over none, in time and in peak requested bytes, by workload",
    .scope = CHART_OF_STRATEGY,
    .write = rows_write,
    .detail = &(
        const struct rows){.rules = {.is_baseline = case_is_unmerged, .columns_most = COLUMNS_MOST},
                           .of_cell = merging_numbers,
                           .reference_text = text_ns,
                           .measures = 2},
};
