/* What the files of the pass `place` share. */
#ifndef GAMUT_MERGE_PLACE_H
#define GAMUT_MERGE_PLACE_H

#include "merge/analysis.h"

/* The memory names that may be one another's block, as a forest: the root of the group that
 * `memory` is in. */
int place_group(int *group, int memory);

/* The extension `late`: blocks whose size the device computes go to a heap that it runs. `again`:
 * what stays will be looked at once more, and is not noted. */
void place_late(struct analysis *a, int *group, bool again);

#endif
