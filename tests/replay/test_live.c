/* Replays of small traces on the host device, in real time, and on a fake one whose queues run in
 * any order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "replay/replay.h"
#include "tests/base/cmocka.h"
#include "tests/device/fake_devices.h"
#include "tests/trace/trace_fixture.h"

#define HEAD(facts)                                                                                \
    "gamut trace 1\n{\"source\":\"by hand\",\"time_unit_ns\":1,\"capacity_bytes\":null,"           \
    "\"lost_beginning\":false,\"knows\":[" facts "]}\n"
#define TIMED HEAD("\"times\",\"frees\",\"done\",\"queues\",\"threads\",\"uses\",\"device_times\"")

static struct live_counts counts;
static unsigned pinned_count; /* blocks of that kind that were asked for */

static struct replay_outcome replay_in(struct device *device, const char *log, const char *strategy,
                                       bool gaps, uint64_t capacity_bytes)
{
    struct replay_options options = {.free_at = FREE_AT_LET_GO, .check = true};
    struct option_values values;
    struct replay_outcome outcome;
    struct trace_reader *reader;
    struct schedule schedule;
    struct error error = {0};
    import_good("t", log);
    options.options = &values;
    if (allocator_parse(strategy, &options.strategy, &values, &error) ||
        trace_open(trace_path("t.trace"), &reader, &error) ||
        schedule_read(reader, &schedule, &error) ||
        live_open(device, &schedule, capacity_bytes, &options.live, &error))
        fail_msg("%s", error.text);
    live_keep_gaps(options.live, gaps);
    if (replay_trace(reader, &options, NULL, &outcome, &error))
        fail_msg("%s", error.text);
    counts = *live_counts(options.live);
    live_close(options.live);
    schedule_free(&schedule);
    trace_close(reader);
    return outcome;
}

static struct replay_outcome replay_on(const char *id, const char *log, const char *strategy,
                                       bool gaps, uint64_t capacity_bytes)
{
    struct device *device;
    struct error error = {0};
    if (device_open(id, &device, &error))
        fail_msg("%s", error.text);
    const struct replay_outcome outcome = replay_in(device, log, strategy, gaps, capacity_bytes);
    device->ops->close(device);
    return outcome;
}

/* No replay is shorter than from_ns. One of a busy machine may be longer than to_ns, not all. */
static void takes(const char *log, const char *strategy, bool keep_gaps, uint64_t from_ns,
                  uint64_t to_ns)
{
    uint64_t wall_ns = UINT64_MAX;
    for (unsigned tries = 0; tries < 50 && wall_ns > to_ns; tries++) {
        wall_ns = replay_on("host", log, strategy, keep_gaps, 0).sample.wall_ns;
        assert_true(wall_ns >= from_ns);
    }
    assert_in_range(wall_ns, from_ns, to_ns);
}

/* Two queues, two threads, each kind of command; the second kernel says how long it took. */
static const char whole[] = TIMED "thread 0 \"0\"\nthread 1 \"1\"\nqueue 0 \"0\"\nqueue 1 \"1\"\n"
                                  "alloc b1 65536 q0 t0 @1000 call=500\n"
                                  "write 65536 q0 t0 @2000 call=100 uses=b1w\n"
                                  "wait q0 t0 @2000\n"
                                  "alloc b2 65536 q1 t1 @3000 call=500\n"
                                  "launch q0 t0 @4000 call=100 uses=b1rw,b2rw\n"
                                  "order q1 t1 @5000 other=0\n"
                                  "launch q1 t1 @5000 call=100 device=3000000 uses=b2rw\n"
                                  "copy 4096 q1 t1 @6000 call=100 uses=b2r,b1w\n"
                                  "copy 4096 q1 t1 @6500 call=100 uses=b1rw\n"
                                  "fill 4096 q1 t1 @7000 call=100 uses=b2w\n"
                                  "free b2 q1 t1 @7500 call=100\n"
                                  "done b2 q1 t1 @7600\n"
                                  "map 4096 q0 t0 @8000 call=100 uses=b1rw\n"
                                  "unmap q0 t0 @9000 call=100 uses=b1rw\n"
                                  "wait q1 t0 @10000 call=100 behind=1\n"
                                  "wait q1 t0 @10200 call=100\n"
                                  "read 65536 q0 t0 @11000 call=100 uses=b1r\n"
                                  "wait q0 t0 @11000\n"
                                  "free b1 q0 t0 @12000 call=100\n"
                                  "done b1 q0 t0 @12100\n";

