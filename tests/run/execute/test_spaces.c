/* Memory spaces when a program runs: an allocator each, books of all together, loads from pinned
 * memory, and every workload whose memory `place` moves. */
#include <stdio.h>
#include <string.h>

#include "tests/alloc/fake_source.h"
#include "run/execute/execute.h"
#include "run/select/device_group.h"
#include "run/select/inputs.h"
#include "run/rounds/measure.h"
#include "run/select/merging.h"
#include "run/select/select.h"
#include "run/execute/spaces.h"
#include "tests/base/cmocka.h"

static const struct measure_options once = {.least_samples = 2, .most_samples = 2, .seed = 1};

/* ---- books of several allocators ------------------------------------------------------------ */

/* Two allocators, each over a source of its own, as those of two spaces. */
struct pair {
    struct fake_source fake[2];
    struct allocator allocator[2];
    struct source_total held;
    struct allocator_counts blocks;
};

static void open_pair(struct pair *p, const char *spec, uint64_t capacity_bytes)
{
    *p = (struct pair){0};
    for (int i = 0; i < 2; i++) {
        fake_source_open(&p->fake[i], 64, true);
        p->fake[i].source.capacity_bytes = capacity_bytes;
        p->fake[i].source.total = &p->held;
        fake_source_allocator(&p->fake[i], spec, &p->allocator[i]);
        p->allocator[i].total = &p->blocks;
    }
}

static void close_pair(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        allocator_close(&p->allocator[i]);
        assert_int_equal(p->fake[i].live_count + p->fake[i].misuse_count, 0);
        fake_source_close(&p->fake[i]);
    }
    assert_int_equal(p->held.reserved_bytes, 0);
    assert_int_equal(p->blocks.requested_bytes + p->blocks.granted_bytes, 0);
}

static int take(struct pair *p, int which, uint64_t bytes, struct block *block)
{
    const struct alloc_request request = {.size = bytes, .alignment = 64, .tag = "t"};
    return allocator_alloc(&p->allocator[which], &request, block);
}

static void give(struct pair *p, int which, uint64_t bytes, const struct block *block)
{
    assert_int_equal(allocator_free(&p->allocator[which], block, "t", bytes), 0);
}

/* One is at its peak when the other is not: the sum of the peaks would say 1300. */
static void test_the_peak_of_a_sum(void **state)
{
    (void)state;
    struct pair p;
    struct block a, b;
    open_pair(&p, "raw", 0);
    assert_int_equal(take(&p, 0, 1000, &a), 0);
    give(&p, 0, 1000, &a);
    assert_int_equal(take(&p, 0, 200, &a), 0);
    assert_int_equal(take(&p, 1, 300, &b), 0);
    assert_int_equal(p.held.reserved_bytes, 500);
    assert_int_equal(p.held.peak_reserved_bytes, 1000);
    assert_int_equal(p.blocks.requested_bytes, 500);
    assert_int_equal(p.blocks.peak_requested_bytes, 1000);
    assert_int_equal(p.blocks.peak_granted_bytes, 1000);
    assert_int_equal(p.blocks.alloc_count, 3);
    assert_int_equal(p.blocks.miss_count, 3);
    assert_int_equal(p.allocator[1].counts.peak_requested_bytes, 300);
    assert_int_equal(p.fake[0].source.counts.peak_reserved_bytes, 1000);
    assert_int_equal(source_reset_peak(&p.fake[1].source), 0);
    assert_int_equal(p.held.peak_reserved_bytes, 500);
    give(&p, 0, 200, &a);
    give(&p, 1, 300, &b);
    assert_int_equal(p.blocks.free_count, 3);
    close_pair(&p);
}

