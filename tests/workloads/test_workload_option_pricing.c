/* The option pricing workload: its points, bridge and market are what they claim to be, and its
 * check knows right prices from wrong ones. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_option_pricing;

enum {
    CONTRACT,
    PATHS,
    DATES,
    UNDERLYINGS,
    BITS,
    DIRECTIONS,
    BRIDGE_INDEX,
    BRIDGE_WEIGHT,
    CORRELATION,
    VOLATILITY,
    DRIFT,
    START,
    DISCOUNT,
    VALUES
};

struct problem {
    struct named_value values[VALUES];
    struct arguments arguments;
};

static struct host_array matrix(enum element element, int64_t rows, int64_t columns)
{
    struct host_array a = {.element = element, .rank = rows ? 2 : 1};
    a.shape[0] = rows ? rows : columns;
    a.shape[1] = rows ? columns : 0;
    a.count = (size_t)((rows ? rows : 1) * columns);
    a.data = calloc(a.count, 4);
    assert_non_null(a.data);
    return a;
}

static void problem_open(struct problem *p, int64_t contract, int64_t paths, int64_t dates,
                         int64_t us, int64_t bits)
{
    *p = (struct problem){
        .values = {
            [CONTRACT] = {"contract", .scalar.i64 = contract},
            [PATHS] = {"paths", .scalar.i64 = paths},
            [DATES] = {"dates", .scalar.i64 = dates},
            [UNDERLYINGS] = {"underlyings", .scalar.i64 = us},
            [BITS] = {"bits", .scalar.i64 = bits},
            [DIRECTIONS] = {"directions", .array = matrix(ELEMENT_u32, dates * us, bits)},
            [BRIDGE_INDEX] = {"bridge_index", .array = matrix(ELEMENT_i32, 3, dates)},
            [BRIDGE_WEIGHT] = {"bridge_weight", .array = matrix(ELEMENT_f32, 3, dates)},
            [CORRELATION] = {"correlation", .array = matrix(ELEMENT_f32, us, us)},
            [VOLATILITY] = {"volatility", .array = matrix(ELEMENT_f32, dates, us)},
            [DRIFT] = {"drift", .array = matrix(ELEMENT_f32, dates, us)},
            [START] = {"start", .array = matrix(ELEMENT_f32, 0, us)},
            [DISCOUNT] = {"discount", .array = matrix(ELEMENT_f32, 0, dates)},
        }};
    p->arguments = (struct arguments){"option_pricing", "test", VALUES, p->values};
    for (int i = 0; i < VALUES; i++) {
        struct host_array *array = &p->values[i].array;
        if (i <= BITS)
            array->element = ELEMENT_i64;
        else
            assert_int_equal(
                workload_option_pricing.fill(&p->arguments, p->values[i].name, array, 1, NULL), 0);
    }
}

static void problem_close(struct problem *p)
{
    for (int i = DIRECTIONS; i < VALUES; i++)
        free(p->values[i].array.data);
}

static float *floats(struct problem *p, int value)
{
    return p->values[value].array.data;
}

static int check_error(struct problem *p, double price, double *worst_error)
{
    float value = (float)price;
    struct host_array result = {ELEMENT_f32, 1, {1}, 1, &value};
    struct error error = {0};
    *worst_error = -1;
    int code = workload_option_pricing.check(&p->arguments, &result, 1, worst_error, &error);
    assert_int_equal(error.code, code);
    assert_true(!(*worst_error < 0));
    return code;
}

static int check(struct problem *p, double price)
{
    double worst_error;
    return check_error(p, price, &worst_error);
}

static double error_of(struct problem *p, double price)
{
    double worst_error;
    check_error(p, price, &worst_error);
    return worst_error;
}

/* Point m of dimension r, by the definition. */
static uint32_t sobol_point(const uint32_t *direction, int64_t bits, uint32_t m)
{
    uint32_t point = 0, gray = m ^ m >> 1;
    for (int64_t b = 0; b < bits; b++)
        if (gray >> b & 1)
            point ^= direction[b];
    return point;
}

static void points_fill_every_dimension_evenly(void **state)
{
    (void)state;
    enum { WIDTH = 9 };
    struct problem p;
    problem_open(&p, 3, 4, 367, 3, WIDTH);
    const uint32_t *directions = p.values[DIRECTIONS].array.data;
    for (int64_t r = 0; r < 1101; r++)
        for (int k = 1; k <= WIDTH; k++) {
            /* The upper k bits of the first 2^k points, point 0 with them, are all different. */
            bool seen[1 << WIDTH] = {false};
            for (uint32_t m = 0; m < 1u << k; m++) {
                uint32_t cell = sobol_point(directions + r * WIDTH, WIDTH, m) >> (WIDTH - k);
                assert_true(cell < 1u << k && !seen[cell]);
                seen[cell] = true;
            }
        }
    const double van_der_corput[] = {0.5, 0.75, 0.25, 0.375};
    for (uint32_t m = 1; m <= 4; m++)
        assert_float_equal(ldexp(sobol_point(directions, WIDTH, m), -WIDTH), van_der_corput[m - 1],
                           0);
    problem_close(&p);
}

