#include "run/rounds/rounds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "results/facts/case.h"
#include "run/select/device_group.h"

/* ---- the parent's side ----------------------------------------------------------------------- */

struct rounds {
    const struct selection *selection;
    const struct rounds_options *options;
    const struct rounds_watcher *watcher;
    char lost[1024]; /* a sentence that names the case that lost its device in this round */
    json_t *known;   /* see known_name */
    /* By data_name: data that had an answer on a device; the reason why other data is not tried
     * there any more. */
    json_t *answered, *too_slow;
};

/* ---- data that a device is too slow for ---- */

/* A time-out says nothing about one strategy alone if no case has answered on this data yet: then
 * the device is too slow for the data, and each further case would wait as long. */
static const char *data_name(const struct case_key *key, char name[512])
{
    snprintf(name, 512, "%s/%s on %s", key->workload, key->dataset, key->device);
    return name;
}

static void judge_data(struct rounds *r, const struct case_round *round)
{
    const struct case_key *key = &round->key;
    char name[512];
    struct text reason = {0};
    data_name(key, name);
    if (round->status == CASE_ok || round->status == CASE_wrong)
        tree_put(r->answered, name, json_true());
    /* Cases to which rounds are added have answered before. */
    if (round->status != CASE_timeout || r->options->first_round > 0 ||
        json_object_get(r->answered, name) || json_object_get(r->too_slow, name))
        return;
    text_add(&reason,
             "not run: the first case of %s (%s, %s, %s) gave %s; allow more with --timeout", name,
             key->merge, key->release, key->strategy, round->reason);
    tree_put(r->too_slow, name, tree_text(reason.data));
    text_free(&reason);
}

static const char *case_unwanted(void *context, size_t number)
{
    const struct rounds *r = context;
    char name[512];
    return json_string_value(
        json_object_get(r->too_slow, data_name(&r->selection->cases[number], name)));
}

/* ---- cases ---- */

/* The name of an array with the digests of answers that were equal to the reference, as 16
 * hexadecimal digits each. The reference of a large dataset takes longer than all rounds: each
 * distinct answer is compared with it once, later rounds compare digests. */
static const char *known_name(const struct case_key *key, char name[256])
{
    snprintf(name, 256, "%s/%s", key->workload, key->dataset);
    return name;
}

static const struct case_key *key_at(const struct rounds *r, const struct items_state *state,
                                     size_t position)
{
    return &r->selection->cases[state->order[position]];
}

static void learn_answer(struct rounds *r, const struct case_round *round)
{
    char name[256], digest[17];
    size_t i;
    json_t *each, *digests = json_object_get(r->known, known_name(&round->key, name));
    if (round->status != CASE_ok || round->check != CHECK_REFERENCE)
        return;
    if (!digests) {
        digests = tree_array();
        tree_put(r->known, name, digests);
    }
    snprintf(digest, sizeof digest, "%016" PRIx64, round->digest);
    json_array_foreach(digests, i, each)
    {
        if (strcmp(json_string_value(each), digest) == 0)
            return;
    }
    tree_append(digests, tree_text(digest));
}

static json_t *job_of_rest(void *context, const struct items_state *state)
{
    const struct rounds *r = context;
    const struct measure_options *o = &r->options->measure;
    json_t *job = tree_object(), *files = tree_array(), *keys = tree_array();
    for (size_t i = 0; i < r->selection->files.count; i++)
        tree_append(files, tree_text(r->selection->files.items[i]));
    for (size_t i = state->position; i < state->in_round; i++)
        tree_append(keys, case_key_to_json(key_at(r, state, i)));
#define X(name) tree_put(job, #name, tree_count(o->name));
    MEASURE_NUMBER_LIST(X)
#undef X
    tree_put(job, "files", files);
    tree_put(job, "keys", keys);
    tree_put(job, "known", json_incref(r->known));
    if (r->options->atlases)
        tree_put(job, "atlases", json_incref(r->options->atlases));
    return job;
}

static void case_working(void *context, const struct items_state *state, bool begins)
{
    const struct rounds *r = context;
    r->watcher->working(r->watcher->context, state, key_at(r, state, state->position));
}

static enum case_status case_ended(void *context, const struct items_state *state,
                                   const json_t *line, enum case_status status, const char *reason)
{
    struct rounds *r = context;
    const struct case_key *key = key_at(r, state, state->position);
    struct case_round round;
    items_case_round(key, r->options->first_round + state->round, state->position, line, status,
                     status == CASE_skipped && *r->lost ? r->lost : reason, &round);
    if (json_is_true(json_object_get(line, "lost")))
        snprintf(r->lost, sizeof r->lost,
                 "not run in this round: %s/%s (%s, %s, %s) lost the device %s: %.*s",
                 key->workload, key->dataset, key->merge, key->release, key->strategy, key->device,
                 (int)strcspn(round.reason, "\n"), round.reason);
    learn_answer(r, &round);
    judge_data(r, &round);
    r->watcher->case_ended(r->watcher->context, state, &round);
    status = round.status;
    case_round_free(&round);
    return status;
}

static int cases_round_ended(void *context, const struct items_state *state, struct error *error)
{
    struct rounds *r = context;
    r->lost[0] = 0;
    return r->watcher->round_ended(r->watcher->context, state, error);
}

