/* The history of a metric: result files of many revisions and machines, joined into series, and the
 * steps in each.
 *
 * A series has the results of one case that a comparison would compare (compare_context.c has the
 * facts that matter): the same program, data and device, and for times the same machine, driver and
 * kind of build. So results of two machines are two series of times, and can be one of counters. A
 * series ends where such a fact changes; the next one says what changed (`begins`).
 *
 * Runs are in the order of their commits if the times of all commits are known, else in the order in
 * which they ran. A run that failed or gave a wrong answer is a point without a value. A run of the
 * same machine and device that lacks the case is counted as `missing`.
 *
 * The steps of times are found by rank tests over rounds (record/compare/steps.h), with alpha divided
 * by the number of series of times: as in a comparison, it is the probability of a false claim
 * between two neighbouring runs, over all series. An exact counter has a step wherever it changes.
 *
 * The verdict is about the newest run of each machine alone. A step for the worse that is older has
 * been seen by those who ran the history before.
 *
 * The result is one JSON tree (results/README.md, "Histories"; results/schema/gamut-history-1.schema.json). Everything that is printed or drawn
 * comes from it.
 */
#ifndef GAMUT_RECORD_COMPARE_HISTORY_H
#define GAMUT_RECORD_COMPARE_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "record/compare/compare.h"
#include "record/table/text_grid.h"

#define HISTORY_SCHEMA "gamut.history/1"

struct history_options {
    /* alpha, threshold, gates (their metrics decide the verdict), leave_out, and force */
    struct compare_options compare;
    const char *workloads, *strategies, *devices; /* comma lists of patterns; NULL: all */
};

/* A history that is being put together. */
struct history;

/* The options are borrowed. The caller calls history_free. */
struct history *history_new(const struct history_options *options);
/* Adds a result, and copies what the history needs of it. A run that the history has already is left
 * out. `committed_at`: the time of its revision's commit in seconds since 1970; below 0: unknown. */
void history_add(struct history *h, json_t *root, const char *name, int64_t committed_at);
/* Notes that a file is left out. */
void history_leave_out(struct history *h, const char *name, const char *reason);
/* The history as JSON. The caller owns it. */
json_t *history_tree(struct history *h);
/* Frees the history. */
void history_free(struct history *h);

/* A grid with a row for each series that `show` selects. What happened stands in lines of their own for
 * TABLE_TEXT, else in the last cell. The history must outlive the grid; text_grid_free frees it. */
struct text_grid history_grid_of(const json_t *history, enum table_format format,
                                 enum compare_show show);

/* Adds how many series stepped in any run: "9 series: 2 with steps, 0 unsure, 7 steady, 0 with fewer than 2 runs". */
void history_counts(const json_t *history, struct text *out);

/* Prints a history: as JSON the tree, as CSV a line a point, else the series that `show` selects.
 * ERR_IO: writing failed. */
int history_print(const json_t *history, enum table_format format, enum compare_show show,
                  FILE *out, struct error *error);

#endif
