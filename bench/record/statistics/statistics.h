/* Robust statistics of a few numbers. Nothing here assumes a distribution. */
#ifndef GAMUT_RECORD_STATISTICS_H
#define GAMUT_RECORD_STATISTICS_H

#include <stddef.h>

struct statistics {
    size_t count;
    double median, min, max;
    double mad; /* median absolute deviation from the median, not scaled */
    /* A confidence interval of the median from order statistics: the narrowest pair of values,
     * counted equally far from both ends, between which the median lies with at least 95 %. NaN for
     * fewer than 6 values, where not even the extremes reach that. */
    double ci_lo, ci_hi, ci_level; /* the level it really has: 0.96875 for 6 values */
};

/* Everything is NaN for count 0. The values need no order and may not be NaN. */
struct statistics statistics_of(const double *values, size_t count);

/* The q-quantile (0 to 1) of values in ascending order, linear between neighbours. */
double statistics_quantile(const double *sorted, size_t count, double q);
void statistics_sort(double *values, size_t count);
/* The value at a place (from 0) of the ascending order, and the median, without sorting: for where
 * thousands are wanted. Both rearrange the values. */
double statistics_select(double *values, size_t count, size_t place);
double statistics_median(double *values, size_t count); /* NaN for count 0 */
/* NaN for count 0 or where a value is not positive. */
double statistics_geometric_mean(const double *values, size_t count);

#endif
