/* The FFT workload: its inputs repeat, and its check knows right answers from wrong ones. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_fft;

static const double two_pi = 6.283185307179586476925287;

enum { BATCH, N, LOG2N, TWIDDLE, X, VALUES };

/* A transform of `batch` signals, its inputs filled in, and room for an answer. */
struct problem {
    int64_t batch, n;
    struct named_value values[VALUES];
    struct arguments arguments;
    float *x, *y;
    struct host_array result;
};

static struct host_array array_2d(int64_t planes, int64_t rows, int64_t columns)
{
    struct host_array a = {.element = ELEMENT_f32, .rank = rows ? 3 : 2};
    a.shape[0] = planes;
    a.shape[1] = rows ? rows : columns;
    a.shape[2] = rows ? columns : 0;
    a.count = (size_t)(planes * (rows ? rows : 1) * columns);
    a.data = calloc(a.count, sizeof(float));
    assert_non_null(a.data);
    return a;
}

static void problem_open(struct problem *p, int64_t batch, int64_t log2n, uint64_t seed)
{
    int64_t n = (int64_t)1 << log2n;
    *p = (struct problem){.batch = batch, .n = n};
    p->values[BATCH] = (struct named_value){.name = "batch", .scalar.i64 = batch};
    p->values[N] = (struct named_value){.name = "n", .scalar.i64 = n};
    p->values[LOG2N] = (struct named_value){.name = "log2n", .scalar.i64 = log2n};
    p->values[TWIDDLE] = (struct named_value){"twiddle", .array = array_2d(2, 0, n / 2)};
    p->values[X] = (struct named_value){"x", .array = array_2d(2, batch, n)};
    for (int i = BATCH; i <= LOG2N; i++)
        p->values[i].array.element = ELEMENT_i64;
    p->arguments = (struct arguments){"fft", "test", VALUES, p->values};
    p->result = array_2d(2, batch, n);
    p->x = p->values[X].array.data;
    p->y = p->result.data;
    for (int i = TWIDDLE; i <= X; i++)
        assert_int_equal(
            workload_fft.fill(&p->arguments, p->values[i].name, &p->values[i].array, seed, NULL),
            0);
}

static void problem_close(struct problem *p)
{
    free(p->values[TWIDDLE].array.data);
    free(p->values[X].array.data);
    free(p->result.data);
}

static int check(struct problem *p, double *worst_error)
{
    struct error error = {0};
    int code = workload_fft.check(&p->arguments, &p->result, 1, worst_error, &error);
    assert_int_equal(error.code, code);
    return code;
}

static void put(float *planes, const struct problem *p, int64_t k, int64_t i, double complex value)
{
    planes[k * p->n + i] = (float)creal(value);
    planes[(p->batch + k) * p->n + i] = (float)cimag(value);
}

/* The definition, term by term. */
static void transform_by_definition(struct problem *p)
{
    for (int64_t k = 0; k < p->batch; k++)
        for (int64_t f = 0; f < p->n; f++) {
            double complex sum = 0;
            for (int64_t t = 0; t < p->n; t++) {
                double angle = -two_pi * (double)(f * t % p->n) / (double)p->n;
                double complex x = p->x[k * p->n + t] + I * p->x[(p->batch + k) * p->n + t];
                sum += x * cexp(I * angle);
            }
            put(p->y, p, k, f, sum);
        }
}

static void inputs_repeat_and_depend_on_the_seed(void **state)
{
    (void)state;
    struct problem a, b, c;
    problem_open(&a, 3, 6, 7);
    problem_open(&b, 3, 6, 7);
    problem_open(&c, 3, 6, 8);
    size_t bytes = a.result.count * sizeof(float);
    assert_memory_equal(a.x, b.x, bytes);
    assert_memory_not_equal(a.x, c.x, bytes);
    for (size_t i = 0; i < a.result.count; i++)
        assert_true(a.x[i] >= -1 && a.x[i] <= 1);

    struct error error = {0};
    assert_int_equal(workload_fft.fill(&a.arguments, "z", &a.values[X].array, 7, &error),
                     ERR_NOT_FOUND);
    problem_close(&a);
    problem_close(&b);
    problem_close(&c);
}

static void twiddles_turn_clockwise_once_in_n_steps(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, 1, 6, 1);
    const float *re = p.values[TWIDDLE].array.data, *im = re + p.n / 2;
    assert_float_equal(re[0], 1, 0);
    assert_float_equal(im[0], 0, 0);
    assert_float_equal(re[p.n / 4], 0, 1e-7);
    assert_float_equal(im[p.n / 4], -1, 0);
    assert_float_equal(re[p.n / 8], sqrt(0.5), 1e-7);
    assert_float_equal(im[p.n / 8], -sqrt(0.5), 1e-7);
    problem_close(&p);
}

