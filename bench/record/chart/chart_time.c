/* Where the time of a run goes: a row for each case, the parts of its wall time side by side.
 *
 * Only what the file knows is a part: times of driver calls are measured on the host's clock; on
 * the host device so is the time inside kernels and copies, which elsewhere passes on a clock of
 * its own, in parallel. A free that waits for kernels takes their time; where there is a model of
 * the case, what it takes for waiting is a part of its own, as is the strategy's own time. What is
 * left is the rest. The parts are medians of their own, so they can be a little more than the
 * whole.
 *
 * Block 0: row, its label, the wall time as text, and where that stands (-1: the name of a
 * workload). One block a part:
 *     row from to ns
 * as parts of the slowest case of the workload; and a last one, of how long the device was at work
 * by the model: row of_slowest ns.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "record/chart/matrix.h"
#include "record/chart/gnuplot.h"
#include "base/tree.h"

/* X(name, title): in the order of the stack. */
#define PART_LIST(X)                                                                               \
    X(KERNELS, "kernels, copies")                                                                  \
    X(ALLOC, "driver alloc")                                                                       \
    X(FREE, "driver free")                                                                         \
    X(WAITING, "waiting in driver calls (model)")                                                  \
    X(TOUCH, "making resident")                                                                    \
    X(STRATEGY, "strategy (model)")                                                                \
    X(REST, "rest")

enum part {
#define X(name, title) PART_##name,
    PART_LIST(X)
#undef X
        PARTS
};

static const char *const titles[] = {
#define X(name, title) title,
    PART_LIST(X)
#undef X
};

/* More rows than this are more than a picture can show. */
enum { ROWS_MOST = 420 };

static bool is_host(const struct chart_subject *of)
{
    return strcmp(of->device, "host") == 0;
}

static double known(double ns)
{
    return ns > 0 ? ns : 0;
}

/* The parts of a case's median wall time, in ns. */
static void split(const struct chart_subject *of, const json_t *one_case, double part[PARTS])
{
    const json_t *model = json_object_get(one_case, "model");
    const double wall = case_stat(one_case, "wall_ns", "median");
    double sum = 0;
    part[PART_KERNELS] = is_host(of) ? known(case_stat(one_case, "device_ns", "median")) : 0;
    part[PART_ALLOC] = known(case_stat(one_case, "driver_alloc_ns", "median"));
    part[PART_FREE] = known(case_stat(one_case, "driver_free_ns", "median"));
    part[PART_TOUCH] = known(case_stat(one_case, "driver_touch_ns", "median"));
    part[PART_STRATEGY] = known(tree_get_number(model, "allocator_ns"));
    /* Frees are what waits; the model may think that more of it is waiting than was measured. */
    part[PART_WAITING] = fmin(known(tree_get_number(model, "waiting_ns")), part[PART_FREE]);
    part[PART_FREE] -= part[PART_WAITING];
    part[PART_REST] = 0;
    for (int p = 0; p < PARTS; p++)
        sum += part[p];
    part[PART_REST] = known(wall - sum);
}

/* ---- rows: one for the workload's name, then its cases ---- */

static double slowest_of(const struct matrix *matrix, size_t cluster)
{
    double slowest = NAN;
    for (size_t s = 0; s < matrix->columns.count; s++)
        slowest = fmax(slowest, case_stat(matrix_cell(matrix, cluster, s), "wall_ns", "median"));
    return slowest;
}

/* Where rows stand: groups, of a workload each, below each other in one to three columns. */
struct rows {
    size_t count, columns;
    size_t per_column; /* row r is in column r / per_column */
};

/* Calls `use` for each row, in order; one_case is NULL where the row is a workload's name. */
typedef void use_row(const struct chart_subject *of, size_t row, const char *label,
                     const json_t *one_case, double slowest, int part, FILE *out);

