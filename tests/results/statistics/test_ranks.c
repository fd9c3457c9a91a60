/* Shifts by ranks against all orders and signs that there are, and Holm's adjustment. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "results/statistics/ranks.h"
#include "results/statistics/statistics.h"
#include "tests/base/cmocka.h"

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

/* The places 0 .. n+m-1, those of the set bits in x, the others in y. */
static void deal(unsigned bits, size_t n, size_t m, double *x, double *y)
{
    for (size_t i = 0, a = 0, b = 0; i < n + m; i++)
        if (bits >> i & 1)
            x[a++] = (double)i;
        else
            y[b++] = (double)i;
}

/* Under no shift every order of the pooled values is as likely: each is dealt once, p is compared
 * with how many orders are as extreme, and the interval with how many it fails. */
static void between_two_sets_as_in_all_orders(void **state)
{
    (void)state;
    static const double alphas[] = {0.5, 0.2, 0.1, 0.05, 0.01};
    struct rank_table table = {0};
    for (size_t n = 1; n <= 6; n++)
        for (size_t m = 1; n + m <= 10; m++)
            for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
                unsigned orders = 0, held = 0;
                double x[6], y[9], p[252], level = 0;
                size_t u[252]; /* pairs in which y is not above */
                for (unsigned bits = 0; bits < 1u << (n + m); bits++) {
                    if ((size_t)__builtin_popcount(bits) != n)
                        continue;
                    deal(bits, n, m, x, y);
                    struct rank_shift s = rank_shift_between(&table, x, n, y, m, alphas[a]);
                    u[orders] = 0;
                    for (size_t i = 0; i < n; i++)
                        for (size_t j = 0; j < m; j++)
                            u[orders] += y[j] < x[i];
                    p[orders++] = s.p;
                    held += s.lo <= 0 && 0 <= s.hi;
                    level = s.level;
                    assert_int_equal(s.p <= alphas[a], !(s.lo <= 0 && 0 <= s.hi));
                    assert_true(s.lo <= s.estimate && s.estimate <= s.hi);
                }
                assert_true(near((double)held / orders, level));
                assert_true(level >= 1 - alphas[a]);
                for (unsigned k = 0; k < orders; k++) {
                    const size_t side = u[k] < n * m - u[k] ? u[k] : n * m - u[k];
                    unsigned as_extreme = 0;
                    for (unsigned l = 0; l < orders; l++)
                        as_extreme += u[l] <= side;
                    assert_true(near(p[k], fmin(1, 2.0 * as_extreme / orders)));
                }
            }
    rank_table_free(&table);
}

/* The same with signs: the sizes 1 .. n, each positive or negative. Sizes are apart by powers of
 * two, so that no average of two is 0. */
static void of_pairs_as_in_all_signs(void **state)
{
    (void)state;
    struct rank_table table = {0};
    for (size_t n = 1; n <= 10; n++) {
        unsigned held = 0;
        double d[10], level = 0;
        for (unsigned bits = 0; bits < 1u << n; bits++) {
            size_t w = 0, as_extreme = 0;
            for (size_t i = 0; i < n; i++) {
                d[i] = (bits >> i & 1 ? -1 : 1) * (double)(1u << i);
                w += bits >> i & 1 ? i + 1 : 0;
            }
            if (w > n * (n + 1) / 2 - w)
                w = n * (n + 1) / 2 - w;
            for (unsigned other = 0; other < 1u << n; other++) {
                size_t v = 0;
                for (size_t i = 0; i < n; i++)
                    v += other >> i & 1 ? i + 1 : 0;
                as_extreme += v <= w;
            }
            struct rank_shift s = rank_shift_paired(&table, d, n, 0.05);
            assert_true(near(s.p, fmin(1, 2.0 * (double)as_extreme / (1u << n))));
            assert_int_equal(s.p <= 0.05, !(s.lo <= 0 && 0 <= s.hi));
            held += s.lo <= 0 && 0 <= s.hi;
            level = s.level;
        }
        assert_true(near((double)held / (1u << n), level));
    }
    rank_table_free(&table);
}

static void estimates_of_known_values(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4}, y[] = {13, 11, 14, 12}, d[] = {1, 2, 6};
    struct rank_table table = {0};
    struct rank_shift s = rank_shift_between(&table, x, 4, y, 4, 0.05);
    assert_true(s.estimate == 10 && s.lo == 7 && s.hi == 13);
    assert_true(near(s.p, 2.0 / 70));
    /* Averages 1, 1.5, 2, 3.5, 4, 6. */
    s = rank_shift_paired(&table, d, 3, 0.5);
    assert_true(s.estimate == 2.75 && s.lo == 1.5 && s.hi == 4 && near(s.p, 0.25));
    s = rank_shift_paired(&table, d, 3, 0.05);
    assert_true(s.lo == -INFINITY && s.hi == INFINITY && s.level == 1);
    assert_true(isnan(rank_shift_between(&table, x, 0, y, 4, 0.05).estimate));
    rank_table_free(&table);
}

static void ties_claim_nothing(void **state)
{
    (void)state;
    static double same[30];
    struct rank_table table = {0};
    for (size_t n = 1; n <= 30; n += 29) {
        struct rank_shift s = rank_shift_between(&table, same, n, same, n, 0.05);
        assert_true(s.p == 1 && s.estimate == 0);
        s = rank_shift_paired(&table, same, n, 0.05);
        assert_true(s.p == 1 && s.estimate == 0);
    }
    rank_table_free(&table);
}

