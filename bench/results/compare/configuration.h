/* A configuration is how a case is run: its key without workload and dataset. A change of one
 * configuration changes many cases at once, so it can be seen even if no single case shows it.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "results/file/result.h"

struct configuration {
    struct result_case as; /* id and key alone, with "*" for workload and dataset */
    unsigned count, room;
    size_t *member; /* `count` indices into the cases given to configurations_of */
};

/* The configurations of these cases, in the order in which they appear. A NULL among the cases is
 * skipped. The arena owns them. */
struct configuration *configurations_of(struct arena *arena, const struct result_case *const *cases,
                                        size_t count, size_t *configuration_count);

/* Sets *values to the logarithms of the fastest run of a time in every round that all these cases
 * have: first all rounds of the first case, then those of the next. 0 ns counts as 1 ns, the
 * resolution of the clock. Returns the number of rounds. The arena owns *values. */
size_t configuration_rounds(const struct result_case *const *cases, size_t count,
                            const char *metric, struct arena *arena, double **values);