static void the_definition_is_right(void **state)
{
    (void)state;
    for (int64_t log2n = 1; log2n <= 9; log2n++) {
        struct problem p;
        double worst_error = -1;
        problem_open(&p, 3, log2n, (uint64_t)log2n);
        transform_by_definition(&p);
        assert_int_equal(check(&p, &worst_error), 0);
        assert_true(worst_error >= 0 && worst_error < 1e-6);
        problem_close(&p);
    }
}

/* Signals whose transforms are known without computing one, one a row of a batch. */
static void known_pairs_are_right(void **state)
{
    (void)state;
    struct problem p;
    enum { DELTA, LATE_DELTA, CONSTANT, TONE, PAIRS };
    problem_open(&p, PAIRS, 14, 1);
    memset(p.x, 0, p.result.count * sizeof(float));
    const int64_t late = 3, bin = 5;
    put(p.x, &p, DELTA, 0, 1);
    put(p.x, &p, LATE_DELTA, late, 1);
    for (int64_t i = 0; i < p.n; i++) {
        double turn = two_pi * (double)i / (double)p.n;
        put(p.x, &p, CONSTANT, i, 2);
        put(p.x, &p, TONE, i, cexp(I * turn * (double)bin));
        put(p.y, &p, DELTA, i, 1);
        put(p.y, &p, LATE_DELTA, i, cexp(-I * turn * (double)late));
    }
    put(p.y, &p, CONSTANT, 0, 2.0 * (double)p.n);
    put(p.y, &p, TONE, bin, (double)p.n);
    double worst_error = -1;
    assert_int_equal(check(&p, &worst_error), 0);

    /* Forward, not backward: the tone's bin is not its mirror image. */
    put(p.y, &p, TONE, bin, 0);
    put(p.y, &p, TONE, p.n - bin, (double)p.n);
    assert_int_equal(check(&p, &worst_error), ERR_WRONG);
    problem_close(&p);
}

static void one_value_off(struct problem *p)
{
    p->y[p->n + 17] += 0.1f;
}
static void not_a_number(struct problem *p)
{
    p->y[3] = NAN;
}
static void every_value_off_a_little(struct problem *p)
{
    for (size_t i = 0; i < p->result.count; i++)
        p->y[i] *= 1.00002f;
}
static void scaled(struct problem *p)
{
    for (size_t i = 0; i < p->result.count; i++)
        p->y[i] /= (float)p->n;
}
static void signals_exchanged(struct problem *p)
{
    for (int64_t f = 0; f < p->n; f++) {
        float first = p->y[f];
        p->y[f] = p->y[p->n + f];
        p->y[p->n + f] = first;
    }
}
static void planes_exchanged(struct problem *p)
{
    int64_t plane = p->batch * p->n;
    for (int64_t i = 0; i < plane; i++) {
        float re = p->y[i];
        p->y[i] = p->y[plane + i];
        p->y[plane + i] = re;
    }
}
static void untouched(struct problem *p)
{
    memset(p->y, 0, p->result.count * sizeof(float));
}
static void two_bins_exchanged(struct problem *p)
{
    float bin = p->y[10];
    p->y[10] = p->y[11];
    p->y[11] = bin;
}

static void wrong_answers_are_found(void **state)
{
    (void)state;
    void (*const spoil[])(struct problem *) = {one_value_off,
                                               not_a_number,
                                               scaled,
                                               signals_exchanged,
                                               planes_exchanged,
                                               untouched,
                                               two_bins_exchanged,
                                               every_value_off_a_little};
    for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++) {
        struct problem p;
        double worst_error = -1;
        problem_open(&p, 2, 6, 1);
        transform_by_definition(&p);
        spoil[i](&p);
        assert_int_equal(check(&p, &worst_error), ERR_WRONG);
        assert_true(!(worst_error < 1e-5));
        problem_close(&p);
    }
}

static void the_message_names_the_place(void **state)
{
    (void)state;
    struct problem p;
    double worst_error;
    struct error error = {0};
    problem_open(&p, 2, 6, 1);
    transform_by_definition(&p);
    one_value_off(&p);
    workload_fft.check(&p.arguments, &p.result, 1, &worst_error, &error);
    assert_non_null(strstr(error.text, "y[:, 1, 17]"));

    p.result.count--;
    assert_int_equal(workload_fft.check(&p.arguments, &p.result, 1, &worst_error, &error),
                     ERR_WRONG);
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_repeat_and_depend_on_the_seed),
        cmocka_unit_test(twiddles_turn_clockwise_once_in_n_steps),
        cmocka_unit_test(the_definition_is_right),
        cmocka_unit_test(known_pairs_are_right),
        cmocka_unit_test(wrong_answers_are_found),
        cmocka_unit_test(the_message_names_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
