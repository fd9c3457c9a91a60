/* What runs that are listened to say of memory: envelopes, histograms and maps by themselves, and
 * all of them against the counters of the same case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/sort.h"
#include "record/facts/address_map.h"
#include "record/facts/case.h"
#include "record/facts/latency.h"
#include "record/facts/timeline.h"
#include "base/tree.h"
#include "run/rounds/measure.h"
#include "run/select/select.h"

static uint64_t at(const json_t *columns, const char *name, size_t i)
{
    return (uint64_t)json_integer_value(json_array_get(json_object_get(columns, name), i));
}

static size_t length(const json_t *columns, const char *name)
{
    return json_array_size(json_object_get(columns, name));
}

static uint64_t most(const json_t *columns, const char *name)
{
    uint64_t most = 0;
    for (size_t i = 0; i < length(columns, name); i++)
        most = at(columns, name, i) > most ? at(columns, name, i) : most;
    return most;
}

/* ---- timelines ------------------------------------------------------------------------------ */

/* A point lies between its neighbours: whatever the number of events, each is in the envelope of
 * the point that stands for it, and no bound of a point is without an event that reaches it. */
static void check_envelope(size_t events)
{
    struct timeline *t = calloc(1, sizeof *t);
    uint64_t *bytes = malloc((events + 1) * sizeof *bytes);
    struct random random = {events};
    t->stride = 1;
    for (size_t i = 0; i < events; i++) {
        /* One spike up and one down among a million must survive. */
        bytes[i] = i == events / 3           ? 1u << 30
                   : i == events - 1 - i / 2 ? 1
                                             : 1000 + random_below(&random, 1000);
        struct timeline_point point = {.step = 3 * i, .at_ns = 5 * i};
        for (int q = 0; q < TIMELINE_QUANTITIES; q++)
            point.least[q] = point.most[q] = bytes[i] + (uint64_t)q;
        timeline_add(t, &point);
    }
    assert_int_equal(t->event_count, events);
    assert_true(t->count <= TIMELINE_POINTS);
    assert_int_equal(t->count, (events + t->stride - 1) / t->stride);
    assert_true(t->stride == 1 || t->count > TIMELINE_POINTS / 2);
    for (size_t p = 0; p < t->count; p++) {
        uint64_t low = UINT64_MAX, high = 0;
        for (size_t i = p * t->stride; i < events && i < (p + 1) * t->stride; i++) {
            low = bytes[i] < low ? bytes[i] : low;
            high = bytes[i] > high ? bytes[i] : high;
        }
        assert_int_equal(t->points[p].step, 3 * p * t->stride);
        assert_int_equal(t->points[p].at_ns, 5 * p * t->stride);
        for (unsigned q = 0; q < TIMELINE_QUANTITIES; q++) {
            assert_int_equal(t->points[p].least[q], low + q);
            assert_int_equal(t->points[p].most[q], high + q);
        }
    }
    json_t *json = timeline_to_json(t);
    assert_int_equal(length(json, "reserved_bytes"), t->count);
    assert_int_equal(length(json, "least_reserved_bytes"), t->stride > 1 ? t->count : 0);
    json_decref(json);
    free(bytes);
    free(t);
}

static void test_envelopes_keep_every_peak(void **state)
{
    (void)state;
    static const size_t events[] = {0,   1,   2,    191,  192,  193,   383,
                                    384, 385, 1000, 1535, 1537, 99999, 1000000};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        check_envelope(events[i]);
}

/* ---- latencies ------------------------------------------------------------------------------ */

static void test_buckets_hold_what_they_say(void **state)
{
    (void)state;
    for (size_t b = 0; b + 1 < LATENCY_BUCKETS; b++) {
        uint64_t from = latency_bucket_ns(b), to = latency_bucket_ns(b + 1);
        assert_true(from < to);
        assert_true(to - from <= 1 || (to - from) * LATENCY_PER_OCTAVE <= from);
        assert_int_equal(latency_bucket(from), b);
        assert_int_equal(latency_bucket(to - 1), b);
    }
    assert_int_equal(latency_bucket_ns(LATENCY_BUCKETS - 1), (uint64_t)1 << 40);
    assert_int_equal(latency_bucket((uint64_t)1 << 40), LATENCY_BUCKETS - 1);
    assert_int_equal(latency_bucket(UINT64_MAX), LATENCY_BUCKETS - 1);
}

