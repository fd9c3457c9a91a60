/* Virtual memory: ranges of addresses, physical chunks, and which chunk lies where. */
#include "device/device.h"

#ifdef GAMUT_WITH_CUDA

#include "device/cuda_device.h"

static CUmemLocation place(const struct cuda_device *d)
{
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->device};
}

static CUmemAllocationProp chunk_properties(const struct cuda_device *d)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = place(d)};
}

static int check_offered(struct cuda_device *d, struct error *error)
{
    int offered = 0;
    int code = cuda_check(
        &d->api,
        d->api.cuDeviceGetAttribute(
            &offered, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, d->device),
        "cuDeviceGetAttribute", 0, error);
    if (!code && !offered)
        code = error_set(error, ERR_UNSUPPORTED,
                         "%s has no virtual memory for programs to map (its driver denies "
                         "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)",
                         d->info.name);
    return code;
}

int cuda_vm_granularity(struct device *device, uint64_t *bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    const CUmemAllocationProp properties = chunk_properties(d);
    size_t granularity = 0;
    int code = cuda_use(d, error);
    if (!code)
        code = check_offered(d, error);
    if (!code)
        code = cuda_check(&d->api,
                          d->api.cuMemGetAllocationGranularity(&granularity, &properties,
                                                               CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                          "cuMemGetAllocationGranularity", 0, error);
    *bytes = granularity;
    return code;
}

int cuda_vm_reserve(struct device *device, uint64_t bytes, uint64_t *address, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    CUdeviceptr pointer = 0;
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuMemAddressReserve(&pointer, bytes, 0, 0, 0),
                          "cuMemAddressReserve", bytes, error);
    *address = pointer;
    return code;
}

int cuda_vm_unreserve(struct device *device, uint64_t address, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    if (code)
        return code;
    return cuda_check(&d->api, d->api.cuMemAddressFree(address, bytes), "cuMemAddressFree", bytes,
                      error);
}

int cuda_vm_create(struct device *device, uint64_t bytes, uint64_t *chunk, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    const CUmemAllocationProp properties = chunk_properties(d);
    CUmemGenericAllocationHandle created = 0;
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuMemCreate(&created, bytes, &properties, 0),
                          "cuMemCreate", bytes, error);
    *chunk = created;
    return code;
}

int cuda_vm_release(struct device *device, uint64_t chunk, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    if (code)
        return code;
    return cuda_check(&d->api, d->api.cuMemRelease(chunk), "cuMemRelease", bytes, error);
}

int cuda_vm_map(struct device *device, uint64_t address, uint64_t chunk, uint64_t bytes,
                struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    if (code)
        return code;
    return cuda_check(&d->api, d->api.cuMemMap(address, bytes, 0, chunk, 0), "cuMemMap", bytes,
                      error);
}

int cuda_vm_access(struct device *device, uint64_t address, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    const CUmemAccessDesc both = {.location = place(d),
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    int code = cuda_use(d, error);
    if (code)
        return code;
    return cuda_check(&d->api, d->api.cuMemSetAccess(address, bytes, &both, 1), "cuMemSetAccess",
                      bytes, error);
}

int cuda_vm_unmap(struct device *device, uint64_t address, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    if (code)
        return code;
    return cuda_check(&d->api, d->api.cuMemUnmap(address, bytes), "cuMemUnmap", bytes, error);
}

#endif
