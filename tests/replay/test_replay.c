/* Replays of small traces whose outcome is known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "replay/owners.h"
#include "replay/replay.h"
#include "tests/base/cmocka.h"
#include "tests/run/predict/model_fixture.h"
#include "tests/trace/trace_fixture.h"

#define HEAD_OF(allocator, facts)                                                                  \
    "gamut trace 1\n{\"source\":\"by hand\",\"time_unit_ns\":1,\"capacity_bytes\":null,"           \
    "\"lost_beginning\":false,\"allocator\":\"" allocator "\",\"knows\":[" facts "]}\n"
#define HEAD(facts) HEAD_OF("caching", facts)
#define BOTH_STAMPS HEAD("\"frees\",\"done\",\"queues\"")

static struct replay_outcome replay_with(const char *log, const char *strategy,
                                         const struct replay_options *wanted,
                                         const struct replay_listener *listener)
{
    struct replay_options options = *wanted;
    struct option_values values;
    struct replay_outcome outcome;
    struct trace_reader *reader;
    struct error error = {0};
    import_good("t", log);
    if (allocator_parse(strategy, &options.strategy, &values, &error) ||
        trace_open(trace_path("t.trace"), &reader, &error))
        fail_msg("%s", error.text);
    options.options = &values;
    if (replay_trace(reader, &options, listener, &outcome, &error))
        fail_msg("%s", error.text);
    trace_close(reader);
    return outcome;
}

static struct replay_outcome replay(const char *log, const char *strategy, uint64_t capacity_bytes,
                                    enum replay_free_at free_at)
{
    const struct replay_options options = {
        .device = replay_device(capacity_bytes, NULL), .free_at = free_at, .check = true};
    return replay_with(log, strategy, &options, NULL);
}

/* ---- what a replay counts ---- */

static void bytes_and_calls_are_counted(void **state)
{
    (void)state;
    static const char log[] = BOTH_STAMPS "held b1 1000 q0\nalloc b2 3000 q0\nfree b1 q0\n"
                                          "done b1 q0\nalloc b3 500 q0\n";
    struct replay_outcome o = replay(log, "raw", 0, FREE_AT_DONE);
    assert_int_equal(o.status, CASE_ok);
    assert_int_equal(o.counts.peak_requested_bytes, 4000);
    assert_int_equal(o.counts.live_lower_bound_bytes, 4000);
    assert_int_equal(o.counts.alloc_count, 3);
    assert_int_equal(o.counts.driver_alloc_count, 3);
    assert_int_equal(o.counts.driver_free_count, 1);
    assert_true(o.counts.launch_count == UINT64_MAX); /* the trace does not know */
}

/* b1 is done only after b2 was asked for. */
static const char late[] = BOTH_STAMPS "alloc b1 4194304 q0\nfree b1 q0\nalloc b2 4194304 q0\n"
                                       "done b1 q0\nfree b2 q0\ndone b2 q0\n";

static void a_block_comes_back_when_it_is_let_go_or_done(void **state)
{
    (void)state;
    assert_int_equal(replay(late, "pool", 0, FREE_AT_DONE).counts.driver_alloc_count, 2);
    assert_int_equal(replay(late, "pool", 0, FREE_AT_LET_GO).counts.driver_alloc_count, 1);
}

static void a_log_with_one_stamp_has_that_one(void **state)
{
    (void)state;
    static const char frees[] = HEAD("\"frees\"") "alloc b1 100 q0\nfree b1 q0\nalloc b2 100 q0\n";
    static const char dones[] = HEAD("\"done\"") "alloc b1 100 q0\ndone b1 q0\nalloc b2 100 q0\n";
    for (int when = FREE_AT_LET_GO; when <= FREE_AT_DONE; when++) {
        const enum replay_free_at at = (enum replay_free_at)when;
        assert_int_equal(replay(frees, "pool", 0, at).counts.driver_alloc_count, 1);
        assert_int_equal(replay(dones, "pool", 0, at).counts.driver_alloc_count, 1);
    }
}

/* ---- refusals ---- */

