#include "tests/results/compare/compare_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/tree.h"
#include "tests/base/cmocka.h"

enum { SAMPLES = 3, CASE_ROUNDS = 10 };

void compare_fixture_round(struct result_draft *result, const char *workload, const char *strategy,
                           unsigned round, const struct spec *spec)
{
    struct sample sample[SAMPLES];
    struct random random = {random_split(spec->seed, round)};
    struct case_round r = {.round = round,
                           .slot = round,
                           .status = spec->status,
                           .check = CHECK_REFERENCE,
                           .digest = 5,
                           .program_digest = spec->program_digest ? spec->program_digest : 1,
                           .inputs_digest = 2,
                           .traffic_bytes = NAN,
                           .worst_error = NAN,
                           .sample_count = SAMPLES,
                           .samples = sample};
    snprintf(r.key.workload, sizeof r.key.workload, "%s", workload);
    snprintf(r.key.dataset, sizeof r.key.dataset, "small");
    snprintf(r.key.merge, sizeof r.key.merge, "none");
    snprintf(r.key.release, sizeof r.key.release, "last-use");
    snprintf(r.key.strategy, sizeof r.key.strategy, "%s", strategy);
    snprintf(r.key.device, sizeof r.key.device, "cuda:0");
    if (spec->status != CASE_ok)
        snprintf(r.reason, sizeof r.reason, "made to fail");
    r.warm.peak_reserved_bytes = spec->reserved_bytes ? spec->reserved_bytes : 64 << 20;
    r.warm.peak_reserved_bytes += round % 2 * spec->varying_bytes;
    r.cold.peak_reserved_bytes = 64 << 20;
    r.warm.hit_count = spec->hit_count;
    r.warm.free_count = spec->free_count;
    r.warm.peak_requested_bytes = r.cold.peak_requested_bytes = 48 << 20;
    const uint64_t ns = spec->wall_ns ? spec->wall_ns : 1000000;
    const unsigned spread = spec->spread ? spec->spread : 1;
    const double place = spec->seed ? random_unit(&random) : fmod(round * 0.6180339887498949, 1);
    for (unsigned s = 0; s < SAMPLES; s++)
        sample[s] =
            (struct sample){.wall_ns = ns + (uint64_t)((double)(ns * spread) / 1000 * place) + s,
                            .device_ns = UNKNOWN_NS,
                            .driver_alloc_ns = strcmp(strategy, "raw") == 0 ? ns / 10 + s : 0};
    draft_add_round(result, &r);
}

void compare_fixture_settle(json_t *root)
{
    json_t *facts = json_object_get(root, "run");
    json_t *context = json_object_get(root, "context");
    json_t *tool = json_object_get(context, "tool"), *host = json_object_get(context, "host");
    tree_put(facts, "started_at", tree_text("2026-01-02T03:04:05Z"));
    tree_put(facts, "id", tree_text("0123456789abcdef"));
    tree_put(tool, "git_rev", tree_text("0123456789abcdef"));
    tree_put(tool, "git_dirty", json_false());
    json_object_del(host, "memory_available_bytes");
    json_object_del(host, "load1");
}

json_t *compare_fixture(const struct spec *spec)
{
    static char *argv[] = {"gamut", "run"};
    const unsigned rounds = spec->rounds ? spec->rounds : CASE_ROUNDS;
    const struct result_command run = {.argc = 2, .argv = argv, .seed = 42, .rounds = rounds};
    const struct record_device device = {.id = "cuda:0",
                                         .api = "cuda",
                                         .name = "A GPU",
                                         .kind = "gpu",
                                         .used = true,
                                         .alignment_bytes =
                                             spec->alignment_bytes ? spec->alignment_bytes : 256};
    struct result_draft result;
    assert_int_equal(draft_create(&result, &run, NULL), 0);
    struct record_device devices[] = {device};
    snprintf(devices[0].driver, sizeof devices[0].driver, "%s", spec->driver ? spec->driver : "1");
    draft_set_devices(&result, devices, 1);
    for (unsigned r = 0; r < rounds; r++) {
        if (!spec->lacks_fft)
            compare_fixture_round(&result, "fft", "raw", r, &(struct spec){.hit_count = 0});
        if (!spec->lacks_canny)
            compare_fixture_round(&result, "canny", "pool", r, spec);
    }
    draft_finish(&result, RUN_COMPLETE);
    const struct result_tree tree = result_tree_of(&result);
    compare_fixture_settle(tree.root);
    return tree.root;
}

struct compare_options default_options(void)
{
    return (struct compare_options){.threshold = 0.02, .gates = gates_default(0.02)};
}

json_t *compare_roots(json_t *base, json_t *fresh, const struct compare_options *options)
{
    const struct compare_file files[] = {{result_tree_read(base), "base.json"},
                                         {result_tree_read(fresh), "new.json"}};
    json_t *comparison = NULL;
    struct error error = {0};
    assert_int_equal(compare_results(&files[0], &files[1], 1, options, &comparison, &error), 0);
    json_decref(base);
    json_decref(fresh);
    return comparison;
}
