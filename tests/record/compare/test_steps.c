/* Steps of made-up histories: known steps in noise, none in noise alone, outliers, drift. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/random.h"
#include "record/compare/steps.h"

enum { RUNS_MOST = 64, ROUNDS = 10 };

/* A history: each run's level, with noise of the runs and of their rounds. */
struct history {
    size_t count;
    struct step_run run[RUNS_MOST];
    double value[RUNS_MOST][ROUNDS];
};

/* About normal, with a standard deviation of 1. */
static double noise(struct random *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += random_unit(random);
    return sum;
}

static void make(struct history *h, const double *level, size_t count, size_t rounds, double of_run,
                 double of_round, uint64_t seed)
{
    struct random random = {seed};
    h->count = count;
    for (size_t i = 0; i < count; i++) {
        const double shift = of_run * noise(&random);
        for (size_t r = 0; r < rounds; r++)
            h->value[i][r] = log(level[i]) + shift + of_round * noise(&random);
        h->run[i] = (struct step_run){.value = h->value[i], .count = rounds};
    }
}

static const struct step_rules rules = {.alpha = 0.05, .limit = 0.0198};

static size_t certain(const struct steps *steps, size_t at[RUNS_MOST])
{
    size_t count = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (steps->step[i].doubt == STEP_CERTAIN)
            at[count++] = steps->step[i].at;
    return count;
}

/* Histories with at least one step, of `tries`. */
static size_t with_steps(size_t runs, size_t rounds, double of_run, double of_round, size_t tries)
{
    double level[RUNS_MOST];
    size_t found = 0, at[RUNS_MOST];
    for (size_t i = 0; i < RUNS_MOST; i++)
        level[i] = 1;
    for (size_t t = 0; t < tries; t++) {
        struct history h;
        make(&h, level, runs, rounds, of_run, of_round, t + 1);
        struct steps steps = steps_find(h.run, h.count, &rules);
        found += certain(&steps, at) > 0;
        steps_free(&steps);
    }
    return found;
}

/* The bounds are twice the rates of the table in steps.h, which is by 400 other histories. */
static void a_history_of_noise_has_no_steps(void **state)
{
    (void)state;
    static const struct {
        size_t runs;
        double of_run, of_round;
        size_t most; /* of 200 */
    } noises[] = {
        {2, 0, 0.02, 12},    {4, 0, 0.02, 8},      {16, 0, 0.02, 8},    {4, 0.01, 0.01, 10},
        {8, 0.01, 0.01, 14}, {32, 0.01, 0.01, 14}, {8, 0.03, 0.03, 30}, {64, 0.03, 0.03, 30},
    };
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
        const size_t found =
            with_steps(noises[i].runs, 10, noises[i].of_run, noises[i].of_round, 200);
        if (found > noises[i].most)
            fail_msg("%zu of 200 histories of %zu runs have a step", found, noises[i].runs);
    }
}

static void check_steps(const double *level, size_t count, const size_t *expected, size_t steps,
                        double of_run, double of_round)
{
    struct history h;
    size_t at[RUNS_MOST];
    make(&h, level, count, ROUNDS, of_run, of_round, 7);
    struct steps found = steps_find(h.run, h.count, &rules);
    assert_int_equal(certain(&found, at), steps);
    for (size_t i = 0; i < steps; i++)
        assert_int_equal(at[i], expected[i]);
    steps_free(&found);
}

static void steps_are_found_where_they_are(void **state)
{
    (void)state;
    const double two_runs[] = {2, 1};
    check_steps(two_runs, 2, (size_t[]){1}, 1, 0, 0.02);
    const double one[] = {1, 1, 1, 1.1, 1.1, 1.1, 1.1};
    check_steps(one, 7, (size_t[]){3}, 1, 0.005, 0.02);
    const double newest[] = {1, 1, 1, 1, 1, 1, 1, 1.1};
    check_steps(newest, 8, (size_t[]){7}, 1, 0.005, 0.02);
    /* Halves of this one have the same median. */
    const double there_and_back[] = {1, 1, 1, 1, 1.2, 1.2, 1.2, 1.2, 1, 1, 1, 1};
    check_steps(there_and_back, 12, (size_t[]){4, 8}, 2, 0.01, 0.02);
    const double stairs[] = {1, 1, 1, 1, 0.9, 0.9, 0.9, 0.9, 0.8, 0.8, 0.8, 0.8};
    check_steps(stairs, 12, (size_t[]){4, 8}, 2, 0.005, 0.01);
    const double within_limit[] = {1, 1, 1, 1, 1.015, 1.015, 1.015, 1.015};
    check_steps(within_limit, 8, NULL, 0, 0, 0.001);
}

