/* The cost model on traces small enough to be added up by hand, and on random ones for what holds
 * of every trace. Times are in microseconds here, so that the sums can be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/allocator.h"
#include "base/random.h"
#include "run/model.h"

enum { US = 1000, KIB = 1 << 10, MIB = 1 << 20, EVENTS = 4096, USES = 16384, BLOCKS = 64 };

/* ---- an atlas ---------------------------------------------------------------------------------
 */

/* The same at every size: `ns` at 256 B and at 1 GiB. */
static void put_cost(struct atlas *atlas, const char *way, const char *call, uint64_t ns,
                     enum atlas_wait waits)
{
    struct atlas_curve *curve = atlas_curve_of(atlas, way, call);
    const bool sized = strcmp(way, "command") != 0 || strcmp(call, "read") == 0;
    curve->point_count = curve->probe_count = 0;
    for (int i = 0; i < (sized ? 2 : 1); i++)
        atlas_add_point(curve, &(struct atlas_point){.bytes = !sized   ? 0
                                                              : i == 0 ? 256
                                                                       : (uint64_t)1 << 30,
                                                     .sample_count = 1,
                                                     .p50_ns = ns});
    atlas_add_probe(curve, &(struct atlas_probe){.bytes = 4 * KIB, .waits = waits});
}

/* Much like a GPU: 40 us to get memory, 30 us and all that is queued to give it back; 4 us on the
 * way to an idle device: 10 - 2 - 1 - 3. */
static struct atlas make_atlas(enum atlas_wait free_waits)
{
    struct atlas atlas = {.device = "fake:0", .timer_ns = NAN};
    put_cost(&atlas, "raw", "alloc", 40 * US, ATLAS_WAITS_nothing);
    put_cost(&atlas, "raw", "free", 30 * US, free_waits);
    put_cost(&atlas, "command", "launch", 2 * US, ATLAS_WAITS_nothing);
    put_cost(&atlas, "command", "launch_device", 1 * US, ATLAS_WAITS_nothing);
    put_cost(&atlas, "command", "launch_sync", 10 * US, ATLAS_WAITS_own_queue);
    put_cost(&atlas, "command", "sync", 3 * US, ATLAS_WAITS_own_queue);
    put_cost(&atlas, "command", "mark", 0, ATLAS_WAITS_nothing);
    put_cost(&atlas, "command", "mark_device", 0, ATLAS_WAITS_nothing);
    put_cost(&atlas, "command", "read", 8 * US, ATLAS_WAITS_own_queue);
    return atlas;
}

/* ---- traces -----------------------------------------------------------------------------------
 */

static struct trace make_trace(void)
{
    struct trace t;
    trace_open(&t, EVENTS, USES, BLOCKS);
    return t;
}

static struct trace_event *add(struct trace *t, enum trace_kind kind)
{
    assert_true(t->event_count < t->event_capacity);
    struct trace_event *event = &t->events[t->event_count++];
    *event = (struct trace_event){.kind = kind, .first_use = (unsigned)t->use_count};
    t->run_end = t->event_count;
    return event;
}

static void add_use(struct trace *t, struct trace_event *event, unsigned block)
{
    t->uses[t->use_count++] = block;
    event->use_count++;
}

static void add_alloc(struct trace *t, unsigned block, uint64_t bytes)
{
    struct trace_event *event = add(t, TRACE_ALLOC);
    event->block = block;
    event->bytes = bytes;
    event->alignment = 256;
    event->tag = "tag";
}

static void add_free(struct trace *t, unsigned block)
{
    add(t, TRACE_FREE)->block = block;
}

static void add_launch(struct trace *t, unsigned block, uint64_t call_us, uint64_t device_us)
{
    struct trace_event *event = add(t, TRACE_LAUNCH);
    event->call_ns = call_us * US;
    event->device_ns = device_us * US;
    add_use(t, event, block);
}

static void add_read(struct trace *t, unsigned block)
{
    struct trace_event *event = add(t, TRACE_READ);
    event->bytes = 4 * KIB;
    add_use(t, event, block);
}

