/* Measuring an atlas in a worker (run/atlas/atlas_measure.h). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "run/atlas/atlas_measure.h"

/* Has a worker measure the device `id`, like atlas_measure. The caller frees *atlas also after an
 * error. The first SIGINT, SIGTERM or SIGHUP ends it early: *interrupted is set and *atlas has the
 * points so far. A second one ends the process. ERR_DEVICE if the driver hangs. */
int atlas_run(const char *id, const struct atlas_options *options, atlas_listener *listener,
              void *context, struct atlas *atlas, bool *interrupted, struct error *error);

/* The worker's side: the worker_job of the kind "atlas". */
int atlas_work(const json_t *job, FILE *out, struct error *error);
