#include "tests/results/file/record_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"

struct case_round record_fixture_round(size_t samples)
{
    struct case_round round = {
        .key = {"stencil", "small", "none", "last-use", "tagged:policy=v4", "opencl:0"},
        .round = 3,
        .slot = 17,
        .status = CASE_ok,
        .reason = "it says \"why\", in UTF-8: \xc2\xb5s",
        .check = CHECK_DIGEST,
        .digest = 0xfedcba9876543210u,
        .program_digest = 0x123456789abcdefu,
        .inputs_digest = 0xf0e1d2c3b4a59687u,
        .worst_error = 0.1,
        .traffic_bytes = 123456789.0,
        .sample_count = samples,
    };
    round.model = (struct case_model){.asked = true,
                                      .predicted_ns = 4100,
                                      .device_ns = 3900,
                                      .driver_ns = 150,
                                      .waiting_ns = 50,
                                      .first_use_ns = 0,
                                      .allocator_ns = UNKNOWN_NS,
                                      .why_not = "half known"};
    if (samples)
        round.samples = must_alloc(samples * sizeof *round.samples);
    /* Both structs are rows of 64-bit words. */
    enum { TIMES = sizeof(struct sample) / 8, COUNTS = sizeof(struct exact_counts) / 8 };
    uint64_t *cold = (uint64_t *)&round.cold, *warm = (uint64_t *)&round.warm;
    for (size_t i = 0; i < COUNTS; i++) {
        cold[i] = 1000 + TIMES + i;
        warm[i] = 2000 + TIMES + i;
    }
    for (size_t i = 0; i < TIMES; i++) {
        ((uint64_t *)&round.cold_sample)[i] = 3000 + i;
        for (size_t s = 0; s < samples; s++)
            ((uint64_t *)&round.samples[s])[i] = s == 1 ? UNKNOWN_NS : 4000 + 10 * s + i;
    }
    return round;
}

enum { SAMPLES = 3 };

/* Times around `ns`: rounds differ by a thousandth, samples of a round by less. */
static void add(struct result_draft *result, const char *workload, const char *strategy,
                const char *device, unsigned round, uint64_t ns, uint64_t reserved_mib,
                enum case_status status)
{
    struct sample samples[SAMPLES];
    struct case_round r = {.round = round, .slot = round * 7 % 5, .status = status};
    snprintf(r.key.workload, sizeof r.key.workload, "%s", workload);
    snprintf(r.key.dataset, sizeof r.key.dataset, "small");
    snprintf(r.key.merge, sizeof r.key.merge, "none");
    snprintf(r.key.release, sizeof r.key.release, "last-use");
    snprintf(r.key.strategy, sizeof r.key.strategy, "%s", strategy);
    snprintf(r.key.device, sizeof r.key.device, "%s", device);
    r.check = round == 0 ? CHECK_REFERENCE : CHECK_DIGEST;
    r.worst_error = 1e-6;
    r.traffic_bytes = 64 << 20;
    r.digest = 0x1234;
    r.program_digest = 0xabc0 + strlen(workload);
    r.inputs_digest = 0xdef0;
    if (status != CASE_ok)
        snprintf(r.reason, sizeof r.reason, "%s",
                 status == CASE_wrong ? "result 1, [3, 4]: 2.5 instead of 2.0|2.1\nmore"
                                      : "asked for 8.00 GiB, 1.00 GiB were free");
    bool caches = strcmp(strategy, "raw") != 0;
    uint64_t requests = strcmp(workload, "stencil") == 0 ? 40 : 7;
    r.cold.peak_requested_bytes = r.warm.peak_requested_bytes = 20 << 20;
    r.cold.live_lower_bound_bytes = r.warm.live_lower_bound_bytes = 16 << 20;
    r.cold.peak_reserved_bytes = r.warm.peak_reserved_bytes = reserved_mib << 20;
    r.cold.alloc_count = r.warm.alloc_count = requests;
    r.cold.miss_count = r.cold.driver_alloc_count = caches ? 3 : requests;
    r.warm.miss_count = r.warm.driver_alloc_count = caches ? 0 : requests;
    r.cold.driver_free_count = r.warm.driver_free_count = caches ? 0 : requests;
    r.cold.hit_count = requests - r.cold.miss_count;
    r.warm.hit_count = requests - r.warm.miss_count;
    r.warm.copy[COPY_layout] = (struct copy_counts){2, 4 << 20, 0, 0};
    r.cold.copy[COPY_layout] = r.warm.copy[COPY_layout];
    r.cold_sample.wall_ns = 2 * ns;
    for (unsigned s = 0; s < SAMPLES; s++)
        samples[s] = (struct sample){.wall_ns = ns + ns / 1000 * round + s,
                                     .device_ns = UNKNOWN_NS,
                                     .driver_alloc_ns = ns / 100 + s};
    r.sample_count = SAMPLES;
    r.samples = samples;
    /* Of stencil on the host: tagged 20 % too little, the others right; canny under raw unknown. */
    if (strcmp(workload, "stencil") == 0 && strcmp(device, "host") == 0)
        r.model = (struct case_model){.asked = true,
                                      .predicted_ns = strcmp(strategy, "tagged") ? ns : ns / 5 * 4,
                                      .device_ns = ns / 2,
                                      .driver_ns = ns / 100};
    else if (strcmp(workload, "canny") == 0 && !caches)
        r.model = (struct case_model){.asked = true,
                                      .predicted_ns = UNKNOWN_NS,
                                      .device_ns = UNKNOWN_NS,
                                      .driver_ns = UNKNOWN_NS,
                                      .waiting_ns = UNKNOWN_NS,
                                      .first_use_ns = UNKNOWN_NS,
                                      .allocator_ns = UNKNOWN_NS,
                                      .why_not = "the atlas lacks it"};
    draft_add_round(result, &r);
}