/* A block that lives in one kernel of 100 us. */
static struct trace one_kernel(void)
{
    struct trace t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_free(&t, 0);
    return t;
}

/* ---- predictions ------------------------------------------------------------------------------
 */

static struct model model_with(const struct atlas *atlas)
{
    return (struct model){.atlas = atlas, .has_pool = true, .can_split = true, .alignment = 256};
}

static int predict(const struct model *model, const struct trace *trace, const char *spec,
                   struct case_model *out, struct error *error)
{
    const struct allocator_ops *ops;
    struct option_values options;
    assert_int_equal(allocator_parse(spec, &ops, &options, error), 0);
    return model_predict(model, trace, ops, &options, out, error);
}

static struct case_model predicted(const struct atlas *atlas, const struct trace *trace,
                                   const char *spec)
{
    const struct model model = model_with(atlas);
    struct case_model out;
    struct error error = {0};
    if (predict(&model, trace, spec, &out, &error))
        fail_msg("%s: %s", spec, error.text);
    return out;
}

static void check_us(const struct case_model *m, uint64_t all, uint64_t driver, uint64_t waiting)
{
    assert_int_equal(m->predicted_ns, all * US);
    assert_int_equal(m->driver_ns, driver * US);
    assert_int_equal(m->waiting_ns, waiting * US);
}

/* ---- by hand ----------------------------------------------------------------------------------
 */

static void a_free_that_waits_contains_the_kernel(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct trace t = one_kernel();
    struct case_model m = predicted(&atlas, &t, "raw");
    /* alloc 40, launch 2; the kernel from 46 to 146; free from 42, waits 104, takes 30; sync 3 */
    check_us(&m, 179, 174, 104);
    assert_int_equal(m.device_ns, 100 * US);
    trace_close(&t);
    atlas_free(&atlas);
}

static void a_free_that_does_not_wait_runs_beside_it(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    struct trace t = one_kernel();
    struct case_model m = predicted(&atlas, &t, "raw");
    check_us(&m, 146 + 3, 70, 0);
    trace_close(&t);
    atlas_free(&atlas);
}

/* The warm run of a strategy that keeps what it has asks nobody. */
static void hits_cost_nothing(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct trace t = one_kernel();
    static const char *const keepers[] = {"pool", "tagged", "bufalloc"};
    for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++) {
        struct case_model m = predicted(&atlas, &t, keepers[i]);
        check_us(&m, 2 + 4 + 100 + 3, 0, 0);
        assert_int_equal(m.allocator_ns, 0);
    }
    trace_close(&t);
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
        struct trace t = make_trace();
        add_alloc(&t, 0, KIB);
        t.run_begin = 1; /* an input: not timed */
        for (int k = 0; k < 3; k++)
            add_launch(&t, 0, rows[i].call_us, rows[i].device_us);
        t.run_end = t.event_count;
        add_free(&t, 0); /* what is left over: not timed either */
        t.run_end--;
        struct case_model m = predicted(&atlas, &t, "raw");
        check_us(&m, rows[i].all_us, 0, 0);
        trace_close(&t);
    }
    atlas_free(&atlas);
}

static void reads_wait_and_the_program_takes_its_time(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct trace t = make_trace();
    add_alloc(&t, 0, KIB);
    add_launch(&t, 0, 2, 100);
    t.events[1].before_ns = 5 * US;
    add_read(&t, 0);
    add_launch(&t, 0, 2, 10);
    add_free(&t, 0);
    struct case_model m = predicted(&atlas, &t, "pool");
    /* 5 + 2 + 4 + 100; of the read's 8 the 2 + 4 until a device begins are over: 113; launch 2, 4
     * on the way, 10: 129; sync 3 */
    check_us(&m, 132, 0, 0);
    trace_close(&t);
    atlas_free(&atlas);
}

