/* Dry runs: they count what a run on the host counts, and refuse what they can't know. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/select/merging.h"
#include "run/select/readings.h"
#include "run/rounds/measure.h"
#include "run/select/select.h"
#include "tests/base/cmocka.h"

static const struct measure_options once = {.least_samples = 1, .most_samples = 1, .seed = 1};

/* ---- dry runs count what runs count --------------------------------------------------------- */

static void expect_equal(const char *what, const struct case_round *round,
                         const struct dry_run *dry)
{
    const struct exact_counts *real = &round->warm;
    if (real->peak_requested_bytes == dry->peak_requested_bytes &&
        real->live_lower_bound_bytes == dry->live_lower_bound_bytes &&
        real->alloc_count == dry->alloc_count && real->free_count == dry->free_count &&
        memcmp(real->copy, dry->copy, sizeof dry->copy) == 0)
        return;
    fail_msg("%s: a run has peak %llu, bound %llu, %llu allocations, a dry run %llu, %llu, %llu",
             what, (unsigned long long)real->peak_requested_bytes,
             (unsigned long long)real->live_lower_bound_bytes,
             (unsigned long long)real->alloc_count, (unsigned long long)dry->peak_requested_bytes,
             (unsigned long long)dry->live_lower_bound_bytes, (unsigned long long)dry->alloc_count);
}

static void compare(struct measure *m, const struct entry *entry, const struct dataset *dataset,
                    const char *set, enum release_policy policy)
{
    struct case_round round = {0};
    struct inputs scalars;
    struct readings readings;
    struct merge *merged;
    struct dry_run dry;
    struct error lacking, error;
    char what[200];
    snprintf(what, sizeof what, "%s/%s %s %s", entry->name, dataset->name, set,
             policy == RELEASE_SCOPE ? "scope" : "last-use");
    snprintf(round.key.strategy, sizeof round.key.strategy, "raw");
    snprintf(round.key.merge, sizeof round.key.merge, "%s", set);
    snprintf(round.key.release, sizeof round.key.release, "%s",
             policy == RELEASE_SCOPE ? "scope" : "last-use");
    assert_int_equal(measure_case(m, entry, dataset, &once, &round), 0);
    case_round_free(&round);
    if (round.status != CASE_ok)
        fail_msg("%s: %s", what, round.reason);
    assert_int_equal(inputs_make_scalars(entry, dataset, &scalars, &error), 0);
    if (readings_find(entry, dataset, &scalars.arguments, once.seed, true, &readings, &lacking,
                      &error))
        fail_msg("%s: %s", what, error.text);
    assert_int_equal(merging_run(entry->fun, set, &readings.arguments, policy, 0, &merged, &error),
                     0);
    if (dry_run(merged->fun, &readings.arguments, policy, &dry, &error))
        fail_msg("%s: %s", what, error.text);
    expect_equal(what, &round, &dry);
    merge_free(merged);
    readings_free(&readings);
    inputs_free(&scalars);
}

/* Every workload, as it is written and merged, under both policies. */
static void dry_runs_count_what_runs_count(void **state)
{
    (void)state;
    static const char *const sets[] = {"none", "extended", "best"};
    struct device *device;
    struct catalogue c;
    struct error error;
    assert_int_equal(device_open("host", &device, &error), 0);
    struct measure *m = measure_open(device);
    unsigned compared = 0;
    assert_int_equal(catalogue_open(&c, &error), 0);
    for (size_t e = 0; e < c.entry_count; e++) {
        const struct dataset *smoke = select_dataset(&c.entries[e], "smoke");
        assert_non_null(smoke);
        for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
            for (int p = RELEASE_LAST_USE; p <= RELEASE_SCOPE; p++, compared++)
                compare(m, &c.entries[e], smoke, sets[s], (enum release_policy)p);
    }
    assert_true(compared >= 60);
    measure_close(m);
    device->ops->close(device);
    catalogue_close(&c);
}

/* ---- what is not known ---------------------------------------------------------------------- */

/* The body of f(n: i64, x: [4]i32), what is given, and what it comes to: the peak of the run in
 * bytes, x's 16 included, or a message. */
