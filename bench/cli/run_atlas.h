/* Which atlases a run predicts its cases by. */
#ifndef GAMUT_CLI_RUN_ATLAS_H
#define GAMUT_CLI_RUN_ATLAS_H

#include <jansson.h>

#include "run/rounds/devices.h"

/* The atlases of the selected devices: those in `path`, or, where `path` is NULL, the newest of the
 * same device and driver in the result files below `results`. Says on stderr which they are. The
 * caller owns *atlases, an array (empty: nothing can be predicted). ERR_IO or ERR_PARSE: `path` is
 * no result file; ERR_NOT_FOUND: there is no atlas of any of the devices in it. */
int run_atlases(const char *path, const char *results, const struct found_device *devices,
                size_t count, json_t **atlases, struct error *error);

#endif
