/* NVIDIA's devices through the CUDA driver API: finding them, their memory, several together. */
#include "device/device.h"
#include "device/list.h"

#define SUMMARY "NVIDIA GPUs through the CUDA driver and NVRTC: cuda, cuda:1, cuda:H200"

#ifdef GAMUT_WITH_CUDA

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "device/cuda_device.h"
#include "device/cuda_guest.h"

/* ---- finding devices ---- */

static int attribute(const struct cuda_api *api, CUdevice device, CUdevice_attribute what)
{
    int value = 0;
    return api->cuDeviceGetAttribute(&value, what, device) == CUDA_SUCCESS ? value : 0;
}

static int arch_of(const struct cuda_api *api, CUdevice device)
{
    return 10 * attribute(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
           attribute(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/* The version of the kernel module, which the driver API does not report. */
static void driver_version(char *version, size_t size)
{
    FILE *file = fopen("/sys/module/nvidia/version", "r");
    if (!file)
        return;
    if (fgets(version, (int)size, file))
        version[strcspn(version, "\n")] = 0;
    fclose(file);
}

static int describe(const struct cuda_api *api, int number, struct device_info *info,
                    struct error *error)
{
    enum { ALIGNMENT_BYTES = 256 }; /* cuMemAlloc's alignment, by the programming guide */
    CUdevice device;
    size_t memory_bytes = 0;
    *info = (struct device_info){
        .api = "cuda",
        .kind = DEVICE_GPU,
        .language = KERNEL_CUDA_C,
        .alignment_bytes = ALIGNMENT_BYTES,
        .has_f64 = true,
        .can_split = true,
        .adds_offsets = true,
    };
    TRY(CUDA_CALL(api, cuDeviceGet, 0, error, &device, number));
    TRY(CUDA_CALL(api, cuDeviceTotalMem_v2, 0, error, &memory_bytes, device));
    TRY(CUDA_CALL(api, cuDeviceGetName, 0, error, info->name, sizeof info->name, device));
    info->memory_bytes = info->max_alloc_bytes = memory_bytes;
    info->l2_bytes = (uint64_t)attribute(api, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    info->compute_units =
        (unsigned)attribute(api, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info->max_group_items =
        (unsigned)attribute(api, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    snprintf(info->id, sizeof info->id, "cuda:%d", number);
    int length = snprintf(info->platform, sizeof info->platform, "CUDA %d.%d",
                          api->driver_version / 1000, api->driver_version % 1000 / 10);
    if (api->nvrtc_major)
        snprintf(info->platform + length, sizeof info->platform - (size_t)length, ", NVRTC %d.%d",
                 api->nvrtc_major, api->nvrtc_minor);
    snprintf(info->arch, sizeof info->arch, "sm_%d", arch_of(api, device));
    snprintf(info->bus_id, sizeof info->bus_id, "%04x:%02x:%02x.0",
             (unsigned)attribute(api, device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
             (unsigned)attribute(api, device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
             (unsigned)attribute(api, device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
    driver_version(info->driver, sizeof info->driver);
    return 0;
}

static int count_devices(const struct cuda_api *api, int *count, struct error *error)
{
    *count = 0;
    int code = CUDA_CALL(api, cuDeviceGetCount, 0, error, count);
    if (!code && *count == 0)
        code = error_set(error, ERR_UNSUPPORTED,
                         "the CUDA driver sees no device (is CUDA_VISIBLE_DEVICES set?)");
    return code;
}

static void enumerate(device_found *found, void *context)
{
    struct cuda_api api;
    struct error error;
    int count = 0;
    if (cuda_api_load(&api, &error) || count_devices(&api, &count, &error)) {
        found(context, NULL, error.text);
        return;
    }
    for (int i = 0; i < count; i++) {
        struct device_info info;
        if (describe(&api, i, &info, &error))
            found(context, NULL, error.text);
        else
            found(context, &info, NULL);
    }
}

/* ---- open and close ---- */

static void close_device(struct device *device)
{
    struct cuda_device *d = cuda_self(device);
    if (d->context) {
        d->api.cuCtxSetCurrent(d->context);
        for (int which = 0; which < 2; which++)
            if (d->marks[which])
                d->api.cuEventDestroy_v2(d->marks[which]);
        for (unsigned queue = 0; queue < DEVICE_QUEUES_MAX; queue++)
            if (d->streams[queue])
                d->api.cuStreamDestroy_v2(d->streams[queue]);
        d->api.cuCtxSetCurrent(NULL);
        d->api.cuDevicePrimaryCtxRelease_v2(d->device);
    }
    free(d);
}

static int create_context(struct cuda_device *d, struct error *error)
{
    const struct cuda_api *api = &d->api;
    int code = CUDA_CALL(api, cuDevicePrimaryCtxRetain, 0, error, &d->context, d->device);
    THEN(code, cuda_use(d, error));
    THEN(code, cuda_stream(d, 0, &d->stream, error));
    for (int which = 0; which < 2 && !code; which++)
        code = CUDA_CALL(api, cuEventCreate, 0, error, &d->marks[which], CU_EVENT_DEFAULT);
    return code;
}

static int find_number(const struct cuda_api *api, const char *id, int *number, struct error *error)
{
    int count;
    TRY(count_devices(api, &count, error));
    uint64_t value;
    if (strncmp(id, "cuda:", 5) != 0 || !text_to_u64(id + 5, &value) || value >= (uint64_t)count)
        return error_set(error, ERR_NOT_FOUND, "'%s': the CUDA devices are cuda:0 to cuda:%d", id,
                         count - 1);
    *number = (int)value;
    return 0;
}

static int open_device(const char *id, struct device **device, struct error *error)
{
    struct cuda_device *d = must_alloc(sizeof *d);
    int number = 0;
    d->base = (struct device){&device_cuda, &d->info};
    int code = cuda_api_load(&d->api, error);
    THEN(code, find_number(&d->api, id, &number, error));
    THEN(code, describe(&d->api, number, &d->info, error));
    THEN(code, CUDA_CALL(&d->api, cuDeviceGet, 0, error, &d->device, number));
    if (!code) {
        d->arch = arch_of(&d->api, d->device);
        code = create_context(d, error);
    }
    if (code)
        close_device(&d->base);
    else
        *device = &d->base;
    return code;
}

int cuda_guest_open(unsigned number, struct device **device, struct error *error)
{
    struct cuda_device *d = must_alloc(sizeof *d);
    int count = 0;
    d->base = (struct device){&device_cuda, &d->info};
    d->guest = cuda_guest_make();
    int code = cuda_api_load_driver(&d->api, error);
    THEN(code, count_devices(&d->api, &count, error));
    if (!code && number >= (unsigned)count)
        code = error_set(error, ERR_NOT_FOUND, "there is no CUDA device %u: the last is %d", number,
                         count - 1);
    THEN(code, describe(&d->api, (int)number, &d->info, error));
    THEN(code, CUDA_CALL(&d->api, cuDeviceGet, 0, error, &d->device, (int)number));
    THEN(code, CUDA_CALL(&d->api, cuDevicePrimaryCtxRetain, 0, error, &d->context, d->device));
    if (!code) {
        *device = &d->base;
        return 0;
    }
    free(d->guest);
    free(d);
    return code;
}

static uint64_t free_bytes(struct device *device)
{
    struct cuda_device *d = cuda_self(device);
    size_t left = 0, all = 0;
    if (cuda_use(d, NULL) || d->api.cuMemGetInfo_v2(&left, &all) != CUDA_SUCCESS)
        return 0;
    return left;
}

/* ---- memory ---- */

static int alloc(struct device *device, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    CUdeviceptr pointer = 0;
    cuda_profile_open(d);
    TRY(cuda_use(d, error));
    int code = CUDA_CALL(&d->api, cuMemAlloc_v2, bytes, error, &pointer, bytes);
    *memory = pointer;
    return code;
}

static int release(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (d->guest)
        return cuda_guest_free(d, memory, bytes, error);
    cuda_profile_open(d);
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuMemFree_v2, bytes, error, memory);
}

static int finish(struct cuda_device *d, const char *call, uint64_t bytes, struct error *error)
{
    return cuda_check(&d->api, d->api.cuStreamSynchronize(d->stream), call, bytes, error);
}

/* Host copies go through the device's own stream too: the plain cuMemcpyDtoH and HtoD work in the
 * default stream, which does not wait for a non-blocking one. */
static int read_memory(struct device *device, void *host, uint64_t memory, uint64_t offset,
                       uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    cuda_profile_open(d); /* also because pageable memory is copied in the call */
    TRY(cuda_use(d, error));
    TRY(CUDA_CALL(&d->api, cuMemcpyDtoHAsync_v2, bytes, error, host, memory + offset, bytes,
                  d->stream));
    return finish(d, "cuStreamSynchronize after cuMemcpyDtoHAsync", bytes, error);
}

static int write_memory(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                        uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    cuda_profile_open(d);
    TRY(cuda_use(d, error));
    TRY(CUDA_CALL(&d->api, cuMemcpyHtoDAsync_v2, bytes, error, memory + offset, host, bytes,
                  d->stream));
    return finish(d, "cuStreamSynchronize after cuMemcpyHtoDAsync", bytes, error);
}

static int copy(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                uint64_t from_offset, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    TRY(cuda_use(d, error));
    CUresult result =
        d->api.cuMemcpyDtoDAsync_v2(to + to_offset, from + from_offset, bytes, d->stream);
    return cuda_check(&d->api, result, "cuMemcpyDtoDAsync", bytes, error);
}

static int fill(struct device *device, uint64_t memory, uint64_t offset, uint8_t byte,
                uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuMemsetD8Async, bytes, error, memory + offset, byte, bytes,
                     d->stream);
}

static int sync_device(struct device *device, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (d->guest)
        return cuda_guest_sync(d, error);
    cuda_profile_open(d);
    int code = cuda_use(d, error);
    for (unsigned queue = 0; queue < DEVICE_QUEUES_MAX && !code; queue++)
        if (d->streams[queue])
            code = CUDA_CALL(&d->api, cuStreamSynchronize, 0, error, d->streams[queue]);
    return code;
}

/* ---- memory that the host can address ---- */

static int alloc_pinned(struct cuda_device *d, uint64_t bytes, uint64_t *memory, void **host,
                        struct error *error)
{
    void *address = NULL;
    CUdeviceptr pointer = 0;
    TRY(CUDA_CALL(&d->api, cuMemHostAlloc, bytes, error, &address, bytes,
                  CU_MEMHOSTALLOC_DEVICEMAP));
    int code = CUDA_CALL(&d->api, cuMemHostGetDevicePointer_v2, bytes, error, &pointer, address, 0);
    if (code)
        d->api.cuMemFreeHost(address);
    *memory = pointer;
    if (host)
        *host = address;
    return code;
}

/* Refuses managed memory beyond what the device has free: the driver would grant it, and move pages
 * to and fro. Managed pages that lie on the device count twice, as managed and as not free, so only
 * half of the memory is sure to be granted. */
static int check_managed_room(struct cuda_device *d, uint64_t bytes, struct error *error)
{
    char asked[64], managed[64], left[64];
    size_t free_bytes = 0, all_bytes = 0;
    int code = CUDA_CALL(&d->api, cuMemGetInfo_v2, 0, error, &free_bytes, &all_bytes);
    if (code || (bytes <= free_bytes && d->managed_bytes <= free_bytes - bytes))
        return code;
    return error_set(
        error, ERR_OOM,
        "%s of managed memory in addition to %s: the device has %s free, and more than that "
        "would be paged",
        text_bytes_exact(asked, bytes), text_bytes_exact(managed, d->managed_bytes),
        text_bytes_exact(left, free_bytes));
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
    TRY(check_managed_room(d, bytes, error));
    int code =
        CUDA_CALL(&d->api, cuMemAllocManaged, bytes, error, &pointer, bytes, CU_MEM_ATTACH_GLOBAL);
    *memory = pointer;
    TRY(code);
    d->managed_bytes += bytes;
    if (host)
        *host = (void *)(uintptr_t)pointer;
    return 0;
}

static int host_alloc(void *context, enum driver_memory kind, uint64_t bytes, uint64_t *memory,
                      void **host, struct error *error)
{
    struct cuda_device *d = context;
    if (kind == MEMORY_COARSE_SVM || kind == MEMORY_FINE_SVM)
        return error_set(error, ERR_UNSUPPORTED,
                         "shared virtual memory is OpenCL's: CUDA has managed memory");
    TRY(cuda_use(d, error));
    return kind == MEMORY_PINNED ? alloc_pinned(d, bytes, memory, host, error)
                                 : alloc_managed(d, bytes, memory, host, error);
}

static int host_free(void *context, enum driver_memory kind, uint64_t memory, uint64_t bytes,
                     struct error *error)
{
    struct cuda_device *d = context;
    TRY(cuda_use(d, error));
    if (kind == MEMORY_MANAGED) {
        d->managed_bytes -= bytes;
        cuda_profile_open(d); /* it waits */
        return CUDA_CALL(&d->api, cuMemFree_v2, bytes, error, memory);
    }
    /* The driver does not promise to wait. Pinned memory has one address for host and device. */
    int code = sync_device(context, error);
    ALSO(code,
         CUDA_CALL(&d->api, cuMemFreeHost, bytes, code ? NULL : error, (void *)(uintptr_t)memory));
    return code;
}

static const struct driver_memory_ops host_memory_ops = {.alloc = host_alloc, .free = host_free};

/* Pinned memory lies on the host and has one address for host and device. Kernels write to it
 * across the bus, and the host sees their results once it has waited for the stream. */
static int load(struct device *device, void *host, uint64_t memory, uint64_t offset, uint64_t bytes,
                struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    cuda_profile_open(d); /* it waits */
    int code = cuda_use(d, error);
    THEN(code, cuda_check(&d->api, d->api.cuStreamSynchronize(d->stream),
                          "cuStreamSynchronize before a load from pinned memory", bytes, error));
    if (!code)
        memcpy(host, (const char *)(uintptr_t)memory + offset, bytes);
    return code;
}

/* ---- the driver's pools: cuMemAllocFromPoolAsync and its like ----
 *
 * A pool hands out memory that was released on the same stream without waiting. The options say
 * when it may hand out memory released on another stream. The pool is gamut's own, not the device's
 * default one, so that options and counts are this pool's alone.
 */

enum { CUDA_WITH_POOL_LIMITS = 12020 }; /* CUmemPoolProps has maxSize since CUDA 12.2 */

static CUmemoryPool pool_handle(uint64_t pool)
{
    return (CUmemoryPool)(uintptr_t)pool;
}

static int check_pools(struct cuda_device *d, uint64_t most_bytes, struct error *error)
{
    int offered = 0;
    TRY(CUDA_CALL(&d->api, cuDeviceGetAttribute, 0, error, &offered,
                  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, d->device));
    if (!offered)
        return error_set(error, ERR_UNSUPPORTED,
                         "%s has no stream-ordered pools (its driver denies "
                         "MEMORY_POOLS_SUPPORTED)",
                         d->info.name);
    if (most_bytes &&
        (CUDA_VERSION < CUDA_WITH_POOL_LIMITS || d->api.driver_version < CUDA_WITH_POOL_LIMITS))
        return error_set(error, ERR_UNSUPPORTED,
                         "a limit on a stream-ordered pool needs CUDA 12.2 or later, in the driver "
                         "and where gamut was built");
    return 0;
}

static int pool_set(struct cuda_device *d, uint64_t pool, CUmemPool_attribute what, void *value,
                    struct error *error)
{
    return CUDA_CALL(&d->api, cuMemPoolSetAttribute, 0, error, pool_handle(pool), what, value);
}

static int pool_get(struct cuda_device *d, uint64_t pool, CUmemPool_attribute what, uint64_t *value,
                    struct error *error)
{
    cuuint64_t found = 0;
    int code = CUDA_CALL(&d->api, cuMemPoolGetAttribute, 0, error, pool_handle(pool), what, &found);
    *value = found;
    return code;
}

static int pool_set_options(struct cuda_device *d, uint64_t pool,
                            const struct driver_pool_options *options, struct error *error)
{
    cuuint64_t threshold = options->release_threshold_bytes;
    const struct {
        CUmemPool_attribute what;
        int value;
    } reuse[] = {
        {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, options->follow_event_dependencies},
        {CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, options->allow_opportunistic},
        {CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, options->allow_internal_dependencies},
    };
    int code = pool_set(d, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold, error);
    for (size_t i = 0; i < sizeof reuse / sizeof *reuse && !code; i++) {
        int value = reuse[i].value;
        code = pool_set(d, pool, reuse[i].what, &value, error);
    }
    return code;
}

static int pool_open(void *context, const struct driver_pool_options *options, uint64_t most_bytes,
                     uint64_t *pool, struct error *error)
{
    struct cuda_device *d = context;
    CUmemPoolProps properties = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .handleTypes = CU_MEM_HANDLE_TYPE_NONE,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->device},
    };
#if CUDA_VERSION >= 12020
    properties.maxSize = most_bytes;
#endif
    CUmemoryPool created = NULL;
    TRY(cuda_use(d, error));
    TRY(check_pools(d, most_bytes, error));
    TRY(CUDA_CALL(&d->api, cuMemPoolCreate, 0, error, &created, &properties));
    *pool = (uint64_t)(uintptr_t)created;
    int code = pool_set_options(d, *pool, options, error);
    if (code)
        d->api.cuMemPoolDestroy(created);
    return code;
}

/* Destroying a pool does not wait: without the sync its memory would come back some time later. */
static int pool_close(void *context, uint64_t pool, struct error *error)
{
    struct cuda_device *d = context;
    int code = sync_device(context, error);
    ALSO(code, CUDA_CALL(&d->api, cuMemPoolDestroy, 0, code ? NULL : error, pool_handle(pool)));
    return code;
}

static int pool_alloc(void *context, uint64_t pool, unsigned queue, uint64_t bytes,
                      uint64_t *memory, struct error *error)
{
    struct cuda_device *d = context;
    CUdeviceptr pointer = 0;
    CUstream stream;
    int code = cuda_use(d, error);
    THEN(code, cuda_stream(d, queue, &stream, error));
    THEN(code, CUDA_CALL(&d->api, cuMemAllocFromPoolAsync, bytes, error, &pointer, bytes,
                         pool_handle(pool), stream));
    *memory = pointer;
    return code;
}

static int pool_free(void *context, uint64_t pool, unsigned queue, uint64_t memory, uint64_t bytes,
                     struct error *error)
{
    (void)pool; /* the driver knows the pool of a memory */
    struct cuda_device *d = context;
    CUstream stream;
    TRY(cuda_use(d, error));
    TRY(cuda_stream(d, queue, &stream, error));
    return CUDA_CALL(&d->api, cuMemFreeAsync, bytes, error, memory, stream);
}

static int pool_trim(void *context, uint64_t pool, uint64_t keep_bytes, struct error *error)
{
    struct cuda_device *d = context;
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuMemPoolTrimTo, 0, error, pool_handle(pool), keep_bytes);
}

static int pool_reserved(void *context, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                         struct error *error)
{
    struct cuda_device *d = context;
    int code = cuda_use(d, error);
    THEN(code, pool_get(d, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, bytes, error));
    THEN(code, pool_get(d, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, peak_bytes, error));
    /* After a reset the watermark counts only later reservations. */
    if (!code && *peak_bytes < *bytes)
        *peak_bytes = *bytes;
    return code;
}

static int pool_reset_peak(void *context, uint64_t pool, struct error *error)
{
    struct cuda_device *d = context;
    cuuint64_t zero = 0; /* the one value that the driver takes */
    TRY(cuda_use(d, error));
    return pool_set(d, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero, error);
}

static const struct driver_pool_ops pool_ops = {DRIVER_POOL_OPS};

/* ---- virtual memory ---- */

static CUmemLocation location(const struct cuda_device *d)
{
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->device};
}

static CUmemAllocationProp chunk_properties(const struct cuda_device *d)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = location(d)};
}

static int check_vm(struct cuda_device *d, struct error *error)
{
    int offered = 0;
    int code = CUDA_CALL(&d->api, cuDeviceGetAttribute, 0, error, &offered,
                         CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, d->device);
    if (!code && !offered)
        code = error_set(error, ERR_UNSUPPORTED,
                         "%s has no virtual memory for programs to map (its driver denies "
                         "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)",
                         d->info.name);
    return code;
}

static int vm_info(void *context, struct driver_vm_info *info, struct error *error)
{
    struct cuda_device *d = context;
    const CUmemAllocationProp properties = chunk_properties(d);
    size_t granularity = 0;
    int code = cuda_use(d, error);
    THEN(code, check_vm(d, error));
    THEN(code, CUDA_CALL(&d->api, cuMemGetAllocationGranularity, 0, error, &granularity,
                         &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    *info = (struct driver_vm_info){.granularity_bytes = granularity,
                                    .memory_bytes = d->info.memory_bytes};
    return code;
}

static int vm_reserve(void *context, uint64_t bytes, uint64_t *range, struct error *error)
{
    struct cuda_device *d = context;
    CUdeviceptr pointer = 0;
    TRY(cuda_use(d, error));
    int code = CUDA_CALL(&d->api, cuMemAddressReserve, bytes, error, &pointer, bytes, 0, 0, 0);
    *range = pointer;
    return code;
}

static int vm_unreserve(void *context, uint64_t range, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = context;
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuMemAddressFree, bytes, error, range, bytes);
}

static int vm_create(void *context, uint64_t bytes, uint64_t *chunk, struct error *error)
{
    struct cuda_device *d = context;
    const CUmemAllocationProp properties = chunk_properties(d);
    CUmemGenericAllocationHandle created = 0;
    TRY(cuda_use(d, error));
    int code = CUDA_CALL(&d->api, cuMemCreate, bytes, error, &created, bytes, &properties, 0);
    *chunk = created;
    return code;
}

static int vm_release(void *context, uint64_t chunk, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = context;
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuMemRelease, bytes, error, chunk);
}

static int vm_map(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *error)
{
    struct cuda_device *d = context;
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuMemMap, bytes, error, range + offset, bytes, 0, chunk, 0);
}

static int vm_access(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                     struct error *error)
{
    struct cuda_device *d = context;
    const CUmemAccessDesc both = {.location = location(d),
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuMemSetAccess, bytes, error, range + offset, bytes, &both, 1);
}

static int vm_unmap(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                    struct error *error)
{
    struct cuda_device *d = context;
    TRY(cuda_use(d, error));
    return CUDA_CALL(&d->api, cuMemUnmap, bytes, error, range + offset, bytes);
}

static const struct driver_vm_ops vm_ops = {DRIVER_VM_OPS};

/* ---- several devices ----
 *
 * If access is enabled between two contexts, a copy goes straight from memory to memory; otherwise
 * the driver takes it through the host.
 */

/* Enables access where there is a link. Copies also work between devices that have none. */
static int enable_access(struct cuda_device *d, const struct cuda_device *peer, struct error *error)
{
    int can = 0;
    if (d->device == peer->device)
        return 0;
    TRY(cuda_use(d, error));
    int code = CUDA_CALL(&d->api, cuDeviceCanAccessPeer, 0, error, &can, d->device, peer->device);
    if (code || !can)
        return code;
    CUresult result = d->api.cuCtxEnablePeerAccess(peer->context, 0);
    if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        return 0; /* primary contexts are shared: an earlier group enabled it */
    return cuda_check(&d->api, result, "cuCtxEnablePeerAccess", 0, error);
}

static int open_together(const char *const *ids, unsigned count, struct device **devices,
                         struct error *error)
{
    unsigned opened = 0;
    int code = 0;
    while (opened < count && !code) {
        code = open_device(ids[opened], &devices[opened], error);
        opened += code == 0;
    }
    for (unsigned i = 0; i < count && !code; i++)
        for (unsigned j = 0; j < count && !code; j++)
            code = enable_access(cuda_self(devices[i]), cuda_self(devices[j]), error);
    for (unsigned i = 0; i < opened && code; i++)
        devices[i]->ops->close(devices[i]);
    return code;
}

static int peer_copy(struct device *device, uint64_t to, uint64_t to_offset, struct device *of,
                     uint64_t from, uint64_t from_offset, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    TRY(cuda_use(d, error));
    CUresult result = d->api.cuMemcpyPeerAsync(to + to_offset, d->context, from + from_offset,
                                               cuda_self(of)->context, bytes, d->stream);
    return cuda_check(&d->api, result, "cuMemcpyPeerAsync", bytes, error);
}

static const struct device_peer_ops peer_ops = {.open_together = open_together, .copy = peer_copy};

/* There is no touch: cuMemAlloc hands out memory that is resident. */
const struct device_ops device_cuda = {
    .name = "cuda",
    .summary = SUMMARY,
    .enumerate = enumerate,
    .open = open_device,
    .close = close_device,
    .free_bytes = free_bytes,
    .alloc = alloc,
    .free = release,
    .read = read_memory,
    .write = write_memory,
    .copy = copy,
    .fill = fill,
    .build = cuda_build,
    .unbuild = cuda_unbuild,
    .launch = cuda_launch,
    .sync = sync_device,
    .mark = cuda_mark,
    .elapsed_ns = cuda_elapsed_ns,
    .load = load,
    .queues = &cuda_queues,
    .events = &cuda_events,
    .peers = &peer_ops,
    .profile = &cuda_profile,
    .host_memory = &host_memory_ops,
    .pools = &pool_ops,
    .vm = &vm_ops,
};

#else

const struct device_ops device_cuda = {
    .name = "cuda",
    .summary = SUMMARY,
    .missing = "this gamut was built without CUDA: install the CUDA toolkit's headers (cuda.h, "
               "nvrtc.h), set CUDA_PATH to its folder and build again",
};

#endif
