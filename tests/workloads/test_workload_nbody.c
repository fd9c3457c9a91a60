/* The reference of the bodies, against motions that are known by hand and laws that hold for any.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_nbody;

enum { N, STEPS, DT, SOFTENING, MASS, FIRST, RESULTS = 9, VALUES = FIRST + RESULTS };

/* A run: its arguments, nine state arrays the last of them, and the nine results. */
struct run {
    struct named_value values[VALUES];
    struct arguments arguments;
    struct host_array results[RESULTS];
};

static const char *const state_names[RESULTS] = {"px0", "py0", "pz0", "vx0", "vy0",
                                                 "vz0", "ax0", "ay0", "az0"};
enum { PX, PY, PZ, VX, VY, VZ, AX, AY, AZ };

static struct host_array new_array(int64_t n)
{
    struct host_array a = {.element = ELEMENT_f32, .rank = 1, .shape = {n}, .count = (size_t)n};
    a.data = calloc((size_t)n, sizeof(float));
    assert_non_null(a.data);
    return a;
}

static void run_open(struct run *run, int64_t n, int64_t steps, float dt, float softening)
{
    *run = (struct run){.values = {{.name = "n", .scalar.i64 = n},
                                   {.name = "steps", .scalar.i64 = steps},
                                   {.name = "dt", .scalar.f32 = dt},
                                   {.name = "softening", .scalar.f32 = softening},
                                   {.name = "mass", .array = new_array(n)}}};
    /* A scalar's element tells which of the union's fields holds it. */
    run->values[N].array.element = run->values[STEPS].array.element = ELEMENT_i64;
    run->values[DT].array.element = run->values[SOFTENING].array.element = ELEMENT_f32;
    for (int i = 0; i < RESULTS; i++) {
        run->values[FIRST + i] = (struct named_value){state_names[i], .array = new_array(n)};
        run->results[i] = new_array(n);
    }
    run->arguments = (struct arguments){"nbody", "test", VALUES, run->values};
}

static void run_close(struct run *run)
{
    for (int i = MASS; i < VALUES; i++)
        free(run->values[i].array.data);
    for (int i = 0; i < RESULTS; i++)
        free(run->results[i].data);
}

static float *mass(struct run *run)
{
    return run->values[MASS].array.data;
}
static float *before(struct run *run, int which)
{
    return run->values[FIRST + which].array.data;
}
static float *after(struct run *run, int which)
{
    return run->results[which].data;
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_nbody.check(&run->arguments, run->results, RESULTS, &worst, &error);
}

/* Right as it stands; wrong with any number off by a little (unless it is 0) or not a number. */
static void assert_exactly_right(struct run *run)
{
    assert_int_equal(check(run), 0);
    for (int which = 0; which < RESULTS; which++)
        for (size_t i = 0; i < run->results[which].count; i++) {
            float right = after(run, which)[i];
            after(run, which)[i] = right * 1.0001f;
            assert_int_equal(check(run), right != 0 ? ERR_WRONG : 0);
            after(run, which)[i] = NAN;
            assert_int_equal(check(run), ERR_WRONG);
            after(run, which)[i] = right;
        }
}

/* No other body: it flies on, and a body does not pull itself. */
static void a_lone_body_flies_straight(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, 1, 10, 0.5f, 0.1f);
    mass(&run)[0] = 3;
    before(&run, PX)[0] = 1;
    before(&run, VX)[0] = after(&run, VX)[0] = 2;
    before(&run, VY)[0] = after(&run, VY)[0] = -1;
    before(&run, AZ)[0] = 7; /* of the step before: it has no say */
    after(&run, PX)[0] = 11;
    after(&run, PY)[0] = -5;
    assert_exactly_right(&run);
    run_close(&run);
}

/* Two bodies 3 apart with a softening of 4: pulls of mass * 3 / 5^3, towards each other. They move
 * by the velocity of the step before, so the second step pulls as the first did, and the third not.
 */
