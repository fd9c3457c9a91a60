/* An experiment on one device: its rows as items of rounds (run/rounds/items.h).
 *
 * The job of a worker is {"spec", "device", "strategies", "seed", "capacity_bytes", "round",
 * "slot", "rows": [numbers in the plan]} (slot: the place of the first of them in the round); it
 * answers {"start": NUMBER} and {"done": NUMBER, "round": {…}}, a round as in record/result/experiment.h.
 */
#ifndef GAMUT_EXPERIMENT_ROUNDS_H
#define GAMUT_EXPERIMENT_ROUNDS_H

#include <stdbool.h>
#include <stdio.h>

#include "experiment/experiment.h"
#include "run/rounds/items.h"

struct experiment_task {
    const char *spec;                    /* as on the command line */
    const struct experiment *experiment; /* what it says */
    struct experiment_settings settings;
    const char *device; /* its id */
    unsigned rounds;
    uint64_t timeout_ns; /* for a row and round */
};

/* Hears how it goes. A negative code of round_ended ends the run with that error. */
struct experiment_watcher {
    void *context;
    void (*working)(void *context, const struct items_state *state, const char *row);
    int (*round_ended)(void *context, struct error *error);
};

/* Measures, and files every row in `root` (a result): `tree` is its element of `experiments`.
 * Ends as items_run does. */
int experiment_run(const struct experiment_task *task, const json_t *root, json_t *tree,
                   const struct experiment_watcher *watcher, bool *interrupted,
                   struct error *error);

/* The worker's side: does the job, a line an answer on `out`. */
int experiment_work(const json_t *job, FILE *out, struct error *error);

#endif
