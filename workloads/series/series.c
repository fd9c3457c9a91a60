/* The reference of series.mem.
 *
 * At the points of the trapezoidal rule, x = k / 500, the angle pi i x is 2 pi (i k) / 1000: the
 * coefficients are a discrete Fourier transform of 1000 values and repeat after 1000. So there are
 * 1000 of them to compute, from a table of exact angles, however large n is.
 */
#include <math.h>
#include <stdlib.h>

#include "workload.h"

enum { STEPS = 1000 };

static const long double pi = 3.14159265358979323846264338327950288L;

struct reference {
    double a[STEPS], b[STEPS]; /* coefficients of pair i, by i modulo STEPS */
    double first;              /* a of pair 0 */
};

static void compute(struct reference *ref)
{
    long double f[STEPS], cosine[STEPS], sine[STEPS];
    for (int k = 0; k < STEPS; k++) {
        long double x = k / (STEPS / 2.0L), angle = 2 * pi * k / STEPS;
        f[k] = powl(x + 1, x);
        cosine[k] = cosl(angle);
        sine[k] = sinl(angle);
    }
    f[STEPS - 1] = 0;      /* the point that Java Grande leaves out */
    f[0] = (1 + 9) / 2.0L; /* the ends, each with half its weight, are one point of the circle */
    for (int i = 0; i < STEPS; i++) {
        long double a = 0, b = 0;
        for (int k = 0; k < STEPS; k++) {
            a += f[k] * cosine[i * k % STEPS];
            b += f[k] * sine[i * k % STEPS];
        }
        ref->a[i] = (double)(a * 2 / STEPS);
        ref->b[i] = (double)(b * 2 / STEPS);
    }
    ref->first = ref->a[0] / 2;
}

/* Errors are absolute, in units of the first coefficient, the mean of f and the size of its terms:
 * many coefficients are small by cancellation. Sums of 1000 terms stay below 1e-12. An angle of up
 * to 2 pi i that was rounded a few times is off by some 1e-15 i. */
static double tolerance(int64_t i)
{
    return 1e-12 + 1e-14 * (double)i;
}

static int compare(const struct reference *ref, const char *name, int64_t i, double got,
                   double expected, double *worst, struct error *error)
{
    double off = fabs(got - expected) / ref->first;
    if (!(off <= *worst))
        *worst = off;
    if (off <= tolerance(i)) /* false for NaN */
        return 0;
    return error_set(error, ERR_WRONG,
                     "series: %s[%lld] is %.17g, expected %.17g with an error of at most %.2g",
                     name, (long long)i, got, expected, tolerance(i) * ref->first);
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    int64_t n = argument_i64(arguments, "n");
    *worst_error = 0;
    if (result_count != 2 || results[0].count != (size_t)n || results[1].count != (size_t)n)
        return error_set(error, ERR_WRONG, "series: expected two results of %lld coefficients",
                         (long long)n);
    struct reference *ref = malloc(sizeof *ref);
    if (!ref)
        return error_set(error, ERR_HOST_MEMORY, "series: no memory for %zu bytes of reference",
                         sizeof *ref);
    compute(ref);
    const double *a = results[0].data, *b = results[1].data;
    int code = 0;
    for (int64_t i = 0; i < n && !code; i++) {
        double expected_a = i ? ref->a[i % STEPS] : ref->first;
        double expected_b = i ? ref->b[i % STEPS] : 0;
        code = compare(ref, "a", i, a[i], expected_a, worst_error, error);
        THEN(code, compare(ref, "b", i, b[i], expected_b, worst_error, error));
    }
    free(ref);
    return code;
}

const struct workload workload_series = {.check = check};
