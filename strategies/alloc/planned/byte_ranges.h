/* Bytes of one memory, as ranges that neither overlap nor touch: the free ones, or those of strays.
 * Operations take logarithmic time.
 */
#pragma once

#include "alloc/piece_index.h"

struct byte_range {
    uint64_t begin, end;
};

struct byte_ranges {
    uint64_t bytes; /* in all ranges */
    struct slab ranges, nodes;
    struct piece_index by_end, by_size;
};

/* Makes an empty set, which must stay where it is. byte_ranges_clear frees what it comes to
 * hold. */
void byte_ranges_open(struct byte_ranges *r);
void byte_ranges_clear(struct byte_ranges *r);

/* Adds bytes of which the set has none; begin < end. */
void byte_ranges_add(struct byte_ranges *r, uint64_t begin, uint64_t end);
/* Removes bytes of which the set has all; begin < end. */
void byte_ranges_remove(struct byte_ranges *r, uint64_t begin, uint64_t end);

/* Whether the set has all of these bytes. */
bool byte_ranges_have(const struct byte_ranges *r, uint64_t begin, uint64_t end);
/* Whether the set has any of these bytes. */
bool byte_ranges_touch(const struct byte_ranges *r, uint64_t begin, uint64_t end);
/* The first range that ends at `end` or later; NULL: there is none. */
struct byte_range *byte_ranges_from(const struct byte_ranges *r, uint64_t end);
/* The smallest range of at least so many bytes, and of equal ones the lowest; NULL: there is
 * none. */
const struct byte_range *byte_ranges_best(const struct byte_ranges *r, uint64_t bytes);

/* The next in that order. */
const struct byte_range *byte_ranges_next(const struct byte_ranges *r,
                                          const struct byte_range *one);

/* The number of broken invariants. */
unsigned byte_ranges_check(const struct byte_ranges *r);