static void two_bodies_fall_together(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        struct run run;
        run_open(&run, 2, 1, 0.5f, 4);
        mass(&run)[0] = 125;
        mass(&run)[1] = 250;
        before(&run, PX + axis)[0] = after(&run, PX + axis)[0] = 1;
        before(&run, PX + axis)[1] = after(&run, PX + axis)[1] = 4;
        after(&run, AX + axis)[0] = 6;
        after(&run, AX + axis)[1] = -3;
        after(&run, VX + axis)[0] = 3;
        after(&run, VX + axis)[1] = -1.5f;
        assert_exactly_right(&run);

        run.values[STEPS].scalar.i64 = 3;
        assert_int_equal(check(&run), ERR_WRONG);
        double apart = 3.25 - 2.5, pull = apart / pow(apart * apart + 16, 1.5);
        after(&run, PX + axis)[0] = 2.5f + 0.5f * 6;
        after(&run, PX + axis)[1] = 3.25f - 0.5f * 3;
        after(&run, AX + axis)[0] = (float)(250 * pull);
        after(&run, AX + axis)[1] = (float)(-125 * pull);
        after(&run, VX + axis)[0] = (float)(6 + 0.5 * 250 * pull);
        after(&run, VX + axis)[1] = (float)(-3 - 0.5 * 125 * pull);
        assert_exactly_right(&run);
        run_close(&run);
    }
}

/* Six equal bodies on the axes: the one in the middle stays, dust or not. */
static void symmetric_pulls_cancel(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, 7, 1, 1, 0);
    for (int i = 0; i < 6; i++) {
        mass(&run)[i] = 1;
        before(&run, PX + i / 2)[i] = after(&run, PX + i / 2)[i] = i % 2 ? -1 : 1;
        /* the one opposite pulls with 1/4, four at right angles with 1/2 * 1/sqrt(2) each */
        double pull = 0.25 + 4 * 0.5 * sqrt(0.5);
        after(&run, AX + i / 2)[i] = after(&run, VX + i / 2)[i] = (float)(i % 2 ? pull : -pull);
    }
    /* Without softening a body at distance 0 would divide by 0, so nothing is quite without. */
    run.values[SOFTENING].scalar.f32 = 1e-4f;
    assert_int_equal(check(&run), 0);
    after(&run, AY)[6] = 0.001f;
    assert_int_equal(check(&run), ERR_WRONG);
    run_close(&run);
}

static void fill(struct run *run, int value, uint64_t seed)
{
    struct error error;
    assert_int_equal(workload_nbody.fill(&run->arguments, run->values[value].name,
                                         &run->values[value].array, seed, &error),
                     0);
}

static void inputs_depend_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b;
    run_open(&a, 100, 1, 1, 1);
    run_open(&b, 100, 1, 1, 1);
    for (int value = MASS; value < VALUES; value++) {
        size_t bytes = 100 * sizeof(float);
        const void *first = a.values[value].array.data, *second = b.values[value].array.data;
        fill(&a, value, 7);
        fill(&b, value, 7);
        assert_memory_equal(first, second, bytes);
        fill(&b, value, 8);
        if (value < FIRST + AX) /* there is no acceleration yet */
            assert_memory_not_equal(first, second, bytes);
    }
    struct error error;
    assert_int_equal(workload_nbody.fill(&a.arguments, "q", &a.values[MASS].array, 7, &error),
                     ERR_NOT_FOUND);
    run_close(&a);
    run_close(&b);
}

/* All bodies have mass while that is cheap to check, and at most 2048 beyond; the sum is near 1. */
static void masses_are_spread(void **state)
{
    (void)state;
    static const int64_t counts[] = {1000, 2048, 2049, 100000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct run run;
        run_open(&run, counts[c], 1, 1, 1);
        fill(&run, MASS, 7);
        int64_t massive = 0;
        double sum = 0;
        for (int64_t i = 0; i < counts[c]; i++) {
            massive += mass(&run)[i] > 0;
            sum += mass(&run)[i];
        }
        assert_true(counts[c] <= 2048 ? massive == counts[c] : massive > 1000 && massive <= 2048);
        assert_true(sum > 0.9 && sum < 1.1);
        assert_true(mass(&run)[counts[c] - 1] > 0);
        run_close(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_body_flies_straight),
        cmocka_unit_test(two_bodies_fall_together),
        cmocka_unit_test(symmetric_pulls_cancel),
        cmocka_unit_test(inputs_depend_on_the_seed_alone),
        cmocka_unit_test(masses_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