/* What a pool of the driver's holds is asked for at the end. */
static void test_the_total_with_a_drivers_pool(void **state)
{
    (void)state;
    struct pair p;
    struct block a, b;
    open_pair(&p, "stream", 0);
    assert_int_equal(take(&p, 0, 4096, &a), 0);
    assert_int_equal(take(&p, 1, 1024, &b), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(source_update(&p.fake[i].source), 0);
    assert_int_equal(p.held.reserved_bytes, p.fake[0].source.counts.reserved_bytes +
                                                p.fake[1].source.counts.reserved_bytes);
    assert_true(p.held.reserved_bytes >= 5120);
    assert_int_equal(p.held.peak_reserved_bytes, p.held.reserved_bytes);
    give(&p, 0, 4096, &a);
    give(&p, 1, 1024, &b);
    close_pair(&p);
}

static void test_a_capacity_is_for_all(void **state)
{
    (void)state;
    struct pair p;
    struct block a, b;
    open_pair(&p, "raw", 1000);
    assert_int_equal(take(&p, 0, 800, &a), 0);
    assert_int_equal(take(&p, 1, 300, &b), ERR_OOM);
    assert_non_null(strstr(p.fake[1].source.error.text,
                           "asked for 300 B with 800 B of the capacity of 1000 B reserved"));
    assert_int_equal(take(&p, 1, 200, &b), 0);
    give(&p, 0, 800, &a);
    give(&p, 1, 200, &b);
    close_pair(&p);
}

/* ---- programs ------------------------------------------------------------------------------- */

static void take_first(void *context, const struct device_info *info, const char *why_not)
{
    char *id = context;
    (void)why_not;
    if (info && !*id)
        snprintf(id, sizeof info->id, "%s", info->id);
}

/* The first device of an API, or a group; NULL where there is none. */
static struct device *open_device(const char *selector)
{
    char id[sizeof((struct device_info *)0)->id] = "";
    struct error error;
    struct device *device;
    if (strchr(selector, '+'))
        snprintf(id, sizeof id, "%s", selector);
    else if (device_select(selector, take_first, id, &error) || !*id)
        return NULL;
    if (device_group_open(id, "", &device, &error))
        fail_msg("%s", error.text);
    return device;
}

static const char *const apis[] = {"host", "opencl", "cuda"};

static struct case_round measure(struct measure *m, const struct entry *entry, const char *merge,
                                 const char *strategy, const struct measure_options *options)
{
    struct case_round round = {0};
    snprintf(round.key.strategy, sizeof round.key.strategy, "%s", strategy);
    snprintf(round.key.merge, sizeof round.key.merge, "%s", merge);
    assert_int_equal(measure_case(m, entry, &entry->program->datasets[0], options, &round), 0);
    return round;
}

static struct entry read_program(const char *text, struct program **program)
{
    struct error error;
    if (program_read("test.mem", text, strlen(text), program, &error))
        fail_msg("%s", error.text);
    return (struct entry){(*program)->funs[0].name, *program, &(*program)->funs[0], NULL};
}

/* A question a turn, as breadth-first search asks whether there is another level. */
static const char questions[] =
    "fun questions(n: i64, x: [n]i32) {\n"
    "  let (turns: i32, more: bool) = loop (t: i32 = 0, on: bool = true) while on {\n"
    "    let answer: [1]i32 = kernel ask (i < 1) { answer[i] = x[t] < 3; }\n"
    "    let yes: i32 = answer[0]\n"
    "    let next: i32 = t + i32(1)\n"
    "    let go_on: bool = yes != i32(0)\n"
    "    in next, go_on }\n"
    "  in turns }\n"
    "dataset d { n = 4; x = [1, 2, 3, 4]; } expect { turns = 3; }\n";

static json_int_t counter(const json_t *spaces, const char *phase, const char *space,
                          const char *name)
{
    const json_t *value =
        json_object_get(json_object_get(json_object_get(spaces, phase), space), name);
    if (!json_is_integer(value))
        fail_msg("no %s of %s in the %s run", name, space, phase);
    return json_integer_value(value);
}

/* A load is a read-back and no copy; the space has books of its own, and is in those of all. */
static void test_loads_are_counted(void **state)
{
    (void)state;
    struct program *program;
    const struct entry entry = read_program(questions, &program);
    for (size_t a = 0; a < sizeof apis / sizeof *apis; a++) {
        struct device *device = open_device(apis[a]);
        if (!device)
            continue;
        struct measure *m = measure_open(device);
        struct case_round copied = measure(m, &entry, "none", "pool", &once);
        struct case_round loaded = measure(m, &entry, "none:with=pinned", "pool", &once);
        if (copied.status || loaded.status)
            fail_msg("%s: %s%s", apis[a], copied.reason, loaded.reason);
        assert_int_equal(copied.warm.readback_count, 3);
        assert_int_equal(copied.warm.copy[COPY_host_device].bytes, 12);
        assert_null(copied.spaces);
        assert_int_equal(loaded.warm.readback_count, 3);
        assert_int_equal(loaded.warm.copy[COPY_host_device].count, 0);
        assert_int_equal(loaded.warm.alloc_count, 3);
        assert_int_equal(loaded.warm.peak_requested_bytes, 16 + 4);
        assert_int_equal(counter(loaded.spaces, "warm", "device", "peak_requested_bytes"), 16);
        assert_int_equal(counter(loaded.spaces, "warm", "device", "alloc_count"), 0);
        assert_int_equal(counter(loaded.spaces, "warm", "pinned", "peak_requested_bytes"), 4);
        assert_int_equal(counter(loaded.spaces, "warm", "pinned", "hit_count"), 3);
        assert_int_equal(counter(loaded.spaces, "cold", "pinned", "driver_alloc_count"), 1);
        assert_int_equal(loaded.cold.driver_alloc_count, 1);
        case_round_free(&copied);
        case_round_free(&loaded);
        measure_close(m);
        device->ops->close(device);
    }
    program_free(program);
}

/* What one space keeps is given back when another has no room. */
static void test_spare_memory_of_another_space(void **state)
{
    (void)state;
    static const char text[] = "fun room(n: i64) {\n"
                               "  let far: [n]i32 = iota\n"
                               "  let a: i32 = far[n - 1]\n"
                               "  let near_mem: mem pinned = alloc(4 * n)\n"
                               "  let near: [n]i32 @ near_mem = iota\n"
                               "  let b: i32 = near[n - 1]\n"
                               "  let sum: i32 = a + b\n"
                               "  in sum }\n"
                               "dataset d { n = 1024; } expect { sum = 2046; }\n";
    struct program *program;
    const struct entry entry = read_program(text, &program);
    struct device *device = open_device("host");
    struct measure *m = measure_open(device);
    struct measure_options narrow = once;
    narrow.capacity_bytes = 6000;
    struct case_round r = measure(m, &entry, "none", "pool", &narrow);
    if (r.status)
        fail_msg("%s", r.reason);
    assert_true(r.warm.peak_reserved_bytes <= 6000);
    assert_true(r.warm.driver_refused_count > 0);
    case_round_free(&r);
    narrow.capacity_bytes = 4000;
    r = measure(m, &entry, "none", "pool", &narrow);
    assert_int_equal(r.status, CASE_oom);
    case_round_free(&r);
    measure_close(m);
    device->ops->close(device);
    program_free(program);
}

/* What an atlas knows is how long device memory takes. */
static void test_nothing_is_predicted(void **state)
{
    (void)state;
    static const struct atlas atlas;
    struct program *program;
    const struct entry entry = read_program(questions, &program);
    struct device *device = open_device("host");
    struct measure *m = measure_open(device);
    measure_predict(m, &atlas);
    struct case_round r = measure(m, &entry, "none:with=pinned", "pool", &once);
    assert_int_equal(r.status, CASE_ok);
    assert_true(r.model.asked);
    assert_true(r.model.predicted_ns == UNKNOWN_NS);
    assert_non_null(strstr(r.model.why_not, "the program has memory in another space"));
    case_round_free(&r);
    measure_close(m);
    device->ops->close(device);
    program_free(program);
}

static void test_where_there_is_no_such_space(void **state)
{
    (void)state;
    struct program *program;
    const struct entry entry = read_program(questions, &program);
    struct device *device = open_device("host+host");
    struct measure *m = measure_open(device);
    struct case_round r = measure(m, &entry, "none:with=pinned", "pool", &once);
    assert_int_equal(r.status, CASE_skipped);
    assert_non_null(strstr(r.reason,
                           "pinned memory, which the program uses: strategy pool could not "
                           "start: host+host has one kind of memory"));
    case_round_free(&r);
    measure_close(m);
    device->ops->close(device);
    program_free(program);
}

/* Somebody runs it without an allocator for the space. */
static void test_no_allocator_for_a_space(void **state)
{
    (void)state;
    static const char text[] = "fun f(n: i64) {\n"
                               "  let m: mem pinned = alloc(4 * n)\n"
                               "  let a: [n]i32 @ m = iota\n"
                               "  in a }\n";
    struct program *program;
    const struct entry entry = read_program(text, &program);
    struct named_value n = {.name = "n", .scalar.i64 = 4};
    const struct arguments arguments = {.fun = "f", .dataset = "", .count = 1, .values = &n};
    struct device *device;
    struct error error;
    assert_int_equal(device_null.open("null", &device, &error), 0);
    struct executor *executor = executor_open(entry.fun, device, NULL, NULL, RELEASE_LAST_USE);
    struct allocator *const none[SPACES] = {NULL};
    assert_int_equal(executor_begin(executor, none, &arguments, false, &error), 0);
    assert_int_equal(executor_run(executor, &error), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "test.mem:2:3: 'm' is in pinned memory, for which this run "
                                       "has no allocator"));
    executor_end(executor);
    executor_close(executor);
    device->ops->close(device);
    program_free(program);
}

