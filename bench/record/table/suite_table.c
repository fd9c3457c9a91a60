#include "record/table/suite_table.h"

#include <math.h>
#include <string.h>

#include "base/tree.h"
#include "record/result/case_tree.h"
#include "record/table/text_grid.h"

enum { NAMES = 7, FIRST = NAMES, OURS = FIRST + 2, PUBLISHED = OURS + 2, VERDICT };
static const char columns[] = "row|device^1|workload|dataset^2|merge^3|release^4|strategy^2|"
                              ">first^5|>second^5|>ours|>predicted^6|>published|>ours is";

static void add_ratio(struct text_grid *grid, double ratio)
{
    if (isnan(ratio))
        text_grid_skip(grid, 1);
    else
        text_grid_add(grid, "%.2f×", ratio);
}

/* The members of an entry are called like the columns. */
static void add_names(struct text_grid *grid, const json_t *entry)
{
    for (size_t c = 1; c < NAMES; c++)
        text_grid_add(grid, "%s", tree_get_text(entry, grid->column[c].title));
}

/* Puts the reason after the row in a text table, and into the last cell in Markdown. */
static void add_reason(struct text_grid *grid, bool markdown, const char *reason)
{
    struct text_grid_row *row = &grid->row[grid->row_count - 1];
    *(markdown ? &row->cell[VERDICT] : &row->remark) = reason;
}

static void add_entry(struct text_grid *grid, bool markdown, const json_t *row, const json_t *entry)
{
    const json_t *ratio = json_object_get(entry, "ratio");
    const double lo = tree_get_number(ratio, "ci_lo");
    const char *verdict = tree_get_text(entry, "than_published");
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", tree_get_text(row, "name"));
    add_names(grid, entry);
    text_grid_add_ns(grid, tree_get_number(entry, "first_wall_ns"));
    text_grid_add_ns(grid, tree_get_number(entry, "second_wall_ns"));
    if (isnan(lo))
        add_ratio(grid, tree_get_number(ratio, "median"));
    else
        text_grid_add(grid, "%.2f× [%.2f, %.2f]", tree_get_number(ratio, "median"), lo,
                      tree_get_number(ratio, "ci_hi"));
    add_ratio(grid, tree_get_number(entry, "predicted_ratio"));
    add_ratio(grid, tree_get_number(entry, "published"));
    text_grid_add(grid, "%s", *verdict ? verdict : "-");
    if (!case_is_ok(entry))
        add_reason(grid, markdown, tree_get_text(entry, "reason"));
}

static void add_suite_row(struct text_grid *grid, bool markdown, const json_t *row)
{
    const char *missing = tree_get_text(row, "missing");
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(row, "measured"), i, entry)
        add_entry(grid, markdown, row, entry);
    if (i)
        return;
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", tree_get_text(row, "name"));
    text_grid_skip(grid, PUBLISHED - 1);
    add_ratio(grid, tree_get_number(row, "published"));
    add_reason(grid, markdown, *missing ? missing : "was not run");
}

static void add_means(struct text_grid *grid, const json_t *suite)
{
    size_t i;
    json_t *mean;
    json_array_foreach(json_object_get(suite, "means"), i, mean)
    {
        const double rows = tree_get_number(mean, "rows");
        if (!(rows > 1))
            continue;
        text_grid_add_row(grid);
        text_grid_add(grid, "geometric mean of %.0f", rows);
        add_names(grid, mean);
        text_grid_skip(grid, OURS - FIRST);
        add_ratio(grid, tree_get_number(mean, "ours"));
        text_grid_skip(grid, 1);
        add_ratio(grid, tree_get_number(mean, "published"));
    }
}

static struct text_grid grid_of(const json_t *suite, bool markdown)
{
    const json_t *compare = json_object_get(suite, "compare");
    const char *part = json_object_iter_key(json_object_iter((json_t *)compare));
    const json_t *pair = part ? json_object_get(compare, part) : NULL;
    struct text_grid grid = text_grid_of(columns);
    size_t i;
    json_t *row;
    grid.indent = 2;
    grid.complete = "--format md has all";
    for (size_t s = 0; s < 2; s++)
        grid.column[FIRST + s].title = json_is_string(json_array_get(pair, s))
                                           ? json_string_value(json_array_get(pair, s))
                                           : "";
    json_array_foreach(json_object_get(suite, "rows"), i, row) add_suite_row(&grid, markdown, row);
    add_means(&grid, suite);
    for (size_t c = 1; c < NAMES; c++) {
        grid.column[c].once = text_grid_constant(&grid, c);
        grid.column[c].hidden = grid.column[c].once;
    }
    return grid;
}

void suite_table_print(const json_t *root, enum table_format format, FILE *out)
{
    const json_t *suite = json_object_get(root, "suite");
    const bool markdown = format == TABLE_MARKDOWN;
    const char *end = markdown ? "  \n" : "\n";
    size_t i;
    json_t *row;
    if (!suite || (format != TABLE_TEXT && !markdown))
        return;
    struct text_grid grid = grid_of(suite, markdown);
    struct terminal_page page;
    terminal_page_open(&page, out);
    fprintf(page.out, "\nsuite %s: %s%spublished: %s%s", tree_get_text(suite, "name"),
            tree_get_text(suite, "title"), end, tree_get_text(suite, "source"), end);
    text_grid_print_once(&grid, end, page.out);
    fputc('\n', page.out);
    text_grid_print(&grid, format, &page.terminal, page.out);
    json_array_foreach(json_object_get(suite, "rows"), i, row)
    {
        if (*tree_get_text(row, "note"))
            fprintf(page.out, "%s: %s%s", tree_get_text(row, "name"), tree_get_text(row, "note"),
                    end);
    }
    terminal_page_close(&page);
    text_grid_free(&grid);
}
