/* The run loop. A round is a fresh process that runs every case once, in an order shuffled from the
 * seed: samples of one process are not independent, so verdicts are made of rounds (Kalibera and
 * Jones, Rigorous Benchmarking in Reasonable Time, 2013), and what drifts during a run hits all
 * cases alike. A case that fails is not run again, and the rest goes on without it; one that loses
 * its device (ERR_DEVICE_LOST) ends its round: the rest is `skipped`, and run again in the next. */
#ifndef GAMUT_RUN_ROUNDS_H
#define GAMUT_RUN_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "run/measure.h"
#include "run/select.h"
#include "run/wire.h"

struct rounds_options {
    unsigned rounds;
    unsigned first_round; /* the number of the first: rounds that the result has already */
    uint64_t timeout_ns;  /* for a case and round, from its start to its record */
    struct measure_options measure;
    json_t *atlases; /* as in struct job */
};

/* Where the loop is. */
struct rounds_state {
    unsigned round;            /* from 0 */
    size_t position, in_round; /* of the case that runs (from 0); cases in this round */
    size_t done, left;         /* cases ended, cases still to be run, over all rounds */
    size_t failed;             /* cases that failed, over all rounds */
    uint64_t round_ns;         /* time in this round so far */
};

/* Required, all of them; called in the parent. A negative code ends the run with that error. */
struct rounds_watcher {
    void *context;
    /* A case starts; also called twice a second while nothing happens. */
    void (*working)(void *context, const struct rounds_state *state, const struct case_key *key);
    /* A case ended. `round` is borrowed. */
    void (*case_ended)(void *context, const struct rounds_state *state,
                       const struct case_round *round);
    int (*round_ended)(void *context, const struct rounds_state *state, struct error *error);
};

/* Runs all rounds. While it runs, the first SIGINT or SIGTERM ends it early (*interrupted; what was
 * measured has been reported), a second one ends the process at once. */
int rounds_run(const struct selection *selection, const struct rounds_options *options,
               const struct rounds_watcher *watcher, bool *interrupted, struct error *error);

/* The order of `count` cases in a round: order[position] is an index. */
void rounds_order(uint64_t seed, unsigned round, size_t count, unsigned *order);

/* Asks a worker for the devices of this machine, and what those that `selectors` names (a comma
 * list,
 * "" for none) have free and, on demand, how fast they copy. The selected ones come first, in the
 * order of the list. ERR_NOT_FOUND where a selector matches none. The caller frees *devices.
 * `missing` (or NULL) receives a line for each API that offers none. */
int rounds_devices(const char *selectors, bool copy_rate, struct found_device **devices,
                   size_t *count, struct text *missing, struct error *error);

#endif
