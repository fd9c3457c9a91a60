/* Comparing results: what became better or worse, whether that is established, and whether it
 * matters.
 *
 * Exact counters are compared by equality, sampled metrics by the shift between two sets of rounds
 * (record/statistics/ranks.h): logarithms of one median a round, so that a shift is a ratio.
 *
 *   slower, faster   the adjusted p is at most alpha (so the interval leaves out 1) and the
 *                    estimate is beyond D and the noise floor
 *   same             the interval lies within D to both sides
 *   unsure           else: with the rounds that would settle it
 *
 * Of every way to run with three cases and more (record/compare/configuration.h: the same but for workload and
 * dataset) each gated metric has a row over all its cases too: the shift that they share
 * (record/statistics/shared_shift.h), from the fastest run of each round. It finds what single cases hide in
 * the noise of a busy machine. Nothing is divided by another strategy's time: of two strategies
 * that drift apart it would not tell which one changed, and if `raw` became faster, all others
 * would seem slower. Each strategy has its own row, the reference among them; a change of
 * everything shows in all. It is sound for files that were not made in turns too, as far as single
 * cases are: beyond the noise floor, which the way has of its own.
 *
 * A p is adjusted over the gated tests of single cases, or over those over cases, and doubled where
 * there are both: either family has half of alpha. So many cases can't hide what all of them show.
 *
 * Rows of experiments are compared as cases are (compare_experiment.c says by which gates); they have
 * no rows over cases.
 *
 * D is the limit of the metric's gate, for a metric without one the threshold. The noise floor is
 * what the files know of it (record/compare/noise.h), nothing where their rounds were made in turns: below
 * it, no number of rounds tells a change from a drift of the machine. Ratios are judged by their
 * logarithms, so 2 % more is as far as 1/1.02: swapping the two files mirrors every row.
 *
 * The result is one JSON tree (results/README.md, "Comparisons"), from which everything is printed
 * and on which alone the exit code depends.
 */
#ifndef GAMUT_RECORD_COMPARE_H
#define GAMUT_RECORD_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "record/compare/compare_gate.h"
#include "record/table/table.h"

#define COMPARE_SCHEMA "gamut.compare/1"

/* X(name, help): of a row. */
#define COMPARE_VERDICT_LIST(X)                                                                    \
    X(faster, "less time")                                                                         \
    X(same, "no change that matters")                                                              \
    X(slower, "more time")                                                                         \
    X(smaller, "an exact counter fell")                                                            \
    X(larger, "an exact counter rose")                                                             \
    X(unsure, "neither a change nor its absence is established")                                   \
    X(new, "only the new file has the case, or has it without a failure")                          \
    X(gone, "the new file lacks the case")                                                         \
    X(wrong, "the case failed in the new file alone")

/* X(name, help): of a comparison, the one that decides first standing first. */
#define COMPARE_OUTCOME_LIST(X)                                                                    \
    X(incomparable, "the files are not of the same thing; nothing was compared")                   \
    X(failed, "a case failed or is gone")                                                          \
    X(regression, "a gated metric is worse, beyond its limit")                                     \
    X(unsure, "no regression, but some gated metric is unsure")                                    \
    X(ok, "no gated metric is worse")

enum compare_outcome {
#define X(name, help) COMPARE_##name,
    COMPARE_OUTCOME_LIST(X)
#undef X
};

struct compare_file {
    const json_t *root; /* a result, borrowed; its rounds need not be summarised */
    const char *name;   /* how the user calls it */
};

struct compare_options {
    double alpha;     /* of any false claim that something changed, over all gated rows: 0.05 */
    double threshold; /* of sampled metrics without a gate: 0.02 */
    struct gates gates;
    bool leave_out[GATES_MAX]; /* metrics that are not compared, in the order of counter_list */
    bool force;                /* go on with what is not comparable */
    bool keep_equal;           /* rows also for exact counters that are equal */
};

/* Compares each of the new files with the base, case by case and row by row of experiments. What is not comparable is no error:
 * the tree says so. ERR_USAGE for options that make no sense. The caller owns *comparison. */
int compare_results(const struct compare_file *base, const struct compare_file *candidate,
                    size_t candidate_count, const struct compare_options *options,
                    json_t **comparison, struct error *error);

/* Compares within one file, round by round: every case with the one that has the same key but for
 * one member. `by` is "MEMBER=VALUE" ("strategy=raw"); ERR_USAGE for what the file lacks. */
int compare_within(const struct compare_file *file, const char *by,
                   const struct compare_options *options, json_t **comparison, struct error *error);

enum compare_outcome compare_outcome(const json_t *comparison);

/* X(NAME, word, help): which rows are printed. */
#define COMPARE_SHOW_LIST(X)                                                                       \
    X(ALL, "all", "every row")                                                                     \
    X(CHANGED, "changed", "what changed, and what is gated and unsure")                            \
    X(WORST, "worst", "what decides the verdict, worst first")

enum compare_show {
#define X(name, word, help) COMPARE_SHOW_##name,
    COMPARE_SHOW_LIST(X)
#undef X
};

/* Prints a comparison; JSON is the tree with the rows that `show` leaves. ERR_IO. */
int compare_print(const json_t *comparison, enum table_format format, enum compare_show show,
                  FILE *out, struct error *error);

#endif
