/* The sections that list single cases and rows: cases that are not ok, the table of all cases, the
 * suite, and the rows of experiments. */
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "record/result/experiment_result.h"
#include "record/table/experiment_table.h"
#include "record/table/suite_table.h"
#include "record/table/table.h"
#include "record/table/table_grid.h"
#include "report/sections.h"

/* OPEN_ROWS: a table of more rows is folded until the reader opens it. */
enum { OPEN_ROWS = 120, FAILURES_MOST = 500, WARNINGS_MOST = 500 };

/* ---- not ok, or with a warning --------------------------------------------------------------- */

static void print_failures(FILE *out, const json_t *cases)
{
    static const struct text_grid_column columns[] = {
        {.title = "case"}, {.title = "status"}, {.title = "reason"}};
    size_t i, count = 0;
    json_t *each;
    page_table(out, columns, 3);
    for (int status = CASE_STATUSES - 1; status > CASE_ok; status--)
        json_array_foreach(cases, i, each)
        {
            char words[512];
            const char *name = case_status_name((enum case_status)status);
            if (strcmp(tree_get_text(each, "status"), name) == 0 && count++ < FAILURES_MOST)
                html_print(out,
                           "<tr><th scope=\"row\">%s</th><td class=\"%s\">%s</td><td class=\"w\">%s"
                           "</td></tr>\n",
                           case_words(words, each), status == CASE_skipped ? "soft" : "bad", name,
                           tree_get_text(each, "reason"));
        }
    page_table_end(out);
    if (count > FAILURES_MOST)
        html_print(out, "<p class=\"about\">and %zu more, in the file</p>\n",
                   count - FAILURES_MOST);
}

static void print_warnings(FILE *out, const json_t *cases, size_t count)
{
    size_t i, j, printed = 0;
    json_t *each, *warning;
    html_print(out, "<details><summary>%zu warning%s</summary>\n<ul class=\"plain\">\n", count,
               count == 1 ? "" : "s");
    json_array_foreach(cases, i, each)
        json_array_foreach(json_object_get(each, "warnings"), j, warning)
    {
        char words[512];
        if (printed++ < WARNINGS_MOST)
            html_print(out, "<li>%s: <strong>%s</strong> %s</li>\n", case_words(words, each),
                       tree_get_text(warning, "code"), tree_get_text(warning, "detail"));
    }
    if (printed > WARNINGS_MOST)
        html_print(out, "<li>and %zu more, in the file</li>\n", printed - WARNINGS_MOST);
    fputs("</ul></details>\n", out);
}

void section_failures(const struct page *page, const struct page_file *file)
{
    const json_t *cases = json_object_get(file->root, "cases");
    size_t i, failures = 0, warnings = 0;
    json_t *each;
    json_array_foreach(cases, i, each)
    {
        failures += !case_is_ok(each);
        warnings += json_array_size(json_object_get(each, "warnings"));
    }
    if (!failures && !warnings)
        return;
    page_section(page, file, "failed", "Discarded and failed",
                 "A case that is not ok has no numbers on this page, and no mean includes it.");
    if (failures)
        print_failures(page->out, cases);
    if (warnings)
        print_warnings(page->out, cases, warnings);
    fputs("</section>\n", page->out);
}

/* ---- the table ------------------------------------------------------------------------------ */

void section_table(const struct page *page, const struct page_file *file)
{
    struct text_grid grid = table_grid_of(file->root, SHAPE_PLAIN);
    struct page_capture model;
    struct text rest = {0};
    text_add(&rest, "gamut print data/%s prints all of them.", file->name);
    if (grid.row_count) {
        page_section(page, file, "table", "All cases", NULL);
        table_print_model(file->root, page_capture(&model));
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
    if (!json_is_object(json_object_get(file->root, "suite")))
        return;
    page_section(page, file, "suite", "Compared with what was published", NULL);
    suite_table_print(file->root, TABLE_TEXT, page_capture(&table));
    page_captured(&table, "<pre>", "</pre>\n", page->out);
    fputs("</section>\n", page->out);
}

/* ---- experiments ---------------------------------------------------------------------------- */

static void print_metrics(FILE *out, const json_t *experiment)
{
    const char *name;
    json_t *metric, *parameter;
    size_t i;
    fputs("<details><summary>Meaning of the columns</summary>\n<dl>\n", out);
    json_array_foreach(json_object_get(experiment, "parameters"), i, parameter)
        html_print(out, "<dt>%s</dt><dd>%s</dd>\n", tree_get_text(parameter, "name"),
                   tree_get_text(parameter, "help"));
    json_object_foreach(json_object_get(experiment, "metrics"), name, metric)
        html_print(out, "<dt>%s</dt><dd>%s</dd>\n", name, tree_get_text(metric, "help"));
    fputs("</dl></details>\n", out);
}

static void print_row_warnings(FILE *out, const json_t *experiment)
{
    size_t i, j;
    json_t *row, *warning;
    json_array_foreach(json_object_get(experiment, "rows"), i, row)
        json_array_foreach(json_object_get(row, "warnings"), j, warning)
    {
        struct text words = {0};
        experiment_row_words(experiment, row, &words);
        html_print(out, "<p class=\"soft\">%s: <strong>%s</strong> %s: %s</p>\n", words.data,
                   tree_get_text(warning, "code"), tree_get_text(warning, "subject"),
                   tree_get_text(warning, "detail"));
        text_free(&words);
    }
}

void section_experiments(const struct page *page, const struct page_file *file)
{
    const json_t *experiments = json_object_get(file->root, "experiments");
    size_t i;
    json_t *each;
    if (!json_array_size(experiments))
        return;
    page_section(page, file, "experiments", "Experiments",
                 "Numbers are medians over rounds. A row with a wrong answer has none.");
    json_array_foreach(experiments, i, each)
    {
        struct page_capture table;
        experiment_table_print(each, TABLE_TEXT, page_capture(&table));
        page_captured(&table, "<pre>", "</pre>\n", page->out);
        print_row_warnings(page->out, each);
        print_metrics(page->out, each);
    }
    fputs("</section>\n", page->out);
}
