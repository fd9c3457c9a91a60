#include "run/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "record/case_json.h"
#include "run/process.h"

/* How often a watcher hears that a case still runs. */
static const uint64_t quiet_ns = 500000000;
/* Finding and measuring devices: a first call of a driver may compile for a minute. */
static const uint64_t devices_timeout_ns = 300000000000;

/* A process whose device is lost has nothing more to say, but may hang in its driver. */
static const uint64_t lost_grace_ns = 2000000000;

struct rounds {
    const struct selection *selection;
    const struct rounds_options *options;
    const struct rounds_watcher *watcher;
    struct caught_signals signals;
    bool interrupted;
    bool *failed;    /* for each case of the selection */
    char lost[1024]; /* which case lost its device in this round, a sentence; "" for none */
    unsigned *order; /* of this round: positions -> indices of cases that have not failed */
    size_t known_count;
    struct known_answers *known;
    uint64_t round_started_ns;
    struct rounds_state state;
};

void rounds_order(uint64_t seed, unsigned round, size_t count, unsigned *order)
{
    struct random random = {random_split(seed, round)};
    for (size_t i = 0; i < count; i++)
        order[i] = (unsigned)i;
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(&random, i);
        unsigned swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

/* The number of the round among all of the result. */
static unsigned round_number(const struct rounds *r)
{
    return r->options->first_round + r->state.round;
}

static const struct case_key *key_at(const struct rounds *r, size_t position)
{
    return &r->selection->cases[r->order[position]];
}

/* ---- answers that are known to be right ---------------------------------------------------- */

/* The reference of a large dataset takes longer than all rounds: one comparison a distinct answer
 * is enough, later rounds compare digests. */
static void learn_answer(struct rounds *r, const struct case_round *round)
{
    if (round->status != CASE_ok || round->check != CHECK_REFERENCE)
        return;
    struct known_answers *k = NULL;
    for (size_t i = 0; i < r->known_count; i++)
        if (strcmp(r->known[i].workload, round->key.workload) == 0 &&
            strcmp(r->known[i].dataset, round->key.dataset) == 0)
            k = &r->known[i];
    if (!k) {
        r->known = must_realloc(r->known, (r->known_count + 1) * sizeof *r->known);
        k = &r->known[r->known_count++];
        const struct case_key *key = key_at(r, r->state.position); /* outlives the round */
        *k = (struct known_answers){.workload = key->workload, .dataset = key->dataset};
    }
    for (size_t i = 0; i < k->count; i++)
        if (k->digests[i] == round->digest)
            return;
    k->digests = must_realloc(k->digests, (k->count + 1) * sizeof *k->digests);
    k->digests[k->count++] = round->digest;
}

static void forget_answers(struct rounds *r)
{
    for (size_t i = 0; i < r->known_count; i++)
        free(r->known[i].digests);
    free(r->known);
}

/* ---- one round ----------------------------------------------------------------------------- */

static void update_time(struct rounds *r)
{
    r->state.round_ns = clock_ns() - r->round_started_ns;
}

static void end_case(struct rounds *r, const struct case_round *round)
{
    struct rounds_state *s = &r->state;
    s->done++;
    s->left--;
    if (round->status != CASE_ok && !r->lost[0]) {
        r->failed[r->order[s->position]] = true;
        s->left -= r->options->rounds - 1 - s->round;
        s->failed += round->status > CASE_skipped;
    }
    learn_answer(r, round);
    update_time(r);
    r->watcher->case_ended(r->watcher->context, s, round);
    s->position++;
}

/* Ends the case at the current position without a record of the worker's. */
static void end_case_with(struct rounds *r, enum case_status status, const char *reason)
{
    struct case_round round = {.key = *key_at(r, r->state.position),
                               .round = round_number(r),
                               .slot = (unsigned)r->state.position,
                               .status = status,
                               .worst_error = NAN,
                               .traffic_bytes = NAN};
    snprintf(round.reason, sizeof round.reason, "%s", reason);
    end_case(r, &round);
}

/* The device that a case was using does not answer any more. What comes after it in this round is
 * not run: on another of the machine's devices it might, but the numbers would be of a machine that
 * is recovering. It has done nothing wrong, and is run again in the next round. */
static void note_lost(struct rounds *r, size_t position, const char *reason)
{
    const struct case_key *key = key_at(r, position);
    snprintf(r->lost, sizeof r->lost,
             "not run in this round: %s/%s (%s, %s, %s) lost the device %s: %.*s", key->workload,
             key->dataset, key->merge, key->release, key->strategy, key->device,
             (int)strcspn(reason, "\n"), reason);
}

static void skip_rest(struct rounds *r)
{
    while (r->state.position < r->state.in_round)
        end_case_with(r, CASE_skipped, r->lost);
}

static json_t *job_of_rest(const struct rounds *r)
{
    const size_t first = r->state.position;
    struct job job = {.file_count = r->selection->files.count,
                      .files = r->selection->files.items,
                      .round = round_number(r),
                      .options = r->options->measure,
                      .case_count = r->state.in_round - first,
                      .known_count = r->known_count,
                      .known = r->known,
                      .atlases = r->options->atlases};
    job.cases = must_alloc(job.case_count * sizeof *job.cases);
    for (size_t i = 0; i < job.case_count; i++)
        job.cases[i] = (struct job_case){.key = *key_at(r, first + i),
                                         .index = r->order[first + i],
                                         .slot = (unsigned)(first + i)};
    json_t *json = job_to_json(&job);
    free(job.cases);
    return json;
}

/* What the worker that is being listened to has said. */
struct talk {
    bool started;   /* the case at the current position has */
    char why[1024]; /* the worker's own word on why it ends */
    uint64_t deadline_ns;
};

static void hear_line(struct rounds *r, struct talk *talk, const json_t *line)
{
    struct rounds_state *s = &r->state;
    const json_t *start = json_object_get(line, "start"), *done = json_object_get(line, "done");
    const json_t *index = start ? start : done;
    const char *why = json_string_value(json_object_get(line, "text"));
    talk->deadline_ns = clock_ns() + r->options->timeout_ns;
    if (why)
        snprintf(talk->why, sizeof talk->why, "%s", why);
    if (s->position == s->in_round || !index ||
        (unsigned)json_integer_value(index) != r->order[s->position])
        return;
    if (start) {
        talk->started = true;
        update_time(r);
        r->watcher->working(r->watcher->context, s, key_at(r, s->position));
        return;
    }
    struct error error = {0};
    struct case_round round = {0};
    const size_t position = s->position;
    if (case_round_from_json(json_object_get(line, "round"), &round, &error))
        end_case_with(r, CASE_error, error.text);
    else
        end_case(r, &round);
    if (json_is_true(json_object_get(line, "lost"))) {
        note_lost(r, position, round.reason);
        talk->deadline_ns = clock_ns() + lost_grace_ns;
    }
    case_round_free(&round);
    talk->started = false;
}

/* Listens until the worker ends, is late, or a signal comes. */
static enum process_event listen_to(struct rounds *r, struct process *process, struct talk *talk)
{
    talk->deadline_ns = clock_ns() + r->options->timeout_ns;
    for (;;) {
        uint64_t now = clock_ns(), until = now + quiet_ns;
        json_t *line;
        enum process_event event =
            process_wait(process, r->signals.descriptor,
                         until < talk->deadline_ns ? until : talk->deadline_ns, &line);
        if (event == PROCESS_LINE) {
            hear_line(r, talk, line);
            json_decref(line);
        } else if (event != PROCESS_QUIET || clock_ns() >= talk->deadline_ns) {
            return event;
        } else if (talk->started) {
            update_time(r);
            r->watcher->working(r->watcher->context, &r->state, key_at(r, r->state.position));
        }
    }
}

/* Runs the rest of the round in one worker. At least one case comes to its end, unless there was an
 * interruption. */
static int run_worker(struct rounds *r, struct error *error)
{
    struct process process;
    struct talk talk = {0};
    const size_t before = r->state.position;
    json_t *job = job_of_rest(r);
    int code = process_start(&process, job, error);
    json_decref(job);
    if (code)
        return code;
    enum process_event event = listen_to(r, &process, &talk);
    char how[128], reason[sizeof talk.why + 64], limit[32];
    if (event == PROCESS_INTERRUPT)
        r->interrupted |= process_release_signals(&r->signals);
    process_end(&process, how);
    if (r->interrupted || r->lost[0])
        return 0;
    const bool is_over = r->state.position == r->state.in_round;
    if (is_over || (!talk.started && r->state.position > before))
        return 0;
    if (event == PROCESS_QUIET) {
        snprintf(reason, sizeof reason, "no answer within %s",
                 text_ns(limit, (double)r->options->timeout_ns));
        end_case_with(r, CASE_timeout, reason);
    } else if (talk.why[0]) {
        end_case_with(r, CASE_error, talk.why);
    } else {
        snprintf(reason, sizeof reason, "the process %s", how);
        end_case_with(r, CASE_error, reason);
    }
    return 0;
}

static int run_round(struct rounds *r, struct error *error)
{
    struct rounds_state *s = &r->state;
    rounds_order(r->options->measure.seed, round_number(r), r->selection->case_count, r->order);
    s->in_round = 0;
    for (size_t i = 0; i < r->selection->case_count; i++)
        if (!r->failed[r->order[i]])
            r->order[s->in_round++] = r->order[i];
    s->position = 0;
    r->round_started_ns = clock_ns();
    int code = 0;
    r->lost[0] = 0;
    while (!code && !r->interrupted && !r->lost[0] && s->position < s->in_round)
        code = run_worker(r, error);
    if (!code && !r->interrupted)
        skip_rest(r);
    update_time(r);
    return code;
}

/* ---- the run ------------------------------------------------------------------------------- */

int rounds_run(const struct selection *selection, const struct rounds_options *options,
               const struct rounds_watcher *watcher, bool *interrupted, struct error *error)
{
    struct rounds r = {.selection = selection, .options = options, .watcher = watcher};
    r.failed = must_alloc(selection->case_count * sizeof *r.failed);
    r.order = must_alloc(selection->case_count * sizeof *r.order);
    r.state.left = selection->case_count * options->rounds;
    process_catch_signals(&r.signals);
    int code = 0;
    while (!code && !r.interrupted && r.state.round < options->rounds && r.state.left > 0) {
        code = run_round(&r, error);
        if (!code && !r.interrupted)
            code = watcher->round_ended(watcher->context, &r.state, error);
        r.state.round++;
    }
    r.interrupted |= process_release_signals(&r.signals);
    forget_answers(&r);
    free(r.order);
    free(r.failed);
    *interrupted = r.interrupted;
    return code;
}

/* ---- devices ------------------------------------------------------------------------------- */

static void hear_device(const json_t *line, struct found_device **devices, size_t *count,
                        struct text *missing, struct error *error)
{
    const json_t *device = json_object_get(line, "device");
    const json_t *code = json_object_get(line, "error");
    const char *api = json_string_value(json_object_get(line, "missing"));
    const char *why = json_string_value(json_object_get(line, "why"));
    struct found_device found;
    if (device && device_from_json(device, &found)) {
        *devices = must_realloc(*devices, (*count + 1) * sizeof **devices);
        (*devices)[(*count)++] = found;
    }
    if (api && missing)
        text_add(missing, "%s: %s\n", api, why ? why : "");
    if (code)
        error_set(error, (int)json_integer_value(code), "%s",
                  json_string_value(json_object_get(line, "text")));
}

int rounds_devices(const char *selectors, bool copy_rate, struct found_device **devices,
                   size_t *count, struct text *missing, struct error *error)
{
    *devices = NULL;
    *count = 0;
    struct error heard = {0};
    struct job job = {.devices = selectors, .copy_rate = copy_rate};
    struct process process;
    json_t *json = job_to_json(&job), *line;
    int code = process_start(&process, json, error);
    json_decref(json);
    if (code)
        return code;
    const uint64_t deadline_ns = clock_ns() + devices_timeout_ns;
    enum process_event event;
    while ((event = process_wait(&process, -1, deadline_ns, &line)) == PROCESS_LINE) {
        hear_device(line, devices, count, missing, &heard);
        json_decref(line);
    }
    char how[128];
    const bool late = event == PROCESS_QUIET;
    process_end(&process, how);
    if (heard.code)
        code = error_set(error, heard.code, "%s", heard.text);
    else if (late)
        code = error_set(error, ERR_DEVICE, "a driver does not answer: no list of devices");
    else if (strcmp(how, "exited with status 0") != 0)
        code = error_set(error, ERR_DEVICE, "the process that asked for the devices %s", how);
    if (code) {
        free(*devices);
        *devices = NULL;
        *count = 0;
    }
    return code;
}
