/* The cost model on traces small enough to be added up by hand, and on random ones for what holds
 * of every trace. Times are in microseconds here, so that the sums can be read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/random.h"
#include "tests/base/cmocka.h"
#include "tests/run/predict/model_fixture.h"

/* ---- by hand -------------------------------------------------------------------------------- */

static void a_free_that_waits_contains_the_kernel(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct run_log t = one_kernel();
    struct case_model m = predicted(&atlas, &t, "raw");
    /* alloc 40, launch 2; the kernel from 46 to 146; free from 42, waits 104, takes 30; sync 3 */
    check_us(&m, 179, 174, 104);
    assert_int_equal(m.device_ns, 100 * US);
    run_log_close(&t);
    atlas_free(&atlas);
}

static void a_free_that_does_not_wait_runs_beside_it(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    struct run_log t = one_kernel();
    struct case_model m = predicted(&atlas, &t, "raw");
    check_us(&m, 146 + 3, 70, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* The warm run of a strategy that keeps what it has asks nobody. */
static void hits_cost_nothing(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct run_log t = one_kernel();
    static const char *const keepers[] = {"pool", "tagged", "bufalloc"};
    for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++) {
        struct case_model m = predicted(&atlas, &t, keepers[i]);
        check_us(&m, 2 + 4 + 100 + 3, 0, 0);
        assert_int_equal(m.allocator_ns, 0);
    }
    run_log_close(&t);
    atlas_free(&atlas);
}

static void host_and_queue_overlap(void **state)
{
    (void)state;
    static const struct {
        uint64_t call_us, device_us, all_us;
    } rows[] = {
        {2, 10, 2 + 4 + 3 * 10 + 3}, /* the device works while the host launches */
        {10, 1, 3 * 10 + 4 + 1 + 3}, /* and waits where that takes longer */
    };
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run_log t = make_trace();
        add_alloc(&t, 0, KIB);
        t.run_begin = 1; /* an input: not timed */
        for (int k = 0; k < 3; k++)
            add_launch(&t, 0, rows[i].call_us, rows[i].device_us);
        t.run_end = t.event_count;
        add_free(&t, 0); /* what is left over: not timed either */
        t.run_end--;
        struct case_model m = predicted(&atlas, &t, "raw");
        check_us(&m, rows[i].all_us, 0, 0);
        run_log_close(&t);
    }
    atlas_free(&atlas);
}