static void test_quantiles_are_near(void **state)
{
    (void)state;
    enum { CALLS = 10007 };
    static uint64_t ns[CALLS];
    static struct latency l;
    struct random random = {5};
    uint64_t total = 0;
    for (int i = 0; i < CALLS; i++) {
        ns[i] = random_below(&random, (uint64_t)2 << random_below(&random, 30));
        total += ns[i];
        latency_add(&l, ns[i]);
    }
    sort_u64(ns, CALLS);
    json_t *json = latency_to_json(&l);
    static const double parts[] = {0.0001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double exact = (double)ns[(size_t)ceil(parts[i] * CALLS) - 1];
        double near = latency_quantile(json, parts[i]);
        assert_true(near >= exact && near <= exact * (1 + 1.0 / LATENCY_PER_OCTAVE));
    }
    assert_int_equal(json_integer_value(json_object_get(json, "least_ns")), ns[0]);
    assert_int_equal(json_integer_value(json_object_get(json, "most_ns")), ns[CALLS - 1]);
    assert_int_equal(json_integer_value(json_object_get(json, "total_ns")), total);
    assert_true(latency_quantile(json, 1) == (double)ns[CALLS - 1]);
    json_decref(json);
    json = latency_to_json(&(struct latency){0});
    assert_true(json_is_null(json));
    assert_true(isnan(latency_quantile(json, 0.5)));
    json_decref(json);
}

/* ---- maps ----------------------------------------------------------------------------------- */

static void test_maps_keep_the_largest_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 1000000, LARGE = 100 };
    static struct address_map m;
    map_open(&m);
    size_t large = 0;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        bool is_large = i % (BLOCKS / LARGE) == 777;
        large += is_large;
        struct map_block block = {
            .memory = 1, .bytes = is_large ? 4096 + i : 512, .born = 2 * i, .tag = "t"};
        int row = map_add_block(&m, &block);
        map_end_block(&m, row, 2 * i + 1);
        assert_true(!is_large || row != MAP_NONE);
    }
    assert_int_equal(m.block_count, MAP_BLOCKS);
    assert_int_equal(m.blocks_out, BLOCKS - MAP_BLOCKS);
    size_t kept = 0;
    uint64_t last_small = 0;
    for (size_t i = 0; i < MAP_BLOCKS; i++) {
        kept += m.blocks[i].bytes > 512;
        if (m.blocks[i].bytes == 512 && m.blocks[i].born > last_small)
            last_small = m.blocks[i].born;
        assert_int_equal(m.blocks[i].died, m.blocks[i].born + 1);
    }
    assert_int_equal(kept, large);
    /* Of equal ones the first: the small ones that are kept come before the first left out. */
    assert_true(last_small < m.left_out_from);
}

struct array_row {
    const char *name;
    uint64_t offset, bytes, born, died;
};

static void check_arrays(const struct address_map *m, const struct array_row *rows, size_t count)
{
    json_t *json = map_to_json(m);
    const json_t *arrays = json_object_get(json, "arrays"), *names = json_object_get(json, "names");
    assert_int_equal(length(arrays, "name"), count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(json_string_value(json_array_get(names, at(arrays, "name", i))),
                            rows[i].name);
        assert_int_equal(at(arrays, "offset_bytes", i), rows[i].offset);
        assert_int_equal(at(arrays, "bytes", i), rows[i].bytes);
        assert_int_equal(at(arrays, "born", i), rows[i].born);
        assert_int_equal(at(arrays, "died", i), rows[i].died);
    }
    json_decref(json);
}

/* A concatenation whose pieces are computed in its place, an array put there later, an iteration
 * that calls its array by the same name, and a view. */
