/* Memory that the host can address: pinned, and managed by the driver. */
#include "device/device.h"

#ifdef GAMUT_WITH_CUDA

#include "device/cuda_device.h"

static int alloc_pinned(struct cuda_device *d, uint64_t bytes, uint64_t *memory, void **host,
                        struct error *error)
{
    CUdeviceptr pointer = 0;
    int code = cuda_check(&d->api, d->api.cuMemHostAlloc(host, bytes, CU_MEMHOSTALLOC_DEVICEMAP),
                          "cuMemHostAlloc", bytes, error);
    if (code)
        return code;
    code = cuda_check(&d->api, d->api.cuMemHostGetDevicePointer_v2(&pointer, *host, 0),
                      "cuMemHostGetDevicePointer", bytes, error);
    if (code)
        d->api.cuMemFreeHost(*host);
    *memory = pointer;
    return code;
}

static int alloc_managed(struct cuda_device *d, uint64_t bytes, uint64_t *memory, void **host,
                         struct error *error)
{
    CUdeviceptr pointer = 0;
    int offered = 0;
    if (d->api.cuDeviceGetAttribute(&offered, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, d->device) !=
            CUDA_SUCCESS ||
        !offered)
        return error_set(error, ERR_UNSUPPORTED, "%s has no managed memory", d->info.name);
    int code = cuda_check(&d->api, d->api.cuMemAllocManaged(&pointer, bytes, CU_MEM_ATTACH_GLOBAL),
                          "cuMemAllocManaged", bytes, error);
    *memory = pointer;
    *host = (void *)(uintptr_t)pointer;
    return code;
}

int cuda_host_alloc(struct device *device, enum host_memory kind, uint64_t bytes, uint64_t *memory,
                    void **host, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    if (code)
        return code;
    return kind == HOST_PINNED ? alloc_pinned(d, bytes, memory, host, error)
                               : alloc_managed(d, bytes, memory, host, error);
}

int cuda_host_free(struct device *device, enum host_memory kind, uint64_t memory, uint64_t bytes,
                   struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    if (code)
        return code;
    if (kind == HOST_SHARED)
        return cuda_check(&d->api, d->api.cuMemFree_v2(memory), "cuMemFree", bytes, error);
    /* Pinned memory has one address for host and device. */
    return cuda_check(&d->api, d->api.cuMemFreeHost((void *)(uintptr_t)memory), "cuMemFreeHost",
                      bytes, error);
}

#endif
