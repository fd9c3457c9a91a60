/* A replay as a snapshot of PyTorch: imported again, it has the requests of the trace, and the driver
 * calls and the places of the strategy that played it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/registry.h"
#include "run/replay/replay_snapshot.h"
#include "tests/trace/trace_fixture.h"

#define HEAD                                                                                       \
    "gamut trace 1\n{\"source\":\"by hand\",\"time_unit_ns\":1000,\"capacity_bytes\":null,"        \
    "\"lost_beginning\":false,\"knows\":[\"times\",\"frees\",\"done\",\"queues\",\"sites\"]}\n"

static void must(int code, const struct error *error)
{
    if (code)
        fail_msg("%s", error->text);
}

/* Replays NAME.trace, and imports the snapshot to SNAPSHOT.trace. */
static struct replay_outcome replay(const char *name, const char *strategy, const char *snapshot)
{
    struct replay_options options = {.device = replay_device(0, NULL), .free_at = FREE_AT_DONE};
    struct option_values values;
    struct replay_outcome outcome;
    struct trace_reader *reader;
    struct import_report report;
    struct error error = {0};
    char file[64];
    snprintf(file, sizeof file, "%s.trace", name);
    must(allocator_parse(strategy, &options.strategy, &values, &error), &error);
    options.options = &values;
    must(trace_open(trace_path(file), &reader, &error), &error);
    FILE *out = fopen(trace_path("snapshot.pickle"), "w");
    assert_non_null(out);
    must(replay_to_snapshot(reader, &options, out, &outcome, &error), &error);
    fclose(out);
    trace_close(reader);
    snprintf(file, sizeof file, "%s.trace", snapshot);
    must(import_log(trace_path("snapshot.pickle"), NULL, trace_path(file), true, &report, &error),
         &error);
    import_report_free(&report);
    return outcome;
}

static void a_small_replay_has_its_places(void **state)
{
    (void)state;
    import_good("small", HEAD "queue 0 \"0\"\n"
                              "name 1 \"adam.py:182 step < train.py:9 main\"\n"
                              "name 2 \"iteration\"\n"
                              "begin q0 @1000 name=2\n"
                              "alloc b1 1000 q0 @1000 name=1\n"
                              "alloc b2 3000 q0 @2000 name=1\n"
                              "free b1 q0 @3000\n"
                              "done b1 q0 @4000\n"
                              "end q0 @5000 name=2\n"
                              "alloc b3 500 q0 @6000\n");
    replay("small", "caching", "played");
    char *text = events_of("played");
    assert_string_equal(text, "name 1 \"iteration\"\n"
                              "queue 0 \"0\"\n"
                              "begin q0 name=1\n"
                              "driver_alloc 2097152 q0 address=0x7f0000000000\n"
                              "name 2 \"adam.py:182 step < train.py:9 main\"\n"
                              "alloc b1 1000 q0 address=0x7f0000000000 name=2\n"
                              "alloc b2 3000 q0 @1000 address=0x7f0000000400 name=2\n"
                              "free b1 q0 @2000\n"
                              "done b1 q0 @3000\n"
                              "end q0 @4000 name=1\n"
                              "alloc b3 500 q0 @5000 address=0x7f0000000000\n");
    free(text);
    char *info = info_of("played");
    assert_non_null(strstr(info, "\"lost_beginning\":false"));
    free(info);
}

/* The most bytes that the driver calls of a trace hold at once. */
static uint64_t most_held(const char *name)
{
    struct trace_reader *reader;
    struct trace_event e;
    struct error error = {0};
    uint64_t held = 0, most = 0;
    char file[64];
    snprintf(file, sizeof file, "%s.trace", name);
    must(trace_open(trace_path(file), &reader, &error), &error);
    while (trace_next(reader, &e, &error) > 0) {
        if (e.kind == TRACE_driver_alloc || e.kind == TRACE_driver_map)
            held += e.bytes;
        if (e.kind == TRACE_driver_free || e.kind == TRACE_driver_unmap)
            held -= e.bytes;
        most = held > most ? held : most;
    }
    trace_close(reader);
    return most;
}

static void a_real_replay_is_whole(void **state)
{
    (void)state;
    static const char *const strategies[] = {"raw", "pool", "caching", "vmm", "tlsf"};
    struct import_report report;
    struct error error = {0};
    must(import_log(GAMUT_ROOT "/tests/traces/pytorch/gnn.snapshot.pickle.gz", NULL,
                    trace_path("gnn.trace"), true, &report, &error),
         &error);
    import_report_free(&report);
    const struct trace_totals before = totals_of("gnn");
    for (unsigned i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        const struct replay_outcome outcome = replay("gnn", strategies[i], "played");
        const struct trace_totals after = totals_of("played");
        assert_int_equal(outcome.status, CASE_ok);
        assert_int_equal(after.blocks, before.blocks);
        assert_int_equal(after.peak_bytes, before.peak_bytes);
        assert_int_equal(after.requested_bytes, before.requested_bytes);
        assert_int_equal(after.live_at_end, before.live_at_end);
        assert_int_equal(after.by_kind[TRACE_done], before.by_kind[TRACE_done]);
        assert_int_equal(after.by_kind[TRACE_begin], before.by_kind[TRACE_begin]);
        assert_int_equal(most_held("played"), outcome.counts.peak_reserved_bytes);
    }
}

/* The history begins empty, so every block and segment at the end was made in it. */
static void the_segments_are_those_of_the_history(void **state)
{
    (void)state;
    import_good("two", HEAD "queue 0 \"0\"\nqueue 1 \"7\"\n"
                            "alloc b1 4000000 q0 @1000\n"
                            "alloc b2 4000000 q1 @2000\n"
                            "free b1 q0 @3000\n"
                            "done b1 q0 @3000\n"
                            "alloc b3 9000000 q0 @4000\n");
    static const char *const strategies[] = {"raw", "caching", "vmm", "tlsf"};
    for (unsigned i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        replay("two", strategies[i], "played");
        char *info = info_of("played");
        if (!strstr(info, "\"lost_beginning\":false"))
            fail_msg("%s: a block or a segment was not made in the history", strategies[i]);
        free(info);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_replay_has_its_places),
        cmocka_unit_test(a_real_replay_is_whole),
        cmocka_unit_test(the_segments_are_those_of_the_history),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