static void the_first_use_of_a_memory_is_paid_once(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    put_cost(&atlas, "raw", "first_use", 26 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 6 * US, ATLAS_WAITS_unknown);
    struct trace t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_launch(&t, 0, 2, 100);
    add_free(&t, 0);
    struct case_model raw = predicted(&atlas, &t, "raw"), pool = predicted(&atlas, &t, "pool");
    assert_int_equal(raw.first_use_ns, 20 * US);
    check_us(&raw, 40 + 2 + 4 + 20 + 200 + 3, 70, 0);
    assert_int_equal(pool.first_use_ns, 0);
    check_us(&pool, 2 + 4 + 200 + 3, 0, 0);
    trace_close(&t);
    atlas_free(&atlas);
}

/* Whose time it is shows where the device is busy meanwhile. */
static void the_first_use_is_the_hosts_time_or_the_devices(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    put_cost(&atlas, "raw", "first_use", 26 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 6 * US, ATLAS_WAITS_unknown);
    struct trace t = make_trace();
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
    model.lazy_on_device = true;
    assert_int_equal(predict(&model, &t, "raw", &m, &error), 0);
    check_us(&m, 2 * 40 + 2 + 4 + 2 * (20 + 100) + 3, 140, 0);
    trace_close(&t);
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
    struct trace t = make_trace();
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
    trace_close(&t);
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
    model.can_touch = true;
    struct trace t = one_kernel();
    struct case_model m;
    struct error error = {0};
    assert_int_equal(predict(&model, &t, "raw:first_use=resident", &m, &error), 0);
    assert_int_equal(m.first_use_ns, 0);
    check_us(&m, 55 + 2 + 4 + 100 + 3, 55 + 30, 0);
    trace_close(&t);
    atlas_free(&atlas);
}

/* On the host a command is done when its call returns; the call costs what the atlas says, for what
 * was recorded has the command itself in it. */
static void commands_of_a_synchronous_device_are_the_hosts_time(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_unknown);
    struct model model = model_with(&atlas);
    model.synchronous = true;
    struct trace t = one_kernel();
    t.events[1].call_ns = 102 * US;
    struct case_model m;
    struct error error = {0};
    assert_int_equal(predict(&model, &t, "raw", &m, &error), 0);
    check_us(&m, 40 + 2 + 100 + 30 + 3, 70, 0);
    trace_close(&t);
    atlas_free(&atlas);
}

/* With the queue full the host cannot go on to what it would do meanwhile. */
static void a_full_queue_stops_the_host(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_nothing);
    struct trace t = make_trace();
    const unsigned launches = 2000, depth = 1024;
    for (unsigned i = 0; i < launches; i++)
        add_launch(&t, 0, 1, 10);
    for (unsigned i = 0; i < 400; i++) { /* 70 us each */
        add_alloc(&t, 0, KIB);
        add_free(&t, 0);
    }
    struct case_model m = predicted(&atlas, &t, "raw");
    uint64_t begins = 1 + 4 + (launches - depth) * 10; /* the last launch finds its place */
    check_us(&m, begins + 400 * 70 + 3, 400 * 70, 0);
    trace_close(&t);
    atlas_free(&atlas);
}

static void clocks_and_marks_are_taken_off(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    atlas.timer_ns = US; /* in each of alloc, free, launch_sync (and its parts), sync */
    put_cost(&atlas, "command", "mark", 2 * US, ATLAS_WAITS_nothing);
    put_cost(&atlas, "command", "mark_device", 7 * US, ATLAS_WAITS_nothing);
    struct trace t = one_kernel();
    struct case_model m = predicted(&atlas, &t, "raw");
    /* alloc 39, launch 2, on the way (10-1) - (2-1) - 1 - (3-1) = 5: the kernel ends at 146, free
     * 29: 175; a mark on the host 1; on the device it is over before; sync 2 */
    check_us(&m, 178, 39 + 105 + 29, 105);
    trace_close(&t);
    atlas_free(&atlas);
}

/* ---- the driver's pool ----------------------------------------------------------------------
 */

