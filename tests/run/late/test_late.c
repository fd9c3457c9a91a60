/* Late elements and heap memory: what is counted, how heaps fail, and what merging moves there.
 * That the answers are right is tested with all other programs, in test_execute.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device/device_subjects.h"
#include "run/rounds/measure.h"

static const struct measure_options once = {.least_samples = 2, .most_samples = 2, .seed = 42};

static struct case_round run_case(struct measure *m, const struct entry *entry,
                                  const struct dataset *dataset, const char *merge,
                                  const char *release, const struct measure_options *options)
{
    struct case_round round = {0};
    snprintf(round.key.strategy, sizeof round.key.strategy, "pool");
    snprintf(round.key.release, sizeof round.key.release, "%s", release);
    snprintf(round.key.merge, sizeof round.key.merge, "%s", merge);
    assert_int_equal(measure_case(m, entry, dataset, options, &round), 0);
    case_round_free(&round);
    return round;
}

/* Runs the one fun of a text on its one dataset. */
static struct case_round run_text(struct device *device, const char *text,
                                  const struct measure_options *options)
{
    struct program *program;
    struct error error;
    if (program_read("test.mem", text, strlen(text), &program, &error))
        fail_msg("%s", error.text);
    struct entry entry = {"f", program, &program->funs[0], NULL};
    struct measure *m = measure_open(device);
    struct case_round r = run_case(m, &entry, &program->datasets[0], "none", "last-use", options);
    measure_close(m);
    program_free(program);
    return r;
}

/* ---- what goes wrong ------------------------------------------------------------------------ */

/* The device computes `count`, and asks the heap, of 64 KiB, for that many words. What is not
 * granted is not written either, nor read: elements would be far outside. */
static const char asks_for[] =
    "fun f(n: i64, x: [n]i32) {\n"
    "  let one: [1]i32 = kernel f_count (i < 1) { one[0] = x[0] * x[1]; }\n"
    "  let count: i32 = late one[0]\n"
    "  let len: i64 = i64(count)\n"
    "  let list_mem: mem heap = alloc(4 * len)\n"
    "  let list: [len]i32 @ list_mem = kernel f_fill (i < 1) {\n"
    "    for (i32 k = 0; k < one[0]; k++) list[k] = 1;\n"
    "  }\n"
    "  let more: [len]i32 @ list_mem = kernel f_more (i < 1) with more <- list {\n"
    "    for (i32 k = 0; k < one[0]; k++) more[k] += 1;\n"
    "  }\n"
    "  in count, more }\n"
    "dataset d { n = 2; x = [%s]; }\n";

/* Who waits in between learns of it there: this loop would never end. */
static const char waits_for[] =
    "fun f(n: i64, x: [n]i32) {\n"
    "  let one: [1]i32 = kernel f_count (i < 1) { one[0] = x[0] * x[1]; }\n"
    "  let last: bool = loop (go: bool = true) while go {\n"
    "    let count: i32 = late one[0]\n"
    "    let len: i64 = i64(count)\n"
    "    let list_mem: mem heap = alloc(4 * len)\n"
    "    let list: [len]i32 @ list_mem = kernel f_fill (i < 1) { list[0] = x[0]; }\n"
    "    let flag: [1]i32 = kernel f_flag (i < 1) { flag[0] = 1; }\n"
    "    let over: [1]i32 = kernel f_over (i < 1) with over <- flag { over[0] = list[0] == 0; }\n"
    "    let some: i32 = over[0]\n"
    "    let next: bool = count != some\n"
    "    in next }\n"
    "  in last }\n"
    "dataset d { n = 2; x = [%s]; }\n";

static const struct {
    const char *text, *values;
    enum case_status status;
    const char *message;
} failures[] = {
    {asks_for, "100, 100", CASE_ok, ""},
    {asks_for, "0, 100", CASE_ok, ""},
    {asks_for, "1000, 1000", CASE_oom,
     "f: the heap that the device runs, of 64.0 KiB, refused a command (out of memory). It is as "
     "large "
     "as the program's inputs"},
    {asks_for, "-1, 1", CASE_error, "has size -1"},
    {waits_for, "1000, 1000", CASE_oom, "refused a command (out of memory)"},
};

