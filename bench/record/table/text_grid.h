/* A table of texts: columns, rows, and how they are written for a terminal, as Markdown or as CSV.
 *
 * A table fills a grid with cells and says of each column how it is aligned and how early it may be
 * dropped; everything else is the same for all tables:
 *
 *   - a column whose cells are the same in every row can be told once, above the table
 *   - at a terminal that is too narrow, columns are dropped, then names are shortened, and prose
 *     goes on in the next line; a line below the table names what was dropped
 *   - files, pipes, Markdown and CSV have no width: nothing is dropped there
 */
#ifndef GAMUT_RECORD_TABLE_TEXT_GRID_H
#define GAMUT_RECORD_TABLE_TEXT_GRID_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/terminal.h"
#include "record/table/table.h"

enum text_grid_kind {
    GRID_NAME,   /* to the left */
    GRID_NUMBER, /* to the right, where units and decimals line up */
    GRID_PROSE,  /* to the left, folded at a narrow terminal; only for the last column */
};

enum text_grid_mood { GRID_PLAIN, GRID_BETTER, GRID_WORSE, GRID_UNSURE };

struct text_grid_column {
    const char *title;
    enum text_grid_kind kind;
    unsigned drop;    /* at a narrow terminal the column with the largest goes first; 0: it stays */
    bool hidden;      /* not in the table for people; CSV has it */
    const char *once; /* what every row says in this column, told above the table; or NULL */
};

struct text_grid_row {
    const char **cell;  /* one a column, never NULL */
    size_t cells;       /* how many are printed: all, unless a remark takes the place of the rest */
    const char *remark; /* printed after the last cell; or NULL */
    const char *heading; /* a line of its own above the row; or NULL */
    enum text_grid_mood
        mood; /* colours the cell of column `mood_of`, or the remark if that is cut */
    size_t mood_of;
};

struct text_grid {
    size_t column_count, row_count;
    struct text_grid_column *column;
    struct text_grid_row *row;
    size_t indent;  /* blanks before the first column */
    bool no_titles; /* rows alone */
    const char
        *complete;      /* where a reader finds dropped columns: "--format csv has all"; or NULL */
    struct arena arena; /* owns what text_grid_set prints */
};

/* A grid of these columns, which are copied. Free it with text_grid_free. */
struct text_grid text_grid_of(const struct text_grid_column *columns, size_t count);
/* Adds a column; only while the grid has no rows. Titles are borrowed. */
void text_grid_add_column(struct text_grid *grid, struct text_grid_column column);
void text_grid_free(struct text_grid *grid);

/* Adds a row of empty cells, to which the functions below then refer. The pointer is valid until
 * the next row. */
struct text_grid_row *text_grid_add_row(struct text_grid *grid);
/* Prints a cell of the last row. */
void text_grid_set(struct text_grid *grid, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A cell of the last row: a text that outlives the grid. */
void text_grid_put(struct text_grid *grid, size_t column, const char *text);
/* A cell of the last row: a JSON value as CSV has it; empty for null, NULL, arrays and objects. */
void text_grid_put_json(struct text_grid *grid, size_t column, const json_t *value);

/* What all rows that have something in a column have there; NULL where they differ, "" where no row
 * has anything. */
const char *text_grid_constant(const struct text_grid *grid, size_t column);
/* Prints "all: merge none, device host" and `end`; nothing where no column is told once. */
void text_grid_print_once(const struct text_grid *grid, const char *end, FILE *out);
/* Prints the table. TABLE_TEXT, TABLE_MARKDOWN or TABLE_CSV. `terminal` limits and colours a
 * TABLE_TEXT; NULL: neither. */
void text_grid_print(const struct text_grid *grid, enum table_format format,
                     const struct terminal *terminal, FILE *out);

#endif
