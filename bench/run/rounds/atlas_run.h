/* An atlas that a worker measures (run/atlas/atlas_measure.h). */
#ifndef GAMUT_RUN_ATLAS_RUN_H
#define GAMUT_RUN_ATLAS_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "run/atlas/atlas_measure.h"

/* Has a worker measure the device `id`, like atlas_measure: the caller frees *atlas also after an
 * error. The first SIGINT or SIGTERM ends it early (*interrupted; *atlas is what was known by
 * then), a second one ends the process. ERR_DEVICE where the driver hangs. */
int atlas_run(const char *id, const struct atlas_options *options, atlas_listener *listener,
              void *context, struct atlas *atlas, bool *interrupted, struct error *error);

/* The worker's side of it: a worker_job of the kind "atlas". */
int atlas_work(const json_t *job, FILE *out, struct error *error);

#endif
