/* Shifts between two small sets of numbers by ranks alone: no distribution is assumed.
 *
 * Estimate: Hodges and Lehmann (1963), the median of all differences y - x; for paired differences,
 * the median of the averages of all pairs of them (Walsh). Interval: two of these differences,
 * equally many places from both ends. p: the test that the interval inverts (Mann and Whitney;
 * Wilcoxon), so p <= alpha exactly if the interval leaves out 0. Ties count against a claim: a
 * difference of 0 stands on the side that makes p larger.
 *
 * The distribution is exact for up to RANKS_EXACT differences. Beyond that it is normal, with the
 * usual corrections for ties and continuity.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    RANKS_EXACT = 400,
    RANKS_LEAST_ROUNDS = 6, /* as for intervals of one median (results/statistics/statistics.h) */
};

struct rank_shift {
    double estimate; /* y - x; NaN for an empty set */
    double lo, hi;   /* infinite if there are too few values for the level */
    double level;    /* the interval's true level without ties: at least 1 - alpha */
    double p;        /* two-sided */
};

/* The null distribution for the sizes of the last call: one pair of files has thousands of rows
 * with the same sizes. It starts as zeros; the caller frees it with rank_table_free. */
struct rank_table {
    size_t n, m; /* sizes of the sets; m 0: n paired differences */
    double alpha;
    double *at_most; /* P(U <= u) */
    double *pairs;   /* room for all differences */
    size_t room;
    long cut; /* the largest u with P(U <= u) <= alpha / 2; -1: none */
};
/* Frees what the table owns. */
void rank_table_free(struct rank_table *table);

/* The shift from n values x to m values y. */
struct rank_shift rank_shift_between(struct rank_table *table, const double *x, size_t n,
                                     const double *y, size_t m, double alpha);
/* The shift of n paired differences, each y - x. */
struct rank_shift rank_shift_paired(struct rank_table *table, const double *differences, size_t n,
                                    double alpha);

/* The fewest rounds of each side (if paired: pairs) with which p can be as small as `alpha`. */
unsigned rank_least_rounds(double alpha, bool paired);

/* Holm's adjustment (1979). If a claim is made for each adjusted p <= alpha, the probability of any
 * false claim among all `count` is at most alpha, however the tests depend on each other.
 * `adjusted` has room for `count` numbers. */
void rank_holm(const double *p, size_t count, double *adjusted);
