/* Measuring an atlas on a device whose costs and waits are known: the null device, with two queues
 * that are busy for as long as they were told, and calls that take and wait for what a test says.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "run/atlas/atlas_measure.h"
#include "run/atlas/atlas_bench.h"
#include "tests/base/cmocka.h"

enum {
    SLOW_NS = 50000000,
    ALLOC_NS = 30000,
    FREE_NS = 60000,
    POOL_NS = 10000,
    COPY_NS = 400000,
    MOST_BYTES = 2 << 20,
    NEAR_BYTES = 786432
};

/* What the fake does; one device at a time. */
static struct fake {
    uint64_t busy_until_ns[2];
    unsigned queue;
    enum atlas_wait alloc_waits, free_waits, read_waits;
    unsigned allocs_until_lost; /* 0: never */
    bool is_cold;               /* the host has written since the last allocation */
    bool slows_down;            /* calls take twice as long in every fourth period of SLOW_NS */
    bool sways;                 /* they take a fifth longer in every second period */
    bool warms_up; /* the first six allocations of a size after another size take longer by half */
    uint64_t last_bytes;
    unsigned repeats; /* of last_bytes */
    uint64_t near_ns; /* how much dearer an allocation of NEAR_BYTES is beside another one */
    unsigned near;    /* how many live */
    unsigned sized,
        sized_slow; /* allocations of 64 KiB to 1 MiB: all, and those of a slow period */
    unsigned live;
    bool has_pool, has_waited; /* a pool's first call after a wait takes four times as long */
} fake;

/* The clock of the process, which the link puts in the place of the system's: time passes by what
 * calls take, and a bit by each reading. What else the machine does changes nothing. */
static volatile uint64_t now_ns = 1; /* compilers think that clock_gettime cannot change it */

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    enum { READING_NS = 20, S = 1000000000 };
    if (clock != CLOCK_MONOTONIC)
        return __real_clock_gettime(clock, time);
    now_ns += READING_NS;
    *time = (struct timespec){.tv_sec = (time_t)(now_ns / S), .tv_nsec = (long)(now_ns % S)};
    return 0;
}

static void wait_until(uint64_t ns)
{
    now_ns = ns > now_ns ? ns : now_ns;
}

static void wait_for(enum atlas_wait waits)
{
    if (waits == ATLAS_WAITS_own_queue || waits == ATLAS_WAITS_device)
        wait_until(fake.busy_until_ns[0]);
    if (waits == ATLAS_WAITS_device)
        wait_until(fake.busy_until_ns[1]);
}

static const struct device_info fake_facts = {
    .id = "fake",
    .api = "fake",
    .name = "a device of known costs",
    .driver = "1.0",
    .kind = DEVICE_GPU,
    .language = KERNEL_OPENCL_C,
    .memory_bytes = 64 << 20,
    .max_alloc_bytes = 64 << 20,
    .alignment_bytes = 256,
};

static uint64_t fake_free_bytes(struct device *device)
{
    (void)device;
    return fake_facts.memory_bytes;
}

static bool is_slow(void)
{
    return fake.slows_down && clock_ns() / SLOW_NS % 4 == 3;
}

/* By no rule, so that no cell is always visited at the same pace. */
static uint64_t at_pace(uint64_t ns)
{
    const bool is_less = fake.sways && random_split(1, clock_ns() / SLOW_NS) % 2;
    return is_slow() ? 2 * ns : is_less ? ns / 5 * 6 : ns;
}

static int fake_alloc(struct device *device, uint64_t bytes, uint64_t *memory, struct error *error)
{
    wait_for(fake.alloc_waits);
    if (fake.allocs_until_lost == 1)
        return error_set(error, ERR_DEVICE_LOST, "it fell off the bus");
    fake.allocs_until_lost -= fake.allocs_until_lost > 0;
    if (bytes > MOST_BYTES && bytes != 4 << 20) /* what the bench moves is 4 MiB */
        return error_set(error, ERR_OOM, "too much");
    fake.repeats = bytes == fake.last_bytes ? fake.repeats + 1 : 0;
    fake.last_bytes = bytes;
    const uint64_t warming_ns = fake.warms_up && fake.repeats < 6 ? ALLOC_NS / 2 : 0;
    /* Twice as dear while the device works, three times after a write. */
    const bool is_busy = fake.busy_until_ns[0] > clock_ns();
    wait_until(clock_ns() +
               at_pace((fake.is_cold ? 3
                        : is_busy    ? 2
                                     : 1) *
                       ALLOC_NS) +
               warming_ns + (bytes == NEAR_BYTES && fake.near ? fake.near_ns : 0));
    fake.near += bytes == NEAR_BYTES;
    fake.sized += bytes >= 65536 && bytes <= 1 << 20;
    fake.sized_slow += bytes >= 65536 && bytes <= 1 << 20 && is_slow();
    fake.is_cold = false;
    fake.live++;
    return device_null.alloc(device, bytes, memory, error);
}