static void a_refused_request_ends_the_replay(void **state)
{
    (void)state;
    static const char log[] = BOTH_STAMPS "alloc b1 1048576 q0\nalloc b2 2097152 q0\n"
                                          "alloc b3 1048576 q0\n";
    struct replay_outcome o = replay(log, "raw", 2 * MIB, FREE_AT_DONE);
    assert_int_equal(o.status, CASE_oom);
    assert_int_equal(o.refusal.event, 2);
    assert_int_equal(o.refusal.block, 2);
    assert_int_equal(o.refusal.bytes, 2 * MIB);
    assert_int_equal(o.refusal.reserved_bytes, MIB);
    assert_non_null(strstr(o.reason, "block b2, event 2: "));
}

/* The log's allocator was refused 16 MiB in addition to 16. One that refuses as well has given its
 * free segment back; one that serves gets its block back at once. */
static void a_request_refused_in_the_log_is_made_again(void **state)
{
    (void)state;
    static const char log[] = BOTH_STAMPS
        "alloc b1 16777216 q0\nalloc b2 16777216 q0\nfree b2 q0\ndone b2 q0\nrefused 25165824 q0\n"
        "alloc b3 16777216 q0\n";
    static const struct {
        uint64_t capacity_bytes, served, driver_allocs, driver_frees;
        const char *words;
    } cases[] = {
        {39 * MIB, 0, 3, 1, "the request of 24.0 MiB that was refused is refused too"},
        {40 * MIB, 1, 3, 1, "the request of 24.0 MiB that was refused is served"},
        {56 * MIB, 1, 3, 0, "the request of 24.0 MiB that was refused is served"},
        {0, 0, 2, 0, NULL}, /* without a limit it is not made */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct replay_outcome o = replay(log, "caching", cases[i].capacity_bytes, FREE_AT_DONE);
        struct text words = {0};
        replay_add_refused(&words, &o.refused);
        assert_int_equal(o.status, CASE_ok);
        assert_int_equal(o.refused.count, cases[i].capacity_bytes > 0);
        assert_int_equal(o.refused.served_count, cases[i].served);
        assert_int_equal(o.counts.driver_alloc_count, cases[i].driver_allocs);
        assert_int_equal(o.counts.driver_free_count, cases[i].driver_frees);
        if (cases[i].words)
            assert_string_equal(words.data, cases[i].words);
        else
            assert_null(words.data);
        text_free(&words);
    }
}

/* An allocator that is refused waits for the blocks that were let go, as the recorded one did. */
static void a_refusal_waits_for_blocks_that_were_let_go(void **state)
{
    (void)state;
    struct replay_outcome o = replay(late, "raw", 4 * MIB, FREE_AT_DONE);
    assert_int_equal(o.status, CASE_ok);
    assert_int_equal(o.counts.free_count, 2);
    assert_int_equal(replay(late, "raw", 4 * MIB - 1, FREE_AT_DONE).status, CASE_oom);
}

/* ---- queues and pools ---- */

#define SHARED(given)                                                                              \
    BOTH_STAMPS "alloc b1 30000000 q0\nalloc b2 9 q0\nalloc b3 31000000 q1\nalloc b4 9 q0\n" given \
                "alloc b5 30000000 q2\nalloc b6 31000000 q2\n"
#define GIVEN "free b1 q0\ndone b1 q0\nfree b3 q1\ndone b3 q1\n"
/* In PyTorch's logs a pause of 2 ms after a free is a wait, and a stream waits for the one that
 * asked before. b1 is done 44 µs after its request, or when the wait says that the device is slow,
 * or after it. Recordings have their waits, and the stream of a free. */
#define LAG(of, facts, queue, then)                                                                \
    HEAD_OF(of, "\"queues\",\"frees\"" facts)                                                      \
    "alloc b1 96000000 q0 @1\nalloc b2 9 q0 @1\nfree b1 " queue " @1\n" then