static size_t group_rows(const struct matrix *matrix, size_t cluster)
{
    size_t rows = 1;
    for (size_t s = 0; s < matrix->columns.count; s++) {
        const json_t *cell = matrix_cell(matrix, cluster, s);
        rows += cell && !case_is_skipped(cell);
    }
    return rows;
}

/* A group begins a new column where more than half of it would stand below the even share. */
static bool begins_column(size_t above, size_t group, size_t share)
{
    return above > 0 && above + group / 2 > share;
}

static struct rows rows_of(const struct matrix *matrix)
{
    struct rows rows = {.columns = 1};
    for (size_t c = 0; c < matrix->rows.count; c++)
        rows.count += group_rows(matrix, c);
    const size_t columns = rows.count <= 62 ? 1 : rows.count <= 124 ? 2 : 3;
    size_t above = 0, share = (rows.count + columns - 1) / columns;
    for (size_t c = 0; c < matrix->rows.count; c++) {
        const size_t group = group_rows(matrix, c);
        if (rows.columns < columns && begins_column(above, group, share)) {
            rows.columns++;
            above = 0;
        }
        above += group;
        rows.per_column = above > rows.per_column ? above : rows.per_column;
    }
    return rows;
}

static void each_row(const struct matrix *matrix, const struct rows *rows, use_row *use, int part,
                     FILE *out)
{
    const size_t share = (rows->count + rows->columns - 1) / rows->columns;
    size_t column = 0, above = 0;
    for (size_t c = 0; c < matrix->rows.count; c++) {
        const double slowest = slowest_of(matrix, c);
        if (column + 1 < rows->columns && begins_column(above, group_rows(matrix, c), share)) {
            column++;
            above = 0;
        }
        size_t row = column * rows->per_column + above;
        use(matrix->of, row++, matrix->rows.name[c], NULL, slowest, part, out);
        for (size_t s = 0; s < matrix->columns.count; s++) {
            const json_t *cell = matrix_cell(matrix, c, s);
            if (cell && !case_is_skipped(cell))
                use(matrix->of, row++, matrix->columns.name[s], cell, slowest, part, out);
        }
        above += group_rows(matrix, c);
    }
}

static void print_label(const struct chart_subject *of, size_t row, const char *label,
                        const json_t *one_case, double slowest, int part, FILE *out)
{
    const double wall = case_stat(one_case, "wall_ns", "median");
    char time[32];
    (void)of, (void)part;
    if (!one_case) {
        fprintf(out, "%zu \"%s\" \"\" -1\n", row, label);
    } else if (isnan(wall)) {
        fprintf(out, "%zu \"%s\" \"", row, label);
        gnuplot_status(one_case, wall, out);
        fputs("\" 0\n", out);
    } else {
        fprintf(out, "%zu \"%s\" \"%s\" %.6g\n", row, label, text_ns(time, wall), wall / slowest);
    }
}

static void print_part(const struct chart_subject *of, size_t row, const char *label,
                       const json_t *one_case, double slowest, int part, FILE *out)
{
    double parts[PARTS], before = 0;
    (void)label;
    if (!one_case || isnan(case_stat(one_case, "wall_ns", "median")))
        return;
    split(of, one_case, parts);
    for (int p = 0; p < part; p++)
        before += parts[p];
    if (parts[part] > 0)
        fprintf(out, "%zu %.6g %.6g %.0f\n", row, before / slowest,
                (before + parts[part]) / slowest, parts[part]);
}

static void print_device(const struct chart_subject *of, size_t row, const char *label,
                         const json_t *one_case, double slowest, int part, FILE *out)
{
    const double ns = tree_get_number(json_object_get(one_case, "model"), "device_ns");
    (void)label, (void)part;
    if (one_case && ns > 0 && !is_host(of))
        fprintf(out, "%zu %.6g %.0f\n", row, ns / slowest, ns);
}

/* ---- the chart ---- */

