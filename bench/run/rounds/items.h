/* Numbered items that are measured in rounds: cases (run/rounds/rounds.h), rows of an experiment. A round
 * is a fresh process that measures every item once, in an order shuffled from the seed: samples of
 * one process are not independent, so verdicts are made of rounds (Kalibera and Jones, Rigorous
 * Benchmarking in Reasonable Time, 2013), and what drifts during a run hits all items alike. An
 * item that fails is not measured again; the rest goes on without it, in another process where it
 * took its own along. One that loses its device ends its round: the rest is `skipped`, and measured
 * again in the next. Of run/rounds/wire.h, "start", "done", "lost" and "text" are read here.
 */
#ifndef GAMUT_RUN_ITEMS_H
#define GAMUT_RUN_ITEMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "record/facts/case.h"

struct items_options {
    size_t count;
    unsigned rounds;
    unsigned first_round; /* the number of the first, which the order is shuffled from */
    uint64_t timeout_ns;  /* for an item and round, from its start to its record */
    uint64_t seed;
};

/* Where the loop is. */
struct items_state {
    unsigned round;            /* from 0 */
    size_t position, in_round; /* of the item that runs (from 0); items in this round */
    const unsigned *order;     /* positions -> numbers of items that have not failed */
    size_t done, left;         /* items ended, items still to be measured, over all rounds */
    size_t failed;             /* items that failed, over all rounds */
    uint64_t round_ns;         /* time in this round so far */
};

/* What is to be known of items; called in the parent. Required, but for `unable`. */
struct items_hooks {
    void *context;
    /* The job of a worker that measures the items from state->position to the end of the round, in
     * that order; the caller owns it. */
    json_t *(*job)(void *context, const struct items_state *state);
    /* The item at state->position begins, or still runs, of which one hears twice a second. */
    void (*working)(void *context, const struct items_state *state, bool begins);
    /* It has ended, with the worker's line on that (borrowed), or NULL. Where the line has no
     * round, `status` and `reason` say what became of it; CASE_skipped: one before it lost its
     * device. Returns what became of it, which state->failed counts afterwards. */
    enum case_status (*ended)(void *context, const struct items_state *state, const json_t *line,
                              enum case_status status, const char *reason);
    /* (optional) A worker ended before its first item, and said why: the code ends the run. Else
     * that is the first item's failure. */
    int (*unable)(void *context, const char *why, struct error *error);
    /* A negative code ends the run with that error. */
    int (*round_ended)(void *context, const struct items_state *state, struct error *error);
};

/* Runs all rounds. While it runs, the first SIGINT or SIGTERM ends it early (*interrupted; what was
 * measured has been reported), a second one ends the process at once. */
int items_run(const struct items_options *options, const struct items_hooks *hooks,
              bool *interrupted, struct error *error);

/* The order of `count` items in a round: order[position] is a number. */
void items_order(uint64_t seed, unsigned round, size_t count, unsigned *order);

#endif
