#include "run/predict/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/arena.h"
#include "base/sort.h"
#include "run/execute/device_source.h"
#include "run/predict/model.h"
#include "run/execute/spaces.h"

enum {
    REPEATS_MAX = 5,      /* most runs of each kind; the profile has their medians */
    EVENTS_MAX = 4000000, /* some 150 bytes each */
    SHORT_QUEUE = 500,    /* with so few queued commands a launch never waits for a place */
    REPLAYS = 3,          /* the strategy's own work is timed in each */
    LOOKS_MAX = 32,
};
static const uint64_t enough_ns = 100000000; /* for the runs of a kind */

/* The last looks at the host's pace: how long lives of pace_sizes took. */
struct looks {
    unsigned count;
    uint64_t ns[PACE_SIZES][LOOKS_MAX]; /* a ring */
};

struct profile {
    struct profile *next;
    struct case_key key; /* without strategy and device */
    struct run_log trace;
    struct looks looks; /* while the host's times were recorded */
    int status;
    struct error error;
};

struct predictor {
    struct device *device;
    const struct atlas *atlas;
    struct profile *profiles;
    struct looks looks; /* while the case was sampled */
};

struct predictor *predictor_open(struct device *device, const struct atlas *atlas)
{
    struct predictor *p = must_alloc(sizeof *p);
    *p = (struct predictor){.device = device, .atlas = atlas};
    return p;
}

void predictor_close(struct predictor *p)
{
    while (p && p->profiles) {
        struct profile *next = p->profiles->next;
        run_log_close(&p->profiles->trace);
        free(p->profiles);
        p->profiles = next;
    }
    free(p);
}

/* ---- the host's pace ------------------------------------------------------------------------- */

/* A CPU's commands are the host's work too, and its memory is the program's: the atlas stands as it
 * is. */
static void look(const struct predictor *p, struct looks *looks)
{
    uint64_t ns[PACE_SIZES];
    if (p->device->info->kind != DEVICE_GPU)
        return;
    for (int i = 0; i < PACE_SIZES; i++)
        if (pace_life(p->device, pace_sizes[i], PACE_LIVES, &ns[i], NULL))
            return;
    for (int i = 0; i < PACE_SIZES; i++)
        looks->ns[i][looks->count % LOOKS_MAX] = ns[i];
    looks->count++;
}

void predictor_begin(struct predictor *p)
{
    p->looks.count = 0;
}

void predictor_look(struct predictor *p)
{
    look(p, &p->looks);
}

/* The median of the looks; unknown without any. */
static struct pace pace_of(const struct predictor *p, const struct looks *looks)
{
    uint64_t ns[PACE_SIZES], sorted[LOOKS_MAX];
    const unsigned count = looks->count < LOOKS_MAX ? looks->count : LOOKS_MAX;
    if (count == 0)
        return (struct pace){0};
    for (int i = 0; i < PACE_SIZES; i++) {
        memcpy(sorted, looks->ns[i], count * sizeof *sorted);
        sort_u64(sorted, count);
        ns[i] = sorted[count / 2];
    }
    return pace_against(p->atlas, ns);
}

/* The model of the device, at the pace of the looks. */
static struct model model_at(const struct predictor *p, const struct profile *profile,
                             uint64_t capacity_bytes, const struct looks *looks)
{
    const struct pace now = pace_of(p, looks), then = pace_of(p, &profile->looks);
    struct model m = model_of(p->atlas, p->device, capacity_bytes);
    m.device.pace = now;
    if (now.is_known && then.is_known)
        m.host_factor = pace_at(&now, 0) / pace_at(&then, 0);
    return m;
}

/* ---- runs that are recorded ------------------------------------------------------------------ */

/* The state of making a profile. */
struct profiling {
    struct predictor *predictor;
    const struct prediction_request *request;
    struct profile *profile;
    struct source source;
    struct allocator allocator;
    bool is_plain;       /* runs are not recorded */
    uint64_t run_ns;     /* time of the last run on the host */
    uint64_t elapsed_ns; /* time of the last run on the device */
};

/* ns - part, at least 0; ns if the part is unknown. */
static uint64_t subtract(uint64_t ns, double part)
{
    return isnan(part) ? ns : (double)ns > part ? (uint64_t)((double)ns - part) : 0;
}

/* Runs the program once and records it. `ns` receives the times of the commands and *count their
 * number; NULL: commands are not timed. */
