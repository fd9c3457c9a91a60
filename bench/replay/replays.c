#include "replay/cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/tree.h"
#include "replay/plan.h"

/* ---- the parent's side ---- */

struct session {
    const struct replay_case *cases;
    const struct replays_options *options;
    const struct replays_watcher *watcher;
};

static size_t index_at(const struct items_state *state)
{
    return state->order[state->position];
}

static json_t *job_of_rest(void *context, const struct items_state *state)
{
    const struct session *s = context;
    const struct live_case_options *o = &s->options->live;
    json_t *job = tree_object(), *cases = tree_array();
    for (size_t i = state->position; i < state->in_round; i++) {
        const struct replay_case *one = &s->cases[state->order[i]];
        json_t *each = tree_object();
        tree_put(each, "key", case_key_to_json(&one->key));
        tree_put(each, "path", tree_text(one->path));
        tree_append(cases, each);
    }
    tree_put(job, "cases", cases);
    tree_put(job, "capacity_bytes", tree_count(o->capacity_bytes));
    tree_put(job, "least_ns", tree_count(o->least_ns));
    tree_put(job, "most_samples", tree_count(o->most_samples));
    return job;
}

static void case_working(void *context, const struct items_state *state, bool begins)
{
    const struct session *s = context;
    s->watcher->working(s->watcher->context, state, index_at(state));
}

static enum case_status case_ended(void *context, const struct items_state *state,
                                   const json_t *line, enum case_status status, const char *reason)
{
    const struct session *s = context;
    struct case_round round;
    items_case_round(&s->cases[index_at(state)].key, s->options->first_round + state->round,
                     state->position, line, status, reason, &round);
    const json_t *notes = json_object_get(line, "notes");
    s->watcher->ended(s->watcher->context, state, index_at(state), &round,
                      json_string_value(notes));
    status = round.status;
    case_round_free(&round);
    return status;
}

static int round_ended(void *context, const struct items_state *state, struct error *error)
{
    const struct session *s = context;
    return s->watcher->round_ended(s->watcher->context, state, error);
}

int replays_run(const struct replay_case *cases, size_t count,
                const struct replays_options *options, const struct replays_watcher *watcher,
                bool *interrupted, struct error *error)
{
    struct session s = {cases, options, watcher};
    const struct items_options items = {.count = count,
                                        .rounds = options->rounds,
                                        .first_round = options->first_round,
                                        .timeout_ns = options->timeout_ns,
                                        .seed = options->seed};
    const struct items_hooks hooks = {.context = &s,
                                      .kind = "replays",
                                      .job = job_of_rest,
                                      .working = case_working,
                                      .ended = case_ended,
                                      .round_ended = round_ended};
    return items_run(&items, &hooks, interrupted, error);
}

/* ---- the worker's side ---- */

struct worker {
    const json_t *cases;
    struct live_case_options options;
    char id[96]; /* of the device that is open; "": none */
    struct device *device;
};

static void close_device(struct worker *w)
{
    if (w->device)
        w->device->ops->close(w->device);
    w->device = NULL;
    w->id[0] = 0;
}

/* One device is open at a time: it keeps nothing that another case needs. */
static int open_device(struct worker *w, const char *id, struct error *error)
{
    if (w->device && strcmp(w->id, id) == 0)
        return 0;
    close_device(w);
    TRY(device_open(id, &w->device, error));
    snprintf(w->id, sizeof w->id, "%s", id);
    return 0;
}

static int replay_turn(void *context, const struct items_turn *turn, json_t *done)
{
    struct worker *w = context;
    const json_t *one = json_array_get(w->cases, turn->index);
    struct case_round round = {.round = turn->round, .slot = (unsigned)turn->slot};
    struct text notes = {0};
    struct error error = {0};
    int code = case_key_from_json(json_object_get(one, "key"), &round.key, &error);
    THEN(code, open_device(w, round.key.device, &error));
    if (code) {
        round.status = case_status_of(code);
        round.worst_error = round.traffic_bytes = NAN;
        snprintf(round.reason, sizeof round.reason, "%.1023s", error.text);
    } else {
        code = replay_case_live(w->device, tree_get_text(one, "path"), &w->options, &round, &notes);
    }
    tree_put(done, "round", case_round_to_json(&round));
    if (notes.length)
        tree_put(done, "notes", tree_text(notes.data));
    if (code == ERR_DEVICE_LOST)
        tree_put(done, "lost", json_true());
    text_free(&notes);
    case_round_free(&round);
    return code == ERR_DEVICE_LOST ? code : 0;
}

static uint64_t number(const json_t *job, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(job, name));
}

int replays_work(const json_t *job, FILE *out, struct error *error)
{
    struct allocator_plans plans = {.make = plan_of_trace};
    struct worker w = {.cases = json_object_get(job, "cases"),
                       .options = {.capacity_bytes = number(job, "capacity_bytes"),
                                   .least_ns = number(job, "least_ns"),
                                   .most_samples = (unsigned)number(job, "most_samples"),
                                   .plans = &plans}};
    /* Closing a lost device can hang; the end of the process closes it as well. */
    if (items_work(job, out, replay_turn, &w) != ERR_DEVICE_LOST)
        close_device(&w);
    allocator_plans_free(&plans);
    return 0;
}