#define PAUSE(facts, then) LAG("caching", ",\"done\"" facts, "q0", "done b1 q0 @1\nalloc b3 " then)
#define T                  ",\"times\""
#define THEN_WAIT(bytes, block, at, until)                                                         \
    bytes " q0 @" at "\nfree " block " q0 @" at "\ndone " block " q0 @" at                         \
          "\nalloc b5 9 q0 @" until "\n"
#define KEPT(queue, wait) LAG("raw", ",\"times\"", queue, "alloc b3 96000000 q0 @1\n" wait)
static void queues_share_memory_only_in_the_drivers_pool(void **state)
{
    (void)state;
    /* b5 takes the larger block: by an event, a wait, or as the other is of a later queue. */
    static const char *const logs[] = {
        SHARED(GIVEN),
        SHARED(GIVEN "order q2 other=1\n"),
        SHARED(GIVEN "wait q1\n"),
        SHARED("free b1 q0\nfree b3 q1\ndone b3 q1\ndone b1 q0\n"),
        PAUSE(T, "128000000 q0 @44000\n"),
        PAUSE(T, "128000000 q0 @45000\n"),
        PAUSE(T, THEN_WAIT("128000000", "b3", "45000", "2045000")),
        PAUSE(T, THEN_WAIT("128000000", "b3", "45000", "2045001")),
        PAUSE(T, "9 q0 @2\nalloc b4 " THEN_WAIT("128000000", "b4", "2100000", "7100000")),
        PAUSE(T, "9 q0 @2\nalloc b4 " THEN_WAIT("128000000", "b4", "3000000", "5000001")),
        PAUSE(T, "9 q0 @2\nalloc b4 " THEN_WAIT("900000000", "b4", "600000", "2600001")),
        KEPT("q1", "wait q0 @2\n"),
        PAUSE("", "128000000 q0 @2000001\n"),
        PAUSE(T, "128000000 q0 @2000002\n"),
        KEPT("q0", "wait q0 @2\n"),
        PAUSE(T, "96000000 q1 @2\n")};
    static const unsigned steps[] = {2, 3, 3, 3, 7, 5, 5, 7, 7, 6, 30, 6, 5, 5, 3, 3};
    static const char log[] =
        BOTH_STAMPS "alloc b1 4194304 q0\nfree b1 q0\ndone b1 q0\nalloc b2 4194304 q1\n";
    size_t count;
    const struct allocator_ops *const *all = allocator_list(&count);
    for (size_t i = 0; i < count; i++) {
        if (all[i]->harness_only || all[i]->serves_plan)
            continue;
        struct replay_outcome o = replay(log, all[i]->name, 0, FREE_AT_DONE);
        if (o.status != CASE_ok && o.status != CASE_skipped)
            fail_msg("%s: %s", all[i]->name, o.reason);
    }
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(replay(logs[i], "stream", 0, FREE_AT_DONE).counts.peak_reserved_bytes,
                         steps[i] * 32 * MIB);
}

static void private_pools_share_no_memory(void **state)
{
    (void)state;
    static const char one[] =
        BOTH_STAMPS "alloc b1 4194304 q0\nfree b1 q0\ndone b1 q0\nalloc b2 4194304 q0\n";
    static const char two[] =
        BOTH_STAMPS "alloc b1 4194304 q0\nfree b1 q0\ndone b1 q0\nalloc b2 4194304 q0 pool=1\n";
    assert_int_equal(replay(one, "caching", 0, FREE_AT_DONE).counts.driver_alloc_count, 1);
    struct replay_outcome o = replay(two, "caching", 0, FREE_AT_DONE);
    assert_int_equal(o.counts.driver_alloc_count, 2);
    assert_int_equal(o.counts.peak_requested_bytes, 4 * MIB);
}

/* Between its begin and its end a pool gives no memory back, and its end waits for its last
 * block. */
