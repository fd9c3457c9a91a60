/* The section that shows a result at a glance: for each device a table of ratios, a row a workload
 * and a column a configuration. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/chart/matrix.h"
#include "record/result/answer.h"
#include "record/result/case_tree.h"
#include "report/sections.h"

enum measure { MEASURE_SPEEDUP, MEASURE_MEMORY };

/* ---- cells ---------------------------------------------------------------------------------- */

/* How deep the colour is: 1 to 4 for factors from 1.05 on, 0 for none. */
static int shade(double factor)
{
    static const double least[] = {1.05, 1.25, 2, 4};
    int level = 0;
    const double size = factor < 1 ? 1 / factor : factor;
    while (level < 4 && size >= least[level])
        level++;
    return level;
}

/* Begins the cell of a ratio: blue where `goodness` is above 1, orange below. */
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
    /* Without an interval nothing is established; a colour from a factor of 2 on is a hint. */
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

static bool is_own_baseline(const json_t *one)
{
    return strcmp(tree_get_text(case_speedup(one), "baseline"), tree_get_text(one, "id")) == 0;
}

static void print_case(FILE *out, const json_t *one, enum measure measure)
{
    char time[32];
    const double wall = case_stat(one, "wall_ns", "median");
    if (!one) {
        fputs("<td class=\"soft\">", out);
    } else if (!case_is_ok(one)) {
        html_print(out, "<td class=\"%s\">%s", case_is_skipped(one) ? "soft" : "bad",
                   tree_get_text(one, "status"));
    } else if (measure == MEASURE_MEMORY) {
        print_memory(out, one);
    } else if (is_own_baseline(one)) {
        html_print(out, "<td>%s<small>baseline</small>", text_ns(time, wall));
    } else if (!json_is_object(case_speedup(one))) {
        html_print(out, "<td>%s", isnan(wall) ? "–" : text_ns(time, wall));
    } else {
        print_speedup(out, case_speedup(one));
    }
    fputs("</td>", out);
}

/* The geometric mean over the rows in which the case is ok, and their number. */
static double mean_over_bound(const struct matrix *m, size_t column, size_t *cases)
{
    double sum = 0;
    *cases = 0;
    for (size_t r = 0; r < matrix_row_count(m); r++) {
        const double over = bytes_over_bound(matrix_cell(m, r, column));
        if (!isfinite(over) || over <= 0)
            continue;
        sum += log(over);
        ++*cases;
    }
    return *cases ? exp(sum / (double)*cases) : NAN;
}

/* The key of the configuration: that of any case in the column. */
static const json_t *column_key(const struct matrix *m, size_t column)
{
    size_t r = 0;
    while (!matrix_cell(m, r, column))
        r++;
    return json_object_get(matrix_cell(m, r, column), "key");
}

/* The configuration with this key in the answer of its device; NULL if it is not ranked. */
static const json_t *ranked_one(const json_t *device, const json_t *key)
{
    static const char *const members[] = {"strategy", "merge", "release", "residency"};
    const json_t *ranking = json_object_get(device, "ranking"), *one;
    for (size_t i = 0; (one = json_array_get(ranking, i)); i++) {
        bool same = true;
        for (size_t k = 0; k < sizeof members / sizeof *members; k++)
            same &= strcmp(tree_get_text(one, members[k]), tree_get_text(key, members[k])) == 0;
        if (same)
            return one;
    }
    return NULL;
}

/* The mean of a ranked configuration. The means of a device are over the same cases; how many, if
 * these are not all. */
static void print_mean_speedup(FILE *out, const json_t *device, const json_t *key)
{
    print_speedup(out, json_object_get(ranked_one(device, key), "speedup"));
    if (ranked_one(device, key) && tree_get_number(device, "cases") < tree_get_number(device, "of"))
        html_print(out, "<small>of %.0f</small>", tree_get_number(device, "cases"));
}

static void print_mean(FILE *out, const struct matrix *m, const json_t *device, size_t column,
                       enum measure measure)
{
    size_t cases;
    const double over = mean_over_bound(m, column, &cases);
    if (measure == MEASURE_SPEEDUP) {
        print_mean_speedup(out, device, column_key(m, column));
    } else if (isnan(over)) {
        fputs("<td class=\"soft\">–", out);
    } else {
        print_shaded(out, 1 / over, true);
        html_print(out, "%.2f×", over);
        if (cases < matrix_row_count(m))
            html_print(out, "<small>of %zu, %zu missing</small>", cases,
                       matrix_row_count(m) - cases);
    }
    fputs("</td>", out);
}

/* ---- the tables ----------------------------------------------------------------------------- */

/* The strategy, and below it what else differs between the configurations. */
static void print_column_title(FILE *out, const struct naming *naming, const json_t *key)
{
    const struct {
        bool is_named;
        const char *member;
    } lines[] = {
        {naming->merge, "merge"}, {naming->release, "release"}, {naming->residency, "residency"}};
    html_print(out, "<th scope=\"col\" class=\"n\">%s", tree_get_text(key, "strategy"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i].is_named)
            html_print(out, "<br/>%s", tree_get_text(key, lines[i].member));
    fputs("</th>", out);
}

