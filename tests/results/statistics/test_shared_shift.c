/* A shift that many cases share, against all deals that there are and against noise as it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "results/statistics/shared_shift.h"
#include "results/statistics/statistics.h"
#include "tests/base/cmocka.h"

enum { CASES_MOST = 40, ROUNDS_MOST = 80 };

struct noisy {
    double value[CASES_MOST * 2 * ROUNDS_MOST];
    struct shared_rounds rounds;
};

/* Rounds as a busy machine makes them: part of a round's cases take a quarter longer, a few twice
 * as long; nothing is ever faster than the case is. `busy`: the part of the rounds that most cases
 * suffer in. */
static void make(struct noisy *n, struct random *random, size_t cases, size_t count, double busy,
                 double shift)
{
    n->rounds = (struct shared_rounds){cases, count, n->value};
    for (size_t u = 0; u < 2 * count; u++) {
        const double part = random_unit(random) < busy ? 0.8 : 0.2;
        for (size_t c = 0; c < cases; c++) {
            double *value = &n->value[c * 2 * count + u];
            *value = (double)c + 0.01 * random_unit(random) + (u < count ? 0 : shift);
            if (random_unit(random) < part)
                *value += 0.22 + 0.1 * random_unit(random);
            if (random_unit(random) < 0.05)
                *value += 0.7;
        }
    }
}

/* ---- by definition -------------------------------------------------------------------------- */

static double estimate_of(const struct shared_rounds *r, unsigned first_set, double shift)
{
    double difference[CASES_MOST];
    const size_t units = 2 * r->count;
    for (size_t c = 0; c < r->cases; c++) {
        double fastest[2] = {INFINITY, INFINITY};
        for (size_t u = 0; u < units; u++) {
            const double value = r->value[c * units + u] + (u < r->count ? shift : -shift) / 2;
            double *of_set = &fastest[!(first_set >> u & 1)];
            *of_set = fmin(*of_set, value);
        }
        difference[c] = fastest[1] - fastest[0];
    }
    statistics_sort(difference, r->cases);
    const double lower = difference[(r->cases - 1) / 2], upper = difference[r->cases / 2];
    return fabs(lower) < fabs(upper) ? (lower * upper > 0 ? lower : 0)
                                     : (lower * upper > 0 ? upper : 0);
}

static double p_by_definition(const struct shared_rounds *r, double shift)
{
    const double actual = fabs(estimate_of(r, (1u << r->count) - 1, shift));
    unsigned deals = 0, as_far = 0;
    for (unsigned set = 0; set < 1u << 2 * r->count; set++) {
        if ((size_t)__builtin_popcount(set) != r->count)
            continue;
        deals++;
        as_far += fabs(estimate_of(r, set, shift)) >= actual - 1e-9;
    }
    return (double)as_far / deals;
}

static void is_what_all_deals_say(void **state)
{
    (void)state;
    static struct noisy n;
    struct random random = {3};
    for (unsigned trial = 0; trial < 60; trial++) {
        const size_t cases = 1 + trial % 7, count = 1 + trial % 6;
        make(&n, &random, cases, count, 0.3, 0.05 * (trial % 3));
        const struct rank_shift s = shared_shift(&n.rounds, 0.2, 0.01);
        assert_true(s.estimate == estimate_of(&n.rounds, (1u << count) - 1, 0));
        assert_true(s.estimate == shared_shift_estimate(&n.rounds));
        assert_true(fabs(s.p - p_by_definition(&n.rounds, 0)) < 1e-12);
        assert_int_equal(s.p <= 0.2, s.lo > 0 || s.hi < 0);
        /* The test rejects what is just outside, and not what is at the ends. */
        if (isfinite(s.lo) && s.lo != 0) {
            assert_true(p_by_definition(&n.rounds, s.lo) > 0.2);
            assert_true(p_by_definition(&n.rounds, s.lo - 2e-4) <= 0.2);
        }
        if (isfinite(s.hi) && s.hi != 0) {
            assert_true(p_by_definition(&n.rounds, s.hi) > 0.2);
            assert_true(p_by_definition(&n.rounds, s.hi + 2e-4) <= 0.2);
        }
        if (count == 1) /* p is 1 for either of two deals */
            assert_true(isinf(s.lo) && isinf(s.hi));
    }
}

/* The part of some deals by chance, drawn here, that is as far from 0. */
static double p_by_chance(const struct shared_rounds *r, struct random *random)
{
    enum { DEALS = 2000 };
    static double value[CASES_MOST * 2 * ROUNDS_MOST];
    const size_t units = 2 * r->count;
    const double actual = fabs(shared_shift_estimate(r)) - 1e-9;
    unsigned as_far = 1;
    memcpy(value, r->value, r->cases * units * sizeof *value);
    for (unsigned deal = 1; deal < DEALS; deal++) {
        for (size_t i = units; i > 1; i--)
            for (size_t j = random_below(random, i), c = 0; c < r->cases; c++) {
                double *of_case = value + c * units, other = of_case[j];
                of_case[j] = of_case[i - 1];
                of_case[i - 1] = other;
            }
        as_far += fabs(shared_shift_estimate(&(struct shared_rounds){r->cases, r->count, value})) >=
                  actual;
    }
    return (double)as_far / DEALS;
}

