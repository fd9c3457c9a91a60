/* What an event costs a driver, beside what its records cost by where they come from.
 *
 *   driver   the device's own events: so many are created, recorded on one queue and waited for by
 *            another, all are waited for by the host and destroyed, again and again
 *   others   the records that a runtime keeps of such events, without a driver (event_records.h)
 *
 * The claim that is measured is that of PoCL's document: pools for queue and event objects help
 * where a huge number of them is created, and make no measurable difference elsewhere. A pool saves
 * at most what malloc takes more than it; how much that is of an event is the answer. What lies
 * inside a driver is not seen: its rows are whole events.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "experiment/event_records.h"
#include "experiment/list.h"

enum {
    STORM_EVENTS,
    STORM_LIVE,
    STORM_DEPENDS,
    STORM_EACH_COUNT,
    STORM_EVENT_BYTES,
    STORM_COMMAND
};
static const struct option_spec options[] = {
    [STORM_EVENTS] = {"events", OPTION_COUNT, "20000", NULL, 1, 10000000,
                      "events of a storm, of each thread"},
    [STORM_LIVE] = {"live_most", OPTION_COUNT, "1024", NULL, 16, 1000000,
                    "events that are under way at a time; also 16"},
    [STORM_DEPENDS] = {"depends", OPTION_COUNT, "2", NULL, 0, STORM_DEPENDS_MAX,
                       "earlier events that an event waits for; of a driver's always one"},
    [STORM_EACH_COUNT] = {"threads", OPTION_COUNT, "2", NULL, 1, 256,
                          "threads, where each has its own events"},
    [STORM_EVENT_BYTES] = {"event_bytes", OPTION_COUNT, "320", NULL, STORM_RECORD_BYTES, 65536,
                           "bytes of an event's record"},
    [STORM_COMMAND] = {"command_bytes", OPTION_COUNT, "512", NULL, STORM_RECORD_BYTES, 65536,
                       "bytes of the record of its command"},
    {NULL, OPTION_COUNT, NULL, NULL, 0, 0, NULL},
};

enum { PARAMETER_RECORDS, PARAMETER_THREADS, PARAMETER_LIVE };
static const struct experiment_parameter parameters[] = {
    [PARAMETER_RECORDS] = {"records", false, UNIT_COUNT, "driver, fixed, malloc, slab, locked"},
    [PARAMETER_THREADS] = {"threads", false, UNIT_COUNT,
                           "alone: one; each: several, with events of their own; handed: one "
                           "creates, one completes"},
    [PARAMETER_LIVE] = {"live_events", true, UNIT_COUNT, "events under way at a time"},
    {NULL, false, UNIT_COUNT, NULL},
};

/* clang-format off */
#define METRIC_LIST(X)                                                                             \
    X(event_ns, NS, SAMPLED, LOWER, "time of a storm over its events, of a thread")                \
    X(create_ns, NS, SAMPLED, LOWER, "of a driver's event: the call that creates it")              \
    X(record_ns, NS, SAMPLED, LOWER, "... that records it on a queue")                             \
    X(wait_ns, NS, SAMPLED, LOWER, "... that makes another queue wait for it")                     \
    X(drain_ns, NS, SAMPLED, LOWER, "... its part of the host's wait for both queues")             \
    X(destroy_ns, NS, SAMPLED, LOWER, "... that destroys it")                                      \
    X(object_bytes, BYTES, EXACT, LOWER, "bytes of an event's records, its command's and its wait list's")
/* clang-format on */
EXPERIMENT_METRICS(METRIC_LIST);

enum { REPEATS = 5, LEAST_LIVE = 16, PROBE_BYTES = 4096 };

struct storm_state {
    struct device *device;
    const struct device_ops *ops;
    struct experiment_settings settings;
};

static void close_storm(void *state)
{
    free(state);
}

static int open_storm(struct device *device, const struct experiment_settings *settings,
                      void **state, struct error *error)
{
    (void)error;
    struct storm_state *s = must_alloc(sizeof *s);
    *s = (struct storm_state){.device = device, .ops = device->ops, .settings = *settings};
    *state = s;
    return 0;
}

/* ---- the driver's events ----------------------------------------------------------------------
 */

