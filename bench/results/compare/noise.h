/* The noise floor of a machine: how much the times of two consecutive runs of the same build
 * differ.
 *
 * A test over rounds knows the spread within a run. A disturbance that lasts longer than a run
 * (another program on the machine, another clock rate, another placement of threads) shifts all
 * rounds of the run alike, and looks like a change of the program. It can only be measured. An A/A
 * run makes the rounds of NOISE_BLOCKS runs in a row. The floor of a case is the largest shift
 * (Hodges and Lehmann, results/statistics/ranks.h) between two of these blocks, and the floor of a
 * device is the value that 95 % of its cases stay below. All cases of a configuration together
 * (below) have a floor of their own by the shift that they share
 * (results/statistics/shared_shift.h), which is far lower. A floor holds as long as the machine is
 * as busy as it was during the A/A run.
 *
 * Two runs whose rounds alternated share these disturbances, and need no floor.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "results/file/result.h"

enum {
    NOISE_BLOCKS = 4,
    NOISE_LEAST_ROUNDS = 3, /* rounds of a block; with fewer, one round could decide the shift */
};

/* Measures the floor of every device of a finished A/A run and puts it into the result's `noise`
 * (results/README.md), replacing earlier floors of these devices. ERR_USAGE if no case was ok in
 * enough rounds. */
int noise_measure(struct result *result, struct error *error);

/* Adds to the result's `noise` the floors of `other` for devices of this run that have none yet, if
 * machine, device and driver are the same. They are appended. Returns the
 * index of the first one added. */
size_t noise_take(struct result *result, const struct result *other);

/* The noise floor of a sampled metric as a part: 0.03 for 3 %. For a case it is the floor of the
 * case or of its device, whichever is larger. For the key of a configuration it is the
 * configuration's own, or else that of its device. NaN if the file has none. */
double noise_floor(const struct result *result, const struct result_case *one, const char *metric);
/* The floors of a metric; NULL if they are unknown. */
const struct noise_metric *noise_metric_of(const struct result_noise *noise, const char *metric);

/* Did the rounds of the two runs alternate? They did if no more than a quarter of a run's rounds
 * follow each other without a round of the other run in between. The answer is from `run.sessions`,
 * which a run has if rounds were added to it. */
bool noise_alternated(const struct result *a, const struct result *b);

/* A configuration is how a case is run: its key without workload and dataset. A change of one
 * configuration changes many cases at once, so it can be seen even if no single case shows it. */
struct configuration {
    struct result_case as; /* id and key alone, with "*" for workload and dataset */
    unsigned count, room;
    size_t *member; /* `count` indices into the cases given to configurations_of */
};

/* The configurations of these cases, in the order in which they appear. A NULL among the cases is
 * skipped. The arena owns them. */
struct configuration *configurations_of(struct arena *arena, const struct result_case *const *cases,
                                        size_t count, size_t *configuration_count);

/* Sets *values to the logarithms of the fastest run of a time in every round that all these cases
 * have: first all rounds of the first case, then those of the next. 0 ns counts as 1 ns, the
 * resolution of the clock. Returns the number of rounds. The arena owns *values. */
size_t configuration_rounds(const struct result_case *const *cases, size_t count,
                            const char *metric, struct arena *arena, double **values);
