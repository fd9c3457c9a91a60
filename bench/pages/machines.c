/* The section that puts the machines of all files next to each other: the tables of
 * `gamut compare --by machine`. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "results/compare/machines.h"
#include "pages/sections.h"

/* Long tables are folded: what follows of a file is no less important. */
enum { ROWS_OPEN = 16, ROWS_MOST = 400 };

static void print_sentences(FILE *out, const json_t *sentences, const char *before)
{
    const json_t *each;
    if (!json_array_size(sentences))
        return;
    fputs("<ul class=\"plain\">\n", out);
    for (size_t i = 0; (each = json_array_get(sentences, i)); i++)
        html_print(out, "<li>%s%s</li>\n", before, json_string_value(each));
    fputs("</ul>\n", out);
}

static void print_table(FILE *out, const struct machines *machines, enum machines_table table)
{
    struct text_grid grid = machines_grid_of(machines, table, COMPARE_SHOW_CHANGED);
    /* The ratios stand in the tables of the files. */
    for (size_t c = 0; c < grid.column_count && table == MACHINES_programs; c++)
        grid.column[c].hidden |= strncmp(grid.column[c].title, "vs ", 3) == 0;
    if (grid.row_count) {
        html_print(out, "<h4>%s</h4><p class=\"about\">%s</p>\n", machines_titles[table],
                   machines_abouts[table]);
        page_grid(out, &grid,
                  &(struct page_rows){.open = ROWS_OPEN,
                                      .most = ROWS_MOST,
                                      .rest = "gamut compare --by machine prints all.",
                                      .what = "rows",
                                      .can_sort = true});
    }
    text_grid_free(&grid);
}

void section_machines(const struct page *page, const struct page_file *file)
{
    if ((file == NULL) != (page->file_count > 1))
        return;
    struct compare_file *files = must_alloc((page->file_count + 1) * sizeof *files);
    struct machines *machines = NULL;
    for (size_t i = 0; i < page->file_count; i++)
        files[i] = (struct compare_file){&page->files[i].result, page->files[i].name};
    if (machines_compare(files, page->file_count, &machines, NULL) == 0 &&
        machines_have_any(machines)) {
        const struct machines_words *words = machines_words(machines);
        page_section(page, NULL, "machines", "Which configuration wins on which machine",
                     "A machine is a device of a file.");
        print_sentences(page->out, words->answer, "");
        print_sentences(page->out, words->machines, "");
        for (int table = 0; table < MACHINES_TABLES; table++)
            print_table(page->out, machines, (enum machines_table)table);
        print_sentences(page->out, words->remarks, "! ");
        fputs("</section>\n", page->out);
    }
    machines_free(machines);
    free(files);
}
