/* The portions of a run's wall time side by side, a row for each case. The program with the largest
 * gain is first, and in each the slowest case. Cases whose bars would look the same, because time
 * and portions differ by at most SAME, share the row of the slowest of them.
 *
 * A portion is a time that the file records. Driver calls are timed on the host's clock, and so are
 * kernels and copies on the host device; on other devices these run in parallel, on the device's
 * clock, and are no portion. A free that waits for kernels includes their time. If the case has a
 * model, that waiting is a portion of its own, and so is the strategy's own time. The remaining
 * time is the rest. Each portion is a median of its own, so their sum can slightly exceed the
 * whole.
 *
 * Block 0: row, its label, the wall time as text, and its position (-1: the name of a workload).
 * One block a portion, over the slowest case of the workload:
 *     row from to ns
 * Last block, the time that the device was at work by the model: row of_slowest ns.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "results/show/gnuplot.h"

/* X(name, title): in the order of the stack. */
#define PORTION_LIST(X)                                                                            \
    X(KERNELS, "kernels, copies")                                                                  \
    X(ALLOC, "driver alloc")                                                                       \
    X(FREE, "driver free")                                                                         \
    X(WAITING, "waiting in driver calls (model)")                                                  \
    X(TOUCH, "making resident")                                                                    \
    X(STRATEGY, "strategy (model)")                                                                \
    X(REST, "rest")

#define PORTION(name, ...) PORTION_##name,
enum portion { PORTION_LIST(PORTION) PORTIONS };

static const char *const titles[] = {PORTION_LIST(TEXT_SENTENCE)};

/* The most rows that a picture can show. */
enum { ROWS_MOST = 420 };

/* Two bars are the same if they differ by at most this, in their length over the longer one and in
 * a portion over the slowest case of the workload, and the least portion that is seen in one. */
static const double SAME = 0.05, LEAST = 0.004;
/* The names in a row are no longer than this; the others are counted. */
enum { NAMES_LENGTH = 36 };

static bool is_host(const struct chart_subject *of)
{
    return strcmp(of->device, "host") == 0;
}

static double or_zero(double ns)
{
    return ns > 0 ? ns : 0;
}

/* Splits a case's median wall time, in ns. */
static void split_time(const struct chart_subject *of, const struct result_case *one,
                       double ns[PORTIONS])
{
    const struct result_model *model = one->model;
    const double wall = measured_wall_ns(one);
    double sum = 0;
    ns[PORTION_KERNELS] = is_host(of) ? or_zero(measured_stat(one, "device_ns")->over.median) : 0;
    ns[PORTION_ALLOC] = or_zero(measured_stat(one, "driver_alloc_ns")->over.median);
    ns[PORTION_FREE] = or_zero(measured_stat(one, "driver_free_ns")->over.median);
    ns[PORTION_TOUCH] = or_zero(measured_stat(one, "driver_touch_ns")->over.median);
    ns[PORTION_STRATEGY] = or_zero(model ? model->allocator_ns : 0);
    /* Only frees wait. The model may predict a longer wait than the measured free. */
    ns[PORTION_WAITING] = fmin(or_zero(model ? model->waiting_ns : 0), ns[PORTION_FREE]);
    ns[PORTION_FREE] -= ns[PORTION_WAITING];
    ns[PORTION_REST] = 0;
    for (int p = 0; p < PORTIONS; p++)
        sum += ns[p];
    ns[PORTION_REST] = or_zero(wall - sum);
}

/* ---- rows: one for the workload's name, then its cases ---- */

struct row {
    struct text label;
    const struct result_case *of; /* the slowest of the row; NULL: the row is a workload's name */
    size_t cases, named;          /* that share the row, and those of them in its label */
    double fastest;               /* wall time of the fastest of them */
    double slowest;               /* wall time of the slowest case of the workload */
    double ns[PORTIONS];          /* all 0 where the case has no time */
    size_t column, above;         /* its position: below `above` rows of its column */
};

/* The rows stand below each other in one to three columns. */
struct rows {
    size_t count, columns, per_column;
    struct row *row;
    bool has[PORTIONS]; /* some case has this portion; only these are in the legend */
};

static double wall_of(const struct result_case *one)
{
    return one ? measured_wall_ns(one) : NAN;
}

static struct row *add_row(struct rows *rows, const struct result_case *one, double slowest)
{
    struct row *row = &rows->row[rows->count++];
    *row = (struct row){.of = one, .fastest = wall_of(one), .slowest = slowest};
    return row;
}

/* Would the case have the same bar? */
static bool looks_like(const struct row *row, double wall, const double ns[PORTIONS])
{
    bool same = row->of && fabs(wall_of(row->of) - wall) <= SAME * wall_of(row->of);
    for (int p = 0; p < PORTIONS; p++)
        same = same && fabs(row->ns[p] - ns[p]) <= SAME * row->slowest;
    return same;
}

