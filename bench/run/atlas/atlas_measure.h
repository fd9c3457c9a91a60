/* Measuring an atlas: what each method of getting memory costs on a device, by size, and what its
 * calls wait for. record/facts/atlas.h says what comes out.
 *
 * Every size of every method, and every command, is a cell. A round visits all cells in an order that
 * is shuffled anew, one cycle of calls a visit, so that what drifts hits all alike and an
 * allocation follows that of another size. Cells are visited until they have used their share of
 * the time, but at least a few times each.
 */
#ifndef GAMUT_RUN_ATLAS_MEASURE_H
#define GAMUT_RUN_ATLAS_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "device/device.h"
#include "record/facts/atlas.h"

struct atlas_options {
    bool quick; /* few sizes and samples: for tests */
    uint64_t seed;
};

/* Hears how it goes, several times a second. `atlas` is NULL, or what is known by now. */
typedef void atlas_listener(void *context, const char *doing, const struct atlas *atlas);

/* Fills in *atlas, which the caller frees also after an error: it then holds what was measured. A
 * method or size that the device refuses is no error, but a point that says why. */
int atlas_measure(struct device *device, const struct atlas_options *options,
                  atlas_listener *listener, void *context, struct atlas *atlas,
                  struct error *error);

#endif
