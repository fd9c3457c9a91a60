/* Storms of event records: the same events complete in the same order wherever records come from,
 * whichever thread completes them, and whichever queues they are on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "experiment/event_records.h"

static struct event_storm storm_of(enum record_source source, enum storm_threads threads)
{
    return (struct event_storm){.source = source,
                                .threads = threads,
                                .thread_count = 3,
                                .depends = 2,
                                .events = 3000,
                                .live = 17,
                                .event_bytes = 72,
                                .command_bytes = 64,
                                .queue_bytes = STORM_QUEUE_BYTES};
}

static uint64_t digest_of(const struct event_storm *storm)
{
    struct event_storm_result result = {0};
    struct error error = {0};
    if (event_storm_run(storm, &result, &error))
        fail_msg("%s, %s, %u of %llu live, %llu on a queue: %s", record_source_names[storm->source],
                 storm_threads_names[storm->threads], storm->depends,
                 (unsigned long long)storm->live, (unsigned long long)storm->commands, error.text);
    assert_true(result.event_ns > 0);
    assert_true(storm->commands ? result.queue_ns >= result.event_ns : isnan(result.queue_ns));
    return result.digest;
}

static void test_all_complete_the_same(void **state)
{
    (void)state;
    const struct event_storm plain = storm_of(RECORDS_MALLOC, STORM_ALONE);
    const uint64_t expected = digest_of(&plain);
    for (int source = 0; source < RECORD_SOURCES; source++)
        for (int threads = 0; threads < STORM_THREADS; threads++)
            if (source != RECORDS_SLAB || threads != STORM_HANDED) {
                const struct event_storm storm = storm_of(source, threads);
                assert_int_equal(digest_of(&storm), expected);
            }
}

/* How many are under way decides when records are taken again, and changes no order. */
static void test_few_and_many_under_way(void **state)
{
    (void)state;
    static const uint64_t lives[] = {1, 2, 3, 100, 500, 900};
    for (unsigned depends = 0; depends <= STORM_DEPENDS_MAX; depends += 4) {
        uint64_t expected = 0;
        for (size_t l = 0; l < sizeof lives / sizeof *lives; l++)
            for (int source = 0; source < RECORD_SOURCES; source++) {
                struct event_storm storm =
                    storm_of(source, source == RECORDS_LOCKED ? STORM_HANDED : STORM_ALONE);
                storm.events = 500;
                storm.live = lives[l];
                storm.depends = depends;
                const uint64_t digest = digest_of(&storm);
                if (!expected)
                    expected = digest;
                assert_int_equal(digest, expected);
            }
    }
}

/* Queues of one event, of all, and of numbers that fit into neither events nor those under way. */
static void test_queues_come_and_go(void **state)
{
    (void)state;
    static const uint64_t commands[] = {1, 2, 7, 17, 100, 3000, 5000};
    static const uint64_t lives[] = {1, 2, 17, 400};
    const struct event_storm plain = storm_of(RECORDS_MALLOC, STORM_ALONE);
    const uint64_t expected = digest_of(&plain);
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++)
        for (size_t l = 0; l < sizeof lives / sizeof *lives; l++)
            for (int source = 0; source < RECORD_SOURCES; source++)
                for (int threads = 0; threads < STORM_THREADS; threads++)
                    if (source != RECORDS_SLAB || threads != STORM_HANDED) {
                        struct event_storm storm = storm_of(source, threads);
                        storm.commands = commands[c];
                        storm.live = lives[l];
                        assert_int_equal(digest_of(&storm), expected);
                    }
}

static void test_queues_by_many_threads(void **state)
{
    (void)state;
    for (int source = 0; source < RECORD_SOURCES; source++) {
        struct event_storm storm = storm_of(source, STORM_EACH);
        storm.thread_count = 8;
        storm.commands = 3;
        storm.events = 1000;
        digest_of(&storm);
    }
}

static void test_what_waits_counts(void **state)
{
    (void)state;
    struct event_storm storm = storm_of(RECORDS_SLAB, STORM_ALONE);
    const uint64_t two = digest_of(&storm);
    storm.depends = 3;
    assert_true(digest_of(&storm) != two);
}

static void test_a_slab_is_of_one_thread(void **state)
{
    (void)state;
    const struct event_storm storm = storm_of(RECORDS_SLAB, STORM_HANDED);
    struct event_storm_result result;
    struct error error = {0};
    assert_int_equal(event_storm_run(&storm, &result, &error), ERR_UNSUPPORTED);
    assert_true(error.text[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_complete_the_same),
        cmocka_unit_test(test_few_and_many_under_way),
        cmocka_unit_test(test_queues_come_and_go),
        cmocka_unit_test(test_queues_by_many_threads),
        cmocka_unit_test(test_what_waits_counts),
        cmocka_unit_test(test_a_slab_is_of_one_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
