/* One case in, one record out. */
#ifndef GAMUT_RUN_MEASURE_H
#define GAMUT_RUN_MEASURE_H

#include "device/device.h"
#include "record/facts/atlas.h"
#include "record/facts/case.h"
#include "run/select/catalogue.h"

struct measure_options {
    unsigned least_samples;  /* at least so many timed runs (>= 1) */
    unsigned most_samples;   /* and never more */
    uint64_t least_ns;       /* and until they have taken so long together */
    uint64_t seed;           /* of the inputs */
    uint64_t capacity_bytes; /* of the source; 0: the driver decides */
    size_t
        known_digest_count; /* answers that are known to be right for this workload and dataset */
    const uint64_t *known_digests;
    bool log_memory; /* also make runs that are listened to (memory_log.h): round->memory */
};

/* What stays between the cases of one process: inputs, references, built kernels. */
struct measure;
struct measure *measure_open(struct device *device);
/* Cases are predicted from now on (round->model), by the atlas of this device, which outlives it.
 */
void measure_predict(struct measure *measure, const struct atlas *atlas);
void measure_close(struct measure *measure);

/* Runs the case: a cold run whose answer is checked, a warm run whose counters are kept, timed
 * runs. Everything that goes wrong is in round->status and round->reason; round->key must be set.
 * The caller calls case_round_free. Returns ERR_DEVICE_LOST if the device can't be used any more,
 * else 0. */
int measure_case(struct measure *measure, const struct entry *entry, const struct dataset *dataset,
                 const struct measure_options *options, struct case_round *round);

#endif
