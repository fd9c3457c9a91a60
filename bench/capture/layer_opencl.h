/* A layer between an application of OpenCL and its drivers.
 *
 * Loaders that know layers (OPENCL_LAYERS) call clGetLayerInfo and clInitLayer. Other loaders get the same
 * entries by a driver in front of the drivers (front_opencl.c). A library has one layer, layer_own: that
 * of the recorder (record_opencl.c), or that of the server (bench/serve/opencl.h).
 */
#ifndef GAMUT_CAPTURE_LAYER_OPENCL_H
#define GAMUT_CAPTURE_LAYER_OPENCL_H

#include <CL/cl_icd.h>
#include <stdbool.h>

/* Functions that loaders find by name; all others are hidden, so that none takes the place of another. */
#define EXPORTED __attribute__((visibility("default")))

enum { LAYER_DRIVERS_MOST = 8 };

struct layer {
    const char *name;     /* for the loader */
    const char *variable; /* of the environment: without it the layer does nothing */
    /* Entries that are NULL pass through the loader. Extension functions by-pass all layers. */
    const cl_icd_dispatch *entries;
    /* Begins, or goes on with a further driver; false: nothing is to be done. `via` as in struct raw_head. */
    bool (*begin)(const char *via);
};

extern const struct layer layer_own;

/* The tables of the next layer or of the drivers. */
struct layer_next {
    const void *own; /* objects of this driver begin with its address; NULL: all objects */
    const cl_icd_dispatch *table;
};
extern struct layer_next layer_nexts[LAYER_DRIVERS_MOST];

/* The table that an object's calls go to. */
static inline const cl_icd_dispatch *next_of(const void *object)
{
    unsigned i = 0;
    if (layer_nexts[0].own && object)
        while (i + 1 < LAYER_DRIVERS_MOST && layer_nexts[i + 1].own &&
               layer_nexts[i].own != *(const void *const *)object)
            i++;
    return layer_nexts[i].table;
}

#define HANDLE(pointer) ((uint64_t)(uintptr_t)(pointer))

/* The layer's entries, which call those of `driver`; NULL where the layer does nothing. `own`: the table that the
 * driver's objects begin with; NULL: `driver` serves all objects, as a loader does. `driver` must live as long as the
 * process. `via` as in struct raw_head. */
const cl_icd_dispatch *layer_entries(const void *own, const cl_icd_dispatch *driver,
                                     const char *via);

/* Puts the drivers' own entries back into their tables (front_opencl.c). */
void front_give_back(void);

#endif
