/* The section that shows every program at a glance: for each device two tables of ratios, a row a
 * workload and a column a configuration. Each ratio leads to the row of its case in the table of
 * all cases, which has the times and the bytes. */
#include <math.h>
#include <string.h>

#include "results/show/matrix.h"
#include "results/file/answer.h"
#include "pages/sections.h"

/* As many columns as a page has room for; further ones are in tables of their own. */
enum { COLUMNS_MOST = 12 };

enum measure { MEASURE_SPEEDUP, MEASURE_MEMORY };

/* ---- cells ---------------------------------------------------------------------------------- */

/* The depth of the colour: 1 to 4 for factors from 1.05 on, 0 for none. */
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

static struct shown shown_speedup(const struct statistics *s)
{
    struct shown shown = shown_word("", "");
    if (isnan(s->median))
        return shown_word("soft", "–");
    /* Without an interval nothing is established; a colour from a factor of 2 on is a hint. */
    colour(&shown, s->median,
           isnan(s->ci_lo) ? s->median >= 2 || s->median <= 0.5 : s->ci_lo > 1 || s->ci_hi < 1);
    snprintf(shown.ratio, sizeof shown.ratio, "%.2f×", s->median);
    if (!isnan(s->ci_lo))
        snprintf(shown.interval, sizeof shown.interval, "%.2f–%.2f", s->ci_lo, s->ci_hi);
    return shown;
}

static struct shown shown_memory(const struct result_case *one)
{
    const double over =
        measured_peak(one, "peak_reserved_bytes") / measured_peak(one, "live_lower_bound_bytes");
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

static struct shown shown_case(const struct result_case *one, enum measure measure)
{
    if (one->status != CASE_ok)
        return shown_word(one->status == CASE_skipped ? "soft" : "bad",
                          case_status_name(one->status));
    if (measure == MEASURE_MEMORY)
        return shown_memory(one);
    const char *baseline = one->speedup ? one->speedup->baseline : one->speedup_over_raw.baseline;
    if (baseline && strcmp(baseline, one->id) == 0)
        return shown_word("soft", "baseline");
    return shown_speedup(measured_speedup(one));
}

static void print_case(FILE *out, const struct page_file *file, const struct result_case *one,
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
    if ((size_t)(one - file->result.cases) < file->cases_most) /* the last table has its row */
        html_print(out, "><a href=\"#%s-%s\">%s</a>", file->id, one->id, shown.ratio);
    else
        html_print(out, ">%s", shown.ratio);
    if (*shown.interval)
        html_print(out, "<small>%s</small>", shown.interval);
    fputs("</td>", out);
}

/* The key of the configuration: that of any case in the column. */
static const struct case_key *column_key(const struct matrix *m, size_t column)
{
    size_t r = 0;
    while (!matrix_cell(m, r, column))
        r++;
    return &matrix_cell(m, r, column)->key;
}

/* ---- the tables ----------------------------------------------------------------------------- */

/* The strategy, and below it what else differs between the configurations. */
static void print_column_title(FILE *out, const struct naming *naming, const struct case_key *key)
{
    html_print(out, "<th scope=\"col\" class=\"n\">%s", key->strategy);
    if (naming->merge)
        html_print(out, "<br/>%s", key->merge);
    if (naming->release)
        html_print(out, "<br/>%s", key->release);
    if (naming->residency)
        html_print(out, "<br/>%s", key->residency);
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
                   "speedup,peak_memory -w NAMES data/%s</code> draws others.</p>\n",
                   rows, m->rows.count, file->name);
    fputs("<div class=\"pair\">\n", out);
    if (result_has_times(m->of->result, m->of->device))
        print_matrix(out, file, m, against, MEASURE_SPEEDUP, rows);
    print_matrix(out, file, m, against, MEASURE_MEMORY, rows);
    fputs("</div>\n", out);
}

/* Those that have a case; at least 1. */
static size_t count_devices(const struct result *result)
{
    size_t count = 0;
    for (size_t d = 0, i; d < result->context.device_count; d++) {
        const struct chart_subject of = {.result = result, .device = result->context.devices[d].id};
        i = 0;
        count += case_next(&of, &i) != NULL;
    }
    return count ? count : 1;
}

void section_matrix(const struct page *page, const struct page_file *file)
{
    const struct result *result = &file->result;
    size_t printed = 0;
    const size_t room = file->cases_most / count_devices(result);
    for (size_t i = 0; i < result->context.device_count; i++) {
        const struct record_device *device = &result->context.devices[i];
        const struct chart_subject of = {.result = result, .device = device->id};
        struct matrix m;
        if (!make_matrix(&of, &m))
            continue;
        if (!printed++)
            page_section(
                page, file, "matrix", "Program by program",
                result_has_times(result, NULL)
                    ? "Blue cells are better, orange cells are worse, and a deeper colour means a "
                      "larger difference. A speed-up has a colour only if its whole interval lies "
                      "on one side of 1, or without intervals from a factor of 2 on. The lower "
                      "bound is the most bytes that the program still needs at one time: no "
                      "allocator can hold less. A ratio leads to its case in the last table."
                    : "A deeper orange means more memory over the lower bound, the most bytes that "
                      "the application has requested at one time: no allocator can hold less.");
        const bool is_whole = result->case_count <= file->cases_most;
        const size_t rows = is_whole ? m.rows.count : rows_in(&m, room);
        print_device(page->out, file, &m, answer_find(&result->answer, of.device)->against,
                     device->name, rows);
        matrix_free(&m);
    }
    fputs(printed ? "</section>\n" : "", page->out);
}
