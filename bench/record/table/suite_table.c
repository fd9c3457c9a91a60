#include "record/table/suite_table.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/facts/case.h"
#include "record/table/text_grid.h"

/* X(NAME, title, kind, drop); those up to STRATEGY name a row. The two columns without a title have
 * that of the strategies or merge sets that the suite compares. */
/* clang-format off */
#define SUITE_COLUMN_LIST(X)                                                                       \
    X(ROW, "row", GRID_NAME, 0)                                                                    \
    X(DEVICE, "device", GRID_NAME, 1)                                                              \
    X(WORKLOAD, "workload", GRID_NAME, 0)                                                          \
    X(DATASET, "dataset", GRID_NAME, 2)                                                            \
    X(MERGE, "merge", GRID_NAME, 3)                                                                \
    X(RELEASE, "release", GRID_NAME, 4)                                                            \
    X(STRATEGY, "strategy", GRID_NAME, 2)                                                          \
    X(FIRST, "", GRID_NUMBER, 5)                                                                   \
    X(SECOND, "", GRID_NUMBER, 5)                                                                  \
    X(OURS, "ours", GRID_NUMBER, 0)                                                                \
    X(PREDICTED, "predicted", GRID_NUMBER, 6)                                                      \
    X(PUBLISHED, "published", GRID_NUMBER, 0)                                                      \
    X(VERDICT, "ours is", GRID_NUMBER, 0)
/* clang-format on */

#define X(name, title, kind, drop) SUITE_##name,
enum suite_column { SUITE_COLUMN_LIST(X) SUITE_COLUMNS, FIRST_NUMBER = SUITE_FIRST };
#undef X
#define X(name, title, kind, drop) {title, kind, drop, false, NULL},
static const struct text_grid_column columns[SUITE_COLUMNS] = {SUITE_COLUMN_LIST(X)};
#undef X

static void add_row(struct text_grid *grid)
{
    text_grid_add_row(grid);
    for (size_t c = FIRST_NUMBER; c < SUITE_COLUMNS; c++)
        text_grid_put(grid, c, "-");
}

static void set_ratio(struct text_grid *grid, enum suite_column column, double ratio)
{
    if (!isnan(ratio))
        text_grid_set(grid, column, "%.2fx", ratio);
}

static void set_time(struct text_grid *grid, enum suite_column column, double ns)
{
    char time[32];
    if (!isnan(ns))
        text_grid_set(grid, column, "%s", text_ns(time, ns));
}

static void set_ours(struct text_grid *grid, const json_t *ratio)
{
    const double median = tree_get_number(ratio, "median");
    const double lo = tree_get_number(ratio, "ci_lo"), hi = tree_get_number(ratio, "ci_hi");
    if (isnan(lo))
        set_ratio(grid, SUITE_OURS, median);
    else
        text_grid_set(grid, SUITE_OURS, "%.2fx [%.2f, %.2f]", median, lo, hi);
}

/* The members of an entry are called like the columns. */
static void put_names(struct text_grid *grid, const json_t *entry)
{
    for (size_t c = SUITE_DEVICE; c < FIRST_NUMBER; c++)
        text_grid_put(grid, c, tree_get_text(entry, columns[c].title));
}

/* The reason stands after a row of text, and in the last cell of Markdown. */
static void put_reason(struct text_grid *grid, bool markdown, const char *reason)
{
    if (markdown)
        text_grid_put(grid, SUITE_VERDICT, reason);
    else
        grid->row[grid->row_count - 1].remark = reason;
}

static void add_entry(struct text_grid *grid, bool markdown, const json_t *row, const json_t *entry)
{
    const char *verdict = tree_get_text(entry, "than_published");
    add_row(grid);
    text_grid_put(grid, SUITE_ROW, tree_get_text(row, "name"));
    put_names(grid, entry);
    set_time(grid, SUITE_FIRST, tree_get_number(entry, "first_wall_ns"));
    set_time(grid, SUITE_SECOND, tree_get_number(entry, "second_wall_ns"));
    set_ours(grid, json_object_get(entry, "ratio"));
    set_ratio(grid, SUITE_PREDICTED, tree_get_number(entry, "predicted_ratio"));
    set_ratio(grid, SUITE_PUBLISHED, tree_get_number(entry, "published"));
    text_grid_put(grid, SUITE_VERDICT, *verdict ? verdict : "-");
    if (strcmp(tree_get_text(entry, "status"), case_status_name(CASE_ok)) != 0)
        put_reason(grid, markdown, tree_get_text(entry, "reason"));
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
    add_row(grid);
    text_grid_put(grid, SUITE_ROW, tree_get_text(row, "name"));
    set_ratio(grid, SUITE_PUBLISHED, tree_get_number(row, "published"));
    put_reason(grid, markdown, *missing ? missing : "was not run");
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
        add_row(grid);
        text_grid_set(grid, SUITE_ROW, "geometric mean of %.0f", rows);
        put_names(grid, mean);
        set_ratio(grid, SUITE_OURS, tree_get_number(mean, "ours"));
        set_ratio(grid, SUITE_PUBLISHED, tree_get_number(mean, "published"));
    }
}

static struct text_grid grid_of(const json_t *suite, bool markdown)
{
    const json_t *compare = json_object_get(suite, "compare");
    const char *part = json_object_iter_key(json_object_iter((json_t *)compare));
    const json_t *pair = part ? json_object_get(compare, part) : NULL;
    struct text_grid grid = text_grid_of(columns, SUITE_COLUMNS);
    size_t i;
    json_t *row;
    grid.indent = 2;
    grid.complete = "--format md has all";
    for (size_t s = 0; s < 2; s++)
        if (json_is_string(json_array_get(pair, s)))
            grid.column[SUITE_FIRST + s].title = json_string_value(json_array_get(pair, s));
    json_array_foreach(json_object_get(suite, "rows"), i, row) add_suite_row(&grid, markdown, row);
    add_means(&grid, suite);
    for (size_t c = SUITE_DEVICE; c < FIRST_NUMBER; c++) {
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
