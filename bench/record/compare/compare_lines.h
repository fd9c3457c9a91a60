/* The rows of a comparison as lines of cells, made once for every format that people read. */
#ifndef GAMUT_RECORD_COMPARE_LINES_H
#define GAMUT_RECORD_COMPARE_LINES_H

#include "base/arena.h"
#include "record/compare/compare.h"

/* X(NAME, title): first what names a row. */
#define LINE_COLUMN_LIST(X)                                                                        \
    X(FILE, "file")                                                                                \
    X(WORKLOAD, "workload")                                                                        \
    X(DATASET, "dataset")                                                                          \
    X(MERGE, "merge")                                                                              \
    X(RELEASE, "release")                                                                          \
    X(STRATEGY, "strategy")                                                                        \
    X(DEVICE, "device")                                                                            \
    X(RESIDENCY, "residency")                                                                      \
    X(METRIC, "metric")                                                                            \
    X(BASE, "base")                                                                                \
    X(NEW, "new")                                                                                  \
    X(CHANGE, "change")                                                                            \
    X(P, "p")                                                                                      \
    X(VERDICT, "verdict")

enum line_column {
#define X(name, title) LINE_##name,
    LINE_COLUMN_LIST(X)
#undef X
        LINE_COLUMNS
};
extern const char *const line_titles[LINE_COLUMNS];

struct compare_line {
    const char *cell[LINE_COLUMNS];
    const json_t *row;
    const char *colour; /* of the verdict, as record/table/print.h has them; "" for none */
};

struct compare_lines {
    struct arena arena;
    size_t count;
    struct compare_line *line;
    /* What names a row and is the same in all, to be said once; NULL where it is not. */
    const char *once[LINE_COLUMNS];
};

/* The rows that `show` leaves, in their order; the caller owns the array. */
json_t *compare_select(const json_t *comparison, enum compare_show show);
struct compare_lines compare_lines_of(const json_t *comparison, const json_t *rows);
void compare_lines_free(struct compare_lines *lines);

#endif
