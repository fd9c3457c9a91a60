/* All analyses of one state of a fun, opened and closed together. A pass opens them before it
 * changes anything; once it has moved or removed statements they are out of date. */
#pragma once

#include "merge/access/access.h"
#include "merge/disjoint.h"
#include "merge/numbers.h"
#include "merge/pass.h"

struct analysis {
    struct merge *m;
    struct outline *o;
    struct memory_map *map;
    struct numbers *numbers;
    struct bound bound; /* only if merges may be vetoed (options.veto) */
    struct sizes *sizes;
    struct kernel_access **kernels; /* by position; each is made at its first use */
    struct text
        proof; /* what analysis_elsewhere compared, and what it proved; who asks empties it */
    struct arena arena;
};

/* Opens all analyses of m->fun; `how`: the flags of memory_map_new. Close with analysis_close. */
void analysis_open(struct analysis *a, struct merge *m, unsigned how);
void analysis_close(struct analysis *a);

/* ---- questions about the elements that statements touch ------------------------------------- */

/* May the kernel at `position` write its result `out`, laid out by `index`, over the arrays
 * `killed` that it reads, if all are in one block? Returns MERGE_ALLOWED or the condition that
 * forbids it; *detail (`detail` may be NULL) is then a sentence with the reason. */
enum merge_condition analysis_in_place(struct analysis *a, unsigned position, int out,
                                       const struct index_function *index, const int *killed,
                                       unsigned killed_count, const char **detail);
/* May the private arrays x and y of the kernel at `position` be in one block? Returns as above. */
enum merge_condition analysis_private(struct analysis *a, unsigned position, int x, int y,
                                      const char **detail);
/* Is it proved that the statement at `position` touches no element of `touched` that is also one of
 * `array`? Both arrays are in one block; `index` lays out `array`. The statement, and the one that
 * makes `array`, are in the scope `outer`; all iterations of the loops inside it count. */
bool analysis_elsewhere(struct analysis *a, unsigned position, int touched, int array,
                        const struct index_function *index, unsigned outer);

/* Is it proved, from what is known at position `at`, that `enough` >= `bytes`? */
bool analysis_enough_bytes(struct analysis *a, const struct expr *enough, const struct expr *bytes,
                           unsigned at);

/* ---- copies between the private arrays of the kernel at `position` -------------------------- */

struct access_copies analysis_copies(struct analysis *a, unsigned position);
/* Is the copy the last use of its source, in every thread? */
bool analysis_copied_last(struct analysis *a, unsigned position, const struct access_copy *copy);
/* Is it proved that all of the source, and not only what is copied, has room in the destination? */
bool analysis_copied_inside(struct analysis *a, unsigned position, const struct access_copy *copy);
/* `index` lays the source out in its place in the destination. Is it proved that the destination,
 * or a private array in its block (`other`), is not used in that place before the copy? */
bool analysis_copied_apart(struct analysis *a, unsigned position, const struct access_copy *copy,
                           const struct index_function *index, int other);
