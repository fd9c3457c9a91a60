#include "record/table/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "record/result/case_tree.h"
#include "record/table/csv.h"
#include "record/table/print.h"
#include "record/result/result.h"
#include "record/result/suite_result.h"
#include "record/table/table_cells.h"
#include "base/tree.h"

struct layout {
    enum column_place place[COLUMNS];
    size_t width[COLUMNS]; /* in characters */
    bool colour;
};

const char *table_format_name(enum table_format format)
{
    static const char *const names[] = {
#define X(name, word, help) word,
        TABLE_FORMAT_LIST(X)
#undef X
    };
    return names[format];
}

int table_format_parse(const char *word, enum table_format *format, struct error *error)
{
    for (int f = 0; f < TABLE_FORMATS; f++)
        if (strcmp(word, table_format_name((enum table_format)f)) == 0) {
            *format = (enum table_format)f;
            return 0;
        }
    return error_set(error, ERR_USAGE, "there is no format \"%s\": use table, md, csv or json",
                     word);
}

bool table_wants_colour(FILE *out)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(fileno(out)) && !(no_colour && *no_colour) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

static struct layout layout_of(const struct table_cells *cells, bool grouped)
{
    struct layout layout = {0};
    for (int c = 0; c < COLUMNS; c++) {
        layout.place[c] = column_placement(cells, (enum column)c, grouped);
        layout.width[c] = print_width(column_titles[c]);
        for (size_t i = 0; i < cells->row_count; i++) {
            size_t width = print_width(cells->rows[i].cell[c]);
            if (width > layout.width[c])
                layout.width[c] = width;
        }
    }
    return layout;
}

/* What was run, on what, and what is the same in every row. */
static void print_preface(const json_t *root, const struct table_cells *cells,
                          const struct layout *layout, const char *line_end, FILE *out)
{
    const json_t *run = json_object_get(root, "run"), *context = json_object_get(root, "context");
    const json_t *tool = json_object_get(context, "tool"), *device;
    const char *rev = tree_get_text(tool, "git_rev");
    fprintf(out, "gamut %s, rev %.12s%s, %s, %.0f rounds, seed %.0f, run %s%s",
            tree_get_text(tool, "version"), *rev ? rev : "unknown",
            json_is_true(json_object_get(tool, "git_dirty")) ? "-dirty" : "",
            tree_get_text(run, "started_at"), tree_get_number(run, "rounds"),
            tree_get_number(run, "seed"), tree_get_text(run, "status"), line_end);
    for (size_t i = 0; (device = json_array_get(json_object_get(context, "devices"), i)); i++) {
        double rate = tree_get_number(device, "copy_bytes_per_second");
        const char *driver = tree_get_text(device, "driver");
        fprintf(out, "%s: %s%s%s", tree_get_text(device, "id"), tree_get_text(device, "name"),
                *driver ? ", driver " : "", driver);
        if (!isnan(rate))
            fprintf(out, ", copies %.1f GB/s", rate / 1e9);
        fputs(line_end, out);
    }
    const char *before = "all: ";
    for (int c = 0; c < COLUMNS; c++)
        if (layout->place[c] == PLACE_ONCE) {
            fprintf(out, "%s%s %s", before, column_titles[c],
                    column_value(cells, (enum column)c, ALL_GROUPS));
            before = ", ";
        }
    if (*before == ',')
        fputs(line_end, out);
}

static void print_warnings(const json_t *root, FILE *out)
{
    size_t i, j;
    json_t *one_case, *warning;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        char name[512];
        case_words(name, one_case);
        if (case_is_ok(one_case) &&
            strcmp(tree_get_text(one_case, "check"), case_check_name(CHECK_NONE)) == 0)
            fprintf(out, "! %s: unchecked: no reference says whether the answer is right\n", name);
        json_array_foreach(json_object_get(one_case, "warnings"), j, warning)
            fprintf(out, "! %s: %s: %s\n", name, tree_get_text(warning, "code"),
                    tree_get_text(warning, "detail"));
    }
}

/* How good the cost model was, where it matters: a short run is the noise of its calls. */
static void print_model_verdict(const json_t *root, FILE *out)
{
    const double long_ns = 200e3, close = 0.15;
    size_t i, count = 0, close_count = 0;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        const json_t *wall = json_object_get(json_object_get(one_case, "stats"), "wall_ns");
        double error = tree_get_number(json_object_get(one_case, "model"), "error");
        if (isnan(error) || !(tree_get_number(wall, "median") > long_ns))
            continue;
        count++;
        close_count += fabs(error) <= close;
    }
    if (count)
        fprintf(out, "cost model: within 15 %%: %zu of %zu cases above 200 us\n", close_count,
                count);
}

void table_print_verdict(const json_t *root, FILE *out)
{
    size_t counts[CASE_STATUSES], total = json_array_size(json_object_get(root, "cases"));
    double rounds = tree_get_number(json_object_get(root, "run"), "rounds");
    const char *before = "";
    result_status_counts(root, counts);
    fprintf(out, "%zu case%s: ", total, total == 1 ? "" : "s");
    for (size_t s = 0; s < CASE_STATUSES; s++)
        if (counts[s] > 0) {
            fprintf(out, "%s%zu %s", before, counts[s], case_status_name((enum case_status)s));
            before = ", ";
        }
    fputs(total ? "\n" : "none was run\n", out);
    print_model_verdict(root, out);
    if (rounds < 6)
        fprintf(out, "No intervals: they need at least 6 rounds.\n");
}

