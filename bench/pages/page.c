#include "pages/page.h"

#include <stdlib.h>

#include "base/arena.h"
#include "pages/folder.h"

/* page.css, report.js and its hash */
extern const char kernel_text_page_style[], kernel_text_report[], kernel_text_report_hash[];

/* NUMBERS_MOST: a column of numbers after these is not aligned. */
enum { NUMBERS_MOST = 32 };

bool page_is_replay(const struct page_file *file)
{
    size_t ok = 0;
    for (size_t i = 0; i < file->result.case_count; i++) {
        const struct result_case *one = &file->result.cases[i];
        if (one->status == CASE_ok && one->check != CHECK_BLOCKS)
            return false;
        ok += one->status == CASE_ok;
    }
    return ok > 0;
}

void page_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n" REPORT_MARK
          "/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n",
          out);
    html_policy(out, kernel_text_report_hash);
    html_print(out, "<title>%s – gamut report</title>\n<style>\n", title);
    fputs(kernel_text_page_style, out);
    for (size_t c = 1; c <= NUMBERS_MOST; c++)
        fprintf(out, "%s.r%zu td:nth-child(%zu)", c > 1 ? "," : "", c, c);
    fputs("{text-align:right;overflow-wrap:normal}\n</style>\n</head>\n<body>\n", out);
}

void page_end(FILE *out)
{
    fprintf(out, "<script>%s</script>\n</body>\n</html>\n", kernel_text_report);
}

void page_section(const struct page *page, const struct page_file *file, const char *id,
                  const char *title, const char *about)
{
    struct page_contents *contents = page->contents;
    contents->headings =
        must_realloc(contents->headings, (contents->count + 1) * sizeof *contents->headings);
    contents->headings[contents->count++] = (struct page_heading){file, id, title};
    html_print(page->out, "<section id=\"%s-%s\"><h3>%s</h3>\n", file ? file->id : "all", id,
               title);
    if (about)
        html_print(page->out, "<p class=\"about\">%s</p>\n", about);
}

/* The table says which of its columns are numbers, so that no cell has to. */
static void begin_table(FILE *out, const char *class, const struct text_grid_column *columns,
                        size_t count)
{
    size_t shown = 0;
    html_print(out, "<div class=\"scroll\"><table class=\"%s", class);
    for (size_t c = 0; c < count; c++) {
        shown += !columns[c].hidden;
        if (!columns[c].hidden && columns[c].kind == GRID_NUMBER)
            html_print(out, " r%zu", shown);
    }
    fputs("\"><thead><tr>", out);
    for (size_t c = 0; c < count; c++)
        if (!columns[c].hidden)
            html_print(out, "<th scope=\"col\" class=\"%s\">%s</th>",
                       columns[c].kind == GRID_NUMBER ? "n" : "", columns[c].title);
    fputs("</tr></thead><tbody>\n", out);
}

void page_table(FILE *out, const struct text_grid_column *columns, size_t count)
{
    begin_table(out, "", columns, count);
}

void page_table_end(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

static void print_constants(FILE *out, const struct text_grid *grid)
{
    size_t printed = 0;
    for (size_t c = 0; c < grid->column_count; c++)
        if (grid->column[c].once && *grid->column[c].once) {
            fputs(printed++ ? ", " : "<p class=\"about\">In all rows: ", out);
            html_print(out, "%s %s", grid->column[c].title, grid->column[c].once);
        }
    fputs(printed ? "</p>\n" : "", out);
}

/* Begins a row: a mean, the first of a group, or a case that other places of the page refer to. */
static void begin_row(FILE *out, const struct text_grid *grid, size_t r,
                      const struct page_file *file)
{
    const struct text_grid_row *row = &grid->row[r];
    const bool begins = r > 0 && row->group != grid->row[r - 1].group;
    fputs("<tr", out);
    if (file)
        html_print(out, " id=\"%s-%s\"", file->id, row->id);
    fputs(row->is_mean ? " class=\"mean\">" : begins ? " class=\"first\">" : ">", out);
}

static void print_rows(FILE *out, const struct text_grid *grid, const struct page_rows *rows,
                       size_t shown)
{
    static const char *const moods[] = {
        [GRID_PLAIN] = "", [GRID_BETTER] = "good", [GRID_WORSE] = "bad", [GRID_UNSURE] = "warn"};
    for (size_t r = 0; r < shown; r++) {
        const struct text_grid_row *row = &grid->row[r];
        begin_row(out, grid, r, rows->file);
        for (size_t c = 0; c < grid->column_count; c++) {
            const char *mood = c == row->mood_of ? moods[row->mood] : "";
            if (grid->column[c].hidden)
                continue;
            if (*mood)
                html_print(out, "<td class=\"%s\">%s</td>", mood, row->cell[c]);
            else
                html_print(out, "<td>%s</td>", row->cell[c]);
        }
        fputs("</tr>\n", out);
    }
}

void page_grid(FILE *out, const struct text_grid *grid, const struct page_rows *rows)
{
    const bool is_long = grid->row_count > rows->open;
    const size_t all = grid->row_count, shown = rows->most && rows->most < all ? rows->most : all;
    print_constants(out, grid);
    if (shown < all)
        html_print(out, "<p class=\"about\">The first %zu of %zu %s. %s</p>\n", shown, all,
                   rows->what, rows->rest);
    if (is_long)
        html_print(out, "<details><summary>%zu %s</summary>\n", shown, rows->what);
    begin_table(out, rows->can_sort ? "sort" : "", grid->column, grid->column_count);
    print_rows(out, grid, rows, shown);
    page_table_end(out);
    fputs(is_long ? "</details>\n" : "", out);
}

FILE *page_capture(struct page_capture *capture)
{
    capture->stream = open_memstream(&capture->text, &capture->length);
    return capture->stream;
}

void page_captured(struct page_capture *capture, const char *before, const char *after, FILE *out)
{
    fclose(capture->stream);
    while (capture->length && capture->text[capture->length - 1] == '\n')
        capture->text[--capture->length] = 0;
    if (capture->length) {
        fputs(before, out);
        html_text(out, capture->text);
        fputs(after, out);
    }
    free(capture->text);
}
