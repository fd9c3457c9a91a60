/* The reference of local volatility calibration, against prices that are known without it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_locvolcalib;

enum { OUTER, NUM_X, NUM_Y, STEPS, DRIFT_X, DRIFT_Y, VALUES };

/* A run: its arguments and the result to be checked. */
struct run {
    struct named_value values[VALUES];
    struct arguments arguments;
    struct host_array prices;
};

static void run_open(struct run *run, int64_t outer, int64_t nx, int64_t ny, int64_t steps)
{
    *run = (struct run){.values = {[OUTER] = {.name = "outer", .scalar.i64 = outer},
                                   [NUM_X] = {.name = "num_x", .scalar.i64 = nx},
                                   [NUM_Y] = {.name = "num_y", .scalar.i64 = ny},
                                   [STEPS] = {.name = "steps", .scalar.i64 = steps},
                                   [DRIFT_X] = {.name = "drift_x", .array.element = ELEMENT_f32},
                                   [DRIFT_Y] = {.name = "drift_y", .array.element = ELEMENT_f32}},
                        .prices = {.element = ELEMENT_f32, .rank = 3, .shape = {outer, nx, ny}}};
    run->arguments = (struct arguments){
        .fun = "locvolcalib", .dataset = "test", .count = VALUES, .values = run->values};
    run->prices.count = (size_t)(outer * nx * ny);
    run->prices.data = calloc(run->prices.count, sizeof(float));
    assert_non_null(run->prices.data);
}

static void run_close(struct run *run)
{
    free(run->prices.data);
}

static int check(struct run *run)
{
    double worst;
    struct error error;
    return workload_locvolcalib.check(&run->arguments, &run->prices, 1, &worst, &error);
}

/* Right as it stands, and wrong with any element off by a tenth of the spot. */
static void assert_exactly_right(struct run *run)
{
    float *prices = run->prices.data;
    assert_int_equal(check(run), 0);
    for (size_t i = 0; i < run->prices.count; i++) {
        float right = prices[i];
        const float wrong[] = {right + 0.003f, right - 0.003f, NAN};
        for (int w = 0; w < 3; w++) {
            prices[i] = wrong[w];
            assert_int_equal(check(run), ERR_WRONG);
        }
        prices[i] = right;
    }
}

/* Spot 0.03, volatility 0.2, five years: the grid is 20 deviations wide, and the spot is on it. */
static double grid_x(int64_t i, int64_t nx)
{
    double width = 20 * 0.2 * 0.03 * sqrt(5) / (double)nx;
    return 0.03 + (double)(i - (int64_t)(0.03 / width)) * width;
}

/* Options 0 to 4 pay x - strike everywhere but at most in the first point, if the grid is coarse:
 * without drift, what is a line in x stays. */
static void lines_stay(void **state)
{
    (void)state;
    struct run run;
    const int64_t nx = 6, ny = 5;
    run_open(&run, 5, nx, ny, 3);
    for (int64_t o = 0; o < 5; o++)
        for (int64_t i = 0; i < nx; i++)
            for (int64_t j = 0; j < ny; j++)
                ((float *)run.prices.data)[(o * nx + i) * ny + j] =
                    (float)(grid_x(i, nx) - 0.001 * (double)o);
    assert_exactly_right(&run);
    run.values[DRIFT_X].scalar.f32 = 0.01f;
    assert_int_equal(check(&run), ERR_WRONG);
    run_close(&run);
}

/* One step on 3 x 3 points. Only the one in the middle has derivatives. Along x its value goes a
 * part of the way to the mean of its neighbours, along y likewise. */
static void one_step_by_hand(void **state)
{
    (void)state;
    struct run run;
    const int64_t options = 45;
    const double rate = 1 / 5.0, dx = 20 * 0.2 * 0.03 * sqrt(5) / 3, dy = 10 * 0.6 * sqrt(5) / 3;
    run_open(&run, options, 3, 3, 1);
    for (int64_t o = 0; o < options; o++) {
        float *p = (float *)run.prices.data + o * 9;
        double pays[3], after[3];
        for (int i = 0; i < 3; i++)
            pays[i] = fmax(grid_x(i, 3) - 0.001 * (double)o, 0);
        for (int j = 0; j < 3; j++) {
            /* The step ends today: no time is in the variance. */
            double variance = grid_x(1, 3) * exp(2 * (log(0.2) + (j - 1) * dy));
            double pull = variance / 4 / (dx * dx); /* half of the second derivative's weight */
            double bend = pays[0] - 2 * pays[1] + pays[2];
            after[j] = rate * pays[1] + pull * bend;                                /* explicit */
            after[j] = (after[j] + pull * (pays[0] + pays[2])) / (rate + 2 * pull); /* implicit */
        }
        for (int j = 0; j < 3; j++) {
            p[j] = (float)pays[0];
            p[6 + j] = (float)pays[2];
            p[3 + j] = (float)after[j];
        }
        double pull = 0.36 / 4 / (dy * dy);
        p[4] = (float)((rate * after[1] + pull * (after[0] + after[2])) / (rate + 2 * pull));
    }
    assert_exactly_right(&run);
    run_close(&run);
}

/* With a drift along x alone and no curvature (an option that pays x), the middle of three points
 * follows the slope: Crank-Nicolson with slopes from both ends, which stay. */
static void drift_moves_lines(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, 1, 3, 3, 1);
    run.values[DRIFT_X].scalar.f32 = 0.01f;
    for (int i = 0; i < 9; i++)
        ((float *)run.prices.data)[i] = (float)grid_x(i / 3, 3);
    assert_int_equal(check(&run), ERR_WRONG);
    /* rate p' - drift / 2 = rate p + drift / 2, plus the pull back to the line, which differs with
     * the variance: (rate + 2 pull) (p' - p) = drift. Along y the middle is pulled to both. */
    const double rate = 1 / 5.0, dx = 20 * 0.2 * 0.03 * sqrt(5) / 3, dy = 10 * 0.6 * sqrt(5) / 3;
    double moved[3];
    for (int j = 0; j < 3; j++) {
        double variance = grid_x(1, 3) * exp(2 * (log(0.2) + (j - 1) * dy));
        moved[j] = 0.01 / (rate + variance / 2 / (dx * dx));
        ((float *)run.prices.data)[3 + j] += (float)moved[j];
    }
    double pull = 0.36 / 4 / (dy * dy);
    ((float *)run.prices.data)[4] =
        (float)(grid_x(1, 3) +
                (rate * moved[1] + pull * (moved[0] + moved[2])) / (rate + 2 * pull));
    assert_exactly_right(&run);
    run_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_stay),
        cmocka_unit_test(one_step_by_hand),
        cmocka_unit_test(drift_moves_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
