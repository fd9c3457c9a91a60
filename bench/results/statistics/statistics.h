/* Robust statistics of a few numbers. Nothing here assumes a distribution. */
#pragma once

#include <stddef.h>

struct statistics {
    size_t count;
    double median, min, max;
    double mad; /* median absolute deviation from the median, not scaled */
    /* A confidence interval of the median from order statistics: the narrowest pair of values,
     * equally many places from both ends, that holds the median with at least 95 %. NaN for fewer
     * than 6 values: even the extremes do not reach that level. */
    double ci_lo, ci_hi, ci_level; /* ci_level: the interval's true level, 0.96875 for 6 values */
};

/* The statistics of values in any order, none of them NaN. Everything is NaN for count 0. */
struct statistics statistics_of(const double *values, size_t count);

/* The q-quantile (0 to 1) of values in ascending order, linear between neighbours. */
double statistics_quantile(const double *sorted, size_t count, double q);
/* Puts values into ascending order. */
void statistics_sort(double *values, size_t count);
/* The value with this rank (from 0) in ascending order, without sorting, because callers select
 * thousands of values. Rearranges the values. */
double statistics_select(double *values, size_t count, size_t rank);
/* The median, without sorting; NaN for count 0. Rearranges the values. */
double statistics_median(double *values, size_t count);
/* The geometric mean; NaN for count 0 or if a value is not positive. */
double statistics_geometric_mean(const double *values, size_t count);