/* Calls `call` for every event, on a queue, and adds the time that takes to *ns. */
static int for_all(struct storm_state *s, unsigned queue, const uint64_t *events, uint64_t count,
                   int (*call)(struct storm_state *, uint64_t, struct error *), uint64_t *ns,
                   struct error *error)
{
    int code = s->ops->use_queue(s->device, queue, error);
    const uint64_t began = clock_ns();
    for (uint64_t i = 0; i < count && !code; i++)
        code = call(s, events[i], error);
    *ns += clock_ns() - began;
    return code;
}

static int record_event(struct storm_state *s, uint64_t event, struct error *error)
{
    return s->ops->event_record(s->device, event, error);
}

static int wait_for_event(struct storm_state *s, uint64_t event, struct error *error)
{
    return s->ops->event_wait(s->device, s->device, event, error);
}

struct phases {
    uint64_t create_ns, record_ns, wait_ns, drain_ns, destroy_ns;
};

/* So many events, from their creation to their end. */
static int batch(struct storm_state *s, uint64_t *events, uint64_t count, struct phases *phases,
                 struct error *error)
{
    uint64_t created = 0, began = clock_ns();
    int code = 0;
    while (created < count && !code) {
        code = s->ops->event_create(s->device, &events[created], error);
        created += code == 0;
    }
    phases->create_ns += clock_ns() - began;
    if (!code)
        code = for_all(s, 0, events, count, record_event, &phases->record_ns, error);
    if (!code)
        code = for_all(s, 1, events, count, wait_for_event, &phases->wait_ns, error);
    int back = s->ops->use_queue(s->device, 0, code ? NULL : error);
    began = clock_ns();
    if (!code)
        code = back ? back : s->ops->sync(s->device, error);
    phases->drain_ns += clock_ns() - began;
    began = clock_ns();
    for (uint64_t i = 0; i < created; i++)
        s->ops->event_destroy(s->device, events[i]);
    phases->destroy_ns += clock_ns() - began;
    return code;
}

/* A wait that does not wait would be cheap: what one queue writes last, the other one copies. */
static int check_order(struct storm_state *s, uint64_t from, uint64_t to, struct error *error)
{
    uint64_t event;
    uint8_t got[PROBE_BYTES];
    int code = s->ops->event_create(s->device, &event, error);
    if (code)
        return code;
    for (unsigned byte = 1; byte < 100 && !code; byte++)
        code = s->ops->fill(s->device, from, 0, (uint8_t)byte, PROBE_BYTES, error);
    if (!code)
        code = s->ops->event_record(s->device, event, error);
    if (!code)
        code = s->ops->use_queue(s->device, 1, error);
    if (!code)
        code = s->ops->event_wait(s->device, s->device, event, error);
    if (!code)
        code = s->ops->copy(s->device, to, 0, from, 0, PROBE_BYTES, error);
    if (!code)
        code = s->ops->read(s->device, got, to, 0, PROBE_BYTES, error);
    int back = s->ops->use_queue(s->device, 0, code ? NULL : error);
    for (unsigned i = 0; i < PROBE_BYTES && !code; i++)
        if (got[i] != 99)
            code = error_set(error, ERR_WRONG, "a queue went on before the event it waits for");
    s->ops->event_destroy(s->device, event);
    return code ? code : back;
}

static int check_waits(struct storm_state *s, struct error *error)
{
    uint64_t from, to;
    int code = s->ops->alloc(s->device, PROBE_BYTES, &from, error);
    if (code)
        return code;
    code = s->ops->alloc(s->device, PROBE_BYTES, &to, error);
    if (!code) {
        code = check_order(s, from, to, error);
        s->ops->free(s->device, to, PROBE_BYTES, NULL);
    }
    s->ops->free(s->device, from, PROBE_BYTES, NULL);
    return code;
}

static int driver_storm(struct storm_state *s, uint64_t live, struct experiment_record *record,
                        struct error *error)
{
    const uint64_t batches = (s->settings.options.value[STORM_EVENTS] + live - 1) / live;
    if (!s->ops->event_create || !s->ops->use_queue)
        return error_set(error, ERR_UNSUPPORTED,
                         "%s has no events: its commands are done when they return",
                         device_info(s->device)->id);
    uint64_t *events = must_alloc(live * sizeof *events);
    int code = check_waits(s, error);
    for (int repeat = 0; repeat < REPEATS && !code; repeat++) {
        struct phases p = {0};
        const double all = (double)(batches * live);
        const uint64_t began = clock_ns();
        for (uint64_t b = 0; b < batches && !code; b++)
            code = batch(s, events, live, &p, error);
        experiment_take(record, METRIC_event_ns, (double)(clock_ns() - began) / all);
        experiment_take(record, METRIC_create_ns, (double)p.create_ns / all);
        experiment_take(record, METRIC_record_ns, (double)p.record_ns / all);
        experiment_take(record, METRIC_wait_ns, (double)p.wait_ns / all);
        experiment_take(record, METRIC_drain_ns, (double)p.drain_ns / all);
        experiment_take(record, METRIC_destroy_ns, (double)p.destroy_ns / all);
    }
    free(events);
    return code;
}

