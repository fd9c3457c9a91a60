/* Whole programs on groups of host devices: every workload, and random programs, with their kernels
 * on random devices, before and after merging, give the bits that one device gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/random.h"
#include "tests/base/cmocka.h"
#include "tests/program/generate_program.h"
#include "run/select/device_group.h"
#include "run/rounds/measure.h"
#include "run/select/select.h"

static const struct measure_options once = {.least_samples = 1, .most_samples = 1, .seed = 1};

/* These have more launches, at random places, than all others together. */
static bool is_long(const char *name)
{
    return strcmp(name, "churn") == 0 || strncmp(name, "myocyte", 7) == 0;
}

static struct case_round run(struct measure *m, const struct entry *entry, const char *strategy,
                             const char *merge)
{
    struct case_round round = {.key.release = "last-use"};
    snprintf(round.key.strategy, sizeof round.key.strategy, "%s", strategy);
    snprintf(round.key.merge, sizeof round.key.merge, "%s", merge);
    assert_int_equal(measure_case(m, entry, &entry->program->datasets[0], &once, &round), 0);
    case_round_free(&round);
    if (round.status != CASE_ok)
        fail_msg("%s under %s, %s: %s", entry->name, strategy, merge, round.reason);
    return round;
}

static struct measure *open_measure(const char *id, const char *residency, struct device **device)
{
    struct error error = {0};
    if (device_group_open(id, residency, device, &error))
        fail_msg("%s: %s", id, error.text);
    return measure_open(*device);
}

/* Each kernel goes to one of `count` devices. */
static void place_kernels(const struct catalogue *c, struct random *random, unsigned count)
{
    for (size_t e = 0; e < c->entry_count; e++)
        for (struct kernel *k = c->entries[e].fun->kernels; k; k = k->next)
            k->on = (unsigned)random_below(random, count);
}

struct grouping {
    const char *devices, *residency;
};

/* All programs on one device and on groups; returns how many migrations there were. */
static uint64_t compare_programs(const struct catalogue *c, const struct grouping *groups,
                                 size_t group_count)
{
    static const struct {
        const char *strategy, *merge;
    } ways[] = {{"raw", "none"}, {"bufalloc:region=64k:split=yes", "best"}};
    enum { WAYS = sizeof ways / sizeof *ways, ENTRIES_MAX = 64 };
    uint64_t digests[ENTRIES_MAX][WAYS], migrations = 0;
    assert_true(c->entry_count <= ENTRIES_MAX);
    struct random random = {42};
    for (size_t g = 0; g <= group_count; g++) {
        struct device *device;
        struct measure *m =
            g == 0 ? open_measure("host", "", &device)
                   : open_measure(groups[g - 1].devices, groups[g - 1].residency, &device);
        if (g > 0)
            place_kernels(c, &random, device->info->members);
        for (size_t e = 0; e < c->entry_count; e++)
            for (unsigned w = 0; w < WAYS && !is_long(c->entries[e].name); w++) {
                struct case_round r = run(m, &c->entries[e], ways[w].strategy, ways[w].merge);
                if (g == 0)
                    digests[e][w] = r.digest;
                else if (digests[e][w] != r.digest)
                    fail_msg("%s under %s, %s: other bits on %s with %s", c->entries[e].name,
                             ways[w].strategy, ways[w].merge, groups[g - 1].devices,
                             groups[g - 1].residency);
                migrations += r.warm.copy[COPY_migration].count;
            }
        if (g > 0)
            assert_int_equal(residency_check(device), 0);
        measure_close(m);
        device->ops->close(device);
    }
    return migrations;
}

static void every_workload(void **state)
{
    static const struct grouping groups[] = {
        {"host+host", "always"},
        {"host+host", "eager"},
        {"host+host+host", "lazy"},
        {"host+host+host", "versioned"},
        {"host+host", "versioned:route=host:grain=memory"},
    };
    struct catalogue c;
    struct error error;
    (void)state;
    assert_int_equal(catalogue_open(&c, &error), 0);
    assert_true(compare_programs(&c, groups, sizeof groups / sizeof *groups) > 3000);
    catalogue_close(&c);
}

/* Few: each is compiled for each device. */
static void random_programs(void **state)
{
    enum { PROGRAMS = 2, STATEMENTS = 60 };
    static const struct grouping groups[] = {{"host+host", "versioned"}, {"host+host", "lazy"}};
    struct catalogue c = {0};
    struct error error;
    char path[] = "/tmp/gamut_residency_XXXXXX.mem";
    (void)state;
    setenv("CC", "cc -O0 -DGAMUT_NO_CLONES",
           1); /* what a compiler makes of them is not the matter */
    close(mkstemps(path, 4));
    for (unsigned seed = 1; seed <= PROGRAMS; seed++) {
        char *text = generate_program_text(seed, STATEMENTS), *name = strstr(text, "fun made");
        FILE *file = fopen(path, "w");
        assert_true(file && name);
        fprintf(file, "%.*sfun made_%u%s", (int)(name - text), text, seed,
                name + strlen("fun made"));
        fclose(file);
        free(text);
        if (catalogue_add_file(&c, path, &error))
            fail_msg("%s", error.text);
    }
    unlink(path);
    assert_true(compare_programs(&c, groups, 2) > 30);
    catalogue_close(&c);
}

/* Two devices of PoCL in one context, where there is PoCL. */
static void programs_for_two_on_pocl(void **state)
{
    static const char *const names[] = {"pipeline", "broadcast", "halo"};
    static const char *const residencies[] = {"versioned", "versioned:route=host:order=wait",
                                              "always"};
    struct catalogue c;
    struct error error = {0};
    (void)state;
    assert_int_equal(catalogue_open(&c, &error), 0);
    for (size_t r = 0; r < sizeof residencies / sizeof *residencies; r++) {
        struct device *device;
        int code = device_group_open("opencl:0+opencl:1", residencies[r], &device, &error);
        if (code == ERR_UNSUPPORTED) {
            print_message("no two OpenCL devices here: skipped: %s\n", error.text);
            catalogue_close(&c);
            skip();
        }
        assert_int_equal(code, 0);
        struct measure *m = measure_open(device);
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            const struct entry *entry = select_entry(&c, names[n]);
            struct case_round round = run(m, entry, "pool", "none");
            assert_int_not_equal(round.check, CHECK_NONE);
            assert_true(round.warm.copy[COPY_migration].count > 0);
        }
        assert_int_equal(residency_check(device), 0);
        measure_close(m);
        device->ops->close(device);
    }
    catalogue_close(&c);
}

int main(void)
{
    setenv("POCL_DEVICES", "pthread pthread", 1);
#ifdef _OPENMP
    omp_set_num_threads(1); /* tests run side by side: teams would wait for each other's threads */
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_workload),
        cmocka_unit_test(random_programs),
        cmocka_unit_test(programs_for_two_on_pocl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
