/* Memory that the host can address: pinned, and managed by the driver. */
#include "device/device.h"

#ifdef GAMUT_WITH_CUDA

#include <string.h>

#include "base/text.h"
#include "device/cuda_device.h"

static int alloc_pinned(struct cuda_device *d, uint64_t bytes, uint64_t *memory, void **host,
                        struct error *error)
{
    void *address = NULL;
    CUdeviceptr pointer = 0;
    int code =
        cuda_check(&d->api, d->api.cuMemHostAlloc(&address, bytes, CU_MEMHOSTALLOC_DEVICEMAP),
                   "cuMemHostAlloc", bytes, error);
    if (code)
        return code;
    code = cuda_check(&d->api, d->api.cuMemHostGetDevicePointer_v2(&pointer, address, 0),
                      "cuMemHostGetDevicePointer", bytes, error);
    if (code)
        d->api.cuMemFreeHost(address);
    *memory = pointer;
    if (host)
        *host = address;
    return code;
}

/* The driver manages more than the device has, by moving pages to and fro. What of it is on the
 * device now is taken for none, so that at least half of the memory can be had. */
static int check_managed_room(struct cuda_device *d, uint64_t bytes, struct error *error)
{
    char asked[32], managed[32], left[32];
    size_t free_bytes = 0, all_bytes = 0;
    int code = cuda_check(&d->api, d->api.cuMemGetInfo_v2(&free_bytes, &all_bytes), "cuMemGetInfo",
                          0, error);
    if (code || (bytes <= free_bytes && d->managed_bytes <= free_bytes - bytes))
        return code;
    return error_set(error, ERR_OOM,
                     "%s of managed memory beside %s: the device has %s free, and more than that "
                     "would be paged",
                     text_bytes(asked, bytes), text_bytes(managed, d->managed_bytes),
                     text_bytes(left, free_bytes));
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
    int code = check_managed_room(d, bytes, error);
    if (code)
        return code;
    code = cuda_check(&d->api, d->api.cuMemAllocManaged(&pointer, bytes, CU_MEM_ATTACH_GLOBAL),
                      "cuMemAllocManaged", bytes, error);
    *memory = pointer;
    if (code)
        return code;
    d->managed_bytes += bytes;
    if (host)
        *host = (void *)(uintptr_t)pointer;
    return 0;
}

int cuda_host_alloc(struct device *device, enum host_memory kind, uint64_t bytes, uint64_t *memory,
                    void **host, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (kind == HOST_COARSE_SVM || kind == HOST_FINE_SVM)
        return error_set(error, ERR_UNSUPPORTED,
                         "shared virtual memory is OpenCL's: CUDA has managed memory");
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
    if (kind == HOST_MANAGED) {
        d->managed_bytes -= bytes;
        cuda_profile_open(d); /* it waits */
        return cuda_check(&d->api, d->api.cuMemFree_v2(memory), "cuMemFree", bytes, error);
    }
    /* That it waits is nowhere promised. Pinned memory has one address for host and device. */
    int synced = device->ops->sync(device, error);
    code = cuda_check(&d->api, d->api.cuMemFreeHost((void *)(uintptr_t)memory), "cuMemFreeHost",
                      bytes, synced ? NULL : error);
    return synced ? synced : code;
}

/* Pinned memory has one address for host and device, and is the host's: kernels write to it across
 * the bus, and what they wrote is there for the host once the stream has been waited for. */
int cuda_load(struct device *device, void *host, uint64_t memory, uint64_t offset, uint64_t bytes,
              struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    cuda_profile_open(d); /* it waits */
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuStreamSynchronize(d->stream),
                          "cuStreamSynchronize before a load from pinned memory", bytes, error);
    if (!code)
        memcpy(host, (const char *)(uintptr_t)memory + offset, bytes);
    return code;
}

#endif
