/* Shifts between two small sets of numbers by ranks alone: no distribution is assumed.
 *
 * The estimate is that of Hodges and Lehmann (1963): the median of all differences y - x, or of the
 * averages of all pairs (Walsh) of one set of differences. The interval are two of these
 * differences counted equally far from both ends, and p belongs to the test that the interval
 * inverts (Mann and Whitney; Wilcoxon): p <= alpha exactly where the interval leaves out 0. Ties
 * count against a claim: a difference of 0 stands on the side that makes p larger.
 *
 * The distribution is exact for up to RANKS_EXACT differences, beyond that it is normal with the
 * usual corrections for ties and continuity.
 */
#ifndef GAMUT_RECORD_RANKS_H
#define GAMUT_RECORD_RANKS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    RANKS_EXACT = 400,
    RANKS_LEAST_ROUNDS = 6, /* as for intervals of one median (record/statistics/statistics.h) */
};

struct rank_shift {
    double estimate; /* of y - x; NaN for an empty set */
    double lo, hi;   /* infinite where there are too few values for the level */
    double level;    /* that the interval really has where nothing is tied: at least 1 - alpha */
    double p;        /* of two sides */
};

/* The null distribution of the last sizes asked for, because one pair of files has thousands of
 * rows of the same sizes. Zero it, and free it in the end. */
struct rank_table {
    size_t n, m; /* m 0: of n differences that are paired */
    double alpha;
    double *at_most; /* P(U <= u) */
    double *pairs;   /* room for all differences */
    size_t room;
    long cut; /* the largest u with P(U <= u) <= alpha / 2; -1: none */
};
void rank_table_free(struct rank_table *table);

struct rank_shift rank_shift_between(struct rank_table *table, const double *x, size_t n,
                                     const double *y, size_t m, double alpha);
/* Of paired differences, each y - x. */
struct rank_shift rank_shift_paired(struct rank_table *table, const double *differences, size_t n,
                                    double alpha);

/* The fewest rounds, the same on both sides, for which any p can be as small as `alpha`. */
unsigned rank_least_rounds(double alpha, bool paired);

/* Holm's adjustment (1979): comparing with alpha what is written to `adjusted` keeps the
 * probability of any false claim among all `count` at alpha, however they depend on each other. */
void rank_holm(const double *p, size_t count, double *adjusted);

#endif