static int fake_free(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    wait_for(fake.free_waits);
    wait_until(clock_ns() + at_pace(FREE_NS));
    fake.near -= bytes == NEAR_BYTES;
    fake.live--;
    return device_null.free(device, memory, bytes, error);
}

static int fake_read(struct device *device, void *host, uint64_t memory, uint64_t offset,
                     uint64_t bytes, struct error *error)
{
    (void)device, (void)host, (void)memory, (void)offset, (void)bytes, (void)error;
    wait_for(fake.read_waits);
    return 0;
}

static int fake_write(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                      uint64_t bytes, struct error *error)
{
    (void)device, (void)memory, (void)offset, (void)host, (void)error;
    fake.is_cold = bytes > 65536;
    return 0;
}

static int fake_copy(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                     uint64_t from_offset, uint64_t bytes, struct error *error)
{
    (void)device, (void)to, (void)to_offset, (void)from, (void)from_offset, (void)error;
    uint64_t *busy = &fake.busy_until_ns[fake.queue], now = clock_ns();
    *busy = (*busy > now ? *busy : now) + COPY_NS * bytes / (4 << 20);
    return 0;
}

static int fake_launch(struct device *device, struct device_program *program, size_t kernel,
                       const struct launch *launch, size_t argument_count,
                       const enum launch_arg_kind *kinds, const union launch_value *arguments,
                       struct error *error)
{
    (void)device, (void)program, (void)launch, (void)argument_count, (void)kinds, (void)error;
    uint64_t *busy = &fake.busy_until_ns[fake.queue], now = clock_ns();
    if (kernel == BENCH_SPIN) /* an iteration is a nanosecond */
        *busy = (*busy > now ? *busy : now) + (uint64_t)arguments[1].i64;
    return 0;
}

static void ask_pool(void)
{
    wait_until(clock_ns() + (fake.has_waited ? 4 : 1) * POOL_NS);
    fake.has_waited = false;
}

static int fake_pool_open(void *context, const struct driver_pool_options *options,
                          uint64_t most_bytes, uint64_t *pool, struct error *error)
{
    (void)context, (void)options, (void)most_bytes, (void)error;
    *pool = 1;
    return 0;
}

static int fake_pool_close(void *context, uint64_t pool, struct error *error)
{
    (void)context, (void)pool, (void)error;
    return 0;
}

static int fake_pool_alloc(void *context, uint64_t pool, unsigned queue, uint64_t bytes,
                           uint64_t *memory, struct error *error)
{
    (void)pool, (void)queue;
    if (bytes > MOST_BYTES)
        return error_set(error, ERR_OOM, "too much");
    ask_pool();
    fake.live++;
    return device_null.alloc(context, bytes, memory, error);
}

static int fake_pool_free(void *context, uint64_t pool, unsigned queue, uint64_t memory,
                          uint64_t bytes, struct error *error)
{
    (void)pool, (void)queue;
    ask_pool();
    fake.live--;
    return device_null.free(context, memory, bytes, error);
}

static const struct driver_pool_ops fake_pools = {.open = fake_pool_open,
                                                  .close = fake_pool_close,
                                                  .alloc = fake_pool_alloc,
                                                  .free = fake_pool_free};

static int fake_sync(struct device *device, struct error *error)
{
    (void)device, (void)error;
    wait_for(ATLAS_WAITS_device);
    fake.has_waited = true;
    return 0;
}

static int fake_use_queue(struct device *device, unsigned queue, struct error *error)
{
    (void)device, (void)error;
    assert_true(queue < 2);
    fake.queue = queue;
    return 0;
}

static const struct device_queue_ops fake_queues = {.use = fake_use_queue};