static void add_case(struct rows *rows, const struct matrix *matrix, const struct result_case *cell,
                     const char *name, double slowest)
{
    double ns[PORTIONS] = {0};
    if (!isnan(wall_of(cell)))
        split_time(matrix->of, cell, ns);
    struct row *row = &rows->row[rows->count - 1];
    if (!looks_like(row, wall_of(cell), ns)) {
        row = add_row(rows, cell, slowest);
        memcpy(row->ns, ns, sizeof ns);
    }
    row->fastest = fmin(row->fastest, wall_of(cell));
    row->cases++;
    if (!row->label.length || row->label.length + strlen(name) <= NAMES_LENGTH) {
        text_add(&row->label, "%s%s", row->label.length ? ", " : "", name);
        row->named++;
    }
    for (int p = 0; p < PORTIONS; p++)
        rows->has[p] |= ns[p] > LEAST * slowest;
}

static void add_workload(struct rows *rows, const struct matrix *matrix, size_t r)
{
    const size_t columns = matrix->columns.count, first = rows->count;
    double *wall = must_alloc(columns * sizeof *wall), slowest = NAN;
    size_t *order = must_alloc(columns * sizeof *order);
    for (size_t c = 0; c < columns; c++) {
        wall[c] = wall_of(matrix_cell(matrix, r, c));
        slowest = fmax(slowest, wall[c]);
    }
    matrix_order(wall, columns, order);
    text_add(&add_row(rows, NULL, slowest)->label, "%s", matrix->rows.name[r]);
    for (size_t i = 0; i < columns; i++) {
        const struct result_case *cell = matrix_cell(matrix, r, order[i]);
        if (cell && cell->status != CASE_skipped)
            add_case(rows, matrix, cell, matrix->columns.name[order[i]], slowest);
    }
    for (size_t i = first + 1; i < rows->count; i++)
        if (rows->row[i].cases > rows->row[i].named)
            text_add(&rows->row[i].label, ", %zu more", rows->row[i].cases - rows->row[i].named);
    free(wall);
    free(order);
}

/* Keeps a workload's rows together. They begin a new column where more than half of them would
 * stand below the even share. */
static void place_rows(struct rows *rows)
{
    const size_t columns = rows->count <= 130 ? 1 : rows->count <= 260 ? 2 : 3;
    const size_t share = (rows->count + columns - 1) / columns;
    size_t column = 0, above = 0;
    for (size_t i = 0, end; i < rows->count; i = end) {
        for (end = i + 1; end < rows->count && rows->row[end].of; end++)
            ;
        if (column + 1 < columns && above > 0 && above + (end - i) / 2 > share) {
            column++;
            above = 0;
        }
        for (size_t r = i; r < end; r++) {
            rows->row[r].column = column;
            rows->row[r].above = above++;
        }
        rows->per_column = above > rows->per_column ? above : rows->per_column;
    }
    rows->columns = column + 1;
}

/* The slowest case of a row of the matrix over its fastest. */
static double gain_of(const struct matrix *matrix, size_t r)
{
    double slowest = NAN, fastest = NAN;
    for (size_t c = 0; c < matrix->columns.count; c++) {
        slowest = fmax(slowest, wall_of(matrix_cell(matrix, r, c)));
        fastest = fmin(fastest, wall_of(matrix_cell(matrix, r, c)));
    }
    return slowest / fastest;
}

/* A portion that is seen nowhere is part of the rest. */
static void hide_small(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        for (int p = 0; p < PORTION_REST; p++)
            if (!rows->has[p]) {
                rows->row[i].ns[PORTION_REST] += rows->row[i].ns[p];
                rows->row[i].ns[p] = 0;
            }
}

static struct rows rows_of(const struct matrix *matrix)
{
    const size_t count = matrix->rows.count;
    double *gain = must_alloc(count * sizeof *gain);
    size_t *order = must_alloc(count * sizeof *order);
    struct rows rows = {0};
    rows.row = must_alloc(count * (matrix->columns.count + 1) * sizeof *rows.row);
    for (size_t r = 0; r < count; r++)
        gain[r] = gain_of(matrix, r);
    matrix_order(gain, count, order);
    for (size_t r = 0; r < count; r++)
        add_workload(&rows, matrix, order[r]);
    hide_small(&rows);
    place_rows(&rows);
    free(gain);
    free(order);
    return rows;
}

/* ---- data ---- */

static size_t number_of(const struct rows *rows, const struct row *row)
{
    return row->column * rows->per_column + row->above;
}

/* "376 µs", "322 µs to 328 µs", "1.60 ms, 126 MiB moved". */
static void add_time(const struct row *row, struct text *out)
{
    const double moved = measured_peak(row->of, "copy_migration_bytes");
    char fastest[32], slowest[32], bytes[32];
    text_ns(fastest, row->fastest);
    text_ns(slowest, wall_of(row->of));
    if (strcmp(fastest, slowest) != 0)
        text_add(out, "%s to ", fastest);
    text_add(out, "%s", slowest);
    if (moved > 0)
        text_add(out, ", %s moved", text_bytes(bytes, (uint64_t)moved));
}

