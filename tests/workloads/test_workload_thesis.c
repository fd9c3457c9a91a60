/* The programs of workloads/thesis: their answers, and their peaks against the published ones. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/rounds/measure.h"
#include "run/select/select.h"
#include "tests/base/cmocka.h"

extern const struct workload workload_thesis;

/* A 5 x 6 image, white to the right of column 2: its edges are along columns 2 and 3. */
static void test_check(void **state)
{
    (void)state;
    enum { H = 5, W = 6 };
    int32_t pixels[H * W], list[2 * H];
    for (int i = 0; i < H * W; i++)
        pixels[i] = i % W > 2 ? 0xffffff : 0;
    for (int i = 0; i < 2 * H; i++)
        list[i] = i / 2 * W + 2 + i % 2;
    const struct named_value values[] = {
        {.name = "h", .scalar.i64 = H},
        {.name = "w", .scalar.i64 = W},
        {.name = "low", .scalar.i32 = 50},
        {.name = "high", .scalar.i32 = 5000},
        {.name = "edges", .scalar.i64 = 2 * H},
        {.name = "pixels", .array = {.element = ELEMENT_i32, .count = H * W, .data = pixels}},
    };
    const struct arguments arguments = {"canny_cpu", "d", sizeof values / sizeof *values, values};
    struct host_array result = {.element = ELEMENT_i32, .rank = 1, .count = 2 * H, .data = list};
    struct error error;
    double worst;
    assert_int_equal(workload_thesis.check(&arguments, &result, 1, &worst, &error), 0);
    list[7]++;
    assert_int_equal(workload_thesis.check(&arguments, &result, 1, &worst, &error), ERR_WRONG);
    list[7]--;
    result.count--;
    assert_int_equal(workload_thesis.check(&arguments, &result, 1, &worst, &error), ERR_WRONG);
}

/* A plane of ones: in one step an element that is not at a border becomes 1/6 + 6/36. */
static void test_stencil_check(void **state)
{
    (void)state;
    enum { NY = 4, NZ = 5, CELLS = NY * NZ };
    float plane[CELLS], rim[CELLS], inner[CELLS];
    for (int c = 0; c < CELLS; c++) {
        const bool at_border = c / NZ % (NY - 1) == 0 || c % NZ % (NZ - 1) == 0;
        plane[c] = rim[c] = 1;
        inner[c] = at_border ? 1 : 1.0f / 3;
    }
    const struct named_value values[] = {
        {.name = "nx", .scalar.i64 = 9},
        {.name = "ny", .scalar.i64 = NY},
        {.name = "nz", .scalar.i64 = NZ},
        {.name = "steps", .scalar.i64 = 1},
        {.name = "plane", .array = {.element = ELEMENT_f32, .count = CELLS, .data = plane}},
    };
    const struct arguments arguments = {"stencil_3d", "d", sizeof values / sizeof *values, values};
    struct host_array results[] = {
        {.element = ELEMENT_f32, .rank = 2, .count = CELLS, .data = rim},
        {.element = ELEMENT_f32, .rank = 2, .count = CELLS, .data = inner}};
    struct error error;
    double worst;
    assert_int_equal(workload_thesis.check(&arguments, results, 2, &worst, &error), 0);
    for (int c = 0; c < CELLS; c++) {
        inner[c] *= 1.0001f;
        assert_int_equal(workload_thesis.check(&arguments, results, 2, &worst, &error), ERR_WRONG);
        inner[c] /= 1.0001f;
        rim[c] *= 1.0001f;
        assert_int_equal(workload_thesis.check(&arguments, results, 2, &worst, &error), ERR_WRONG);
        rim[c] = 1;
    }
    assert_int_equal(workload_thesis.check(&arguments, results, 1, &worst, &error), ERR_WRONG);
    results[1].count--;
    assert_int_equal(workload_thesis.check(&arguments, results, 2, &worst, &error), ERR_WRONG);
}

static void test_fill(void **state)
{
    (void)state;
    int32_t a[12] = {0}, b[12] = {0};
    struct host_array x = {.element = ELEMENT_i32, .rank = 2, .shape = {3, 4}, .count = 12};
    struct error error;
    x.data = a;
    assert_int_equal(workload_thesis.fill(NULL, "pixels", &x, 1, &error), 0);
    x.data = b;
    assert_int_equal(workload_thesis.fill(NULL, "pixels", &x, 1, &error), 0);
    assert_memory_equal(a, b, sizeof a);
    assert_int_equal(workload_thesis.fill(NULL, "pixels", &x, 2, &error), 0);
    assert_memory_not_equal(a, b, sizeof a);

    float c[12], d[12];
    x.element = ELEMENT_f32;
    x.data = c;
    assert_int_equal(workload_thesis.fill(NULL, "plane", &x, 1, &error), 0);
    x.data = d;
    assert_int_equal(workload_thesis.fill(NULL, "plane", &x, 1, &error), 0);
    assert_memory_equal(c, d, sizeof c);
    assert_int_equal(workload_thesis.fill(NULL, "plane", &x, 2, &error), 0);
    assert_memory_not_equal(c, d, sizeof c);
    for (int i = 0; i < 12; i++)
        assert_true(d[i] >= 0.5f && d[i] <= 1.5f);
}

/* What a run on a device holds, not merged and freed at the end of the scope. */
static uint64_t measured_peak(struct measure *m, const struct entry *entry, const char *dataset)
{
    static const struct measure_options once = {.least_samples = 2, .most_samples = 2, .seed = 1};
    struct case_round r = {.key = {.strategy = "raw", .release = "scope", .merge = "none"}};
    const struct dataset *d = select_dataset(entry, dataset);
    assert_non_null(d);
    assert_int_equal(measure_case(m, entry, d, &once, &r), 0);
    case_round_free(&r);
    assert_int_equal(r.status, CASE_ok);
    return r.warm.peak_requested_bytes;
}

/* That is the published number to the byte; for dry runs of all programs see test_published.c. */
static void test_published_peaks(void **state)
{
    (void)state;
    static const struct {
        const char *fun, *dataset;
        uint64_t published;
    } cases[] = {
        {"canny_cpu", "small", 2380496},   {"canny_cpu", "medium", 9502276},
        {"canny_gpu", "medium", 10551876}, {"stencil_3d", "small", 6307840},
        {"srad_cpu", "thesis", 8506892},   {"radix_sort_blelloch_cpu", "thesis", 320000},
    };
    struct catalogue c;
    struct device *device;
    struct error error;
    assert_int_equal(catalogue_open(&c, &error), 0);
    assert_int_equal(device_open("host", &device, &error), 0);
    struct measure *m = measure_open(device);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct entry *entry = select_entry(&c, cases[i].fun);
        assert_non_null(entry);
        assert_int_equal(measured_peak(m, entry, cases[i].dataset), cases[i].published);
    }
    measure_close(m);
    device->ops->close(device);
    catalogue_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_stencil_check),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_published_peaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
