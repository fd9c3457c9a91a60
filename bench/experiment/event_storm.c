/* The cost of driver events and queues, compared with the cost of allocating their bookkeeping
 * records in four ways.
 *
 *   driver   the device's own events: a batch of them is created, recorded on one queue, waited for
 *            by another queue, drained by the host and destroyed, again and again; and its own
 *            queues: some are created, events are recorded on each, all are drained and closed
 *   others   the records that a runtime keeps for them, without a driver (event_records.h)
 *
 * PoCL's documentation makes the claim that is tested: pools for queue and event objects help where
 * a huge number of them is created, and make no measurable difference elsewhere. A pool saves at
 * most what malloc takes longer than the pool; the experiment finds which part of an event that is.
 * The rows of a driver are whole events and queues, because its insides cannot be timed.
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
    STORM_COMMAND,
    STORM_COMMANDS,
    STORM_QUEUE
};
static const struct option_spec options[] = {
    [STORM_EVENTS] = {"events", OPTION_COUNT, "20000", NULL, 1, 10000000,
                      "events that each thread creates in a storm"},
    [STORM_LIVE] = {"live_most", OPTION_COUNT, "1024", NULL, 16, 1000000,
                    "most events under way at a time; 16 is measured too"},
    [STORM_DEPENDS] = {"depends", OPTION_COUNT, "2", NULL, 0, STORM_DEPENDS_MAX,
                       "earlier events that an event waits for; the driver's always wait for one"},
    [STORM_EACH_COUNT] = {"threads", OPTION_COUNT, "2", NULL, 1, 256,
                          "number of threads in rows where each has its own events"},
    [STORM_EVENT_BYTES] = {"event_bytes", OPTION_COUNT, "320", NULL, STORM_RECORD_BYTES, 65536,
                           "bytes of an event's record"},
    [STORM_COMMAND] = {"command_bytes", OPTION_COUNT, "512", NULL, STORM_RECORD_BYTES, 65536,
                       "bytes of the record of its command"},
    [STORM_COMMANDS] = {"commands", OPTION_COUNT, "4", NULL, 1, 1000,
                        "events on each queue, in rows of queues"},
    [STORM_QUEUE] = {"queue_bytes", OPTION_COUNT, "256", NULL, STORM_QUEUE_BYTES, 65536,
                     "bytes of a queue's record, in addition to the driver's 64"},
    {NULL, OPTION_COUNT, NULL, NULL, 0, 0, NULL},
};

enum { PARAMETER_OBJECTS, PARAMETER_RECORDS, PARAMETER_THREADS, PARAMETER_LIVE };
static const struct experiment_parameter parameters[] = {
    [PARAMETER_OBJECTS] = {"objects", false, UNIT_COUNT,
                           "events: all on queues that stay; queues: created and closed as well"},
    [PARAMETER_RECORDS] = {"records", false, UNIT_COUNT, "driver, fixed, malloc, slab, locked"},
    [PARAMETER_THREADS] = {"threads", false, UNIT_COUNT,
                           "alone: one; each: several, with events of their own; handed: one "
                           "creates, another completes"},
    [PARAMETER_LIVE] = {"live_events", true, UNIT_COUNT, "events under way at a time"},
    {NULL, false, UNIT_COUNT, NULL},
};

/* clang-format off */
#define METRIC_LIST(X)                                                                             \
    X(event_ns, NS, SAMPLED, LOWER, "rows of events: time of a thread's storm, over its events")              \
    X(queue_ns, NS, SAMPLED, LOWER, "rows of queues: time of a storm over its queues, with their events")  \
    X(create_ns, NS, SAMPLED, LOWER, "driver: the call that creates an event or queue")     \
    X(record_ns, NS, SAMPLED, LOWER, "driver: the call that records an event on a queue; rows of queues: all events of a queue") \
    X(wait_ns, NS, SAMPLED, LOWER, "driver: the call that makes another queue wait for the event")  \
    X(drain_ns, NS, SAMPLED, LOWER, "driver: the part of an event or queue in the host's wait for all queues")  \
    X(destroy_ns, NS, SAMPLED, LOWER, "driver: the call that destroys an event or queue")                \
    X(object_bytes, BYTES, EXACT, LOWER, "bytes of the records of an event with command and wait list; rows of queues: of a queue with its events")