static void dimensions_differ(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, 3, 4, 367, 3, 24);
    const uint32_t *directions = p.values[DIRECTIONS].array.data;
    for (int r = 0; r < 1101; r++)
        for (int other = 0; other < r; other++)
            assert_memory_not_equal(directions + r * 24, directions + other * 24,
                                    24 * sizeof *directions);
    problem_close(&p);
}

/* Motion at two dates has the covariance min(t, t'): the bridge is a linear map whose rows say so.
 */
static void bridge_makes_brownian_motion(void **state)
{
    (void)state;
    const int64_t dates_of[] = {1, 2, 3, 5, 64, 367};
    for (size_t i = 0; i < sizeof dates_of / sizeof *dates_of; i++) {
        struct problem p;
        int64_t n = dates_of[i];
        problem_open(&p, 1, 4, n, 1, 8);
        const int32_t *at = p.values[BRIDGE_INDEX].array.data, *left = at + n, *right = left + n;
        const float *deviate = floats(&p, BRIDGE_WEIGHT), *lw = deviate + n, *rw = lw + n;
        double *row = calloc((size_t)(n * n), sizeof *row);
        assert_non_null(row);
        for (int64_t s = 0; s < n; s++)
            for (int64_t z = 0; z < n; z++)
                row[at[s] * n + z] = (z == s ? deviate[s] : 0) +
                                     (left[s] < 0 ? 0 : lw[s] * row[left[s] * n + z]) +
                                     (right[s] < 0 ? 0 : rw[s] * row[right[s] * n + z]);
        for (int64_t a = 0; a < n; a++)
            for (int64_t b = 0; b <= a; b++) {
                double covariance = 0;
                for (int64_t z = 0; z < n; z++)
                    covariance += row[a * n + z] * row[b * n + z];
                assert_true(fabs(covariance - (double)(b + 1)) < 1e-5 * (double)(b + 1));
            }
        free(row);
        problem_close(&p);
    }
}

static void correlations_are_those_of_the_market(void **state)
{
    (void)state;
    const double expected[3][3] = {{1, 0.6, 0.4}, {0.6, 1, 0.5}, {0.4, 0.5, 1}};
    struct problem p;
    problem_open(&p, 2, 4, 5, 3, 8);
    const float *l = floats(&p, CORRELATION);
    for (int u = 0; u < 3; u++)
        for (int v = 0; v < 3; v++) {
            double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += (double)l[3 * u + k] * l[3 * v + k];
            assert_true(fabs(sum - expected[u][v]) < 1e-6);
            assert_true(v <= u || l[3 * u + v] == 0);
        }
    problem_close(&p);
}

static void an_unknown_array_is_an_error(void **state)
{
    (void)state;
    struct problem p;
    struct error error = {0};
    problem_open(&p, 1, 4, 1, 1, 8);
    assert_int_equal(
        workload_option_pricing.fill(&p.arguments, "strikes", &p.values[START].array, 1, &error),
        ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, "strikes"));
    problem_close(&p);
}

/* What a contract pays on its only date, for one underlying that ended at `price`. */
static double pays(int64_t contract, double price, double start)
{
    double ratio = price / start;
    if (contract == 1)
        return price > 4000 ? price - 4000 : 0;
    if (contract == 2)
        return ratio >= 1 ? 1150 : ratio >= 0.75 ? 1000 : 1000 * ratio;
    return ratio > 0.7 ? 1100 : 100 + 1000 * ratio;
}

/* The expectation over the normal distribution at the last date, by the midpoint rule. */
static double integrated_price(int64_t contract, double years)
{
    const double step = 4e-5, start = 3800, sigma = 0.20, growth = 0.03 - 0.02;
    double sum = 0;
    for (int64_t i = -200000; i < 200000; i++) {
        double z = ((double)i + 0.5) * step;
        double price = start * exp((growth - sigma * sigma / 2) * years + sigma * sqrt(years) * z);
        sum += pays(contract, price, start) * exp(-z * z / 2);
    }
    return exp(-0.03 * years) * sum * step / sqrt(6.283185307179586);
}