/* More rounds than a word has bits, with p of every size. */
static void many_rounds_are_dealt_as_few_are(void **state)
{
    (void)state;
    static struct noisy n;
    struct random random = {8};
    for (unsigned trial = 0; trial < 8; trial++) {
        make(&n, &random, 7, 33, 0.5, trial % 2 ? 0.0006 : -0.0003);
        const double p = shared_shift(&n.rounds, 0.05, 0.01).p;
        assert_true(fabs(p - p_by_chance(&n.rounds, &random)) < 0.05);
    }
}

/* Of more deals than are made, a sample says nearly the same. */
static void a_sample_says_what_all_deals_do(void **state)
{
    (void)state;
    static struct noisy n;
    struct random random = {4};
    for (unsigned trial = 0; trial < 5; trial++) {
        make(&n, &random, 9, 9, 0.5, 0.02); /* 48,620 deals */
        const double all = shared_shift(&n.rounds, 0.05, 4.0 / 50000).p;
        const double some = shared_shift(&n.rounds, 0.05, 0.01).p;
        assert_true(fabs(all - some) < 0.02 + 0.15 * all);
    }
    make(&n, &random, 12, 70, 0.5, 0.05);
    const struct rank_shift s = shared_shift(&n.rounds, 0.05, 0.01);
    assert_true(s.p < 0.001 && s.lo > 0.045 && s.hi < 0.055);
    assert_true(s.lo <= s.estimate && s.estimate <= s.hi);
}

static void swapping_mirrors(void **state)
{
    (void)state;
    static struct noisy n, swapped;
    struct random random = {5};
    for (unsigned trial = 0; trial < 40; trial++) {
        const size_t cases = 1 + trial % 9, count = 1 + trial % 12;
        make(&n, &random, cases, count, 0.5, 0.03 * (trial % 3));
        for (size_t c = 0; c < cases; c++)
            for (size_t u = 0; u < 2 * count; u++)
                swapped.value[c * 2 * count + u] =
                    n.value[c * 2 * count + (u + count) % (2 * count)];
        swapped.rounds = (struct shared_rounds){cases, count, swapped.value};
        const struct rank_shift a = shared_shift(&n.rounds, 0.05, 0.01);
        const struct rank_shift b = shared_shift(&swapped.rounds, 0.05, 0.01);
        assert_true(a.estimate == -b.estimate && a.p == b.p && a.lo == -b.hi && a.hi == -b.lo);
    }
}

/* ---- what it finds -------------------------------------------------------------------------- */

/* Ten rounds of which half are disturbed in most cases: no change is claimed more often than alpha
 * allows, and 5 % are found where single cases show nothing. */
static void finds_a_twentieth_in_noise_of_a_quarter(void **state)
{
    (void)state;
    static struct noisy n;
    struct random random = {6};
    unsigned claims = 0, covered = 0, found = 0, trials = 300;
    double worst = 0;
    for (unsigned trial = 0; trial < trials; trial++) {
        make(&n, &random, 28, 10, 0.5, 0);
        const struct rank_shift same = shared_shift(&n.rounds, 0.05, 0.01);
        claims += same.p <= 0.05;
        make(&n, &random, 28, 10, 0.5, 0.05);
        const struct rank_shift slower = shared_shift(&n.rounds, 0.05, 0.01);
        found += slower.p <= 0.0125 && slower.estimate > 0.02;
        covered += slower.lo <= 0.05 && 0.05 <= slower.hi;
        worst = fmax(worst, fabs(slower.estimate - 0.05));
    }
    assert_true(claims <= trials * 8 / 100); /* 5 % are expected, 24 are beyond 2.4 deviations */
    assert_true(covered >= trials * 92 / 100);
    assert_true(found >= trials * 98 / 100);
    assert_true(worst < 0.005);
}

/* Fewer than half of the cases, or nothing at all, is no shift. */
static void what_few_cases_do_is_not_shared(void **state)
{
    (void)state;
    static struct noisy n;
    struct random random = {7};
    make(&n, &random, 20, 10, 0, 0);
    for (size_t c = 0; c < 9; c++)
        for (size_t u = 10; u < 20; u++)
            n.value[c * 20 + u] += 0.5;
    assert_true(fabs(shared_shift(&n.rounds, 0.05, 0.01).estimate) < 0.01);
    for (size_t i = 0; i < 20 * 20; i++)
        n.value[i] = 3;
    const struct rank_shift s = shared_shift(&n.rounds, 0.05, 0.01);
    assert_true(s.estimate == 0 && s.p == 1 && s.lo > -1e-3 && s.hi < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_what_all_deals_say),
        cmocka_unit_test(many_rounds_are_dealt_as_few_are),
        cmocka_unit_test(a_sample_says_what_all_deals_do),
        cmocka_unit_test(swapping_mirrors),
        cmocka_unit_test(finds_a_twentieth_in_noise_of_a_quarter),
        cmocka_unit_test(what_few_cases_do_is_not_shared),
    };
    return cmocka_run_group_tests_name("shared_shift", tests, NULL, NULL);
}
