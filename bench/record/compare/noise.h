/* The noise floor of a machine: how far apart two runs of the same build are that were made one
 * after the other.
 *
 * A test over rounds knows the spread within a run. What lasts longer than a run (a neighbour on
 * the machine, a clock that has settled elsewhere, where threads happen to lie) shifts all its
 * rounds alike, and looks like a change of the program. It can only be measured: an A/A run makes
 * the rounds of NOISE_BLOCKS runs in a row; the floor of a case is the largest shift (Hodges and
 * Lehmann, record/statistics/ranks.h) between two of these blocks, and the floor of a device is what 95 % of
 * its cases stay below. All cases of a configuration together (record/compare/configuration.h) have
 * a floor of their own by the shift that they share (record/statistics/shared_shift.h), which is far
 * lower. A floor holds as long as the machine is as busy as it was during the A/A run.
 *
 * Two runs whose rounds alternated share all of that, and need no floor.
 */
#ifndef GAMUT_RECORD_NOISE_H
#define GAMUT_RECORD_NOISE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

enum {
    NOISE_BLOCKS = 4,
    NOISE_LEAST_ROUNDS = 3, /* rounds of a block; with fewer a single round decides the shift */
};

/* Measures the floor of every device of a finished A/A run and puts it into the root's `noise`
 * (results/README.md), in the place of what was known of these devices before. ERR_USAGE if no case
 * was ok in enough rounds. */
int noise_measure(json_t *root, struct error *error);

/* Takes into the root's `noise` what `other`'s says of a device that this run uses too, on the same
 * machine and with the same driver, and of which this root knows nothing yet. Returns what was
 * taken, borrowed, from the i-th on in the order of `noise`; i is its size before. */
size_t noise_take(json_t *root, const json_t *other);

/* The floors of one metric of `noise` by configuration (files before 1.6 call it "by_way"); NULL
 * where there are none. */
const json_t *noise_configurations(const json_t *metric);

/* By what part runs of this case may differ from one to the next in a sampled metric: 0.03 for 3 %.
 * The floor of the case or of its device, whichever is larger; for the key of a configuration its
 * own floor, else that of its device. NaN where the file knows none. */
double noise_floor(const json_t *root, const json_t *one_case, const char *metric);

/* Did the rounds of the two runs alternate? Told from `run.sessions`, which a run has to which rounds
 * were added: no more than a quarter of a run's rounds follow each other without one of the other's
 * between them. */
bool noise_alternated(const json_t *a, const json_t *b);

#endif
