/* The set `best` never needs more memory than any other set, under either release policy: what runs
 * on the host hold. Of several programs it takes the one that keeps the least. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/merge.h"
#include "run/rounds/measure.h"
#include "run/select/merging.h"
#include "run/select/readings.h"
#include "run/select/select.h"
#include "tests/base/cmocka.h"

static const struct measure_options once = {.least_samples = 1, .most_samples = 1, .seed = 42};

/* The most bytes that a run on the host requests at a time. */
static uint64_t peak_of(struct measure *m, const struct entry *entry, const struct dataset *dataset,
                        const char *set)
{
    struct case_round round = {0};
    snprintf(round.key.strategy, sizeof round.key.strategy, "raw");
    snprintf(round.key.merge, sizeof round.key.merge, "%s", set);
    snprintf(round.key.release, sizeof round.key.release, "last-use");
    assert_int_equal(measure_case(m, entry, dataset, &once, &round), 0);
    if (round.status != CASE_ok)
        fail_msg("%s/%s %s: %s", entry->name, dataset->name, set, round.reason);
    const uint64_t peak = round.warm.peak_requested_bytes;
    case_round_free(&round);
    return peak;
}

/* Sets that make the same of a program run once. */
struct runs {
    char *text[32];
    uint64_t peak[32];
    size_t count;
};

static uint64_t peak_once(struct runs *runs, struct measure *m, const struct entry *entry,
                          const struct dataset *dataset, const struct arguments *values,
                          const char *set)
{
    struct merge *merged;
    struct error error;
    if (merging_run(entry->fun, set, values, RELEASE_LAST_USE, 0, &merged, &error))
        fail_msg("%s %s: %s", entry->name, set, error.text);
    char *text = program_print(merged->program);
    merge_free(merged);
    for (size_t i = 0; i < runs->count; i++)
        if (strcmp(runs->text[i], text) == 0) {
            free(text);
            return runs->peak[i];
        }
    assert_true(runs->count < sizeof runs->text / sizeof *runs->text);
    runs->text[runs->count] = text;
    return runs->peak[runs->count++] = peak_of(m, entry, dataset, set);
}

static unsigned compare_sets(struct measure *m, const struct entry *entry,
                             const struct dataset *dataset)
{
    struct runs runs = {0};
    struct inputs scalars;
    struct readings readings;
    struct error error, lacking;
    assert_int_equal(inputs_make_scalars(entry, dataset, &scalars, &error), 0);
    if (readings_find(entry, dataset, &scalars.arguments, once.seed, true, &readings, &lacking,
                      &error))
        fail_msg("%s: %s", entry->name, error.text);
    const struct arguments *values = &readings.arguments;
    const uint64_t best = peak_once(&runs, m, entry, dataset, values, "best");
    unsigned above = 0;
    for (const struct merge_set *set = merge_sets; set->name; set++) {
        const uint64_t peak = peak_once(&runs, m, entry, dataset, values, set->name);
        if (peak >= best)
            continue;
        print_error("%s/%s: best holds %llu bytes, %s %llu\n", entry->name, dataset->name,
                    (unsigned long long)best, set->name, (unsigned long long)peak);
        above++;
    }
    while (runs.count)
        free(runs.text[--runs.count]);
    readings_free(&readings);
    inputs_free(&scalars);
    return above;
}

/* Does the program read elements of arrays, on which its memory may depend? */
static bool reads(const struct body *body)
{
    for (const struct stm *s = body->first; s; s = s->next)
        if (s->kind == STM_ELEMENT || (s->kind == STM_LOOP && reads(&s->loop->body)) ||
            (s->kind == STM_IF && (reads(s->then) || reads(s->otherwise))))
            return true;
    return false;
}

/* All programs with `smoke`; those that read what their memory may depend on also with `small`. */
static void best_is_never_above_another_set(void **state)
{
    (void)state;
    struct device *device;
    struct catalogue c;
    struct error error;
    unsigned above = 0, compared = 0;
    assert_int_equal(device_open("host", &device, &error), 0);
    assert_int_equal(catalogue_open(&c, &error), 0);
    struct measure *m = measure_open(device);
    for (size_t e = 0; e < c.entry_count; e++) {
        const struct entry *entry = &c.entries[e];
        const struct dataset *small = select_dataset(entry, "small");
        above += compare_sets(m, entry, select_dataset(entry, "smoke"));
        if (small && reads(&entry->fun->body)) {
            above += compare_sets(m, entry, small);
            compared++;
        }
    }
    assert_int_equal(above, 0);
    assert_true(compared >= 6);
    measure_close(m);
    device->ops->close(device);
    catalogue_close(&c);
}

/* ---- by dry runs, under both release policies ------------------------------------------------ */

/* Does the row need less than `best`, or as much and keep less? */
static bool is_better(const struct merge_report *report, const struct merge_report_row *row,
                      const struct merge_report_row *best)
{
    const uint64_t own = merge_report_peak(report, row), least = merge_report_peak(report, best);
    const uint64_t copied = dry_run_copies(&row->last_use).bytes,
                   least_copied = dry_run_copies(&best->last_use).bytes;
    return own < least || (own == least && copied <= least_copied &&
                           row->scope.peak_requested_bytes < best->scope.peak_requested_bytes);
}

static unsigned compare_rows(const struct entry *entry, const struct arguments *values,
                             enum release_policy policy)
{
    static const char *const sets[] = {
        "best",     "none", "inplace",       "coalesce", "reuse",        "coalesce+reuse",
        "extended", "plan", "short_circuit", "both",     "reuse_private"};
    struct merge_report report;
    struct error error;
    unsigned better = 0;
    if (merge_report_make(entry->fun, values, sets, sizeof sets / sizeof *sets, policy, 0, &report,
                          &error))
        fail_msg("%s: %s", entry->name, error.text);
    assert_true(report.counted);
    for (size_t r = 1; r < report.row_count; r++) {
        if (!is_better(&report, &report.rows[r], &report.rows[0]))
            continue;
        print_error("%s, %s: %s is better than best\n", entry->name, release_policies[policy].name,
                    report.rows[r].set);
        better++;
    }
    merge_report_free(&report);
    return better;
}

/* Of programs that need and copy equally much, `best` is the one that would need the least if
 * nothing were freed early: 6 blocks of canny, not 16. */
static void no_set_is_better_than_best(void **state)
{
    (void)state;
    struct catalogue c;
    struct error error, lacking;
    unsigned better = 0;
    assert_int_equal(catalogue_open(&c, &error), 0);
    for (size_t e = 0; e < c.entry_count; e++) {
        const struct entry *entry = &c.entries[e];
        const struct dataset *dataset = select_dataset(entry, "smoke");
        struct inputs scalars;
        struct readings readings;
        assert_int_equal(inputs_make_scalars(entry, dataset, &scalars, &error), 0);
        if (readings_find(entry, dataset, &scalars.arguments, 42, true, &readings, &lacking,
                          &error))
            fail_msg("%s: %s", entry->name, error.text);
        better += compare_rows(entry, &readings.arguments, RELEASE_LAST_USE) +
                  compare_rows(entry, &readings.arguments, RELEASE_SCOPE);
        readings_free(&readings);
        inputs_free(&scalars);
    }
    assert_int_equal(better, 0);
    catalogue_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_is_never_above_another_set),
        cmocka_unit_test(no_set_is_better_than_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
