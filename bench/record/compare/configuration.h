/* A configuration is how a case is run: its key without workload and dataset. A change of one
 * configuration changes many cases at once, and so can be seen where no single case shows it.
 */
#ifndef GAMUT_RECORD_CONFIGURATION_H
#define GAMUT_RECORD_CONFIGURATION_H

#include <jansson.h>
#include <stddef.h>

#include "base/arena.h"

struct configuration {
    json_t *key; /* {"id", "key"} as a case has them, with "*" for workload and dataset; owned */
    size_t count, room;
    size_t *member; /* indices of the cases given to configurations_of */
};

/* The configurations of these cases, in the order in which they appear; NULL stands for no case. The
 * caller frees them with configurations_free. */
struct configuration *configurations_of(const json_t *const *cases, size_t count,
                                        size_t *configuration_count);
void configurations_free(struct configuration *configurations, size_t count);

/* Logarithms of the fastest run of a metric in every round that all these cases have, one case
 * after the other; 0 ns count as 1, which is what the clock sees. Returns how many rounds. `values`
 * is of the arena. */
size_t configuration_rounds(const json_t *const *cases, size_t count, const char *metric,
                            struct arena *arena, double **values);

#endif
