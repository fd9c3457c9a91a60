/* Reads a case of a result, or a row of an experiment.
 *
 * The samples of one process are not independent, so every number over rounds starts from one
 * median a round, and intervals are over rounds. */
#pragma once

#include <stddef.h>

#include "results/file/result.h"
#include "results/statistics/statistics.h"

/* ---- its members ---- */

/* The statistics of a sampled metric; never NULL: everything is unknown where there are none. */
const struct result_stat *measured_stat(const struct result_case *one, const char *metric);
/* One of them by its name in a file: "median", "ci_lo", "p90", …; NaN if unknown. */
double measured_stat_named(const struct result_stat *stat, const char *name);
/* The median of wall_ns; NaN if unknown. */
double measured_wall_ns(const struct result_case *one);

/* The counters of a case that is ok; NULL if it is not, or none were counted. */
const struct exact_counts *measured_cold(const struct result_case *one);
const struct exact_counts *measured_warm(const struct result_case *one);
/* The larger value of a counter in the cold and the warm run; NaN if unknown or the case is not
 * ok. */
double measured_peak(const struct result_case *one, const char *name);
/* The driver calls among counters: NaN if there are no counts at all, or `counts` is NULL. */
double measured_driver_calls(const struct exact_counts *counts);

/* The part of the cost model's error that the measurement's own spread does not explain: the
 * distance by which the predicted time lies outside of the interval of the measured one, as a part
 * of the median; 0 within it. NaN without a prediction or an interval. */
double measured_unexplained(const struct result_case *one);

/* The case's ratio over the baseline of its device, which is raw unless the case has `speedup`. */
const struct statistics *measured_speedup(const struct result_case *one);

/* The case's key as words: "canny medium cuda:0 none last-use pool". Returns `out`. */
enum { MEASURED_WORDS = sizeof(struct case_key) + 8 };
char *measured_words(char out[MEASURED_WORDS], const struct result_case *one);

/* ---- its rounds ---- */

/* The samples of a metric in a round; NULL if it has none. */
const struct result_numbers *measured_samples(const struct result_round *round, const char *metric);
/* A number for each round of a case; the arena that makes it owns both arrays. */
struct measured_series {
    size_t count;
    double *round, *value;
};
/* The median of a sampled metric in each round where it is known; none unless the case is ok. */
struct measured_series measured_medians(struct arena *arena, const struct result_case *one,
                                        const char *metric);
/* The same with the fastest run of each round. */
struct measured_series measured_fastest(struct arena *arena, const struct result_case *one,
                                        const char *metric);
/* The number of a round; NaN if there is none. Most rounds have the same index in all cases of a
 * file, so `guess` is tried first. */
double measured_in_round(const struct measured_series *series, double round, size_t guess);
/* The wall time of one case over that of another, one ratio of medians for each round that both
 * have. count 0 if a case is NULL or not ok. */
struct statistics measured_ratio(const struct result_case *over, const struct result_case *under);
/* The first of the worst rounds; NULL if there are no rounds. Skipped rounds count only if all are
 * skipped. */
const struct result_round *measured_worst_round(const struct result_case *one);
/* The number of skipped rounds; *first receives the first of them, if there is one. */
size_t measured_skipped(const struct result_case *one, const struct result_round **first);