/* Mapping and giving back cost 50 us and 41 us, whatever goes back being one size in this atlas. */
static void put_pools(struct atlas *atlas)
{
    static const struct {
        const char *way;
        uint64_t alloc_us, realloc_us, free_us, free_sync_us;
    } ways[] = {{"stream:threshold=0", 50, 3, 2, 46}, {"stream:threshold=max", 9, 4, 1, 5}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        put_cost(atlas, ways[i].way, "alloc", ways[i].alloc_us * US, ATLAS_WAITS_nothing);
        put_cost(atlas, ways[i].way, "realloc", ways[i].realloc_us * US, ATLAS_WAITS_unknown);
        put_cost(atlas, ways[i].way, "free", ways[i].free_us * US, ATLAS_WAITS_nothing);
        put_cost(atlas, ways[i].way, "free_sync", ways[i].free_sync_us * US, ATLAS_WAITS_unknown);
    }
}

static struct atlas atlas_with_pools(void)
{
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    put_pools(&atlas);
    return atlas;
}

static struct case_model predicted_of(const struct model *model, const struct trace *trace,
                                      const char *spec)
{
    struct case_model out;
    struct error error = {0};
    if (predict(model, trace, spec, &out, &error))
        fail_msg("%s: %s", spec, error.text);
    return out;
}

/* Two lives of a block, and a wait before the second. */
static struct trace two_lives(bool wait_between)
{
    struct trace t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_free(&t, 0);
    if (wait_between)
        add_read(&t, 1);
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_free(&t, 0);
    return t;
}

static void a_pool_waits_for_nothing_and_keeps_what_it_may(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    const struct model model = model_with(&atlas);
    struct trace t = two_lives(false), waiting = two_lives(true);
    struct case_model m = predicted_of(&model, &t, "stream:threshold=max");
    /* realloc 4, launch 2, 4 on the way: the kernels from 10 to 210 while the host frees, 1, asks
     * again, 4, launches, 2, frees, 1; sync 3 */
    check_us(&m, 213, 10, 0);
    /* the read waits for the first kernel until 110, takes 8 - 6 of its own: 112; realloc 4,
     * launch 2, 4 on the way, the kernel until 222; sync 3 */
    m = predicted_of(&model, &waiting, "stream:threshold=max");
    check_us(&m, 225, 10, 0);
    m = predicted_of(&model, &waiting, "stream:threshold=32MiB"); /* all that it ever held */
    check_us(&m, 225, 10, 0);
    trace_close(&t);
    trace_close(&waiting);
    atlas_free(&atlas);
}

static void a_pool_that_keeps_nothing_pays_at_each_wait(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    const struct model model = model_with(&atlas);
    struct trace t = two_lives(false), waiting = two_lives(true);
    struct case_model m = predicted_of(&model, &t, "stream");
    /* alloc 50, 2, 4: the kernels from 56 to 256, the second life beside the first: 2 + 3 + 2 + 2;
     * sync 3 and 46 - 5 of giving back */
    check_us(&m, 256 + 3 + 41, 50 + 2 + 3 + 2, 0);
    m = predicted_of(&model, &waiting, "stream");
    /* the kernel until 156; the read's 2 and 41 of giving back: 199; again 50, 2, 4, 100: 355 */
    check_us(&m, 355 + 3 + 41, 2 * (50 + 2), 0);
    trace_close(&t);
    trace_close(&waiting);
    atlas_free(&atlas);
}

/* A step of 32 MiB stays as long as something lies in it. */
static void what_lives_keeps_its_step(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    const struct model model = model_with(&atlas);
    struct trace t = make_trace();
    add_alloc(&t, 2, KIB);
    t.run_begin = 1;
    add_alloc(&t, 0, 20 * MIB); /* 3 */
    add_read(&t, 2);            /* 8 */
    add_alloc(&t, 1, 20 * MIB); /* 50: a second step */
    add_free(&t, 1);            /* 2 */
    add_read(&t, 2);            /* 8, and 41 */
    add_free(&t, 0);            /* 2 */
    size_t end = t.event_count;
    add_free(&t, 2);
    t.run_end = end;
    struct case_model m = predicted_of(&model, &t, "stream");
    check_us(&m, 3 + 8 + 50 + 2 + 8 + 41 + 2 + 3, 3 + 50 + 2 + 2, 0);
    trace_close(&t);
    atlas_free(&atlas);
}

