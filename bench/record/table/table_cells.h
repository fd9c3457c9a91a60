/* The cells of a table, made once for every format that people read. */
#ifndef GAMUT_RECORD_TABLE_CELLS_H
#define GAMUT_RECORD_TABLE_CELLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, title): first what names a row, then what was measured. */
#define COLUMN_LIST(X)                                                                             \
    X(DEVICE, "device")                                                                            \
    X(WORKLOAD, "workload")                                                                        \
    X(DATASET, "dataset")                                                                          \
    X(MERGE, "merge")                                                                              \
    X(RELEASE, "release")                                                                          \
    X(RESIDENCY, "residency")                                                                      \
    X(STRATEGY, "strategy")                                                                        \
    X(WALL, "wall")                                                                                \
    X(PREDICTED, "predicted")                                                                      \
    X(ERROR, "error")                                                                              \
    X(SPEEDUP, "vs raw")                                                                           \
    X(FLOOR, "floor")                                                                              \
    X(OF_FLOOR, "of floor")                                                                        \
    X(REQUESTED, "requested")                                                                      \
    X(OVER_BEST, "over best")                                                                      \
    X(RESERVED, "reserved")                                                                        \
    X(LOWER_BOUND, "lower bound")                                                                  \
    X(DRIVER_CALLS, "driver calls")                                                                \
    X(HITS, "hits")                                                                                \
    X(COPIES, "copies")                                                                            \
    X(ELIDED, "elided")

enum column {
#define X(name, title) COLUMN_##name,
    COLUMN_LIST(X)
#undef X
        COLUMNS,
    FIRST_MEASURED = COLUMN_WALL
};
extern const char *const column_titles[COLUMNS];

enum change { CHANGE_NONE, CHANGE_BETTER, CHANGE_WORSE };

struct table_row {
    char cell[COLUMNS][128]; /* "-" where nothing is known; "" where nothing belongs */
    size_t group;            /* rows of one workload, dataset and device are neighbours */
    bool is_mean;            /* a geometric mean over the groups of a device */
    bool is_ok;              /* else the cell of COLUMN_WALL is the status */
    enum change change;      /* established against raw: the whole interval is on one side of 1 */
    const char *reason;      /* borrowed from the result; "" if ok */
};

struct table_cells {
    size_t row_count;
    struct table_row *rows;
};

struct table_cells table_cells_of(const json_t *root);
void table_cells_free(struct table_cells *cells);

/* Cells of cases that are not ok do not count in measured columns, nor do geometric means in any.
 */
bool row_counts(const struct table_row *row, enum column column);
/* Whether the cells that count are the same in all rows, or in all rows of each group. */
bool column_is_constant(const struct table_cells *cells, enum column column, bool by_group);
/* The first cell that counts in a group; NULL where none does. */
#define ALL_GROUPS SIZE_MAX
const char *column_value(const struct table_cells *cells, enum column column, size_t group);

/* Where what a column says is printed. */
enum column_place {
    PLACE_AS_COLUMN,
    PLACE_ONCE,     /* the same in every row */
    PLACE_BY_GROUP, /* the same in all rows of each group */
    PLACE_NOWHERE,
};
/* `grouped`: each group has a heading that names its workload, dataset and device. */
enum column_place column_placement(const struct table_cells *cells, enum column column,
                                   bool grouped);

#endif
