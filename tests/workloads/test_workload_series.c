/* The reference of the Fourier coefficients, against those that Java Grande publishes and against
 * the integrals that they approximate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_series;

static const double pi = 3.14159265358979323846;

/* An answer for n coefficients. */
struct run {
    struct named_value n;
    struct arguments arguments;
    struct host_array results[2];
    double *a, *b;
};

static void run_open(struct run *run, int64_t n)
{
    *run = (struct run){.n = {.name = "n", .scalar.i64 = n}};
    run->arguments = (struct arguments){"series", "test", 1, &run->n};
    for (int r = 0; r < 2; r++) {
        run->results[r] = (struct host_array){
            .element = ELEMENT_f64, .rank = 1, .shape = {n}, .count = (size_t)n};
        run->results[r].data = calloc((size_t)n, sizeof(double));
        assert_non_null(run->results[r].data);
    }
    run->a = run->results[0].data;
    run->b = run->results[1].data;
}

static void run_close(struct run *run)
{
    free(run->a);
    free(run->b);
}

static int check(struct run *run, size_t results)
{
    double worst;
    struct error error;
    return workload_series.check(&run->arguments, run->results, results, &worst, &error);
}

/* The rule again, term by term with the angles as they come; Java Grande leaves a point out. */
static void integrate(struct run *run, int64_t from)
{
    for (int64_t i = from; i < run->n.scalar.i64; i++) {
        double a = 0, b = 0;
        for (int k = 0; k <= 1000; k++) {
            if (k == 999)
                continue;
            double x = k * 0.002, f = (k % 1000 == 0 ? 0.001 : 0.002) * pow(x + 1, x);
            a += f * cos(pi * (double)i * x);
            b += f * sin(pi * (double)i * x);
        }
        run->a[i] = i ? a : a / 2;
        run->b[i] = b;
    }
}

static void published_coefficients_are_right(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, 4);
    const double a[] = {2.8729524964837996, 1.1161046676147888, 0.34429060398168704,
                        0.15238898702519288};
    const double b[] = {0, -1.8819691893398025, -1.1645642623320958, -0.8143461113044298};
    memcpy(run.a, a, sizeof a);
    memcpy(run.b, b, sizeof b);
    assert_int_equal(check(&run, 2), 0);
    run_close(&run);
}

/* Beyond 1000 coefficients the reference repeats; the plain sum does not know. */
static void many_coefficients_are_right(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, 2500);
    integrate(&run, 0);
    assert_int_equal(check(&run, 2), 0);
    run_close(&run);
}

static void wrong_answers_are_found(void **state)
{
    (void)state;
    static const struct {
        int result;
        int64_t at;
        double factor, add;
    } table[] = {{0, 0, 2, 0},         {0, 0, 1, 1e-11},   {1, 0, 1, 1e-9},
                 {0, 17, 1.000001, 0}, {1, 17, -1, 0},     {1, 1203, 1.000001, 0},
                 {0, 1203, 0, 0},      {1, 1299, 1, 1e-9}, {0, 1299, 1, (double)NAN}};
    struct run run;
    run_open(&run, 1300);
    integrate(&run, 0);
    assert_int_equal(check(&run, 2), 0);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double *value = (table[i].result ? run.b : run.a) + table[i].at, right = *value;
        *value = right * table[i].factor + table[i].add;
        assert_int_equal(check(&run, 2), ERR_WRONG);
        *value = right;
    }
    assert_int_equal(check(&run, 1), ERR_WRONG);
    run.results[1].count--;
    assert_int_equal(check(&run, 2), ERR_WRONG);
    run_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_coefficients_are_right),
        cmocka_unit_test(many_coefficients_are_right),
        cmocka_unit_test(wrong_answers_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