int rounds_run(const struct selection *selection, const struct rounds_options *options,
               const struct rounds_watcher *watcher, bool *interrupted, struct error *error)
{
    struct rounds r = {.selection = selection,
                       .options = options,
                       .watcher = watcher,
                       .known = tree_object(),
                       .answered = tree_object(),
                       .too_slow = tree_object()};
    const struct items_options items = {.count = selection->case_count,
                                        .rounds = options->rounds,
                                        .first_round = options->first_round,
                                        .timeout_ns = options->timeout_ns,
                                        .seed = options->measure.seed};
    const struct items_hooks hooks = {.context = &r,
                                      .kind = "cases",
                                      .job = job_of_rest,
                                      .working = case_working,
                                      .ended = case_ended,
                                      .unwanted = case_unwanted,
                                      .round_ended = cases_round_ended};
    int code = items_run(&items, &hooks, interrupted, error);
    json_decref(r.known);
    json_decref(r.answered);
    json_decref(r.too_slow);
    return code;
}

/* ---- the worker's side ----------------------------------------------------------------------- */

struct open_device {
    struct case_key key;   /* key of its first case; only device and residency matter */
    struct device *device; /* NULL: it could not be opened */
    struct measure *measure;
    struct atlas atlas; /* without curves if there is no atlas of this device */
    int code;
    struct error error;
};

struct worker {
    const json_t *job, *keys;
    struct measure_options options; /* the job's options, without known digests */
    struct catalogue catalogue;
    size_t device_count;
    struct open_device **devices;
};

/* Opens a device at its first case, so that a process that opening kills takes only that case with
 * it. */
static struct open_device *device_of(struct worker *w, const struct case_key *key)
{
    for (size_t i = 0; i < w->device_count; i++)
        if (strcmp(w->devices[i]->key.device, key->device) == 0 &&
            strcmp(w->devices[i]->key.residency, key->residency) == 0)
            return w->devices[i];
    w->devices = must_realloc(w->devices, (w->device_count + 1) * sizeof *w->devices);
    struct open_device *d = w->devices[w->device_count++] = must_alloc(sizeof *d);
    *d = (struct open_device){.key = *key};
    d->code = device_group_open(key->device, key->residency, &d->device, &d->error);
    if (d->code) {
        d->device = NULL;
        return d;
    }
    d->measure = measure_open(d->device);
    const json_t *atlas = atlas_json_find(json_object_get(w->job, "atlases"), key->device);
    if (atlas && atlas_from_json(atlas, &d->atlas, NULL) == 0)
        measure_predict(d->measure, &d->atlas);
    return d;
}

static void close_devices(struct worker *w)
{
    for (size_t i = 0; i < w->device_count; i++) {
        struct open_device *d = w->devices[i];
        if (d->device) {
            measure_close(d->measure);
            atlas_free(&d->atlas);
            d->device->ops->close(d->device);
        }
        free(d);
    }
    free(w->devices);
}

/* Copies the digests that are known for a case to *digests, which the caller frees; returns their
 * number. */
static size_t known_digests(const struct worker *w, const struct case_key *key, uint64_t **digests)
{
    char name[256];
    const json_t *known = json_object_get(json_object_get(w->job, "known"), known_name(key, name));
    const size_t count = json_array_size(known);
    *digests = must_alloc((count + 1) * sizeof **digests);
    for (size_t d = 0; d < count; d++)
        (*digests)[d] = strtoull(json_string_value(json_array_get(known, d)), NULL, 16);
    return count;
}

/* Returns 0, or ERR_DEVICE_LOST: this process cannot measure any more. */
static int run_case(struct worker *w, struct case_round *round)
{
    const struct case_key *key = &round->key;
    const struct entry *entry = select_entry(&w->catalogue, key->workload);
    const struct dataset *dataset = entry ? select_dataset(entry, key->dataset) : NULL;
    round->status = CASE_error;
    if (!dataset) {
        snprintf(round->reason, sizeof round->reason, "%s/%s is gone: has its file changed?",
                 key->workload, key->dataset);
        return 0;
    }
    struct open_device *d = device_of(w, key);
    if (!d->device) {
        round->status = d->code == ERR_UNSUPPORTED ? CASE_skipped : CASE_error;
        snprintf(round->reason, sizeof round->reason, "%.*s", (int)sizeof round->reason - 1,
                 d->error.text);
        return d->code == ERR_DEVICE_LOST ? d->code : 0;
    }
    struct measure_options options = w->options;
    uint64_t *digests;
    options.known_digest_count = known_digests(w, key, &digests);
    options.known_digests = digests;
    round->status = CASE_ok;
    int code = measure_case(d->measure, entry, dataset, &options, round);
    free(digests);
    return code;
}

static int measure_turn(void *context, const struct items_turn *turn, json_t *done)
{
    struct worker *w = context;
    struct case_round round = {.round = turn->round, .slot = (unsigned)turn->slot};
    int lost = 0;
    if (case_key_from_json(json_array_get(w->keys, turn->index), &round.key, NULL))
        round.status = CASE_error;
    else
        lost = run_case(w, &round);
    tree_put(done, "round", case_round_to_json(&round));
    if (lost)
        tree_put(done, "lost", json_true());
    case_round_free(&round);
    return lost;
}

int rounds_work(const json_t *job, FILE *out, struct error *error)
{
    struct worker w = {.job = job, .keys = json_object_get(job, "keys")};
    size_t i;
    json_t *file;
#define X(name) w.options.name = json_integer_value(json_object_get(job, #name));
    MEASURE_NUMBER_LIST(X)
#undef X
    TRY(catalogue_open(&w.catalogue, error));
    int code = 0;
    json_array_foreach(json_object_get(job, "files"), i, file)
    {
        THEN(code, catalogue_add_file(&w.catalogue, json_string_value(file), error));
    }
    /* Closing a lost device can hang; the end of the process closes it as well. */
    if (!code && items_work(job, out, measure_turn, &w) == ERR_DEVICE_LOST)
        free(w.devices);
    else
        close_devices(&w);
    catalogue_close(&w.catalogue);
    return code;
}
