/* The driver's stream-ordered pools: cuMemAllocFromPoolAsync and its like.
 *
 * Allocations and releases are commands of a stream. A pool hands out memory that was
 * released on the same stream without waiting; what it may do with memory released on another
 * stream is what device_pool_options say. A pool of gamut's own, not the device's default one, so
 * that options and counts are those of this pool alone.
 */
#include "device/device.h"

#ifdef GAMUT_WITH_CUDA

#include "device/cuda_device.h"

enum { CUDA_WITH_POOL_LIMITS = 12020 }; /* CUmemPoolProps has maxSize since CUDA 12.2 */

static CUmemoryPool handle(uint64_t pool)
{
    return (CUmemoryPool)(uintptr_t)pool;
}

static int check_offered(struct cuda_device *d, uint64_t most_bytes, struct error *error)
{
    int offered = 0;
    int code = cuda_check(&d->api,
                          d->api.cuDeviceGetAttribute(
                              &offered, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, d->device),
                          "cuDeviceGetAttribute", 0, error);
    if (code)
        return code;
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

static int set(struct cuda_device *d, uint64_t pool, CUmemPool_attribute what, void *value,
               struct error *error)
{
    return cuda_check(&d->api, d->api.cuMemPoolSetAttribute(handle(pool), what, value),
                      "cuMemPoolSetAttribute", 0, error);
}

static int get(struct cuda_device *d, uint64_t pool, CUmemPool_attribute what, uint64_t *value,
               struct error *error)
{
    cuuint64_t found = 0;
    int code = cuda_check(&d->api, d->api.cuMemPoolGetAttribute(handle(pool), what, &found),
                          "cuMemPoolGetAttribute", 0, error);
    *value = found;
    return code;
}

static int set_options(struct cuda_device *d, uint64_t pool,
                       const struct device_pool_options *options, struct error *error)
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
    int code = set(d, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold, error);
    for (size_t i = 0; i < sizeof reuse / sizeof *reuse && !code; i++) {
        int value = reuse[i].value;
        code = set(d, pool, reuse[i].what, &value, error);
    }
    return code;
}

int cuda_pool_open(struct device *device, const struct device_pool_options *options, uint64_t *pool,
                   struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    CUmemPoolProps properties = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .handleTypes = CU_MEM_HANDLE_TYPE_NONE,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->device},
    };
#if CUDA_VERSION >= 12020
    properties.maxSize = options->most_bytes;
#endif
    CUmemoryPool created = NULL;
    int code = cuda_use(d, error);
    if (!code)
        code = check_offered(d, options->most_bytes, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuMemPoolCreate(&created, &properties), "cuMemPoolCreate",
                          0, error);
    if (code)
        return code;
    *pool = (uint64_t)(uintptr_t)created;
    code = set_options(d, *pool, options, error);
    if (code)
        d->api.cuMemPoolDestroy(created);
    return code;
}

/* Destroying a pool does not wait: without the sync its memory would come back some time later. */
int cuda_pool_close(struct device *device, uint64_t pool, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int synced = device->ops->sync(device, error);
    int code = cuda_check(&d->api, d->api.cuMemPoolDestroy(handle(pool)), "cuMemPoolDestroy", 0,
                          synced ? NULL : error);
    return synced ? synced : code;
}

int cuda_pool_alloc(struct device *device, uint64_t pool, unsigned queue, uint64_t bytes,
                    uint64_t *memory, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    CUdeviceptr pointer = 0;
    CUstream stream;
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_stream(d, queue, &stream, error);
    if (!code)
        code = cuda_check(&d->api,
                          d->api.cuMemAllocFromPoolAsync(&pointer, bytes, handle(pool), stream),
                          "cuMemAllocFromPoolAsync", bytes, error);
    *memory = pointer;
    return code;
}

int cuda_pool_free(struct device *device, uint64_t pool, unsigned queue, uint64_t memory,
                   uint64_t bytes, struct error *error)
{
    (void)pool; /* the driver knows whose memory it is */
    struct cuda_device *d = cuda_self(device);
    CUstream stream;
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_stream(d, queue, &stream, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuMemFreeAsync(memory, stream), "cuMemFreeAsync", bytes,
                          error);
    return code;
}

int cuda_pool_trim(struct device *device, uint64_t pool, uint64_t keep_bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    if (code)
        return code;
    return cuda_check(&d->api, d->api.cuMemPoolTrimTo(handle(pool), keep_bytes), "cuMemPoolTrimTo",
                      0, error);
}

int cuda_pool_reserved(struct device *device, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                       struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    if (!code)
        code = get(d, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, bytes, error);
    if (!code)
        code = get(d, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, peak_bytes, error);
    /* After a reset the watermark counts only what is reserved from then on. */
    if (!code && *peak_bytes < *bytes)
        *peak_bytes = *bytes;
    return code;
}

int cuda_pool_reset_peak(struct device *device, uint64_t pool, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    cuuint64_t zero = 0; /* the one value that the driver takes */
    int code = cuda_use(d, error);
    return code ? code : set(d, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero, error);
}

#endif
