/* Programs from tests/programs on every device there is, under every strategy and release policy;
 * what is counted; and what is refused while a program runs. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "tests/base/golden.h"
#include "run/rounds/measure.h"

static const char *const strategies[] = {"raw",
                                         "raw:first_use=resident",
                                         "pool",
                                         "tagged",
                                         "tagged:policy=v4",
                                         "bufalloc",
                                         "bufalloc:region=64k:strategy=tight:split=yes"};
static const char *const policies[] = {"last-use", "scope"};

static const struct measure_options once = {.least_samples = 2, .most_samples = 2, .seed = 1};

static struct case_round run_case(struct measure *m, const struct entry *entry,
                                  const struct dataset *dataset, const char *strategy,
                                  const char *release, const struct measure_options *options)
{
    struct case_round round = {0};
    snprintf(round.key.strategy, sizeof round.key.strategy, "%s", strategy);
    snprintf(round.key.release, sizeof round.key.release, "%s", release);
    assert_int_equal(measure_case(m, entry, dataset, options, &round), 0);
    case_round_free(&round);
    return round;
}

/* Opens the first device of an API; NULL where there is none. */
static void take_first(void *context, const struct device_info *info, const char *why_not)
{
    (void)why_not;
    char *id = context;
    if (info && !*id)
        snprintf(id, sizeof info->id, "%s", info->id);
}

static struct device *open_first(const char *api)
{
    char id[sizeof((struct device_info *)0)->id] = "";
    struct error error;
    struct device *device;
    if (device_select(api, take_first, id, &error) || !*id)
        return NULL;
    assert_int_equal(device_open(id, &device, &error), 0);
    return device;
}

static struct catalogue open_programs(void)
{
    struct catalogue c = {0};
    struct error error;
    DIR *folder = opendir(GAMUT_ROOT "/tests/programs");
    assert_non_null(folder);
    for (struct dirent *d; (d = readdir(folder));) {
        char path[512];
        snprintf(path, sizeof path, "%s/tests/programs/%.200s", GAMUT_ROOT, d->d_name);
        if (strstr(d->d_name, ".mem") && catalogue_add_file(&c, path, &error))
            fail_msg("%s", error.text);
    }
    closedir(folder);
    return c;
}

/* The device says that it is a GPU, so that launches take the variants of kernels that GPUs
 * have. */
static struct device_info gpu_info;
static struct device_ops gpu_ops;

static void pretend_gpu(struct device *device)
{
    gpu_info = *device->info;
    gpu_info.kind = DEVICE_GPU;
    gpu_ops = *device->ops;
    device->info = &gpu_info;
    device->ops = &gpu_ops;
}

/* Every construct, on one device; the digests tell whether another device gives the same bits. */
static void run_programs(const char *api, uint64_t digests[128], bool as_gpu)
{
    struct device *device = open_first(api);
    if (!device) {
        print_message("no %s device here: skipped\n", api);
        skip();
    }
    if (as_gpu)
        pretend_gpu(device);
    struct catalogue c = open_programs();
    struct measure *m = measure_open(device);
    unsigned cases = 0;
    for (size_t e = 0; e < c.entry_count; e++) {
        const struct program *program = c.entries[e].program;
        for (unsigned d = 0; d < program->dataset_count; d++, cases++)
            for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
                for (unsigned p = 0; p < 2; p++) {
                    struct case_round r = run_case(m, &c.entries[e], &program->datasets[d],
                                                   strategies[i], policies[p], &once);
                    if (r.status != CASE_ok)
                        fail_msg("%s %s under %s %s on %s: %s", c.entries[e].name,
                                 program->datasets[d].name, strategies[i], policies[p], api,
                                 r.reason);
                    assert_int_not_equal(r.check, CHECK_NONE);
                    if (digests[cases])
                        assert_true(digests[cases] == r.digest);
                    digests[cases] = r.digest;
                }
    }
    assert_true(cases >= 9);
    measure_close(m);
    device->ops->close(device);
    catalogue_close(&c);
}

static uint64_t digests[128]; /* filled by the host, compared by OpenCL */

static void test_programs_host(void **state)
{
    (void)state;
    run_programs("host", digests, false);
}

static void test_programs_opencl(void **state)
{
    (void)state;
    run_programs("opencl", digests, false);
}

/* The text of KERNEL_APART and KERNEL_NEAR, on whatever OpenCL device there is. */
static void test_programs_opencl_variants(void **state)
{
    (void)state;
    run_programs("opencl", digests, true);
}

/* ---- counts --------------------------------------------------------------------------------- */

static const struct entry *find_entry(const struct catalogue *c, const char *name)
{
    for (size_t i = 0; i < c->entry_count; i++)
        if (strcmp(c->entries[i].name, name) == 0)
            return &c->entries[i];
    fail_msg("no workload %s", name);
    return NULL;
}

static struct case_round measure_stencil(struct measure *m, const struct catalogue *c,
                                         const char *strategy)
{
    const struct entry *entry = find_entry(c, "stencil");
    struct case_round round = {0};
    snprintf(round.key.strategy, sizeof round.key.strategy, "%s", strategy);
    const struct measure_options options = {
        .seed = 42, .least_samples = 2, .most_samples = 2, .capacity_bytes = 0};
    assert_int_equal(measure_case(m, entry, &entry->program->datasets[0], &options, &round), 0);
    return round;
}