static int recorded_run(struct profiling *w, uint64_t *ns, unsigned *count)
{
    struct device *d = w->predictor->device;
    struct run_log *t = &w->profile->trace;
    struct executor *e = w->request->executor;
    struct error *error = &w->profile->error;
    bool marked = false, begun = false;
    if (!w->is_plain)
        run_log_restart(t);
    struct allocator *const allocators[SPACES] = {[SPACE_DEVICE] = &w->allocator};
    int code = executor_begin(e, allocators, w->request->arguments, false, error);
    THEN(code, d->ops->sync(d, error));
    if (!code && ns) {
        code = d->ops->profile->begin(d, *count, error);
        begun = !code;
        t->profiled = begun ? d : NULL;
    }
    uint64_t start_ns = clock_ns();
    THEN(code, !ns ? d->ops->mark(d, MARK_START, error) : 0);
    THEN(code, executor_run(e, error));
    THEN(code, !ns ? d->ops->mark(d, MARK_END, error) : 0);
    THEN(code, d->ops->sync(d, error));
    w->run_ns = clock_ns() - start_ns;
    THEN(code, !ns ? d->ops->elapsed_ns(d, &w->elapsed_ns, error) : 0);
    t->profiled = NULL;
    if (begun)
        ALSO(code, d->ops->profile->end(d, code ? NULL : ns, count, &marked, code ? NULL : error));
    executor_end(e);
    double mark_ns = 0;
    if (!code && marked &&
        atlas_cost_ns(w->predictor->atlas, "command", "mark_device", 0, &mark_ns))
        for (unsigned i = 0; i < *count; i++)
            ns[i] = subtract(ns[i], mark_ns);
    return code;
}

static unsigned count_commands(const struct run_log *t)
{
    unsigned count = 0;
    for (size_t i = t->run_begin; i < t->run_end; i++)
        count += trace_is_command(t->events[i].kind);
    return count;
}

/* The first run warms the allocator and shows how much room a trace needs. */
static int make_room(struct profiling *w)
{
    struct run_log *t = &w->profile->trace;
    unsigned blocks = executor_block_capacity(w->request->executor);
    run_log_open(t, 0, 0, blocks);
    executor_record(w->request->executor, t);
    TRY(recorded_run(w, NULL, NULL));
    size_t events = t->event_count, uses = t->use_count;
    if (events > EVENTS_MAX)
        return error_set(&w->profile->error, ERR_UNSUPPORTED,
                         "a run has %zu events, a trace takes %d", events, EVENTS_MAX);
    run_log_close(t);
    run_log_open(t, events, uses, blocks);
    return 0;
}

static int same_run(struct profiling *w, size_t events)
{
    struct run_log *t = &w->profile->trace;
    if (run_log_fits(t) && (!events || t->event_count == events))
        return 0;
    return error_set(&w->profile->error, ERR_UNSUPPORTED,
                     "two runs of the program did not do the same");
}

/* ---- medians over runs ----------------------------------------------------------------------- */

/* Sorts, and returns the median: of two middle values the lower one, because disturbances make
 * times longer. */
static uint64_t lower_median(uint64_t *ns, size_t count)
{
    sort_u64(ns, count);
    return ns[(count - 1) / 2];
}

/* Leaves in ns[0 .. count) the medians of `repeats` rows of `count`. */
static void medians_of_rows(uint64_t *ns, size_t count, unsigned repeats)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t values[REPEATS_MAX];
        for (unsigned r = 0; r < repeats; r++)
            values[r] = ns[r * count + i];
        ns[i] = lower_median(values, repeats);
    }
}

/* A call that finds the queue full waits for a place in it. So all calls of a kernel get the median
 * time of those that came early. */
static void level_calls(struct run_log *t)
{
    uint64_t *early = must_alloc(t->event_count * sizeof *early);
    bool *done = must_alloc(t->event_count * sizeof *done);
    for (size_t i = t->run_begin; i < t->run_end; i++) {
        const struct trace_event *event = &t->events[i];
        if (!trace_is_command(event->kind) || done[i])
            continue;
        size_t early_count = 0, queued = 0;
        for (size_t j = t->run_begin; j < t->run_end; j++) {
            const struct trace_event *other = &t->events[j];
            queued = other->kind == TRACE_read ? 0 : queued + trace_is_command(other->kind);
            if (other->kind == event->kind && other->name == event->name && queued < SHORT_QUEUE)
                early[early_count++] = other->call_ns;
        }
        uint64_t call_ns = early_count ? lower_median(early, early_count) : UNKNOWN_NS;
        for (size_t j = i; j < t->run_end; j++) {
            struct trace_event *other = &t->events[j];
            done[j] |= other->kind == event->kind && other->name == event->name;
            if (other->kind == event->kind && other->name == event->name && early_count)
                other->call_ns = call_ns;
        }
    }
    free(early);
    free(done);
}

