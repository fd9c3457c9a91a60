#include "results/statistics/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "results/statistics/statistics.h"

void rank_table_free(struct rank_table *table)
{
    free(table->at_most);
    free(table->pairs);
    *table = (struct rank_table){0};
}

/* The number of ways to get each u: the coefficients of the product over i = 1..n of
 * (1 - q^(m+i)) / (1 - q^i), all of them integers below 2^53 at the sizes used here. */
static void count_between(double *ways, size_t n, size_t m)
{
    const size_t most = n * m;
    memset(ways, 0, (most + 1) * sizeof *ways);
    ways[0] = 1;
    for (size_t i = 1; i <= n; i++) {
        for (size_t u = most; u >= m + i; u--)
            ways[u] -= ways[u - m - i];
        for (size_t u = i; u <= most; u++)
            ways[u] += ways[u - i];
    }
}

/* The same if each rank i counts or does not: the product over i = 1..n is of (1 + q^i). */
static void count_paired(double *ways, size_t n)
{
    const size_t most = n * (n + 1) / 2;
    memset(ways, 0, (most + 1) * sizeof *ways);
    ways[0] = 1;
    for (size_t i = 1; i <= n; i++)
        for (size_t u = most; u >= i; u--)
            ways[u] += ways[u - i];
}

static size_t pair_count(size_t n, size_t m)
{
    return m ? n * m : n * (n + 1) / 2;
}

static void accumulate(double *ways, size_t most)
{
    double total = 0, sum = 0;
    for (size_t u = 0; u <= most; u++)
        total += ways[u];
    for (size_t u = 0; u <= most; u++) {
        sum += ways[u];
        ways[u] = sum / total;
    }
}

/* The null distribution of U: exact if it has a table, else normal. */
struct null {
    const double *at_most;
    double mean, deviation;
};

static double at_most(const struct null *null, size_t u)
{
    if (null->at_most)
        return null->at_most[u];
    double beyond = (double)u + 0.5 - null->mean;
    if (!(null->deviation > 0))
        return beyond > 0 ? 1 : 0;
    return 0.5 * erfc(-beyond / null->deviation / sqrt(2));
}

static long cut_of(const struct null *null, size_t most, double alpha)
{
    size_t beyond;
    FIND_PLACE(beyond, most / 2, at_most(null, beyond) <= alpha / 2);
    return (long)beyond - 1;
}

/* Makes the table for these sizes, with room for all pairs. */
static void prepare(struct rank_table *table, size_t n, size_t m, double alpha)
{
    const size_t most = pair_count(n, m);
    if (table->pairs && table->n == n && table->m == m && table->alpha == alpha)
        return;
    table->n = n;
    table->m = m;
    table->alpha = alpha;
    if (!table->pairs || most > table->room) {
        table->room = most;
        free(table->pairs);
        table->pairs = must_alloc(most * sizeof *table->pairs);
    }
    if (most > RANKS_EXACT)
        return;
    if (!table->at_most)
        table->at_most = must_alloc((RANKS_EXACT + 1) * sizeof *table->at_most);
    if (m)
        count_between(table->at_most, n, m);
    else
        count_paired(table->at_most, n);
    accumulate(table->at_most, most);
    table->cut = cut_of(&(struct null){.at_most = table->at_most}, most, alpha);
}

/* The sum of t^3 - t over groups of t equal values. */
static double tie_sum(double *values, size_t count)
{
    double sum = 0;
    statistics_sort(values, count);
    for (size_t i = 0, j; i < count; i = j) {
        for (j = i + 1; j < count && values[j] == values[i]; j++)
            ;
        double t = (double)(j - i);
        sum += t * t * t - t;
    }
    return sum;
}

