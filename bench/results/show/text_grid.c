#include "results/show/text_grid.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
    LEAST_NAME = 8,   /* a name is not shortened further */
    LEAST_PROSE = 16, /* a narrower column of prose is not worth reading */
};
static const size_t gap = 2; /* blanks between columns */

/* ---- filling --------------------------------------------------------------------------------- */

struct text_grid text_grid_of(const char *columns)
{
    struct text_grid grid = {0};
    for (const char *end; *columns; columns = *end ? end + 1 : end) {
        struct text_grid_column column = {.kind = *columns == '>'   ? GRID_NUMBER
                                                  : *columns == '~' ? GRID_PROSE
                                                                    : GRID_NAME};
        columns += column.kind != GRID_NAME;
        end = columns + strcspn(columns, "|");
        const size_t length = strcspn(columns, "^|");
        column.title = arena_copy(&grid.arena, columns, length);
        if (columns[length] == '^')
            column.drop = (unsigned)strtoul(columns + length + 1, NULL, 10);
        text_grid_add_column(&grid, column);
    }
    return grid;
}

void text_grid_add_column(struct text_grid *grid, struct text_grid_column column)
{
    assert(grid->row_count == 0);
    grid->column = must_realloc(grid->column, (grid->column_count + 1) * sizeof *grid->column);
    grid->column[grid->column_count++] = column;
}

void text_grid_free(struct text_grid *grid)
{
    arena_free(&grid->arena);
    free(grid->column);
    free(grid->row);
    *grid = (struct text_grid){0};
}

struct text_grid_row *text_grid_add_row(struct text_grid *grid)
{
    const size_t n = grid->row_count;
    if ((n & (n - 1)) == 0) /* room for twice as many at each power of two */
        grid->row = must_realloc(grid->row, (n ? 2 * n : 1) * sizeof *grid->row);
    struct text_grid_row *row = &grid->row[grid->row_count++];
    *row = (struct text_grid_row){
        .cell = arena_alloc(&grid->arena, grid->column_count * sizeof *row->cell),
        .cells = grid->column_count,
    };
    for (size_t c = 0; c < grid->column_count; c++)
        row->cell[c] = grid->column[c].kind == GRID_NUMBER ? "-" : "";
    return row;
}

void text_grid_add(struct text_grid *grid, const char *format, ...)
{
    struct text_grid_row *row = &grid->row[grid->row_count - 1];
    va_list arguments;
    va_start(arguments, format);
    const size_t length = (size_t)vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *copy = arena_alloc(&grid->arena, length + 1);
    va_start(arguments, format);
    vsnprintf(copy, length + 1, format, arguments);
    va_end(arguments);
    assert(row->added < grid->column_count);
    row->cell[row->added++] = copy;
}

void text_grid_skip(struct text_grid *grid, size_t cells)
{
    grid->row[grid->row_count - 1].added += cells;
}

void text_grid_add_ns(struct text_grid *grid, double ns)
{
    char text[32];
    text_grid_add(grid, "%s", isnan(ns) ? "-" : text_ns(text, ns));
}

void text_grid_add_bytes(struct text_grid *grid, uint64_t bytes)
{
    char text[32];
    text_grid_add(grid, "%s", text_bytes(text, bytes));
}

void text_grid_add_ratio(struct text_grid *grid, double ratio)
{
    if (isnan(ratio))
        text_grid_add(grid, "-");
    else
        text_grid_add(grid, "%.2f×", ratio);
}

void text_grid_add_interval(struct text_grid *grid, const struct statistics *ratio)
{
    if (isnan(ratio->ci_lo) || isnan(ratio->ci_hi))
        text_grid_add_ratio(grid, ratio->median);
    else
        text_grid_add(grid, "%.2f× [%.2f, %.2f]", ratio->median, ratio->ci_lo, ratio->ci_hi);
}