/* ---- a profile ------------------------------------------------------------------------------- */

/* The host time of the program's own work before an event. */
static uint64_t gap_before(const struct run_log *t, size_t i)
{
    return trace_begin_ns(&t->events[i]) - (i ? trace_end_ns(&t->events[i - 1]) : 0);
}

/* Moves the events to where they have these gaps before them. */
static void set_gaps(struct run_log *t, const uint64_t *gaps)
{
    uint64_t ended_ns = 0;
    for (size_t i = 0; i < t->event_count; i++) {
        struct trace_event *e = &t->events[i];
        e->time_ns = trace_time_ns(e->kind, ended_ns + gaps[i], e->call_ns);
        ended_ns = trace_end_ns(e);
    }
}

static int record_host_times(struct profiling *w)
{
    struct run_log *t = &w->profile->trace;
    size_t count = t->event_capacity;
    uint64_t *before = must_alloc(REPEATS_MAX * count * sizeof *before);
    uint64_t *call = must_alloc(REPEATS_MAX * count * sizeof *call);
    uint64_t least_elapsed_ns = UINT64_MAX;
    unsigned repeats = 0;
    uint64_t spent_ns = 0;
    int code = 0;
    while (!code && repeats < REPEATS_MAX && spent_ns < enough_ns) {
        code = recorded_run(w, NULL, NULL);
        least_elapsed_ns = smaller(least_elapsed_ns, w->elapsed_ns);
        THEN(code, same_run(w, count));
        for (size_t i = 0; i < count && !code; i++) {
            before[repeats * count + i] = gap_before(t, i);
            call[repeats * count + i] = t->events[i].call_ns;
        }
        spent_ns += w->run_ns;
        repeats++;
        look(w->predictor, &w->profile->looks);
    }
    if (!code) {
        medians_of_rows(before, count, repeats);
        medians_of_rows(call, count, repeats);
        w->elapsed_ns = least_elapsed_ns;
        double timer_ns = w->predictor->atlas->timer_ns; /* each span has one reading in it */
        for (size_t i = 0; i < count; i++) {
            before[i] = subtract(before[i], timer_ns);
            t->events[i].call_ns = subtract(call[i], timer_ns);
        }
        level_calls(t);
        set_gaps(t, before);
    }
    free(before);
    free(call);
    return code;
}

/* The commands of a run come one after the other, so together they cannot take longer than the
 * shortest untimed run. The excess is the cost of timing, which is the same for each command. */
static void take_off_timing(uint64_t *ns, unsigned count, uint64_t elapsed_ns)
{
    for (unsigned round = 0; round < 8; round++) { /* a short command has less to give */
        uint64_t sum_ns = 0, left = 0;
        for (unsigned i = 0; i < count; i++) {
            sum_ns += ns[i];
            left += ns[i] > 0;
        }
        if (sum_ns <= elapsed_ns || left == 0)
            return;
        for (unsigned i = 0; i < count; i++)
            ns[i] = subtract(ns[i], (double)(sum_ns - elapsed_ns) / (double)left);
    }
}

/* Records the commands' times on the device, and keeps the host's times of the trace. */
static int record_device_times(struct profiling *w)
{
    struct run_log *t = &w->profile->trace, timed = *t;
    const unsigned commands = count_commands(t);
    struct device *d = w->predictor->device;
    const uint64_t elapsed_ns = w->elapsed_ns;
    if (!d->ops->profile)
        return error_set(&w->profile->error, ERR_UNSUPPORTED,
                         "the device does not time single commands");
    uint64_t *ns = must_alloc(REPEATS_MAX * (size_t)commands * sizeof *ns);
    uint64_t spent_ns = 0;
    unsigned repeats = 0;
    int code = 0;
    run_log_open(t, timed.event_capacity, timed.use_capacity, timed.block_capacity);
    while (!code && repeats < REPEATS_MAX && spent_ns < enough_ns) {
        unsigned count = commands;
        code = recorded_run(w, ns + (size_t)repeats * commands, &count);
        THEN(code, same_run(w, timed.event_count));
        THEN(code, count != commands
                       ? error_set(&w->profile->error, ERR_UNSUPPORTED,
                                   "the device timed %u of %u commands", count, commands)
                       : 0);
        spent_ns += w->run_ns;
        repeats++;
    }
    run_log_close(t);
    *t = timed;
    if (!code) {
        medians_of_rows(ns, commands, repeats);
        take_off_timing(ns, commands, elapsed_ns);
        for (size_t i = t->run_begin, c = 0; i < t->run_end; i++)
            if (trace_is_command(t->events[i].kind))
                t->events[i].device_ns = ns[c++];
    }
    free(ns);
    return code;
}

