/* Charts with a row for each program and a dot for each configuration (Cleveland 1985), as
 * plots/rows.gp draws them: how many times faster than raw, memory over the lower bound, and what
 * merging gains.
 *
 * Rows stand by their gain, the largest mean over the configurations first. Means over the rows
 * stand apart, the best configuration first, and after all others those that lack rows. A value far
 * from all others would squeeze them, so an axis ends two octaves beyond the middle nine tenths of
 * the values, and the row of such a value says it in words.
 *
 * Block 0, a line a row: number, label, reference, remark. The remark is what has no place in the
 * picture. Block 1, a line a configuration: number, name, and for each measure its mean as value lo
 * hi text. Then a block a configuration, a line a row: row, and for each measure value lo hi. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "results/show/gnuplot.h"

enum { MEASURES_MOST = 2, COLUMNS_MOST = 24, ROWS_MOST = 120, REMARKS_MOST = 2 };

static const double FAR = 2;

/* Unknown numbers are NaN. */
struct measure {
    double value, lo, hi;
};

struct row_numbers {
    struct measure measure[MEASURES_MOST];
    double reference; /* what 1 stands for: ns or bytes */
};

/* The `detail` of a chart. */
struct rows {
    struct matrix_rules rules;
    void (*of_cell)(const struct matrix *m, const struct result_case *cell,
                    struct row_numbers *numbers);
    char *(*reference_text)(char out[32], double reference);
    size_t measures;
    bool less_is_better;
};

/* The numbers of a matrix, with the means and orders that follow from them. */
struct picture {
    const struct rows *rows;
    const struct matrix *m;
    size_t row_count, column_count;
    struct row_numbers *cell;              /* [row * column_count + column] */
    struct measure (*mean)[MEASURES_MOST]; /* of each column */
    size_t *mean_of;                       /* the number of rows in it */
    size_t *row_order, *column_order;
    double low[MEASURES_MOST], high[MEASURES_MOST]; /* of the axis */
};

static const struct row_numbers unknown_numbers = {.measure = {{NAN, NAN, NAN}, {NAN, NAN, NAN}},
                                                   .reference = NAN};

static struct measure measure_of(const struct statistics *s)
{
    return (struct measure){s->median, s->ci_lo, s->ci_hi};
}

/* A value without an interval. */
static struct measure measure_of_value(double value)
{
    return (struct measure){value, NAN, NAN};
}

/* ---- means and orders ---- */

static const struct row_numbers *numbers_of(const struct picture *p, size_t row, size_t column)
{
    return &p->cell[row * p->column_count + column];
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

/* A mean is over the rows that have all measures. Those that the result has are better: they have
 * intervals. */
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
            measure_of_value(mean_value(values, p->row_count, &p->mean_of[column]));
    }
    if (p->row_count == 1)
        memcpy(p->mean[column], numbers_of(p, 0, column)->measure, sizeof p->mean[column]);
    if (p->m->has_mean) {
        const struct result_mean *known = p->m->mean[column];
        if (known && !isnan(known->over.median))
            p->mean[column][0] = measure_of(&known->over);
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
        score[r] = mean_value(values, p->column_count, &known);
    }
    matrix_order(score, p->row_count, p->row_order);
    free(score);
    free(values);
}

/* The axis has all values and 1, no effect, unless some are far off, and intervals as far as they
 * go less than a quarter of an octave beyond. Returns how many values there are. */