static void everything_is_played_under_every_strategy(void **state)
{
    (void)state;
    static const char *const strategies[] = {"raw", "pool", "caching", "tlsf", "bufalloc"};
    for (unsigned i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        const struct replay_outcome o = replay_on("host", whole, strategies[i], true, 0);
        assert_int_equal(o.status, CASE_ok);
        assert_int_equal(o.counts.alloc_count, 2);
        assert_int_equal(o.counts.launch_count, 2);
        assert_int_equal(o.counts.peak_requested_bytes, 131072);
        assert_int_equal(counts.lost + counts.shortened + counts.wide, 0);
        /* The kernel that took 3 ms takes 3 ms. */
        takes(whole, strategies[i], true, 3000000, 60000000);
    }
}

static void gaps_are_kept_or_left_out(void **state)
{
    (void)state;
    /* A gap of 20 ms, and one of 48 ms in another thread, at whose end the first thread has just
     * made a call: it waited for that thread. The wait of 30 ms is no gap: nothing is to be waited
     * for here. */
    static const char log[] = TIMED "thread 0 \"0\"\nthread 1 \"1\"\nqueue 0 \"0\"\n"
                                    "alloc b1 4096 q0 t0 @1000 call=500\n"
                                    "alloc b2 4096 q0 t1 @2000 call=500\n"
                                    "wait q0 t0 @3000 call=30000000\n"
                                    "free b1 q0 t0 @50003000 call=100\n"
                                    "done b1 q0 t0 @50003200\n"
                                    "free b2 q0 t1 @50003300 call=100\n"
                                    "done b2 q0 t1 @50003400\n";
    takes(log, "raw", true, 20000000, 45000000);
    takes(log, "raw", false, 1, 15000000);
}

/* While one thread is in a call of 40 ms, another makes a call each 10 ms: they come later here,
 * and their gaps have passed. */
static void calls_within_a_call_of_another_thread_do_not_add_up(void **state)
{
    (void)state;
    static const char log[] = TIMED
        "thread 0 \"0\"\nthread 1 \"1\"\nqueue 0 \"0\"\n"
        "alloc b1 4096 q0 t0 @1000 call=500\n"
        "launch q0 t0 @2000 call=40000000 device=40000000 uses=b1rw\n"
        "fill 64 q0 t1 @10000000 call=100 uses=b1w\nfill 64 q0 t1 @20000000 call=100 uses=b1w\n"
        "fill 64 q0 t1 @30000000 call=100 uses=b1w\nfill 64 q0 t1 @39000000 call=100 uses=b1w\n"
        "fill 64 q0 t0 @50000000 call=100 uses=b1w\n";
    takes(log, "raw", true, 50000000, 65000000);
}

/* A launch whose call took 20 ms, for its code was loaded in it, takes as long here; without gaps
 * it does not. */
static void a_call_that_gives_work_takes_its_time(void **state)
{
    (void)state;
    static const char log[] = TIMED "thread 0 \"0\"\nqueue 0 \"0\"\n"
                                    "alloc b1 4096 q0 t0 @1000 call=500\n"
                                    "launch q0 t0 @2000 call=20000000 device=1000 uses=b1rw\n"
                                    "wait q0 t0 @20003000 call=100\n";
    takes(log, "raw", true, 20000000, 35000000);
    takes(log, "raw", false, 1, 15000000);
}

/* JAX copies 0 bytes: that is no copy of the whole block, for which the host has no room. */
static void a_transfer_of_no_bytes_moves_none(void **state)
{
    (void)state;
    static const char log[] = TIMED "alloc b1 100000000 q0 @1000\nwrite q0 @2000 uses=b1w\n"
                                    "write 64 q0 @3000 uses=b1w\ncopy q0 @4000 uses=b1rw\n";
    assert_int_equal(replay_on("host", log, "raw", false, 0).status, CASE_ok);
    assert_int_equal(counts.shortened, 0);
}

