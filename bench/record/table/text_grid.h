/* A table of texts: columns, rows, and how they are written for a terminal, as Markdown or as CSV.
 *
 * A table fills a grid with cells and says of each column how it is aligned and how early it may be
 * dropped; everything else is the same for all tables:
 *
 *   - a column whose cells are the same in every row can be printed once, above the table
 *   - at a terminal that is too narrow, columns are dropped, then names are shortened, and prose
 *     goes on in the next line; a line below the table names what was dropped
 *   - files, pipes, Markdown and CSV have no width: nothing is dropped there
 */
#ifndef GAMUT_RECORD_TABLE_TEXT_GRID_H
#define GAMUT_RECORD_TABLE_TEXT_GRID_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/terminal.h"
#include "record/table/table.h"

enum text_grid_kind {
    GRID_NAME,   /* to the left */
    GRID_NUMBER, /* to the right, where units and decimals line up; "-" where nothing was added */
    GRID_PROSE,  /* to the left, folded at a narrow terminal; only for the last column */
};

enum text_grid_mood { GRID_PLAIN, GRID_BETTER, GRID_WORSE, GRID_UNSURE };

struct text_grid_column {
    const char *title;
    enum text_grid_kind kind;
    unsigned drop;    /* at a narrow terminal the column with the largest goes first; 0: it stays */
    bool hidden;      /* not in the table for people; CSV has it */
    const char *once; /* the value of every row, printed once above the table; or NULL */
};

struct text_grid_row {
    const char **cell; /* one a column, never NULL */
    size_t added;      /* number of cells that are filled */
    size_t cells; /* number of cells that are printed: all, unless the remark replaces the rest */
    const char *remark;  /* printed after the last cell; or NULL */
    const char *heading; /* a line of its own above the row; or NULL */
    enum text_grid_mood
        mood; /* colours column `mood_of`, or the remark where that is not printed */
    size_t mood_of;
    size_t group; /* for the table's own use, as `is_mean` is */
    bool is_mean;
};

struct text_grid {
    size_t column_count, row_count;
    struct text_grid_column *column;
    struct text_grid_row *row;
    size_t indent;  /* blanks before the first column */
    bool no_titles; /* rows alone */
    const char
        *complete;      /* where a reader finds dropped columns: "--format csv has all"; or NULL */
    struct arena arena; /* owns cells and titles */
};

/* A grid of columns that are written as their titles with bars between: "name|>size^2|~note". '>'
 * marks numbers, '~' prose, and '^2' how early the column is dropped. Free it with text_grid_free. */
struct text_grid text_grid_of(const char *columns);
/* Adds a column; only while the grid has no rows. The title is borrowed. */
void text_grid_add_column(struct text_grid *grid, struct text_grid_column column);
void text_grid_free(struct text_grid *grid);

/* Adds a row, to which the functions below then add cells, from the first column to the last. The
 * pointer is valid until the next row. */
struct text_grid_row *text_grid_add_row(struct text_grid *grid);
void text_grid_add(struct text_grid *grid, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Leaves so many cells as they are: empty, or "-" for numbers. */
void text_grid_skip(struct text_grid *grid, size_t cells);
/* "2.31 ms"; "-" for NaN. */
void text_grid_add_ns(struct text_grid *grid, double ns);
/* "1.50 MiB" */
void text_grid_add_bytes(struct text_grid *grid, uint64_t bytes);
/* A JSON value as CSV has it; empty for null, NULL, arrays and objects. */
void text_grid_add_json(struct text_grid *grid, const json_t *value);

/* The value of all rows that are not empty in a column; NULL if they differ, "" if all are empty. */
const char *text_grid_constant(const struct text_grid *grid, size_t column);
/* Prints "all: merge none, device host" and `end`; nothing if no column has a value of `once`. */
void text_grid_print_once(const struct text_grid *grid, const char *end, FILE *out);
/* Prints the table as TABLE_TEXT, TABLE_MARKDOWN or TABLE_CSV. `terminal` limits and colours a
 * TABLE_TEXT; NULL: neither. */
void text_grid_print(const struct text_grid *grid, enum table_format format,
                     const struct terminal *terminal, FILE *out);

#endif