static const struct {
    const char *body, *given;
    int64_t peak;
    const char *message;
} unknowns[] = {
    {"let a: [n]i32 = iota\nin a", "n=4", 32, NULL},
    {"let a: [n]i32 = iota\nin a", "", 0,
     "test.mem:1:7: 'n' has no value, and line 2 needs it: give it as n=VALUE"},
    {"let c: i32 = x[0]\nlet k: i64 = i64(c) + 1\nlet a: [k]i32 = iota\nin a", "", 0,
     "test.mem:2:5: 'c' is read while the program runs, and line 4 needs it: give it as c=VALUE"},
    {"let c: i32 = x[0]\nlet k: i64 = i64(c) + 1\nlet a: [k]i32 = iota\nin a", "c=3", 32, NULL},
    {"let c: i32 = x[0]\nlet k: i64 = 1 + i64(c)\nlet a: [k]i32 = iota\nin a", "", 0,
     "line 4 needs it: give it as c=VALUE"},
    /* what only kernels, fills and results get need not be known */
    {"let c: i32 = x[n]\nlet d: i32 = c + 1\nlet a: [2]i32 = kernel k (i < 2) { a[i] = c; }\n"
     "let b: [1]i32 = replicate(d)\nassert d > 1\nin a, b, d",
     "", 28, NULL},
    /* branches */
    {"let c: i32 = x[0]\nlet a: [4]i32 = if c > 0 { in x } else { in x }\nin a", "", 0,
     "'c' is read while the program runs, and line 3 needs it"},
    {"let c: i32 = x[0]\nlet a: [4]i32 = if c > 0 { let e: [4]i32 = iota\nin e } else "
     "{ in x }\nin a",
     "c=1", 32, NULL},
    /* loops */
    {"let r: i64 = loop (s: i64 = 0) for i < n { let t: i64 = s + 1 in t }\n"
     "let a: [r]u8 = replicate(0)\nin a",
     "n=3", 19, NULL},
    {"let r: i64 = loop (s: i64 = 0) for i < n { let t: i64 = s + 1 in t }\nin r", "", 0,
     "'n' has no value"},
    {"let c: i32 = x[0]\nlet r: i64 = loop (s: i64 = i64(c)) for i < 2 { let t: i64 = s + 1 in t "
     "}\n"
     "let a: [r]u8 = replicate(0)\nin a",
     "", 0, "'c' is read while the program runs, and line 4 needs it"},
    {"let (g: bool, s: i64) = loop (go: bool = true, k: i64 = 0) while go {\n"
     "let c: i32 = x[1]\nlet more: bool = c > 0\nlet j: i64 = k + 1\nin more, j }\nin s",
     "", 0, "'c' is read while the program runs, and line 2 needs it"},
    {"let (g: bool, s: i64) = loop (go: bool = true, k: i64 = 0) while go {\n"
     "let c: i32 = x[1]\nlet more: bool = c > 0\nlet j: i64 = k + 1\nin more, j }\nin s",
     "c=0", 16, NULL},
    {"let (g: bool, s: i64) = loop (go: bool = true, k: i64 = 0) while go {\n"
     "let c: i32 = x[1]\nlet more: bool = c > 0\nlet j: i64 = k + 1\nin more, j }\nin s",
     "c=1", 0, "and this loop goes on with these values"},
    {"let (g: bool, s: i64) = loop (go: bool = true, k: i64 = 0) while go {\n"
     "let c: i32 = x[1]\nlet more: bool = c > 0\nlet j: i64 = k + 1\nin more, j }\n"
     "let a: [s]u8 = replicate(0)\nin a",
     "c=1,1,0", 19, NULL},
    /* places: whether a copy is left out depends on them */
    {"let c: i32 = x[0]\nlet a: [1]i32 = x[i64(c) :+ 1]\nlet b: [1]i32 = copy a\nin b", "", 0,
     "'c' is read while the program runs, and line 3 needs it"},
};

/* "c=1,1,0": values of the type of a scalar whose name is one letter. */
static size_t read_given(const char *given, const struct fun *fun, struct named_value values[4],
                         char name[2])
{
    size_t count = 0;
    snprintf(name, 2, "%.1s", given);
    for (const char *at = given; *at && *++at; at += strcspn(at, ",")) {
        const union scalar value = {.i64 = atoll(at + (count == 0))};
        const enum element element = fun->names[fun_find(fun, name, 1)].element;
        values[count++] = (struct named_value){
            .name = name, .scalar = scalar_convert(value, ELEMENT_i64, element)};
    }
    return count;
}

