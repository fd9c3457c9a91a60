/* The set `best` never needs more memory than any other set: what runs on the host hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "merge/merge.h"
#include "run/rounds/measure.h"
#include "run/select/select.h"

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

static unsigned compare_sets(struct measure *m, const struct entry *entry,
                             const struct dataset *dataset)
{
    const uint64_t best = peak_of(m, entry, dataset, "best");
    unsigned above = 0;
    for (const struct merge_set *set = merge_sets; set->name; set++) {
        const uint64_t peak = peak_of(m, entry, dataset, set->name);
        if (peak >= best)
            continue;
        print_error("%s/%s: best holds %llu bytes, %s %llu\n", entry->name, dataset->name,
                    (unsigned long long)best, set->name, (unsigned long long)peak);
        above++;
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_is_never_above_another_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
