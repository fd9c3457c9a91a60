#include "record/table/experiment_table.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/result/case_tree.h"
#include "record/result/experiment_result.h"
#include "record/table/text_grid.h"

/* Has any row a value of the metric? If none has, the metric has no column. */
static bool is_known(const json_t *rows, const char *metric)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (!isnan(case_stat(row, metric, "median")))
            return true;
    }
    return false;
}

/* ---- text and Markdown ----------------------------------------------------------------------- */

/* "frame" for "frame_ns", as units are in the cells; "host work" for "host_work_ns". */
static const char *title_of(struct arena *arena, const char *name, const char *unit)
{
    const size_t length = strlen(name), end = strlen(unit);
    const bool has_unit = end && length > end + 1 && name[length - end - 1] == '_' &&
                          strcmp(name + length - end, unit) == 0;
    char *title = arena_copy(arena, name, has_unit ? length - end - 1 : length);
    for (char *c = title; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    return title;
}

static void add_column(struct text_grid *grid, const char *name, const char *unit, unsigned drop)
{
    const struct text_grid_column column = {
        .title = title_of(&grid->arena, name, unit),
        .kind = *unit ? GRID_NUMBER : GRID_NAME,
        .drop = drop,
    };
    text_grid_add_column(grid, column);
}

static void add_value(struct text_grid *grid, double value, const char *unit)
{
    struct text cell = {0};
    experiment_value_text(value, unit, &cell);
    text_grid_add(grid, "%s", cell.data ? cell.data : "");
    text_free(&cell);
}

static void add_row(struct text_grid *grid, const json_t *experiment, const json_t *row)
{
    struct text_grid_row *cells = text_grid_add_row(grid);
    const json_t *rows = json_object_get(experiment, "rows");
    const char *name;
    json_t *each;
    size_t i;
    json_array_foreach(json_object_get(experiment, "parameters"), i, each)
    {
        const char *parameter = tree_get_text(each, "name"), *unit = tree_get_text(each, "unit");
        if (*unit)
            add_value(grid, experiment_number(row, parameter), unit);
        else
            text_grid_add(grid, "%s", experiment_word(row, parameter));
    }
    if (!case_is_ok(row)) {
        cells->cells = cells->mood_of = cells->added;
        cells->mood = GRID_WORSE;
        cells->remark = arena_printf(&grid->arena, "%s: %s", tree_get_text(row, "status"),
                                     tree_get_text(row, "reason"));
        return;
    }
    json_object_foreach(json_object_get(experiment, "metrics"), name, each)
    {
        if (is_known(rows, name))
            add_value(grid, case_stat(row, name, "median"), tree_get_text(each, "unit"));
    }
}

static struct text_grid grid_of(const json_t *experiment)
{
    const json_t *rows = json_object_get(experiment, "rows");
    struct text_grid grid = {.complete = "--format csv has all"};
    const char *name;
    json_t *each;
    size_t i;
    json_array_foreach(json_object_get(experiment, "parameters"), i, each)
        add_column(&grid, tree_get_text(each, "name"), tree_get_text(each, "unit"), 0);
    json_object_foreach(json_object_get(experiment, "metrics"), name, each)
    {
        if (is_known(rows, name)) /* the first metrics are those that an experiment is about */
            add_column(&grid, name, tree_get_text(each, "unit"), (unsigned)grid.column_count);
    }
    json_array_foreach(rows, i, each) add_row(&grid, experiment, each);
    return grid;
}

static void print_heading(const json_t *experiment, bool is_markdown, FILE *out)
{
    const char *name, *before = ": ";
    json_t *value;
    fprintf(out, "%s%s on %s", is_markdown ? "**" : "", tree_get_text(experiment, "name"),
            tree_get_text(experiment, "device"));
    json_object_foreach(json_object_get(experiment, "options"), name, value)
    {
        if (json_is_null(value))
            continue;
        if (json_is_string(value))
            fprintf(out, "%s%s=%s", before, name, json_string_value(value));
        else
            fprintf(out, "%s%s=%.0f", before, name, json_number_value(value));
        before = ", ";
    }
    fputs(is_markdown ? "**\n\n" : "\n", out);
}

void experiment_table_print(const json_t *experiment, enum table_format format, FILE *out)
{
    struct text_grid grid = grid_of(experiment);
    struct terminal_page page;
    terminal_page_open(&page, out);
    print_heading(experiment, format == TABLE_MARKDOWN, page.out);
    text_grid_print(&grid, format, &page.terminal, page.out);
    terminal_page_close(&page);
    text_grid_free(&grid);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void add_csv_row(struct text_grid *grid, const json_t *experiment, const json_t *row,
                        const char *metric)
{
    struct text words = {0};
    experiment_row_words(experiment, row, &words);
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", tree_get_text(experiment, "name"));
    text_grid_add(grid, "%s", tree_get_text(experiment, "device"));
    text_grid_add(grid, "%s", words.data);
    text_grid_add(grid, "%s", tree_get_text(row, "status"));
    text_grid_add(grid, "%s", metric);
    for (size_t c = 5; c < grid->column_count; c++) { /* these are called like the statistics */
        const double value = case_stat(row, metric, grid->column[c].title);
        if (isnan(value))
            text_grid_skip(grid, 1);
        else
            text_grid_add(grid, "%.12g", value);
    }
    text_free(&words);
}

static void print_csv(const json_t *root, FILE *out)
{
    struct text_grid grid = text_grid_of("experiment|device|row|status|metric|rounds|median|ci_lo|"
                                         "ci_hi|min|p10|p90|max");
    size_t i, j;
    json_t *experiment, *row, *metric;
    const char *name;
    json_array_foreach(json_object_get(root, "experiments"), i, experiment)
        json_array_foreach(json_object_get(experiment, "rows"), j, row)
    {
        if (!case_is_ok(row))
            add_csv_row(&grid, experiment, row, "");
        else
            json_object_foreach(json_object_get(experiment, "metrics"), name,
                                metric) if (is_known(json_object_get(experiment, "rows"), name))
                add_csv_row(&grid, experiment, row, name);
    }
    text_grid_print(&grid, TABLE_CSV, NULL, out);
    text_grid_free(&grid);
}

void experiment_tables_print(const json_t *root, enum table_format format, FILE *out)
{
    size_t i;
    json_t *each;
    if (format == TABLE_CSV) {
        print_csv(root, out);
        return;
    }
    json_array_foreach(json_object_get(root, "experiments"), i, each)
    {
        fputs(i ? "\n" : "", out);
        experiment_table_print(each, format, out);
    }
}