static size_t find_range(struct picture *p, size_t k)
{
    double *values = must_alloc((p->row_count * p->column_count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < p->row_count * p->column_count; i++) {
        const double value = p->cell[i].measure[k].value;
        if (value > 0)
            values[count++] = log2(value);
    }
    double least = 0, most = 0;
    for (size_t i = 0; i < p->row_count * p->column_count; i++) {
        least = fmin(least, log2(p->cell[i].measure[k].lo));
        most = fmax(most, log2(p->cell[i].measure[k].hi));
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
    if (!isnan(mean->lo) && p->rows->measures == 1)
        text_add(out, " [%.2f, %.2f]", mean->lo, mean->hi);
    if (p->mean_of[column] < p->row_count && k + 1 == p->rows->measures)
        text_add(out, " of %zu", p->mean_of[column]);
}

static bool is_off(const struct picture *p, double value)
{
    const double at = log2(value);
    return at < p->low[0] - 1e-9 || at > p->high[0] + 1e-9;
}

/* Values that are off the axis, and cases without a value: "bufalloc 23831×, stream OOM, 2
 * more". */
static void add_remark(const struct picture *p, size_t row, struct text *out)
{
    size_t count = 0;
    for (size_t i = 0; i < p->column_count; i++) {
        const size_t c = p->column_order[i];
        const struct result_case *cell = p->m->cell[row * p->column_count + c];
        const double value = numbers_of(p, row, c)->measure[0].value;
        if (!cell || (!isnan(value) && !is_off(p, value)) || count++ >= REMARKS_MOST)
            continue;
        text_add(out, "%s%s ", count > 1 ? ", " : "", p->m->columns.name[c]);
        if (isnan(value))
            text_add(out, "%s", cell->status == CASE_ok ? "n/a" : case_status_name(cell->status));
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
    gnuplot_data_text(p->m->rows.name[row], out);
    gnuplot_data_text(reference > 0 ? p->rows->reference_text(text, reference) : "", out);
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
    for (size_t i = 0; i < p->column_count; i++)
        labels_add(&series, p->m->columns.name[p->column_order[i]]);
    gnuplot_labels(variables, "series", &series);
    for (size_t k = 0; k < p->rows->measures; k++) {
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
    for (size_t k = 0; k < p->rows->measures; k++)
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

static int rows_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                      struct text *variables, struct error *error)
{
    struct matrix m;
    struct picture p = {.rows = chart->detail, .m = &m};
    TRY(matrix_make(chart->name, of, &p.rows->rules, &m, error));
    p.row_count = matrix_row_count(&m);
    p.column_count = m.columns.count;
    struct arena arena = {0};
    p.cell = arena_alloc(&arena, p.row_count * p.column_count * sizeof *p.cell);
    p.mean = arena_alloc(&arena, p.column_count * sizeof *p.mean);
    p.mean_of = arena_alloc(&arena, p.column_count * sizeof *p.mean_of);
    p.row_order = arena_alloc(&arena, p.row_count * sizeof *p.row_order);
    p.column_order = arena_alloc(&arena, p.column_count * sizeof *p.column_order);
    for (size_t i = 0; i < p.row_count * p.column_count; i++) {
        p.cell[i] = unknown_numbers;
        if (m.cell[i])
            p.rows->of_cell(&m, m.cell[i], &p.cell[i]);
    }
    gnuplot_comment(data, "gamut %s on %s%s%s", chart->name, of->device,
                    of->strategy ? " under " : "", of->strategy ? of->strategy : "");
    gnuplot_matrix_variables(&m, variables);
    const int code = picture_make(chart->name, of->device, &p, error);
    if (code == 0) {
        print_picture(&p, data);
        add_variables(&p, variables);
    }
    arena_free(&arena);
    matrix_free(&m);
    return code;
}

/* ---- speedup: how many times faster than raw ------------------------------------------------ */

static void speedup_numbers(const struct matrix *m, const struct result_case *cell,
                            struct row_numbers *numbers)
{
    const char *baseline = cell->speedup_over_raw.baseline;
    const struct result_case *raw = baseline ? result_case_of(m->of->result, baseline) : NULL;
    *numbers = (struct row_numbers){.measure = {measure_of(&cell->speedup_over_raw.over)},
                                    .reference = raw ? measured_wall_ns(raw) : NAN};
}

const struct chart chart_speedup = {
    .name = "speedup",
    .help = "wall time of raw over that of each strategy, by workload, with intervals",
    .scope = CHART_OF_DEVICE,
    .write = rows_write,
    .detail = &(const struct rows){.rules = {.is_baseline = case_is_baseline,
                                             .has_mean = true,
                                             .columns_most = COLUMNS_MOST},
                                   .of_cell = speedup_numbers,
                                   .reference_text = text_ns,
                                   .measures = 1},
};

/* ---- peak_memory: the most memory held from the driver, over what no strategy can go below -- */

static const char requested[] = "peak_requested_bytes";

static char *bytes_text(char out[32], double bytes)
{
    return text_bytes(out, (uint64_t)bytes);
}

static void peak_memory_numbers(const struct matrix *m, const struct result_case *cell,
                                struct row_numbers *numbers)
{
    const double least = measured_peak(cell, "live_lower_bound_bytes");
    const double bound = least > 0 ? least : NAN;
    *numbers = (struct row_numbers){
        .measure = {measure_of_value(measured_peak(cell, "peak_reserved_bytes") / bound)},
        .reference = bound};
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

/* ---- merging: the case without merging over the one that differs from it in the merge set alone.
 * Both measures are above 1 where merging gains, as a speed-up is. ---- */

static const struct result_case *unmerged_of(const struct result *result,
                                             const struct result_case *one)
{
    struct case_key key = one->key;
    char id[13];
    strcpy(key.merge, "none");
    case_id(&key, id);
    return result_case_of(result, id);
}

static void merging_numbers(const struct matrix *m, const struct result_case *cell,
                            struct row_numbers *numbers)
{
    const struct result_case *unmerged = unmerged_of(m->of->result, cell);
    const struct statistics time = measured_ratio(unmerged, cell);
    const double bytes = measured_peak(cell, requested);
    if (!unmerged)
        return;
    *numbers = (struct row_numbers){
        .measure = {measure_of(&time),
                    measure_of_value(bytes > 0 ? measured_peak(unmerged, requested) / bytes : NAN)},
        .reference = measured_wall_ns(unmerged)};
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
