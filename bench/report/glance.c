/* The headline: every workload against every way to run it, a table of ratios a device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "record/facts/counters.h"
#include "record/table/table_cells.h"
#include "base/tree.h"
#include "report/page.h"

enum measure { MEASURE_SPEEDUP, MEASURE_MEMORY };

/* Rows are workloads and datasets, columns ways to run; a cell is a case or NULL. */
struct matrix {
    const char *device;
    json_t *row_place, *column_place; /* name -> position */
    bool with_dataset, with_merge, with_release, with_residency;
    size_t rows, columns;
    const json_t **cell; /* [row * columns + column] */
    const json_t **mean; /* of `summary`, by column */
};

static bool varies(const json_t *root, const char *device, const char *member)
{
    const char *first = NULL;
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(root, "cases"), i, each)
    {
        const json_t *key = json_object_get(each, "key");
        const char *value = tree_get_text(key, member);
        if (strcmp(tree_get_text(key, "device"), device) != 0)
            continue;
        if (first && strcmp(first, value) != 0)
            return true;
        first = value;
    }
    return false;
}

static void row_name(const struct matrix *m, const json_t *key, struct text *out)
{
    text_add(out, "%s", tree_get_text(key, "workload"));
    if (m->with_dataset)
        text_add(out, " %s", tree_get_text(key, "dataset"));
}

/* Its parts stand below each other: strategy, merge set, release policy, residency. */
static void column_name(const struct matrix *m, const json_t *key, struct text *out)
{
    text_add(out, "%s", tree_get_text(key, "strategy"));
    if (m->with_merge)
        text_add(out, "\n%s", tree_get_text(key, "merge"));
    if (m->with_release)
        text_add(out, "\n%s", tree_get_text(key, "release"));
    if (m->with_residency)
        text_add(out, "\n%s", tree_get_text(key, "residency"));
}

static size_t place_of(json_t *places, const char *name)
{
    const json_t *known = json_object_get(places, name);
    const size_t next = json_object_size(places);
    if (known)
        return (size_t)json_integer_value(known);
    tree_put(places, name, tree_count(next));
    return next;
}

typedef void use_case(struct matrix *m, const json_t *one, size_t row, size_t column);

static void each_case(struct matrix *m, const json_t *root, use_case *use)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(root, "cases"), i, each)
    {
        const json_t *key = json_object_get(each, "key");
        if (strcmp(tree_get_text(key, "device"), m->device) != 0)
            continue;
        struct text row = {0}, column = {0};
        row_name(m, key, &row);
        column_name(m, key, &column);
        const size_t r = place_of(m->row_place, row.data);
        use(m, each, r, place_of(m->column_place, column.data));
        text_free(&row);
        text_free(&column);
    }
}

static void count(struct matrix *m, const json_t *one, size_t row, size_t column)
{
    (void)one;
    m->rows = row >= m->rows ? row + 1 : m->rows;
    m->columns = column >= m->columns ? column + 1 : m->columns;
}

static void put(struct matrix *m, const json_t *one, size_t row, size_t column)
{
    m->cell[row * m->columns + column] = one;
}

static void put_means(struct matrix *m, const json_t *root)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(root, "summary"), i, each)
    {
        struct text column = {0};
        column_name(m, each, &column);
        const json_t *place = json_object_get(m->column_place, column.data);
        if (place && strcmp(tree_get_text(each, "device"), m->device) == 0)
            m->mean[json_integer_value(place)] = each;
        text_free(&column);
    }
}

static struct matrix matrix_of(const json_t *root, const char *device)
{
    struct matrix m = {.device = device, .row_place = tree_object(), .column_place = tree_object()};
    m.with_dataset = varies(root, device, "dataset");
    m.with_merge = varies(root, device, "merge");
    m.with_release = varies(root, device, "release");
    m.with_residency = varies(root, device, "residency");
    each_case(&m, root, count);
    m.cell = must_alloc((m.rows * m.columns + 1) * sizeof *m.cell);
    m.mean = must_alloc((m.columns + 1) * sizeof *m.mean);
    each_case(&m, root, put);
    put_means(&m, root);
    return m;
}