/* Names to the left, numbers to the right, where their units and decimals line up. */
static void print_text_row(const struct table_row *row, const struct layout *layout, FILE *out)
{
    int last = COLUMNS - 1;
    while (layout->place[last] != PLACE_AS_COLUMN || (row->is_mean && !*row->cell[last]))
        last--;
    for (int c = 0; c <= last; c++) {
        const char *colour = "";
        if (layout->place[c] != PLACE_AS_COLUMN)
            continue;
        if (layout->colour && c == COLUMN_SPEEDUP && row->change != CHANGE_NONE)
            colour = row->change == CHANGE_BETTER ? PRINT_GREEN : PRINT_RED;
        fputs("  ", out);
        if (c == COLUMN_WALL && !row->is_ok) {
            fprintf(out, "%s%s%s  %.*s", layout->colour ? PRINT_RED : "", row->cell[c],
                    layout->colour ? PRINT_PLAIN : "", (int)strcspn(row->reason, "\n"),
                    row->reason);
            break;
        }
        bool is_number = c >= FIRST_MEASURED;
        if (c == last && !is_number)
            fprintf(out, "%s", row->cell[c]);
        else
            print_padded(row->cell[c], layout->width[c], is_number, colour, out);
    }
    fputs("\n", out);
}

static void print_heading(const struct table_cells *cells, const struct table_row *row,
                          const struct layout *layout, FILE *out)
{
    const char *dataset = row->cell[COLUMN_DATASET];
    fprintf(out, "\n%s%s%s%s on %s%s", layout->colour ? PRINT_BOLD : "", row->cell[COLUMN_WORKLOAD],
            *dataset ? " " : "", dataset, row->cell[COLUMN_DEVICE],
            layout->colour ? PRINT_PLAIN : "");
    const char *before = ": ";
    for (int c = 0; c < COLUMNS; c++) {
        const char *value = column_value(cells, (enum column)c, row->group);
        if (layout->place[c] == PLACE_BY_GROUP && value) {
            fprintf(out, "%s%s %s", before, column_titles[c], value);
            before = ", ";
        }
    }
    fputs("\n", out);
}

static void print_text(const json_t *root, FILE *out)
{
    struct table_cells cells = table_cells_of(root);
    struct layout layout = layout_of(&cells, true);
    layout.colour = table_wants_colour(out);
    print_preface(root, &cells, &layout, "\n", out);
    fputs("\n", out);
    for (int c = 0; c < COLUMNS && cells.row_count > 0; c++)
        if (layout.place[c] == PLACE_AS_COLUMN) {
            fputs("  ", out);
            print_padded(column_titles[c], layout.width[c], c >= FIRST_MEASURED, "", out);
        }
    if (cells.row_count > 0)
        fputs("\n", out);
    for (size_t i = 0; i < cells.row_count; i++) {
        if (i == 0 || cells.rows[i].group != cells.rows[i - 1].group)
            print_heading(&cells, &cells.rows[i], &layout, out);
        print_text_row(&cells.rows[i], &layout, out);
    }
    fputs("\n", out);
    print_warnings(root, out);
    table_print_verdict(root, out);
    suite_result_print(root, TABLE_TEXT, out);
    table_cells_free(&cells);
}

static void print_markdown(const json_t *root, FILE *out)
{
    struct table_cells cells = table_cells_of(root);
    struct layout layout = layout_of(&cells, false);
    print_preface(root, &cells, &layout, "  \n", out);
    fputs("\n|", out);
    for (int c = 0; c < COLUMNS; c++)
        if (layout.place[c] == PLACE_AS_COLUMN)
            fprintf(out, " %s |", column_titles[c]);
    fputs("\n|", out);
    for (int c = 0; c < COLUMNS; c++)
        if (layout.place[c] == PLACE_AS_COLUMN)
            fputs(c < FIRST_MEASURED ? " :-- |" : " --: |", out);
    fputs("\n", out);
    for (size_t i = 0; i < cells.row_count; i++) {
        const struct table_row *row = &cells.rows[i];
        fputs("|", out);
        for (int c = 0; c < COLUMNS; c++) {
            if (layout.place[c] != PLACE_AS_COLUMN)
                continue;
            fputs(" ", out);
            print_markdown_cell(row->cell[c], out);
            if (c == COLUMN_WALL && *row->reason) {
                fputs(": ", out);
                print_markdown_cell(row->reason, out);
            }
            fputs(" |", out);
        }
        fputs("\n", out);
    }
    fputs("\n", out);
    print_warnings(root, out);
    table_print_verdict(root, out);
    suite_result_print(root, TABLE_MARKDOWN, out);
    table_cells_free(&cells);
}

int table_print(const json_t *root, enum table_format format, FILE *out, struct error *error)
{
    int rc = 0;
    switch (format) {
    case TABLE_TEXT:
        print_text(root, out);
        break;
    case TABLE_MARKDOWN:
        print_markdown(root, out);
        break;
    case TABLE_CSV:
        csv_print(root, out);
        break;
    case TABLE_JSON:
        rc = result_print(root, out, error);
        break;
    case TABLE_FORMATS:
        return error_set(error, ERR_INTERNAL, "there is no such format");
    }
    if (rc == 0 && (fflush(out) != 0 || ferror(out)))
        rc = error_set(error, ERR_IO, "the table could not be written: %s", strerror(errno));
    return rc;
}