static int measure(struct atlas *atlas, struct error *error)
{
    struct device *device;
    struct device_ops ops = device_null;
    const struct atlas_options options = {.quick = true, .seed = 1};
    ops.free_bytes = fake_free_bytes;
    ops.alloc = fake_alloc;
    ops.free = fake_free;
    ops.read = fake_read;
    ops.write = fake_write;
    ops.copy = fake_copy;
    ops.launch = fake_launch;
    ops.sync = fake_sync;
    ops.queues = &fake_queues;
    ops.pools = fake.has_pool ? &fake_pools : NULL;
    assert_int_equal(device_null.open("null", &device, error), 0);
    *device = (struct device){&ops, &fake_facts};
    int code = atlas_measure(device, &options, NULL, NULL, atlas, error);
    device_null.close(device);
    return code;
}

static const struct atlas_point *point_at(const struct atlas_curve *curve, uint64_t bytes)
{
    assert_non_null(curve);
    for (size_t i = 0; i < curve->point_count; i++)
        if (curve->points[i].bytes == bytes && curve->points[i].live_count == 0)
            return &curve->points[i];
    fail_msg("%s %s has no point at %llu bytes", curve->method, curve->call,
             (unsigned long long)bytes);
    return NULL;
}

static void costs_are_those_of_the_calls(void **state)
{
    (void)state;
    struct atlas atlas;
    struct error error = {0};
    fake = (struct fake){0};
    assert_int_equal(measure(&atlas, &error), 0);
    assert_int_equal(fake.live, 0); /* all is given back */
    static const struct {
        const char *call;
        uint64_t ns;
    } calls[] = {
        {"alloc", ALLOC_NS}, {"realloc", ALLOC_NS}, {"free", FREE_NS}, {"free_used", FREE_NS}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct atlas_point *p = point_at(atlas_find(&atlas, "raw", calls[i].call), 65536);
        assert_true(p->sample_count >= 2);
        assert_true(p->min_ns >= calls[i].ns && p->min_ns < 2 * calls[i].ns);
    }
    assert_true(point_at(atlas_find(&atlas, "raw", "first_use"), 65536)->min_ns < ALLOC_NS);
    atlas_free(&atlas);
}

/* Whether `expected` holds of an atlas that is measured `with` these costs. */
static bool holds(const struct fake *with, bool (*expected)(const struct atlas *, const void *),
                  const void *context)
{
    struct atlas atlas;
    struct error error = {0};
    fake = *with;
    now_ns = 1; /* the host is at full pace */
    assert_int_equal(measure(&atlas, &error), 0);
    assert_int_equal(fake.live, 0);
    const bool as_expected = expected(&atlas, context);
    atlas_free(&atlas);
    return as_expected;
}

/* Disturbances make most calls longer, and let queued work end before some. */
static bool costs(const struct atlas *atlas, const char *method, const char *call, uint64_t bytes,
                  uint64_t least_ns, uint64_t most_ns)
{
    const struct atlas_point *p = point_at(atlas_find(atlas, method, call), bytes);
    assert_true(p->sample_count >= 2);
    return p->p50_ns >= least_ns && p->min_ns < most_ns;
}

/* A busy device's work is a copy of 300 µs or less. The smallest write leaves the first allocation
 * at rest, a large one does not. */
static bool busy_calls_are_dearer(const struct atlas *atlas, const void *context)
{
    (void)context;
    const uint64_t wait_ns = point_at(atlas_find(atlas, "raw", "sync_busy"), 65536)->p50_ns;
    return costs(atlas, "raw", "alloc", 65536, ALLOC_NS, 2 * ALLOC_NS) &&
           costs(atlas, "raw", "alloc_busy", 65536, 2 * ALLOC_NS, 3 * ALLOC_NS) &&
           costs(atlas, "raw", "sync_busy", 65536, 200000, COPY_NS) &&
           costs(atlas, "raw", "free_busy", 65536, wait_ns + FREE_NS / 2, COPY_NS + FREE_NS) &&
           costs(atlas, "after_write", "alloc_1", 4096, ALLOC_NS, 2 * ALLOC_NS) &&
           costs(atlas, "after_write", "alloc_1", 1 << 20, 3 * ALLOC_NS, 4 * ALLOC_NS) &&
           costs(atlas, "after_write", "alloc_2", 1 << 20, ALLOC_NS, 2 * ALLOC_NS);
}

static void prices_away_from_rest_are_those_of_the_calls(void **state)
{
    (void)state;
    assert_true(
        holds(&(struct fake){.free_waits = ATLAS_WAITS_device}, busy_calls_are_dearer, NULL));
}

static bool few_are_slow(const struct atlas *atlas, const void *context)
{
    (void)atlas, (void)context;
    return fake.sized > 100 && fake.sized_slow < fake.sized / 8;
}

