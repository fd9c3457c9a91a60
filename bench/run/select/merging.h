/* Merging with what a run knows: the scalars' values, and dry runs to choose by. */
#ifndef GAMUT_RUN_MERGING_H
#define GAMUT_RUN_MERGING_H

#include "merge/merge.h"
#include "workload.h"

/* Merges a copy of `fun` as the set `spec` says (merge/merge.h). `scalars`: see dry_run.h; NULL:
 * nothing is known, and the passes that need numbers do nothing. `time_limit_ns` is the exact
 * planner's, 0 for its default. An error of merge_parse or merge_run. */
int merging_run(const struct fun *fun, const char *spec, const struct arguments *scalars,
                int64_t time_limit_ns, struct merge **merged, struct error *error);

#endif
