/* The programs of workloads/thesis: their answers, and their peaks against the published ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/rounds/measure.h"
#include "run/select/select.h"

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
        {"canny_cpu", "small", 2380496},
        {"canny_cpu", "medium", 9502276},
        {"canny_gpu", "medium", 10551876},
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
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_published_peaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
