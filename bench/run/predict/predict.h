/* Predictions for the cases of a device: profiles a program once and replays it for each strategy.
 *
 * A profile is made in runs of its own, after the samples of the first case that needs it. They run
 * under `pool`, which asks the driver for nothing once it has run: so no call of a driver lies in a
 * time that is meant to be the program's. Some runs give the host's times, others, in which the
 * device is asked for the time of each command, those of the commands.
 */
#ifndef GAMUT_RUN_PREDICT_H
#define GAMUT_RUN_PREDICT_H

#include "record/facts/atlas.h"
#include "record/facts/case.h"
#include "run/execute/execute.h"

struct predictor;

/* `atlas` is of this device, and outlives the predictor. */
struct predictor *predictor_open(struct device *device, const struct atlas *atlas);
void predictor_close(struct predictor *predictor);

/* What is predicted: a run of the executor with these arguments under a strategy. */
struct prediction_request {
    const struct case_key *key;
    const struct fun *fun; /* that it runs */
    struct executor *executor;
    const struct arguments *arguments;
    const struct allocator_ops *strategy;
    const struct option_values *options;
    uint64_t capacity_bytes;
};

/* Fills in the model, with unknowns and the reason where there is no prediction. Returns
 * ERR_DEVICE_LOST if the device cannot be used any more, else 0. */
int predictor_predict(struct predictor *predictor, const struct prediction_request *request,
                      struct case_model *model);

#endif
