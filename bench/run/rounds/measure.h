/* Measures one case: runs it, checks its answer and fills in the record of one round. */
#pragma once

#include "device/device.h"
#include "results/facts/atlas.h"
#include "results/facts/case.h"
#include "run/select/catalogue.h"

/* Samples are taken until there are `least_samples` (at least 1) that took `least_ns` together, or
 * `most_samples` in any case. */
struct measure_options {
    unsigned least_samples, most_samples;
    uint64_t least_ns;
    uint64_t seed;           /* seed of the inputs */
    uint64_t capacity_bytes; /* limit of the source; 0: the driver decides */
    size_t known_digest_count;
    const uint64_t *known_digests; /* digests of right answers for this workload and dataset */
};
/* X(name) for each of these options that is a plain number. */
#define MEASURE_NUMBER_LIST(X)                                                                     \
    X(least_samples) X(most_samples) X(least_ns) X(seed) X(capacity_bytes)

/* Measures cases on one device; keeps inputs, references and built kernels between them. */
struct measure;
/* Cannot fail. The caller closes it before the device, which it borrows. */
struct measure *measure_open(struct device *device);
/* From here on also predicts each case by the atlas of this device, in round->model. `atlas` must
 * outlive `measure`. */
void measure_predict(struct measure *measure, const struct atlas *atlas);
/* Frees everything that was kept. */
void measure_close(struct measure *measure);

/* Runs the case round->key: a cold run whose answer is checked, a warm run whose counters are
 * kept, timed runs. A failure of the case is in round->status and round->reason. The caller frees
 * *round with case_round_free. Returns 0, or ERR_DEVICE_LOST if the device cannot be used any
 * more. */
int measure_case(struct measure *measure, const struct entry *entry, const struct dataset *dataset,
                 const struct measure_options *options, struct case_round *round);