/* clang-format on */
EXPERIMENT_METRICS(METRIC_LIST);

enum { REPEATS = 5, LEAST_LIVE = 16, PROBE_BYTES = 4096 };

struct storm_state {
    struct device *device;
    const struct device_ops *ops;
    struct experiment_settings settings;
};

static void storm_close(void *state)
{
    free(state);
}

static int storm_open(struct device *device, const struct experiment_settings *settings,
                      void **state, struct error *error)
{
    (void)error;
    struct storm_state *s = must_alloc(sizeof *s);
    *s = (struct storm_state){.device = device, .ops = device->ops, .settings = *settings};
    *state = s;
    return 0;
}

/* ---- the driver's events --------------------------------------------------------------------- */

/* Calls `call` for every event, on a queue, and adds the time of all calls to *ns. */
static int for_all(struct storm_state *s, unsigned queue, const uint64_t *events, uint64_t count,
                   int (*call)(struct storm_state *, uint64_t, struct error *), uint64_t *ns,
                   struct error *error)
{
    int code = s->ops->queues->use(s->device, queue, error);
    const uint64_t began = clock_ns();
    for (uint64_t i = 0; i < count && !code; i++)
        code = call(s, events[i], error);
    *ns += clock_ns() - began;
    return code;
}

static int record_event(struct storm_state *s, uint64_t event, struct error *error)
{
    return s->ops->events->record(s->device, event, error);
}

static int wait_for_event(struct storm_state *s, uint64_t event, struct error *error)
{
    return s->ops->events->wait(s->device, s->device, event, error);
}

struct phases {
    uint64_t create_ns, record_ns, wait_ns, drain_ns, destroy_ns;
};

/* Creates `count` events, uses each once and destroys them. */
static int event_batch(struct storm_state *s, uint64_t *events, uint64_t count,
                       struct phases *phases, struct error *error)
{
    uint64_t created = 0, began = clock_ns();
    int code = 0;
    while (created < count && !code) {
        code = s->ops->events->create(s->device, &events[created], error);
        created += code == 0;
    }
    phases->create_ns += clock_ns() - began;
    if (!code)
        code = for_all(s, 0, events, count, record_event, &phases->record_ns, error);
    if (!code)
        code = for_all(s, 1, events, count, wait_for_event, &phases->wait_ns, error);
    int back = s->ops->queues->use(s->device, 0, code ? NULL : error);
    began = clock_ns();
    if (!code)
        code = back ? back : s->ops->sync(s->device, error);
    phases->drain_ns += clock_ns() - began;
    began = clock_ns();
    for (uint64_t i = 0; i < created; i++)
        s->ops->events->destroy(s->device, events[i]);
    phases->destroy_ns += clock_ns() - began;
    return code;
}

/* Verifies that event_wait really blocks: the second queue copies the last value that the first one
 * writes. */
