/* Inputs and reference of bfast.mem.
 *
 * A pixel's series has a trend, two seasons, noise and a jump in the later part, in every third
 * pixel; a quarter of its values is missing. The reference fits by Cholesky's decomposition in
 * double precision, pixel by pixel, and makes each moving sum anew.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

enum { TERMS = 8 };

static int bfast_fill(const struct arguments *arguments, const char *name, struct host_array *array,
                      uint64_t seed, struct error *error)
{
    const int64_t dates = argument_i64(arguments, "dates");
    const double period = argument(arguments, "period")->scalar.f64;
    if (strcmp(name, "date") == 0) {
        for (int64_t t = 0; t < dates; t++)
            ((int32_t *)array->data)[t] = (int32_t)t + 1;
        return 0;
    }
    if (strcmp(name, "images") != 0)
        return error_set(error, ERR_NOT_FOUND, "bfast: the program has no array '%s'", name);
    for (size_t i = 0; i < array->count; i++) {
        const int64_t p = (int64_t)i / dates, t = (int64_t)i % dates;
        const uint64_t bits = random_split(seed, i);
        const double noise = (double)(bits >> 40) / (1 << 24) - 0.5;
        const double year = 2 * 3.14159265358979323846 * (double)t / period;
        const double jump = p % 3 == 0 && t > dates * 3 / 4 ? 2 : 0;
        const double value = 5 + 0.002 * (double)t + sin(year) + 0.3 * cos(2 * year) + noise + jump;
        const double y = (bits & 3) == 0 ? NAN : value;
        if (array->element == ELEMENT_f64)
            ((double *)array->data)[i] = y;
        else
            ((float *)array->data)[i] = (float)y;
    }
    return 0;
}

static double number_of(const struct host_array *array, int64_t at)
{
    return array->element == ELEMENT_f64 ? ((const double *)array->data)[at]
                                         : ((const float *)array->data)[at];
}

struct series {
    int64_t dates, n;
    double period, share, level;
    const int32_t *date;
    double *left; /* what is left, at the dates with a value */
    int32_t *at;  /* these dates */
    int64_t count, history;
};

static void terms_of(const struct series *s, int64_t t, double x[TERMS])
{
    x[0] = 1;
    x[1] = (double)s->date[t] / s->date[s->dates - 1];
    for (int k = 1; k < TERMS / 2; k++) {
        const double angle = 2 * 3.14159265358979323846 * k * s->date[t] / s->period;
        x[2 * k] = sin(angle);
        x[2 * k + 1] = cos(angle);
    }
}

