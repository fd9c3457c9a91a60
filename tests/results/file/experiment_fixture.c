#include "tests/results/file/experiment_fixture.h"

#include "results/file/experiment_result.h"
#include "base/tree.h"

json_t *experiment_fixture_round(const char *status, unsigned round, const char *digest,
                                 const char *metric, double value)
{
    const bool is_ok = *status == 'o' && status[1] == 'k';
    json_t *json = tree_object(), *samples = tree_object(), *values = tree_array();
    for (int i = 0; i < 3; i++)
        tree_append(values, tree_number(value + 2 * i));
    tree_put(samples, metric, values);
    tree_put(json, "round", tree_count(round));
    tree_put(json, "slot", tree_count(0));
    tree_put(json, "status", tree_text(status));
    tree_put(json, "reason", is_ok ? json_null() : tree_text("it could not"));
    tree_put(json, "digest", tree_text_or_null(digest));
    tree_put(json, "samples", samples);
    return json;
}

static json_t *key(const char *method, const char *strategy, int spin_ns)
{
    json_t *json = tree_object();
    tree_put(json, "method", tree_text(method));
    tree_put(json, "strategy", tree_text(strategy));
    if (spin_ns >= 0) {
        tree_put(json, "spin_ns", tree_count((uint64_t)spin_ns));
        tree_put(json, "host_work_ns", tree_count(2000));
    }
    return json;
}

/* Another metric of the same samples. */
static json_t *with(json_t *round, const char *metric, double value)
{
    json_t *values = tree_array();
    tree_append(values, tree_number(value));
    tree_put(json_object_get(round, "samples"), metric, values);
    return round;
}

static void add(struct result_draft *draft, struct result_experiment *experiment, json_t *key,
                json_t *round)
{
    struct result *result = &draft->result;
    experiment_add_round(result, experiment, experiment_expect_row(result, experiment, key), round);
    json_decref(key);
}

static void add_isosurface(struct result_draft *draft, const char *device)
{
    static const struct experiment_parameter parameters[] = {
        {"method", false, UNIT_COUNT, "how"},
        {"strategy", false, UNIT_COUNT, "the allocator"},
        {NULL, false, UNIT_COUNT, NULL},
    };
    static const struct counter_info metrics[] = {
        {"frame_ns", UNIT_NS, KIND_SAMPLED, BETTER_LOWER, "time of a frame"},
        {"blocked_ns", UNIT_NS, KIND_SAMPLED, BETTER_LOWER, "blocked"},
        {"peak_reserved_bytes", UNIT_BYTES, KIND_EXACT, BETTER_LOWER, "held"},
        {"peak_used_bytes", UNIT_BYTES, KIND_EXACT, BETTER_NEITHER, "used"},
        {"empty_ratio", UNIT_RATIO, KIND_EXACT, BETTER_NEITHER, "empty chunks"},
    };
    json_t *options = json_pack("{s:i, s:i, s:s, s:n}", "cells", 8, "window", 3, "strategies",
                                "pool,stream", "capacity_bytes");
    struct result_experiment *e =
        experiment_add(&draft->result, "isosurface", device, options, parameters, metrics,
                       sizeof metrics / sizeof *metrics);
    json_decref(options);
    for (unsigned round = 0; round < 2; round++) {
        json_t *pool = experiment_fixture_round("ok", round, "00ff", "frame_ns", 1500000 + round);
        json_t *heap = experiment_fixture_round("ok", round, "00ff", "frame_ns", 1000000);
        with(with(with(with(pool, "blocked_ns", 250000), "peak_reserved_bytes", 1 << 20),
                  "peak_used_bytes", 1 << 19),
             "empty_ratio", 0.625);
        with(with(with(heap, "blocked_ns", 0), "peak_reserved_bytes", 1 << 22), "peak_used_bytes",
             1 << 19);
        add(draft, e, key("readback", "pool", -1), pool);
        add(draft, e, key("heap", "-", -1), heap);
    }
    add(draft, e, key("readback", "stream", -1),
        experiment_fixture_round("skipped", 0, NULL, "frame_ns", 1));
}

static void add_stall(struct result_draft *draft, const char *device)
{
    static const struct experiment_parameter parameters[] = {
        {"method", false, UNIT_COUNT, "how"},
        {"strategy", false, UNIT_COUNT, "the allocator"},
        {"spin_ns", true, UNIT_NS, "queued work"},
        {"host_work_ns", true, UNIT_NS, "the host's work"},
        {NULL, false, UNIT_COUNT, NULL},
    };
    static const struct counter_info metrics[] = {
        {"frame_ns", UNIT_NS, KIND_SAMPLED, BETTER_LOWER, "time of a frame"},
        {"claim_ns", UNIT_NS, KIND_SAMPLED, BETTER_NEITHER, "what is claimed"},
    };
    json_t *options = tree_object();
    struct result_experiment *e =
        experiment_add(&draft->result, "stall", device, options, parameters, metrics,
                       sizeof metrics / sizeof *metrics);
    json_decref(options);
    for (int spin = 0; spin <= 5000; spin += 5000) {
        json_t *readback = experiment_fixture_round("ok", 0, NULL, "frame_ns", 2500 + spin);
        json_t *heap = experiment_fixture_round("ok", 0, NULL, "frame_ns", 2100 + spin / 2);
        add(draft, e, key("readback", "pool", spin), with(readback, "claim_ns", 2000 + spin));
        add(draft, e, key("heap", "-", spin), with(heap, "claim_ns", spin ? 5000 : 2000));
    }
}

