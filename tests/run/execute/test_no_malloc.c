/* Nothing allocates host memory in a timed region: malloc and its like are counted (the linker
 * wraps them) while a program that has run once runs again. Only gamut's own code is counted, not
 * what a driver or a threading library does by itself. */
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "run/execute/execute.h"
#include "run/select/inputs.h"
#include "run/execute/spaces.h"
#include "run/execute/run_log.h"
#include "tests/base/cmocka.h"

static unsigned long calls;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    calls++;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    calls++;
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    calls++;
    return __real_realloc(old, bytes);
}

struct rig {
    struct device *device;
    struct kernels kernels;
    struct device_program *built;
    struct inputs inputs;
    struct error error;
};

static void open_rig(struct rig *r, const struct entry *entry)
{
    assert_int_equal(device_open("host", &r->device, &r->error), 0);
    program_generate(entry->program, KERNEL_HOST_C, &r->kernels);
    if (entry->builtin)
        assert_string_equal(r->kernels.text, entry->builtin->host_text);
    struct kernel_source source = {.name = entry->name,
                                   .text = r->kernels.text,
                                   .kernel_count = r->kernels.count,
                                   .kernel_names = r->kernels.names,
                                   .host_kernels =
                                       entry->builtin ? entry->builtin->host_kernels : NULL};
    assert_int_equal(r->device->ops->build(r->device, &source, &r->built, &r->error), 0);
    assert_int_equal(inputs_make(entry, &entry->program->datasets[0], 1, &r->inputs, &r->error), 0);
}

static void close_rig(struct rig *r)
{
    inputs_free(&r->inputs);
    r->device->ops->unbuild(r->device, r->built);
    kernels_free(&r->kernels);
    r->device->ops->close(r->device);
}

/* The calls during the second run of a workload under a strategy. */
static unsigned long calls_of_second_run(struct rig *r, const struct entry *entry,
                                         const char *strategy)
{
    const struct allocator_ops *ops;
    struct option_values options;
    assert_int_equal(allocator_parse(strategy, &ops, &options, &r->error), 0);
    struct spaces spaces;
    assert_int_equal(spaces_open(&spaces, entry->fun, r->device, ops, &options, 0, &r->error), 0);
    struct executor *executor =
        executor_open(entry->fun, r->device, &r->kernels, r->built, RELEASE_LAST_USE);
    /* Recorded too, with more room than some need and less than others. */
    struct run_log trace;
    run_log_open(&trace, 500, 2000, executor_block_capacity(executor));
    run_log_restart(&trace);
    executor_record(executor, &trace);
    unsigned long counted = 0;
    for (unsigned run = 0; run < 2; run++) {
        assert_int_equal(
            executor_begin(executor, spaces.of, &r->inputs.arguments, false, &r->error), 0);
        calls = 0;
        assert_int_equal(executor_run(executor, &r->error), 0);
        counted = calls;
        executor_end(executor);
    }
    executor_close(executor);
    run_log_close(&trace);
    spaces_close(&spaces);
    return counted;
}

static void test_second_run_allocates_nothing(void **state)
{
    (void)state;
    static const char *const strategies[] = {"null",
                                             "raw",
                                             "pool",
                                             "tagged",
                                             "tagged:policy=v4",
                                             "bufalloc",
                                             "tlsf",
                                             "tlsf:strategy=min_memory",
                                             "caching",
                                             "vmm"};
    struct catalogue c;
    struct error error;
    assert_int_equal(catalogue_open(&c, &error), 0);
    for (size_t e = 0; e < c.entry_count; e++) {
        struct rig rig;
        open_rig(&rig, &c.entries[e]);
        for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
            if (strcmp(strategies[s], "null") == 0 && strcmp(c.entries[e].name, "churn") != 0)
                continue; /* null gives everybody the same memory */
            unsigned long counted = calls_of_second_run(&rig, &c.entries[e], strategies[s]);
            if (counted)
                fail_msg("%s under %s: %lu calls", c.entries[e].name, strategies[s], counted);
        }
        close_rig(&rig);
    }
    catalogue_close(&c);
}

static void test_the_count_works(void **state)
{
    (void)state;
    calls = 0;
    free(must_realloc(must_alloc(1),
                      2)); /* of the library: the compiler cannot see that it is idle */
    assert_true(calls >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_count_works),
        cmocka_unit_test(test_second_run_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