static void test_arrays_share_a_block(void **state)
{
    (void)state;
    static struct address_map m;
    map_open(&m);
    int row =
        map_add_block(&m, &(struct map_block){.memory = 1, .bytes = 100, .born = 0, .tag = "m"});
    int alone =
        map_add_block(&m, &(struct map_block){.memory = 2, .bytes = 100, .born = 1, .tag = "k"});
    map_add_array(&m, row, "left", 0, 50, 2);
    map_add_array(&m, row, "right", 50, 50, 3);
    map_add_array(&m, alone, "k", 0, 100, 4); /* the only one there: its block tells all */
    map_use_array(&m, row, "left", 0, 50, 5);
    map_use_array(&m, row, "right", 50, 50, 5);
    map_add_array(&m, row, "both", 0, 100, 5);
    map_use_array(&m, row, "a view of both", 20, 10, 7);
    map_add_array(&m, row, "later", 0, 80, 9);
    map_use_array(&m, row, "later", 0, 80, 10);
    map_add_array(&m, row, "later", 0, 80, 12);
    map_use_array(&m, row, "later", 0, 80, 13);
    map_add_array(&m, row, "nothing", 0, 0, 14);
    map_end_block(&m, row, 15);
    const struct array_row rows[] = {
        {"left", 0, 50, 2, 6},   {"right", 50, 50, 3, 6},  {"both", 0, 100, 5, 8},
        {"later", 0, 80, 9, 11}, {"later", 0, 80, 12, 14},
    };
    check_arrays(&m, rows, 5);

    /* A larger block takes the place of the smallest one, and its arrays go with it. */
    for (uint64_t i = 2; i < MAP_BLOCKS; i++)
        map_add_block(&m,
                      &(struct map_block){.memory = 1, .bytes = 1000, .born = 20 + i, .tag = "m"});
    assert_int_equal(m.blocks_out, 0);
    assert_int_equal(
        map_add_block(&m, &(struct map_block){.memory = 3, .bytes = 101, .born = 999, .tag = "m"}),
        alone);
    assert_int_equal(
        map_add_block(&m, &(struct map_block){.memory = 3, .bytes = 101, .born = 999, .tag = "m"}),
        row);
    assert_int_equal(m.blocks_out, 2);
    assert_int_equal(m.arrays_out, 6);
    assert_int_equal(m.left_out_from, 0);
    check_arrays(&m, NULL, 0);
}

/* ---- whole cases ---------------------------------------------------------------------------- */

static const struct measure_options looked_at = {
    .least_samples = 1, .most_samples = 1, .seed = 1, .log_memory = true};

static struct case_round run(struct measure *m, const struct entry *entry, const char *merge,
                             const char *strategy, const struct measure_options *options)
{
    struct case_round round = {0};
    snprintf(round.key.merge, sizeof round.key.merge, "%s", merge);
    snprintf(round.key.strategy, sizeof round.key.strategy, "%s", strategy);
    assert_int_equal(measure_case(m, entry, &entry->program->datasets[0], options, &round), 0);
    return round;
}

static void check_timeline(const struct case_round *r)
{
    const json_t *t = json_object_get(r->memory, "timeline");
    assert_int_equal(most(t, "requested_bytes"), r->cold.peak_requested_bytes);
    assert_int_equal(most(t, "granted_bytes"), r->cold.peak_granted_bytes);
    assert_int_equal(most(t, "reserved_bytes"), r->cold.peak_reserved_bytes);
    assert_int_equal(most(t, "live_bytes"), r->cold.live_lower_bound_bytes);
    assert_int_equal(most(t, "live_bytes") > 0, most(t, "requested_bytes") > 0);
    for (size_t i = 1; i < length(t, "step"); i++) {
        assert_true(at(t, "step", i) > at(t, "step", i - 1));
        assert_true(at(t, "at_ns", i) >= at(t, "at_ns", i - 1));
    }
}

static uint64_t death(const json_t *columns, size_t i)
{
    return json_is_null(json_array_get(json_object_get(columns, "died"), i))
               ? UINT64_MAX
               : at(columns, "died", i);
}

/* No two blocks are in the same bytes at the same time, and arrays lie within their blocks, in
 * place and time. */
static void check_map(const struct case_round *r)
{
    const json_t *map = json_object_get(r->memory, "map");
    const json_t *b = json_object_get(map, "blocks"), *a = json_object_get(map, "arrays");
    for (size_t i = 0; i < length(b, "born"); i++) {
        assert_true(at(b, "requested_bytes", i) <= at(b, "bytes", i));
        assert_true(at(b, "born", i) < death(b, i));
        for (size_t j = 0; j < i; j++) {
            bool apart = at(b, "memory", i) != at(b, "memory", j) ||
                         at(b, "offset_bytes", i) + at(b, "bytes", i) <= at(b, "offset_bytes", j) ||
                         at(b, "offset_bytes", j) + at(b, "bytes", j) <= at(b, "offset_bytes", i);
            if (!apart && at(b, "born", i) < death(b, j) && at(b, "born", j) < death(b, i))
                fail_msg("%s: blocks %zu and %zu overlap", r->key.strategy, i, j);
        }
    }
    for (size_t i = 0; i < length(a, "born"); i++) {
        size_t block = at(a, "block", i);
        assert_true(block < length(b, "born"));
        assert_true(at(a, "offset_bytes", i) + at(a, "bytes", i) <=
                    at(b, "requested_bytes", block));
        assert_true(at(b, "born", block) <= at(a, "born", i));
        assert_true(at(a, "born", i) < at(a, "died", i));
        assert_true(at(a, "died", i) <= death(b, block));
    }
}

