/* The section that shows every program at a glance: for each device two tables of ratios, a row a
 * workload and a column a configuration. Each ratio leads to the row of its case in the table of all
 * cases, which has the times and the bytes. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/chart/matrix.h"
#include "record/result/answer.h"
#include "record/result/case_tree.h"
#include "report/sections.h"

/* As many columns as a page has room for; further ones are in tables of their own. */
enum { COLUMNS_MOST = 12 };

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

/* A cell as it is printed. */
struct shown {
    char class[8];
    char ratio[64];
    char interval[64]; /* "" without one */
};

/* Colours a cell: blue where `goodness` is above 1, orange below. */
static void colour(struct shown *shown, double goodness, bool established)
{
    const int level = established && isfinite(goodness) && goodness > 0 ? shade(goodness) : 0;
    if (level)
        snprintf(shown->class, sizeof shown->class, "%s%d", goodness > 1 ? "u" : "d", level);
}

static struct shown shown_word(const char *class, const char *word)
{
    struct shown shown = {{0}, {0}, {0}};
    snprintf(shown.class, sizeof shown.class, "%s", class);
    snprintf(shown.ratio, sizeof shown.ratio, "%s", word);
    return shown;
}

static struct shown shown_speedup(const json_t *ratio)
{
    const double median = tree_get_number(ratio, "median");
    const double lo = tree_get_number(ratio, "ci_lo"), hi = tree_get_number(ratio, "ci_hi");
    struct shown shown = shown_word("", "");
    if (isnan(median))
        return shown_word("soft", "–");
    /* Without an interval nothing is established; a colour from a factor of 2 on is a hint. */
    colour(&shown, median, isnan(lo) ? median >= 2 || median <= 0.5 : lo > 1 || hi < 1);
    snprintf(shown.ratio, sizeof shown.ratio, "%.2f×", median);
    if (!isnan(lo))
        snprintf(shown.interval, sizeof shown.interval, "%.2f–%.2f", lo, hi);
    return shown;
}

static struct shown shown_memory(const json_t *one)
{
    const double over =
        case_peak(one, "peak_reserved_bytes") / case_peak(one, "live_lower_bound_bytes");
    struct shown shown = shown_word("", "–");
    colour(&shown, 1 / over, true);
    if (isfinite(over))
        snprintf(shown.ratio, sizeof shown.ratio,
                 over < 10    ? "%.2f×"
                 : over < 100 ? "%.1f×"
                              : "%.0f×",
                 over);
    return shown;
}

static bool is_own_baseline(const json_t *one)
{
    return strcmp(tree_get_text(case_speedup(one), "baseline"), tree_get_text(one, "id")) == 0;
}

static struct shown shown_case(const json_t *one, enum measure measure)
{
    if (!case_is_ok(one))
        return shown_word(case_is_skipped(one) ? "soft" : "bad", tree_get_text(one, "status"));
    if (measure == MEASURE_MEMORY)
        return shown_memory(one);
    if (is_own_baseline(one))
        return shown_word("soft", "baseline");
    return shown_speedup(case_speedup(one));
}

/* Are all cases of the file in the tables of the page? */
static bool is_whole(const struct page_file *file)
{
    return json_array_size(json_object_get(file->root, "cases")) <= file->cases_most;
}

/* Is the row of the case in the table of all cases? */
static bool has_row(const struct page_file *file, const json_t *one)
{
    const json_t *cases = json_object_get(file->root, "cases");
    bool is_shown = is_whole(file);
    for (size_t i = 0; i < file->cases_most && !is_shown; i++)
        is_shown = json_array_get(cases, i) == one;
    return is_shown;
}

static void print_case(FILE *out, const struct page_file *file, const json_t *one,
                       enum measure measure)
{
    if (!one) {
        fputs("<td></td>", out);
        return;
    }
    const struct shown shown = shown_case(one, measure);
    fputs("<td", out);
    if (*shown.class)
        html_print(out, " class=\"%s\"", shown.class);
    if (has_row(file, one))
        html_print(out, "><a href=\"#%s-%s\">%s</a>", file->id, tree_get_text(one, "id"),
                   shown.ratio);
    else
        html_print(out, ">%s", shown.ratio);
    if (*shown.interval)
        html_print(out, "<small>%s</small>", shown.interval);
    fputs("</td>", out);
}