static void a_refused_request_ends_the_replay_there(void **state)
{
    (void)state;
    const struct replay_outcome o = replay_on("host", whole, "raw", false, 100000);
    assert_int_equal(o.status, CASE_oom);
    assert_int_equal(o.refusal.event, 4);
    assert_int_equal(o.refusal.block, 2);
    assert_non_null(strstr(o.reason, "block b2, event 4"));
}

/* A map that does not say how many bytes it gives is one of the whole block. */
static void a_map_of_unknown_size_has_room_on_the_host(void **state)
{
    (void)state;
    static const char log[] = TIMED "alloc b1 8000000 q0 @1\n"
                                    "map q0 @3 uses=b1rw\nunmap q0 @4 uses=b1rw\n"
                                    "read 8 q0 @5 uses=b1r\nfree b1 q0 @6\ndone b1 q0 @7\n";
    assert_int_equal(replay_on("host", log, "raw", false, 0).status, CASE_ok);
    assert_int_equal(counts.lost + counts.shortened, 0);
}

/* ---- memory of other kinds ---- */

static int take_pinned(void *context, enum driver_memory kind, uint64_t bytes, uint64_t *memory,
                       void **host, struct error *error)
{
    (void)context, (void)error;
    void *block = malloc(bytes);
    pinned_count += kind == MEMORY_PINNED && bytes >= 12288;
    *memory = (uint64_t)(uintptr_t)block;
    if (host)
        *host = block;
    return 0;
}

static int give_pinned(void *context, enum driver_memory kind, uint64_t memory, uint64_t bytes,
                       struct error *error)
{
    (void)context, (void)kind, (void)bytes, (void)error;
    free((void *)(uintptr_t)memory);
    return 0;
}

/* PyTorch has two pinned blocks, JAX many: strategies of device memory alone play the rest, and raw
 * these. */
static void pinned_memory_beside_a_strategy_of_device_memory_alone(void **state)
{
    (void)state;
    static const char log[] =
        TIMED "queue 0 \"0\"\nalloc b1 4096 q0 @1\nalloc b2 12288 q0 @2 memory=1\n"
              "launch q0 @3 device=1 uses=b1rw,b2rw\nfree b1 q0 @4\ndone b1 q0 @4\n"
              "free b2 q0 @5\ndone b2 q0 @5\n";
    static const struct driver_memory_ops pinned = {.alloc = take_pinned, .free = give_pinned};
    static const char *const strategies[] = {"vmm", "caching"};
    for (unsigned i = 0; i < 2; i++) {
        struct device *device;
        struct error error;
        assert_int_equal(device_open("host", &device, &error), 0);
        struct device_ops ops = *device->ops;
        ops.host_memory = &pinned;
        device->ops = &ops;
        pinned_count = 0;
        const struct replay_outcome o = replay_in(device, log, strategies[i], false, 0);
        if (o.status != CASE_ok)
            fail_msg("%s: %s", strategies[i], o.reason);
        assert_int_equal(o.counts.alloc_count, 2);
        assert_int_equal(pinned_count, 1);
        device->ops->close(device);
    }
}

/* ---- blocks that live when the log ends ---- */

static int (*host_alloc)(struct device *, uint64_t, uint64_t *, struct error *);
static int (*host_free)(struct device *, uint64_t, uint64_t, struct error *);
static int memories; /* that the device holds */

static int counted_alloc(struct device *device, uint64_t bytes, uint64_t *memory,
                         struct error *error)
{
    memories++;
    return host_alloc(device, bytes, memory, error);
}

static int counted_free(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    memories--;
    return host_free(device, memory, bytes, error);
}

static void what_a_log_leaves_alive_does_not_stay_on_the_device(void **state)
{
    (void)state;
    static const char log[] =
        TIMED "queue 0 \"0\"\nalloc b1 4096 q0 @1\nalloc b2 12288 q0 @2\nalloc b3 40 q0 @2\n"
              "launch q0 @3 device=1 uses=b1rw,b2rw\nfree b1 q0 @4\ndone b1 q0 @4\n";
    static const char *const strategies[] = {"raw", "pool", "caching"};
    for (unsigned i = 0; i < 3; i++) {
        struct device *device;
        struct error error;
        assert_int_equal(device_open("host", &device, &error), 0);
        struct device_ops ops = *device->ops;
        host_alloc = ops.alloc;
        host_free = ops.free;
        ops.alloc = counted_alloc;
        ops.free = counted_free;
        device->ops = &ops;
        memories = 0;
        assert_int_equal(replay_in(device, log, strategies[i], false, 0).status, CASE_ok);
        assert_int_equal(memories, 0);
        device->ops->close(device);
    }
}

