/* May two regions of a block share an element? Sound and incomplete, for symbolic sizes.
 *
 * A region is an LMAD: the elements offset + i0 * stride0 + i1 * stride1 + … for 0 <= ik < extentk.
 * The tests are those of array short-circuiting (Munksgaard, Henriksen, Sadayappan, Oancea 2022):
 * ranges, common divisors of strides, and intervals a dimension.
 */
#pragma once

#include "merge/size/size.h"

enum { REGION_RANK_MAX = 12 };

struct region_dim {
    const struct poly *extent, *stride;
};

struct region {
    bool known; /* false: it may be the whole block */
    unsigned element_bytes;
    const struct poly *offset; /* this and the strides count elements */
    unsigned rank;
    struct region_dim dim[REGION_RANK_MAX];
};

/* All elements of an array; for a private array, those of all threads. Not known if it has no
 * block. */
struct region region_of_array(struct sizes *s, int array);
/* The part of `whole`, the region of an array, that a slice of that array takes. */
struct region region_slice(struct sizes *s, const struct region *whole,
                           const struct slice_dim *slice, unsigned rank);
/* The union of r over `count` values of the counter: first, first + 1, …. If `first`
 * mentions the counter, it means the counter's value in the current iteration. The result may be
 * larger than the union if r changes its extents. It is unknown if r depends on more of the
 * iteration than the counter. */
struct region region_over(struct sizes *s, const struct region *r, int counter,
                          const struct poly *first, const struct poly *count);
/* The same over all iterations of the loop, or all threads of the kernel, that has this counter. */
struct region region_over_all(struct sizes *s, const struct region *r, int counter);

/* Adds "offset; extent by stride; …", or "unknown". */
void region_print(const struct sizes *s, const struct region *r, struct text *text);

/* What proved it, or where the proof stopped: "… stride", and that stride. */
struct disjoint_proof {
    const char *rule;
    const struct poly *stride; /* may be NULL */
};

/* Is it proved that a and b share no element in any run that reaches `position` (size.h)? *proof
 * (`proof` may be NULL) says why, or why not. */
bool disjoint_proved(struct sizes *s, const struct region *a, const struct region *b,
                     unsigned position, struct disjoint_proof *proof);