static int check_order(struct storm_state *s, uint64_t from, uint64_t to, struct error *error)
{
    uint64_t event;
    uint8_t got[PROBE_BYTES];
    int code = s->ops->events->create(s->device, &event, error);
    if (code)
        return code;
    for (unsigned byte = 1; byte < 100 && !code; byte++)
        code = s->ops->fill(s->device, from, 0, (uint8_t)byte, PROBE_BYTES, error);
    if (!code)
        code = s->ops->events->record(s->device, event, error);
    if (!code)
        code = s->ops->queues->use(s->device, 1, error);
    if (!code)
        code = s->ops->events->wait(s->device, s->device, event, error);
    if (!code)
        code = s->ops->copy(s->device, to, 0, from, 0, PROBE_BYTES, error);
    if (!code)
        code = s->ops->read(s->device, got, to, 0, PROBE_BYTES, error);
    int back = s->ops->queues->use(s->device, 0, code ? NULL : error);
    for (unsigned i = 0; i < PROBE_BYTES && !code; i++)
        if (got[i] != 99)
            code = error_set(error, ERR_WRONG, "a queue went on before the event it waits for");
    s->ops->events->destroy(s->device, event);
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

static void take_phases(struct experiment_record *record, enum metric whole, uint64_t began,
                        const struct phases *p, double all)
{
    experiment_take(record, whole, (double)(clock_ns() - began) / all);
    experiment_take(record, METRIC_create_ns, (double)p->create_ns / all);
    experiment_take(record, METRIC_record_ns, (double)p->record_ns / all);
    if (whole == METRIC_event_ns)
        experiment_take(record, METRIC_wait_ns, (double)p->wait_ns / all);
    experiment_take(record, METRIC_drain_ns, (double)p->drain_ns / all);
    experiment_take(record, METRIC_destroy_ns, (double)p->destroy_ns / all);
}

/* ---- the driver's queues --------------------------------------------------------------------- */

/* Creates some queues, puts the same number of events on each, and closes them. */
static int queue_batch(struct storm_state *s, const uint64_t *events, uint64_t queues,
                       struct phases *phases, struct error *error)
{
    const uint64_t commands = s->settings.options.value[STORM_COMMANDS];
    uint64_t began = 0;
    unsigned used = 0;
    int code = 0;
    while (used < queues && !code) {
        const uint64_t *of_queue = &events[used * commands];
        began = clock_ns();
        code = s->ops->queues->use(s->device, ++used, error);
        phases->create_ns += clock_ns() - began;
        if (!code)
            code = for_all(s, used, of_queue, commands, record_event, &phases->record_ns, error);
    }
    int end = s->ops->queues->use(s->device, 0, code ? NULL : error);
    code = code ? code : end;
    began = clock_ns();
    for (unsigned q = 1; q <= used; q++) {
        end = s->ops->queues->sync(s->device, q, code ? NULL : error);
        code = code ? code : end;
    }
    phases->drain_ns += clock_ns() - began;
    began = clock_ns();
    for (unsigned q = 1; q <= used; q++) {
        end = s->ops->queues->close(s->device, q, code ? NULL : error);
        code = code ? code : end;
    }
    phases->destroy_ns += clock_ns() - began;
    return code;
}

/* Times batches of `live` events, or of queues with that many events, REPEATS times over. */
static int run_batches(struct storm_state *s, bool of_queues, uint64_t live,
                       struct experiment_record *record, struct error *error)
{
    const uint64_t commands = s->settings.options.value[STORM_COMMANDS];
    const uint64_t queues = live <= commands                       ? 1
                            : live / commands >= DEVICE_QUEUES_MAX ? DEVICE_QUEUES_MAX - 1
                                                                   : live / commands;
    const uint64_t count = of_queues ? queues * commands : live;
    const uint64_t batches = (s->settings.options.value[STORM_EVENTS] + count - 1) / count;
    const double objects = (double)(batches * (of_queues ? queues : count));
    uint64_t *events = must_alloc(count * sizeof *events), created = 0;
    int code = 0;
    for (; of_queues && created < count && !code; created += code == 0)
        code = s->ops->events->create(s->device, &events[created], error);
    for (int repeat = 0; repeat < REPEATS && !code; repeat++) {
        struct phases p = {0};
        const uint64_t began = clock_ns();
        for (uint64_t b = 0; b < batches && !code; b++)
            code = of_queues ? queue_batch(s, events, queues, &p, error)
                             : event_batch(s, events, count, &p, error);
        take_phases(record, of_queues ? METRIC_queue_ns : METRIC_event_ns, began, &p, objects);
    }
    for (uint64_t i = 0; i < created; i++)
        s->ops->events->destroy(s->device, events[i]);
    free(events);
    return code;
}

static int driver_storm(struct storm_state *s, bool of_queues, uint64_t live,
                        struct experiment_record *record, struct error *error)
{
    if (!s->ops->events || !s->ops->queues)
        return error_set(error, ERR_UNSUPPORTED,
                         "%s has no events: its commands are done when they return",
                         device_info(s->device)->id);
    if (of_queues && !s->ops->queues->close)
        return error_set(error, ERR_UNSUPPORTED, "%s keeps its queues", device_info(s->device)->id);
    TRY(check_waits(s, error));
    return run_batches(s, of_queues, live, record, error);
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum objects { EVENTS, QUEUES, OBJECTS };
static const char *const object_names[] = {"events", "queues"};
static const char driver_name[] = "driver";

static int records_storm(struct storm_state *s, const struct experiment_row *row,
                         struct experiment_record *record, struct error *error)
{
    const uint64_t *value = s->settings.options.value;
    const bool of_queues =
        experiment_find_word(object_names, row->word[PARAMETER_OBJECTS]) == QUEUES;
    const struct event_storm storm = {
        .source = experiment_find_word(record_source_names, row->word[PARAMETER_RECORDS]),
        .threads = experiment_find_word(storm_threads_names, row->word[PARAMETER_THREADS]),
        .thread_count = (unsigned)value[STORM_EACH_COUNT],
        .depends = (unsigned)value[STORM_DEPENDS],
        .commands = of_queues ? value[STORM_COMMANDS] : 0,
        .events = value[STORM_EVENTS],
        .live = row->number[PARAMETER_LIVE],
        .event_bytes = value[STORM_EVENT_BYTES],
        .command_bytes = value[STORM_COMMAND],
        .queue_bytes = value[STORM_QUEUE],
    };
    const uint64_t event_bytes =
        storm.event_bytes + storm.command_bytes + (uint64_t)storm.depends * STORM_NODE_BYTES;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        struct event_storm_result result;
        int code = event_storm_run(&storm, &result, error);
        if (code)
            return code;
        experiment_take(record, of_queues ? METRIC_queue_ns : METRIC_event_ns,
                        of_queues ? result.queue_ns : result.event_ns);
        snprintf(record->digest, sizeof record->digest, "%016llx",
                 (unsigned long long)result.digest);
    }
    experiment_take(
        record, METRIC_object_bytes,
        (double)(of_queues ? storm.queue_bytes + STORM_DRIVER_BYTES + storm.commands * event_bytes
                           : event_bytes));
    return 0;
}

static int storm_measure(void *state, const struct experiment_row *row,
                         struct experiment_record *record, struct error *error)
{
    struct storm_state *s = state;
    if (strcmp(row->word[PARAMETER_RECORDS], driver_name) == 0)
        return driver_storm(
            s, experiment_find_word(object_names, row->word[PARAMETER_OBJECTS]) == QUEUES,
            row->number[PARAMETER_LIVE], record, error);
    return records_storm(s, row, record, error);
}

static void storm_add_row(struct experiment_plan *plan, enum objects objects, const char *records,
                          enum storm_threads threads, uint64_t live)
{
    struct experiment_row *row = experiment_add_row(plan);
    experiment_put_word(row, PARAMETER_OBJECTS, object_names[objects]);
    experiment_put_word(row, PARAMETER_RECORDS, records);
    experiment_put_word(row, PARAMETER_THREADS, storm_threads_names[threads]);
    row->number[PARAMETER_LIVE] = live;
}

static int check_bytes(const struct experiment_settings *settings, struct error *error)
{
    static const unsigned bytes[] = {STORM_EVENT_BYTES, STORM_COMMAND, STORM_QUEUE};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        if (settings->options.value[bytes[i]] % 8)
            return error_set(error, ERR_USAGE, "%s=%llu: records are multiples of 8 bytes",
                             options[bytes[i]].name,
                             (unsigned long long)settings->options.value[bytes[i]]);
    return 0;
}

static int storm_plan(const struct experiment_settings *settings, struct experiment_plan *out,
                      struct error *error)
{
    const uint64_t *value = settings->options.value;
    const uint64_t lives[] = {LEAST_LIVE, value[STORM_LIVE]};
    for (int objects = 0; objects < OBJECTS; objects++)
        for (int l = 0; l < (lives[1] > lives[0] ? 2 : 1); l++) {
            /* A device has few queues. */
            if (objects == EVENTS || l == 0)
                storm_add_row(out, objects, driver_name, STORM_ALONE, lives[l]);
            for (int threads = 0; threads < STORM_THREADS; threads++)
                for (int source = 0; source < RECORD_SOURCES; source++)
                    if (source != RECORDS_SLAB || threads != STORM_HANDED)
                        storm_add_row(out, objects, record_source_names[source], threads, lives[l]);
        }
    return check_bytes(settings, error);
}

const struct experiment experiment_event_storm = {
    .version = EXPERIMENT_API_VERSION,
    .name = "event-storm",
    .summary = "the cost of a driver's events and queues, and of their records by source of memory",
    .options = options,
    .parameters = parameters,
    .metrics = metrics,
    .metric_count = METRICS,
    .plan = storm_plan,
    .open = storm_open,
    .measure = storm_measure,
    .close = storm_close,
};
