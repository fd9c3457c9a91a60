#include "capture/layer_opencl.h"

#include <CL/cl_layer.h>
#include <string.h>

struct layer_next layer_nexts[LAYER_DRIVERS_MOST];

const cl_icd_dispatch *layer_entries(const void *own, const cl_icd_dispatch *driver,
                                     const char *via)
{
    unsigned i = 0;
    /* A loader that knows layers may also have been given the driver in front: the layer goes first. */
    if (layer_nexts[0].table && !layer_nexts[0].own)
        return NULL;
    if (!own) {
        front_give_back();
        memset(layer_nexts, 0, sizeof layer_nexts);
    }
    while (i < LAYER_DRIVERS_MOST && layer_nexts[i].table)
        i++;
    if (i == LAYER_DRIVERS_MOST || !layer_own.begin(via))
        return NULL;
    layer_nexts[i] = (struct layer_next){own, driver};
    return layer_own.entries;
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size,
                                                        void *value, size_t *size_needed)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const bool is_version = name == CL_LAYER_API_VERSION;
    if (!is_version && name != CL_LAYER_NAME)
        return CL_INVALID_VALUE;
    const size_t needed = is_version ? sizeof version : strlen(layer_own.name) + 1;
    if (value && size < needed)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, is_version ? (const void *)&version : layer_own.name, needed);
    if (size_needed)
        *size_needed = needed;
    return CL_SUCCESS;
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target,
                                                     cl_uint *count_needed,
                                                     const cl_icd_dispatch **layer)
{
    static const cl_icd_dispatch nothing;
    static cl_icd_dispatch copy;
    if (!target || !layer || !count_needed)
        return CL_INVALID_VALUE;
    /* An older loader has a shorter table: the entries behind its end are NULL. */
    const size_t known = sizeof copy / sizeof(void *);
    if (count < known)
        target = memcpy(&copy, target, count * sizeof(void *));
    const cl_icd_dispatch *table = layer_entries(NULL, target, "layer");
    *layer = table ? table : &nothing;
    *count_needed = (cl_uint)known;
    return CL_SUCCESS;
}