/* The host is slowed a quarter of the time, in which the bench does not measure. */
static void prices_are_those_of_a_host_at_full_pace(void **state)
{
    (void)state;
    assert_true(holds(&(struct fake){.slows_down = true}, few_are_slow, NULL));
}

/* Do the prices of a call at all sizes, or its medians, have this ratio to a life's? */
static bool is_part_of_a_life(const struct atlas *atlas, const char *call, double part, bool paced)
{
    const struct atlas_point *life = point_at(atlas_find(atlas, "raw", "life"), 4 << 20);
    const struct atlas_curve *curve = atlas_find(atlas, "raw", call);
    for (size_t i = 0; i < curve->point_count; i++) {
        const struct atlas_point *p = &curve->points[i];
        if (p->sample_count < 5 || p->live_count || p->bytes == NEAR_BYTES)
            continue;
        assert_true(p->paced_ns > 0 && life->paced_ns > 0);
        const double ratio = paced ? (double)p->paced_ns / (double)life->paced_ns
                                   : (double)p->p50_ns / (double)life->p50_ns;
        if (fabs(ratio / part - 1) > 0.09)
            return false;
    }
    return true;
}

static bool are_of_one_pace(const struct atlas *atlas, bool paced)
{
    const double life_ns = ALLOC_NS + FREE_NS;
    return is_part_of_a_life(atlas, "alloc", ALLOC_NS / life_ns, paced) &&
           is_part_of_a_life(atlas, "realloc", ALLOC_NS / life_ns, paced) &&
           is_part_of_a_life(atlas, "free_used", FREE_NS / life_ns, paced);
}

static bool prices_are_but_medians_are_not(const struct atlas *atlas, const void *context)
{
    (void)context;
    const struct atlas_point *busy = point_at(atlas_find(atlas, "raw", "free_busy"), 65536);
    const struct atlas_point *wait = point_at(atlas_find(atlas, "raw", "sync_busy"), 65536);
    return are_of_one_pace(atlas, true) && !are_of_one_pace(atlas, false) &&
           wait->paced_ns == wait->p50_ns && busy->paced_ns > wait->paced_ns + FREE_NS / 2;
}

/* A pace so near to the full one is not waited for. */
static void prices_over_the_pace_are_those_of_one_pace(void **state)
{
    (void)state;
    assert_true(holds(&(struct fake){.sways = true, .free_waits = ATLAS_WAITS_device},
                      prices_are_but_medians_are_not, NULL));
}

static bool near_costs_the_repeated(const struct atlas *atlas, const void *context)
{
    (void)context;
    return costs(atlas, "raw", "alloc", NEAR_BYTES, ALLOC_NS, 2 * ALLOC_NS) &&
           costs(atlas, "raw", "realloc", NEAR_BYTES, 4 * ALLOC_NS, 5 * ALLOC_NS) &&
           costs(atlas, "raw", "realloc", 65536, ALLOC_NS, 2 * ALLOC_NS);
}

/* In a program that repeats itself, the memory of the step before is alive. */
static void repeated_lives_are_beside_another(void **state)
{
    (void)state;
    assert_true(holds(&(struct fake){.near_ns = 3 * ALLOC_NS}, near_costs_the_repeated, NULL));
}

static bool repeated_are_warm(const struct atlas *atlas, const void *context)
{
    (void)context;
    return costs(atlas, "raw", "alloc", 65536, 3 * ALLOC_NS / 2, 2 * ALLOC_NS) &&
           point_at(atlas_find(atlas, "raw", "realloc"), 65536)->p50_ns < 5 * ALLOC_NS / 4;
}

/* The steady state of a program that asks for the same size again and again. */
static void repeated_lives_are_warm(void **state)
{
    (void)state;
    assert_true(holds(&(struct fake){.warms_up = true}, repeated_are_warm, NULL));
}

static bool next_is_cheaper(const struct atlas *atlas, const void *context)
{
    const char *pool = context;
    assert_null(atlas_find(atlas, "raw", "alloc_next"));
    return costs(atlas, pool, "realloc", 65536, 4 * POOL_NS, 5 * POOL_NS) &&
           costs(atlas, pool, "alloc_next", 65536, POOL_NS, 2 * POOL_NS) &&
           point_at(atlas_find(atlas, pool, "alloc_next"), 65536)->p50_ns < 2 * POOL_NS;
}

static void a_pools_call_without_a_wait_before_has_its_own_price(void **state)
{
    (void)state;
    assert_true(holds(&(struct fake){.has_pool = true}, next_is_cheaper, "stream:threshold=max"));
}

