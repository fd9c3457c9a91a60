/* The analyses of one state of a fun, opened and closed together: what a pass knows before it
 * changes anything. After a pass has moved or removed statements the next one opens its own. */
#ifndef GAMUT_MERGE_ANALYSIS_H
#define GAMUT_MERGE_ANALYSIS_H

#include "merge/access/access.h"
#include "merge/disjoint.h"
#include "merge/numbers.h"
#include "merge/pass.h"

struct analysis {
    struct merge *m;
    struct outline *o;
    struct memory_map *map;
    struct numbers *numbers;
    struct bound bound; /* only where merges may be vetoed (options.veto) */
    struct sizes *sizes;
    struct kernel_access **kernels; /* by position; made when they are first asked for */
    struct arena arena;
};

/* `how` is what memory_map_new is told. */
void analysis_open(struct analysis *a, struct merge *m, unsigned how);
void analysis_close(struct analysis *a);

/* ---- questions about the elements that statements touch ------------------------------------- */

/* May the kernel at `position` write its result `out`, placed by `index`, over the arrays `killed`
 * that it reads, all of them in the same block? MERGE_ALLOWED or why not. */
enum merge_condition analysis_in_place(struct analysis *a, unsigned position, int out,
                                       const struct index_function *index, const int *killed,
                                       unsigned killed_count, const char **detail);
/* May two private arrays of the kernel at `position` be in one block? */
enum merge_condition analysis_private(struct analysis *a, unsigned position, int x, int y,
                                      const char **detail);
/* Does the statement at `position` touch, of the array `touched`, only what is surely not part of
 * `array` in the place `index`? Both are in the same block, and both statements in the scope
 * `outer`: of loops inside of it all iterations count. */
bool analysis_elsewhere(struct analysis *a, unsigned position, int touched, int array,
                        const struct index_function *index, unsigned outer);

/* Are `enough` bytes surely enough for `bytes`, as far as is known at position `at`? */
bool analysis_enough_bytes(struct analysis *a, const struct expr *enough, const struct expr *bytes,
                           unsigned at);

#endif