void text_grid_add_json(struct text_grid *grid, const json_t *value)
{
    if (json_is_integer(value))
        text_grid_add(grid, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        text_grid_add(grid, "%.12g", json_real_value(value));
    else if (json_is_boolean(value))
        text_grid_add(grid, "%s", json_is_true(value) ? "true" : "false");
    else
        text_grid_add(grid, "%s", json_is_string(value) ? json_string_value(value) : "");
}

void text_grid_add_exact(struct text_grid *grid, double number)
{
    if (isnan(number))
        text_grid_add(grid, "%s", "");
    else
        text_grid_add(grid, number == floor(number) ? "%.0f" : "%.12g", number);
}

const char *text_grid_constant(const struct text_grid *grid, size_t column)
{
    const char *value = "";
    for (size_t r = 0; r < grid->row_count; r++) {
        const char *cell = grid->row[r].cell[column];
        if (*cell && *value && strcmp(cell, value) != 0)
            return NULL;
        value = *cell ? cell : value;
    }
    return value;
}

void text_grid_print_once(const struct text_grid *grid, const char *end, FILE *out)
{
    const char *before = "all: ";
    for (size_t c = 0; c < grid->column_count; c++)
        if (grid->column[c].once && *grid->column[c].once) {
            fprintf(out, "%s%s %s", before, grid->column[c].title, grid->column[c].once);
            before = ", ";
        }
    fputs(*before == ',' ? end : "", out);
}

/* ---- what fits a terminal -------------------------------------------------------------------- */

struct layout {
    bool *shown;
    bool *above;   /* a dropped name, which stands above its rows instead */
    size_t *width; /* in characters */
    size_t indent, terminal_width;
    bool colour;
};

/* A cell for people ends where its first line does. */
static size_t cell_bytes(const char *text)
{
    return strcspn(text, "\n");
}

static size_t cell_width(const char *text)
{
    return terminal_characters(text, cell_bytes(text));
}

static size_t line_width(const struct text_grid *grid, const struct layout *layout)
{
    size_t width = grid->indent, shown = 0;
    for (size_t c = 0; c < grid->column_count; c++)
        if (layout->shown[c]) {
            const bool folds = grid->column[c].kind == GRID_PROSE && layout->width[c] > LEAST_PROSE;
            width += (shown++ ? gap : 0) + (folds ? LEAST_PROSE : layout->width[c]);
        }
    return width;
}

/* The column that is dropped next; column_count if no more can be dropped. */
static size_t first_to_go(const struct text_grid *grid, const struct layout *layout)
{
    size_t found = grid->column_count;
    unsigned drop = 0;
    for (size_t c = 0; c < grid->column_count; c++)
        if (layout->shown[c] && grid->column[c].drop > drop) {
            drop = grid->column[c].drop;
            found = c;
        }
    return found;
}

/* The widest column of names that can be shortened; column_count if there is none. */
static size_t widest_name(const struct text_grid *grid, const struct layout *layout)
{
    size_t found = grid->column_count, width = LEAST_NAME;
    for (size_t c = 0; c < grid->column_count; c++)
        if (layout->shown[c] && grid->column[c].kind == GRID_NAME && layout->width[c] > width) {
            width = layout->width[c];
            found = c;
        }
    return found;
}

static struct layout layout_of(const struct text_grid *grid, const struct terminal *terminal)
{
    const size_t none = grid->column_count;
    struct layout layout = {
        .shown = must_alloc(none * sizeof *layout.shown + 1),
        .above = must_alloc(none * sizeof *layout.above + 1),
        .width = must_alloc((none + 1) * sizeof *layout.width),
        .terminal_width = terminal ? terminal->width : SIZE_MAX,
        .colour = terminal && terminal->colour,
    };
    for (size_t c = 0; c < none; c++) {
        layout.shown[c] = !grid->column[c].hidden;
        layout.width[c] = grid->no_titles ? 0 : cell_width(grid->column[c].title);
        for (size_t r = 0; r < grid->row_count; r++) {
            const struct text_grid_row *row = &grid->row[r];
            const size_t width = c < row->cells ? cell_width(row->cell[c]) : 0;
            layout.width[c] = width > layout.width[c] ? width : layout.width[c];
        }
    }
    size_t c;
    while (line_width(grid, &layout) > layout.terminal_width &&
           (c = first_to_go(grid, &layout)) != none)
        layout.shown[c] = false;
    while (line_width(grid, &layout) > layout.terminal_width &&
           (c = widest_name(grid, &layout)) != none)
        layout.width[c]--;
    for (c = 0; c < none; c++) {
        const char *value = text_grid_constant(grid, c);
        layout.above[c] = !layout.shown[c] && !grid->column[c].hidden &&
                          grid->column[c].kind == GRID_NAME && !(value && !*value);
    }
    return layout;
}

static void print_dropped(const struct text_grid *grid, const struct layout *layout, FILE *out)
{
    const char *before = "left out for width: ";
    for (size_t c = 0; c < grid->column_count; c++)
        if (!grid->column[c].hidden && !layout->shown[c] && !layout->above[c]) {
            fprintf(out, "%s%s", before, grid->column[c].title);
            before = ", ";
        }
    if (*before == ',')
        fprintf(out, "%s%s\n", grid->complete ? "; " : "", grid->complete ? grid->complete : "");
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Blanks are kept until a text follows them, so that no line ends with blanks. */
struct pen {
    FILE *out;
    size_t column, blanks;
    bool has_cells;
};

static void draw(struct pen *pen, const char *text, size_t bytes, const char *colour)
{
    if (!bytes)
        return;
    fprintf(pen->out, "%*s%s", (int)pen->blanks, "", colour);
    fwrite(text, 1, bytes, pen->out);
    fputs(*colour ? TERMINAL_PLAIN : "", pen->out);
    pen->column += pen->blanks + terminal_characters(text, bytes);
    pen->blanks = 0;
}

/* Prose continues below its beginning, or near the left edge if little room is left there. */
static void draw_prose(struct pen *pen, const char *text, const char *colour, size_t width)
{
    const size_t bytes = cell_bytes(text), at = pen->column + pen->blanks;
    if (width == SIZE_MAX || !bytes) {
        draw(pen, text, bytes, colour);
        return;
    }
    fprintf(pen->out, "%*s%s", (int)pen->blanks, "", colour);
    terminal_fold(text, bytes, at, at + LEAST_PROSE <= width ? at : 4, width, pen->out);
    fputs(*colour ? TERMINAL_PLAIN : "", pen->out);
    pen->blanks = 0;
}

static void draw_cell(struct pen *pen, const struct text_grid_column *column, const char *text,
                      size_t width, const char *colour)
{
    const size_t own = cell_width(text), missing = width > own ? width - own : 0;
    pen->blanks += pen->has_cells ? gap : 0;
    pen->has_cells = true;
    pen->blanks += column->kind == GRID_NUMBER ? missing : 0;
    if (own <= width) {
        draw(pen, text, cell_bytes(text), colour);
    } else {
        size_t bytes = 0;
        while (text[bytes] && terminal_characters(text, bytes + 1) < width)
            bytes++;
        draw(pen, text, bytes, colour);
        draw(pen, "…", strlen("…"), colour);
    }
    pen->blanks += column->kind == GRID_NUMBER ? 0 : missing;
}

static const char *colour_of(const struct layout *layout, enum text_grid_mood mood)
{
    static const char *const colours[] = {
        [GRID_PLAIN] = "",
        [GRID_BETTER] = TERMINAL_GREEN,
        [GRID_WORSE] = TERMINAL_RED,
        [GRID_UNSURE] = TERMINAL_YELLOW,
    };
    return layout->colour ? colours[mood] : "";
}

static void print_text_row(const struct text_grid *grid, const struct layout *layout,
                           const struct text_grid_row *row, FILE *out)
{
    struct pen pen = {.out = out, .blanks = grid->indent};
    const char *colour = colour_of(layout, row->mood);
    for (size_t c = 0; c < row->cells; c++) {
        const char *own = c == row->mood_of ? colour : "";
        if (!layout->shown[c])
            continue;
        if (grid->column[c].kind == GRID_PROSE) {
            pen.blanks += pen.has_cells ? gap : 0;
            draw_prose(&pen, row->cell[c], own, layout->terminal_width);
        } else {
            draw_cell(&pen, &grid->column[c], row->cell[c], layout->width[c], own);
        }
    }
    if (row->remark) {
        pen.blanks += gap;
        draw_prose(&pen, row->remark, row->mood_of >= row->cells ? colour : "",
                   layout->terminal_width);
    }
    fputc('\n', out);
}

/* Rows would look alike without the names that were dropped: a line above the rows has them. */
static void print_dropped_names(const struct text_grid *grid, const struct layout *layout, size_t r,
                                FILE *out)
{
    struct text line = {0};
    bool changed = false;
    for (size_t c = 0; c < grid->column_count; c++) {
        const char *name = grid->row[r].cell[c];
        if (!layout->above[c])
            continue;
        changed |= r == 0 || strcmp(name, grid->row[r - 1].cell[c]) != 0;
        if (*name)
            text_add(&line, "%s%s %s", line.length ? ", " : "", grid->column[c].title, name);
    }
    if (changed && line.length) {
        struct pen pen = {.out = out, .blanks = grid->indent};
        text_add(&line, ":");
        draw_prose(&pen, line.data, "", layout->terminal_width);
        fputc('\n', out);
    }
    text_free(&line);
}

static void print_text(const struct text_grid *grid, const struct terminal *terminal, FILE *out)
{
    struct layout layout = layout_of(grid, terminal);
    struct pen pen = {.out = out, .blanks = grid->indent};
    for (size_t c = 0; c < grid->column_count && !grid->no_titles; c++)
        if (layout.shown[c])
            draw_cell(&pen, &grid->column[c], grid->column[c].title, layout.width[c], "");
    fputs(pen.column ? "\n" : "", out);
    for (size_t r = 0; r < grid->row_count; r++) {
        const char *heading = grid->row[r].heading;
        if (heading)
            fprintf(out, "\n%s%s%s\n", layout.colour ? TERMINAL_BOLD : "", heading,
                    layout.colour ? TERMINAL_PLAIN : "");
        print_dropped_names(grid, &layout, r, out);
        print_text_row(grid, &layout, &grid->row[r], out);
    }
    print_dropped(grid, &layout, out);
    free(layout.shown);
    free(layout.above);
    free(layout.width);
}

/* ---- Markdown and CSV ------------------------------------------------------------------------ */

/* Bars are escaped, as they would end the cell. */
static void print_markdown_cell(const char *text, FILE *out)
{
    fputc(' ', out);
    for (; *text && *text != '\n'; text++)
        fprintf(out, "%s%c", *text == '|' ? "\\" : "", *text);
    fputs(" |", out);
}

static void print_markdown(const struct text_grid *grid, FILE *out)
{
    fputc('|', out);
    for (size_t c = 0; c < grid->column_count; c++)
        if (!grid->column[c].hidden)
            print_markdown_cell(grid->column[c].title, out);
    fputs("\n|", out);
    for (size_t c = 0; c < grid->column_count; c++)
        if (!grid->column[c].hidden)
            fputs(grid->column[c].kind == GRID_NUMBER ? " --: |" : " :-- |", out);
    fputc('\n', out);
    for (size_t r = 0; r < grid->row_count; r++) {
        const struct text_grid_row *row = &grid->row[r];
        fputc('|', out);
        for (size_t c = 0; c < row->cells; c++)
            if (!grid->column[c].hidden)
                print_markdown_cell(row->cell[c], out);
        if (row->remark)
            print_markdown_cell(row->remark, out);
        fputc('\n', out);
    }
}

/* RFC 4180: a cell is quoted if it has to be, and its quotes are doubled. */
static void print_csv_cell(const char *text, FILE *out)
{
    if (!text[strcspn(text, ",\"\n\r")]) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, "%s%c", *text == '"' ? "\"" : "", *text);
    fputc('"', out);
}

static void print_csv(const struct text_grid *grid, FILE *out)
{
    for (size_t c = 0; c < grid->column_count; c++) {
        fputs(c ? "," : "", out);
        print_csv_cell(grid->column[c].title, out);
    }
    fputc('\n', out);
    for (size_t r = 0; r < grid->row_count; r++) {
        for (size_t c = 0; c < grid->column_count; c++) {
            fputs(c ? "," : "", out);
            print_csv_cell(grid->row[r].cell[c], out);
        }
        fputc('\n', out);
    }
}

void text_grid_print(const struct text_grid *grid, enum table_format format,
                     const struct terminal *terminal, FILE *out)
{
    if (format == TABLE_CSV)
        print_csv(grid, out);
    else if (format == TABLE_MARKDOWN)
        print_markdown(grid, out);
    else
        print_text(grid, terminal, out);
}