static void reads_wait_and_the_program_takes_its_time(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct run_log t = make_trace();
    add_alloc(&t, 0, KIB);
    add_launch(&t, 0, 2, 100);
    t.events[1].time_ns += 5 * US;
    add_read(&t, 0);
    add_launch(&t, 0, 2, 10);
    add_free(&t, 0);
    struct case_model m = predicted(&atlas, &t, "pool");
    /* 5 + 2 + 4 + 100; of the read's 8 the 2 + 4 until a device begins are over: 113; launch 2, 4
     * on the way, 10: 129; sync 3 */
    check_us(&m, 132, 0, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

static void the_first_use_of_a_memory_is_paid_once(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    put_cost(&atlas, "raw", "first_use", 26 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 6 * US, ATLAS_WAITS_unknown);
    struct run_log t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_launch(&t, 0, 2, 100);
    add_free(&t, 0);
    struct case_model raw = predicted(&atlas, &t, "raw"), pool = predicted(&atlas, &t, "pool");
    assert_int_equal(raw.first_use_ns, 20 * US);
    check_us(&raw, 40 + 2 + 4 + 20 + 200 + 3, 70, 0);
    assert_int_equal(pool.first_use_ns, 0);
    check_us(&pool, 2 + 4 + 200 + 3, 0, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* An allocation takes 40 µs at rest. While a kernel of 100 µs runs, it takes 60 µs. */
static void a_call_beside_work_costs_its_busy_price(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    put_cost(&atlas, "raw", "alloc_busy", 60 * US, ATLAS_WAITS_nothing);
    struct run_log t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    for (unsigned block = 1; block < 4; block++)
        add_alloc(&t, block, 64 * KIB);
    struct case_model m = predicted(&atlas, &t, "raw");
    /* alloc 40, launch 2: the kernel from 46 to 146; the next alloc until 102; of the one after it
     * 44 of 60 run beside the kernel, the rest is 16 / 60 of 40: 156.67; the last 40; sync 3 */
    assert_in_range(m.predicted_ns, 199 * US, 200 * US);
    assert_in_range(m.driver_ns, 194 * US, 195 * US);
    assert_int_equal(m.waiting_ns, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

static void a_free_costs_more_after_a_long_wait(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    put_cost(&atlas, "raw", "sync_busy", 200 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "free_busy", 247 * US, ATLAS_WAITS_unknown);
    struct run_log t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 296);
    add_free(&t, 0);
    struct case_model m = predicted(&atlas, &t, "raw");
    /* 40, 2, a wait of 300 until 342; then 247 + 3 - 200 and not 30; sync 3 */
    check_us(&m, 342 + 50 + 3, 40 + 300 + 50, 300);
    t.events[1].device_ns = 96 * US; /* half of the atlas's wait: half of the way from 30 to 50 */
    m = predicted(&atlas, &t, "raw");
    check_us(&m, 142 + 40 + 3, 40 + 100 + 40, 100);
    run_log_close(&t);
    atlas_free(&atlas);
}

static void a_first_use_beside_work_costs_its_busy_price(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    put_cost(&atlas, "raw", "first_use", 26 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 6 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "first_use_busy", 36 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use_busy", 6 * US, ATLAS_WAITS_unknown);
    struct run_log t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_alloc(&t, 1, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_launch(&t, 1, 2, 100);
    struct case_model m = predicted(&atlas, &t, "raw");
    assert_int_equal(m.first_use_ns, (20 + 30) * US);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* A curve of two sizes: 4 KiB and 16 MiB. */
static void put_after_write(struct atlas *atlas, const char *call, uint64_t rest_us,
                            uint64_t cold_us)
{
    struct atlas_curve *curve = atlas_curve_of(atlas, "after_write", call);
    atlas_add_point(
        curve, &(struct atlas_point){.bytes = 4 * KIB, .sample_count = 1, .p50_ns = rest_us * US});
    atlas_add_point(
        curve, &(struct atlas_point){.bytes = 16 * MIB, .sample_count = 1, .p50_ns = cold_us * US});
}

static struct trace_event *add_write(struct run_log *t, uint64_t bytes)
{
    struct trace_event *event = add(t, TRACE_write);
    event->bytes = bytes;
    return event;
}

/* The program's input is written before the clock starts. Its calls cost as much as those of the
 * atlas, or half: then they become dearer by half as much. */
static void calls_after_a_write_are_dearer(void **state)
{
    (void)state;
    static const struct {
        uint64_t written, call_us, more_us;
    } rows[] = {
        {16 * MIB, 40, 60 + 10}, {16 * MIB, 20, 30 + 5}, {64 * MIB, 40, 60 + 10}, {4 * KIB, 40, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
        put_cost(&atlas, "raw", "alloc", rows[i].call_us * US, ATLAS_WAITS_nothing);
        put_after_write(&atlas, "launch", 3, 5);
        put_after_write(&atlas, "alloc_1", 40, 100);
        put_after_write(&atlas, "alloc_2", 40, 50);
        put_after_write(&atlas, "alloc_3", 40, 40);
        put_cost(&atlas, "command", "write", 8 * US, ATLAS_WAITS_own_queue);
        struct run_log t = make_trace();
        add_write(&t, rows[i].written);
        t.run_begin = 1;
        for (unsigned block = 0; block < 4; block++)
            add_alloc(&t, block, 64 * KIB);
        struct case_model m = predicted(&atlas, &t, "raw");
        check_us(&m, 4 * rows[i].call_us + rows[i].more_us + 3,
                 4 * rows[i].call_us + rows[i].more_us, 0);
        run_log_close(&t);
        atlas_free(&atlas);
    }
}

/* A host that is slowed by half takes half as long again for its own work and for the driver's
 * calls; the device and waiting for it take as long as ever. */
static void prices_and_recorded_work_follow_the_hosts_pace(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    const uint64_t lives_ns[PACE_SIZES] = {60 * US, 120 * US}; /* 40 and 80 in the atlas */
    struct atlas_curve *lives = atlas_curve_of(&atlas, "raw", "life");
    for (int i = 0; i < PACE_SIZES; i++)
        atlas_add_point(lives, &(struct atlas_point){.bytes = pace_sizes[i],
                                                     .sample_count = 1,
                                                     .p50_ns = (uint64_t)(i + 1) * 70 * US,
                                                     .paced_ns = (uint64_t)(i + 1) * 40 * US});
    struct atlas_curve *allocs = atlas_curve_of(&atlas, "raw", "alloc");
    for (size_t i = 0; i < allocs->point_count; i++) { /* the median is of another pace */
        allocs->points[i].p50_ns = 55 * US;
        allocs->points[i].paced_ns = 40 * US;
    }
    struct run_log t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 98);
    add_free(&t, 0);
    struct model model = model_with(&atlas);
    model.device.pace = pace_against(&atlas, lives_ns);
    model.host_factor = 1.5;
    struct case_model m = predicted_of(&model, &t, "raw");
    /* alloc 60, launch 3, 6.5 on the way (15 - 3 - 1 - 4.5) and 98 on the device, free 45, sync
     * 4.5 */
    assert_int_equal(m.predicted_ns, 217 * US);
    assert_int_equal(2 * m.driver_ns, (2 * 60 + 209 + 2 * 45) * US);
    assert_int_equal(2 * m.waiting_ns, (13 + 2 * 98) * US);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* An atlas without lives, as in older files, has no pace. */
static void a_pace_has_two_sizes_or_none(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    const uint64_t lives_ns[PACE_SIZES] = {10 * US, 80 * US};
    struct pace pace = pace_against(&atlas, lives_ns);
    assert_false(pace.is_known);
    assert_true(pace_at(&pace, MIB) == 1);
    put_cost(&atlas, "raw", "life", 20 * US, ATLAS_WAITS_nothing);
    pace = pace_against(&atlas, lives_ns);
    assert_true(pace.is_known);
    static const struct {
        uint64_t bytes;
        double factor;
    } rows[] = {{0, 0.5},          {1, 0.5},     {4 * KIB, 0.5},
                {128 * KIB, 2.25}, {4 * MIB, 4}, {MIB << 10, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(fabs(pace_at(&pace, rows[i].bytes) - rows[i].factor) < 1e-9);
    atlas_free(&atlas);
}

/* Whose time it is shows where the device is busy meanwhile. */
static void the_first_use_is_the_hosts_time_or_the_devices(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    put_cost(&atlas, "raw", "first_use", 26 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 6 * US, ATLAS_WAITS_unknown);
    struct run_log t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_alloc(&t, 1, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_launch(&t, 1, 2, 100);
    add_free(&t, 0);
    add_free(&t, 1);
    struct model model = model_with(&atlas);
    struct case_model m;
    struct error error = {0};
    assert_int_equal(predict(&model, &t, "raw", &m, &error), 0);
    check_us(&m, 2 * 40 + 2 + 20 + 4 + 200 + 3, 140, 0); /* the second 20 beside the first kernel */
    assert_int_equal(m.first_use_ns, 40 * US);
    model.device.lazy_on_device = true;
    assert_int_equal(predict(&model, &t, "raw", &m, &error), 0);
    check_us(&m, 2 * 40 + 2 + 4 + 2 * (20 + 100) + 3, 140, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* What a program that repeats itself pays, where the atlas has it. */
static void a_warm_run_pays_the_prices_of_repetition(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    put_cost(&atlas, "raw", "first_use", 60 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 7 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "realloc", 25 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "reuse", 17 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "free_used", 20 * US, ATLAS_WAITS_unknown);
    struct run_log t = make_trace();
    for (int i = 0; i < 2; i++) {
        add_alloc(&t, 0, 64 * KIB);
        add_launch(&t, 0, 2, 100);
        add_free(&t, 0);
    }
    add_alloc(&t, 1, 4 * KIB); /* of another size: it does not take the place of the first */
    add_free(&t, 1);
    struct case_model m = predicted(&atlas, &t, "raw");
    /* alloc 40, launch 2 and 53 of the first use; the kernel from 99 to 199; the free without what
     * it waits for in the atlas, 7 - 2 - 3: 217. Again: 25, 2, 10: 254; the kernel until 358; 376;
     * another size: 416, and its free 434; sync 3 */
    check_us(&m, 437, 40 + 104 + 18 + 25 + 104 + 18 + 40 + 18, 208);
    assert_int_equal(m.first_use_ns, 63 * US);
    run_log_close(&t);
    atlas_free(&atlas);
}

static void memory_made_resident_is_used_already(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    put_cost(&atlas, "raw", "first_use", 26 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 6 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "resident", "alloc", 55 * US, ATLAS_WAITS_own_queue);
    struct model model = model_with(&atlas);
    model.device.can_touch = true;
    struct run_log t = one_kernel();
    struct case_model m;
    struct error error = {0};
    assert_int_equal(predict(&model, &t, "raw:first_use=resident", &m, &error), 0);
    assert_int_equal(m.first_use_ns, 0);
    check_us(&m, 55 + 2 + 4 + 100 + 3, 55 + 30, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* On the host a command is done when its call returns; the call costs what the atlas says, for what
 * was recorded has the command itself in it. */
static void commands_of_a_synchronous_device_are_the_hosts_time(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_unknown);
    struct model model = model_with(&atlas);
    model.device.synchronous = true;
    struct run_log t = one_kernel();
    t.events[1].call_ns = 102 * US;
    struct case_model m;
    struct error error = {0};
    assert_int_equal(predict(&model, &t, "raw", &m, &error), 0);
    check_us(&m, 40 + 2 + 100 + 30 + 3, 70, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* With the queue full the host cannot go on to what it would do meanwhile. */
static void a_full_queue_stops_the_host(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    struct run_log t = make_trace();
    const unsigned launches = 2000, depth = 1024;
    for (unsigned i = 0; i < launches; i++)
        add_launch(&t, 0, 1, 10);
    for (unsigned i = 0; i < 400; i++) { /* 70 µs each */
        add_alloc(&t, 0, KIB);
        add_free(&t, 0);
    }
    struct case_model m = predicted(&atlas, &t, "raw");
    uint64_t begins = 1 + 4 + (launches - depth) * 10; /* the last launch finds its place */
    check_us(&m, begins + 400 * 70 + 3, 400 * 70, 0);
    run_log_close(&t);
    atlas_free(&atlas);
}

static void clocks_and_marks_are_taken_off(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    atlas.timer_ns = US; /* in each of alloc, free, launch_sync (and its parts), sync */
    put_cost(&atlas, "command", "mark", 2 * US, ATLAS_WAITS_nothing);
    put_cost(&atlas, "command", "mark_device", 7 * US, ATLAS_WAITS_nothing);
    struct run_log t = one_kernel();
    struct case_model m = predicted(&atlas, &t, "raw");
    /* alloc 39, launch 2, on the way (10-1) - (2-1) - 1 - (3-1) = 5: the kernel ends at 146, free
     * 29: 175; a mark on the host 1; on the device it is over before; sync 2 */
    check_us(&m, 178, 39 + 105 + 29, 105);
    run_log_close(&t);
    atlas_free(&atlas);
}

/* ---- what is not known ---------------------------------------------------------------------- */

static void what_the_atlas_lacks_is_named(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_unknown), empty = {.device = "fake:1"};
    struct run_log t = one_kernel();
    struct case_model m;
    struct error error = {0};
    struct model model = model_with(&atlas);
    assert_int_equal(predict(&model, &t, "raw", &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "what a call waits for (raw, free)"));
    assert_int_equal(predict(&model, &t, "pool", &m, &error), 0); /* it never asks */
    model.device.atlas = &empty;
    assert_int_equal(predict(&model, &t, "pool", &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "fake:1"));
    assert_non_null(strstr(error.text, "command"));
    run_log_close(&t);
    atlas_free(&atlas);
}

static void the_models_driver_has_a_capacity(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct run_log t = make_trace();
    add_alloc(&t, 0, 8 * MIB);
    add_alloc(&t, 1, 8 * MIB);
    add_free(&t, 0);
    add_free(&t, 1);
    struct model model = model_with(&atlas);
    struct case_model m;
    struct error error = {0};
    model.device.capacity_bytes = 20 * MIB;
    assert_int_equal(predict(&model, &t, "raw", &m, &error), 0);
    model.device.capacity_bytes = 12 * MIB;
    assert_int_equal(predict(&model, &t, "raw", &m, &error), ERR_OOM);
    assert_non_null(strstr(error.text, "tag"));
    run_log_close(&t);
    atlas_free(&atlas);
}

/* ---- random traces -------------------------------------------------------------------------- */

static struct run_log random_trace(struct random *random)
{
    struct run_log t = make_trace();
    bool live[BLOCKS] = {false};
    unsigned events = 20 + (unsigned)random_below(random, 400);
    for (unsigned i = 0; i < events; i++) {
        unsigned block = (unsigned)random_below(random, BLOCKS);
        switch (random_below(random, 5)) {
        case 0:
        case 1:
            if (live[block])
                add_free(&t, block);
            else
                add_alloc(&t, block, random_below(random, 9) ? 1 + random_below(random, MIB) : 0);
            live[block] = !live[block];
            break;
        case 2:
            add_read(&t, block);
            break;
        default:
            add_launch(&t, block, random_below(random, 9), random_below(random, 200));
        }
        t.events[t.event_count - 1].time_ns += random_below(random, 3000);
        if (!live[block] && t.events[t.event_count - 1].use_count) {
            t.events[t.event_count - 1].use_count = 0; /* nothing is there to be used */
            t.use_count--;
        }
    }
    for (unsigned b = 0; b < BLOCKS; b++)
        if (live[b])
            add_free(&t, b);
    return t;
}

/* Each cost made larger: no prediction may become smaller. */
static void check_monotone(struct atlas *atlas, const struct run_log *t, const char *spec,
                           uint64_t before_ns)
{
    for (size_t c = 0; c < atlas->curve_count; c++) {
        struct atlas_curve *curve = &atlas->curves[c];
        /* Those that are taken off something: the way to an idle device, what giving back takes. */
        if (strcmp(curve->call, "free_sync") == 0 || strcmp(curve->call, "launch") == 0 ||
            strcmp(curve->call, "launch_device") == 0 || strcmp(curve->call, "second_use") == 0 ||
            strcmp(curve->call, "sync") == 0)
            continue;
        for (size_t p = 0; p < curve->point_count; p++)
            curve->points[p].p50_ns += 5 * US;
        uint64_t ns = predicted(atlas, t, spec).predicted_ns;
        if (ns < before_ns)
            fail_msg("%s: %s %s made dearer: %llu instead of %llu", spec, curve->method,
                     curve->call, (unsigned long long)ns, (unsigned long long)before_ns);
        for (size_t p = 0; p < curve->point_count; p++)
            curve->points[p].p50_ns -= 5 * US;
    }
}

static uint64_t host_sum(const struct run_log *t)
{
    const struct trace_event *last = &t->events[t->event_count - 1];
    uint64_t ns = last->time_ns + last->call_ns;
    for (size_t i = 0; i < t->event_count; i++)
        ns += t->events[i].kind == TRACE_read ? 8 * US : 0;
    return ns;
}

static void random_traces_keep_to_the_bounds(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "raw", "pool", "tagged", "tagged:policy=v1", "bufalloc", "stream", "stream:threshold=max"};
    struct random random = {20170901};
    for (int round = 0; round < 60; round++) {
        struct atlas atlas = make_atlas(round % 2 ? ATLAS_WAITS_device : ATLAS_WAITS_nothing);
        put_pools(&atlas);
        put_cost(&atlas, "raw", "first_use", (6 + (uint64_t)round) * US, ATLAS_WAITS_unknown);
        put_cost(&atlas, "raw", "second_use", 6 * US, ATLAS_WAITS_unknown);
        struct run_log t = random_trace(&random);
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
            struct case_model m = predicted(&atlas, &t, specs[s]);
            assert_true(m.predicted_ns >= m.device_ns);
            assert_true(m.predicted_ns >= m.driver_ns + host_sum(&t));
            assert_true(m.waiting_ns <= m.driver_ns);
            assert_true(m.waiting_ns == 0 || round % 2);
            assert_true(m.first_use_ns <= m.device_ns + m.predicted_ns);
            check_monotone(&atlas, &t, specs[s], m.predicted_ns);
        }
        run_log_close(&t);
        atlas_free(&atlas);
    }
}

/* Recorded calls for memory are no work of the program, however long they took; nor is what another
 * thread does meanwhile. */
static void recorded_calls_are_no_gaps(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    struct run_log log = make_trace();
    uint64_t now_ns = 0;
    for (unsigned i = 0; i < 4; i++) { /* 5 us of work, 70 us for memory, and 60 to give it back */
        add_alloc(&log, i, 64 * KIB);
        struct trace_event *event = &log.events[log.event_count - 1];
        event->call_ns = 70 * US;
        event->time_ns = trace_time_ns(TRACE_alloc, now_ns + 5 * US, event->call_ns);
        now_ns = trace_end_ns(event);
        add_free(&log, i);
        event = &log.events[log.event_count - 1];
        event->call_ns = 60 * US;
        event->time_ns = now_ns;
        now_ns = trace_end_ns(event);
        add_launch(&log, i, 0, 0); /* of another thread, within that call */
        log.events[log.event_count - 1].time_ns = now_ns - 10 * US;
    }
    const struct case_model model = predicted(&atlas, &log, "raw");
    assert_in_range(model.predicted_ns, 4 * (5 + 40 + 30) * US, 4 * (5 + 40 + 30) * US + 10 * US);
    run_log_close(&log);
    atlas_free(&atlas);
}

static uint64_t fitted_ns(const struct atlas *atlas, struct run_log *log, uint64_t plain_ns)
{
    const struct model model = model_with(atlas);
    const struct allocator_ops *ops;
    struct option_values options;
    struct error error = {0};
    assert_int_equal(allocator_parse("pool", &ops, &options, &error), 0);
    assert_int_equal(model_fit(&model, log, ops, &options, plain_ns, &error), 0);
    return predicted(atlas, log, "pool").predicted_ns;
}

/* Twenty commands of 8 us by the device's clock and one of 20, each given in 2 us. */
static void commands_take_no_longer_than_a_plain_run(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    static const struct {
        uint64_t plain_us, least_us, most_us;
    } rows[] = {{1000, 180, 200}, {100, 97, 102}, {10, 40, 60}}; /* as they are; less; hidden */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run_log log = make_trace();
        add_alloc(&log, 0, 64 * KIB);
        for (int launch = 0; launch < 20; launch++)
            add_launch(&log, 0, 2, 8);
        add_launch(&log, 0, 2, 20);
        add_free(&log, 0);
        assert_in_range(fitted_ns(&atlas, &log, rows[i].plain_us * US), rows[i].least_us * US,
                        rows[i].most_us * US);
        run_log_close(&log);
    }
    atlas_free(&atlas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_take_no_longer_than_a_plain_run),
        cmocka_unit_test(recorded_calls_are_no_gaps),
        cmocka_unit_test(a_free_that_waits_contains_the_kernel),
        cmocka_unit_test(a_free_that_does_not_wait_runs_beside_it),
        cmocka_unit_test(hits_cost_nothing),
        cmocka_unit_test(host_and_queue_overlap),
        cmocka_unit_test(reads_wait_and_the_program_takes_its_time),
        cmocka_unit_test(a_call_beside_work_costs_its_busy_price),
        cmocka_unit_test(a_free_costs_more_after_a_long_wait),
        cmocka_unit_test(a_first_use_beside_work_costs_its_busy_price),
        cmocka_unit_test(calls_after_a_write_are_dearer),
        cmocka_unit_test(prices_and_recorded_work_follow_the_hosts_pace),
        cmocka_unit_test(a_pace_has_two_sizes_or_none),
        cmocka_unit_test(the_first_use_of_a_memory_is_paid_once),
        cmocka_unit_test(the_first_use_is_the_hosts_time_or_the_devices),
        cmocka_unit_test(a_warm_run_pays_the_prices_of_repetition),
        cmocka_unit_test(memory_made_resident_is_used_already),
        cmocka_unit_test(commands_of_a_synchronous_device_are_the_hosts_time),
        cmocka_unit_test(a_full_queue_stops_the_host),
        cmocka_unit_test(clocks_and_marks_are_taken_off),
        cmocka_unit_test(what_the_atlas_lacks_is_named),
        cmocka_unit_test(the_models_driver_has_a_capacity),
        cmocka_unit_test(random_traces_keep_to_the_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
