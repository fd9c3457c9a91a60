/* Compares results: which values became better or worse, whether the change is established, and
 * whether it matters.
 *
 * Exact counters are compared by equality, sampled metrics by the shift between two sets of rounds
 * (results/statistics/ranks.h): logarithms of one median a round, so that a shift is a ratio.
 *
 *   slower, faster   the adjusted p is at most alpha (so the interval leaves out 1) and the
 *                    estimate is beyond D and the noise floor
 *   same             the interval lies within D to both sides
 *   unsure           else; the row says how many rounds would settle it
 *
 * A configuration is how a case is run (results/compare/noise.h). Each configuration with
 * three cases or more has a row over all its cases for each gated metric: the shift that they share
 * (results/statistics/shared_shift.h), from the fastest run of each round. It finds changes that
 * single cases hide in the noise of a busy machine. Times are not normalised by a reference
 * strategy: a ratio could not tell which of the two changed, and a faster `raw` would make all
 * others look slower. Each strategy has its own row, also the reference; a change of everything
 * shows in all rows. The files need not have been made in turns: a configuration has a noise floor
 * of its own, and beyond it the row is as sound as those of single cases.
 *
 * p-values are adjusted (Holm) within each family: single cases, and rows over cases. If both
 * families exist each gets half of alpha, so an adjusted p is doubled. A large number of cases then
 * cannot hide what all of them show.
 *
 * Rows of experiments are compared as cases are (rows.c says by which gates). They have no
 * rows over cases.
 *
 * D is the limit of the metric's gate, or the threshold for a metric without a gate. The noise
 * floor is in the files (results/compare/noise.h), and is 0 if their rounds were made in turns.
 * Below it no number of rounds can distinguish a change from a drift of the machine. Ratios are
 * judged by their logarithms, so 2 % more is as far as 1/1.02: swapping the two files mirrors every
 * row.
 *
 * A difference between the files (context_diff.c has every fact and its effect) leaves out the
 * times of a case, or drops the case; the rest is compared. Both make an outcome unsure, because
 * nothing is known about the times and cases left out.
 *
 * The result is one JSON tree (docs/comparisons.md). Everything that is printed comes
 * from it, and the exit code depends on it alone.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "results/compare/gates.h"
#include "results/show/table.h"
#include "results/show/text_grid.h"

#define COMPARE_SCHEMA "gamut.compare/1"

/* The probability of one false claim or more over all gated rows: at most one comparison in 20 of a
 * build with itself fails. Six paired rounds reach p = 0.031; a smaller alpha would need more. */
#define COMPARE_ALPHA 0.05

/* X(name, help): the verdicts of a row. */
#define COMPARE_VERDICT_LIST(X)                                                                    \
    X(faster, "less time")                                                                         \
    X(same, "no change that matters")                                                              \
    X(slower, "more time")                                                                         \
    X(smaller, "an exact counter fell")                                                            \
    X(larger, "an exact counter rose")                                                             \
    X(unsure, "neither a change nor its absence is established")                                   \
    X(new, "only the new file has the case, or has it without a failure")                          \
    X(gone, "the new file lacks the case")                                                         \
    X(wrong, "the case failed in the new file alone")                                              \
    X(dropped, "the case is ok in both files, but what was run is not the same: not compared")

/* X(name, help): the outcomes of a comparison. The first one that applies is the outcome. */
#define COMPARE_OUTCOME_LIST(X)                                                                    \
    X(incomparable, "nothing that is gated was compared")                                          \
    X(failed, "a case failed or is gone")                                                          \
    X(regression, "a gated metric is worse, beyond its limit")                                     \
    X(unsure, "no regression, but some gated metric is unsure")                                    \
    X(ok, "no gated metric is worse")

#define COMPARE_OUTCOME(name, ...) COMPARE_##name,
enum compare_outcome { COMPARE_OUTCOME_LIST(COMPARE_OUTCOME) };

struct compare_file {
    const struct result *result; /* borrowed; its rounds need not be summarised */
    const char *name;            /* the name that the user gave */
};

struct compare_options {
    double threshold; /* limit of sampled metrics without a gate: 0.02 */
    struct gates gates;
    bool leave_out[GATES_MAX]; /* metrics that are not compared; in the order of counter_list */
    bool force;                /* leave out and drop nothing */
    bool keep_equal;           /* equal exact counters have rows too */
};

/* Compares each candidate with the base, case by case, and their experiments row by row. Files of
 * which nothing can be compared are no error: the tree says so. ERR_USAGE: the threshold is out of
 * range. The caller owns *comparison. */
int compare_results(const struct compare_file *base, const struct compare_file *candidate,
                    size_t candidate_count, const struct compare_options *options,
                    json_t **comparison, struct error *error);

/* Compares within one file, round by round: each case with the one whose key differs only in one
 * member. `by` is "MEMBER=VALUE" ("strategy=raw"): the value of that member in the base. The tree
 * has the file's answer too (results/file/answer.h). ERR_USAGE: there is no such member, or no
 * case has the value. The caller owns *comparison. */
int compare_within(const struct compare_file *file, const char *by,
                   const struct compare_options *options, json_t **comparison, struct error *error);

/* The i-th sentence about what changed or is unsure, after the one that `sentence` begins with.
 * NULL after the last. */
const char *compare_finding(const json_t *comparison, size_t i);

/* The outcome that a comparison's tree states. */
enum compare_outcome compare_outcome(const json_t *comparison);

/* The rows that are printed, in the order in which --show lists them: all|changed|worst. */
enum compare_show {
    COMPARE_SHOW_ALL,     /* every row */
    COMPARE_SHOW_CHANGED, /* what changed, and what is gated and unsure */
    COMPARE_SHOW_WORST,   /* what decides the verdict, worst first */
};

/* Prints a comparison. JSON is the tree with the rows that `show` selects. ERR_IO: writing failed.
 */
int compare_print(const json_t *comparison, enum table_format format, enum compare_show show,
                  FILE *out, struct error *error);

/* The rows of a comparison as a grid of texts, for the terminal, Markdown and the report. */

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
    LINE_VERDICT,
};

/* The rows that `show` selects, in the order in which they are printed. The caller owns the array.
 */
json_t *compare_select(const json_t *comparison, enum compare_show show);
/* Prints the files that were compared, what they differ in, and how many rows have which verdict,
 * with `end` after each line. */
void compare_print_files(const json_t *comparison, const char *end, FILE *out);
/* A grid with one row for each of `rows`, in their order. A column that names rows is hidden if
 * all its cells are the same. The comparison must outlive the grid; text_grid_free frees it. */
struct text_grid compare_grid_of(const json_t *comparison, const json_t *rows);