/* Beyond the sizes that are counted the normal distribution has to agree with them: U of 20 x 20 is
 * still exact, 20 x 21 is not. */
static void the_normal_tail_continues_the_exact_one(void **state)
{
    (void)state;
    struct random random = {11};
    struct rank_table table = {0};
    enum { TRIALS = 3000 };
    double x[21], y[21];
    unsigned held = 0;
    double difference = 0;
    for (unsigned t = 0; t < TRIALS; t++) {
        for (size_t i = 0; i < 21; i++) {
            x[i] = random_unit(&random) + (t % 3 == 0 ? 0.3 : 0);
            y[i] = random_unit(&random);
        }
        const double exact = rank_shift_between(&table, x, 20, y, 20, 0.05).p;
        struct rank_shift s = rank_shift_between(&table, x, 20, y, 21, 0.05);
        assert_int_equal(s.p <= 0.05, !(s.lo <= 0 && 0 <= s.hi));
        if (t % 3 == 0)
            continue;
        held += s.lo <= 0 && 0 <= s.hi;
        difference += log(s.p / exact); /* of one value more */
    }
    assert_true(fabs(difference / TRIALS) < 0.03);
    assert_true(fabs(held / (TRIALS * 2.0 / 3) - 0.95) < 0.015);
    rank_table_free(&table);
}

static void swapping_mirrors_exactly(void **state)
{
    (void)state;
    struct random random = {5};
    struct rank_table table = {0};
    for (unsigned t = 0; t < 500; t++) {
        double x[25], y[25], d[25], e[25];
        const size_t n = 1 + random_below(&random, 25), m = 1 + random_below(&random, 25);
        for (size_t i = 0; i < 25; i++) {
            x[i] = log(1 + (double)random_below(&random, t % 2 ? 5 : 1000000));
            y[i] = log(1 + (double)random_below(&random, t % 2 ? 5 : 1000000));
            d[i] = y[i] - x[i];
            e[i] = x[i] - y[i];
        }
        struct rank_shift a = rank_shift_between(&table, x, n, y, m, 0.05);
        struct rank_shift b = rank_shift_between(&table, y, m, x, n, 0.05);
        assert_true(a.estimate == -b.estimate && a.lo == -b.hi && a.hi == -b.lo && a.p == b.p);
        a = rank_shift_paired(&table, d, n, 0.05);
        b = rank_shift_paired(&table, e, n, 0.05);
        assert_true(a.estimate == -b.estimate && a.lo == -b.hi && a.hi == -b.lo && a.p == b.p);
    }
    rank_table_free(&table);
}

static void selection_agrees_with_sorting(void **state)
{
    (void)state;
    struct random random = {3};
    for (unsigned t = 0; t < 2000; t++) {
        double values[40], sorted[40];
        const size_t count = 1 + random_below(&random, 40);
        for (size_t i = 0; i < count; i++)
            values[i] = sorted[i] = (double)random_below(&random, t % 2 ? 4 : 1000);
        statistics_sort(sorted, count);
        assert_true(statistics_median(values, count) == statistics_of(sorted, count).median);
        const size_t place = random_below(&random, count);
        assert_true(statistics_select(values, count, place) == sorted[place]);
    }
}

static void the_least_rounds_reach_alpha(void **state)
{
    (void)state;
    struct rank_table table = {0};
    static const double alphas[] = {0.05, 0.01, 0.001, 1e-5};
    for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++)
        for (int paired = 0; paired < 2; paired++) {
            double low[20], high[20];
            const unsigned n = rank_least_rounds(alphas[a], paired);
            for (unsigned i = 0; i < 20; i++) {
                low[i] = i;
                high[i] = 100 + i;
            }
            for (unsigned rounds = n - 1; rounds <= n; rounds++) {
                double p = paired ? rank_shift_paired(&table, high, rounds, 0.05).p
                                  : rank_shift_between(&table, low, rounds, high, rounds, 0.05).p;
                assert_int_equal(p <= alphas[a], rounds == n);
            }
        }
    rank_table_free(&table);
}

/* By hand: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04 may not be below its forerunner. */
static void holm_of_a_worked_example(void **state)
{
    (void)state;
    static const double p[] = {0.01, 0.04, 0.03, 0.005}, expected[] = {0.03, 0.06, 0.06, 0.02};
    double adjusted[4];
    rank_holm(p, 4, adjusted);
    for (size_t i = 0; i < 4; i++)
        assert_true(near(adjusted[i], expected[i]));
    static const double large[] = {0.9, 0.6};
    rank_holm(large, 2, adjusted);
    assert_true(adjusted[0] == 1 && adjusted[1] == 1);
    rank_holm(p, 0, adjusted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_two_sets_as_in_all_orders),
        cmocka_unit_test(of_pairs_as_in_all_signs),
        cmocka_unit_test(estimates_of_known_values),
        cmocka_unit_test(ties_claim_nothing),
        cmocka_unit_test(the_normal_tail_continues_the_exact_one),
        cmocka_unit_test(swapping_mirrors_exactly),
        cmocka_unit_test(selection_agrees_with_sorting),
        cmocka_unit_test(the_least_rounds_reach_alpha),
        cmocka_unit_test(holm_of_a_worked_example),
    };
    return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}
