/* Cases one by one: those that are not as they should be, and the table of all. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "record/table/suite_table.h"
#include "record/table/table.h"
#include "record/table/table_cells.h"
#include "base/tree.h"
#include "report/page.h"

/* Up to so many rows stand open; more are folded away until asked for. */
enum { OPEN_ROWS = 120, WARNINGS_MOST = 500 };

/* ---- not ok, or with a warning --------------------------------------------------------------- */

static size_t count_failures(const json_t *cases)
{
    size_t i, count = 0;
    json_t *each;
    json_array_foreach(cases, i, each) count += !case_is_ok(each);
    return count;
}

static void print_failures(FILE *out, const json_t *cases)
{
    size_t i;
    json_t *each;
    fputs("<div class=\"scroll\"><table><thead><tr><th>case</th><th>status</th><th>reason</th>"
          "</tr></thead><tbody>\n",
          out);
    for (int status = CASE_STATUSES - 1; status > CASE_ok; status--)
        json_array_foreach(cases, i, each)
        {
            char words[512];
            const char *name = case_status_name((enum case_status)status);
            if (strcmp(tree_get_text(each, "status"), name) == 0)
                html_print(out,
                           "<tr><th scope=\"row\">%s</th><td class=\"%s\">%s</td><td class=\"w\">%s"
                           "</td></tr>\n",
                           case_words(words, each), status == CASE_skipped ? "soft" : "bad", name,
                           tree_get_text(each, "reason"));
        }
    fputs("</tbody></table></div>\n", out);
}

static size_t count_warnings(const json_t *cases)
{
    size_t i, count = 0;
    json_t *each;
    json_array_foreach(cases, i, each) count += json_array_size(json_object_get(each, "warnings"));
    return count;
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

void page_failures(struct page *page, const struct page_file *file)
{
    const json_t *cases = json_object_get(file->root, "cases");
    const size_t failures = count_failures(cases), warnings = count_warnings(cases);
    if (!failures && !warnings)
        return;
    page_section(page, file, "failed", "Discarded and failed",
                 "A case that is not ok has no numbers anywhere: no mean counts it.");
    if (failures)
        print_failures(page->out, cases);
    if (warnings)
        print_warnings(page->out, cases, warnings);
    fputs("</section>\n", page->out);
}

/* ---- the table ------------------------------------------------------------------------------ */

static void print_cell(FILE *out, const struct table_row *row, int column)
{
    const bool is_name = column < FIRST_MEASURED;
    const char *mood = "";
    if (column == COLUMN_SPEEDUP)
        mood = row->change == CHANGE_BETTER ? " good" : row->change == CHANGE_WORSE ? " bad" : "";
    else if (column == COLUMN_WALL && !row->is_ok)
        mood = " bad";
    html_print(out, "<td class=\"%s%s\">%s</td>", is_name ? "" : "n", mood, row->cell[column]);
}

static void print_row(FILE *out, const struct table_row *row, const enum column_place *place,
                      bool is_first)
{
    fputs(row->is_mean ? "<tr class=\"mean\">" : is_first ? "<tr class=\"first\">" : "<tr>", out);
    for (int c = 0; c < COLUMNS; c++)
        if (place[c] == PLACE_AS_COLUMN)
            print_cell(out, row, c);
    fputs("</tr>\n", out);
}

static void print_constants(FILE *out, const struct table_cells *cells,
                            const enum column_place *place)
{
    const char *before = "<p class=\"about\">In all rows: ";
    for (int c = 0; c < COLUMNS; c++)
        if (place[c] == PLACE_ONCE) {
            fputs(before, out);
            html_print(out, "%s %s", column_titles[c],
                       column_value(cells, (enum column)c, ALL_GROUPS));
            before = ", ";
        }
    if (*before == ',')
        fputs("</p>\n", out);
}

static void print_table(FILE *out, const struct table_cells *cells)
{
    enum column_place place[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        place[c] = column_placement(cells, (enum column)c, false);
    print_constants(out, cells, place);
    fputs("<div class=\"scroll\"><table><thead><tr>", out);
    for (int c = 0; c < COLUMNS; c++)
        if (place[c] == PLACE_AS_COLUMN)
            html_print(out, "<th scope=\"col\" class=\"%s\">%s</th>", c < FIRST_MEASURED ? "" : "n",
                       column_titles[c]);
    fputs("</tr></thead><tbody>\n", out);
    for (size_t i = 0; i < cells->row_count; i++)
        print_row(out, &cells->rows[i], place,
                  i > 0 && cells->rows[i].group != cells->rows[i - 1].group);
    fputs("</tbody></table></div>\n", out);
}

/* What the table of a terminal says below its rows. */
static void print_as_text(FILE *out, const json_t *root,
                          void (*print)(const json_t *root, FILE *out), const char *before,
                          const char *after)
{
    char *text;
    size_t length;
    FILE *buffer = open_memstream(&text, &length);
    if (!buffer)
        return;
    print(root, buffer);
    fclose(buffer);
    while (length && text[length - 1] == '\n')
        text[--length] = 0;
    if (length) {
        fputs(before, out);
        html_text(out, text);
        fputs(after, out);
    }
    free(text);
}

static void print_suite(const json_t *root, FILE *out)
{
    suite_table_print(root, TABLE_TEXT, out);
}

void page_table(struct page *page, const struct page_file *file)
{
    struct table_cells cells = table_cells_of(file->root);
    const bool is_long = cells.row_count > OPEN_ROWS;
    if (cells.row_count) {
        page_section(page, file, "table", "All cases", NULL);
        print_as_text(page->out, file->root, table_print_verdict, "<p class=\"about\">", "</p>\n");
        if (is_long)
            html_print(page->out, "<details><summary>%zu rows</summary>\n", cells.row_count);
        print_table(page->out, &cells);
        if (is_long)
            fputs("</details>\n", page->out);
        fputs("</section>\n", page->out);
    }
    if (json_is_object(json_object_get(file->root, "suite"))) {
        page_section(page, file, "suite", "Beside what was published", NULL);
        print_as_text(page->out, file->root, print_suite, "<pre>", "</pre>\n");
        fputs("</section>\n", page->out);
    }
    table_cells_free(&cells);
}
