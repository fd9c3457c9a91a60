/* A shift that many cases share, between two sets of as many rounds.
 *
 * On a machine that does other things too, rounds of one case differ by a fifth and more, and ten
 * of them tell nothing of 5 %. What disturbs a run only ever adds time, and there are many cases.
 * So the estimate is: of each case the difference between the fastest rounds of the sets, and of
 * these the median over cases; of two middle ones that which is nearer to 0.
 *
 * p is that of the permutation test (Fisher; Pitman 1937): the part of all ways to deal whole
 * rounds to the two sets whose estimate is as far from 0. A round keeps its cases together, because
 * they share what the machine did meanwhile; nothing is assumed of how values are distributed. Of
 * more deals than can be made a sample is drawn, the same every time. The interval holds the shifts
 * that the test does not reject, to 0.0001: p <= alpha exactly where it leaves out 0. Rounds that
 * were made in turns are dealt more evenly than by chance, which makes p larger than it need be.
 *
 * A shift of fewer than half of the cases is not seen, nor one of fewer rounds than all: both are
 * what single cases are for. Sets that swap mirror the result exactly.
 */
#ifndef GAMUT_RECORD_SHARED_SHIFT_H
#define GAMUT_RECORD_SHARED_SHIFT_H

#include <stddef.h>

#include "record/statistics/ranks.h"

/* With fewer there is no middle that an accident of one case can't move. */
enum { SHARED_SHIFT_LEAST_CASES = 3 };

struct shared_rounds {
    size_t cases, count; /* rounds of each set, the same for all cases; at least 1 */
    const double *value; /* of case after case: its rounds of the first set, then of the second */
};

/* Second less first set. `finest` is the smallest p that has to be told apart from larger ones. */
struct rank_shift shared_shift(const struct shared_rounds *rounds, double alpha, double finest);

/* The estimate alone. */
double shared_shift_estimate(const struct shared_rounds *rounds);

#endif
