/* The run loop: the cases of a selection as items of rounds (items.h). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "run/rounds/items.h"
#include "run/rounds/measure.h"
#include "run/select/select.h"

struct rounds_options {
    unsigned rounds;
    unsigned first_round; /* number of the first round: how many the result already has */
    /* Limit for one case in one round, from its start to its record. A time-out ends all cases of
     * that workload and dataset on that device, unless one of them has answered: the rest is
     * skipped. */
    uint64_t timeout_ns;
    struct measure_options measure;
    json_t *atlases; /* atlases of the devices whose cases are predicted, or NULL; borrowed */
};

/* Called in the parent. All hooks are required. */
struct rounds_watcher {
    void *context;
    /* A case starts, or has run for another half second. */
    void (*working)(void *context, const struct items_state *state, const struct case_key *key);
    /* A case has ended. `round` is borrowed. */
    void (*case_ended)(void *context, const struct items_state *state,
                       const struct case_round *round);
    /* All cases of the round have ended. A negative code ends the run with that error, and a
     * positive one without. */
    int (*round_ended)(void *context, const struct items_state *state, struct error *error);
};

/* Runs all rounds; ends as items_run does. */
int rounds_run(const struct selection *selection, const struct rounds_options *options,
               const struct rounds_watcher *watcher, bool *interrupted, struct error *error);

/* The worker's side: the worker_job of the kind "cases". */
int rounds_work(const json_t *job, FILE *out, struct error *error);
