/* Numbered items that are measured in rounds: the cases of a run (rounds.h), the rows of an
 * experiment (experiment/experiment_rounds.h).
 *
 * A round is a fresh process that measures every item once, in an order shuffled from the seed.
 * Samples of one process are not independent, so verdicts are made of rounds (Kalibera and Jones,
 * Rigorous Benchmarking in Reasonable Time, 2013), and whatever drifts during a run affects all
 * items alike. A failed item is not measured again. The remaining items continue, in a new process
 * if the failure killed the old one. An item that loses its device ends its round: the rest of the
 * round is `skipped`, and measured again in the next.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "results/facts/case.h"

struct items_options {
    size_t count;
    unsigned rounds;
    unsigned first_round; /* its number; seed and number give the order of a round */
    uint64_t timeout_ns;  /* limit for one item in one round, from its start to its record */
    uint64_t seed;
};

/* The progress of the loop. */
struct items_state {
    unsigned round;            /* from 0 */
    size_t position, in_round; /* position of the item that runs, from 0; items in this round */
    const unsigned *order;     /* positions -> numbers of items that have not failed */
    size_t done, left;         /* items ended, items still to be measured, over all rounds */
    size_t failed;             /* items that failed, over all rounds */
    uint64_t round_ns;         /* time in this round so far */
};

/* Called by the loop in the parent. */
struct items_hooks {
    void *context;
    const char *kind; /* kind of the worker's job */
    /* The job of a worker that measures the items from state->position to the end of the round. The
     * loop takes it and adds "round", "slot" (of the first item) and "numbers". */
    json_t *(*job)(void *context, const struct items_state *state);
    /* Called when the item at state->position starts (`begins`), and twice a second while it
     * runs. */
    void (*working)(void *context, const struct items_state *state, bool begins);
    /* The item has ended. `line` is the worker's "done" line (borrowed), or NULL. If it has no
     * "round", `status` and `reason` say what became of the item; CASE_skipped means that an
     * earlier item lost the device, or that the item was unwanted. Returns the item's status, by
     * which state->failed counts. */
    enum case_status (*ended)(void *context, const struct items_state *state, const json_t *line,
                              enum case_status status, const char *reason);
    /* (optional) Asked between two workers about each item that is left in the round. Returns the
     * reason why it is not to be measured after all; it is then skipped for good. NULL: it is
     * measured. */
    const char *(*unwanted)(void *context, size_t number);
    /* (optional) A worker ended before its first item and sent the reason `why`. The returned code
     * ends the run. Without this hook the first item fails for that reason. */
    int (*unable)(void *context, const char *why, struct error *error);
    /* All items of the round have ended. A negative code ends the run with that error, and a
     * positive one without. */
    int (*round_ended)(void *context, const struct items_state *state, struct error *error);
};

/* Runs all rounds. The first SIGINT, SIGTERM or SIGHUP ends it early: *interrupted is set, and the
 * hooks have had everything that was measured. A second one ends the process at once. Returns the
 * first error of a hook, or ERR_IO if no worker can be started. */
int items_run(const struct items_options *options, const struct items_hooks *hooks,
              bool *interrupted, struct error *error);

/* For the hook `ended` where items are cases. The round of the worker's line, or, without one that
 * can be read, a round of `key` that failed with `status` and `reason`. The caller calls
 * case_round_free. */
void items_case_round(const struct case_key *key, unsigned round, size_t slot, const json_t *line,
                      enum case_status status, const char *reason, struct case_round *ended);

/* Shuffles the numbers of `count` items for a round: order[position] is an item's number. */
void items_order(uint64_t seed, unsigned round, size_t count, unsigned *order);

/* ---- the worker's side ---- */

/* An item of a job, at its turn. */
struct items_turn {
    size_t number, index; /* number of the item; its position in the job, from 0 */
    unsigned round;
    size_t slot; /* position in the round */
};

/* Measures the items of a job in their order and sends their lines on `out`. `measure` puts at
 * least "round" into `done`. It returns 0, or ERR_DEVICE_LOST to end the job, which items_work
 * then returns. */
int items_work(const json_t *job, FILE *out,
               int (*measure)(void *context, const struct items_turn *turn, json_t *done),
               void *context);