/* ---- every workload ------------------------------------------------------------------------- */

static unsigned count_moved(const struct merge *m)
{
    unsigned count = 0;
    for (unsigned i = 0; i < m->event_count; i++)
        count += m->events[i].action == MERGE_MOVED && m->events[i].refused == MERGE_ALLOWED;
    return count;
}

static bool is_moved(const struct entry *entry, const char *spec)
{
    struct inputs inputs;
    struct merge *merged;
    struct error error;
    assert_int_equal(inputs_make_scalars(entry, &entry->program->datasets[0], &inputs, &error), 0);
    if (merging_run(entry->fun, spec, &inputs.arguments, RELEASE_LAST_USE, 0, &merged, &error))
        fail_msg("%s %s: %s", entry->name, spec, error.text);
    bool moved = count_moved(merged) > 0;
    merge_free(merged);
    inputs_free(&inputs);
    return moved;
}

/* Where something moves, by whatever set, the answer stays right; and something does move. */
static void check_workloads(const char *api)
{
    struct device *device = open_device(api);
    struct catalogue c;
    struct error error;
    unsigned cases = 0, failed = 0;
    if (!device) {
        print_message("no %s device here: skipped\n", api);
        skip();
    }
    assert_int_equal(catalogue_open(&c, &error), 0);
    struct measure *m = measure_open(device);
    for (size_t e = 0; e < c.entry_count; e++)
        for (const struct merge_set *set = merge_sets; set->name; set++) {
            char spec[64];
            snprintf(spec, sizeof spec, "%s:with=pinned", set->name);
            if (!is_moved(&c.entries[e], spec))
                continue;
            struct case_round r = measure(m, &c.entries[e], spec, "pool", &once);
            if (r.status || r.check == CHECK_NONE || !r.spaces) {
                print_error("%s %s on %s: %s\n", c.entries[e].name, spec, api, r.reason);
                failed++;
            }
            case_round_free(&r);
            cases++;
        }
    assert_int_equal(failed, 0);
    assert_true(cases >= 20);
    print_message("%s: %u cases\n", api, cases);
    measure_close(m);
    device->ops->close(device);
    catalogue_close(&c);
}

static void test_workloads_host(void **state)
{
    (void)state;
    check_workloads("host");
}

static void test_workloads_opencl(void **state)
{
    (void)state;
    check_workloads("opencl");
}

static void test_workloads_cuda(void **state)
{
    (void)state;
    check_workloads("cuda");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_peak_of_a_sum),
        cmocka_unit_test(test_the_total_with_a_drivers_pool),
        cmocka_unit_test(test_a_capacity_is_for_all),
        cmocka_unit_test(test_loads_are_counted),
        cmocka_unit_test(test_spare_memory_of_another_space),
        cmocka_unit_test(test_nothing_is_predicted),
        cmocka_unit_test(test_where_there_is_no_such_space),
        cmocka_unit_test(test_no_allocator_for_a_space),
        cmocka_unit_test(test_workloads_host),
        cmocka_unit_test(test_workloads_opencl),
        cmocka_unit_test(test_workloads_cuda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