struct result_tree record_fixture(unsigned rounds)
{
    static char *argv[] = {"gamut", "run", "-s", "raw,pool"};
    const struct result_command run = {.argc = 4, .argv = argv, .seed = 42, .rounds = rounds};
    struct result_draft result;
    if (draft_create(&result, &run, NULL) != 0)
        abort();
    json_t *settings = json_loads(
        "{\"ecc\": 1, \"mig\": 0, \"persistence\": 0, \"power_limit_mw\": 700000, "
        "\"power_limit_default_mw\": 0, \"sm_application_mhz\": 0, "
        "\"sm_application_default_mhz\": 0, \"sm_most_mhz\": null, \"memory_most_mhz\": 0}",
        0, NULL);
    struct record_device devices[] = {
        {.id = "host",
         .api = "host",
         .name = "A CPU",
         .kind = "cpu",
         .used = true,
         .memory_bytes = (uint64_t)8 << 30,
         .compute_units = 2,
         .copy_bytes_per_second = 20e9},
        {.id = "opencl:0",
         .api = "opencl",
         .name = "A GPU",
         .driver = "1.2",
         .kind = "gpu",
         .used = true,
         .memory_bytes = (uint64_t)4 << 30,
         .can_split = true,
         .copy_bytes_per_second = NAN,
         .settings = settings},
        {.id = "cuda:0", .api = "cuda", .name = "Another GPU", .kind = "gpu"},
    };
    draft_set_devices(&result, devices, sizeof devices / sizeof *devices);
    json_decref(settings);
    for (unsigned r = 0; r < rounds; r++) {
        add(&result, "stencil", "tagged", "host", r, 3000000, 24, CASE_ok);
        add(&result, "stencil", "raw", "host", r, 6000000, 20, CASE_ok);
        add(&result, "stencil", "pool", "host", r, 2000000, 32, CASE_ok);
        add(&result, "canny", "raw", "host", r, 800000, 20, CASE_ok);
        add(&result, "canny", "pool", "host", r, 880000, 32, r == 1 ? CASE_oom : CASE_ok);
        add(&result, "canny", "tagged", "host", r, 990000, r == 1 ? 25 : 24, CASE_ok);
        add(&result, "stencil", "bufalloc", "host", r, 1000, 20, r == 0 ? CASE_wrong : CASE_ok);
        add(&result, "stencil", "raw", "opencl:0", r, 500000, 20, CASE_ok);
    }
    draft_finish(&result, RUN_COMPLETE);

    /* What differs from machine to machine and day to day. */
    struct result_tree tree = result_tree_of(&result);
    json_t *run_facts = json_object_get(tree.root, "run");
    json_t *tool = json_object_get(json_object_get(tree.root, "context"), "tool");
    tree_put(run_facts, "started_at", tree_text("2026-01-02T03:04:05Z"));
    tree_put(tool, "version", tree_text("0.0.0"));
    tree_put(tool, "git_rev", tree_text("0123456789abcdef"));
    tree_put(tool, "git_dirty", json_true());
    return tree;
}

static void add_point(struct atlas_curve *curve, uint64_t bytes, uint64_t live_count, uint64_t ns)
{
    struct atlas_point point = {.bytes = bytes, .live_count = live_count};
    atlas_summarise(&point, &ns, 1);
    atlas_add_point(curve, &point);
}

struct atlas atlas_fixture(void)
{
    struct atlas atlas = {
        .device = "cuda:0", .name = "H200", .driver = "580.65.06", .timer_ns = 41.5};
    struct atlas_curve *curve = atlas_curve_of(&atlas, "raw", "alloc");
    uint64_t ns[] = {45000, 46000, 44000, 90000, 45500};
    struct atlas_point point = {.bytes = 4096};
    atlas_summarise(&point, ns, 5);
    atlas_add_point(curve, &point);
    add_point(curve, 1 << 20, 0, 46000);
    add_point(curve, 1 << 24, 0, 145000);
    add_point(curve, 4096, 1000, 47000);
    atlas_add_point(curve,
                    &(struct atlas_point){.bytes = 1ull << 40, .skipped = "1 TiB are not free"});
    atlas_add_probe(curve, &(struct atlas_probe){4096, 45000, 45100, 44900, 5e6, 0});
    atlas_add_probe(curve, &(struct atlas_probe){1 << 20, 45000, 5e6, NAN, 5e6, 0});
    atlas_finish_curve(curve);
    curve = atlas_curve_of(&atlas, "shared", "alloc");
    atlas_add_point(curve, &(struct atlas_point){.skipped = "no such capability"});
    atlas_finish_curve(curve);
    return atlas;
}
