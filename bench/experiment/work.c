/* The worker's side of an experiment. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "experiment/rounds.h"
#include "record/facts/case.h"
#include "base/tree.h"
#include "run/rounds/wire.h"

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

static json_t *round_to_json(const struct experiment *e, const struct experiment_record *record,
                             const struct error *why, unsigned round, size_t slot)
{
    json_t *json = experiment_round(round, slot, case_status_of(why->code), why->text);
    tree_put(json, "digest", tree_text_or_null(record->digest));
    if (!why->code)
        tree_put(json, "samples", samples_to_json(e, record));
    return json;
}

/* ERR_DEVICE_LOST: the process is of no more use. */
static int measure(struct work *w, size_t number, unsigned round, size_t slot, FILE *out)
{
    struct experiment_record record = {.metric_count = w->experiment->metric_count};
    struct error why = {0};
    json_t *start = tree_object(), *done = tree_object();
    tree_put(start, "start", tree_count(number));
    wire_send(out, start);
    int code = w->experiment->measure(w->state, &w->plan.rows[number], &record, &why);
    if (code && !why.code)
        error_set(&why, code, "%s", error_sentence(code));
    why.code = code;
    tree_put(done, "done", tree_count(number));
    tree_put(done, "round", round_to_json(w->experiment, &record, &why, round, slot));
    wire_send(out, done);
    experiment_record_free(&record);
    return code == ERR_DEVICE_LOST ? code : 0;
}

static int prepare(struct work *w, const json_t *job, struct error *error)
{
    w->settings.strategies = tree_get_text(job, "strategies");
    w->settings.seed = (uint64_t)json_integer_value(json_object_get(job, "seed"));
    w->settings.capacity_bytes =
        (uint64_t)json_integer_value(json_object_get(job, "capacity_bytes"));
    int code =
        experiment_parse(tree_get_text(job, "spec"), &w->experiment, &w->settings.options, error);
    if (!code)
        code = w->experiment->plan(&w->settings, &w->plan, error);
    if (!code)
        code = device_open(tree_get_text(job, "device"), &w->device, error);
    if (!code)
        code = w->experiment->open(w->device, &w->settings, &w->state, error);
    return code;
}

int experiment_work(const json_t *job, FILE *out, struct error *error)
{
    struct work w = {0};
    const json_t *rows = json_object_get(job, "rows");
    const unsigned round = (unsigned)json_integer_value(json_object_get(job, "round"));
    const size_t first = (size_t)json_integer_value(json_object_get(job, "slot"));
    int code = prepare(&w, job, error), lost = 0;
    for (size_t i = 0; !code && !lost && i < json_array_size(rows); i++) {
        const size_t number = (size_t)json_integer_value(json_array_get(rows, i));
        if (number < w.plan.count)
            lost = measure(&w, number, round, first + i, out);
    }
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
