/* The flags of `gamut run`, their checks, and what they ask of a run. */
#ifndef GAMUT_CLI_RUN_FLAGS_H
#define GAMUT_CLI_RUN_FLAGS_H

#include <jansson.h>

#include "cli/flags.h"
#include "run/rounds/rounds.h"

enum run_flag {
    RUN_WORKLOAD,
    RUN_STRATEGY,
    RUN_MERGE,
    RUN_DATASET,
    RUN_DEVICE,
    RUN_RELEASE,
    RUN_RESIDENCY,
    RUN_SUITE,
    RUN_LIKE,
    RUN_ADD,
    RUN_ROUNDS,
    RUN_SAMPLES,
    RUN_MAX_SAMPLES,
    RUN_MIN_TIME,
    RUN_SEED,
    RUN_SMOKE,
    RUN_AA,
    RUN_MEM_LIMIT,
    RUN_TIMEOUT,
    RUN_ATLAS,
    RUN_TIMELINE,
    RUN_FORMAT,
    RUN_OUT,
    RUN_FORCE,
    RUN_RESULTS,
    RUN_NO_SAVE,
    RUN_NO_SAMPLES,
    RUN_PROGRESS,
    RUN_FLAGS
};

extern const struct flag run_flags[RUN_FLAGS + 1];

static inline bool run_flag_is_on(const struct command_line *line, enum run_flag flag)
{
    return line->flag[flag].number != 0;
}

/* Checks that no two flags contradict each other. ERR_USAGE names two that do. */
int run_flags_check(const struct command_line *line, struct error *error);

/* Fills in what is measured and how; first_round is 0. ERR_USAGE where numbers contradict each
 * other, ERR_IO where the result file exists. */
int run_flags_options(const struct command_line *line, struct rounds_options *options,
                      struct error *error);

/* The flags as they took effect, with what --smoke made of them; the caller owns it. */
json_t *run_flags_record(const struct command_line *line, const struct rounds_options *options);

#endif
