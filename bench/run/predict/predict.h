/* Predictions for the cases of a device: profiles a program once and replays it for each strategy.
 *
 * A profile is made in runs of its own, after the samples of the first case that needs it. They run
 * under `pool`, which makes no driver calls after its first run, so that the program's own times
 * contain none. Some runs give the host's times. In others the device times each command. On a GPU,
 * runs in which nothing is timed show how much of these times is the timing (model_fit).
 *
 * A prediction is for the pace at which the host was when the case was sampled: the prices of the
 * atlas are multiplied by it, and the host's times of the profile by what it was over that of the
 * profile.
 */
#pragma once

#include "results/facts/atlas.h"
#include "results/facts/case.h"
#include "run/execute/execute.h"

struct predictor;

/* Makes a predictor; the caller closes it. `atlas` is that of `device`; both must outlive it. */
struct predictor *predictor_open(struct device *device, const struct atlas *atlas);
/* Frees the predictor and its profiles. NULL: nothing. */
void predictor_close(struct predictor *predictor);

/* A case begins: its pace is not known yet. */
void predictor_begin(struct predictor *predictor);
/* Looks at the host's pace (run/atlas/pace.h), after a sample, while the device is idle. */
void predictor_look(struct predictor *predictor);

/* The run to predict: the executor runs a program with these arguments under a strategy. */
struct prediction_request {
    const struct case_key *key;
    const struct fun *fun; /* the program that the executor runs */
    struct executor *executor;
    const struct arguments *arguments;
    const struct allocator_ops *strategy;
    const struct option_values *options;
    uint64_t capacity_bytes;
};

/* Fills in *model; if no prediction is possible, with unknowns and the reason. Returns
 * ERR_DEVICE_LOST if the device is lost, else 0. */
int predictor_predict(struct predictor *predictor, const struct prediction_request *request,
                      struct case_model *model);
