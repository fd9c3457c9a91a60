/* Facts from result files of earlier runs: atlases, which predict cases, and the
 * noise floor. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "results/file/result.h"
#include "run/rounds/devices.h"

/* Two arrays, an element a device (empty: nothing can be predicted): the atlases, and where each is
 * from (draft_set_atlases). The caller owns both. */
struct known_atlases {
    json_t *atlases, *sources;
};

/* The folder, below gamut's own, of the atlases that have names: NAME.json.gz. */
#define ATLAS_FOLDER "results/data/atlases"
#define ATLAS_SUFFIX ".json.gz"
/* The path of an atlas that a command line names, or of a file. ERR_USAGE: a word without a dot or
 * slash is neither. The caller frees the path. */
int atlas_path(const char *name, struct text *path, struct error *error);

/* Finds the atlases of the selected devices: those of `path` (atlas_path) or, if it is NULL, the
 * newest of the same device and driver in the result files below `results`. Says on stderr which
 * they are. The caller owns what *known has. ERR_IO or ERR_PARSE: `path` is no result file;
 * ERR_NOT_FOUND: there is no atlas of any of the devices in it. */
int run_atlases(const char *path, const char *results, const struct found_device *devices,
                size_t count, struct known_atlases *known, struct error *error);

/* Takes into the result the newest floor of each of its devices from the files below `results`, and
 * says on stderr what it is and when it was measured. */
void run_noise_known(struct result *result, const char *results);
/* Measures the floor from the rounds of a finished A/A run and says what it is, or why there is
 * none. Failed cases do not fail here: the result reports them. */
void run_noise_measured(struct result *result);
