/* The programs of workloads/thesis: their answers, and their peaks against the published ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "run/measure.h"

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

/* Without merging, and freed at the end of the scope, each program needs the published bytes. */
static void check_row(struct measure *m, const struct catalogue *c, const char *fun,
                      const char *dataset, uint64_t published)
{
    static const struct measure_options once = {.least_samples = 2, .most_samples = 2, .seed = 1};
    for (size_t i = 0; i < c->entry_count; i++) {
        const struct program *program = c->entries[i].program;
        for (unsigned d = 0; d < program->dataset_count; d++) {
            if (strcmp(c->entries[i].name, fun) != 0 ||
                strcmp(program->datasets[d].name, dataset) != 0)
                continue;
            struct case_round r = {.key = {.strategy = "raw", .release = "scope", .merge = "none"}};
            assert_int_equal(measure_case(m, &c->entries[i], &program->datasets[d], &once, &r), 0);
            free(r.samples);
            assert_int_equal(r.status, CASE_ok);
            assert_int_equal(r.warm.peak_requested_bytes, published);
            return;
        }
    }
    fail_msg("appendix_b.csv names %s %s, which does not exist", fun, dataset);
}

static void test_published_peaks(void **state)
{
    (void)state;
    struct catalogue c;
    struct device *device;
    struct error error;
    unsigned rows = 0;
    assert_int_equal(catalogue_open(&c, &error), 0);
    assert_int_equal(device_open("host", &device, &error), 0);
    struct measure *m = measure_open(device);
    char *csv = golden_read("workloads/thesis/appendix_b.csv");
    assert_non_null(csv);
    for (char *line = csv; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char cells[13][64] = {""};
        const char *at = line;
        for (unsigned i = 0; i < 13; i++) {
            size_t length = strcspn(at, ",\n");
            snprintf(cells[i], sizeof cells[i], "%.*s", (int)length, at);
            at += length + (at[length] == ',');
        }
        if (line == csv || !*cells[12])
            continue;
        check_row(m, &c, cells[11], cells[12], strtoull(cells[4], NULL, 10));
        rows++;
    }
    assert_true(rows >= 3);
    free(csv);
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