static void check_latency(const struct case_round *r)
{
    const json_t *latency = json_object_get(r->memory, "latency");
    const json_t *cold = json_object_get(latency, "cold"), *warm = json_object_get(latency, "warm");
    const json_int_t warm_runs = json_integer_value(json_object_get(warm, "runs"));
    assert_int_equal(json_integer_value(json_object_get(cold, "runs")), 1);
    assert_true(warm_runs >= 1);
#define CALLS(of, name) json_integer_value(json_object_get(json_object_get((of), (name)), "count"))
    assert_int_equal(CALLS(cold, "alloc"), r->cold.alloc_count);
    assert_int_equal(CALLS(cold, "free"), r->cold.free_count);
    assert_int_equal(CALLS(warm, "alloc"), r->warm.alloc_count * (uint64_t)warm_runs);
    assert_int_equal(CALLS(warm, "free"), r->warm.free_count * (uint64_t)warm_runs);
    assert_int_equal(CALLS(cold, "alloc_driver"), r->cold.miss_count);
    assert_int_equal(CALLS(warm, "alloc_driver"), r->warm.miss_count * (uint64_t)warm_runs);
#undef CALLS
    static const char *const calls[] = {"alloc", "free"};
    for (int i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_driver", calls[i]);
        const json_t *all = json_object_get(cold, calls[i]), *driver = json_object_get(cold, name);
        if (json_is_object(driver))
            assert_true(tree_get_number(driver, "total_ns") < tree_get_number(all, "total_ns"));
    }
}

static void test_cases_agree_with_their_counters(void **state)
{
    (void)state;
    static const char *const strategies[] = {"pool", "bufalloc", "raw", "tagged",
                                             "tlsf", "caching",  "vmm", "stream"};
    enum { FOR_ALL = 2 }; /* the first two for all programs, the others for some */
    static const char *const merges[] = {"none", "best"};
    struct device *device;
    struct catalogue c;
    struct error error;
    assert_int_equal(device_open("host", &device, &error), 0);
    assert_int_equal(catalogue_open(&c, &error), 0);
    struct measure *m = measure_open(device);
    size_t shared = 0;
    for (size_t e = 0; e < c.entry_count; e++)
        for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++)
            for (size_t g = 0; g < 2; g++) {
                if (s >= FOR_ALL && e % 5 != 2)
                    continue;
                struct case_round r = run(m, &c.entries[e], merges[g], strategies[s], &looked_at);
                if (r.status == CASE_skipped) {
                    case_round_free(&r);
                    continue;
                }
                if (r.status != CASE_ok)
                    fail_msg("%s %s %s: %s", c.entries[e].name, merges[g], strategies[s], r.reason);
                check_timeline(&r);
                check_map(&r);
                check_latency(&r);
                const json_t *map = json_object_get(r.memory, "map");
                shared += g == 1 && length(json_object_get(map, "arrays"), "born") > 0;
                case_round_free(&r);
            }
    assert_true(shared > 30); /* merging puts arrays together in nearly all programs */
    measure_close(m);
    catalogue_close(&c);
    device->ops->close(device);
}

/* Nobody looks unless asked to, and looking changes no counter. */
static void test_who_does_not_ask_gets_nothing(void **state)
{
    (void)state;
    struct measure_options plain = looked_at;
    plain.log_memory = false;
    struct device *device;
    struct catalogue c;
    struct error error;
    assert_int_equal(device_open("host", &device, &error), 0);
    assert_int_equal(catalogue_open(&c, &error), 0);
    struct measure *m = measure_open(device);
    const struct entry *entry = select_entry(&c, "srad");
    struct case_round without = run(m, entry, "none", "pool", &plain);
    struct case_round with = run(m, entry, "none", "pool", &looked_at);
    assert_null(without.memory);
    assert_non_null(with.memory);
    assert_memory_equal(&with.cold, &without.cold, sizeof with.cold);
    assert_memory_equal(&with.warm, &without.warm, sizeof with.warm);
    json_t *json = case_round_to_json(&without);
    assert_null(json_object_get(json, "memory"));
    json_decref(json);
    case_round_free(&without);
    case_round_free(&with);
    measure_close(m);
    catalogue_close(&c);
    device->ops->close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_envelopes_keep_every_peak),
        cmocka_unit_test(test_buckets_hold_what_they_say),
        cmocka_unit_test(test_quantiles_are_near),
        cmocka_unit_test(test_maps_keep_the_largest_blocks),
        cmocka_unit_test(test_arrays_share_a_block),
        cmocka_unit_test(test_cases_agree_with_their_counters),
        cmocka_unit_test(test_who_does_not_ask_gets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