/* ---- commands that take less time than the device says --------------------------------------- */

/* Runs the program as it is. *least_ns receives the shortest time on the host, without the mark
 * that the model does not know of; looks at the pace meanwhile. */
static int time_plain_runs(struct profiling *w, uint64_t *least_ns, struct looks *looks)
{
    uint64_t spent_ns = 0;
    double mark_ns = NAN;
    int code = 0;
    *least_ns = UINT64_MAX;
    executor_record(w->request->executor, NULL);
    w->is_plain = true;
    for (unsigned i = 0; i < REPEATS_MAX && spent_ns < enough_ns && !code; i++) {
        code = recorded_run(w, NULL, NULL);
        *least_ns = smaller(*least_ns, w->run_ns);
        spent_ns += w->run_ns;
        look(w->predictor, looks);
    }
    w->is_plain = false;
    atlas_cost_ns(w->predictor->atlas, "command", "mark", 0, &mark_ns);
    *least_ns = subtract(*least_ns, mark_ns);
    return code;
}

/* A CPU's commands are the host's work, which the profile's runs and the plain ones share alike. */
static int fit_device_times(struct profiling *w, const struct allocator_ops *strategy,
                            const struct option_values *options)
{
    struct predictor *p = w->predictor;
    struct looks looks = {0};
    uint64_t plain_ns;
    if (p->device->info->kind != DEVICE_GPU)
        return 0;
    TRY(time_plain_runs(w, &plain_ns, &looks));
    const struct model m = model_at(p, w->profile, w->request->capacity_bytes, &looks);
    return model_fit(&m, &w->profile->trace, strategy, options, plain_ns, &w->profile->error);
}

static int record_profile(struct profiling *w)
{
    const struct allocator_ops *pool;
    struct option_values options;
    struct error *error = &w->profile->error;
    TRY(allocator_parse("pool", &pool, &options, error));
    w->source = device_source(w->predictor->device, w->request->capacity_bytes);
    TRY(allocator_open(&w->allocator, pool, &options, &w->source, error));
    int code = make_room(w);
    THEN(code, record_host_times(w));
    THEN(code, record_device_times(w));
    THEN(code, fit_device_times(w, pool, &options));
    executor_record(w->request->executor, NULL);
    allocator_close(&w->allocator);
    return code;
}

static const struct profile *profile_of(struct predictor *p,
                                        const struct prediction_request *request)
{
    const struct case_key *key = request->key;
    for (struct profile *f = p->profiles; f; f = f->next)
        if (strcmp(f->key.workload, key->workload) == 0 &&
            strcmp(f->key.dataset, key->dataset) == 0 && strcmp(f->key.merge, key->merge) == 0 &&
            strcmp(f->key.release, key->release) == 0)
            return f;
    struct profile *f = must_alloc(sizeof *f);
    f->key = *key;
    f->next = p->profiles;
    p->profiles = f;
    struct profiling work = {.predictor = p, .request = request, .profile = f};
    f->status = record_profile(&work);
    return f;
}

/* ---- predictions ----------------------------------------------------------------------------- */

static struct case_model no_prediction(const char *why_not)
{
    struct case_model model = {.asked = true};
#define X(name, help) model.name = UNKNOWN_NS;
    MODEL_LIST(X)
#undef X
    snprintf(model.why_not, sizeof model.why_not, "%.255s", why_not);
    return model;
}

int predictor_predict(struct predictor *p, const struct prediction_request *request,
                      struct case_model *model)
{
    for (int s = SPACE_DEVICE + 1; s < SPACES; s++)
        if (spaces_used(request->fun, (enum space)s)) {
            *model = no_prediction(
                "the program has memory in another space, and the atlas knows how long "
                "device memory takes alone");
            return 0;
        }
    const struct profile *profile = profile_of(p, request);
    struct error error = profile->error;
    const struct model m = model_at(p, profile, request->capacity_bytes, &p->looks);
    struct case_model replays[REPLAYS];
    int code = profile->status;
    for (unsigned i = 0; i < REPLAYS && !code; i++) {
        code = model_predict(&m, &profile->trace, request->strategy, request->options, &replays[i],
                             &error);
        /* Takes the median: replays differ in the time of the strategy's own work alone. */
        for (unsigned j = i; j > 0 && replays[j].predicted_ns < replays[j - 1].predicted_ns; j--) {
            struct case_model swap = replays[j];
            replays[j] = replays[j - 1];
            replays[j - 1] = swap;
        }
    }
    *model = code ? no_prediction(error.text) : replays[REPLAYS / 2];
    return code == ERR_DEVICE_LOST ? code : 0;
}
