/* Questions about the elements that statements touch, for the passes: what kernel texts (access.h)
 * and disjointness (disjoint.h) answer about arrays where they lie or would lie. */
#ifndef GAMUT_MERGE_TOUCH_H
#define GAMUT_MERGE_TOUCH_H

#include "merge/access/access.h"
#include "merge/disjoint.h"
#include "merge/merge.h"
#include "merge/outline.h"
#include "merge/size/size.h"

/* What is known for one state of a fun; analyses of kernels are made when they are first asked for.
 */
struct touch {
    struct merge *m;
    const struct outline *o;
    struct sizes *sizes;
    struct kernel_access **kernels; /* by position */
    struct arena arena;
};

void touch_open(struct touch *t, struct merge *m, const struct outline *o);
void touch_close(struct touch *t);

/* May the kernel at `position` write its result `out`, placed by `index`, over the arrays `killed`
 * that it reads, all of them in the same block? MERGE_ALLOWED or why not. */
enum merge_condition touch_in_place(struct touch *t, unsigned position, int out,
                                    const struct index_function *index, const int *killed,
                                    unsigned killed_count, const char **detail);
/* May two private arrays of the kernel at `position` be in one block? */
enum merge_condition touch_private(struct touch *t, unsigned position, int a, int b,
                                   const char **detail);
/* Does the statement at `position` touch, of the array `touched`, only what is surely not part of
 * `array` in the place `index`? Both are in the same block, and both statements in the scope
 * `outer`: of loops inside of it all iterations count. */
bool touch_elsewhere(struct touch *t, unsigned position, int touched, int array,
                     const struct index_function *index, unsigned outer);

/* Are `enough` bytes surely enough for `bytes`, as far as is known at position `at`? */
bool touch_enough_bytes(struct touch *t, const struct expr *enough, const struct expr *bytes,
                        unsigned at);

#endif