/* ---- rows -------------------------------------------------------------------------------------
 */

static const char driver_name[] = "driver";

static unsigned find(const char *const *names, const char *name)
{
    unsigned i = 0;
    while (strcmp(names[i], name) != 0)
        i++;
    return i;
}

static int records_storm(struct storm_state *s, const struct experiment_row *row,
                         struct experiment_record *record, struct error *error)
{
    const uint64_t *value = s->settings.options.value;
    const struct event_storm storm = {
        .source = find(record_source_names, row->word[PARAMETER_RECORDS]),
        .threads = find(storm_threads_names, row->word[PARAMETER_THREADS]),
        .thread_count = (unsigned)value[STORM_EACH_COUNT],
        .depends = (unsigned)value[STORM_DEPENDS],
        .events = value[STORM_EVENTS],
        .live = row->number[PARAMETER_LIVE],
        .event_bytes = value[STORM_EVENT_BYTES],
        .command_bytes = value[STORM_COMMAND],
    };
    int code = 0;
    for (int repeat = 0; repeat < REPEATS && !code; repeat++) {
        struct event_storm_result result;
        code = event_storm_run(&storm, &result, error);
        if (code)
            return code;
        experiment_take(record, METRIC_event_ns, result.event_ns);
        snprintf(record->digest, sizeof record->digest, "%016llx",
                 (unsigned long long)result.digest);
    }
    experiment_take(record, METRIC_object_bytes,
                    (double)(storm.event_bytes + storm.command_bytes +
                             (uint64_t)storm.depends * STORM_NODE_BYTES));
    return 0;
}

static int measure(void *state, const struct experiment_row *row, struct experiment_record *record,
                   struct error *error)
{
    struct storm_state *s = state;
    if (strcmp(row->word[PARAMETER_RECORDS], driver_name) == 0)
        return driver_storm(s, row->number[PARAMETER_LIVE], record, error);
    return records_storm(s, row, record, error);
}

static void add_row(struct experiment_plan *plan, const char *records, enum storm_threads threads,
                    uint64_t live)
{
    struct experiment_row *row = experiment_add_row(plan);
    snprintf(row->word[PARAMETER_RECORDS], EXPERIMENT_WORD_MAX, "%s", records);
    snprintf(row->word[PARAMETER_THREADS], EXPERIMENT_WORD_MAX, "%s", storm_threads_names[threads]);
    row->number[PARAMETER_LIVE] = live;
}

static int plan(const struct experiment_settings *settings, struct experiment_plan *out,
                struct error *error)
{
    const uint64_t *value = settings->options.value;
    if (value[STORM_EVENT_BYTES] % 8 || value[STORM_COMMAND] % 8)
        return error_set(error, ERR_USAGE,
                         "event_bytes and command_bytes are %llu and %llu: give multiples of 8",
                         (unsigned long long)value[STORM_EVENT_BYTES],
                         (unsigned long long)value[STORM_COMMAND]);
    const uint64_t lives[] = {LEAST_LIVE, value[STORM_LIVE]};
    for (int l = 0; l < (lives[1] > lives[0] ? 2 : 1); l++) {
        add_row(out, driver_name, STORM_ALONE, lives[l]);
        for (int threads = 0; threads < STORM_THREADS; threads++)
            for (int source = 0; source < RECORD_SOURCES; source++)
                if (source != RECORDS_SLAB || threads != STORM_HANDED)
                    add_row(out, record_source_names[source], threads, lives[l]);
    }
    return 0;
}

const struct experiment experiment_event_storm = {
    .version = EXPERIMENT_API_VERSION,
    .name = "event-storm",
    .summary = "what a driver's event costs, and its records by where they come from",
    .options = options,
    .parameters = parameters,
    .metrics = metrics,
    .metric_count = METRICS,
    .plan = plan,
    .open = open_storm,
    .measure = measure,
    .close = close_storm,
};
