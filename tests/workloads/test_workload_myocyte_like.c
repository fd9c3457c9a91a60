/* The cells and the reference, against cells that stand still and a solution by many small steps.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_myocyte_like;

enum { VARS, CELLS, STEPS, STEP, INITIAL, PARAMS, VALUES };

/* A run: its arguments and the result to be checked. */
struct run {
    struct named_value values[VALUES];
    struct arguments arguments;
    struct host_array final;
};

static struct host_array new_array(int64_t rows, int64_t cols)
{
    struct host_array a = {.element = ELEMENT_f32, .rank = 2, .shape = {rows, cols}};
    a.count = (size_t)(rows * cols);
    a.data = calloc(a.count, sizeof(float));
    assert_non_null(a.data);
    return a;
}

static void run_open(struct run *run, const char *fun, int64_t vars, int64_t cells, int64_t steps,
                     float step)
{
    *run = (struct run){
        .values = {[VARS] = {.name = "vars", .scalar.i64 = vars},
                   [CELLS] = {.name = "cells", .scalar.i64 = cells},
                   [STEPS] = {.name = "steps", .scalar.i64 = steps},
                   [STEP] = {.name = "step", .scalar.f32 = step, .array.element = ELEMENT_f32},
                   [INITIAL] = {.name = "initial", .array = new_array(cells, vars)},
                   [PARAMS] = {.name = "params", .array = new_array(16, cells)}},
        .final = new_array(cells, vars)};
    run->arguments =
        (struct arguments){.fun = fun, .dataset = "test", .count = VALUES, .values = run->values};
}

static void run_close(struct run *run)
{
    free(run->values[INITIAL].array.data);
    free(run->values[PARAMS].array.data);
    free(run->final.data);
}

static float *floats(struct run *run, int value)
{
    return run->values[value].array.data;
}

static void fill_all(struct run *run, uint64_t seed)
{
    struct error error;
    for (int i = INITIAL; i <= PARAMS; i++)
        assert_int_equal(workload_myocyte_like.fill(&run->arguments, run->values[i].name,
                                                    &run->values[i].array, seed, &error),
                         0);
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_myocyte_like.check(&run->arguments, &run->final, 1, &worst, &error);
}

static void assert_exactly_right(struct run *run)
{
    float *final = run->final.data;
    assert_int_equal(check(run), 0);
    for (size_t i = 0; i < run->final.count; i += run->final.count / 50 + 1) {
        float right = final[i];
        const float wrong[] = {right + 1e-4f, NAN};
        for (int w = 0; w < 2; w++) {
            final[i] = wrong[w];
            assert_int_equal(check(run), ERR_WRONG);
        }
        final[i] = right;
    }
}

/* Cells with a parameter that is not a number stand still; 251 cells on, they come again. */
static void invalid_cells_stand_still(void **state)
{
    (void)state;
    struct run run;
    const int64_t cells = 600, vars = 3;
    run_open(&run, "myocyte_like", vars, cells, 2, 0.1f);
    fill_all(&run, 3);
    for (int64_t c = 0; c < cells; c++)
        floats(&run, PARAMS)[1 * cells + c] = c % 2 ? NAN : INFINITY;
    memcpy(run.final.data, floats(&run, INITIAL), run.final.count * sizeof(float));
    assert_exactly_right(&run);
    assert_memory_equal(floats(&run, INITIAL), floats(&run, INITIAL) + 251 * vars, 12);
    assert_memory_not_equal(floats(&run, INITIAL), floats(&run, INITIAL) + 250 * vars, 12);
    run_close(&run);
}

/* The slope of a cell whose one variable drives itself, all parameters 1/2: the threshold is 0 and
 * nothing is stiff. Links of the chain are written out. */
static double slope_of_one(double x, double speed)
{
    double open = 1 / (1 + exp(-4 * x)), lift = 1 / (1 + exp(-2 * x)), span = sqrt(1 + x * x);
    double full = x * x / (1 + x * x) / span;
    double a1 = open * (1 - x) - (1 - open) * x; /* and the gap to the one before is 0 */
    double a2 = 0.1 * full;
    double a3 = 0.2 * cos(x) * (1 - x);
    double a4 = x / span * lift * open;
    double a5 = full - x / span;
    double a6 = 0.5 * lift * open;
    double a8 = (1 - open) * x * cos(x) * (1 - x);
    double b2 = a2 - 0.1 * a8, b3 = a3 * a6, b4 = a4 + 0.1 * a5, b5 = a5 * a6, b6 = a6 - a4;
    double c1 = a1 + 0.05 * b5, c2 = b2 * (1 + 0.1 * b6), c3 = b3 - 0.05 * b4, c4 = 0.3 * b4;
    double c5 = 0.2 * b5, c6 = b6 * a8, c7 = a8 - b5, c8 = a1 * b2;
    return speed * (c1 + 0.1 * c8 + 0.7 * c2 + c5 + c3 + c4 + 0.2 * c6 + 0.1 * c7);
}

static double follow(double x, double time, int steps)
{
    double speed = 1 / (1 + fabs(x)), h = time / steps;
    for (int s = 0; s < steps; s++) {
        double k1 = slope_of_one(x, speed), k2 = slope_of_one(x + h / 2 * k1, speed);
        double k3 = slope_of_one(x + h / 2 * k2, speed), k4 = slope_of_one(x + h * k3, speed);
        x += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
    return x;
}

/* Steps of order 8 end where a thousand small ones of order 4 do, whatever their size; the
 * variable has moved. */
static void one_variable_follows_its_equation(void **state)
{
    (void)state;
    static const char *const funs[] = {"myocyte_like", "myocyte_like_cpu"};
    static const float starts[] = {-0.9f, 0, 0.3f, 2};
    for (int f = 0; f < 2; f++)
        for (int i = 0; i < 4; i++)
            for (int64_t steps = 1; steps <= 4; steps *= 4) {
                struct run run;
                run_open(&run, funs[f], 1, 1, steps, 0.8f / (float)steps);
                for (int p = 0; p < 16; p++)
                    floats(&run, PARAMS)[p] = 0.5f;
                floats(&run, INITIAL)[0] = starts[i];
                double end = follow(starts[i], 0.8, 1000);
                assert_true(fabs(end - starts[i]) > 0.01);
                *(float *)run.final.data = (float)end;
                assert_exactly_right(&run);
                run_close(&run);
            }
}

static void fill_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct run a, b;
    run_open(&a, "myocyte_like", 5, 300, 1, 0.1f);
    run_open(&b, "myocyte_like", 5, 300, 1, 0.1f);
    fill_all(&a, 7);
    fill_all(&b, 7);
    for (int i = INITIAL; i <= PARAMS; i++)
        assert_memory_equal(floats(&a, i), floats(&b, i), a.values[i].array.count * 4);
    fill_all(&b, 8);
    for (int i = INITIAL; i <= PARAMS; i++)
        assert_memory_not_equal(floats(&a, i), floats(&b, i), a.values[i].array.count * 4);
    run_close(&a);
    run_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_cells_stand_still),
        cmocka_unit_test(one_variable_follows_its_equation),
        cmocka_unit_test(fill_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
