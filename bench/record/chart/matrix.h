/* What the readers of a result's cases share that show them side by side: the bars and the matrices
 * among the charts, and the tables of a report.
 *
 * A configuration is how a program was run: strategy, merge set, release policy and residency. A
 * matrix has a row for each workload and dataset, a column for each configuration, and a case in
 * each cell. Names say only what differs between the cases of a device: "canny" where each workload
 * has one dataset, else "canny medium". */
#ifndef GAMUT_RECORD_CHART_MATRIX_H
#define GAMUT_RECORD_CHART_MATRIX_H

#include "base/text.h"
#include "record/chart/chart.h"
#include "record/result/case_tree.h"

/* A list of different names, in the order in which they were first seen; {0} is empty. */
struct labels {
    size_t count;
    char **name;
};
/* The number of a name, or the count of names where it is not in the list. */
size_t labels_find(const struct labels *labels, const char *name);
/* The number of a name, which is added (as a copy) if it is new. */
size_t labels_add(struct labels *labels, const char *name);
/* Frees the names; the list is empty after it. */
void labels_free(struct labels *labels);

/* ---- cases ---------------------------------------------------------------------------------- */

/* Is the merge set of the case "none"? */
bool case_is_unmerged(const json_t *one_case);
/* Is the case the baseline of its own speed-up over raw? */
bool case_is_baseline(const json_t *one_case);
/* Does the key, of a case or of an element of `summary`, belong to the subject: to its device, and
 * to its strategy, workload and dataset where they are set? */
bool case_is_of(const json_t *key, const struct chart_subject *of);
/* The first case of the subject from the *i-th of the result on; NULL after the last. *i becomes
 * the index after it, so that a loop starts with 0 and calls this again and again. */
const json_t *case_next(const struct chart_subject *of, size_t *i);

/* Which members of a key differ between the cases of a device, and are worth naming. */
struct naming {
    bool dataset, merge, release, residency;
};
/* What differs between the cases of the subject's device, whatever else the subject has set. */
struct naming naming_of(const struct chart_subject *of);
/* Adds the name of a row: "canny" or "canny medium". */
void naming_row(const struct naming *naming, const json_t *key, struct text *out);
/* Adds the name of a column: "pool", "pool best", "pool best scope"; without the strategy "best",
 * "best scope". */
void naming_column(const struct naming *naming, bool with_strategy, const json_t *key,
                   struct text *out);

/* ---- the matrix ----------------------------------------------------------------------------- */

struct matrix {
    const struct chart_subject *of; /* borrowed, as are the cells */
    struct naming naming;
    struct labels rows, columns;
    struct labels skipped; /* configurations of which a case was skipped, unless they are columns */
    /* A case, or in the row of the mean an element of `summary`; NULL where there is none.
     * [row * columns.count + column] */
    const json_t **cell;
    bool has_mean; /* the last row stands for the geometric mean of the others */
};

/* What a matrix is made of. {0}: every case that was not skipped, without a mean. */
struct matrix_rules {
    /* Leaves out the columns of which every case is a baseline: their bars would all be the same.
     * NULL: leaves out none. */
    bool (*is_baseline)(const json_t *one_case);
    bool with_skipped;    /* a case that was skipped makes a column, too */
    bool has_mean;        /* a row for the geometric mean, where there are several others */
    bool mean_of_summary; /* its cells are those of `summary` */
    bool any_strategy;    /* a column is a merge set; its cell is the first case that is ok */
    size_t columns_most;  /* more of them cannot be told apart; 0: any number */
};
/* Makes the matrix of a subject; `name`, of the chart, is for messages. ERR_NOT_FOUND where no
 * column is left, ERR_USAGE where there are too many. The caller frees the matrix if there is no
 * error. */
int matrix_make(const char *name, const struct chart_subject *of, const struct matrix_rules *rules,
                struct matrix *matrix, struct error *error);
/* The cell of a row and a column, which must be below the counts of their labels; NULL if empty. */
const json_t *matrix_cell(const struct matrix *matrix, size_t row, size_t column);
/* The number of rows without that of the mean. */
size_t matrix_row_count(const struct matrix *matrix);
/* Is this the row of the mean? */
bool matrix_is_mean(const struct matrix *matrix, size_t row);
/* Frees what matrix_make made. */
void matrix_free(struct matrix *matrix);

#endif
