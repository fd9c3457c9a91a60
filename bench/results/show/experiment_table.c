#include "results/show/table.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "results/file/experiment_result.h"
#include "results/file/measured.h"
#include "results/show/text_grid.h"

/* Has any row a value of the metric? If none has, the metric has no column. */
static bool is_known(const struct result_experiment *experiment, const char *metric)
{
    for (size_t i = 0; i < experiment->row_count; i++)
        if (measured_stat(&experiment->rows[i], metric)->over.count)
            return true;
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

static void add_value(struct text_grid *grid, double value, enum counter_unit unit)
{
    struct text cell = {0};
    experiment_value_text(value, unit, &cell);
    text_grid_add(grid, "%s", cell.data ? cell.data : "");
    text_free(&cell);
}

static void add_row(struct text_grid *grid, const struct result_experiment *experiment,
                    const struct result_case *row)
{
    struct text_grid_row *cells = text_grid_add_row(grid);
    for (size_t i = 0; i < experiment->parameter_count; i++) {
        const struct result_parameter *p = &experiment->parameters[i];
        if (p->unit)
            add_value(grid, experiment_number(row, p->name), counter_unit_of(p->unit));
        else
            text_grid_add(grid, "%s", experiment_word(row, p->name));
    }
    if (row->status != CASE_ok) {
        cells->cells = cells->mood_of = cells->added;
        cells->mood = GRID_WORSE;
        cells->remark = arena_printf(&grid->arena, "%s: %s", case_status_name(row->status),
                                     row->reason ? row->reason : "");
        return;
    }
    for (size_t i = 0; i < experiment->metric_count; i++) {
        const struct counter_info *metric = &experiment->metrics[i];
        if (is_known(experiment, metric->name))
            add_value(grid, measured_stat(row, metric->name)->over.median, metric->unit);
    }
}

static struct text_grid grid_of(const struct result_experiment *experiment)
{
    struct text_grid grid = {.complete = "--format csv has all"};
    for (size_t i = 0; i < experiment->parameter_count; i++) {
        const struct result_parameter *p = &experiment->parameters[i];
        add_column(&grid, p->name, p->unit ? p->unit : "", 0);
    }
    for (size_t i = 0; i < experiment->metric_count; i++) {
        const struct counter_info *metric = &experiment->metrics[i];
        if (is_known(experiment, metric->name)) /* the first metrics are what it is about */
            add_column(&grid, metric->name, counter_unit_name(metric->unit),
                       (unsigned)grid.column_count);
    }
    for (size_t i = 0; i < experiment->row_count; i++)
        add_row(&grid, experiment, &experiment->rows[i]);
    return grid;
}

static void print_heading(const struct result_experiment *experiment, bool is_markdown, FILE *out)
{
    const char *name, *before = ": ";
    json_t *value;
    fprintf(out, "%s%s on %s", is_markdown ? "**" : "", experiment->name, experiment->device);
    json_object_foreach(experiment->options, name, value)
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

void experiment_table_print(const struct result_experiment *experiment, enum table_format format,
                            FILE *out)
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

static void add_csv_row(struct text_grid *grid, const struct result_experiment *experiment,
                        const struct result_case *row, const char *metric)
{
    const struct result_stat *stat = measured_stat(row, metric);
    struct text words = {0};
    experiment_row_words(experiment, row, &words);
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", experiment->name);
    text_grid_add(grid, "%s", experiment->device);
    text_grid_add(grid, "%s", words.data);
    text_grid_add(grid, "%s", case_status_name(row->status));
    text_grid_add(grid, "%s", metric);
    for (size_t c = 5; c < grid->column_count; c++) { /* these are called like the statistics */
        const double value = measured_stat_named(stat, grid->column[c].title);
        if (isnan(value))
            text_grid_skip(grid, 1);
        else
            text_grid_add(grid, "%.12g", value);
    }
    text_free(&words);
}

static void add_csv_rows(struct text_grid *grid, const struct result_experiment *experiment)
{
    for (size_t r = 0; r < experiment->row_count; r++) {
        const struct result_case *row = &experiment->rows[r];
        if (row->status != CASE_ok)
            add_csv_row(grid, experiment, row, "");
        for (size_t m = 0; m < experiment->metric_count && row->status == CASE_ok; m++)
            if (is_known(experiment, experiment->metrics[m].name))
                add_csv_row(grid, experiment, row, experiment->metrics[m].name);
    }
}

void experiment_tables_print(const struct result *result, enum table_format format, FILE *out)
{
    struct text_grid grid = text_grid_of("experiment|device|row|status|metric|rounds|median|ci_lo|"
                                         "ci_hi|min|p10|p90|max");
    for (size_t i = 0; i < result->experiment_count; i++) {
        if (format == TABLE_CSV) {
            add_csv_rows(&grid, &result->experiments[i]);
            continue;
        }
        fputs(i ? "\n" : "", out);
        experiment_table_print(&result->experiments[i], format, out);
    }
    if (format == TABLE_CSV)
        text_grid_print(&grid, TABLE_CSV, NULL, out);
    text_grid_free(&grid);
}