static void integrals_are_right(void **state)
{
    (void)state;
    const double years[] = {[1] = 1, [2] = 1, [3] = 1.0 / 365};
    for (int64_t contract = 1; contract <= 3; contract++) {
        struct problem p;
        problem_open(&p, contract, 16383, 1, 1, 14);
        double price = integrated_price(contract, years[contract]);
        assert_int_equal(check(&p, price), 0);
        assert_int_equal(check(&p, price * 1.002), ERR_WRONG);
        assert_int_equal(check(&p, price * 0.998), ERR_WRONG);
        assert_int_equal(check(&p, NAN), ERR_WRONG);
        problem_close(&p);
    }
}

/* On several dates the reference is a finite number of paths, and near the integral, not at it. */
static void paths_end_where_the_integral_says(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, 1, 16383, 4, 1, 14);
    assert_true(error_of(&p, integrated_price(1, 4)) < 2e-3);
    problem_close(&p);
}

/* Without volatility every path is the same: underlying u grows by growth[d] at date d, and the
 * second underlying by a tenth more. */
static void certain_paths_are_right(void **state)
{
    (void)state;
    const struct {
        int64_t contract;
        double growth[3], pays;
        int date; /* whose discount applies */
    } cases[] = {
        {1, {1.1, 1.0, 1.1}, 3800 * 1.21 - 4000, 2},
        {1, {1.0, 1.0, 1.1}, 180, 2},
        {2, {1.1, 1.0, 1.0}, 1150, 0},
        {2, {0.9, 1.2, 1.0}, 1300, 1},
        {2, {0.9, 0.9, 1.3}, 1450, 2},
        {2, {0.9, 0.9, 1.0}, 1000, 2},
        {2, {0.9, 0.8, 1.0}, 720, 2},
        {3, {1.0, 0.9, 1.0}, 1100, 2},
        {3, {0.6, 1.5, 1.0}, 100 + 900, 2},
        {3, {0.6, 1.5, 1.2}, 1100, 2},
        {3, {0.71, 1.0, 1.0}, 1100, 2},
        {3, {0.69, 1.0, 1.0}, 100 + 690, 2},
        {3, {1.0, 1.0, 0.6}, 100 + 600, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct problem p;
        problem_open(&p, cases[i].contract, 5000, 3, 2, 13);
        memset(floats(&p, VOLATILITY), 0, 6 * sizeof(float));
        for (int d = 0; d < 3; d++)
            for (int u = 0; u < 2; u++)
                floats(&p, DRIFT)[2 * d + u] = (float)log(cases[i].growth[d] * (u ? 1.1 : 1));
        double price = cases[i].pays * floats(&p, DISCOUNT)[cases[i].date];
        assert_int_equal(check(&p, price), 0);
        assert_int_equal(check(&p, price * 1.001), ERR_WRONG);
        problem_close(&p);
    }
}

/* The first points have the coordinates 1/4, 1/2 and 3/4, whose normal deviates are in
 * tables. */
static double tabled_quantile(uint32_t quarters)
{
    const double deviate = 0.674489750196082;
    return quarters == 1 ? -deviate : quarters == 2 ? 0 : deviate;
}

static void two_paths_by_hand(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, 3, 2, 1, 2, 8);
    floats(&p, BRIDGE_WEIGHT)[0] = 1;
    const float drift = -1.25f, *volatility = floats(&p, VOLATILITY);
    floats(&p, DRIFT)[0] = floats(&p, DRIFT)[1] = drift;
    const uint32_t *directions = p.values[DIRECTIONS].array.data;
    double sum = 0;
    for (uint32_t m = 1; m <= 2; m++) {
        double z0 = tabled_quantile(sobol_point(directions, 8, m) >> 6);
        double z1 = tabled_quantile(sobol_point(directions + 8, 8, m) >> 6);
        double first = exp(drift + volatility[0] * z0);
        double second = exp(drift + volatility[1] * (0.6 * z0 + 0.8 * z1));
        sum += 100 + 1000 * (first < second ? first : second);
    }
    assert_true(error_of(&p, sum / 2 * floats(&p, DISCOUNT)[0]) < 1e-6);
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_fill_every_dimension_evenly),
        cmocka_unit_test(dimensions_differ),
        cmocka_unit_test(bridge_makes_brownian_motion),
        cmocka_unit_test(correlations_are_those_of_the_market),
        cmocka_unit_test(an_unknown_array_is_an_error),
        cmocka_unit_test(integrals_are_right),
        cmocka_unit_test(paths_end_where_the_integral_says),
        cmocka_unit_test(certain_paths_are_right),
        cmocka_unit_test(two_paths_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
