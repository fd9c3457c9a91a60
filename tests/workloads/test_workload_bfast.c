/* The reference of bfast, on a series whose fit and moving sums are known. */
#include <math.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_bfast;

enum { DATES = 60, HISTORY = 36, WIDTH = 9, JUMP = 45 };

/* The fifth harmonic is none of the fit's three. Over three periods it is orthogonal to these, and
 * to the trend, as it is symmetric: so the fit is 0, and all of the series is left. */
static void a_jump_is_a_break(void **state)
{
    (void)state;
    double series[DATES], mean = 0, worst;
    int32_t date[DATES], broken;
    struct error error;
    struct named_value values[] = {
        {.name = "m", .scalar.i64 = 1},
        {.name = "dates", .scalar.i64 = DATES},
        {.name = "n", .scalar.i64 = HISTORY},
        {.name = "period", .scalar.f64 = 12},
        {.name = "share", .scalar.f64 = 0.25},
        {.name = "level", .scalar.f64 = 4},
        {.name = "date", .array = {ELEMENT_i32, 1, {DATES}, DATES, date}},
        {.name = "images", .array = {ELEMENT_f64, 2, {1, DATES}, DATES, series}},
    };
    struct arguments arguments = {"bfast_f64", "test", sizeof values / sizeof *values, values};
    struct host_array results[] = {{ELEMENT_i32, 1, {1}, 1, &broken},
                                   {ELEMENT_f64, 1, {1}, 1, &mean}};
    assert_int_equal(workload_bfast.fill(&arguments, "date", &values[6].array, 1, &error), 0);
    for (int t = 0; t < DATES; t++)
        series[t] = cos(2 * 3.14159265358979323846 * 5 * (t - 17.5) / 12) + (t < JUMP ? 0 : 100);
    for (int t = HISTORY; t < DATES; t++)
        for (int c = t - WIDTH + 1; c <= t; c++)
            mean += series[c];
    mean /= sqrt(18. / (HISTORY - 8)) * sqrt(HISTORY); /* the squares of a cosine are 1/2 */
    static const int right = (JUMP - HISTORY - 1) / 2 * 2 + 1, wrong[] = {-2, -1, 1, right + 2};
    broken = right;
    assert_int_equal(workload_bfast.check(&arguments, results, 2, &worst, &error), 0);
    for (int i = 0; i < 4; i++) {
        broken = wrong[i];
        assert_int_equal(workload_bfast.check(&arguments, results, 2, &worst, &error), ERR_WRONG);
    }
    broken = right;
    mean *= 1 + 1e-6;
    assert_int_equal(workload_bfast.check(&arguments, results, 2, &worst, &error), ERR_WRONG);
    mean = NAN;
    assert_int_equal(workload_bfast.check(&arguments, results, 2, &worst, &error), ERR_WRONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_jump_is_a_break)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