/* Virtual memory on the host is real: mapped in the cold run, kept from then on. The host has no
 * stream-ordered pool, and says so. */
static void test_vmm_and_stream_on_the_host(void **state)
{
    (void)state;
    struct device *device = open_first("host");
    struct catalogue c;
    struct error error;
    assert_int_equal(catalogue_open(&c, &error), 0);
    struct measure *m = measure_open(device);
    struct case_round r = measure_stencil(m, &c, "vmm:small_chunk=8KiB");
    if (r.status != CASE_ok)
        fail_msg("%s", r.reason);
    /* Inputs are put in place before the counting starts, and take a part of the chunks. */
    assert_true(r.cold.driver_alloc_count > 0);
    assert_true(r.cold.driver_map_count > r.cold.driver_alloc_count);
    assert_int_equal(r.cold.peak_reserved_bytes % 8192, 0);
    assert_true(r.cold.peak_reserved_bytes >= r.cold.peak_granted_bytes);
    assert_int_equal(r.warm.driver_alloc_count + r.warm.driver_map_count, 0);
    assert_int_equal(r.warm.driver_unmap_count + r.warm.driver_sync_count, 0);
    case_round_free(&r);
    r = measure_stencil(m, &c, "stream");
    assert_int_equal(r.status, CASE_skipped);
    assert_non_null(strstr(r.reason, "host has no stream-ordered pool"));
    case_round_free(&r);
    measure_close(m);
    catalogue_close(&c);
    device->ops->close(device);
}

/* What the two forms of the stencil must count, in grids P of 64 x 80 x 4 bytes. */
static void test_stencil_counts(void **state)
{
    (void)state;
    enum { P = 64 * 80 * 4, STEPS = 10 };
    static const struct {
        const char *fun, *release;
        uint64_t peak, bound, allocs, loop_copies;
    } cases[] = {
        /* temp is consumed: it dies after the first step; power, old and new are live */
        {"stencil", "last-use", 3 * P, 3 * P, STEPS, 0},
        /* temp, power, old, new: temp lives as long as its name */
        {"stencil", "scope", 4 * P, 3 * P, STEPS, 0},
        /* power, the step's block, the state's block, and temp until the first copy is made */
        {"stencil_hoisted", "last-use", 4 * P, 4 * P, 2, STEPS},
        {"stencil_hoisted", "scope", 4 * P, 4 * P, 2, STEPS},
    };
    struct device *device = open_first("host");
    struct catalogue c;
    struct error error;
    assert_int_equal(catalogue_open(&c, &error), 0);
    struct measure *m = measure_open(device);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct entry *entry = find_entry(&c, cases[i].fun);
        const struct dataset *smoke = &entry->program->datasets[0];
        struct case_round r = run_case(m, entry, smoke, "pool", cases[i].release, &once);
        assert_int_equal(r.status, CASE_ok);
        assert_int_equal(r.warm.peak_requested_bytes, cases[i].peak);
        assert_int_equal(r.warm.live_lower_bound_bytes, cases[i].bound);
        assert_int_equal(r.warm.alloc_count, cases[i].allocs);
        assert_int_equal(r.warm.hit_count, cases[i].allocs);
        assert_int_equal(r.warm.driver_alloc_count, 0);
        assert_int_equal(r.warm.copy[COPY_loop_carried].count, cases[i].loop_copies);
        assert_int_equal(r.warm.copy[COPY_loop_carried].bytes, cases[i].loop_copies * P);
        assert_int_equal(r.cold.miss_count + r.cold.hit_count, cases[i].allocs);
    }
    measure_close(m);
    device->ops->close(device);
    catalogue_close(&c);
}

/* ---- refusals while running ----------------------------------------------------------------- */

