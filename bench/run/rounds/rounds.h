/* The run loop: cases as items of rounds (run/rounds/items.h). */
#ifndef GAMUT_RUN_ROUNDS_H
#define GAMUT_RUN_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "run/rounds/items.h"
#include "run/rounds/measure.h"
#include "run/select/select.h"
#include "run/rounds/wire.h"

struct rounds_options {
    unsigned rounds;
    unsigned first_round; /* the number of the first: rounds that the result has already */
    uint64_t timeout_ns;  /* for a case and round, from its start to its record */
    struct measure_options measure;
    json_t *atlases; /* as in struct job */
};

/* Required, all of them; called in the parent. A negative code ends the run with that error. */
struct rounds_watcher {
    void *context;
    /* A case starts; also called twice a second while nothing happens. */
    void (*working)(void *context, const struct items_state *state, const struct case_key *key);
    /* A case ended. `round` is borrowed. */
    void (*case_ended)(void *context, const struct items_state *state,
                       const struct case_round *round);
    int (*round_ended)(void *context, const struct items_state *state, struct error *error);
};

/* Runs all rounds; ends as items_run does. */
int rounds_run(const struct selection *selection, const struct rounds_options *options,
               const struct rounds_watcher *watcher, bool *interrupted, struct error *error);

/* Asks a worker for the devices of this machine, and what those that `selectors` names (a comma
 * list,
 * "" for none) have free and, on demand, how fast they copy. The selected ones come first, in the
 * order of the list. ERR_NOT_FOUND where a selector matches none. The caller frees *devices.
 * `missing` (or NULL) receives a line for each API that offers none. */
int rounds_devices(const char *selectors, bool copy_rate, struct found_device **devices,
                   size_t *count, struct text *missing, struct error *error);

#endif
