#include "run/rounds/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/text.h"
#include "record/result/case_json.h"
#include "run/rounds/process.h"

/* Finding and measuring devices: a first call of a driver may compile for a minute. */
static const uint64_t devices_timeout_ns = 300000000000;

struct rounds {
    const struct selection *selection;
    const struct rounds_options *options;
    const struct rounds_watcher *watcher;
    char lost[1024]; /* which case lost its device in this round, a sentence */
    size_t known_count;
    struct known_answers *known;
};

static const struct case_key *key_at(const struct rounds *r, const struct items_state *state,
                                     size_t position)
{
    return &r->selection->cases[state->order[position]];
}

/* ---- answers that are known to be right ---------------------------------------------------- */

/* The reference of a large dataset takes longer than all rounds: one comparison a distinct answer
 * is enough, later rounds compare digests. */
static void learn_answer(struct rounds *r, const struct case_key *key,
                         const struct case_round *round)
{
    /* `key` outlives the round. */
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

/* ---- cases as items ------------------------------------------------------------------------ */

static json_t *job_of_rest(void *context, const struct items_state *state)
{
    const struct rounds *r = context;
    struct job job = {.file_count = r->selection->files.count,
                      .files = r->selection->files.items,
                      .round = r->options->first_round + state->round,
                      .options = r->options->measure,
                      .case_count = state->in_round - state->position,
                      .known_count = r->known_count,
                      .known = r->known,
                      .atlases = r->options->atlases};
    job.cases = must_alloc(job.case_count * sizeof *job.cases);
    for (size_t i = 0; i < job.case_count; i++)
        job.cases[i] = (struct job_case){.key = *key_at(r, state, state->position + i),
                                         .index = state->order[state->position + i],
                                         .slot = (unsigned)(state->position + i)};
    json_t *json = job_to_json(&job);
    free(job.cases);
    return json;
}

static void working(void *context, const struct items_state *state, bool begins)
{
    const struct rounds *r = context;
    (void)begins;
    r->watcher->working(r->watcher->context, state, key_at(r, state, state->position));
}

static enum case_status ended(void *context, const struct items_state *state, const json_t *line,
                              enum case_status status, const char *reason)
{
    struct rounds *r = context;
    const struct case_key *key = key_at(r, state, state->position);
    struct error error = {0};
    struct case_round round = {0};
    if (line && case_round_from_json(json_object_get(line, "round"), &round, &error)) {
        status = CASE_error;
        reason = error.text;
        line = NULL;
    }
    if (!line) {
        round = (struct case_round){.key = *key,
                                    .round = r->options->first_round + state->round,
                                    .slot = (unsigned)state->position,
                                    .status = status,
                                    .worst_error = NAN,
                                    .traffic_bytes = NAN};
        snprintf(round.reason, sizeof round.reason, "%.*s", (int)sizeof round.reason - 1,
                 status == CASE_skipped ? r->lost : reason);
    }
    if (json_is_true(json_object_get(line, "lost")))
        snprintf(r->lost, sizeof r->lost,
                 "not run in this round: %s/%s (%s, %s, %s) lost the device %s: %.*s",
                 key->workload, key->dataset, key->merge, key->release, key->strategy, key->device,
                 (int)strcspn(round.reason, "\n"), round.reason);
    learn_answer(r, key, &round);
    r->watcher->case_ended(r->watcher->context, state, &round);
    status = round.status;
    case_round_free(&round);
    return status;
}

static int round_ended(void *context, const struct items_state *state, struct error *error)
{
    const struct rounds *r = context;
    return r->watcher->round_ended(r->watcher->context, state, error);
}

int rounds_run(const struct selection *selection, const struct rounds_options *options,
               const struct rounds_watcher *watcher, bool *interrupted, struct error *error)
{
    struct rounds r = {.selection = selection, .options = options, .watcher = watcher};
    const struct items_options items = {.count = selection->case_count,
                                        .rounds = options->rounds,
                                        .first_round = options->first_round,
                                        .timeout_ns = options->timeout_ns,
                                        .seed = options->measure.seed};
    const struct items_hooks hooks = {.context = &r,
                                      .job = job_of_rest,
                                      .working = working,
                                      .ended = ended,
                                      .round_ended = round_ended};
    int code = items_run(&items, &hooks, interrupted, error);
    forget_answers(&r);
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
