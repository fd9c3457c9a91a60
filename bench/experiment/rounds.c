/* The parent's side of an experiment. */
#include "experiment/rounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "record/case_tree.h"
#include "record/tree.h"
#include "run/process.h"
#include "run/rounds.h"
#include "run/wire.h"

struct session {
    const struct experiment_task *task;
    const struct experiment_watcher *watcher;
    const json_t *root;
    json_t *tree;
    struct experiment_plan plan;
    json_t **keys;   /* of the rows of the plan */
    bool *failed;    /* likewise */
    unsigned *order; /* of this round: positions -> numbers in the plan */
    unsigned round;
    size_t in_round, position;
    bool started;   /* the row at the current position has */
    char why[1024]; /* the worker's own word on why it ends */
    uint64_t deadline_ns;
    struct caught_signals signals;
    bool interrupted;
};

/* Takes the round. */
static void end_row(struct session *s, json_t *round)
{
    const unsigned number = s->order[s->position++];
    s->started = false;
    experiment_add_round(s->root, s->tree, s->keys[number], round);
    s->failed[number] = !case_is_ok(round);
}

/* Ends the row at the current position without a word of the worker's. */
static void end_row_with(struct session *s, enum case_status status, const char *reason)
{
    json_t *round = tree_object();
    tree_put(round, "round", tree_count(s->round));
    tree_put(round, "slot", tree_count(s->position));
    tree_put(round, "status", tree_text(case_status_name(status)));
    tree_put(round, "reason", tree_text(reason));
    tree_put(round, "digest", json_null());
    tree_put(round, "samples", json_null());
    end_row(s, round);
}

static json_t *job_of_rest(const struct session *s)
{
    const struct experiment_task *task = s->task;
    json_t *job = tree_object(), *rows = tree_array();
    for (size_t i = s->position; i < s->in_round; i++)
        tree_append(rows, tree_count(s->order[i]));
    tree_put(job, "spec", tree_text(task->spec));
    tree_put(job, "device", tree_text(task->device));
    tree_put(job, "strategies", tree_text(task->settings.strategies));
    tree_put(job, "seed", tree_count(task->settings.seed));
    tree_put(job, "capacity_bytes", tree_count(task->settings.capacity_bytes));
    tree_put(job, "round", tree_count(s->round));
    tree_put(job, "slot", tree_count(s->position));
    tree_put(job, "rows", rows);
    json_t *json = job_to_json(&(struct job){.experiment = job});
    json_decref(job);
    return json;
}

static void hear_line(struct session *s, const json_t *line)
{
    const json_t *start = json_object_get(line, "start"), *done = json_object_get(line, "done");
    const json_t *number = start ? start : done, *round = json_object_get(line, "round");
    const char *why = json_string_value(json_object_get(line, "text"));
    s->deadline_ns = clock_ns() + s->task->timeout_ns;
    if (why)
        snprintf(s->why, sizeof s->why, "%s", why);
    if (!number || s->position == s->in_round ||
        (unsigned)json_integer_value(number) != s->order[s->position])
        return;
    if (start) {
        struct text words = {0};
        json_t *row = tree_object();
        tree_put(row, "key", json_incref(s->keys[s->order[s->position]]));
        experiment_row_words(s->tree, row, &words);
        s->watcher->working(s->watcher->context, s->round, s->position, s->in_round, words.data);
        text_free(&words);
        json_decref(row);
        s->started = true;
    } else if (json_is_object(round)) {
        end_row(s, json_deep_copy(round));
    }
}

static enum process_event listen_to(struct session *s, struct process *process)
{
    s->deadline_ns = clock_ns() + s->task->timeout_ns;
    for (;;) {
        json_t *line;
        enum process_event event =
            process_wait(process, s->signals.descriptor, s->deadline_ns, &line);
        if (event != PROCESS_LINE)
            return event;
        hear_line(s, line);
        json_decref(line);
    }
}

/* Measures the rest of the round in one worker. At least one row comes to its end, unless there was
 * an interruption. */
static int run_worker(struct session *s, struct error *error)
{
    struct process process;
    char how[128], reason[1200], limit[32];
    const size_t before = s->position;
    json_t *job = job_of_rest(s);
    s->started = false;
    s->why[0] = 0;
    int code = process_start(&process, job, error);
    json_decref(job);
    if (code)
        return code;
    enum process_event event = listen_to(s, &process);
    if (event == PROCESS_INTERRUPT)
        s->interrupted |= process_release_signals(&s->signals);
    process_end(&process, how);
    if (s->interrupted || s->position == s->in_round || (!s->started && s->position > before))
        return 0;
    /* Without a row that was begun, it is the whole experiment that can't be done here. */
    if (!s->started && s->why[0])
        return error_set(error, ERR_DEVICE, "%s on %s: %s", s->task->experiment->name,
                         s->task->device, s->why);
    snprintf(reason, sizeof reason, "the process %s", how);
    if (event == PROCESS_QUIET)
        snprintf(reason, sizeof reason, "no answer within %s",
                 text_ns(limit, (double)s->task->timeout_ns));
    end_row_with(s, event == PROCESS_QUIET ? CASE_timeout : CASE_error,
                 s->why[0] ? s->why : reason);
    return 0;
}

static int run_round(struct session *s, struct error *error)
{
    int code = 0;
    rounds_order(s->task->settings.seed, s->round, s->plan.count, s->order);
    s->in_round = s->position = 0;
    for (size_t i = 0; i < s->plan.count; i++)
        if (!s->failed[s->order[i]])
            s->order[s->in_round++] = s->order[i];
    while (!code && !s->interrupted && s->position < s->in_round)
        code = run_worker(s, error);
    return code;
}

static int run_all(struct session *s, struct error *error)
{
    int code = 0;
    s->keys = must_alloc(s->plan.count * sizeof *s->keys);
    s->failed = must_alloc(s->plan.count * sizeof *s->failed);
    s->order = must_alloc(s->plan.count * sizeof *s->order);
    for (size_t i = 0; i < s->plan.count; i++) {
        s->keys[i] = experiment_key_to_json(s->task->experiment, &s->plan.rows[i]);
        experiment_expect_row(s->tree, s->keys[i]);
    }
    process_catch_signals(&s->signals);
    for (; !code && !s->interrupted && s->round < s->task->rounds; s->round++) {
        code = run_round(s, error);
        if (!code)
            code = s->watcher->round_ended(s->watcher->context, error);
    }
    s->interrupted |= process_release_signals(&s->signals);
    for (size_t i = 0; i < s->plan.count; i++)
        json_decref(s->keys[i]);
    free(s->keys);
    free(s->failed);
    free(s->order);
    return code;
}

int experiment_run(const struct experiment_task *task, const json_t *root, json_t *tree,
                   const struct experiment_watcher *watcher, bool *interrupted, struct error *error)
{
    struct session s = {.task = task, .watcher = watcher, .root = root, .tree = tree};
    int code = task->experiment->plan(&task->settings, &s.plan, error);
    if (!code)
        code = run_all(&s, error);
    *interrupted = s.interrupted;
    experiment_plan_free(&s.plan);
    return code;
}
