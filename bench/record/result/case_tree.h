/* Reads a case in a result's tree, or a row of an experiment, and computes its status and
 * statistics from its rounds. Both have `status`, `reason`, `warnings`, `stats` and `rounds`; a
 * round has `round`, `status`, `reason` and `samples`.
 *
 * The samples of one process are not independent, so every number over rounds starts from one
 * median a round, and intervals are over rounds. */
#ifndef GAMUT_RECORD_RESULT_CASE_TREE_H
#define GAMUT_RECORD_RESULT_CASE_TREE_H

#include <jansson.h>
#include <stdbool.h>

#include "record/facts/case.h"
#include "record/statistics/statistics.h"

/* ---- its members ---- */

/* Does a case, row or round have this status? case_is_ok and case_is_skipped ask for one. */
bool case_has_status(const json_t *one_case, enum case_status status);
bool case_is_ok(const json_t *one_case);
bool case_is_skipped(const json_t *one_case);

/* The larger value of a counter in the cold and the warm run; NaN if unknown or the case is not
 * ok. */
double case_peak(const json_t *one_case, const char *name);

/* The driver calls in an object of counters: NaN if there are no counts at all. A counter that an older
 * file lacks counts as 0. */
double case_driver_calls(const json_t *counts);

/* The device with the id, in the context of a file; NULL if the file has none. */
const json_t *case_device(const json_t *root, const char *id);

/* Has any case of the device, or of any device if it is NULL, a time? A replay has none. */
bool case_some_has_time(const json_t *root, const char *device);

/* A number of stats.<metric>: "median", "ci_lo", …; NaN if unknown. */
double case_stat(const json_t *one_case, const char *metric, const char *name);
/* What the measurement's own spread leaves of the cost model's error: how far the predicted time lies
 * outside of the interval of the measured one, as a part of the median; 0 within it. NaN without a
 * prediction or an interval. */
double case_model_unexplained(const json_t *one_case);

/* The case's ratio over the baseline of its device, which is raw unless the case has `speedup`. */
const json_t *case_speedup(const json_t *one_case);

/* Do two cases of the device differ in this member of their keys? */
bool case_keys_differ(const json_t *root, const char *device, const char *member);

/* The case's key as words: "canny medium cuda:0 none last-use pool". Returns `out`. */
char *case_words(char out[512], const json_t *one_case);

/* ---- its rounds ---- */

/* The median of a sampled metric in each round where it is known. Both arrays have room for one
 * number a round. Returns how many there are: 0 unless the case is ok. */
size_t case_round_medians(const json_t *one_case, const char *metric, double *round_number,
                          double *median);
/* The same with the fastest run of each round. */
size_t case_round_fastest(const json_t *one_case, const char *metric, double *round_number,
                          double *fastest);
/* The wall time of one case over that of another, one ratio of medians for each round that both
 * have. count 0 if a case is NULL or not ok. */
struct statistics case_ratio(const json_t *over, const json_t *under);

/* ---- status and statistics from the rounds ---- */

/* The statistics of one metric over rounds; NULL if it was never known. The caller owns them. */
json_t *case_metric_stats(const json_t *rounds, const char *metric);
/* Adds rounds, median, ci_lo, ci_hi and ci_level to an object. */
void case_put_interval(json_t *out, const struct statistics *s);
/* Removes every time of a case or row: statistics, and the samples of all rounds. */
void case_drop_times(json_t *one);
/* The first of the worst rounds; NULL if there are no rounds. Skipped rounds count only if all are
 * skipped. */
const json_t *case_worst_round(const json_t *one);
/* Sets status and reason to those of the worst round. A wrong one loses its times: that the answer
 * was right in other rounds makes them no times of right answers. Returns whether all rounds were
 * skipped; if only some were, a warning reports them. */
bool case_judge(json_t *one);
/* Adds a warning, unless there is one with this code and subject. */
void case_warn(json_t *one, const char *code, const char *subject, const char *detail);

#endif
