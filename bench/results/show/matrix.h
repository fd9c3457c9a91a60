/* Cases of a result side by side, for charts of bars and matrices and for the tables of a report.
 *
 * A configuration is how a program was run: strategy, merge set, release policy and residency. A
 * matrix has a row for each workload and dataset, a column for each configuration, and a case in
 * each cell. Names say only what differs between the cases of a device: "canny" where each workload
 * has one dataset, else "canny medium". */
#pragma once

#include "base/text.h"
#include "results/show/chart.h"
#include "results/file/measured.h"

/* A list of different names, in the order in which they were first seen; {0} is empty. */
struct labels {
    size_t count;
    char **name;
};
/* The index of a name, or the count of names if it is not in the list. */
size_t labels_find(const struct labels *labels, const char *name);
/* The index of a name. Adds a copy of it if it is new. */
size_t labels_add(struct labels *labels, const char *name);
/* Frees the names; the list is empty after it. */
void labels_free(struct labels *labels);

/* ---- cases ---------------------------------------------------------------------------------- */

/* Is the merge set of the case "none"? */
bool case_is_unmerged(const struct result_case *one);
/* Is the case the baseline of its own speed-up over raw? */
bool case_is_baseline(const struct result_case *one);
/* Does the key belong to the subject: to its device, and to its strategy where it is set? */
bool case_is_of(const struct case_key *key, const struct chart_subject *of);
/* The next case of the subject, from index *i on; NULL after the last. Sets *i to the index after
 * it: a loop starts with 0. */
const struct result_case *case_next(const struct chart_subject *of, size_t *i);

/* The members of a key that differ between the cases of a device: names contain these alone. */
struct naming {
    bool dataset, merge, release, residency;
};
/* Compares all cases of the subject's device; ignores the rest of the subject. */
struct naming naming_of(const struct chart_subject *of);
/* Adds the name of a column: "pool", "pool best", "pool best scope"; without the strategy "best",
 * "best scope". */
void naming_column(const struct naming *naming, bool with_strategy, const struct case_key *key,
                   struct text *out);

/* ---- the matrix ----------------------------------------------------------------------------- */

struct matrix {
    const struct chart_subject *of; /* borrowed, as are the cells */
    struct naming naming;
    struct labels rows, columns;
    struct labels skipped; /* configurations with a skipped case; some may be columns too */
    /* [row * columns.count + column]; NULL if there is none, as in the row of the mean. */
    const struct result_case **cell;
    const struct result_mean **mean; /* of each column, from `summary`; NULL if there is none */
    bool has_mean;                   /* the last row stands for the geometric mean of the others */
};

/* Chooses the contents of a matrix. {0}: every case that was not skipped, without a mean. */
struct matrix_rules {
    /* Columns whose cases are all baselines are left out: their bars would all be the same. NULL:
     * none is left out. */
    bool (*is_baseline)(const struct result_case *one);
    bool has_mean;       /* adds a row for the geometric mean if there are several rows */
    size_t columns_most; /* the most columns that a chart can distinguish; 0: any number */
};
/* Makes the matrix of a subject; `name` is the chart's, for messages. ERR_NOT_FOUND if no column is
 * left, ERR_USAGE if there are too many. The caller frees the matrix if there is no error. */
int matrix_make(const char *name, const struct chart_subject *of, const struct matrix_rules *rules,
                struct matrix *matrix, struct error *error);
/* The cell of a row and a column, which must be below the counts of their labels; NULL if empty. */
const struct result_case *matrix_cell(const struct matrix *matrix, size_t row, size_t column);
/* The number of rows, the row of the mean not counted. */
size_t matrix_row_count(const struct matrix *matrix);
/* Puts the numbers from 0 to count - 1 into the order of descending values: equal ones in the order
 * of the result, NaN last. */
void matrix_order(const double *value, size_t count, size_t *order);
/* Frees what matrix_make made. */
void matrix_free(struct matrix *matrix);
