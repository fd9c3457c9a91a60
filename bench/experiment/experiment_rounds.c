#include "experiment/experiment_rounds.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/tree.h"
#include "results/file/experiment_result.h"

/* ---- the parent's side ----------------------------------------------------------------------- */

struct session {
    const struct experiment_task *task;
    const struct experiment_watcher *watcher;
    struct result *result;
    struct result_experiment *experiment;
    size_t *rows; /* the places of the rows of the plan in the experiment */
};

static json_t *job_of_task(void *context, const struct items_state *state)
{
    const struct experiment_task *task = ((const struct session *)context)->task;
    json_t *job = tree_object();
    tree_put(job, "spec", tree_text(task->spec));
    tree_put(job, "device", tree_text(task->device));
    tree_put(job, "strategies", tree_text(task->settings.strategies));
    tree_put(job, "seed", tree_count(task->settings.seed));
    tree_put(job, "capacity_bytes", tree_count(task->settings.capacity_bytes));
    return job;
}

static void row_working(void *context, const struct items_state *state, bool begins)
{
    const struct session *s = context;
    if (!begins)
        return;
    struct text words = {0};
    experiment_row_words(s->experiment,
                         &s->experiment->rows[s->rows[state->order[state->position]]], &words);
    s->watcher->working(s->watcher->context, state, words.data);
    text_free(&words);
}

static enum case_status row_ended(void *context, const struct items_state *state,
                                  const json_t *line, enum case_status status, const char *reason)
{
    const struct session *s = context;
    const json_t *record = json_object_get(line, "round");
    json_t *round = json_is_object(record)
                        ? json_deep_copy(record)
                        : experiment_round(state->round, state->position, status, reason);
    const size_t row = s->rows[state->order[state->position]];
    return experiment_add_round(s->result, s->experiment, row, round) == CASE_ok ? CASE_ok
                                                                                 : CASE_error;
}

/* Called if the worker ended before its first row: the device cannot do this experiment at all. */
static int row_unable(void *context, const char *why, struct error *error)
{
    const struct experiment_task *task = ((const struct session *)context)->task;
    return error_set(error, ERR_DEVICE, "%s on %s: %s", task->experiment->name, task->device, why);
}

static int rows_round_ended(void *context, const struct items_state *state, struct error *error)
{
    const struct session *s = context;
    return s->watcher->round_ended(s->watcher->context, error);
}

int experiment_run(const struct experiment_task *task, struct result *result,
                   struct result_experiment *experiment, const struct experiment_watcher *watcher,
                   bool *interrupted, struct error *error)
{
    struct session s = {
        .task = task, .watcher = watcher, .result = result, .experiment = experiment};
    struct experiment_plan plan = {0};
    int code = task->experiment->plan(&task->settings, &plan, error);
    s.rows = must_alloc(plan.count * sizeof *s.rows);
    for (size_t i = 0; i < plan.count && !code; i++) {
        json_t *key = experiment_key_to_json(task->experiment, &plan.rows[i]);
        s.rows[i] = experiment_expect_row(result, experiment, key);
        json_decref(key);
    }
    const struct items_options options = {.count = plan.count,
                                          .rounds = task->rounds,
                                          .timeout_ns = task->timeout_ns,
                                          .seed = task->settings.seed};
    const struct items_hooks hooks = {.context = &s,
                                      .kind = "experiment",
                                      .job = job_of_task,
                                      .working = row_working,
                                      .ended = row_ended,
                                      .unable = row_unable,
                                      .round_ended = rows_round_ended};
    *interrupted = false;
    THEN(code, items_run(&options, &hooks, interrupted, error));
    free(s.rows);
    experiment_plan_free(&plan);
    return code;
}

/* ---- the worker's side ----------------------------------------------------------------------- */

struct work {
    const struct experiment *experiment;
    struct experiment_settings settings;
    struct experiment_plan plan;
    struct device *device;
    void *state;
};

static json_t *samples_to_json(const struct experiment *e, const struct experiment_record *record)
{
    json_t *samples = tree_object();
    for (size_t m = 0; m < e->metric_count; m++) {
        json_t *values = tree_array();
        for (size_t i = 0; i < record->metric[m].count; i++)
            tree_append(values, tree_number(record->metric[m].values[i]));
        tree_put(samples, e->metrics[m].name, values);
    }
    return samples;
}

static int measure_turn(void *context, const struct items_turn *turn, json_t *done)
{
    const struct work *w = context;
    struct experiment_record record = {0};
    struct error why = {0};
    int code = turn->number < w->plan.count
                   ? w->experiment->measure(w->state, &w->plan.rows[turn->number], &record, &why)
                   : ERR_INTERNAL;
    if (code && !why.code)
        error_set(&why, code, "%s", error_sentence(code));
    json_t *round = experiment_round(turn->round, turn->slot, case_status_of(code), why.text);
    tree_put(round, "digest", tree_text_or_null(record.digest));
    if (!code)
        tree_put(round, "samples", samples_to_json(w->experiment, &record));
    tree_put(done, "round", round);
    experiment_record_free(&record);
    return code == ERR_DEVICE_LOST ? code : 0;
}

static int work_prepare(struct work *w, const json_t *job, struct error *error)
{
    w->settings.strategies = tree_get_text(job, "strategies");
    w->settings.seed = (uint64_t)json_integer_value(json_object_get(job, "seed"));
    w->settings.capacity_bytes =
        (uint64_t)json_integer_value(json_object_get(job, "capacity_bytes"));
    TRY(experiment_parse(tree_get_text(job, "spec"), &w->experiment, &w->settings.options, error));
    TRY(w->experiment->plan(&w->settings, &w->plan, error));
    TRY(device_open(tree_get_text(job, "device"), &w->device, error));
    return w->experiment->open(w->device, &w->settings, &w->state, error);
}

int experiment_work(const json_t *job, FILE *out, struct error *error)
{
    struct work w = {0};
    int code = work_prepare(&w, job, error);
    const int lost = code ? 0 : items_work(job, out, measure_turn, &w);
    /* Closing a lost device can hang; the end of the process closes it as well. */
    if (!lost && code != ERR_DEVICE_LOST) {
        if (w.state)
            w.experiment->close(w.state);
        if (w.device)
            w.device->ops->close(w.device);
    }
    experiment_plan_free(&w.plan);
    return code;
}