/* The first command that uses what a pool gave pays the difference of the pool's own curves. */
static void the_pools_memory_has_a_first_use_of_its_own(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    put_cost(&atlas, "raw", "first_use", 90 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "raw", "second_use", 6 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "stream:threshold=max", "reuse", 11 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "stream:threshold=max", "second_use", 6 * US, ATLAS_WAITS_unknown);
    const struct model model = model_with(&atlas);
    struct trace t = one_kernel();
    struct case_model m = predicted_of(&model, &t, "stream:threshold=max");
    check_us(&m, 4 + 2 + 5 + 4 + 100 + 3, 5, 0);
    assert_int_equal(m.first_use_ns, 5 * US);
    trace_close(&t);
    atlas_free(&atlas);
}

/* The strategy waits, trims, and asks once more. */
static void a_pool_has_a_capacity(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_pools();
    struct model model = model_with(&atlas);
    model.capacity_bytes = 12 * MIB;
    struct trace t = make_trace();
    add_alloc(&t, 0, 8 * MIB);
    add_free(&t, 0);
    add_alloc(&t, 1, 8 * MIB);
    add_free(&t, 1);
    struct case_model m = predicted_of(&model, &t, "stream:threshold=max");
    check_us(&m, 2 * (4 + 1) + 3, 10, 0);
    add_alloc(&t, 1, 8 * MIB);
    add_alloc(&t, 2, 8 * MIB);
    struct error error = {0};
    assert_int_equal(predict(&model, &t, "stream:threshold=max", &m, &error), ERR_OOM);
    trace_close(&t);
    atlas_free(&atlas);
}

static void a_pool_that_the_atlas_does_not_know_has_no_prediction(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct model model = model_with(&atlas);
    struct trace t = one_kernel();
    struct case_model m;
    struct error error = {0};
    assert_int_equal(predict(&model, &t, "stream", &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "(stream:threshold=0, alloc)"));
    model.has_pool = false;
    assert_int_equal(predict(&model, &t, "stream", &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "no stream-ordered pool"));
    trace_close(&t);
    atlas_free(&atlas);
}

/* ---- virtual memory ---------------------------------------------------------------------------
 */

static struct atlas atlas_with_vm(void)
{
    static const struct {
        const char *call;
        uint64_t us;
    } calls[] = {{"reserve", 1}, {"create", 10}, {"map", 2},      {"access", 20},
                 {"unmap", 15},  {"release", 8}, {"unreserve", 1}};
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        put_cost(&atlas, "vmm", calls[i].call, calls[i].us * US, ATLAS_WAITS_nothing);
    return atlas;
}

static struct model model_with_vm(const struct atlas *atlas, uint64_t capacity_bytes)
{
    struct model model = model_with(atlas);
    model.vm_granularity_bytes = 2 * MIB;
    model.memory_bytes = 64 * MIB;
    model.capacity_bytes = capacity_bytes;
    return model;
}

static const char *const small_segments = "vmm:large_chunk=4MiB";

/* A small block and one of 3 MiB, each in a kernel of 100 us. Where there is room for 4 MiB, each
 * drives the chunk of the other away. */
static struct trace two_classes(void)
{
    struct trace t = make_trace();
    add_alloc(&t, 0, 64 * KIB);
    add_launch(&t, 0, 2, 100);
    add_free(&t, 0);
    add_alloc(&t, 1, 3 * MIB);
    add_launch(&t, 1, 2, 100);
    add_free(&t, 1);
    return t;
}

static void mapped_chunks_cost_nothing_again(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_vm();
    put_cost(&atlas, "vmm", "first_use", 17 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "vmm", "second_use", 6 * US, ATLAS_WAITS_unknown);
    const struct model model = model_with_vm(&atlas, 0);
    struct trace t = two_classes();
    struct case_model m = predicted_of(&model, &t, small_segments);
    check_us(&m, 2 + 4 + 200 + 3, 0, 0);
    assert_int_equal(m.first_use_ns, 0);
    trace_close(&t);
    atlas_free(&atlas);
}