static void free_matrix(struct matrix *m)
{
    json_decref(m->row_place);
    json_decref(m->column_place);
    free(m->cell);
    free(m->mean);
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* How dark: 1 to 4, for factors from 1.05 on; 0: no difference worth a colour. */
static int shade(double factor)
{
    static const double least[] = {1.05, 1.25, 2, 4};
    int level = 0;
    const double size = factor < 1 ? 1 / factor : factor;
    while (level < 4 && size >= least[level])
        level++;
    return level;
}

/* A ratio's cell: blue where `goodness` (1: the same) is above 1. */
static void print_shaded(FILE *out, double goodness, bool established)
{
    const int level = established && isfinite(goodness) && goodness > 0 ? shade(goodness) : 0;
    if (level)
        html_print(out, "<td class=\"%s%d\">", goodness > 1 ? "u" : "d", level);
    else
        fputs("<td>", out);
}

static void print_speedup(FILE *out, const json_t *ratio)
{
    const double median = tree_get_number(ratio, "median");
    const double lo = tree_get_number(ratio, "ci_lo"), hi = tree_get_number(ratio, "ci_hi");
    if (isnan(median)) {
        fputs("<td class=\"soft\">–", out);
        return;
    }
    /* Without an interval nothing is established, but a colour for what is twice is no claim. */
    print_shaded(out, median, isnan(lo) ? median >= 2 || median <= 0.5 : lo > 1 || hi < 1);
    html_print(out, "%.2f×", median);
    if (!isnan(lo))
        html_print(out, "<small>%.2f–%.2f</small>", lo, hi);
}

static double bytes_over_bound(const json_t *one)
{
    return case_peak(one, "peak_reserved_bytes") / case_peak(one, "live_lower_bound_bytes");
}

static void print_memory(FILE *out, const json_t *one)
{
    const double reserved = case_peak(one, "peak_reserved_bytes");
    const double over = bytes_over_bound(one);
    char size[32];
    print_shaded(out, 1 / over, true);
    if (isfinite(over))
        html_print(out, "%.2f×<small>%s</small>", over, text_bytes(size, (uint64_t)reserved));
    else if (!isnan(reserved))
        html_print(out, "%s", text_bytes(size, (uint64_t)reserved));
    else
        fputs("–", out);
}

static bool is_baseline(const json_t *one)
{
    return strcmp(tree_get_text(json_object_get(one, "speedup_over_raw"), "baseline"),
                  tree_get_text(one, "id")) == 0;
}

static void print_case(FILE *out, const json_t *one, enum measure measure)
{
    char time[32];
    const double wall = case_stat(one, "wall_ns", "median");
    if (!one) {
        fputs("<td class=\"soft\">", out);
    } else if (!case_is_ok(one)) {
        html_print(out, "<td class=\"%s\">%s",
                   strcmp(tree_get_text(one, "status"), case_status_name(CASE_skipped)) == 0
                       ? "soft"
                       : "bad",
                   tree_get_text(one, "status"));
    } else if (measure == MEASURE_MEMORY) {
        print_memory(out, one);
    } else if (is_baseline(one)) {
        html_print(out, "<td>%s<small>baseline</small>", text_ns(time, wall));
    } else if (!json_is_object(json_object_get(one, "speedup_over_raw"))) {
        html_print(out, "<td>%s", isnan(wall) ? "–" : text_ns(time, wall));
    } else {
        print_speedup(out, json_object_get(one, "speedup_over_raw"));
    }
    fputs("</td>", out);
}

/* Over the rows in which the case is ok. */
static double mean_over_bound(const struct matrix *m, size_t column, size_t *cases)
{
    double sum = 0;
    *cases = 0;
    for (size_t r = 0; r < m->rows; r++) {
        const double over = bytes_over_bound(m->cell[r * m->columns + column]);
        if (!isfinite(over) || over <= 0)
            continue;
        sum += log(over);
        ++*cases;
    }
    return *cases ? exp(sum / (double)*cases) : NAN;
}

/* Means of different cases are not to be compared. */
static void print_missing(FILE *out, const json_t *mean)
{
    const double missing = tree_get_number(mean, "missing");
    if (missing > 0)
        html_print(out, "<small>of %.0f, %.0f missing</small>", tree_get_number(mean, "cases"),
                   missing);
}

static void print_means(FILE *out, const struct matrix *m, enum measure measure)
{
    fputs("<tr class=\"mean\"><th scope=\"row\">geometric mean</th>", out);
    for (size_t c = 0; c < m->columns; c++) {
        size_t cases;
        const double over = mean_over_bound(m, c, &cases);
        if (measure == MEASURE_SPEEDUP) {
            print_speedup(out, m->mean[c]);
            print_missing(out, m->mean[c]);
        } else if (isnan(over)) {
            fputs("<td class=\"soft\">–", out);
        } else {
            print_shaded(out, 1 / over, true);
            html_print(out, "%.2f×", over);
            if (cases < m->rows)
                html_print(out, "<small>of %zu, %zu missing</small>", cases, m->rows - cases);
        }
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

/* ---- the tables ----------------------------------------------------------------------------- */

static void print_column_titles(FILE *out, const struct matrix *m)
{
    const char *name;
    json_t *place;
    fputs("<thead><tr><th scope=\"col\">workload</th>", out);
    json_object_foreach(m->column_place, name, place)
    {
        fputs("<th scope=\"col\" class=\"n\">", out);
        for (const char *part = name; part; part = strchr(part, '\n')) {
            part += *part == '\n';
            char text[160];
            snprintf(text, sizeof text, "%.*s", (int)strcspn(part, "\n"), part);
            html_print(out, part == name ? "%s" : "<br/>%s", text);
        }
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n", out);
}

static void print_matrix(FILE *out, const struct matrix *m, enum measure measure)
{
    const char *name;
    json_t *place;
    static const char *const captions[] = {
        [MEASURE_SPEEDUP] = "Speed-up over raw in wall time, and its interval",
        [MEASURE_MEMORY] = "Peak memory held from the driver, over the lower bound",
    };
    html_print(out,
               "<div><p class=\"about\">%s</p>\n<div class=\"scroll\"><table class=\"matrix\">",
               captions[measure]);
    print_column_titles(out, m);
    fputs("<tbody>\n", out);
    json_object_foreach(m->row_place, name, place)
    {
        const size_t row = (size_t)json_integer_value(place);
        html_print(out, "<tr><th scope=\"row\">%s</th>", name);
        for (size_t c = 0; c < m->columns; c++)
            print_case(out, m->cell[row * m->columns + c], measure);
        fputs("</tr>\n", out);
    }
    if (m->rows > 1)
        print_means(out, m, measure);
    fputs("</tbody></table></div></div>\n", out);
}

/* ---- where merging varies: its sets against the strategies, in the mean ---------------------- */

static void print_mean_cell(FILE *out, const struct matrix *m, const json_t *place)
{
    if (!place) {
        fputs("<td class=\"soft\">–</td>", out);
        return;
    }
    const size_t column = (size_t)json_integer_value(place);
    size_t cases;
    const double over = mean_over_bound(m, column, &cases);
    print_speedup(out, m->mean[column]);
    print_missing(out, m->mean[column]);
    if (!isnan(over))
        html_print(out, "<small>memory %.2f×</small>", over);
    fputs("</td>", out);
}

/* Splits the columns' names into rows (merge set, release policy, residency) and strategies. */
static void split_columns(const struct matrix *m, json_t *rows, json_t *strategies)
{
    const char *name;
    json_t *place;
    json_object_foreach(m->column_place, name, place)
    {
        char strategy[256];
        snprintf(strategy, sizeof strategy, "%.*s", (int)strcspn(name, "\n"), name);
        place_of(strategies, strategy);
        place_of(rows, name + strcspn(name, "\n"));
    }
}

static void print_overview(FILE *out, const struct matrix *m)
{
    json_t *rows = tree_object(), *strategies = tree_object(), *place;
    const char *row, *strategy;
    split_columns(m, rows, strategies);
    html_print(
        out,
        "<p class=\"about\">Geometric means over all programs: speed-up over raw, and peak memory "
        "over the lower bound</p>\n<div class=\"scroll\"><table class=\"matrix\"><thead><tr>"
        "<th scope=\"col\">%s</th>",
        m->with_merge || m->with_release ? "merging" : "residency");
    json_object_foreach(strategies, strategy, place)
        html_print(out, "<th scope=\"col\" class=\"n\">%s</th>", strategy);
    fputs("</tr></thead><tbody>\n", out);
    json_object_foreach(rows, row, place)
    {
        json_t *unused;
        html_print(out, "<tr><th scope=\"row\">%s</th>", row + 1);
        json_object_foreach(strategies, strategy, unused)
        {
            struct text name = {0};
            text_add(&name, "%s%s", strategy, row);
            print_mean_cell(out, m, json_object_get(m->column_place, name.data));
            text_free(&name);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
    json_decref(rows);
    json_decref(strategies);
}

static void print_device(struct page *page, const json_t *root, const char *device,
                         const char *name)
{
    struct matrix m = matrix_of(root, device);
    if (m.rows) {
        html_print(page->out, "<h4>%s: %s</h4>\n", device, name);
        if (m.rows > 1 && (m.with_merge || m.with_release || m.with_residency))
            print_overview(page->out, &m);
        fputs("<div class=\"pair\">\n", page->out);
        print_matrix(page->out, &m, MEASURE_SPEEDUP);
        print_matrix(page->out, &m, MEASURE_MEMORY);
        fputs("</div>\n", page->out);
    }
    free_matrix(&m);
}

void page_matrix(struct page *page, const struct page_file *file)
{
    const json_t *devices = json_object_get(json_object_get(file->root, "context"), "devices");
    size_t i;
    json_t *device;
    if (!json_array_size(json_object_get(file->root, "cases")))
        return;
    page_section(
        page, file, "matrix", "At a glance",
        "Blue is better, orange worse; the deeper, the more. A speed-up has a colour only "
        "where its whole interval is on one side of 1 (without intervals: from a factor of "
        "2 on). No allocator can hold less than the lower bound, the most bytes still to be "
        "used at once.");
    json_array_foreach(devices, i, device)
    {
        print_device(page, file->root, tree_get_text(device, "id"), tree_get_text(device, "name"));
    }
    fputs("</section>\n", page->out);
}