/* Which parts any case has; the others need no place in the legend. */
static void find_parts(const struct matrix *matrix, bool has[PARTS])
{
    for (size_t c = 0; c < matrix->rows.count; c++)
        for (size_t s = 0; s < matrix->columns.count; s++) {
            const json_t *cell = matrix_cell(matrix, c, s);
            double part[PARTS];
            if (isnan(case_stat(cell, "wall_ns", "median")))
                continue;
            split(matrix->of, cell, part);
            for (int p = 0; p < PARTS; p++)
                has[p] |= part[p] > 0;
        }
}

static void print_rows(const struct matrix *matrix, const struct rows *rows, const bool has[PARTS],
                       FILE *out)
{
    fprintf(out, "# gamut time on %s\n# row label time from\n", matrix->of->device);
    each_row(matrix, rows, print_label, 0, out);
    for (int p = 0; p < PARTS; p++)
        if (has[p]) {
            fprintf(out, "\n\n# %s: row from to ns\n", titles[p]);
            each_row(matrix, rows, print_part, p, out);
        }
    fputs("\n\n# device at work (model): row of_slowest ns\n", out);
    each_row(matrix, rows, print_device, 0, out);
    fputs("NaN NaN NaN\n", out);
}

static const char *title_of(const struct chart_subject *of, enum part part, const bool has[PARTS])
{
    if (is_host(of))
        return titles[part];
    if (part == PART_FREE && !has[PART_WAITING])
        return "driver free, waiting for kernels included";
    return part == PART_REST ? "kernels, copies and the rest" : titles[part];
}

static void add_variables(const struct matrix *matrix, const struct rows *rows,
                          const bool has[PARTS], struct text *out)
{
    struct labels parts = {0};
    struct text numbers = {0};
    bool has_model = false;
    for (int p = 0; p < PARTS; p++)
        if (has[p]) {
            labels_add(&parts, title_of(matrix->of, (enum part)p, has));
            text_add(&numbers, "%s%d", numbers.length ? " " : "", p + 1);
        }
    for (size_t c = 0; c < matrix->rows.count * matrix->columns.count; c++)
        has_model |=
            !isnan(tree_get_number(json_object_get(matrix->cell[c], "model"), "device_ns"));
    gnuplot_matrix_variables(matrix, out);
    gnuplot_labels(out, "parts", &parts);
    gnuplot_variable(out, "part_numbers", numbers.data ? numbers.data : "");
    gnuplot_number(out, "across", (double)rows->columns);
    gnuplot_number(out, "per_column", (double)rows->per_column);
    gnuplot_variable(out, "marks",
                     has_model && !is_host(matrix->of) ? "device at work (model)" : "");
    labels_free(&parts);
    text_free(&numbers);
}

static int time_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                      struct text *variables, struct error *error)
{
    struct matrix matrix;
    bool has[PARTS] = {false};
    int code = matrix_make(chart->name, of, &(struct matrix_rules){0}, &matrix, error);
    if (code)
        return code;
    const struct rows rows = rows_of(&matrix);
    find_parts(&matrix, has);
    if (!has[PART_REST])
        code = error_set(error, ERR_NOT_FOUND, "no case on %s has a time for the chart %s",
                         of->device, chart_time.name);
    else if (rows.count > ROWS_MOST)
        code =
            error_set(error, ERR_USAGE,
                      "the chart %s of %s would have %zu rows, more than the %d that can be read: "
                      "choose some with -w and -s",
                      chart->name, of->device, rows.count, ROWS_MOST);
    if (code == 0) {
        print_rows(&matrix, &rows, has, data);
        add_variables(&matrix, &rows, has, variables);
    }
    matrix_free(&matrix);
    return code;
}

const struct chart chart_time = {
    .name = "time",
    .help = "where the wall time goes: driver calls, and what the file knows of the rest, by case",
    .scope = CHART_OF_DEVICE,
    .write = time_write,
};