/* A long turn is timed once in a visit. */
static void long_turns_are_few(void **state)
{
    (void)state;
    struct atlas atlas;
    struct error error = {0};
    fake = (struct fake){.near_ns = 5000000};
    assert_int_equal(measure(&atlas, &error), 0);
    assert_int_equal(point_at(atlas_find(&atlas, "raw", "realloc"), NEAR_BYTES)->sample_count,
                     point_at(atlas_find(&atlas, "raw", "alloc"), NEAR_BYTES)->sample_count);
    atlas_free(&atlas);
}

static void what_is_refused_says_why_and_the_rest_goes_on(void **state)
{
    (void)state;
    struct atlas atlas;
    struct error error = {0};
    fake = (struct fake){0};
    assert_int_equal(measure(&atlas, &error), 0);
    const struct atlas_curve *vmm = atlas_find(&atlas, "vmm", "alloc");
    assert_non_null(vmm);
    assert_int_equal(vmm->point_count, 1);
    assert_non_null(strstr(vmm->points[0].skipped, "virtual memory"));
    const struct atlas_curve *shared = atlas_find(&atlas, "shared", "alloc");
    assert_true(shared && *shared->points[0].skipped);
    double ns;
    assert_false(atlas_cost_ns(&atlas, "vmm", "alloc", 4096, &ns));
    assert_true(atlas_cost_ns(&atlas, "raw", "alloc", 4096, &ns));
    atlas_free(&atlas);
}

struct classes {
    enum atlas_wait alloc, free, read;
};

static bool has_classes(const struct atlas *atlas, const void *context)
{
    const struct classes *classes = context;
    return atlas_waits(atlas, "raw", "alloc", 4096) == classes->alloc &&
           atlas_waits(atlas, "raw", "free", 4096) == classes->free &&
           atlas_waits(atlas, "command", "read", 4096) == classes->read &&
           atlas_waits(atlas, "command", "sync", 0) == ATLAS_WAITS_device &&
           atlas_waits(atlas, "command", "launch", 0) == ATLAS_WAITS_nothing;
}

/* Every class that a call can have is found for it, whatever the others have. */
static void waits_are_found(void **state)
{
    (void)state;
    static const struct classes cases[] = {
        {ATLAS_WAITS_nothing, ATLAS_WAITS_device, ATLAS_WAITS_own_queue},
        {ATLAS_WAITS_own_queue, ATLAS_WAITS_nothing, ATLAS_WAITS_device},
        {ATLAS_WAITS_device, ATLAS_WAITS_own_queue, ATLAS_WAITS_nothing},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct classes *c = &cases[i];
        assert_true(holds(
            &(struct fake){.alloc_waits = c->alloc, .free_waits = c->free, .read_waits = c->read},
            has_classes, c));
    }
}

static void a_lost_device_leaves_what_was_measured(void **state)
{
    (void)state;
    struct atlas atlas;
    struct error error = {0};
    fake = (struct fake){.allocs_until_lost = 800};
    assert_int_equal(measure(&atlas, &error), ERR_DEVICE_LOST);
    assert_non_null(strstr(error.text, "fell off the bus"));
    assert_true(atlas.curve_count > 0);
    json_t *json = atlas_to_json(&atlas);
    struct atlas again;
    assert_int_equal(atlas_from_json(json, &again, &error), 0);
    bool any = false;
    for (size_t i = 0; i < again.curve_count; i++)
        for (size_t p = 0; p < again.curves[i].point_count; p++)
            any |= again.curves[i].points[p].sample_count > 0;
    assert_true(any);
    json_decref(json);
    atlas_free(&again);
    atlas_free(&atlas);
}

int main(void)
{
    clock_spans = CLOCK_SYSTEM; /* not the processor's counter */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_those_of_the_calls),
        cmocka_unit_test(prices_away_from_rest_are_those_of_the_calls),
        cmocka_unit_test(prices_are_those_of_a_host_at_full_pace),
        cmocka_unit_test(prices_over_the_pace_are_those_of_one_pace),
        cmocka_unit_test(repeated_lives_are_beside_another),
        cmocka_unit_test(repeated_lives_are_warm),
        cmocka_unit_test(a_pools_call_without_a_wait_before_has_its_own_price),
        cmocka_unit_test(long_turns_are_few),
        cmocka_unit_test(what_is_refused_says_why_and_the_rest_goes_on),
        cmocka_unit_test(waits_are_found),
        cmocka_unit_test(a_lost_device_leaves_what_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
