/* What the writers of charts share: lists of labels, ways to name a case by what differs, numbers
 * as gnuplot reads them, and the grid of clusters and series that bar charts are. */
#ifndef GAMUT_RECORD_CHART_MATRIX_H
#define GAMUT_RECORD_CHART_MATRIX_H

#include "record/result/case_tree.h"
#include "record/chart/chart.h"

/* A list of different names, in the order in which they were first seen; {0} is empty. */
struct labels {
    size_t count;
    char **name;
};
/* Its number, or the number of names. */
size_t labels_find(const struct labels *labels, const char *name);
/* Its number, which is new if the name is; copies it. */
size_t labels_add(struct labels *labels, const char *name);
void labels_free(struct labels *labels);
/* Adds variable='"name" "name"', a list of words as gnuplot reads them. */
void labels_variable(const struct labels *labels, const char *variable, struct text *out);

/* Which parts of a key are worth naming: those that differ between the cases of a device. */
struct naming {
    bool dataset, merge, release, residency;
};
struct naming naming_of(const struct chart_subject *of);
/* "canny" or "canny medium". */
void naming_cluster(const struct naming *naming, const json_t *key, struct text *out);
/* "pool", "pool best", "pool best scope"; without the strategy "best", "best scope". */
void naming_series(const struct naming *naming, bool with_strategy, const json_t *key,
                   struct text *out);

bool case_is_unmerged(const json_t *one_case);
/* Is the case, or key, of the device, and the strategy, workload and dataset if they are set? */
bool case_is_of(const json_t *key, const struct chart_subject *of);

/* A space and the number, "NaN" where it is not one. */
void data_number(double value, FILE *out);
/* A space, then "ok" if the value is known, else "n/a", or the case's status in capitals. Returns
 * if it is known. */
bool data_status(const json_t *cell, double value, FILE *out);

/* Clusters on the x axis, and a series of bars for each way to run. A cell is a case, an element of
 * `summary`, or NULL. */
struct grid {
    const struct chart_subject *of;
    struct labels clusters, series;
    struct labels skipped; /* ways to run of which some case was skipped */
    const json_t **cell;   /* [cluster * series.count + series] */
    bool has_mean;         /* the last cluster stands for the geometric mean */
};
enum { SERIES_MOST = 24 };

struct grid_rules {
    /* The bars of what everything is compared with would all be the same: true leaves it out. May
     * be NULL. */
    bool (*is_baseline)(const json_t *one_case);
    bool has_mean;        /* a cluster for the geometric mean, where there are several others */
    bool mean_of_summary; /* its cells are those of `summary` */
    bool are_bars;        /* then no more than SERIES_MOST series can be told apart */
    bool any_strategy;    /* a series is a merge set, of whichever strategy; the first that is ok */
};
/* ERR_NOT_FOUND where no series is left, ERR_USAGE where too many are. The caller frees the grid if
 * there is no error. */
int grid_make(const struct chart *chart, const struct chart_subject *of,
              const struct grid_rules *rules, struct grid *grid, struct error *error);
const json_t *grid_cell(const struct grid *grid, size_t cluster, size_t series);
/* Is this the cluster of the mean? */
bool grid_is_mean(const struct grid *grid, size_t cluster);
void grid_free(struct grid *grid);

/* Block 0: the position and label of each cluster; then, after two blank lines as gnuplot's `index`
 * wants it, a block a series, a line a cluster: its own position, and what `print_cell` adds,
 * line feed included; it says if the cell has a number. Returns how many have. */
typedef bool grid_print_cell(const struct grid *grid, size_t cluster, size_t series, FILE *out);
size_t grid_print(const struct grid *grid, const char *title, const char *columns,
                  grid_print_cell *print_cell, FILE *out);
/* ERR_NOT_FOUND: there is no number to show. */
int grid_is_empty(const struct chart *chart, const struct grid *grid, struct error *error);
/* The variables series, strategy and note. */
void grid_variables(const struct grid *grid, struct text *out);

#endif