static void what_is_not_known_is_refused(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (size_t i = 0; i < sizeof unknowns / sizeof *unknowns; i++) {
        char text[1024], name[2];
        struct program *program;
        struct named_value values[4];
        struct dry_run dry;
        struct error error = {0};
        snprintf(text, sizeof text, "fun f(n: i64, x: [4]i32) {\n%s }\n", unknowns[i].body);
        if (program_read("test.mem", text, strlen(text), &program, &error))
            fail_msg("%s: %s", unknowns[i].body, error.text);
        const struct fun *fun = &program->funs[0];
        const struct arguments given = {.count = read_given(unknowns[i].given, fun, values, name),
                                        .values = values};
        int code = dry_run(fun, &given, RELEASE_LAST_USE, &dry, &error);
        bool right = unknowns[i].message
                         ? code == ERR_USAGE && strstr(error.text, unknowns[i].message) != NULL
                         : !code && dry.peak_requested_bytes == (uint64_t)unknowns[i].peak;
        if (!right) {
            print_error("%s\nwith '%s' gave %d: %s, peak %llu\n\n", unknowns[i].body,
                        unknowns[i].given, code, error.text,
                        code ? 0 : (unsigned long long)dry.peak_requested_bytes);
            failed++;
        }
        program_free(program);
    }
    assert_int_equal(failed, 0);
}

/* ---- reports -------------------------------------------------------------------------------- */

static void a_report_compares_sets(void **state)
{
    (void)state;
    static const char text[] = "fun f(n: i64) {\n"
                               "  let a: [n]i32 = iota\n"
                               "  let b: [n]i32 = kernel next (i < n) { b[i] = a[i] + 1; }\n"
                               "  in b }\n";
    static const char *const sets[] = {"none", "reuse"};
    const struct named_value n = {.name = "n", .scalar.i64 = 100};
    const struct arguments scalars = {.count = 1, .values = &n};
    struct program *program;
    struct merge_report report;
    struct error error;
    assert_int_equal(program_read("test.mem", text, strlen(text), &program, &error), 0);
    const struct fun *fun = &program->funs[0];
    assert_int_equal(
        merge_report_make(fun, &scalars, sets, 2, RELEASE_LAST_USE, 0, &report, &error), 0);
    assert_true(report.counted);
    assert_int_equal(report.row_count, 2);
    assert_int_equal(report.rows[0].block_count, 2);
    assert_int_equal(report.rows[0].last_use.peak_requested_bytes, 800);
    assert_int_equal(report.rows[1].block_count, 1);
    assert_int_equal(report.rows[1].last_use.peak_requested_bytes, 400);
    assert_int_equal(report.best_bytes, 400); /* though nobody asked for it */
    merge_report_free(&report);
    assert_int_equal(merge_report_make(fun, NULL, sets, 2, RELEASE_LAST_USE, 0, &report, &error),
                     0);
    assert_false(report.counted);
    assert_int_equal(report.rows[1].block_count, 1);
    merge_report_free(&report);
    program_free(program);
}

/* ---- the device that does nothing ----------------------------------------------------------- */

static void the_null_device_does_nothing(void **state)
{
    (void)state;
    struct device *d;
    struct error error;
    uint64_t memory[3];
    int word = 1;
    assert_int_equal(device_null.open("null", &d, &error), 0);
    const uint64_t alignment = d->info->alignment_bytes;
    assert_int_equal(d->ops->alloc(d, 1000, &memory[0], &error), 0);
    assert_int_equal(d->ops->alloc(d, (uint64_t)1 << 60, &memory[1], &error), 0);
    assert_int_equal(d->ops->alloc(d, 1, &memory[2], &error), 0);
    for (int i = 0; i < 3; i++)
        assert_true(memory[i] && memory[i] % alignment == 0);
    assert_true(memory[1] >= memory[0] + 1000 && memory[2] >= memory[1] + ((uint64_t)1 << 60));
    assert_int_equal(d->ops->read(d, &word, memory[1], 8, sizeof word, &error), 0);
    assert_int_equal(word, 0);
    assert_int_equal(d->ops->alloc(d, UINT64_MAX, &memory[0], &error), ERR_OOM);
    d->ops->close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dry_runs_count_what_runs_count),
        cmocka_unit_test(what_is_not_known_is_refused),
        cmocka_unit_test(a_report_compares_sets),
        cmocka_unit_test(the_null_device_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
