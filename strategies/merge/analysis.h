/* The analyses of one state of a fun, opened and closed together: what a pass knows before it
 * changes anything. After a pass has moved or removed statements the next one opens its own. */
#ifndef GAMUT_MERGE_ANALYSIS_H
#define GAMUT_MERGE_ANALYSIS_H

#include "merge/bound.h"
#include "merge/touch.h"

struct analysis {
    struct merge *m;
    struct outline *o;
    struct memory_map *map;
    struct numbers *numbers;
    struct touch touch;
    struct bound bound; /* only where merges may be vetoed (options.veto) */
};

/* `how` is what memory_map_new is told. */
void analysis_open(struct analysis *a, struct merge *m, unsigned how);
void analysis_close(struct analysis *a);

#endif