static void remapping_waits_for_the_device_and_pays_each_call(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_vm();
    const struct model model = model_with_vm(&atlas, 4 * MIB);
    struct trace t = two_classes();
    struct case_model m = predicted_of(&model, &t, small_segments);
    /* a wait 3, unmap 15, release 8, create 10, map 2, access 20: 58; launch 2 and 4, the kernel
     * from 64 to 164; from 60 on a wait of 104 and 58 as before: 222; 2, 4, 100; sync 3 */
    check_us(&m, 331, 58 + 104 + 58, 104);
    put_cost(&atlas, "vmm", "first_use", 17 * US, ATLAS_WAITS_unknown);
    put_cost(&atlas, "vmm", "second_use", 6 * US, ATLAS_WAITS_unknown);
    m = predicted_of(&model, &t, small_segments);
    check_us(&m, 331 + 2 * 11, 58 + 104 + 58, 104);
    assert_int_equal(m.first_use_ns, 2 * 11 * US);
    trace_close(&t);
    atlas_free(&atlas);
}

/* Chunks that are mapped for one block are used for the first time together. */
static void new_chunks_are_first_used_together(void **state)
{
    (void)state;
    struct atlas atlas = atlas_with_vm();
    struct atlas_curve *curve = atlas_curve_of(&atlas, "vmm", "first_use");
    for (uint64_t mib = 4; mib <= 8; mib += 4)
        atlas_add_point(curve, &(struct atlas_point){
                                   .bytes = mib * MIB, .sample_count = 1, .p50_ns = mib * 3 * US});
    put_cost(&atlas, "vmm", "second_use", 6 * US, ATLAS_WAITS_unknown);
    const struct model model = model_with_vm(&atlas, 8 * MIB);
    struct trace t = make_trace();
    add_alloc(&t, 0, 64 * KIB); /* 3, two chunks go: 2 * 23, one comes: 32 */
    add_free(&t, 0);
    /* One of two chunks finds room, comes, 12, and goes again, 23; a wait, 3; the small one goes,
     * 23, and both come: 2 * 12 + 20. */
    add_alloc(&t, 1, 7 * MIB);
    add_launch(&t, 1, 2, 100); /* 2, 24 - 6, 4, 100 */
    add_free(&t, 1);
    struct case_model m = predicted_of(&model, &t, small_segments);
    check_us(&m, 81 + 35 + 70 + 2 + 18 + 4 + 100 + 3, 81 + 35 + 70, 0);
    assert_int_equal(m.first_use_ns, 18 * US);
    trace_close(&t);
    atlas_free(&atlas);
}

static void virtual_memory_that_the_atlas_does_not_know_has_no_prediction(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct model model = model_with_vm(&atlas, 4 * MIB);
    struct trace t = two_classes();
    struct case_model m;
    struct error error = {0};
    assert_int_equal(predict(&model, &t, small_segments, &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "(vmm, unmap)"));
    model.capacity_bytes = 0; /* it never asks */
    assert_int_equal(predict(&model, &t, small_segments, &m, &error), 0);
    model.vm_granularity_bytes = 0;
    assert_int_equal(predict(&model, &t, small_segments, &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "no virtual memory"));
    trace_close(&t);
    atlas_free(&atlas);
}

/* ---- what is not known ------------------------------------------------------------------------
 */

static void what_the_atlas_lacks_is_named(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_unknown), empty = {.device = "fake:1"};
    struct trace t = one_kernel();
    struct case_model m;
    struct error error = {0};
    struct model model = model_with(&atlas);
    assert_int_equal(predict(&model, &t, "raw", &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "what a call waits for (raw, free)"));
    assert_int_equal(predict(&model, &t, "pool", &m, &error), 0); /* it never asks */
    model.atlas = &empty;
    assert_int_equal(predict(&model, &t, "pool", &m, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "fake:1"));
    assert_non_null(strstr(error.text, "command"));
    trace_close(&t);
    atlas_free(&atlas);
}