static void a_step_has_its_factor(void **state)
{
    (void)state;
    const double level[] = {1, 1, 1, 1, 1, 1.25, 1.25, 1.25, 1.25, 1.25};
    struct history h;
    make(&h, level, 10, ROUNDS, 0.002, 0.01, 3);
    struct steps found = steps_find(h.run, h.count, &rules);
    assert_int_equal(found.count, 1);
    assert_true(fabs(exp(found.step[0].shift.estimate) - 1.25) < 0.02);
    assert_true(exp(found.step[0].shift.lo) < 1.25 && 1.25 < exp(found.step[0].shift.hi));
    steps_free(&found);
}

static void a_single_run_that_is_off_is_an_outlier(void **state)
{
    (void)state;
    const double level[] = {1, 1, 1, 1, 1.3, 1, 1, 1};
    struct history h;
    size_t at[RUNS_MOST];
    for (size_t count = 5; count <= 8; count++) {
        make(&h, level, count, ROUNDS, 0.005, 0.01, 11);
        struct steps found = steps_find(h.run, h.count, &rules);
        /* While it is the newest it may be a step, and a comparison with the run before says so. */
        assert_int_equal(certain(&found, at), count == 5);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(h.run[i].is_outlier, i == 4 && count > 5);
        steps_free(&found);
    }
    /* Two runs confirm each other. */
    const double two[] = {1, 1, 1, 1, 1.3, 1.3, 1, 1, 1, 1};
    check_steps(two, 10, (size_t[]){4, 6}, 2, 0.005, 0.01);
}

static void a_drift_is_a_stair(void **state)
{
    (void)state;
    double level[16], whole = 0;
    struct history h;
    for (size_t i = 0; i < 16; i++)
        level[i] = pow(1.02, (double)i);
    make(&h, level, 16, ROUNDS, 0.002, 0.01, 5);
    struct steps found = steps_find(h.run, h.count, &rules);
    for (size_t i = 0; i < found.count; i++) {
        if (found.step[i].doubt != STEP_CERTAIN)
            continue;
        assert_true(found.step[i].shift.estimate > 0);
        whole += found.step[i].shift.estimate;
    }
    assert_true(whole > 0.5 * 15 * log(1.02)); /* levels hide what is within them */
    steps_free(&found);
}

static enum step_doubt doubt_of_two(size_t rounds, double of_round, double floor, bool in_turns)
{
    const double level[] = {1, 1.1};
    struct history h;
    make(&h, level, 2, rounds, 0, of_round, 3);
    h.run[1].floor = floor;
    h.run[1].in_turns = in_turns;
    struct steps found = steps_find(h.run, h.count, &rules);
    assert_int_equal(found.count, 1);
    const enum step_doubt doubt = found.step[0].doubt;
    steps_free(&found);
    return doubt;
}

static void a_difference_may_not_be_a_step(void **state)
{
    (void)state;
    assert_int_equal(doubt_of_two(10, 0.01, 0, false), STEP_CERTAIN);
    assert_int_equal(doubt_of_two(6, 0.3, 0, false), STEP_BY_CHANCE);
    assert_int_equal(doubt_of_two(5, 0.01, 0, false), STEP_FEW_ROUNDS);
    assert_int_equal(doubt_of_two(10, 0.01, 0.15, false), STEP_IN_FLOOR);
    assert_int_equal(doubt_of_two(10, 0.01, 0.15, true), STEP_CERTAIN);
    /* Five rounds a run are too few for one run, and enough for two. */
    const double level[] = {1, 1, 1, 1.2, 1.2, 1.2};
    struct history h;
    size_t at[RUNS_MOST];
    make(&h, level, 6, 5, 0, 0.01, 3);
    struct steps found = steps_find(h.run, h.count, &rules);
    assert_int_equal(certain(&found, at), 1);
    assert_int_equal(at[0], 3);
    steps_free(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_history_of_noise_has_no_steps),
        cmocka_unit_test(steps_are_found_where_they_are),
        cmocka_unit_test(a_step_has_its_factor),
        cmocka_unit_test(a_single_run_that_is_off_is_an_outlier),
        cmocka_unit_test(a_drift_is_a_stair),
        cmocka_unit_test(a_difference_may_not_be_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
