#include "serve/serve_statistics.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "device/device.h"
#include "record/result/result.h"
#include "run/execute/device_record.h"
#include "run/execute/spaces.h"
#include "run/replay/cases.h"

static struct memory_counts counts_of(const struct serve_state *state)
{
    const struct space_snapshot begin = {0}, end = {state->blocks, state->driver};
    return spaces_between(&begin, &end);
}

static json_t *device_to_json(const struct served_device *device, bool checks)
{
    struct serve_state state;
    server_state(device->server, checks, &state);
    const struct memory_counts counts = counts_of(&state);
    json_t *json = tree_object(), *counters = tree_object(), *serve = tree_object();
    tree_put(json, "id", tree_text(device->info->id));
    tree_put(json, "name", tree_text(device->info->name));
    tree_put(json, "requested_bytes", tree_count(state.blocks.requested_bytes));
    tree_put(json, "granted_bytes", tree_count(state.blocks.granted_bytes));
    tree_put(json, "reserved_bytes", tree_count(state.driver.reserved_bytes));
    tree_put(json, "live_count", tree_count(state.live_count));
    tree_put(json, "broken", checks ? tree_count(state.broken) : json_null());
#define X(name, unit, kind, better, help) tree_put(counters, #name, tree_count(counts.name));
    PEAK_LIST(X)
    MEMORY_CALL_LIST(X)
#undef X
    tree_put(counters, "driver_alloc_ns", tree_count(state.driver.alloc_ns));
    tree_put(counters, "driver_free_ns", tree_count(state.driver.free_ns));
#define X(name, help) tree_put(serve, #name, tree_count(state.serve.name));
    SERVE_LIST(X)
#undef X
    tree_put(json, "counters", counters);
    tree_put(json, "serve", serve);
    return json;
}

json_t *serve_statistics(const struct serve_settings *settings, const struct served_device *devices,
                         unsigned count, bool checks)
{
    json_t *json = tree_object(), *list = tree_array();
    tree_put(json, "strategy", tree_text(settings->strategy));
    for (unsigned i = 0; i < count; i++)
        tree_append(list, device_to_json(&devices[i], checks));
    tree_put(json, "devices", list);
    return json;
}

/* ---- the result file ---- */

/* A served run has the counters of a replay, and no times: the application's own are not known. */
static void add_round(const struct serve_settings *settings, const struct served_device *device,
                      unsigned earlier, struct result_draft *result)
{
    struct serve_state state;
    struct case_round round = {
        .status = CASE_ok, .check = CHECK_BLOCKS, .worst_error = NAN, .traffic_bytes = NAN};
    server_state(device->server, true, &state);
    const struct memory_counts counts = counts_of(&state);
    if (state.broken) {
        round.status = CASE_wrong;
        snprintf(round.reason, sizeof round.reason, "%u invariants of the strategy are broken",
                 state.broken);
    }
    memset(&round.cold, 0xff, sizeof round.cold); /* unknown */
    memset(&round.warm, 0xff, sizeof round.warm);
    memset(&round.cold_sample, 0xff, sizeof round.cold_sample);
#define X(name, unit, kind, better, help) round.cold.name = counts.name;
    PEAK_LIST(X)
    MEMORY_CALL_LIST(X)
#undef X
    struct case_key *key = &round.key;
    if (earlier)
        snprintf(key->workload, sizeof key->workload, "%.50s#%u", settings->name, earlier + 1);
    else
        snprintf(key->workload, sizeof key->workload, "%s", settings->name);
    snprintf(key->dataset, sizeof key->dataset, "%s", REPLAY_DATASET);
    snprintf(key->merge, sizeof key->merge, "none");
    snprintf(key->release, sizeof key->release, "%s", device->release);
    snprintf(key->strategy, sizeof key->strategy, "%.127s", settings->strategy);
    snprintf(key->device, sizeof key->device, "%s", device->info->id);
    result_add_round(result, &round);
}

/* The number of earlier servers of the same device. */
static unsigned earlier_of(const struct served_device *devices, unsigned i)
{
    unsigned count = 0;
    for (unsigned k = 0; k < i; k++)
        count += strcmp(devices[k].info->id, devices[i].info->id) == 0;
    return count;
}

int serve_write_result(const struct serve_settings *settings, const struct served_device *devices,
                       unsigned count, const char *path, struct error *error)
{
    char *argv[] = {program_invocation_short_name, NULL};
    const struct result_command run = {.argc = 1, .argv = argv, .rounds = 1};
    struct record_device *records = must_alloc((count + 1) * sizeof *records);
    struct result_draft result;
    unsigned record_count = 0;
    const int failed = result_create(&result, &run, error);
    if (failed) {
        free(records);
        return failed;
    }
    for (unsigned i = 0; i < count; i++)
        if (!earlier_of(devices, i)) {
            records[record_count] = device_record(devices[i].info);
            records[record_count++].used = true;
        }
    result_set_devices(&result, records, record_count);
    free(records);
    for (unsigned i = 0; i < count; i++)
        add_round(settings, &devices[i], earlier_of(devices, i), &result);
    result_finish(&result, RUN_COMPLETE);
    const int code = result_write(&result, path, error);
    result_free(&result);
    return code;
}
