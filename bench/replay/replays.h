/* Replays on devices, in rounds (items.h): each round is a fresh process that replays every
 * case. */
#pragma once

#include "replay/cases.h"
#include "run/rounds/items.h"

struct replays_options {
    unsigned rounds;
    unsigned first_round; /* its number: how many the result already has */
    uint64_t timeout_ns;  /* limit for one case in one round */
    uint64_t seed;        /* of the order of the cases */
    struct live_case_options live;
};

/* Called in the parent. All hooks are required. */
struct replays_watcher {
    void *context;
    /* A case starts, or has run for another half second. */
    void (*working)(void *context, const struct items_state *state, size_t index);
    /* It has ended. `round` is borrowed. `notes`: lines, or NULL. */
    void (*ended)(void *context, const struct items_state *state, size_t index,
                  const struct case_round *round, const char *notes);
    /* All cases of the round have ended. A negative code ends the run with that error. */
    int (*round_ended)(void *context, const struct items_state *state, struct error *error);
};

/* Replays all cases on the devices of their keys; ends as items_run does. */
int replays_run(const struct replay_case *cases, size_t count,
                const struct replays_options *options, const struct replays_watcher *watcher,
                bool *interrupted, struct error *error);

/* The worker's side: the worker_job of the kind "replays". */
int replays_work(const json_t *job, FILE *out, struct error *error);