static void add_overflow(struct result_draft *draft, const char *device)
{
    static const struct experiment_parameter parameters[] = {
        {"chunks", true, UNIT_COUNT, "neighbours"},
        {"percent", true, UNIT_COUNT, "of the mean"},
        {NULL, false, UNIT_COUNT, NULL},
    };
    static const struct counter_info metrics[] = {
        {"overflow_ratio", UNIT_RATIO, KIND_EXACT, BETTER_LOWER, "how often"},
        {"claim_ratio", UNIT_RATIO, KIND_EXACT, BETTER_NEITHER, "what is claimed"},
    };
    json_t *options = tree_object();
    struct result_experiment *e =
        experiment_add(&draft->result, "overflow", device, options, parameters, metrics,
                       sizeof metrics / sizeof *metrics);
    json_decref(options);
    for (int chunks = 1; chunks <= 4; chunks += 3)
        for (int percent = 50; percent <= 100; percent += 50) {
            json_t *row = tree_object(), *round = experiment_fixture_round("ok", 0, "1", "_", 0);
            tree_put(row, "chunks", tree_count((uint64_t)chunks));
            tree_put(row, "percent", tree_count((uint64_t)percent));
            add(draft, e, row,
                with(with(round, "overflow_ratio", 1.0 / percent), "claim_ratio", 0.01));
        }
}

static void add_heap_ops(struct result_draft *draft, const char *device)
{
    static const struct experiment_parameter parameters[] = {
        {"policy", false, UNIT_COUNT, "which block"},
        {"live_blocks", true, UNIT_COUNT, "so many"},
        {NULL, false, UNIT_COUNT, NULL},
    };
    static const struct counter_info metrics[] = {
        {"op_1_ns", UNIT_NS, KIND_SAMPLED, BETTER_LOWER, "by one"},
        {"op_64_ns", UNIT_NS, KIND_SAMPLED, BETTER_LOWER, "by 64"},
        {"command_ns", UNIT_NS, KIND_SAMPLED, BETTER_LOWER, "fitted"},
        {"opaque_ns", UNIT_NS, KIND_SAMPLED, BETTER_LOWER, "no batch"},
    };
    json_t *options = tree_object();
    struct result_experiment *e =
        experiment_add(&draft->result, "heap-ops", device, options, parameters, metrics,
                       sizeof metrics / sizeof *metrics);
    json_decref(options);
    for (int tlsf = 0; tlsf < 2; tlsf++)
        for (int live = 100; live <= 1000; live *= 10) {
            json_t *row = tree_object();
            json_t *round = experiment_fixture_round("ok", 0, NULL, "op_1_ns", 4000 + live + tlsf);
            tree_put(row, "policy", tree_text(tlsf ? "tlsf" : "larger"));
            tree_put(row, "live_blocks", tree_count((uint64_t)live));
            add(draft, e, row, with(with(round, "op_64_ns", 900 + live), "command_ns", 850));
        }
}

static void add_heap_utilisation(struct result_draft *draft, const char *device)
{
    static const struct experiment_parameter parameters[] = {
        {"sizes", false, UNIT_COUNT, "how large"},
        {"policy", false, UNIT_COUNT, "which block"},
        {"padding", false, UNIT_COUNT, "how much more"},
        {NULL, false, UNIT_COUNT, NULL},
    };
    static const struct counter_info metrics[] = {
        {"filled_ratio", UNIT_RATIO, KIND_EXACT, BETTER_HIGHER, "how full"},
        {"least_filled_ratio", UNIT_RATIO, KIND_EXACT, BETTER_HIGHER, "at least"},
    };
    static const char *const rows[][3] = {
        {"uniform", "best", "seed"}, {"uniform", "best", "tight"}, {"bimodal", "best", "tight"}};
    json_t *options = tree_object();
    struct result_experiment *e =
        experiment_add(&draft->result, "heap-utilisation", device, options, parameters, metrics,
                       sizeof metrics / sizeof *metrics);
    json_decref(options);
    for (int i = 0; i < 3; i++) {
        json_t *row = tree_object();
        json_t *round = experiment_fixture_round("ok", 0, NULL, "_", 0);
        for (int p = 0; p < 3; p++)
            tree_put(row, parameters[p].name, tree_text(rows[i][p]));
        add(draft, e, row,
            with(with(round, "filled_ratio", 0.75 + i / 16.0), "least_filled_ratio", 0.5));
    }
}

void experiment_fixture_add(struct result_tree *tree, const char *device)
{
    struct result_draft draft = result_tree_draft(tree->root);
    add_overflow(&draft, device);
    add_isosurface(&draft, device);
    add_stall(&draft, device);
    add_heap_ops(&draft, device);
    add_heap_utilisation(&draft, device);
    result_tree_put(tree->root, &draft);
}