/* Solves a x = b for a positive matrix. */
static void solve(double a[TERMS][TERMS], double b[TERMS])
{
    for (int i = 0; i < TERMS; i++)
        for (int j = 0; j <= i; j++) {
            double rest = a[i][j];
            for (int k = 0; k < j; k++)
                rest -= a[i][k] * a[j][k];
            a[i][j] = i == j ? sqrt(rest) : rest / a[j][j];
        }
    for (int i = 0; i < TERMS; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (int i = TERMS - 1; i >= 0; i--) {
        for (int k = i + 1; k < TERMS; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
}

static void fit(struct series *s, const struct host_array *images, int64_t p)
{
    double a[TERMS][TERMS] = {{0}}, b[TERMS] = {0}, x[TERMS];
    s->count = s->history = 0;
    for (int64_t t = 0; t < s->dates; t++) {
        const double y = number_of(images, p * s->dates + t);
        if (isnan(y))
            continue;
        s->left[s->count] = y;
        s->at[s->count++] = (int32_t)t;
        if (t >= s->n)
            continue;
        s->history++;
        terms_of(s, t, x);
        for (int i = 0; i < TERMS; i++) {
            b[i] += x[i] * y;
            for (int j = 0; j < TERMS; j++)
                a[i][j] += x[i] * x[j];
        }
    }
    solve(a, b);
    for (int64_t c = 0; c < s->count; c++) {
        terms_of(s, s->at[c], x);
        for (int k = 0; k < TERMS; k++)
            s->left[c] -= x[k] * b[k];
    }
}

/* Is `broken` the first sum beyond the bound, or one that rounding may take for it? The mean and
 * the sum of the sizes of the moving sums go to *mean and *size. */
static bool is_right(const struct series *s, int32_t broken, double *mean, double *size)
{
    const int64_t h = (int64_t)((double)s->history * s->share), after = s->count - s->history;
    double squares = 0;
    bool over = false, right = false;
    for (int64_t c = 0; c < s->history; c++)
        squares += s->left[c] * s->left[c];
    const double one =
        1 / (sqrt(squares / (double)(s->history - TERMS)) * sqrt((double)s->history));
    *mean = *size = 0;
    for (int64_t j = 0; j < after; j++) {
        double sum = 0;
        for (int64_t c = s->history - h + 1 + j; c <= s->history + j; c++)
            sum += s->left[c];
        *mean += sum * one;
        *size += fabs(sum * one);
        const double ratio = (double)s->date[s->n + j] / s->date[s->dates - 1];
        const double bound = 1.0001 * s->level * sqrt(ratio > exp(1) ? log(ratio) : 1);
        if (over || fabs(sum * one) < bound * (1 - 2e-3))
            continue;
        const int32_t found = s->at[s->history + j] - (int32_t)s->n;
        right |= broken == (found - 1) / 2 * 2 + 1;
        over = fabs(sum * one) > bound * (1 + 2e-3);
    }
    if (s->history <= 5 || after <= 5)
        return broken == -2;
    return right || (!over && broken == -1);
}

static int bfast_check(const struct arguments *arguments, const struct host_array *results,
                       size_t result_count, double *worst_error, struct error *error)
{
    const struct host_array *images = &argument(arguments, "images")->array;
    const int64_t m = argument_i64(arguments, "m");
    *worst_error = 0;
    if (result_count != 2 || results[0].element != ELEMENT_i32 ||
        results[1].element != images->element || results[0].count != (size_t)m ||
        results[1].count != (size_t)m)
        return error_set(error, ERR_WRONG, "bfast: expected [m]i32 and [m]%s as the results",
                         element_name(images->element));
    struct series s = {.dates = argument_i64(arguments, "dates"),
                       .n = argument_i64(arguments, "n"),
                       .period = argument(arguments, "period")->scalar.f64,
                       .share = argument(arguments, "share")->scalar.f64,
                       .level = argument(arguments, "level")->scalar.f64,
                       .date = argument(arguments, "date")->array.data};
    s.left = malloc((size_t)s.dates * sizeof *s.left);
    s.at = malloc((size_t)s.dates * sizeof *s.at);
    int code = s.left && s.at ? 0 : error_set(error, ERR_HOST_MEMORY, "bfast: no memory");
    const double limit = images->element == ELEMENT_f64 ? 1e-9 : 1e-3;
    for (int64_t p = 0; p < m && !code; p++) {
        double mean, size;
        const int32_t broken = ((const int32_t *)results[0].data)[p];
        const double got = number_of(&results[1], p);
        fit(&s, images, p);
        if (!is_right(&s, broken, &mean, &size))
            code =
                error_set(error, ERR_WRONG, "broken[%lld] is %d, and no first sum beyond the bound",
                          (long long)p, broken);
        const double off = fabs(got - mean) / (size > 1 ? size : 1);
        *worst_error = off > *worst_error ? off : *worst_error;
        if (!code && !(off <= limit))
            code = error_set(error, ERR_WRONG, "mean[%lld] is %.9g, expected %.9g", (long long)p,
                             got, mean);
    }
    free(s.left);
    free(s.at);
    return code;
}

const struct workload workload_bfast = {.fill = bfast_fill, .check = bfast_check};
