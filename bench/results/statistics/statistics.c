#include "results/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static const double confidence = 0.95;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void statistics_sort(double *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof *values, ascending);
}

double statistics_quantile(const double *sorted, size_t count, double q)
{
    if (count == 0)
        return NAN;
    const double position = q * (double)(count - 1);
    const size_t below = (size_t)position;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* Hoare's selection: no value before `rank` is larger than the one there, none after it smaller. */
double statistics_select(double *values, size_t count, size_t rank)
{
    size_t first = 0, last = count - 1;
    while (first < last) {
        const double pivot = values[first + (last - first) / 2];
        size_t i = first, j = last;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i >= j)
                break;
            double held = values[i];
            values[i++] = values[j];
            values[j--] = held;
        }
        if (rank <= j)
            last = j;
        else
            first = j + 1;
    }
    return values[rank];
}

double statistics_median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    const double upper = statistics_select(values, count, count / 2);
    if (count % 2)
        return upper;
    double lower = values[0];
    for (size_t i = 1; i < count / 2; i++)
        lower = values[i] > lower ? values[i] : lower;
    return (lower + upper) / 2;
}

/* The number of values that can be left out at each end: the median is below the (k+1)-th smallest
 * value with the probability that at most k of n fair coins show heads. */
static void median_interval(const double *sorted, struct statistics *s)
{
    double outside = 0;
    s->ci_lo = s->ci_hi = s->ci_level = NAN;
    double n = (double)s->count;
    for (size_t k = 0; k < s->count / 2; k++) {
        double i = (double)k;
        outside += 2 * exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * log(2));
        if (1 - outside < confidence)
            return;
        s->ci_lo = sorted[k];
        s->ci_hi = sorted[s->count - 1 - k];
        s->ci_level = 1 - outside;
    }
}

struct statistics statistics_of(const double *values, size_t count)
{
    struct statistics s = {count, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (count == 0)
        return s;
    double *sorted = must_alloc(count * sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    statistics_sort(sorted, count);
    s.median = statistics_quantile(sorted, count, 0.5);
    s.min = sorted[0];
    s.max = sorted[count - 1];
    median_interval(sorted, &s);
    for (size_t i = 0; i < count; i++)
        sorted[i] = fabs(sorted[i] - s.median);
    statistics_sort(sorted, count);
    s.mad = statistics_quantile(sorted, count, 0.5);
    free(sorted);
    return s;
}

double statistics_geometric_mean(const double *values, size_t count)
{
    double logs = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] > 0))
            return NAN;
        logs += log(values[i]);
    }
    return count ? exp(logs / (double)count) : NAN;
}