static const struct {
    const char *body, *message;
} refusals[] = {
    {"assert n > 5\nin x", ":2:1: this assertion does not hold"},
    {"let a: i64 = 1 / (n - 4)\nin a", ":2:16: division by zero"},
    {"let a: i64 = 1 << (n * 100)\nin a", "the shift is by less than 0 or more than 62 bits"},
    {"let a: i64 = 9223372036854775807 + n\nin a", "the value does not fit in 64 bits"},
    {"let a: i32 = x[n]\nin a",
     ":2:1: dimension 0 has 4 elements; from 4, 1 of them by steps of 1"},
    {"let a: [2]i32 = x[n - 1 :+ 2]\nin a", "are not all inside|block 'x_mem', which has 16 bytes"},
    {"let a: [2][2]i32 = x{0 :+ 2 : 2, 2 : 2}\nin a",
     "dimension 0 has 4 elements; from 0, 2 of them by steps of 2, are not all inside|'a' reaches"},
    {"let v: [2][2]i32 = reshape x\nlet y: [n]i32 = iota\n"
     "let a: [n]i32 = y with {0 :+ 2 : 1, 2 : 1} <- v\nin a",
     ":4:1: elements that are put in might lie on each other"},
    {"let a: [3]i32 = x[0 :+ 2]\nin a", "':2:5: 'a' reaches|the declared shape of 'a' is not"},
    {"let a: [3]i32 = copy x\nin a", ":2:1: copy: the shapes differ (3 elements and 4)"},
    {"let a: [n - 5]i32 = iota\nin a", "block 'a_mem'|would have -4 bytes"},
    {"let a: [n + 1]i32 = concat(x, x)\nin a", "concat: the pieces have 8 or more rows"},
    {"let m: mem = alloc(8)\nlet a: [n]i32 @ m = iota\nin a",
     "'a' reaches from element 0 to 3 of block 'm', which has 8 bytes"},
    {"let m: mem = alloc(64)\nlet a: [n]i32 @ m = copy x\nlet b: [n]i32 @ m(1: 1) = copy a\nin b",
     ":4:1: a copy between two places that overlap"},
    {"let y: [1]i32 = kernel k (i < n * 1000000000) { y[0] = 0; }\nin y",
     "a thread's index has 31 bits"},
    {"let y: [1]i32 = kernel broken (i < n) { y[0] = undeclared; }\nin y",
     "test.mem:2: let y: [1]i32 = kernel broken (i < n) { y[0] = undeclared; }"},
};

/* Does any of the alternatives a|b|c stand in text? */
static bool mentions(const char *text, const char *alternatives)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s", alternatives);
    for (char *a = strtok(copy, "|"); a; a = strtok(NULL, "|"))
        if (strstr(text, a))
            return true;
    return false;
}

static void test_refusals(void **state)
{
    (void)state;
    struct device *device = open_first("host");
    struct measure *m = measure_open(device);
    unsigned failed = 0;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "fun f(n: i64, x: [n]i32) {\n%s }\ndataset d { n = 4; x = [1, 2, 3, 4]; }\n",
                 refusals[i].body);
        struct program *program;
        struct error error;
        if (program_read("test.mem", text, strlen(text), &program, &error))
            fail_msg("%s: %s", refusals[i].body, error.text);
        struct entry entry = {"f", program, &program->funs[0], NULL};
        struct case_round r = run_case(m, &entry, &program->datasets[0], "raw", "last-use", &once);
        if (r.status != CASE_error || r.sample_count != 0 ||
            !mentions(r.reason, refusals[i].message)) {
            print_error("%s\ngave: %s\nexpected: %s\n\n", refusals[i].body, r.reason,
                        refusals[i].message);
            failed++;
        }
        measure_close(m); /* it remembers programs by address */
        m = measure_open(device);
        program_free(program);
    }
    measure_close(m);
    device->ops->close(device);
    assert_int_equal(failed, 0);
}

/* Reading what nobody wrote shows, because blocks are filled with 0xff before the checked run. */
static void test_unwritten_memory_is_wrong(void **state)
{
    (void)state;
    static const char text[] =
        "fun f(n: i64) {\n"
        "  let y: [n]i32 = kernel half_of_it (i < n) { if (i % 2) y[i] = 0; }\n"
        "  in y }\n"
        "dataset d { n = 4; } expect { y = [0, 0, 0, 0]; }\n";
    struct device *device = open_first("host");
    struct measure *m = measure_open(device);
    struct program *program;
    struct error error;
    assert_int_equal(program_read("test.mem", text, strlen(text), &program, &error), 0);
    struct entry entry = {"f", program, &program->funs[0], NULL};
    struct case_round r = run_case(m, &entry, &program->datasets[0], "raw", "last-use", &once);
    assert_int_equal(r.status, CASE_wrong);
    assert_string_equal(r.reason, "element 0 of 'y' is -1, expected 0");
    assert_int_equal(r.sample_count, 0);
    measure_close(m);
    device->ops->close(device);
    program_free(program);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct device *device = open_first("host");
    struct catalogue c;
    struct error error;
    assert_int_equal(catalogue_open(&c, &error), 0);
    struct measure *m = measure_open(device);
    const struct entry *entry = find_entry(&c, "stencil");
    struct measure_options limited = once;
    limited.capacity_bytes = 50000; /* the inputs fit, two grids of 20 KiB, a third one does not */
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct case_round r =
            run_case(m, entry, &entry->program->datasets[0], strategies[i], "last-use", &limited);
        assert_int_equal(r.status, CASE_oom);
        if (!strstr(r.reason, "of the capacity of 48.8 KiB (50000 B) reserved"))
            fail_msg("%s", r.reason);
    }
    limited.capacity_bytes = 65536; /* the same cases go on where there is enough */
    struct case_round r =
        run_case(m, entry, &entry->program->datasets[0], "raw", "last-use", &limited);
    assert_int_equal(r.status, CASE_ok);
    measure_close(m);
    device->ops->close(device);
    catalogue_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_host),
        cmocka_unit_test(test_programs_opencl),
        cmocka_unit_test(test_programs_opencl_variants),
        cmocka_unit_test(test_stencil_counts),
        cmocka_unit_test(test_vmm_and_stream_on_the_host),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_unwritten_memory_is_wrong),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