/* ---- memory that moves between queues ---- */

static int (*fake_read)(struct device *device, void *host, uint64_t memory, uint64_t offset,
                        uint64_t bytes, struct error *error);
static uint32_t word_read; /* the first that was read last */

static int watched_read(struct device *device, void *host, uint64_t memory, uint64_t offset,
                        uint64_t bytes, struct error *error)
{
    const int code = fake_read(device, host, memory, offset, bytes, error);
    memcpy(&word_read, host, sizeof word_read);
    return code;
}

/* A fill with 0 and a kernel, which adds 1: what the read then finds. */
#define FILL_AND_ADD                                                                               \
    "fill 4096 q1 @5 uses=b2w\nlaunch q1 @6 device=1 uses=b2rw\n"                                  \
    "read 4096 q1 @7 uses=b2r\nwait q1 @7\nfree b2 q0 @8\ndone b2 q0 @8\n"

/* A kernel of the block that had the memory before comes first, whichever queue it is on. */
static void memory_that_was_let_go_waits_for_its_last_commands(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        uint64_t crossings;
    } cases[] = {
        /* The next block is used on the other queue. */
        {TIMED
         "queue 0 \"0\"\nqueue 1 \"1\"\nalloc b1 4096 q0 @1\nlaunch q0 @2 device=1 uses=b1rw\n"
         "free b1 q0 @3\ndone b1 q0 @3\nalloc b2 4096 q0 @4\n" FILL_AND_ADD,
         1},
        /* The first block was: its queue waits at the free. */
        {TIMED
         "queue 0 \"0\"\nqueue 1 \"1\"\nalloc b1 4096 q1 @1\nlaunch q0 @2 device=1 uses=b1rw\n"
         "free b1 q1 @3\ndone b1 q1 @3\nalloc b2 4096 q1 @4\n" FILL_AND_ADD,
         1},
        /* The application put them in order itself. */
        {TIMED
         "queue 0 \"0\"\nqueue 1 \"1\"\nalloc b1 4096 q0 @1\nlaunch q0 @2 device=1 uses=b1rw\n"
         "free b1 q0 @3\ndone b1 q0 @3\nalloc b2 4096 q0 @4\norder q1 @4 other=0\n" FILL_AND_ADD,
         0},
        /* So did the host. */
        {TIMED
         "queue 0 \"0\"\nqueue 1 \"1\"\nalloc b1 4096 q1 @1\nlaunch q0 @2 device=1 uses=b1rw\n"
         "wait q0 @2 call=1\nfree b1 q1 @3\ndone b1 q1 @3\nalloc b2 4096 q1 @4\n" FILL_AND_ADD,
         0},
    };
    static const char *const strategies[] = {"raw", "pool", "caching", "tlsf"};
    for (unsigned i = 0; i < 96; i++) {
        const unsigned which = i / 4 % (sizeof cases / sizeof *cases);
        struct fake_world world;
        fake_world_open(&world, i, true);
        struct device *device = fake_world_add(&world);
        struct device_ops ops = *device->ops;
        fake_read = ops.read;
        ops.read = watched_read;
        device->ops = &ops;
        const struct replay_outcome o =
            replay_in(device, cases[which].log, strategies[i % 4], false, 0);
        assert_int_equal(o.status, CASE_ok);
        if (word_read != 1)
            fail_msg("case %u under %s, seed %u: the memory has %u", which, strategies[i % 4], i,
                     word_read);
        if (counts.crossings != (i % 4 ? cases[which].crossings : 0))
            fail_msg("case %u under %s: %u waits", which, strategies[i % 4],
                     (unsigned)counts.crossings);
        device->ops->close(device);
        assert_int_equal(world.misuse_count + world.stuck_count, 0);
        fake_world_close(&world);
    }
}

static uint64_t words_read, odd_words; /* odd: not 1 */

