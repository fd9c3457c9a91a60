/* An experiment on one device: its rows as items of rounds (run/rounds/items.h). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "experiment/experiment.h"
#include "results/file/result.h"
#include "run/rounds/items.h"

struct experiment_task {
    const char *spec;                    /* as on the command line */
    const struct experiment *experiment; /* the one that `spec` names */
    struct experiment_settings settings;
    const char *device; /* id */
    unsigned rounds;
    uint64_t timeout_ns; /* for a row and round */
};

/* Called in the parent. All hooks are required. */
struct experiment_watcher {
    void *context;
    /* A row starts. `row` is its key as text. */
    void (*working)(void *context, const struct items_state *state, const char *row);
    /* All rows of the round have ended. A negative code ends the run with that error. */
    int (*round_ended)(void *context, struct error *error);
};

/* Measures all rows and files them in the result, to which the experiment was added. Ends as
 * items_run does. ERR_DEVICE: the device cannot do this experiment. */
int experiment_run(const struct experiment_task *task, struct result *result,
                   struct result_experiment *experiment, const struct experiment_watcher *watcher,
                   bool *interrupted, struct error *error);

/* The worker's side: the worker_job of the kind "experiment". */
int experiment_work(const json_t *job, FILE *out, struct error *error);
