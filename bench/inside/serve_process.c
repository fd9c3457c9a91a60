#include "inside/serve_process.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/tree.h"
#include "device/device.h"
#include "results/file/draft.h"
#include "run/execute/device_source.h"
#include "run/execute/spaces.h"
#include "replay/plan.h"
#include "replay/cases.h"
#include "inside/server.h"

/* As in bench/cli/flags.h. */
enum { EXIT_SETTINGS = 2, EXIT_UNSERVED = 77 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows, while it changes */
static _Atomic bool has_begun;
static struct serve_settings settings;
static pid_t process;                        /* that began: one that forks off it serves nothing */
static uint64_t began_realtime_us, first_ns; /* first_ns: of the first request, by clock_ns */
static struct served_device *devices;
static unsigned count, capacity;
static void (*add_members)(json_t *statistics);

/* ---- the settings ---- */

static int copy(char *to, size_t size, const char *variable, struct error *error)
{
    const char *value = getenv(variable);
    to[0] = 0;
    if (!value)
        return 0;
    if (strlen(value) >= size)
        return error_set(error, ERR_USAGE, "%s has more than %zu characters", variable, size - 1);
    strcpy(to, value);
    return 0;
}

/* The same for a file: "%p" in its name stands for the process. One that uses both APIs writes two
 * files. */
static int copy_path(char *to, size_t size, const char *variable, enum serving_api api,
                     struct error *error)
{
    char number[32], after[4000];
    TRY(copy(to, size, variable, error));
    char *mark = strstr(to, "%p");
    if (!mark)
        return 0;
    snprintf(number, sizeof number, "%ld%s", (long)getpid(),
             api == SERVING_OPENCL ? "-opencl" : "");
    snprintf(after, sizeof after, "%s", mark + 2);
    if ((size_t)snprintf(mark, size - (size_t)(mark - to), "%s%s", number, after) >=
        size - (size_t)(mark - to))
        return error_set(error, ERR_USAGE, "%s has more than %zu characters", variable, size - 1);
    return 0;
}

static int read_capacity(uint64_t *bytes, struct error *error)
{
    const char *value = getenv("GAMUT_SERVE_CAPACITY");
    *bytes = 0;
    if (!value || !*value || text_to_bytes(value, bytes))
        return 0;
    return error_set(error, ERR_USAGE,
                     "GAMUT_SERVE_CAPACITY is '%.100s': a size such as 8GiB is "
                     "expected",
                     value);
}

static int read_settings(const char *strategy, enum serving_api api, struct serve_settings *s,
                         struct error *error)
{
    const char *debug = getenv("GAMUT_SERVE_DEBUG");
    *s = (struct serve_settings){.options.debug = debug && *debug && strcmp(debug, "0") != 0};
    TRY(copy(s->strategy, sizeof s->strategy, "GAMUT_SERVE", error));
    if (strategy && strlen(strategy) >= sizeof s->strategy)
        return error_set(error, ERR_USAGE, "the strategy has more than %zu characters",
                         sizeof s->strategy - 1);
    if (strategy)
        strcpy(s->strategy, strategy);
    if (!*s->strategy)
        strcpy(s->strategy, "caching");
    TRY(copy(s->record, sizeof s->record, "GAMUT_SERVE_RECORD", error));
    TRY(copy_path(s->result, sizeof s->result, "GAMUT_SERVE_RESULT", api, error));
    TRY(copy_path(s->statistics, sizeof s->statistics, "GAMUT_SERVE_STATISTICS", api, error));
    TRY(copy(s->name, sizeof s->name, "GAMUT_SERVE_NAME", error));
    if (!*s->name)
        snprintf(s->name, sizeof s->name, "%s", program_invocation_short_name);
    s->options.records = *s->record;
    TRY(read_capacity(&s->options.capacity_bytes, error));
    s->plans.make = plan_of_trace;
    const int code =
        serving_parse(&s->plans, s->strategy, api, &s->options.strategy, &s->options.values, error);
    if (code)
        error_prefix(error, "GAMUT_SERVE is '%s': ", s->strategy);
    return code;
}

_Noreturn void process_die(const struct error *error)
{
    fprintf(stderr, "gamut: serving: %s\n", error->text);
    switch (error->code) {
    case ERR_USAGE:
    case ERR_PARSE:
    case ERR_IO:
        _exit(EXIT_SETTINGS);
    case ERR_UNSUPPORTED:
        _exit(EXIT_UNSERVED);
    default:
        abort();
    }
}

/* ---- the statistics ---- */

static struct memory_counts counts_of(const struct serve_state *state)
{
    const struct space_snapshot begin = {0}, end = {state->blocks, state->driver};
    return spaces_between(&begin, &end);
}

static json_t *planned_to_json(const struct planned_counts *counts)
{
    json_t *json = tree_object();
#define X(name, help)                                                                              \
    tree_put(json, #name "_count", tree_count(counts->name##_count));                              \
    tree_put(json, #name "_bytes", tree_count(counts->name##_bytes));
    PLANNED_LIST(X)
#undef X
    return json;
}

static json_t *device_to_json(const struct served_device *device)
{
    struct serve_state state;
    server_state(device->server, true, &state);
    const struct memory_counts counts = counts_of(&state);
    json_t *json = tree_object(), *counters = tree_object(), *serve = tree_object();
    tree_put(json, "id", tree_text(device->info->id));
    tree_put(json, "name", tree_text(device->info->name));
    tree_put(json, "requested_bytes", tree_count(state.blocks.requested_bytes));
    tree_put(json, "granted_bytes", tree_count(state.blocks.granted_bytes));
    tree_put(json, "reserved_bytes", tree_count(state.driver.reserved_bytes));
    tree_put(json, "live_count", tree_count(state.live_count));
    tree_put(json, "broken", tree_count(state.broken));
#define X(name, unit, kind, better, help) tree_put(counters, #name, tree_count(counts.name));
    PEAK_LIST(X)
    MEMORY_CALL_LIST(X)
#undef X
    tree_put(counters, "driver_alloc_ns", tree_count_or_null(state.driver.alloc_ns));
    tree_put(counters, "driver_free_ns", tree_count_or_null(state.driver.free_ns));
#define X(name, help) tree_put(serve, #name, tree_count(state.serve.name));
    SERVE_LIST(X)
#undef X
    tree_put(json, "counters", counters);
    tree_put(json, "serve", serve);
    if (state.is_planned)
        tree_put(json, "planned", planned_to_json(&state.planned));
    return json;
}

char *process_statistics(void)
{
    json_t *json = tree_object(), *list = tree_array();
    tree_put(json, "strategy", tree_text(settings.strategy));
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count; i++)
        tree_append(list, device_to_json(&devices[i]));
    pthread_mutex_unlock(&lock);
    tree_put(json, "devices", list);
    tree_put(json, "process", tree_count((uint64_t)process));
    tree_put(json, "result", tree_text_or_null(*settings.result ? settings.result : NULL));
    tree_put(json, "began_realtime_us", tree_count(began_realtime_us));
    tree_put(json, "ran_ns", tree_count(count ? clock_ns() - first_ns : 0));
    if (add_members)
        add_members(json);
    char *text = json_dumps(json, JSON_INDENT(1));
    json_decref(json);
    return text;
}

/* ---- the result file ---- */

/* A served run has the counters of a replay, and no times: the application's own are not known. */
static void add_round(const struct served_device *device, unsigned earlier,
                      struct result_draft *result)
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
        snprintf(key->workload, sizeof key->workload, "%.50s#%u", settings.name, earlier + 1);
    else
        snprintf(key->workload, sizeof key->workload, "%s", settings.name);
    snprintf(key->dataset, sizeof key->dataset, "%s", REPLAY_DATASET);
    snprintf(key->merge, sizeof key->merge, "none");
    snprintf(key->release, sizeof key->release, "%s", device->release);
    snprintf(key->strategy, sizeof key->strategy, "%.127s", settings.strategy);
    snprintf(key->device, sizeof key->device, "%s", device->info->id);
    draft_add_round(result, &round);
}

/* The number of earlier servers of the same device. */
static unsigned earlier_of(unsigned i)
{
    unsigned earlier = 0;
    for (unsigned k = 0; k < i; k++)
        earlier += strcmp(devices[k].info->id, devices[i].info->id) == 0;
    return earlier;
}

/* With the lock held. */
static int write_result(const char *path, struct error *error)
{
    char *argv[] = {program_invocation_short_name, NULL};
    const struct result_command run = {.argc = 1, .argv = argv, .rounds = 1};
    struct record_device *records = must_alloc((count + 1) * sizeof *records);
    struct result_draft result;
    unsigned record_count = 0;
    const int failed = draft_create(&result, &run, error);
    if (failed) {
        free(records);
        return failed;
    }
    for (unsigned i = 0; i < count; i++)
        if (!earlier_of(i)) {
            records[record_count] = device_record(devices[i].info);
            records[record_count++].used = true;
        }
    draft_set_devices(&result, records, record_count);
    free(records);
    for (unsigned i = 0; i < count; i++)
        add_round(&devices[i], earlier_of(i), &result);
    draft_finish(&result, RUN_COMPLETE);
    const int code = draft_write(&result, path, error);
    draft_free(&result);
    return code;
}

int process_write_result(const char *path, struct error *error)
{
    pthread_mutex_lock(&lock);
    const int code = write_result(path, error);
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- begin and end ---- */

static bool write_statistics(const char *path)
{
    char *text = process_statistics();
    FILE *out = strcmp(path, "-") == 0 ? stderr : fopen(path, "w");
    if (!out)
        fprintf(stderr, "gamut: %s: %s\n", path, strerror(errno));
    else
        fprintf(out, "%s\n", text);
    if (out && out != stderr && fclose(out) != 0)
        fprintf(stderr, "gamut: %s could not be written: %s\n", path, strerror(errno));
    free(text);
    return out;
}

static void at_end(void)
{
    struct error error;
    if (getpid() != process)
        return;
    serve_record_end();
    /* Of a process that outlives the application, gamut serve has removed the folder. */
    if (*settings.statistics && !write_statistics(settings.statistics))
        return;
    if (*settings.result && process_write_result(settings.result, &error))
        fprintf(stderr, "gamut: %s\n", error.text);
}

static uint64_t realtime_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int process_begin(const char *strategy, enum serving_api api, struct error *error)
{
    if (atomic_load_explicit(&has_begun, memory_order_acquire))
        return strategy ? error_set(error, ERR_USAGE,
                                    "gamut serves already, under %s: one strategy serves a process",
                                    settings.strategy)
                        : 0;
    pthread_mutex_lock(&lock);
    int code = 0;
    if (!atomic_load(&has_begun)) {
        code = read_settings(strategy, api, &settings, error);
        if (!code && *settings.record)
            serve_record_open(settings.record, api == SERVING_CUDA ? "CUDA" : "OpenCL");
        process = getpid();
        began_realtime_us = realtime_us();
        if (!code)
            atexit(at_end);
        atomic_store_explicit(&has_begun, code == 0, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

const struct serve_settings *process_settings(void)
{
    return &settings;
}

void process_add(const struct served_device *served)
{
    pthread_mutex_lock(&lock);
    devices = must_grow(devices, count, &capacity, sizeof *devices);
    if (!count)
        first_ns = clock_ns();
    devices[count++] = *served;
    pthread_mutex_unlock(&lock);
}

void process_adds(void (*add)(json_t *statistics))
{
    add_members = add;
}
