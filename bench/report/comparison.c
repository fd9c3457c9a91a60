/* What changed from the base: the rows of the comparison that say something, and what stands in the
 * way of comparing. */
#include <math.h>
#include <string.h>

#include "record/compare/compare_grid.h"
#include "base/tree.h"
#include "report/page.h"

/* A page is for reading; all rows are what `gamut compare` is for. */
enum { ROWS_MOST = 400, ROWS_OPEN = 60 };

static const char *mood_of(enum text_grid_mood mood)
{
    static const char *const classes[] = {
        [GRID_PLAIN] = "", [GRID_BETTER] = "good", [GRID_WORSE] = "bad", [GRID_UNSURE] = "warn"};
    return classes[mood];
}

static const char *class_of(const struct text_grid_column *column)
{
    return column->kind == GRID_NUMBER ? "n" : "";
}

static void print_titles(FILE *out, const struct text_grid *grid)
{
    fputs("<div class=\"scroll\"><table><thead><tr>", out);
    for (size_t c = 0; c < grid->column_count; c++)
        if (!grid->column[c].hidden)
            html_print(out, "<th scope=\"col\" class=\"%s\">%s</th>", class_of(&grid->column[c]),
                       grid->column[c].title);
    fputs("</tr></thead><tbody>\n", out);
}

static void print_line(FILE *out, const struct text_grid *grid, size_t i)
{
    const struct text_grid_row *row = &grid->row[i];
    fputs("<tr>", out);
    for (size_t c = 0; c < grid->column_count; c++)
        if (!grid->column[c].hidden)
            html_print(out, "<td class=\"%s\">%s</td>",
                       c == row->mood_of ? mood_of(row->mood) : class_of(&grid->column[c]),
                       row->cell[c]);
    fputs("</tr>\n", out);
}

static void print_constants(FILE *out, const struct text_grid *grid)
{
    const char *before = "<p class=\"about\">In all rows: ";
    for (size_t c = 0; c < grid->column_count; c++)
        if (grid->column[c].once) {
            fputs(before, out);
            html_print(out, "%s %s", grid->column[c].title, grid->column[c].once);
            before = ", ";
        }
    if (*before == ',')
        fputs("</p>\n", out);
}

static void print_rows(FILE *out, const json_t *comparison)
{
    json_t *rows = compare_select(comparison, COMPARE_SHOW_CHANGED);
    struct text_grid grid = compare_grid_of(comparison, rows);
    const bool is_long = grid.row_count > ROWS_OPEN;
    if (!grid.row_count) {
        fputs("<p>Nothing changed, and nothing gated is unsure.</p>\n", out);
    } else {
        print_constants(out, &grid);
        if (is_long)
            html_print(
                out, "<details><summary>%zu rows that changed, or are gated and unsure</summary>\n",
                grid.row_count);
        print_titles(out, &grid);
        for (size_t i = 0; i < grid.row_count && i < ROWS_MOST; i++)
            print_line(out, &grid, i);
        fputs("</tbody></table></div>\n", out);
        if (grid.row_count > ROWS_MOST)
            html_print(out, "<p>and %zu more: gamut compare has them all</p>\n",
                       grid.row_count - ROWS_MOST);
        fputs(is_long ? "</details>\n" : "", out);
    }
    text_grid_free(&grid);
    json_decref(rows);
}

/* ---- what stands around the rows ------------------------------------------------------------ */

static void print_value(FILE *out, const json_t *value)
{
    if (json_is_string(value))
        html_print(out, "<code>%s</code>", json_string_value(value));
    else if (json_is_number(value))
        html_print(out, "<code>%.12g</code>", json_number_value(value));
    else
        fputs(json_is_true(value) ? "true" : json_is_false(value) ? "false" : "none", out);
}

static void print_differences(FILE *out, const json_t *comparison)
{
    const json_t *differences = json_object_get(comparison, "context_diff");
    const json_t *notes = json_object_get(comparison, "notes"), *each;
    size_t i;
    if (!json_array_size(differences) && !json_array_size(notes))
        return;
    fputs("<ul class=\"plain\">\n", out);
    json_array_foreach(differences, i, each)
    {
        html_print(out, "<li>! <strong>%s</strong>: ", tree_get_text(each, "subject"));
        print_value(out, json_object_get(each, "base"));
        fputs(" in the base, ", out);
        print_value(out, json_object_get(each, "new"));
        html_print(out, " in the new file (matters for %s)</li>\n", tree_get_text(each, "matters"));
    }
    json_array_foreach(notes, i, each)
        html_print(out, "<li>! %s</li>\n", json_string_value(each) ? json_string_value(each) : "");
    fputs("</ul>\n", out);
}

static void print_file(FILE *out, const char *which, const json_t *file)
{
    html_print(out, "<dt>%s</dt><dd>%s, revision %s%s, %.0f rounds, %.0f cases, %s, %s</dd>\n",
               which, tree_get_text(file, "name"),
               *tree_get_text(file, "git_rev") ? tree_get_text(file, "git_rev") : "unknown",
               json_is_true(json_object_get(file, "git_dirty")) ? " with changes" : "",
               tree_get_number(file, "rounds"), tree_get_number(file, "cases"),
               tree_get_text(file, "started_at"), tree_get_text(file, "status"));
}

static void print_files(FILE *out, const json_t *comparison)
{
    size_t i;
    json_t *each;
    fputs("<dl>\n", out);
    print_file(out, "base", json_object_get(comparison, "base"));
    json_array_foreach(json_object_get(comparison, "new"), i, each) print_file(out, "new", each);
    fputs("</dl>\n", out);
}

static void print_means(FILE *out, const json_t *comparison)
{
    const json_t *files = json_object_get(comparison, "new"), *mean;
    size_t i;
    json_array_foreach(json_object_get(comparison, "means"), i,
                       mean) if (!isnan(tree_get_number(mean, "ratio")))
        html_print(out,
                   "<p><strong>%.4f×</strong> the base's wall time in the geometric mean of "
                   "%.0f cases (%s)</p>\n",
                   tree_get_number(mean, "ratio"), tree_get_number(mean, "cases"),
                   tree_get_text(json_array_get(files, i), "name"));
}

void page_comparison(struct page *page)
{
    if (!page->comparison)
        return;
    page_section(
        page, NULL, "comparison", "Beside the base",
        "Exact counters are compared by equality. A time is slower or faster where that is "
        "established over its rounds and more than its limit; same where the whole interval "
        "is within the limit; else unsure. Rows of all cases together find what a strategy does to "
        "most of them where no single one shows it.");
    print_files(page->out, page->comparison);
    print_differences(page->out, page->comparison);
    print_means(page->out, page->comparison);
    print_rows(page->out, page->comparison);
    fputs("</section>\n", page->out);
}
