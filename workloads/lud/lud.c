/* lud's matrix and the check of its factors: if L U = A then L (U x) = A x for every x, and if not,
 * hardly any random x hides it (Freivalds 1977). That takes n^2 operations, where another
 * decomposition would take n^3, and is done in double precision.
 */
#include <math.h>
#include <stdlib.h>

#include "workload.h"

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif

enum { VECTORS = 3 };

/* Relative to a row's length. An element of the factors is off by a few roundings of 6e-8 for each
 * block it went through, and a row adds n of them, of either sign. Measured: 4e-7 at n = 512, 1e-6
 * at n = 4096. In double precision the check is rounded as much: 9e-15 at n = 2048. */
static double tolerance_of(const struct host_array *matrix)
{
    return matrix->element == ELEMENT_f64 ? 1e-12 : 5e-6;
}

/* A matrix lies in rows, or as [rows of blocks][blocks][32][32]; blocks may go beyond n. */
static int64_t side_of(const struct host_array *matrix)
{
    return matrix->rank == 4 ? 32 * matrix->shape[0] : matrix->shape[0];
}
static int64_t place(const struct host_array *matrix, int64_t r, int64_t c)
{
    if (matrix->rank != 4)
        return r * matrix->shape[1] + c;
    return ((r / 32 * matrix->shape[1] + c / 32) * 32 + r % 32) * 32 + c % 32;
}

static double at(const struct host_array *matrix, int64_t r, int64_t c)
{
    const int64_t i = place(matrix, r, c);
    return matrix->element == ELEMENT_f64 ? ((const double *)matrix->data)[i]
                                          : ((const float *)matrix->data)[i];
}

static void put(struct host_array *matrix, int64_t r, int64_t c, double value)
{
    const int64_t i = place(matrix, r, c);
    if (matrix->element == ELEMENT_f64)
        ((double *)matrix->data)[i] = value;
    else
        ((float *)matrix->data)[i] = (float)value;
}

/* Off the diagonal, elements are so small that a row of them is about as long as one of unit size;
 * with 2 to 3 on the diagonal no pivot comes near 0 then, at any n. */
static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    int64_t n = argument_i64(arguments, "n"), side = side_of(array);
    double size = 1 / sqrt((double)n);
    (void)name;
    (void)error;
    PARALLEL_FOR
    for (int64_t r = 0; r < side; r++) {
        struct random random = {random_split(seed, (uint64_t)r)};
        for (int64_t c = 0; c < side; c++)
            put(array, r, c, r < n && c < n ? size * (2 * random_unit(&random) - 1) : 0);
        put(array, r, r, r < n ? 2 + random_unit(&random) : 1);
    }
    return 0;
}

struct vectors {
    double *x, *ux;
};

/* Values from 1/2 to 3/2, of either sign, so that no element is lost. */
static void draw(double *x, int64_t n, uint64_t stream)
{
    struct random random = {random_split(0, stream)};
    for (int64_t i = 0; i < n; i++) {
        double r = random_unit(&random) - 0.5;
        x[i] = r < 0 ? r - 0.5 : r + 0.5;
    }
}

static void multiply_upper(const struct host_array *lu, int64_t n, const struct vectors *v)
{
    PARALLEL_FOR
    for (int64_t r = 0; r < n; r++) {
        double sum = 0;
        for (int64_t c = r; c < n; c++)
            sum += at(lu, r, c) * v->x[c];
        v->ux[r] = sum;
    }
}

/* The difference between row r of L (U x) and of A x, as a part of the row's length. */
static double row_error(const struct host_array *mat, const struct host_array *lu, int64_t n,
                        const struct vectors *v, int64_t r)
{
    double difference = v->ux[r], squares = 0;
    for (int64_t c = 0; c < r; c++)
        difference += at(lu, r, c) * v->ux[c];
    for (int64_t c = 0; c < n; c++) {
        difference -= at(mat, r, c) * v->x[c];
        squares += at(mat, r, c) * at(mat, r, c);
    }
    return fabs(difference) / sqrt(squares);
}

static int check_rows(const struct host_array *mat, const struct host_array *lu, int64_t n,
                      const struct vectors *v, double *worst, struct error *error)
{
    const double limit = tolerance_of(mat);
    for (int64_t r = 0; r < n; r++) {
        double off = row_error(mat, lu, n, v, r);
        if (!(off <= limit)) /* also for NaN */
            return error_set(error, ERR_WRONG,
                             "lud: row %lld of L U x is off by %.3g of the row's length, at most "
                             "%.3g expected",
                             (long long)r, off, limit);
        *worst = fmax(*worst, off);
    }
    return 0;
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    const struct host_array *mat = &argument(arguments, "mat")->array;
    int64_t n = side_of(mat);
    *worst_error = 0;
    if (result_count != 1 || results[0].count != (size_t)(n * n))
        return error_set(error, ERR_WRONG,
                         "lud: %zu results, expected one matrix of %lld x %lld elements",
                         result_count, (long long)n, (long long)n);
    struct vectors v = {.x = malloc((size_t)n * sizeof *v.x),
                        .ux = malloc((size_t)n * sizeof *v.x)};
    int code = 0;
    if (!v.x || !v.ux)
        code = error_set(error, ERR_HOST_MEMORY, "lud: no memory for two vectors of %lld elements",
                         (long long)n);
    for (uint64_t i = 0; i < VECTORS && !code; i++) {
        draw(v.x, n, i);
        multiply_upper(results, n, &v);
        code = check_rows(mat, results, n, &v, worst_error, error);
    }
    free(v.x);
    free(v.ux);
    return code;
}

const struct workload workload_lud = {.fill = fill, .check = check};