static void captured_graphs_keep_their_memory(void **state)
{
    (void)state;
    static const char log[] =
        BOTH_STAMPS "pool_begin q0 pool=1\nalloc b1 4194304 q0 pool=1\nfree b1 q0\ndone b1 q0\n"
                    "alloc b2 4194304 q0 pool=1\nalloc b3 4194304 q0\nfree b3 q0\ndone b3 q0\n"
                    "pool_end q0 pool=1\nalloc b4 4194304 q0\nfree b2 q0\ndone b2 q0\n"
                    "alloc b5 4194304 q0\nalloc b6 4194304 q0\n";
    struct replay_outcome o = replay(log, "raw", 0, FREE_AT_DONE);
    assert_int_equal(o.status, CASE_ok);
    assert_int_equal(o.counts.peak_reserved_bytes, 12 * MIB); /* b1's, b2 and b4; b4 to b6 */
    assert_int_equal(o.counts.driver_alloc_count, 6);
    assert_int_equal(o.counts.driver_free_count, 3);
    /* Virtual memory is taken back from graphs: caching serves them. */
    o = replay(log, "vmm", 0, FREE_AT_DONE);
    assert_int_equal(o.status, CASE_ok);
    assert_int_equal(o.counts.free_count, 3);
}

static void a_device_aligns_as_it_was_recorded(void **state)
{
    (void)state;
    static const char log[] =
        "gamut trace 1\n{\"source\":\"by hand\",\"time_unit_ns\":1,\"capacity_bytes\":null,"
        "\"lost_beginning\":false,\"alignment_bytes\":4096,\"knows\":[\"frees\"]}\nalloc b1 100 "
        "q0\nalloc b2 100 q0\n";
    assert_int_equal(replay(log, "caching", 0, FREE_AT_DONE).counts.peak_granted_bytes, 8192);
    assert_int_equal(replay(log, "tlsf", 0, FREE_AT_DONE).counts.peak_granted_bytes, 8192);
    struct error error = {0};
    struct import_report report;
    char odd[sizeof log];
    memcpy(odd, log, sizeof log);
    memcpy(strstr(odd, "4096"), "4095", 4);
    assert_int_equal(import_bytes("odd", odd, strlen(odd), &report, &error), ERR_PARSE);
    assert_non_null(strstr(error.text, "alignment_bytes: expected a power of two"));
}

static void more_queues_than_a_strategy_knows_are_refused(void **state)
{
    (void)state;
    struct text log = {0};
    struct trace_reader *reader;
    struct replay_options options = {.device = replay_device(0, NULL)};
    struct option_values values;
    struct replay_outcome outcome;
    struct error error = {0};
    text_add(&log, BOTH_STAMPS);
    for (int q = 0; q <= ALLOCATOR_QUEUES_MAX; q++)
        text_add(&log, "alloc b%d 100 q%d\n", q + 1, q);
    import_good("t", log.data);
    text_free(&log);
    assert_int_equal(allocator_parse("raw", &options.strategy, &values, &error), 0);
    options.options = &values;
    assert_int_equal(trace_open(trace_path("t.trace"), &reader, &error), 0);
    assert_int_equal(replay_trace(reader, &options, NULL, &outcome, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "event 33 is on queue 33"));
    trace_close(reader);
}

/* ---- owners ---- */

static struct block block_at(uint64_t memory, uint64_t offset, uint64_t size)
{
    return (struct block){.memory = memory, .offset = offset, .size = size};
}

static void owners_see_what_must_not_happen(void **state)
{
    (void)state;
    struct owners o;
    const struct block whole = block_at(1, 0, 100), part = block_at(1, 40, 20);
    owners_open(&o);
    assert_null(owners_take(&o, &whole, 0));
    assert_non_null(strstr(owners_take(&o, &part, 0), "overlaps a live block"));
    owners_close(&o);

    owners_open(&o);
    assert_null(owners_take(&o, &whole, 0));
    owners_give(&o, &whole);
    assert_null(owners_take(&o, &part, 0));
    owners_give(&o, &part);
    assert_non_null(strstr(owners_take(&o, &part, 1), "another queue"));
    owners_close(&o);

    /* The source took the memory back, and waited. */
    owners_open(&o);
    assert_null(owners_take(&o, &whole, 0));
    owners_give(&o, &whole);
    owners_forget(&o, 1, 0, UINT64_MAX);
    assert_null(owners_take(&o, &part, 1));
    owners_close(&o);
}

