/* The recorder of OpenCL in front of a driver, for loaders without layers. */
#ifndef GAMUT_CAPTURE_FRONT_OPENCL_H
#define GAMUT_CAPTURE_FRONT_OPENCL_H

#include <CL/cl_icd.h>

/* Functions that loaders find by name; all others are hidden, so that none takes the place of another. */
#define EXPORTED __attribute__((visibility("default")))

enum { LAYER_DRIVERS_MOST = 8 };

/* The layer's entries, which call those of `driver`; NULL where nothing is recorded. Entries that are
 * NULL pass through. `own`: the table that the driver's objects begin with; NULL: `driver` serves all objects, as
 * a loader does. `driver` must live as long as the process. `via` as in struct raw_head. */
const cl_icd_dispatch *layer_entries(const void *own, const cl_icd_dispatch *driver,
                                     const char *via);

/* Puts the drivers' own entries back into their tables. */
void front_give_back(void);

#endif
