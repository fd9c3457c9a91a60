#include "record/table/experiment_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/result/case_tree.h"
#include "record/result/experiment.h"
#include "record/table/print.h"
#include "base/tree.h"

/* A column is a parameter or a metric; cells are texts, the first line the titles. */
struct column {
    const char *name, *unit;
    bool is_parameter;
    size_t width;
};

struct grid {
    const json_t *experiment, *rows;
    size_t column_count;
    struct column *columns;
};

/* A metric of which no row knows anything has no column. */
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

static void add_column(struct grid *grid, const char *name, const char *unit, bool is_parameter)
{
    grid->columns = must_realloc(grid->columns, (grid->column_count + 1) * sizeof *grid->columns);
    grid->columns[grid->column_count++] =
        (struct column){.name = name, .unit = unit, .is_parameter = is_parameter};
}

static void add_cell(const struct column *column, const json_t *row, struct text *out)
{
    if (column->is_parameter && !*column->unit)
        text_add(out, "%s", experiment_word(row, column->name));
    else if (column->is_parameter)
        experiment_value_text(experiment_number(row, column->name), column->unit, out);
    else
        experiment_value_text(case_stat(row, column->name, "median"), column->unit, out);
}

/* Units are in the cells: "frame" for "frame_ns". */
static void add_title(const struct column *column, struct text *out)
{
    const size_t length = strlen(column->name), unit = strlen(column->unit);
    const bool has_unit = unit && length > unit + 1 && column->name[length - unit - 1] == '_' &&
                          strcmp(column->name + length - unit, column->unit) == 0;
    text_add(out, "%.*s", (int)(has_unit ? length - unit - 1 : length), column->name);
    for (char *c = out->data; *c; c++)
        *c = *c == '_' ? ' ' : *c;
}

static void widen(struct column *column, const struct text *cell)
{
    const size_t width = print_width(cell->data ? cell->data : "");
    column->width = width > column->width ? width : column->width;
}

static void measure(struct grid *grid)
{
    for (size_t c = 0; c < grid->column_count; c++) {
        struct column *column = &grid->columns[c];
        struct text title = {0};
        size_t i;
        json_t *row;
        add_title(column, &title);
        widen(column, &title);
        text_free(&title);
        json_array_foreach(grid->rows, i, row)
        {
            struct text cell = {0};
            if (column->is_parameter || case_is_ok(row))
                add_cell(column, row, &cell);
            widen(column, &cell);
            text_free(&cell);
        }
    }
}

static struct grid grid_of(const json_t *experiment)
{
    struct grid grid = {.experiment = experiment, .rows = json_object_get(experiment, "rows")};
    size_t i;
    json_t *each;
    const char *name;
    json_array_foreach(json_object_get(experiment, "parameters"), i, each)
        add_column(&grid, tree_get_text(each, "name"), tree_get_text(each, "unit"), true);
    json_object_foreach(json_object_get(experiment, "metrics"), name, each)
    {
        if (is_known(grid.rows, name))
            add_column(&grid, name, tree_get_text(each, "unit"), false);
    }
    measure(&grid);
    return grid;
}

/* ---- text and Markdown ----------------------------------------------------------------------- */

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
    fprintf(out, "%s\n%s", is_markdown ? "**" : "", is_markdown ? "\n" : "");
}

static void print_cell(const struct column *column, const char *text, bool is_markdown, FILE *out)
{
    if (is_markdown) {
        fputs(" ", out);
        print_markdown_cell(text, out);
        fputs(" |", out);
    } else {
        print_padded(text, column->width, *column->unit, "", out);
        fputs("  ", out);
    }
}

static void print_row(const struct grid *grid, const json_t *row, bool is_markdown, FILE *out)
{
    const bool is_ok = case_is_ok(row);
    fputs(is_markdown ? "|" : "", out);
    for (size_t c = 0; c < grid->column_count; c++) {
        struct text cell = {0};
        if (!grid->columns[c].is_parameter && !is_ok)
            continue;
        add_cell(&grid->columns[c], row, &cell);
        print_cell(&grid->columns[c], cell.data ? cell.data : "", is_markdown, out);
        text_free(&cell);
    }
    if (!is_ok) {
        const char *reason = tree_get_text(row, "reason");
        fprintf(out, "%s%s: ", is_markdown ? " " : "", tree_get_text(row, "status"));
        print_markdown_cell(reason, out);
        fputs(is_markdown ? " |" : "", out);
    }
    fputc('\n', out);
}

static void print_titles(const struct grid *grid, bool is_markdown, FILE *out)
{
    fputs(is_markdown ? "|" : "", out);
    for (size_t c = 0; c < grid->column_count; c++) {
        struct text title = {0};
        add_title(&grid->columns[c], &title);
        print_cell(&grid->columns[c], title.data, is_markdown, out);
        text_free(&title);
    }
    fputs(is_markdown ? "\n|" : "\n", out);
    for (size_t c = 0; is_markdown && c < grid->column_count; c++)
        fputs(*grid->columns[c].unit ? "---:|" : "---|", out);
    fputs(is_markdown ? "\n" : "", out);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static const char *const csv_stats[] = {"rounds", "median", "ci_lo", "ci_hi",
                                        "min",    "p10",    "p90",   "max"};
enum { CSV_STATS = sizeof csv_stats / sizeof *csv_stats };

static void print_csv_line(const struct grid *grid, const json_t *row, const char *metric,
                           FILE *out)
{
    struct text words = {0};
    experiment_row_words(grid->experiment, row, &words);
    const char *const cells[] = {tree_get_text(grid->experiment, "name"),
                                 tree_get_text(grid->experiment, "device"), words.data,
                                 tree_get_text(row, "status"), metric};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        fputs(i ? "," : "", out);
        print_csv_cell(cells[i], out);
    }
    for (size_t i = 0; i < CSV_STATS; i++) {
        const double value = case_stat(row, metric, csv_stats[i]);
        fputc(',', out);
        if (!isnan(value))
            fprintf(out, "%.12g", value);
    }
    fputs("\n", out);
    text_free(&words);
}

static void print_csv(const struct grid *grid, FILE *out)
{
    size_t i;
    json_t *row;
    json_array_foreach(grid->rows, i, row)
    {
        if (!case_is_ok(row))
            print_csv_line(grid, row, "", out);
        for (size_t c = 0; case_is_ok(row) && c < grid->column_count; c++)
            if (!grid->columns[c].is_parameter)
                print_csv_line(grid, row, grid->columns[c].name, out);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

void experiment_table_print(const json_t *experiment, enum table_format format, FILE *out)
{
    const bool is_markdown = format == TABLE_MARKDOWN;
    struct grid grid = grid_of(experiment);
    size_t i;
    json_t *row;
    if (format == TABLE_CSV) {
        print_csv(&grid, out);
    } else {
        print_heading(experiment, is_markdown, out);
        print_titles(&grid, is_markdown, out);
        json_array_foreach(grid.rows, i, row) print_row(&grid, row, is_markdown, out);
    }
    free(grid.columns);
}

void experiment_tables_print(const json_t *root, enum table_format format, FILE *out)
{
    size_t i;
    json_t *each;
    if (format == TABLE_CSV) {
        fputs("experiment,device,row,status,metric", out);
        for (i = 0; i < CSV_STATS; i++)
            fprintf(out, ",%s", csv_stats[i]);
        fputs("\n", out);
    }
    json_array_foreach(json_object_get(root, "experiments"), i, each)
    {
        fputs(i && format != TABLE_CSV ? "\n" : "", out);
        experiment_table_print(each, format, out);
    }
}