static void add_range(void *context, uint64_t memory, uint64_t bytes, bool is_live, unsigned queue)
{
    text_add(context, "%d:%d%s%u ", (int)memory, (int)bytes, is_live ? "live" : "free", queue);
}

static void pieces_end_at_gaps_and_live_blocks(void **state)
{
    (void)state;
    struct owners o;
    struct text seen = {0};
    const struct block block = block_at(1, 320, 10);
    owners_open(&o);
    for (unsigned i = 0; i < 4; i++) /* nothing is mapped from 100 to 200 */
        owners_got(&o, 1 + i / 3, i * 100 + (i ? 100 : 0), 100);
    owners_take(&o, &block, 3);
    owners_walk(&o, add_range, &seen);
    assert_string_equal(seen.data, "1:100free0 1:120free0 1:10live3 1:70free0 2:100free0 ");
    text_free(&seen);
    owners_close(&o);
}

/* ---- listeners ---- */

struct heard {
    unsigned taken, given;
    uint64_t most_reserved;
};

static void hear(void *context, const struct trace_event *event, const struct block *block,
                 const struct replay_state *now)
{
    struct heard *h = context;
    h->taken += block && (event->kind == TRACE_held || event->kind == TRACE_alloc);
    h->given += block && (event->kind == TRACE_free || event->kind == TRACE_done);
    h->most_reserved =
        now->reserved_bytes > h->most_reserved ? now->reserved_bytes : h->most_reserved;
}

static void a_listener_is_told_of_every_block_once(void **state)
{
    (void)state;
    static const uint64_t capacities[] = {0, 4 * MIB};
    for (int i = 0; i < 2; i++) {
        struct heard heard = {0};
        const struct replay_listener listener = {.context = &heard, .event = hear};
        const struct replay_options options = {.device = replay_device(capacities[i], NULL),
                                               .free_at = FREE_AT_DONE};
        assert_int_equal(replay_with(late, "raw", &options, &listener).status, CASE_ok);
        assert_int_equal(heard.taken, 2);
        assert_int_equal(heard.given, 2);
        assert_int_equal(heard.most_reserved, capacities[i] ? 4 * MIB : 8 * MIB);
    }
}

/* Writes the log of a run as a trace, at whose end the host waits. */
static void write_trace(const struct run_log *log)
{
    struct trace_info info = {.source = "a run", .time_unit_ns = 1};
    struct trace_writer *writer;
    struct error error = {0};
    info.knows[TRACE_KNOWS_times] = info.knows[TRACE_KNOWS_frees] = true;
    info.knows[TRACE_KNOWS_uses] = info.knows[TRACE_KNOWS_device_times] = true;
    assert_int_equal(trace_create(trace_path("t.trace"), &info, &writer, &error), 0);
    trace_queue(writer, "0");
    for (size_t i = 0; i < log->event_count; i++)
        trace_put(writer, &log->events[i]);
    const struct trace_event *last = &log->events[log->event_count - 1];
    trace_put(writer,
              &(struct trace_event){.kind = TRACE_wait, .time_ns = last->time_ns + last->call_ns});
    if (trace_finish(writer, true, NULL, &error))
        fail_msg("%s", error.text);
}

static struct replay_outcome replay_written(const char *strategy, const struct replay_options *with)
{
    struct replay_options options = *with;
    struct option_values values;
    struct replay_outcome outcome;
    struct trace_reader *reader;
    struct error error = {0};
    assert_int_equal(allocator_parse(strategy, &options.strategy, &values, &error), 0);
    options.options = &values;
    assert_int_equal(trace_open(trace_path("t.trace"), &reader, &error), 0);
    assert_int_equal(replay_trace(reader, &options, NULL, &outcome, &error), 0);
    trace_close(reader);
    return outcome;
}

