/* The rows of a comparison as a grid of texts, for the terminal, Markdown and the report. */
#pragma once

#include "results/compare/compare.h"
#include "results/show/text_grid.h"

/* The columns. Those before BASE name the row; the others say what was found. */
enum line_column {
    LINE_FILE,
    LINE_WORKLOAD, /* from here to RESIDENCY: the members of a case's key, in their order */
    LINE_DATASET,
    LINE_MERGE,
    LINE_RELEASE,
    LINE_STRATEGY,
    LINE_DEVICE,
    LINE_RESIDENCY,
    LINE_METRIC,
    LINE_BASE,
    LINE_NEW,
    LINE_CHANGE,
    LINE_P,
    LINE_VERDICT,
};

/* The rows that `show` selects, in the order in which they are printed. The caller owns the array.
 */
json_t *compare_select(const json_t *comparison, enum compare_show show);
/* Does a difference of `context_diff` keep nothing from being compared? */
bool compare_is_noted(const json_t *difference);
/* A grid with one row for each of `rows`, in their order. A column that names rows is hidden if
 * all its cells are the same. The comparison must outlive the grid; text_grid_free frees it. */
struct text_grid compare_grid_of(const json_t *comparison, const json_t *rows);
