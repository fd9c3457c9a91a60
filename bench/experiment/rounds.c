/* The parent's side of an experiment. */
#include "experiment/rounds.h"

#include <stdlib.h>

#include "base/arena.h"
#include "record/result/case_tree.h"
#include "base/tree.h"
#include "run/rounds/wire.h"

struct session {
    const struct experiment_task *task;
    const struct experiment_watcher *watcher;
    const json_t *root;
    json_t *tree;
    json_t **rows; /* of the plan, in the tree */
};

static json_t *job_of_rest(void *context, const struct items_state *state)
{
    const struct experiment_task *task = ((const struct session *)context)->task;
    json_t *job = tree_object(), *rows = tree_array();
    for (size_t i = state->position; i < state->in_round; i++)
        tree_append(rows, tree_count(state->order[i]));
    tree_put(job, "spec", tree_text(task->spec));
    tree_put(job, "device", tree_text(task->device));
    tree_put(job, "strategies", tree_text(task->settings.strategies));
    tree_put(job, "seed", tree_count(task->settings.seed));
    tree_put(job, "capacity_bytes", tree_count(task->settings.capacity_bytes));
    tree_put(job, "round", tree_count(state->round));
    tree_put(job, "slot", tree_count(state->position));
    tree_put(job, "rows", rows);
    json_t *json = job_to_json(&(struct job){.experiment = job});
    json_decref(job);
    return json;
}

static void working(void *context, const struct items_state *state, bool begins)
{
    const struct session *s = context;
    if (!begins)
        return;
    struct text words = {0};
    experiment_row_words(s->tree, s->rows[state->order[state->position]], &words);
    s->watcher->working(s->watcher->context, state, words.data);
    text_free(&words);
}

static enum case_status ended(void *context, const struct items_state *state, const json_t *line,
                              enum case_status status, const char *reason)
{
    const struct session *s = context;
    const json_t *row = s->rows[state->order[state->position]];
    const json_t *told = json_object_get(line, "round");
    json_t *round = json_is_object(told)
                        ? json_deep_copy(told)
                        : experiment_round(state->round, state->position, status, reason);
    experiment_add_round(s->root, s->tree, json_object_get(row, "key"), round);
    return case_is_ok(round) ? CASE_ok : CASE_error;
}

/* Without a row that was begun, it is the whole experiment that can't be done here. */
static int unable(void *context, const char *why, struct error *error)
{
    const struct experiment_task *task = ((const struct session *)context)->task;
    return error_set(error, ERR_DEVICE, "%s on %s: %s", task->experiment->name, task->device, why);
}

static int round_ended(void *context, const struct items_state *state, struct error *error)
{
    const struct session *s = context;
    (void)state;
    return s->watcher->round_ended(s->watcher->context, error);
}

int experiment_run(const struct experiment_task *task, const json_t *root, json_t *tree,
                   const struct experiment_watcher *watcher, bool *interrupted, struct error *error)
{
    struct session s = {.task = task, .watcher = watcher, .root = root, .tree = tree};
    struct experiment_plan plan = {0};
    int code = task->experiment->plan(&task->settings, &plan, error);
    s.rows = must_alloc(plan.count * sizeof *s.rows);
    for (size_t i = 0; i < plan.count && !code; i++) {
        json_t *key = experiment_key_to_json(task->experiment, &plan.rows[i]);
        s.rows[i] = experiment_expect_row(tree, key);
        json_decref(key);
    }
    const struct items_options options = {.count = plan.count,
                                          .rounds = task->rounds,
                                          .timeout_ns = task->timeout_ns,
                                          .seed = task->settings.seed};
    const struct items_hooks hooks = {.context = &s,
                                      .job = job_of_rest,
                                      .working = working,
                                      .ended = ended,
                                      .unable = unable,
                                      .round_ended = round_ended};
    *interrupted = false;
    if (!code)
        code = items_run(&options, &hooks, interrupted, error);
    free(s.rows);
    experiment_plan_free(&plan);
    return code;
}