/* Under raw, which keeps nothing from one run to the next. */
static void a_recorded_run_is_predicted_as_its_trace_is(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    put_cost(&atlas, "raw", "first_use", 26 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 6 * US, ATLAS_WAITS_unknown);
    struct run_log log = make_trace();
    for (unsigned i = 0; i < 20; i++) {
        add_alloc(&log, i, (i + 1) * KIB);
        log.events[log.event_count - 1].time_ns += i * 3 * US;
        add_launch(&log, i, 2, 10 * i + 1);
        add_launch(&log, i / 2, 3, 5);
        if (i % 3 == 0)
            add_read(&log, i);
    }
    for (unsigned i = 0; i < 20; i++)
        add_free(&log, i);
    write_trace(&log);
    const struct case_model model = predicted(&atlas, &log, "raw");
    const struct replay_options with = {.device = model_with(&atlas).device,
                                        .free_at = FREE_AT_LET_GO};
    const struct replay_outcome outcome = replay_written("raw", &with);
    assert_true(model.first_use_ns > 0 && model.waiting_ns > 0);
    assert_int_equal(outcome.model.predicted_ns, model.predicted_ns);
    assert_int_equal(outcome.model.device_ns, model.device_ns);
    assert_int_equal(outcome.model.driver_ns, model.driver_ns);
    assert_int_equal(outcome.model.waiting_ns, model.waiting_ns);
    assert_int_equal(outcome.model.first_use_ns, model.first_use_ns);
    run_log_close(&log);
    atlas_free(&atlas);
}

/* The driver's time needs no times of the device. */
static void a_trace_that_lost_device_times_predicts_no_wall_time(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct run_log log = make_trace();
    add_alloc(&log, 0, KIB);
    for (unsigned i = 0; i < 5; i++)
        add_launch(&log, 0, 2, 10 * (i % 3));
    add(&log, TRACE_copy)->bytes = 0; /* has none to lose */
    add_free(&log, 0);
    const struct replay_options with = {.device = model_with(&atlas).device,
                                        .free_at = FREE_AT_LET_GO};
    write_trace(&log);
    struct case_model m = replay_written("raw", &with).model;
    assert_string_equal(m.why_not, "2 of 6 kernels, copies and fills have no device time");
    assert_true(m.predicted_ns == UNKNOWN_NS);
    assert_true(m.device_ns == UNKNOWN_NS);
    assert_true(m.waiting_ns == UNKNOWN_NS);
    assert_true(m.driver_ns > 0 && m.driver_ns != UNKNOWN_NS);
    /* With an end they were too short for the device's clock. */
    for (size_t i = 0; i < log.event_count; i++)
        if (log.events[i].kind == TRACE_launch && !log.events[i].device_ns)
            log.events[i].ended_ns = 1;
    write_trace(&log);
    m = replay_written("raw", &with).model;
    assert_string_equal(m.why_not, "");
    assert_true(m.predicted_ns != UNKNOWN_NS && m.device_ns != UNKNOWN_NS);
    run_log_close(&log);
    atlas_free(&atlas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_and_calls_are_counted),
        cmocka_unit_test(a_block_comes_back_when_it_is_let_go_or_done),
        cmocka_unit_test(a_log_with_one_stamp_has_that_one),
        cmocka_unit_test(a_refused_request_ends_the_replay),
        cmocka_unit_test(a_request_refused_in_the_log_is_made_again),
        cmocka_unit_test(a_refusal_waits_for_blocks_that_were_let_go),
        cmocka_unit_test(queues_share_memory_only_in_the_drivers_pool),
        cmocka_unit_test(private_pools_share_no_memory),
        cmocka_unit_test(captured_graphs_keep_their_memory),
        cmocka_unit_test(a_device_aligns_as_it_was_recorded),
        cmocka_unit_test(more_queues_than_a_strategy_knows_are_refused),
        cmocka_unit_test(owners_see_what_must_not_happen),
        cmocka_unit_test(pieces_end_at_gaps_and_live_blocks),
        cmocka_unit_test(a_recorded_run_is_predicted_as_its_trace_is),
        cmocka_unit_test(a_trace_that_lost_device_times_predicts_no_wall_time),
        cmocka_unit_test(a_listener_is_told_of_every_block_once),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
