/* A shift that many cases share, between two sets with the same number of rounds.
 *
 * On a busy machine, rounds of one case differ by a fifth and more: ten rounds of one case cannot
 * show a shift of 5 %. But a disturbance only ever adds time, and there are many cases.
 *
 * Estimate: per case, the difference of the two sets' fastest rounds; then the median over cases
 * (for an even number, the middle value nearer to 0).
 *
 * p: the permutation test (Fisher; Pitman 1937). It deals whole rounds to the two sets in every
 * possible way; p is the fraction of deals whose estimate is at least as far from 0. A round keeps
 * its cases together, because they share what the machine did meanwhile. No distribution of the
 * values is assumed. If there are too many deals, a sample of them is drawn, the same every time.
 *
 * Interval: the shifts that the test does not reject, to 0.0001. p <= alpha exactly if the interval
 * leaves out 0. Two runs that were made in turns have more even sets than chance would deal, so
 * their p is larger than it need be.
 *
 * A shift of fewer than half of the cases, or of only some rounds, is not seen: the tests of single
 * cases find those. Swapping the sets mirrors the result exactly.
 */
#pragma once

#include <stddef.h>

#include "results/statistics/ranks.h"

/* With fewer cases, an accident in one of them moves the median. */
enum { SHARED_SHIFT_LEAST_CASES = 3 };

struct shared_rounds {
    size_t cases, count; /* count: rounds of each set, the same for all cases; at least 1 */
    const double *value; /* case after case: its rounds of the first set, then of the second */
};

/* The shift from the first to the second set. `finest` is the smallest p that the caller must be
 * able to distinguish from larger ones: it decides how many deals are drawn. */
struct rank_shift shared_shift(const struct shared_rounds *rounds, double alpha, double finest);

/* The estimate alone. */
double shared_shift_estimate(const struct shared_rounds *rounds);
