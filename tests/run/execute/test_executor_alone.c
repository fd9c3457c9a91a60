/* The executor without anything that defers work: this program is linked with bench/run/execute and
 * the rooms below it, and with nothing else of bench/run (see the Makefile). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "device/device.h"
#include "run/execute/execute.h"
#include "run/execute/spaces.h"

/* The word asks that the host learn a value only when it needs it; here it needs it at once. */
static const char sums[] = "fun sums(n: i64, x: [n]i32) {\n"
                           "  let first: i32 = late x[0]\n"
                           "  let len: i64 = i64(first)\n"
                           "  let firsts: [len]i32 = kernel sums_of (i < len) {\n"
                           "    int sum = 0;\n"
                           "    for (int k = 0; k <= i; k++) sum += x[k];\n"
                           "    firsts[i] = sum;\n"
                           "  }\n"
                           "  in firsts }\n";

static const char asks_heap[] = "fun sums(n: i64, x: [n]i32) {\n"
                                "  let m: mem heap = alloc(4 * n)\n"
                                "  let y: [n]i32 @ m = replicate(1)\n"
                                "  in y }\n";

/* Runs the one fun of a text over x = 3 1 4 1 5, on the host. */
static int run_text(const char *text, struct host_array *result, struct executor_counts *counts,
                    struct error *error)
{
    int32_t x[] = {3, 1, 4, 1, 5};
    struct named_value values[] = {
        {.name = "n", .scalar.i64 = 5},
        {.name = "x",
         .array = {.element = ELEMENT_i32, .rank = 1, .shape = {5}, .count = 5, .data = x}}};
    const struct arguments arguments = {.fun = "sums", .dataset = "", .count = 2, .values = values};
    const struct allocator_ops *pool;
    struct option_values options;
    struct program *program;
    struct device *device;
    struct device_program *built;
    struct kernels kernels;
    struct spaces spaces;
    struct executor *executor;
    if (program_read("test.mem", text, strlen(text), &program, error))
        fail_msg("%s", error->text);
    const struct fun *fun = &program->funs[0];
    assert_int_equal(device_open("host", &device, error), 0);
    program_generate(program, KERNEL_HOST_C, &kernels);
    const struct kernel_source source = {.name = "sums",
                                         .text = kernels.text,
                                         .kernel_count = kernels.count,
                                         .kernel_names = kernels.names};
    if (device->ops->build(device, &source, &built, error)) {
        print_message("%s: skipped\n", error->text);
        skip();
    }
    assert_int_equal(allocator_parse("pool", &pool, &options, error), 0);
    assert_int_equal(spaces_open(&spaces, fun, device, pool, &options, 0, false, error), 0);
    assert_int_equal(
        executor_open(fun, device, &kernels, built, RELEASE_LAST_USE, NULL, &executor, error), 0);
    int code = executor_begin(executor, spaces.of, &arguments, true, error);
    if (!code)
        code = executor_run(executor, error);
    *counts = *executor_counts(executor);
    if (!code)
        code = executor_results(executor, result, error);
    executor_end(executor);
    executor_close(executor);
    spaces_close(&spaces);
    device->ops->unbuild(device, built);
    device->ops->close(device);
    kernels_free(&kernels);
    program_free(program);
    return code;
}

static void test_a_program_runs_with_the_executor_alone(void **state)
{
    (void)state;
    static const int32_t expected[] = {3, 4, 8};
    struct host_array firsts;
    struct executor_counts counts;
    struct error error;
    if (run_text(sums, &firsts, &counts, &error))
        fail_msg("%s", error.text);
    assert_int_equal(firsts.count, 3);
    assert_memory_equal(firsts.data, expected, sizeof expected);
    free(firsts.data);
    assert_int_equal(counts.readback_count, 1);
    assert_int_equal(counts.launch_count, 1);
    assert_int_equal(counts.peak_live_bytes, 20 + 12);
}

static void test_memory_in_a_heap_is_refused(void **state)
{
    (void)state;
    struct host_array none;
    struct executor_counts counts;
    struct error error;
    assert_int_equal(run_text(asks_heap, &none, &counts, &error), ERR_UNSUPPORTED);
    assert_non_null(
        strstr(error.text, "'m' is in heap memory, for which this run has no allocator"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_runs_with_the_executor_alone),
        cmocka_unit_test(test_memory_in_a_heap_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
