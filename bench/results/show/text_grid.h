/* A grid of texts, and how it is printed: for a terminal, as Markdown or as CSV.
 *
 * The caller fills the grid with cells. For each column it says how the column is aligned and how
 * early it may be dropped. The rest is the same for all tables:
 *
 *   - a column whose cells are the same in every row can be printed once, above the table
 *   - if the terminal is too narrow, columns are dropped, then names are shortened, and prose
 *     continues in the next line; a line below the table names what was dropped; names that were
 *     dropped stand in a line above their rows instead, because rows look alike without them
 *   - files, pipes, Markdown and CSV have no width limit: nothing is dropped there
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/terminal.h"
#include "results/show/table.h"
#include "results/statistics/statistics.h"

enum text_grid_kind {
    GRID_NAME,   /* aligned left */
    GRID_NUMBER, /* aligned right, so that units and decimals line up; "-" if nothing was added */
    GRID_PROSE,  /* aligned left, folded at a narrow terminal; only for the last column */
};

/* The colour of a cell or a remark. */
enum text_grid_mood { GRID_PLAIN, GRID_BETTER, GRID_WORSE, GRID_UNSURE };

struct text_grid_column {
    const char *title;
    enum text_grid_kind kind;
    unsigned drop;    /* a narrow terminal drops the largest number first; 0: never dropped */
    bool hidden;      /* only CSV has the column */
    const char *once; /* the value of every row, printed once above the table; NULL: none */
};

struct text_grid_row {
    const char **cell; /* one a column, never NULL */
    size_t added;      /* number of cells that are filled */
    size_t cells; /* number of cells that are printed: all, unless the remark replaces the rest */
    const char *remark;  /* printed after the last cell; NULL: none */
    const char *heading; /* a line of its own above the row; NULL: none */
    enum text_grid_mood mood;
    size_t mood_of; /* column that `mood` colours; if it is not printed, the remark */
    size_t group;   /* for the caller, which may number groups of rows */
    const char *id; /* for the caller: the id of the case that the row shows, borrowed, or NULL */
    bool is_mean;   /* for the caller, which may mark rows that are means */
};

struct text_grid {
    size_t column_count, row_count;
    struct text_grid_column *column;
    struct text_grid_row *row;
    size_t indent;  /* blanks before the first column */
    bool no_titles; /* only rows are printed */
    /* The place of dropped columns, for the reader: "--format csv has all". NULL: nothing is
     * said. */
    const char *complete;
    struct arena arena; /* owns cells and titles */
};

/* Makes a grid from the titles of its columns, separated by bars: "name|>size^2|~note". '>' marks a
 * column of numbers, '~' one of prose, and '^2' sets `drop`. Free it with text_grid_free. */
struct text_grid text_grid_of(const char *columns);
/* Adds a column. The grid must have no rows. The title is borrowed. */
void text_grid_add_column(struct text_grid *grid, struct text_grid_column column);
/* Frees the grid and all its cells, and sets it to zero. */
void text_grid_free(struct text_grid *grid);

/* Adds a row, to which the functions below then add cells, from the first column to the last. The
 * pointer is valid until the next row is added. */
struct text_grid_row *text_grid_add_row(struct text_grid *grid);
/* Adds a cell with a formatted text. */
void text_grid_add(struct text_grid *grid, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Leaves this number of cells as they are: empty, or "-" for numbers. */
void text_grid_skip(struct text_grid *grid, size_t cells);
/* Adds a time: "2.31 ms"; "-" for NaN. */
void text_grid_add_ns(struct text_grid *grid, double ns);
/* Adds a size: "1.50 MiB". */
void text_grid_add_bytes(struct text_grid *grid, uint64_t bytes);
/* Adds "3.98×", "-" for NaN; and "3.98× [3.89, 4.07]" where the interval is known. */
void text_grid_add_ratio(struct text_grid *grid, double ratio);
void text_grid_add_interval(struct text_grid *grid, const struct statistics *ratio);
/* Adds a JSON value as CSV has it. Null, NULL, arrays and objects give an empty cell. */
void text_grid_add_json(struct text_grid *grid, const json_t *value);
/* Adds a number as a file has it; an empty cell for NaN. */
void text_grid_add_exact(struct text_grid *grid, double number);

/* The value that all non-empty cells of a column share; NULL if they differ, "" if all are
 * empty. */
const char *text_grid_constant(const struct text_grid *grid, size_t column);
/* Prints "all: merge none, device host" and `end`. Prints nothing if no column has `once`. */
void text_grid_print_once(const struct text_grid *grid, const char *end, FILE *out);
/* Prints the table as TABLE_TEXT, TABLE_MARKDOWN or TABLE_CSV. `terminal` sets the width and
 * colour of a TABLE_TEXT, which then goes to a page; NULL: no limit and no colour. */
void text_grid_print(const struct text_grid *grid, enum table_format format,
                     const struct terminal *terminal, FILE *out);

/* The shapes of the grid of cases, for the terminal, Markdown and the report. */
enum table_shape {
    SHAPE_GROUPED, /* a heading for each workload, dataset and device; a failure is a remark */
    SHAPE_FLAT,    /* one table; a failure has its status and reason in the cell of the time */
    /* one table of cases, row by row as in the result, without means, speed-ups and memory over the
     * bound: the report has these elsewhere; a failure has its status in the cell of the time */
    SHAPE_PLAIN,
};

/* Makes a grid with a row for each case of a summarised result, and for each ranked mean
 * (results/file/answer.h) over more than one case. Rows of one workload, dataset and device have
 * the same `group`; a mean has `is_mean`. Measured columns are GRID_NUMBER. A column with the same
 * value in every row, or in every row of each group, is hidden; its value is printed once, or in
 * the headings. The result must outlive the grid; the caller frees it with text_grid_free. */
struct text_grid table_grid_of(const struct result *result, enum table_shape shape,
                               enum table_show show);
