/* A way to run: what cases have in common that differ at most in workload and dataset. What happens
 * to a way happens to many cases at once, and so can be seen where none of them shows it alone.
 */
#ifndef GAMUT_RECORD_WAY_H
#define GAMUT_RECORD_WAY_H

#include <jansson.h>
#include <stddef.h>

#include "base/arena.h"

struct way {
    json_t *key; /* {"id", "key"} as a case has them, with "*" for workload and dataset; owned */
    size_t count, room;
    size_t *member; /* places in what was given to way_list */
};

/* The ways of these cases, in the order in which they appear; NULL stands for no case. The caller
 * frees them. */
struct way *way_list(const json_t *const *cases, size_t count, size_t *way_count);
void way_list_free(struct way *ways, size_t count);

/* Logarithms of the fastest run of a metric in every round that all these cases have, one case
 * after the other; 0 ns count as 1, which is what the clock sees. Returns how many rounds. `values`
 * is of the arena. */
size_t way_rounds(const json_t *const *cases, size_t count, const char *metric, struct arena *arena,
                  double **values);

#endif