static void the_models_driver_has_a_capacity(void **state)
{
    (void)state;
    struct atlas atlas = make_atlas(ATLAS_WAITS_device);
    struct trace t = make_trace();
    add_alloc(&t, 0, 8 * MIB);
    add_alloc(&t, 1, 8 * MIB);
    add_free(&t, 0);
    add_free(&t, 1);
    struct model model = model_with(&atlas);
    struct case_model m;
    struct error error = {0};
    model.capacity_bytes = 20 * MIB;
    assert_int_equal(predict(&model, &t, "raw", &m, &error), 0);
    model.capacity_bytes = 12 * MIB;
    assert_int_equal(predict(&model, &t, "raw", &m, &error), ERR_OOM);
    assert_non_null(strstr(error.text, "tag"));
    trace_close(&t);
    atlas_free(&atlas);
}

/* ---- random traces ----------------------------------------------------------------------------
 */

static struct trace random_trace(struct random *random)
{
    struct trace t = make_trace();
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
        t.events[t.event_count - 1].before_ns = random_below(random, 3000);
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
static void check_monotone(struct atlas *atlas, const struct trace *t, const char *spec,
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
            fail_msg("%s: %s %s made dearer: %llu instead of %llu", spec, curve->way, curve->call,
                     (unsigned long long)ns, (unsigned long long)before_ns);
        for (size_t p = 0; p < curve->point_count; p++)
            curve->points[p].p50_ns -= 5 * US;
    }
}

static uint64_t host_sum(const struct trace *t)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < t->event_count; i++)
        ns += t->events[i].before_ns + t->events[i].call_ns +
              (t->events[i].kind == TRACE_READ ? 8 * US : 0);
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
        struct trace t = random_trace(&random);
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
            struct case_model m = predicted(&atlas, &t, specs[s]);
            assert_true(m.predicted_ns >= m.device_ns);
            assert_true(m.predicted_ns >= m.driver_ns + host_sum(&t));
            assert_true(m.waiting_ns <= m.driver_ns);
            assert_true(m.waiting_ns == 0 || round % 2);
            assert_true(m.first_use_ns <= m.device_ns + m.predicted_ns);
            check_monotone(&atlas, &t, specs[s], m.predicted_ns);
        }
        trace_close(&t);
        atlas_free(&atlas);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_that_waits_contains_the_kernel),
        cmocka_unit_test(a_free_that_does_not_wait_runs_beside_it),
        cmocka_unit_test(hits_cost_nothing),
        cmocka_unit_test(host_and_queue_overlap),
        cmocka_unit_test(reads_wait_and_the_program_takes_its_time),
        cmocka_unit_test(the_first_use_of_a_memory_is_paid_once),
        cmocka_unit_test(the_first_use_is_the_hosts_time_or_the_devices),
        cmocka_unit_test(a_warm_run_pays_the_prices_of_repetition),
        cmocka_unit_test(memory_made_resident_is_used_already),
        cmocka_unit_test(commands_of_a_synchronous_device_are_the_hosts_time),
        cmocka_unit_test(a_full_queue_stops_the_host),
        cmocka_unit_test(clocks_and_marks_are_taken_off),
        cmocka_unit_test(a_pool_waits_for_nothing_and_keeps_what_it_may),
        cmocka_unit_test(a_pool_that_keeps_nothing_pays_at_each_wait),
        cmocka_unit_test(what_lives_keeps_its_step),
        cmocka_unit_test(the_pools_memory_has_a_first_use_of_its_own),
        cmocka_unit_test(a_pool_has_a_capacity),
        cmocka_unit_test(a_pool_that_the_atlas_does_not_know_has_no_prediction),
        cmocka_unit_test(mapped_chunks_cost_nothing_again),
        cmocka_unit_test(remapping_waits_for_the_device_and_pays_each_call),
        cmocka_unit_test(new_chunks_are_first_used_together),
        cmocka_unit_test(virtual_memory_that_the_atlas_does_not_know_has_no_prediction),
        cmocka_unit_test(what_the_atlas_lacks_is_named),
        cmocka_unit_test(the_models_driver_has_a_capacity),
        cmocka_unit_test(random_traces_keep_to_the_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
