/* Inputs and reference of fft.mem.
 *
 * The reference is the textbook recursion in double: the transforms of the even and of the odd
 * values, joined. Its depth-first order and its in-order output have nothing in common with
 * Stockham's passes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

static const double two_pi = 6.283185307179586476925287;

static void fill_twiddle(struct host_array *table, int64_t n)
{
    float *re = table->data, *im = re + n / 2;
    for (int64_t i = 0; i < n / 2; i++) {
        double angle = two_pi * (double)i / (double)n;
        re[i] = (float)cos(angle);
        im[i] = (float)-sin(angle);
    }
}

static int fft_fill(const struct arguments *arguments, const char *name, struct host_array *array,
                    uint64_t seed, struct error *error)
{
    if (strcmp(name, "twiddle") == 0) {
        fill_twiddle(array, argument_i64(arguments, "n"));
        return 0;
    }
    if (strcmp(name, "x") == 0) {
        struct random random = {seed};
        float *x = array->data;
        for (size_t i = 0; i < array->count; i++)
            x[i] = (float)(2 * random_unit(&random) - 1);
        return 0;
    }
    return error_set(error, ERR_NOT_FOUND, "fft: the program has no array named '%s'", name);
}

/* The reference of one signal at a time. */
struct reference {
    int64_t n;
    const float *in_re, *in_im;
    double *root_re, *root_im; /* [n / 2]: exp(-2 pi i k / n) */
    double *re, *im;           /* [n]: the transform */
};

/* Transforms the count = n / stride values from `from` on, every stride-th, into [to, to + count).
 */
static void transform(const struct reference *ref, int64_t from, int64_t stride, int64_t to,
                      int64_t count)
{
    if (count == 1) {
        ref->re[to] = ref->in_re[from];
        ref->im[to] = ref->in_im[from];
        return;
    }
    int64_t half = count / 2;
    transform(ref, from, 2 * stride, to, half);
    transform(ref, from + stride, 2 * stride, to + half, half);
    double *re = ref->re + to, *im = ref->im + to;
    for (int64_t f = 0; f < half; f++) {
        double wr = ref->root_re[f * stride], wi = ref->root_im[f * stride];
        double vr = wr * re[f + half] - wi * im[f + half];
        double vi = wr * im[f + half] + wi * re[f + half];
        re[f + half] = re[f] - vr;
        im[f + half] = im[f] - vi;
        re[f] += vr;
        im[f] += vi;
    }
}

/* Compares the transform of signal `k`. An error is relative to the root mean square of the whole
 * transform: a bin that is nearly zero by cancellation can't be right to its own size. That every
 * value is within the limit also bounds the relative L2 error by it. */
static int compare(const struct reference *ref, int64_t k, const float *got_re, const float *got_im,
                   double *worst_error, struct error *error)
{
    double energy = 0, worst = 0;
    int64_t worst_at = 0;
    for (int64_t f = 0; f < ref->n; f++) {
        double dr = got_re[f] - ref->re[f], di = got_im[f] - ref->im[f];
        double size = dr * dr + di * di;
        energy += ref->re[f] * ref->re[f] + ref->im[f] * ref->im[f];
        if (!isnan(worst) && !(size <= worst)) { /* a NaN is the worst there is, and stays */
            worst = size;
            worst_at = f;
        }
    }
    double root_mean_square = energy > 0 ? sqrt(energy / (double)ref->n) : 1;
    double limit = 1e-6 * log2((double)ref->n), relative = sqrt(worst) / root_mean_square;
    if (!(relative <= *worst_error))
        *worst_error = relative;
    if (relative <= limit)
        return 0;
    return error_set(error, ERR_WRONG,
                     "y[:, %lld, %lld] is %.9g%+.9gi, expected %.9g%+.9gi; relative to the "
                     "transform's size the error is %.3g > %.3g",
                     (long long)k, (long long)worst_at, (double)got_re[worst_at],
                     (double)got_im[worst_at], ref->re[worst_at], ref->im[worst_at], relative,
                     limit);
}

static int fft_check(const struct arguments *arguments, const struct host_array *results,
                     size_t result_count, double *worst_error, struct error *error)
{
    int64_t n = argument_i64(arguments, "n"), batch = argument_i64(arguments, "batch");
    const struct host_array *x = &argument(arguments, "x")->array;
    *worst_error = 0;
    if (result_count != 1 || results[0].element != ELEMENT_f32 || results[0].count != x->count)
        return error_set(error, ERR_WRONG, "fft: expected one [2][%lld][%lld]f32 as the result",
                         (long long)batch, (long long)n);

    int code = 0;
    size_t half = (size_t)n / 2;
    double *memory = malloc((2 * half + 2 * (size_t)n) * sizeof *memory);
    if (!memory)
        return error_set(error, ERR_HOST_MEMORY, "fft: no memory for a reference of %lld values",
                         (long long)n);
    struct reference ref = {.n = n,
                            .root_re = memory,
                            .root_im = memory + half,
                            .re = memory + 2 * half,
                            .im = memory + 2 * half + n};
    for (int64_t f = 0; f < n / 2; f++) {
        ref.root_re[f] = cos(two_pi * (double)f / (double)n);
        ref.root_im[f] = -sin(two_pi * (double)f / (double)n);
    }
    const float *in = x->data, *got = results[0].data;
    for (int64_t k = 0; k < batch && code == 0; k++) {
        ref.in_re = in + k * n;
        ref.in_im = in + (batch + k) * n;
        transform(&ref, 0, 1, 0, n);
        code = compare(&ref, k, got + k * n, got + (batch + k) * n, worst_error, error);
    }
    free(memory);
    return code;
}

const struct workload workload_fft = {.fill = fft_fill, .check = fft_check};
