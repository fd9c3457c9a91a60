/* The layout of an array at run time: its index function in numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "program/element.h"

/* Element [i, j] is at element offset + i * stride[0] + j * stride[1] of a memory. */
struct layout {
    unsigned rank;
    int64_t shape[RANK_MAX];
    int64_t offset;
    int64_t stride[RANK_MAX];
};

/* The number of elements. */
int64_t layout_count(const struct layout *l);
/* Do a and b have the same rank and extents? */
bool layout_same_shape(const struct layout *a, const struct layout *b);
/* Numbers of the first and last element in the memory; the layout must not be empty. */
void layout_range(const struct layout *l, int64_t *first, int64_t *last);
/* Are the elements one after the other in row-major order? */
bool layout_contiguous(const struct layout *l);
/* Do a and b, of the same shape, name the same elements in the same order? Compares normalised
 * layouts: dimensions of one element do not matter, nor how a run of elements is cut up. */
bool layout_equal(const struct layout *a, const struct layout *b);
/* Have a and b one shape, and name the same elements, if any, in the same order? */
bool layout_matches(const struct layout *a, const struct layout *b);
/* Might a and b, in the same memory and counted in the same elements, share an element? Exact for
 * all but pathological strides, for which the answer is yes. */
bool layout_overlap(const struct layout *a, const struct layout *b);
