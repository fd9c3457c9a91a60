/* NVIDIA's devices through the CUDA driver API: the primary context and the streams of a device. */
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

/* ---- what there is ---- */

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

/* The version of the kernel's driver, which the driver API does not tell. */
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
    enum { ALIGNMENT_BYTES = 256 }; /* of cuMemAlloc, by the programming guide */
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
    int code = cuda_check(api, api->cuDeviceGet(&device, number), "cuDeviceGet", 0, error);
    if (!code)
        code = cuda_check(api, api->cuDeviceTotalMem_v2(&memory_bytes, device), "cuDeviceTotalMem",
                          0, error);
    if (!code)
        code = cuda_check(api, api->cuDeviceGetName(info->name, sizeof info->name, device),
                          "cuDeviceGetName", 0, error);
    if (code)
        return code;
    info->memory_bytes = info->max_alloc_bytes = memory_bytes;
    info->l2_bytes = (uint64_t)attribute(api, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    info->compute_units =
        (unsigned)attribute(api, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info->max_group_items =
        (unsigned)attribute(api, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    snprintf(info->id, sizeof info->id, "cuda:%d", number);
    snprintf(info->platform, sizeof info->platform, "CUDA %d.%d, NVRTC %d.%d",
             api->driver_version / 1000, api->driver_version % 1000 / 10, api->nvrtc_major,
             api->nvrtc_minor);
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
    int code = cuda_check(api, api->cuDeviceGetCount(count), "cuDeviceGetCount", 0, error);
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

int cuda_stream(struct cuda_device *d, unsigned queue, CUstream *stream, struct error *error)
{
    int code = 0;
    if (queue >= DEVICE_QUEUES_MAX)
        return error_set(error, ERR_INTERNAL, "queue %u: there are %d", queue, DEVICE_QUEUES_MAX);
    if (!d->streams[queue])
        code =
            cuda_check(&d->api, d->api.cuStreamCreate(&d->streams[queue], CU_STREAM_NON_BLOCKING),
                       "cuStreamCreate", 0, error);
    if (!code)
        *stream = d->streams[queue];
    return code;
}

static int create_context(struct cuda_device *d, struct error *error)
{
    const struct cuda_api *api = &d->api;
    int code = cuda_check(api, api->cuDevicePrimaryCtxRetain(&d->context, d->device),
                          "cuDevicePrimaryCtxRetain", 0, error);
    if (!code)
        code = cuda_use(d, error);
    if (!code)
        code = cuda_stream(d, 0, &d->stream, error);
    for (int which = 0; which < 2 && !code; which++)
        code = cuda_check(api, api->cuEventCreate(&d->marks[which], CU_EVENT_DEFAULT),
                          "cuEventCreate", 0, error);
    return code;
}

static int find_number(const struct cuda_api *api, const char *id, int *number, struct error *error)
{
    int count;
    int code = count_devices(api, &count, error);
    if (code)
        return code;
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
    d->base.ops = &device_cuda;
    int code = cuda_api_load(&d->api, error);
    if (!code)
        code = find_number(&d->api, id, &number, error);
    if (!code)
        code = describe(&d->api, number, &d->info, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuDeviceGet(&d->device, number), "cuDeviceGet", 0, error);
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

static const struct device_info *get_info(const struct device *device)
{
    return &((const struct cuda_device *)device)->info;
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
    int code = cuda_use(d, error);
    if (!code)
        code =
            cuda_check(&d->api, d->api.cuMemAlloc_v2(&pointer, bytes), "cuMemAlloc", bytes, error);
    *memory = pointer;
    return code;
}

static int release(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    cuda_profile_open(d);
    int code = cuda_use(d, error);
    if (code)
        return code;
    return cuda_check(&d->api, d->api.cuMemFree_v2(memory), "cuMemFree", bytes, error);
}

static int finish(struct cuda_device *d, const char *call, uint64_t bytes, struct error *error)
{
    return cuda_check(&d->api, d->api.cuStreamSynchronize(d->stream), call, bytes, error);
}

/* The plain cuMemcpyDtoH and HtoD work in the default stream, which does not wait for a
 * non-blocking one: host copies go through the device's own stream too. */
static int read_memory(struct device *device, void *host, uint64_t memory, uint64_t offset,
                       uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    cuda_profile_open(d); /* also because pageable memory is copied in the call */
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_check(&d->api,
                          d->api.cuMemcpyDtoHAsync_v2(host, memory + offset, bytes, d->stream),
                          "cuMemcpyDtoHAsync", bytes, error);
    return code ? code : finish(d, "cuStreamSynchronize after cuMemcpyDtoHAsync", bytes, error);
}

static int write_memory(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                        uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    cuda_profile_open(d);
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_check(&d->api,
                          d->api.cuMemcpyHtoDAsync_v2(memory + offset, host, bytes, d->stream),
                          "cuMemcpyHtoDAsync", bytes, error);
    return code ? code : finish(d, "cuStreamSynchronize after cuMemcpyHtoDAsync", bytes, error);
}

static int copy(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                uint64_t from_offset, uint64_t bytes, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (bytes == 0)
        return 0;
    int code = cuda_use(d, error);
    if (code)
        return code;
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
    int code = cuda_use(d, error);
    if (code)
        return code;
    return cuda_check(&d->api, d->api.cuMemsetD8Async(memory + offset, byte, bytes, d->stream),
                      "cuMemsetD8Async", bytes, error);
}

/* ---- the streams ---- */

static int sync_device(struct device *device, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    cuda_profile_open(d);
    int code = cuda_use(d, error);
    for (unsigned queue = 0; queue < DEVICE_QUEUES_MAX && !code; queue++)
        if (d->streams[queue])
            code = cuda_check(&d->api, d->api.cuStreamSynchronize(d->streams[queue]),
                              "cuStreamSynchronize", 0, error);
    return code;
}

static int use_queue(struct device *device, unsigned queue, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    return code ? code : cuda_stream(d, queue, &d->stream, error);
}

static int sync_queue(struct device *device, unsigned queue, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (queue >= DEVICE_QUEUES_MAX)
        return error_set(error, ERR_INTERNAL, "queue %u: there are %d", queue, DEVICE_QUEUES_MAX);
    cuda_profile_open(d);
    int code = cuda_use(d, error);
    if (!code && d->streams[queue])
        code = cuda_check(&d->api, d->api.cuStreamSynchronize(d->streams[queue]),
                          "cuStreamSynchronize", 0, error);
    return code;
}

static int queue_close(struct device *device, unsigned queue, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    if (queue >= DEVICE_QUEUES_MAX || d->streams[queue] == d->stream)
        return error_set(error, ERR_INTERNAL, "queue %u can't be closed: %s", queue,
                         queue < DEVICE_QUEUES_MAX ? "it is in use" : "there is none");
    CUstream stream = d->streams[queue];
    int code = cuda_use(d, error);
    if (code || !stream)
        return code;
    d->streams[queue] = NULL;
    return cuda_check(&d->api, d->api.cuStreamDestroy_v2(stream), "cuStreamDestroy", 0, error);
}

static int mark(struct device *device, int which, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    int code = cuda_use(d, error);
    if (code)
        return code;
    return cuda_check(&d->api, d->api.cuEventRecord(d->marks[which], d->stream), "cuEventRecord", 0,
                      error);
}

static int elapsed_ns(struct device *device, uint64_t *ns, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    float ms = 0;
    int code = cuda_use(d, error);
    if (!code)
        code = cuda_check(&d->api, d->api.cuEventElapsedTime(&ms, d->marks[0], d->marks[1]),
                          "cuEventElapsedTime", 0, error);
    *ns = (uint64_t)((double)ms * 1e6);
    return code;
}

/* No touch: cuMemAlloc hands out memory that is already there. */
const struct device_ops device_cuda = {
    .version = DEVICE_API_VERSION,
    .name = "cuda",
    .summary = SUMMARY,
    .enumerate = enumerate,
    .open = open_device,
    .close = close_device,
    .info = get_info,
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
    .mark = mark,
    .elapsed_ns = elapsed_ns,
    .use_queue = use_queue,
    .sync_queue = sync_queue,
    .queue_close = queue_close,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .open_together = cuda_open_together,
    .peer_copy = cuda_peer_copy,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .load = cuda_load,
    .profile_begin = cuda_profile_begin,
    .profile_start = cuda_profile_start,
    .profile_stop = cuda_profile_stop,
    .profile_end = cuda_profile_end,
    .pool_open = cuda_pool_open,
    .pool_close = cuda_pool_close,
    .pool_alloc = cuda_pool_alloc,
    .pool_free = cuda_pool_free,
    .pool_trim = cuda_pool_trim,
    .pool_reserved = cuda_pool_reserved,
    .pool_reset_peak = cuda_pool_reset_peak,
    .vm_granularity = cuda_vm_granularity,
    .vm_reserve = cuda_vm_reserve,
    .vm_unreserve = cuda_vm_unreserve,
    .vm_create = cuda_vm_create,
    .vm_release = cuda_vm_release,
    .vm_map = cuda_vm_map,
    .vm_access = cuda_vm_access,
    .vm_unmap = cuda_vm_unmap,
};

#else

static const char missing[] =
    "this gamut was built without CUDA: install the CUDA toolkit's headers "
    "(cuda.h, nvrtc.h), set CUDA_PATH to its folder and build again";

static void enumerate(device_found *found, void *context)
{
    found(context, NULL, missing);
}

static int open_device(const char *id, struct device **device, struct error *error)
{
    (void)device;
    return error_set(error, ERR_UNSUPPORTED, "%s: %s", id, missing);
}

const struct device_ops device_cuda = {
    .version = DEVICE_API_VERSION,
    .name = "cuda",
    .summary = SUMMARY,
    .enumerate = enumerate,
    .open = open_device,
};

#endif
