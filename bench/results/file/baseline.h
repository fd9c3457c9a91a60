/* A baseline: the cases that the ratios of a run are over. It is a key whose empty members are not
 * named; workload, dataset and device never are.
 *
 * The baseline of a case has the same work (workload, dataset, device) and every named member. The
 * members that are not named:
 *
 *   - the residency is the case's own
 *   - merge set and release policy are the case's own, unless a strategy is named: then they are
 *     "none" and "last-use" if the result has such a case. `raw` is a driver call a request, and
 *     merging would hide some of them
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/facts/case.h"

/* X(member): what a baseline can name. */
#define BASELINE_LIST(X) X(strategy) X(merge) X(release) X(residency)

/* `raw`: the baseline if none is named. */
extern const struct case_key baseline_raw;

/* Reads the names of a strategy, a merge set, a release policy or a residency, separated by commas:
 * "pool", "none", "pool,best". Each must be that of one of the `keys`. ERR_USAGE names the nearest
 * name. */
int baseline_read(const char *names, const struct case_key *keys, size_t count,
                  struct case_key *baseline, struct error *error);

/* The fitness of a case as the baseline of another one of the same work: 0 is best, -1 is not at
 * all. */
int baseline_rank(const struct case_key *baseline, const struct case_key *of,
                  const struct case_key *candidate);

/* Are the named members the same? */
bool baseline_same(const struct case_key *a, const struct case_key *b);

/* Writes the named members: "raw", "pool, best". Returns `out`. */
char *baseline_words(char out[384], const struct case_key *baseline);