static void print_label(const struct rows *rows, const struct row *row, FILE *out)
{
    const double wall = wall_of(row->of);
    struct text time = {0};
    fprintf(out, "%zu", number_of(rows, row));
    gnuplot_data_text(row->label.data, out);
    if (!row->of) {
        fputs(" \"\" -1\n", out);
    } else if (isnan(wall)) {
        fputs(" \"", out);
        gnuplot_status(row->of, wall, out);
        fputs("\" 0\n", out);
    } else {
        add_time(row, &time);
        gnuplot_data_text(time.data, out);
        fprintf(out, " %.6g\n", wall / row->slowest);
    }
    text_free(&time);
}

static void print_portion(const struct rows *rows, const struct row *row, int portion, FILE *out)
{
    double before = 0;
    for (int p = 0; p < portion; p++)
        before += row->ns[p];
    if (row->ns[portion] > 0)
        fprintf(out, "%zu %.6g %.6g %.0f\n", number_of(rows, row), before / row->slowest,
                (before + row->ns[portion]) / row->slowest, row->ns[portion]);
}

/* The time that the device was at work by the model; NaN without a model. */
static double model_ns(const struct chart_subject *of, const struct row *row)
{
    const struct result_model *model = row->of ? row->of->model : NULL;
    return is_host(of) || !model ? NAN : model->device_ns;
}

static void print_rows(const struct chart_subject *of, const struct rows *rows, FILE *out)
{
    gnuplot_comment(out, "gamut time on %s", of->device);
    gnuplot_comment(out, "row label time from");
    for (size_t i = 0; i < rows->count; i++)
        print_label(rows, &rows->row[i], out);
    for (int p = 0; p < PORTIONS; p++) {
        if (!rows->has[p])
            continue;
        fprintf(out, "\n\n# %s: row from to ns\n", titles[p]);
        for (size_t i = 0; i < rows->count; i++)
            print_portion(rows, &rows->row[i], p, out);
    }
    fputs("\n\n# device at work (model): row of_slowest ns\n", out);
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        const double ns = model_ns(of, row);
        if (ns > 0)
            fprintf(out, "%zu %.6g %.0f\n", number_of(rows, row), ns / row->slowest, ns);
    }
    fputs("NaN NaN NaN\n", out);
}

static const char *title_of(const struct chart_subject *of, enum portion portion, bool has_waiting)
{
    if (is_host(of))
        return titles[portion];
    if (portion == PORTION_FREE && !has_waiting)
        return "driver free, waiting for kernels included";
    return portion == PORTION_REST ? "kernels, copies and the rest" : titles[portion];
}

static void add_variables(const struct matrix *matrix, const struct rows *rows, struct text *out)
{
    struct labels names = {0};
    struct text numbers = {0};
    bool has_model = false;
    for (int p = 0; p < PORTIONS; p++)
        if (rows->has[p]) {
            labels_add(&names, title_of(matrix->of, (enum portion)p, rows->has[PORTION_WAITING]));
            text_add(&numbers, "%s%d", numbers.length ? " " : "", p + 1);
        }
    for (size_t i = 0; i < rows->count; i++)
        has_model |= !isnan(model_ns(matrix->of, &rows->row[i]));
    gnuplot_matrix_variables(matrix, out);
    gnuplot_labels(out, "parts", &names);
    gnuplot_variable(out, "part_numbers", numbers.data ? numbers.data : "");
    gnuplot_number(out, "across", (double)rows->columns);
    gnuplot_number(out, "per_column", (double)rows->per_column);
    gnuplot_variable(out, "marks", has_model ? "device at work (model)" : "");
    labels_free(&names);
    text_free(&numbers);
}

static int time_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                      struct text *variables, struct error *error)
{
    struct matrix matrix;
    TRY(matrix_make(chart->name, of, &(struct matrix_rules){0}, &matrix, error));
    int code = 0;
    struct rows rows = rows_of(&matrix);
    bool has_time = false;
    for (int p = 0; p < PORTIONS; p++) /* the rest may be nothing: each portion is a median */
        has_time |= rows.has[p];
    if (!has_time)
        code = error_set(error, ERR_NOT_FOUND, "no case on %s has a time for the chart %s",
                         of->device, chart->name);
    else if (rows.count > ROWS_MOST)
        code =
            error_set(error, ERR_USAGE,
                      "the chart %s of %s would have %zu rows, more than the %d that can be read: "
                      "choose some with -w and -s",
                      chart->name, of->device, rows.count, ROWS_MOST);
    if (code == 0) {
        print_rows(of, &rows, data);
        add_variables(&matrix, &rows, variables);
    }
    for (size_t i = 0; i < rows.count; i++)
        text_free(&rows.row[i].label);
    free(rows.row);
    matrix_free(&matrix);
    return code;
}

const struct chart chart_time = {
    .name = "time",
    .help = "portions of the wall time by case: driver calls, and the others that the file records",
    .scope = CHART_OF_DEVICE,
    .write = time_write,
};
