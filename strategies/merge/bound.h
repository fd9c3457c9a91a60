/* How much memory the packed program would need at least: the most bytes that are alive at once.
 * `best` refuses merges that raise it. */
#ifndef GAMUT_MERGE_BOUND_H
#define GAMUT_MERGE_BOUND_H

#include "merge/memory.h"
#include "merge/numbers.h"

struct bound {
    unsigned count; /* positions */
    int64_t *live;  /* bytes alive at each; blocks of unknown size count nothing */
    int64_t *trial;
    int64_t peak;
};

void bound_open(struct bound *b, const struct memory_map *map, const struct numbers *numbers);
void bound_close(struct bound *b);

/* A trial: changes are made to a copy, then kept if the peak is no higher for them. */
void bound_begin(struct bound *b);
void bound_add(struct bound *b, const struct spans *spans,
               int64_t bytes); /* negative: taken away */
bool bound_keep(struct bound *b);

#endif