static struct null normal_between(const double *x, size_t n, const double *y, size_t m)
{
    const double a = (double)n, b = (double)m, all = a + b;
    double *pooled = must_alloc((n + m) * sizeof *pooled);
    memcpy(pooled, x, n * sizeof *pooled);
    memcpy(pooled + n, y, m * sizeof *pooled);
    const double ties = tie_sum(pooled, n + m);
    free(pooled);
    return (struct null){NULL, a * b / 2, sqrt(a * b / 12 * (all + 1 - ties / (all * (all - 1))))};
}

static struct null normal_paired(const double *differences, size_t n)
{
    const double a = (double)n;
    double *sizes = must_alloc(n * sizeof *sizes);
    for (size_t i = 0; i < n; i++)
        sizes[i] = fabs(differences[i]);
    const double ties = tie_sum(sizes, n);
    free(sizes);
    return (struct null){NULL, a * (a + 1) / 4, sqrt(a * (a + 1) * (2 * a + 1) / 24 - ties / 48)};
}

static struct rank_shift shift_of(double *pairs, size_t most, const struct null *null, long cut)
{
    size_t not_above = 0, not_below = 0;
    for (size_t i = 0; i < most; i++) {
        not_above += pairs[i] <= 0;
        not_below += pairs[i] >= 0;
    }
    struct rank_shift shift = {
        .lo = -INFINITY,
        .hi = INFINITY,
        .level = 1,
        .p = 2 * at_most(null, not_above < not_below ? not_above : not_below),
    };
    if (shift.p > 1)
        shift.p = 1;
    shift.estimate = statistics_median(pairs, most);
    if (cut >= 0) {
        shift.lo = statistics_select(pairs, most, (size_t)cut);
        shift.hi = statistics_select(pairs, most, most - 1 - (size_t)cut);
        shift.level = 1 - 2 * at_most(null, (size_t)cut);
    }
    return shift;
}

static const struct rank_shift nothing = {NAN, -INFINITY, INFINITY, 1, 1};

struct rank_shift rank_shift_between(struct rank_table *table, const double *x, size_t n,
                                     const double *y, size_t m, double alpha)
{
    if (n == 0 || m == 0)
        return nothing;
    prepare(table, n, m, alpha);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            table->pairs[i * m + j] = y[j] - x[i];
    if (n * m <= RANKS_EXACT)
        return shift_of(table->pairs, n * m, &(struct null){.at_most = table->at_most}, table->cut);
    const struct null null = normal_between(x, n, y, m);
    return shift_of(table->pairs, n * m, &null, cut_of(&null, n * m, alpha));
}

struct rank_shift rank_shift_paired(struct rank_table *table, const double *differences, size_t n,
                                    double alpha)
{
    const size_t most = pair_count(n, 0);
    if (n == 0)
        return nothing;
    prepare(table, n, 0, alpha);
    double *pair = table->pairs;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            *pair++ = (differences[i] + differences[j]) / 2;
    if (most <= RANKS_EXACT)
        return shift_of(table->pairs, most, &(struct null){.at_most = table->at_most}, table->cut);
    const struct null null = normal_paired(differences, n);
    return shift_of(table->pairs, most, &null, cut_of(&null, most, alpha));
}

unsigned rank_least_rounds(double alpha, bool paired)
{
    /* One of C(2n, n) orders, or of 2^n choices of signs, is the most extreme one to a side. */
    double p = 2;
    unsigned n = 0;
    while (p > alpha && n < 1000) {
        n++;
        p *= paired ? 0.5 : (double)n / (4.0 * n - 2);
    }
    return n;
}

struct ranked {
    double p;
    size_t index;
};

ORDER_BY(by_p, struct ranked, p)

void rank_holm(const double *p, size_t count, double *adjusted)
{
    struct ranked *order = must_alloc(count * sizeof *order);
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        order[i] = (struct ranked){p[i], i};
    if (count)
        qsort(order, count, sizeof *order, by_p);
    for (size_t i = 0; i < count; i++) {
        double scaled = order[i].p * (double)(count - i);
        if (scaled > largest)
            largest = scaled;
        adjusted[order[i].index] = largest < 1 ? largest : 1;
    }
    free(order);
}
