/* The rows of a comparison as a grid of texts, for the terminal, Markdown and the report. */
#ifndef GAMUT_RECORD_COMPARE_GRID_H
#define GAMUT_RECORD_COMPARE_GRID_H

#include "record/compare/compare.h"
#include "record/table/text_grid.h"

/* X(NAME, title, kind, drop): first what names a row; from BASE on, what was found. */
#define LINE_COLUMN_LIST(X)                                                                        \
    X(FILE, "file", GRID_NAME, 0)                                                                  \
    X(WORKLOAD, "workload", GRID_NAME, 0)                                                          \
    X(DATASET, "dataset", GRID_NAME, 1)                                                            \
    X(MERGE, "merge", GRID_NAME, 2)                                                                \
    X(RELEASE, "release", GRID_NAME, 4)                                                            \
    X(STRATEGY, "strategy", GRID_NAME, 0)                                                          \
    X(DEVICE, "device", GRID_NAME, 1)                                                              \
    X(RESIDENCY, "residency", GRID_NAME, 3)                                                        \
    X(METRIC, "metric", GRID_NAME, 0)                                                              \
    X(BASE, "base", GRID_NUMBER, 6)                                                                \
    X(NEW, "new", GRID_NUMBER, 5)                                                                  \
    X(CHANGE, "change", GRID_NUMBER, 0)                                                            \
    X(P, "p", GRID_NUMBER, 7)                                                                      \
    X(VERDICT, "verdict", GRID_PROSE, 0)

enum line_column {
#define X(name, title, kind, drop) LINE_##name,
    LINE_COLUMN_LIST(X)
#undef X
        LINE_COLUMNS
};

/* The rows that `show` leaves, in the order in which they are printed. The caller owns the array. */
json_t *compare_select(const json_t *comparison, enum compare_show show);
/* A grid with one row for each of `rows`, in their order. The cells of what names a row are hidden
 * where they are the same in all. The comparison must outlive the grid; text_grid_free frees it. */
struct text_grid compare_grid_of(const json_t *comparison, const json_t *rows);

#endif
