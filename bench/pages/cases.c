/* The sections that list single cases and rows: cases that are not ok, the table of all cases, the
 * suite, and the rows of experiments. */
#include <string.h>

#include "base/text.h"
#include "results/file/answer.h"
#include "results/file/experiment_result.h"
#include "results/file/measured.h"
#include "results/show/table.h"
#include "pages/sections.h"

/* OPEN_ROWS: a table of more rows is folded until the reader opens it. */
enum { OPEN_ROWS = 120, FAILURES_MOST = 500, WARNINGS_MOST = 500 };

/* ---- not ok, or with a warning --------------------------------------------------------------- */

static void print_failures(FILE *out, const struct result *result)
{
    static const struct text_grid_column columns[] = {
        {.title = "case"}, {.title = "status"}, {.title = "reason"}};
    size_t count = 0;
    page_table(out, columns, 3);
    for (int status = CASE_STATUSES - 1; status > CASE_ok; status--)
        for (size_t i = 0; i < result->case_count; i++) {
            const struct result_case *each = &result->cases[i];
            char words[MEASURED_WORDS];
            if (each->status == (enum case_status)status &&
                !answer_tells_skipped(&result->answer, each) && count++ < FAILURES_MOST)
                html_print(out,
                           "<tr><th scope=\"row\">%s</th><td class=\"%s\">%s</td><td class=\"w\">%s"
                           "</td></tr>\n",
                           measured_words(words, each), status == CASE_skipped ? "soft" : "bad",
                           case_status_name(each->status), each->reason ? each->reason : "");
        }
    page_table_end(out);
    if (count > FAILURES_MOST)
        html_print(out, "<p class=\"about\">and %zu more, in the file</p>\n",
                   count - FAILURES_MOST);
}

static void print_warnings(FILE *out, const struct result *result, size_t count)
{
    size_t printed = 0;
    html_print(out, "<details><summary>%zu warning%s</summary>\n<ul class=\"plain\">\n", count,
               count == 1 ? "" : "s");
    for (size_t i = 0; i < result->case_count; i++)
        for (size_t w = 0; w < result->cases[i].warning_count; w++) {
            const struct result_warning *warning = &result->cases[i].warnings[w];
            char words[MEASURED_WORDS];
            if (printed++ < WARNINGS_MOST)
                html_print(out, "<li>%s: <strong>%s</strong> %s</li>\n",
                           measured_words(words, &result->cases[i]), warning->code,
                           warning->detail ? warning->detail : "");
        }
    if (printed > WARNINGS_MOST)
        html_print(out, "<li>and %zu more, in the file</li>\n", printed - WARNINGS_MOST);
    fputs("</ul></details>\n", out);
}

void section_failures(const struct page *page, const struct page_file *file)
{
    const struct result *result = &file->result;
    size_t failures = 0, warnings = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        failures += result->cases[i].status != CASE_ok &&
                    !answer_tells_skipped(&result->answer, &result->cases[i]);
        warnings += result->cases[i].warning_count;
    }
    if (!failures && !warnings)
        return;
    page_section(page, file, "failed", "Discarded and failed",
                 "A case that is not ok has no numbers on this page, and no mean includes it.");
    if (failures)
        print_failures(page->out, result);
    if (warnings)
        print_warnings(page->out, result, warnings);
    fputs("</section>\n", page->out);
}

/* ---- the table ------------------------------------------------------------------------------ */

void section_table(const struct page *page, const struct page_file *file)
{
    struct text_grid grid = table_grid_of(&file->result, SHAPE_PLAIN, TABLE_CASES);
    struct page_capture model;
    struct text rest = {0};
    text_add(&rest, "gamut print data/%s prints all of them.", file->name);
    if (grid.row_count) {
        page_section(page, file, "table", "All cases", NULL);
        table_print_model(&file->result, page_capture(&model));
        page_captured(&model, "<p class=\"about\">", "</p>\n", page->out);
        page_grid(page->out, &grid,
                  &(struct page_rows){.open = OPEN_ROWS,
                                      .most = file->cases_most,
                                      .rest = rest.data,
                                      .what = "rows",
                                      .can_sort = true,
                                      .file = file});
        fputs("</section>\n", page->out);
    }
    text_free(&rest);
    text_grid_free(&grid);
}

void section_suite(const struct page *page, const struct page_file *file)
{
    struct page_capture table;
    if (!file->result.suite)
        return;
    page_section(page, file, "suite", "Compared with what was published", NULL);
    suite_table_print(&file->result, TABLE_TEXT, page_capture(&table));
    page_captured(&table, "<pre>", "</pre>\n", page->out);
    fputs("</section>\n", page->out);
}

/* ---- experiments ---------------------------------------------------------------------------- */

static void print_metrics(FILE *out, const struct result_experiment *experiment)
{
    fputs("<details><summary>Meaning of the columns</summary>\n<dl>\n", out);
    for (size_t i = 0; i < experiment->parameter_count; i++)
        html_print(out, "<dt>%s</dt><dd>%s</dd>\n", experiment->parameters[i].name,
                   experiment->parameters[i].help ? experiment->parameters[i].help : "");
    for (size_t i = 0; i < experiment->metric_count; i++)
        html_print(out, "<dt>%s</dt><dd>%s</dd>\n", experiment->metrics[i].name,
                   experiment->metrics[i].help ? experiment->metrics[i].help : "");
    fputs("</dl></details>\n", out);
}

static void print_row_warnings(FILE *out, const struct result_experiment *experiment)
{
    for (size_t i = 0; i < experiment->row_count; i++)
        for (size_t w = 0; w < experiment->rows[i].warning_count; w++) {
            const struct result_warning *warning = &experiment->rows[i].warnings[w];
            struct text words = {0};
            experiment_row_words(experiment, &experiment->rows[i], &words);
            html_print(out, "<p class=\"soft\">%s: <strong>%s</strong> %s: %s</p>\n", words.data,
                       warning->code, warning->subject ? warning->subject : "",
                       warning->detail ? warning->detail : "");
            text_free(&words);
        }
}

void section_experiments(const struct page *page, const struct page_file *file)
{
    const struct result *result = &file->result;
    if (!result->experiment_count)
        return;
    page_section(page, file, "experiments", "Experiments",
                 "Numbers are medians over rounds. A row with a wrong answer has none.");
    for (size_t i = 0; i < result->experiment_count; i++) {
        struct page_capture table;
        experiment_table_print(&result->experiments[i], TABLE_TEXT, page_capture(&table));
        page_captured(&table, "<pre>", "</pre>\n", page->out);
        print_row_warnings(page->out, &result->experiments[i]);
        print_metrics(page->out, &result->experiments[i]);
    }
    fputs("</section>\n", page->out);
}