/* The host comes twice, which is for tests with kernels of their own. */
static bool comes_again(const struct subject *s)
{
    return device_info(s->device)->language == KERNEL_HOST_C && !s->built_in;
}

static void check_failures(struct subject *s)
{
    if (comes_again(s))
        return;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        char text[2048];
        snprintf(text, sizeof text, failures[i].text, failures[i].values);
        struct case_round r = run_text(s->device, text, &once);
        if (r.status != failures[i].status || !strstr(r.reason, failures[i].message))
            fail_msg("%s, %s: %s", device_info(s->device)->id, failures[i].values, r.reason);
    }
}

static void test_failures(void **state)
{
    (void)state;
    on_each_device(check_failures);
}

static void test_heap_counts_against_the_capacity(void **state)
{
    (void)state;
    struct device *device;
    struct error error;
    char text[2048];
    struct measure_options limited = once;
    limited.capacity_bytes = 60000;
    snprintf(text, sizeof text, asks_for, "100, 100");
    assert_int_equal(device_open("host", &device, &error), 0);
    struct case_round r = run_text(device, text, &limited);
    assert_int_equal(r.status, CASE_oom);
    if (!strstr(r.reason, "the heap that the device runs: asked for 64.0 KiB with 4.0"))
        fail_msg("%s", r.reason);
    device->ops->close(device);
}

/* ---- what is counted ------------------------------------------------------------------------ */

/* Blocks of sizes that become known later make the same peaks. */
static void same_bytes(const struct case_round *a, const struct case_round *b)
{
    assert_int_equal(a->warm.peak_requested_bytes, b->warm.peak_requested_bytes);
    assert_int_equal(a->warm.live_lower_bound_bytes, b->warm.live_lower_bound_bytes);
    assert_int_equal(a->warm.alloc_count, b->warm.alloc_count);
    assert_int_equal(a->warm.free_count, b->warm.free_count);
    assert_true(a->digest == b->digest);
}

static const struct {
    const char *fun;
    unsigned waits_less;
    bool moves;
} counted[] = {
    {"canny", 1, true},
    {"bfs_list", 0, true}, /* it waits later: whether to go on has to be known */
    {"bfs", 0, false},
};

static void check_counts(struct subject *s)
{
    static const char *const policies[] = {"last-use", "scope"};
    struct catalogue c;
    if (comes_again(s))
        return;
    struct measure *m = measure_open(s->device);
    ok(s, catalogue_open(&c, &s->error));
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        for (unsigned p = 0; p < 2; p++) {
            const struct entry *entry = c.entries;
            while (strcmp(entry->name, counted[i].fun) != 0)
                entry++;
            const struct dataset *smoke = &entry->program->datasets[0];
            struct case_round asks = run_case(m, entry, smoke, "none", policies[p], &once);
            struct case_round late =
                run_case(m, entry, smoke, "none:with=late", policies[p], &once);
            if (asks.status || late.status)
                fail_msg("%s: %s %s", counted[i].fun, asks.reason, late.reason);
            same_bytes(&asks, &late);
            assert_int_equal(asks.warm.readback_count - counted[i].waits_less,
                             late.warm.readback_count);
            /* The heap is in what is held, and its launches are launches. */
            assert_int_equal(late.warm.peak_reserved_bytes >
                                 asks.warm.peak_reserved_bytes + 60 * 1024,
                             counted[i].moves);
            assert_int_equal(late.warm.launch_count > asks.warm.launch_count, counted[i].moves);
            assert_true(late.warm.peak_granted_bytes >= late.warm.peak_requested_bytes);
        }
    measure_close(m);
    catalogue_close(&c);
}

static void test_counts(void **state)
{
    (void)state;
    on_each_device(check_counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_heap_counts_against_the_capacity),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