/* The key of the configuration: that of any case in the column. */
static const json_t *column_key(const struct matrix *m, size_t column)
{
    size_t r = 0;
    while (!matrix_cell(m, r, column))
        r++;
    return json_object_get(matrix_cell(m, r, column), "key");
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

/* Prints the table of the columns from `first` on. */
static void print_columns(FILE *out, const struct page_file *file, const struct matrix *m,
                          enum measure measure, size_t first, size_t rows)
{
    const size_t left = m->columns.count - first;
    const size_t end = first + (left < COLUMNS_MOST ? left : COLUMNS_MOST);
    fputs("<div class=\"scroll\"><table class=\"matrix sort\"><thead><tr><th scope=\"col\">workload"
          "</th>",
          out);
    for (size_t c = first; c < end; c++)
        print_column_title(out, &m->naming, column_key(m, c));
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t r = 0; r < rows; r++) {
        html_print(out, "<tr><th scope=\"row\">%s</th>", m->rows.name[r]);
        for (size_t c = first; c < end; c++)
            print_case(out, file, matrix_cell(m, r, c), measure);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

static void print_matrix(FILE *out, const struct page_file *file, const struct matrix *m,
                         const char *against, enum measure measure, size_t rows)
{
    fputs("<div><p class=\"about\">", out);
    if (measure == MEASURE_SPEEDUP)
        html_print(out, "Speed-up over %s in wall time, and its interval", against);
    else
        fputs("Peak memory held from the driver, over the lower bound", out);
    fputs("</p>\n", out);
    for (size_t c = 0; c < m->columns.count; c += COLUMNS_MOST)
        print_columns(out, file, m, measure, c, rows);
    fputs("</div>\n", out);
}

/* The matrix of a device with several programs; of one program the ranking says the same. */
static bool make_matrix(const struct chart_subject *of, struct matrix *m)
{
    static const struct matrix_rules rules = {0};
    if (matrix_make("matrix", of, &rules, m, NULL))
        return false; /* no cases */
    if (m->rows.count < 2)
        matrix_free(m);
    return m->rows.count > 1;
}

/* As many programs as there is room for cases, but at least one. */
static size_t rows_in(const struct matrix *m, size_t room)
{
    const size_t fitting = room / m->columns.count;
    return fitting < 1 ? 1 : fitting < m->rows.count ? fitting : m->rows.count;
}

static void print_device(FILE *out, const struct page_file *file, const struct matrix *m,
                         const char *against, const char *name, size_t rows)
{
    html_print(out, "<h4>%s: %s</h4>\n", m->of->device, name);
    if (rows < m->rows.count)
        html_print(out,
                   "<p class=\"about\">The first %zu of %zu programs. <code>gamut plot -c "
                   "matrix,peak_memory -w NAMES data/%s</code> draws others.</p>\n",
                   rows, m->rows.count, file->name);
    fputs("<div class=\"pair\">\n", out);
    if (case_some_has_time(m->of->root, m->of->device))
        print_matrix(out, file, m, against, MEASURE_SPEEDUP, rows);
    print_matrix(out, file, m, against, MEASURE_MEMORY, rows);
    fputs("</div>\n", out);
}

/* Those that have a case; at least 1. */
static size_t count_devices(const json_t *root, const json_t *devices)
{
    size_t count = 0;
    for (size_t d = 0, i; d < json_array_size(devices); d++) {
        const struct chart_subject of = {.root = root,
                                         .device = tree_get_text(json_array_get(devices, d), "id")};
        i = 0;
        count += case_next(&of, &i) != NULL;
    }
    return count ? count : 1;
}

void section_matrix(const struct page *page, const struct page_file *file)
{
    const json_t *devices = json_object_get(json_object_get(file->root, "context"), "devices");
    const json_t *device;
    size_t printed = 0;
    json_t *answer = answer_of(file->root, NULL);
    const size_t room = file->cases_most / count_devices(file->root, devices);
    for (size_t i = 0; (device = json_array_get(devices, i)); i++) {
        const struct chart_subject of = {.root = file->root, .device = tree_get_text(device, "id")};
        struct matrix m;
        if (!make_matrix(&of, &m))
            continue;
        if (!printed++)
            page_section(
                page, file, "matrix", "Program by program",
                case_some_has_time(file->root, NULL)
                    ? "Blue cells are better, orange cells are worse, and a deeper colour means a "
                      "larger difference. A speed-up has a colour only if its whole interval lies "
                      "on one side of 1, or without intervals from a factor of 2 on. The lower "
                      "bound is the most bytes that the program still needs at one time: no "
                      "allocator can hold less. A ratio leads to its case in the last table."
                    : "A deeper orange means more memory over the lower bound, the most bytes that "
                      "the application has requested at one time: no allocator can hold less.");
        const size_t rows = is_whole(file) ? m.rows.count : rows_in(&m, room);
        print_device(page->out, file, &m, tree_get_text(answer_find(answer, of.device), "against"),
                     tree_get_text(device, "name"), rows);
        matrix_free(&m);
    }
    json_decref(answer);
    fputs(printed ? "</section>\n" : "", page->out);
}
