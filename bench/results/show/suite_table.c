#include "results/show/table.h"

#include <string.h>

#include "results/facts/case.h"
#include "results/show/text_grid.h"

enum { NAMES = 7, FIRST = NAMES, OURS = FIRST + 2, PUBLISHED = OURS + 2, VERDICT };
static const char columns[] = "row|device^1|workload|dataset^2|merge^3|release^4|strategy^2|"
                              ">first^5|>second^5|>ours|>predicted^6|>published|>ours is";

static void add_names(struct text_grid *grid, const struct case_key *key)
{
    const char *const names[] = {key->device, key->workload, key->dataset,
                                 key->merge,  key->release,  key->strategy};
    for (size_t c = 1; c < NAMES; c++)
        text_grid_add(grid, "%s", names[c - 1]);
}

/* Puts the reason after the row in a text table, and into the last cell in Markdown. */
static void add_reason(struct text_grid *grid, bool markdown, const char *reason)
{
    struct text_grid_row *row = &grid->row[grid->row_count - 1];
    *(markdown ? &row->cell[VERDICT] : &row->remark) = reason;
}

static void add_entry(struct text_grid *grid, bool markdown, const struct suite_row *row,
                      const struct suite_entry *entry)
{
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", row->name);
    add_names(grid, &entry->key);
    text_grid_add_ns(grid, entry->first_wall_ns);
    text_grid_add_ns(grid, entry->second_wall_ns);
    text_grid_add_interval(grid, &entry->ratio);
    text_grid_add_ratio(grid, entry->predicted_ratio);
    text_grid_add_ratio(grid, entry->published);
    text_grid_add(grid, "%s", entry->than_published ? entry->than_published : "-");
    if (entry->status != CASE_ok)
        add_reason(grid, markdown, entry->reason ? entry->reason : "");
}

static void add_suite_row(struct text_grid *grid, bool markdown, const struct suite_row *row)
{
    for (size_t i = 0; i < row->measured_count; i++)
        add_entry(grid, markdown, row, &row->measured[i]);
    if (row->measured_count)
        return;
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", row->name);
    text_grid_skip(grid, PUBLISHED - 1);
    text_grid_add_ratio(grid, row->published);
    add_reason(grid, markdown, row->missing ? row->missing : "was not run");
}

static void add_means(struct text_grid *grid, const struct result_suite *suite)
{
    for (size_t i = 0; i < suite->mean_count; i++) {
        const struct suite_mean *mean = &suite->means[i];
        if (mean->rows <= 1)
            continue;
        text_grid_add_row(grid);
        text_grid_add(grid, "geometric mean of %u", mean->rows);
        add_names(grid, &mean->key);
        text_grid_skip(grid, OURS - FIRST);
        text_grid_add_ratio(grid, mean->ours);
        text_grid_skip(grid, 1);
        text_grid_add_ratio(grid, mean->published);
    }
}

static struct text_grid grid_of(const struct result_suite *suite, bool markdown)
{
    struct text_grid grid = text_grid_of(columns);
    grid.indent = 2;
    grid.complete = "--format md has all";
    for (size_t s = 0; s < 2; s++)
        grid.column[FIRST + s].title =
            suite->compare_count && s < suite->compare->count ? suite->compare->sides[s] : "";
    for (size_t i = 0; i < suite->row_count; i++)
        add_suite_row(&grid, markdown, &suite->rows[i]);
    add_means(&grid, suite);
    for (size_t c = 1; c < NAMES; c++) {
        grid.column[c].once = text_grid_constant(&grid, c);
        grid.column[c].hidden = grid.column[c].once;
    }
    return grid;
}

void suite_table_print(const struct result *result, enum table_format format, FILE *out)
{
    const struct result_suite *suite = result->suite;
    const bool markdown = format == TABLE_MARKDOWN;
    const char *end = markdown ? "  \n" : "\n";
    if (!suite || (format != TABLE_TEXT && !markdown))
        return;
    struct text_grid grid = grid_of(suite, markdown);
    struct terminal_page page;
    terminal_page_open(&page, out);
    fprintf(page.out, "\nsuite %s: %s%spublished: %s%s", suite->name, suite->title, end,
            suite->source, end);
    text_grid_print_once(&grid, end, page.out);
    fputc('\n', page.out);
    text_grid_print(&grid, format, &page.terminal, page.out);
    for (size_t i = 0; i < suite->row_count; i++)
        if (suite->rows[i].note)
            fprintf(page.out, "%s: %s%s", suite->rows[i].name, suite->rows[i].note, end);
    terminal_page_close(&page);
    text_grid_free(&grid);
}
