/* The cases of a result as a grid of texts, for the terminal, Markdown and the report. */
#pragma once

#include "results/file/result.h"
#include "results/show/text_grid.h"

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
struct text_grid table_grid_of(const struct result *result, enum table_shape shape);