static int counted_read(struct device *device, void *host, uint64_t memory, uint64_t offset,
                        uint64_t bytes, struct error *error)
{
    const int code = fake_read(device, host, memory, offset, bytes, error);
    const uint32_t *words = host;
    for (uint64_t i = 0; i < bytes / sizeof *words; i++)
        odd_words += words[i] != 1;
    words_read += bytes / sizeof *words;
    return code;
}

static const char untimed_use[] =
    HEAD("\"times\",\"frees\",\"done\",\"queues\",\"threads\",\"uses\"") /* of b1 and b2 */
    "queue 0 \"0\"\nalloc b1 %u q0 @1\nalloc b2 4096 q0 @1\n"
    "fill %u q0 @2 uses=b1w\nfill 4096 q0 @2 uses=b2w\nlaunch q0 @3 uses=b1rw,b2rw\n"
    "read %u q0 @4 uses=b1r\nwait q0 @4\nread 4096 q0 @5 uses=b2r\nwait q0 @5\n"
    "free b1 q0 @6\ndone b1 q0 @6\nfree b2 q0 @6\ndone b2 q0 @6\n";

/* A kernel without a time adds 1 to each word of its blocks, however its items share them. */
static void a_stand_in_without_a_time_uses_each_word_once(void **state)
{
    (void)state;
    static const unsigned sizes[] = {4, 1020, 4096, 40004, 1000004};
    for (unsigned i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const unsigned bytes = sizes[i / 2];
        struct device *device;
        struct error error;
        if (device_open(i % 2 ? "opencl:0" : "host", &device, &error))
            continue;
        struct device_ops ops = *device->ops;
        fake_read = ops.read;
        ops.read = counted_read;
        device->ops = &ops;
        words_read = odd_words = 0;
        char log[sizeof untimed_use + 30];
        snprintf(log, sizeof log, untimed_use, bytes, bytes, bytes);
        assert_int_equal(replay_in(device, log, "raw", false, 0).status, CASE_ok);
        assert_int_equal(words_read, bytes / 4 + 1024);
        if (odd_words)
            fail_msg("%s, %u bytes: %u words are not 1", device->info->id, bytes,
                     (unsigned)odd_words);
        device->ops->close(device);
    }
}

/* A blocking call and its wait are one; a wait for an event names the command behind which the
 * event was made. */
static void the_schedule_knows_what_is_waited_for(void **state)
{
    (void)state;
    struct trace_reader *reader;
    struct schedule s;
    struct error error = {0};
    import_good("t", whole);
    assert_int_equal(trace_open(trace_path("t.trace"), &reader, &error), 0);
    assert_int_equal(schedule_read(reader, &s, &error), 0);
    assert_true(schedule_blocks(&s, 1) && schedule_blocks(&s, 16));
    assert_false(schedule_blocks(&s, 9) || schedule_blocks(&s, 14));
    assert_int_equal(s.recorded_ns, 12100 - 500);
    assert_int_equal(s.queues[0].commands, 5);
    assert_int_equal(s.queues[1].commands, 4);
    assert_int_equal(s.queues[0].waits[2], 1); /* the order */
    assert_int_equal(s.queues[1].waits[3], 1); /* behind=1 */
    assert_int_equal(s.launches, 2);
    assert_int_equal(s.timed_launches, 1);
    assert_int_equal(s.most_bytes, 65536);
    schedule_free(&s);
    trace_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_played_under_every_strategy),
        cmocka_unit_test(gaps_are_kept_or_left_out),
        cmocka_unit_test(calls_within_a_call_of_another_thread_do_not_add_up),
        cmocka_unit_test(a_call_that_gives_work_takes_its_time),
        cmocka_unit_test(a_transfer_of_no_bytes_moves_none),
        cmocka_unit_test(a_refused_request_ends_the_replay_there),
        cmocka_unit_test(a_map_of_unknown_size_has_room_on_the_host),
        cmocka_unit_test(pinned_memory_beside_a_strategy_of_device_memory_alone),
        cmocka_unit_test(what_a_log_leaves_alive_does_not_stay_on_the_device),
        cmocka_unit_test(memory_that_was_let_go_waits_for_its_last_commands),
        cmocka_unit_test(a_stand_in_without_a_time_uses_each_word_once),
        cmocka_unit_test(the_schedule_knows_what_is_waited_for),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
