/* Measures the atlas of a device (results/facts/atlas.h): what each method of getting memory costs,
 * by size, at rest and while the device works, and what its calls wait for.
 *
 * Every size of every method, and every command, is a cell. A round visits all cells in a shuffled
 * order and runs one cycle of calls in each, so that whatever drifts affects all cells alike, and
 * an allocation follows one of another size. A cell is visited until it has used its share of the
 * time, but at least a few times.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "device/device.h"
#include "results/facts/atlas.h"

struct atlas_options {
    bool quick; /* few sizes and samples: for tests */
    uint64_t seed;
};

/* Called several times a second with what is being measured. `atlas` has the points so far, or is
 * NULL. */
typedef void atlas_listener(void *context, const char *doing, const struct atlas *atlas);

/* Fills in *atlas. The caller frees it also after an error: it then has the points so far. A method
 * or size that the device refuses is not an error; it becomes a point with the reason. Errors:
 * ERR_BUILD, ERR_OOM for the bench itself, ERR_DEVICE_LOST. */
int atlas_measure(struct device *device, const struct atlas_options *options,
                  atlas_listener *listener, void *context, struct atlas *atlas,
                  struct error *error);
