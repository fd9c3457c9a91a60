/* A table of dots: a row for each program and a dot for each configuration (Cleveland 1985), as
 * plots/rows.gp draws it.
 *
 * Rows stand by their gain, the largest mean over the configurations first. Means over the rows stand
 * apart, the best configuration first, and after all others those that lack rows. A value far from all others
 * would squeeze them, so an axis ends two octaves beyond the middle nine tenths of the values, and the
 * row of such a value says it in words. */
#ifndef GAMUT_RECORD_CHART_ROWS_H
#define GAMUT_RECORD_CHART_ROWS_H

#include "record/chart/matrix.h"

enum { MEASURES_MOST = 2, ROWS_MOST = 120 };

/* Unknown numbers are NaN. */
struct measure {
    double value, lo, hi;
};
/* A value without an interval. */
struct measure measure_of_value(double value);

struct row_numbers {
    struct measure measure[MEASURES_MOST];
    double reference; /* what 1 stands for: ns or bytes */
};

struct rows_style {
    char *(*reference_text)(char out[32], double reference);
    size_t measures;
    bool less_is_better;
};

/* Everything is borrowed. Arrays of cells are [row * columns->count + column]. */
struct rows_table {
    const struct rows_style *style;
    const struct labels *rows, *columns;
    size_t row_count; /* rows may have more names */
    const struct row_numbers *cell;
    const json_t *const *status; /* cases, for those without a number */
    const struct measure
        *mean; /* a mean of the first measure for each column, or NULL; NaN: none */
};

/* Writes the data and adds the variables series, low_1, high_1, … (plots/rows.gp). ERR_NOT_FOUND if there
 * is no number, ERR_USAGE if there are too many rows: the messages name the chart and the device.
 *
 * Block 0, a line a row: number, label, reference, remark. The remark is what has no place in
 * the picture. Block 1, a line a configuration: number, name, and for each measure its mean as value lo
 * hi text. Then a block a configuration, a line a row: row, and for each measure value lo hi. */
int rows_print(const char *chart, const char *device, const struct rows_table *table, FILE *data,
               struct text *variables, struct error *error);

#endif
