/* What follows from the rounds of a thing that was measured in several: of a case, or of a row of
 * an experiment. Both have `status`, `reason`, `warnings` and `rounds`, and a round has `status`,
 * `reason` and `samples`. Samples of one process are not independent, so every number starts from
 * one median a round; intervals are over rounds. */
#ifndef GAMUT_RECORD_ROUNDS_TREE_H
#define GAMUT_RECORD_ROUNDS_TREE_H

#include <jansson.h>
#include <stdbool.h>

#include "record/facts/case.h"
#include "record/statistics/statistics.h"

/* The known values of one metric in one round; `out` has room for as many as there are samples.
 * Returns how many. */
size_t rounds_known_values(const json_t *round, const char *metric, double *out);

/* The stats of one metric; NULL where it was never known. The caller owns them. */
json_t *rounds_metric_stats(const json_t *rounds, const char *metric);
void rounds_put_interval(json_t *out, const struct statistics *s);

bool rounds_round_was(const json_t *round, enum case_status status);

/* Sets status and reason: it is as bad as its worst round, skipped ones aside where others were
 * run. Rounds that a good one had to leave out are told as a warning. Returns if all rounds were
 * skipped. */
bool rounds_judge(json_t *one);

/* Adds to `warnings`, unless it has one of this code and subject: the first tells enough. */
void rounds_warn(json_t *one, const char *code, const char *subject, const char *detail);

#endif