static void print_matrix(FILE *out, const struct matrix *m, const json_t *device,
                         enum measure measure)
{
    fputs("<div><p class=\"about\">", out);
    if (measure == MEASURE_SPEEDUP)
        html_print(out, "Speed-up over %s in wall time, and its interval",
                   tree_get_text(device, "against"));
    else
        fputs("Peak memory held from the driver, over the lower bound", out);
    fputs("</p>\n<div class=\"scroll\"><table class=\"matrix\"><thead><tr>"
          "<th scope=\"col\">workload</th>",
          out);
    for (size_t c = 0; c < m->columns.count; c++)
        print_column_title(out, &m->naming, column_key(m, c));
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t r = 0; r < m->rows.count; r++) {
        const bool is_mean = matrix_is_mean(m, r);
        html_print(out, "<tr class=\"%s\"><th scope=\"row\">%s</th>", is_mean ? "mean" : "",
                   m->rows.name[r]);
        for (size_t c = 0; c < m->columns.count; c++)
            if (is_mean)
                print_mean(out, m, device, c, measure);
            else
                print_case(out, matrix_cell(m, r, c), measure);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div></div>\n", out);
}

/* ---- the overview: means, a row a merge set, a column a strategy ----------------------------- */

/* The name of a column without its strategy: " best scope". */
static const char *name_after_strategy(const struct matrix *m, size_t column)
{
    return m->columns.name[column] + strlen(tree_get_text(column_key(m, column), "strategy"));
}

static void print_mean_cell(FILE *out, const struct matrix *m, const json_t *device, size_t column)
{
    size_t cases;
    if (column == m->columns.count) {
        fputs("<td class=\"soft\">–</td>", out);
        return;
    }
    const double over = mean_over_bound(m, column, &cases);
    print_mean_speedup(out, device, column_key(m, column));
    if (!isnan(over))
        html_print(out, "<small>memory %.2f×</small>", over);
    fputs("</td>", out);
}

static void print_overview(FILE *out, const struct matrix *m, const json_t *device)
{
    struct labels rows = {0}, strategies = {0};
    for (size_t c = 0; c < m->columns.count; c++) {
        labels_add(&strategies, tree_get_text(column_key(m, c), "strategy"));
        labels_add(&rows, name_after_strategy(m, c));
    }
    html_print(
        out,
        "<p class=\"about\">Geometric means over %.0f programs: speed-up over %s, and peak memory "
        "over the lower bound</p>\n<div class=\"scroll\"><table class=\"matrix\"><thead><tr>"
        "<th scope=\"col\">%s</th>",
        tree_get_number(device, "cases"), tree_get_text(device, "against"),
        m->naming.merge || m->naming.release ? "merging" : "residency");
    for (size_t s = 0; s < strategies.count; s++)
        html_print(out, "<th scope=\"col\" class=\"n\">%s</th>", strategies.name[s]);
    fputs("</tr></thead><tbody>\n", out);
    for (size_t r = 0; r < rows.count; r++) {
        html_print(out, "<tr><th scope=\"row\">%s</th>", rows.name[r] + 1);
        for (size_t s = 0; s < strategies.count; s++) {
            struct text name = {0};
            text_add(&name, "%s%s", strategies.name[s], rows.name[r]);
            print_mean_cell(out, m, device, labels_find(&m->columns, name.data));
            text_free(&name);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
    labels_free(&rows);
    labels_free(&strategies);
}

static void print_device(FILE *out, const struct matrix *m, const json_t *device, const char *name)
{
    html_print(out, "<h4>%s: %s</h4>\n", m->of->device, name);
    const bool has_times = case_some_has_time(m->of->root, m->of->device);
    if (has_times && m->has_mean && (m->naming.merge || m->naming.release || m->naming.residency))
        print_overview(out, m, device);
    fputs("<div class=\"pair\">\n", out);
    if (has_times)
        print_matrix(out, m, device, MEASURE_SPEEDUP);
    print_matrix(out, m, device, MEASURE_MEMORY);
    fputs("</div>\n", out);
}

void section_matrix(const struct page *page, const struct page_file *file)
{
    static const struct matrix_rules rules = {
        .with_skipped = true, .has_mean = true, .mean_of_summary = true};
    const json_t *devices = json_object_get(json_object_get(file->root, "context"), "devices");
    const json_t *device;
    if (!json_array_size(json_object_get(file->root, "cases")))
        return;
    json_t *answer = answer_of(file->root, NULL);
    page_section(
        page, file, "matrix", "At a glance",
        case_some_has_time(file->root, NULL)
            ? "Blue cells are better, orange cells are worse, and a deeper colour means a larger "
              "difference. A speed-up has a colour only if its whole interval lies on one side "
              "of 1, or without intervals from a factor of 2 on. The lower bound is the most "
              "bytes that the program still needs at one time: no allocator can hold less."
            : "A deeper orange means more memory over the lower bound, the most bytes that the "
              "application has requested at one time: no allocator can hold less.");
    for (size_t i = 0; (device = json_array_get(devices, i)); i++) {
        const struct chart_subject of = {.root = file->root, .device = tree_get_text(device, "id")};
        struct matrix m;
        if (matrix_make("matrix", &of, &rules, &m, NULL))
            continue; /* no cases */
        print_device(page->out, &m, answer_find(answer, of.device), tree_get_text(device, "name"));
        matrix_free(&m);
    }
    json_decref(answer);
    fputs("</section>\n", page->out);
}
