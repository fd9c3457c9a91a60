/* OpenCL 1.2 devices of every platform, through the ICD loader.
 *
 * Drivers allocate lazily: clCreateBuffer hands out a name, the first command that uses it gets the
 * memory. That is why alloc can succeed and a later launch report ERR_OOM, and what touch is for.
 */
#include "device/device.h"
#include "device/list.h"

#define SUMMARY "any device of any OpenCL platform: opencl, opencl:1, opencl:NVIDIA"

#ifdef GAMUT_WITH_OPENCL

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "device/opencl_device.h"

enum { PLATFORMS_MAX = 16, DEVICES_MAX = 64 };

/* A usable device; its position in the list is its number. */
struct found_device {
    cl_platform_id platform;
    cl_device_id device;
};

/* ---- what there is ---- */

static void device_text(const struct opencl_api *api, cl_device_id device, cl_device_info what,
                        char *text, size_t size)
{
    /* Some drivers write nothing where the text does not fit, so it is read in full first. */
    char full[1024] = "";
    if (api->clGetDeviceInfo(device, what, sizeof full, full, NULL) != CL_SUCCESS)
        full[0] = 0;
    const char *start = full + strspn(full, " "); /* Intel pads names */
    snprintf(text, size, "%s", start);
}

static cl_ulong device_number(const struct opencl_api *api, cl_device_id device,
                              cl_device_info what)
{
    cl_ulong number = 0; /* 32-bit answers fill the low half */
    if (api->clGetDeviceInfo(device, what, sizeof number, &number, NULL) != CL_SUCCESS)
        return 0;
    return number;
}

static bool usable(const struct opencl_api *api, cl_device_id device)
{
    char version[128];
    int major = 0, minor = 0;
    device_text(api, device, CL_DEVICE_VERSION, version, sizeof version);
    sscanf(version, "OpenCL %d.%d", &major, &minor);
    return major * 10 + minor >= 12 && device_number(api, device, CL_DEVICE_AVAILABLE) &&
           device_number(api, device, CL_DEVICE_COMPILER_AVAILABLE);
}

/* All usable devices, platform by platform, as the loader lists them. */
static int find_devices(const struct opencl_api *api, struct found_device list[DEVICES_MAX],
                        size_t *count, struct error *error)
{
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint platform_count = 0, refused_count = 0;
    *count = 0;
    cl_int status = api->clGetPlatformIDs(PLATFORMS_MAX, platforms, &platform_count);
    if (status != CL_SUCCESS || platform_count == 0)
        return error_set(error, ERR_UNSUPPORTED,
                         "the OpenCL loader finds no driver (clGetPlatformIDs: %s): install one "
                         "(Debian: apt install pocl-opencl-icd)",
                         opencl_error_name(status));
    if (platform_count > PLATFORMS_MAX)
        platform_count = PLATFORMS_MAX;
    for (cl_uint p = 0; p < platform_count; p++) {
        cl_device_id devices[DEVICES_MAX];
        cl_uint device_count = 0;
        status = api->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices,
                                     &device_count);
        if (status != CL_SUCCESS)
            continue;
        for (cl_uint i = 0; i < device_count && i < DEVICES_MAX && *count < DEVICES_MAX; i++) {
            if (usable(api, devices[i]))
                list[(*count)++] = (struct found_device){platforms[p], devices[i]};
            else
                refused_count++;
        }
    }
    if (*count == 0)
        return error_set(error, ERR_UNSUPPORTED,
                         "%u OpenCL platforms have no device that can be used (%u lack OpenCL 1.2, "
                         "a compiler, or are switched off)",
                         platform_count, refused_count);
    return 0;
}

/* "sm_90" for NVIDIA's devices, whose driver has a question of its own for it. */
static void describe_arch(const struct opencl_api *api, cl_device_id device, char *arch,
                          size_t size)
{
    enum { COMPUTE_CAPABILITY_MAJOR_NV = 0x4000, COMPUTE_CAPABILITY_MINOR_NV = 0x4001 };
    unsigned major = (unsigned)device_number(api, device, COMPUTE_CAPABILITY_MAJOR_NV);
    unsigned minor = (unsigned)device_number(api, device, COMPUTE_CAPABILITY_MINOR_NV);
    if (major)
        snprintf(arch, size, "sm_%u%u", major, minor);
}

/* cl_khr_pci_bus_info, which headers of 1.2 may lack; drivers without it refuse the question. */
static void describe_bus(const struct opencl_api *api, cl_device_id device, char *bus_id,
                         size_t size)
{
    enum { PCI_BUS_INFO_KHR = 0x410F };
    struct {
        cl_uint domain, bus, device, function;
    } place;
    if (api->clGetDeviceInfo(device, PCI_BUS_INFO_KHR, sizeof place, &place, NULL) == CL_SUCCESS)
        snprintf(bus_id, size, "%04x:%02x:%02x.%x", place.domain, place.bus, place.device,
                 place.function);
}

static void describe(const struct opencl_api *api, const struct found_device *found, size_t number,
                     struct device_info *info)
{
    cl_device_id device = found->device;
    cl_ulong type = device_number(api, device, CL_DEVICE_TYPE);
    *info = (struct device_info){
        .api = "opencl",
        .kind = type & CL_DEVICE_TYPE_GPU   ? DEVICE_GPU
                : type & CL_DEVICE_TYPE_CPU ? DEVICE_CPU
                                            : DEVICE_OTHER,
        .language = KERNEL_OPENCL_C,
        .memory_bytes = device_number(api, device, CL_DEVICE_GLOBAL_MEM_SIZE),
        .max_alloc_bytes = device_number(api, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        .alignment_bytes = device_number(api, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8, /* bits */
        .l2_bytes = device_number(api, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE),
        .compute_units = (unsigned)device_number(api, device, CL_DEVICE_MAX_COMPUTE_UNITS),
        .max_group_items = (unsigned)device_number(api, device, CL_DEVICE_MAX_WORK_GROUP_SIZE),
        .has_f64 = device_number(api, device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0,
        .can_split = true,
        .peers_whole = !(type & CL_DEVICE_TYPE_CPU), /* CPUs have the host's memory in common */
    };
    snprintf(info->id, sizeof info->id, "opencl:%zu", number);
    device_text(api, device, CL_DEVICE_NAME, info->name, sizeof info->name);
    device_text(api, device, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
    describe_arch(api, device, info->arch, sizeof info->arch);
    describe_bus(api, device, info->bus_id, sizeof info->bus_id);
    char platform[1024] = "";
    api->clGetPlatformInfo(found->platform, CL_PLATFORM_NAME, sizeof platform, platform, NULL);
    snprintf(info->platform, sizeof info->platform, "%.127s", platform);
}

static void enumerate(device_found *found, void *context)
{
    struct opencl_api api;
    struct found_device list[DEVICES_MAX];
    struct error error;
    size_t count = 0;
    if (opencl_api_load(&api, &error) || find_devices(&api, list, &count, &error)) {
        found(context, NULL, error.text);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct device_info info;
        describe(&api, &list[i], i, &info);
        found(context, &info, NULL);
    }
}

/* ---- open and close ---- */

static void close_device(struct device *device)
{
    struct opencl_device *d = opencl_self(device);
    for (int which = 0; which < 2; which++)
        if (d->marks[which])
            d->api.clReleaseEvent(d->marks[which]);
    for (unsigned queue = 0; queue < DEVICE_QUEUES_MAX; queue++)
        if (d->queues[queue])
            d->api.clReleaseCommandQueue(d->queues[queue]);
    if (d->context)
        d->api.clReleaseContext(d->context);
    free(d->host_memory);
    free(d);
}

static int use_queue(struct device *device, unsigned queue, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    cl_int status = CL_SUCCESS;
    if (queue >= DEVICE_QUEUES_MAX)
        return error_set(error, ERR_INTERNAL, "queue %u: there are %d", queue, DEVICE_QUEUES_MAX);
    if (!d->queues[queue])
        d->queues[queue] =
            d->api.clCreateCommandQueue(d->context, d->device, CL_QUEUE_PROFILING_ENABLE, &status);
    if (!d->queues[queue])
        return opencl_check(status, "clCreateCommandQueue", OPENCL_ASKS, 0, error);
    cl_command_queue left = d->queue;
    d->queue = d->queues[queue];
    if (!left || left == d->queue)
        return 0;
    /* Without this a driver may keep commands until somebody waits for them. */
    return opencl_check(d->api.clFlush(left), "clFlush", OPENCL_WAITS, 0, error);
}

static int create_context(struct opencl_device *d, cl_context shared, struct error *error)
{
    cl_int status = shared ? d->api.clRetainContext(shared) : CL_SUCCESS;
    if (status != CL_SUCCESS)
        return opencl_check(status, "clRetainContext", OPENCL_ASKS, 0, error);
    d->context = shared ? shared : d->api.clCreateContext(NULL, 1, &d->device, NULL, NULL, &status);
    if (!d->context)
        return opencl_check(status, "clCreateContext", OPENCL_ASKS, 0, error);
    return use_queue(&d->base, 0, error);
}

static int find_number(const struct opencl_api *api, const char *id, struct found_device *found,
                       size_t *number, struct error *error)
{
    struct found_device list[DEVICES_MAX];
    size_t count;
    int code = find_devices(api, list, &count, error);
    if (code)
        return code;
    uint64_t value;
    if (strncmp(id, "opencl:", 7) != 0 || !text_to_u64(id + 7, &value) || value >= count)
        return error_set(error, ERR_NOT_FOUND,
                         "'%s': the OpenCL devices are opencl:0 to opencl:%zu", id, count - 1);
    *found = list[value];
    *number = (size_t)value;
    return 0;
}

int opencl_find(const struct opencl_api *api, const char *id, cl_platform_id *platform,
                cl_device_id *device, struct error *error)
{
    struct found_device found;
    size_t number;
    int code = find_number(api, id, &found, &number, error);
    if (code)
        return code;
    *platform = found.platform;
    *device = found.device;
    return 0;
}

int opencl_open_in(const char *id, cl_context context, struct device **device, struct error *error)
{
    struct opencl_device *d = must_alloc(sizeof *d);
    struct found_device found;
    size_t number;
    d->base.ops = &device_opencl;
    int code = opencl_api_load(&d->api, error);
    if (!code)
        code = find_number(&d->api, id, &found, &number, error);
    if (!code) {
        describe(&d->api, &found, number, &d->info);
        d->device = found.device;
        d->rounds_division = device_number(&d->api, d->device, CL_DEVICE_SINGLE_FP_CONFIG) &
                             CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
        code = create_context(d, context, error);
    }
    if (code)
        close_device(&d->base);
    else
        *device = &d->base;
    return code;
}

static int open_device(const char *id, struct device **device, struct error *error)
{
    return opencl_open_in(id, NULL, device, error);
}

static const struct device_info *get_info(const struct device *device)
{
    return &((const struct opencl_device *)device)->info;
}

static uint64_t free_bytes(struct device *device)
{
    (void)device;
    return 0; /* OpenCL has no question for it */
}

/* ---- memory ---- */

static int memory_error(const struct opencl_device *d, int code, struct error *error)
{
    char all[32], largest[32];
    if (code == ERR_OOM)
        error_prefix(error, "on a device of %s, at most %s in one memory: ",
                     text_bytes(all, d->info.memory_bytes),
                     text_bytes(largest, d->info.max_alloc_bytes));
    return code;
}

static int alloc(struct device *device, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    cl_int status = CL_SUCCESS;
    cl_mem buffer = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    *memory = (uint64_t)(uintptr_t)buffer;
    return memory_error(d, opencl_check(status, "clCreateBuffer", OPENCL_ASKS, bytes, error),
                        error);
}

static int release(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    d->freed_count++;
    return opencl_check(d->api.clReleaseMemObject(opencl_memory(memory)), "clReleaseMemObject",
                        OPENCL_ASKS, bytes, error);
}

static int sub_buffer(struct device *device, uint64_t memory, uint64_t offset, uint64_t bytes,
                      uint64_t *part, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    const cl_buffer_region region = {offset, bytes};
    cl_int status = CL_SUCCESS;
    if (opencl_is_svm(memory))
        return error_set(error, ERR_UNSUPPORTED,
                         "shared virtual memory has no sub-buffers: a pointer into it is as good");
    cl_mem buffer = d->api.clCreateSubBuffer(opencl_memory(memory), 0, CL_BUFFER_CREATE_TYPE_REGION,
                                             &region, &status);
    *part = (uint64_t)(uintptr_t)buffer;
    return opencl_check(status, "clCreateSubBuffer", OPENCL_ASKS, bytes, error);
}

static int read_memory(struct device *device, void *host, uint64_t memory, uint64_t offset,
                       uint64_t bytes, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (bytes == 0)
        return 0;
    if (opencl_is_svm(memory))
        return opencl_svm_read(d, host, memory, offset, bytes, error);
    cl_int status = d->api.clEnqueueReadBuffer(d->queue, opencl_memory(memory), CL_TRUE, offset,
                                               bytes, host, 0, NULL, NULL);
    return opencl_check(status, "clEnqueueReadBuffer", OPENCL_WAITS, bytes, error);
}

static int write_memory(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                        uint64_t bytes, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (bytes == 0)
        return 0;
    if (opencl_is_svm(memory))
        return opencl_svm_write(d, memory, offset, host, bytes, error);
    cl_int status = d->api.clEnqueueWriteBuffer(d->queue, opencl_memory(memory), CL_TRUE, offset,
                                                bytes, host, 0, NULL, NULL);
    /* Often the first command that uses a buffer: short of memory is then the likelier meaning. */
    return opencl_check(status, "clEnqueueWriteBuffer", OPENCL_ASKS, bytes, error);
}

/* What is mapped is the host's, and a command on the buffer may see what it was before (NVIDIA's
 * driver shows the first contents for ever). It is the pinned side of a transfer instead. */
static int copy(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                uint64_t from_offset, uint64_t bytes, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (bytes == 0)
        return 0;
    if (opencl_is_svm(to) || opencl_is_svm(from))
        return opencl_svm_move(d, to, to_offset, from, from_offset, bytes, error);
    char *mapped_from = opencl_mapped(d, from), *mapped_to = opencl_mapped(d, to);
    if (mapped_from && !mapped_to)
        return opencl_check(d->api.clEnqueueWriteBuffer(d->queue, opencl_memory(to), CL_FALSE,
                                                        to_offset, bytes, mapped_from + from_offset,
                                                        0, NULL, opencl_profile_event(d)),
                            "clEnqueueWriteBuffer", OPENCL_ASKS, bytes, error);
    if (mapped_to && !mapped_from)
        return opencl_check(d->api.clEnqueueReadBuffer(d->queue, opencl_memory(from), CL_FALSE,
                                                       from_offset, bytes, mapped_to + to_offset, 0,
                                                       NULL, opencl_profile_event(d)),
                            "clEnqueueReadBuffer", OPENCL_ASKS, bytes, error);
    cl_int status =
        d->api.clEnqueueCopyBuffer(d->queue, opencl_memory(from), opencl_memory(to), from_offset,
                                   to_offset, bytes, 0, NULL, opencl_profile_event(d));
    return opencl_check(status, "clEnqueueCopyBuffer", OPENCL_ASKS, bytes, error);
}

static int fill_piece(struct opencl_device *d, uint64_t memory, uint64_t offset, uint8_t byte,
                      uint64_t bytes, struct error *error)
{
    if (opencl_is_svm(memory))
        return opencl_svm_set(d, memory, offset, byte, bytes, error);
    cl_int status = d->api.clEnqueueFillBuffer(d->queue, opencl_memory(memory), &byte, sizeof byte,
                                               offset, bytes, 0, NULL, opencl_profile_event(d));
    return opencl_check(status, "clEnqueueFillBuffer", OPENCL_ASKS, bytes, error);
}

/* A driver may fill byte by byte, from the host: NVIDIA's does not fill 2 GiB within minutes.
 * Copies are fast everywhere, so only a first piece is filled, and what is filled is copied behind
 * itself. */
static int fill(struct device *device, uint64_t memory, uint64_t offset, uint8_t byte,
                uint64_t bytes, struct error *error)
{
    uint64_t filled = bytes < 65536 ? bytes : 65536;
    if (bytes == 0)
        return 0;
    int code = fill_piece(opencl_self(device), memory, offset, byte, filled, error);
    while (!code && filled < bytes) {
        uint64_t more = filled < bytes - filled ? filled : bytes - filled;
        code = copy(device, memory, offset + filled, memory, offset, more, error);
        filled += more;
    }
    return code;
}

static int touch(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    cl_mem buffer = opencl_memory(memory);
    /* Migrating alone is a hint that drivers may ignore; a command that writes is not. A device
     * that has the host's memory gets its pages one by one, so there all of it is written. */
    uint64_t written = d->info.kind == DEVICE_CPU || bytes < 4 ? bytes : 4;
    int code = 0;
    if (!opencl_is_svm(memory)) /* that has no device to be moved to by its own */
        code = opencl_check(
            d->api.clEnqueueMigrateMemObjects(
                d->queue, 1, &buffer, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL),
            "clEnqueueMigrateMemObjects", OPENCL_ASKS, bytes, error);
    if (!code)
        code = fill(device, memory, 0, 0, written, error);
    if (!code)
        code = opencl_check(d->api.clFinish(d->queue), "clFinish", OPENCL_ASKS, bytes, error);
    return memory_error(d, code, error);
}

/* ---- the queues ---- */

static int sync_queue(struct device *device, unsigned queue, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (queue >= DEVICE_QUEUES_MAX)
        return error_set(error, ERR_INTERNAL, "queue %u: there are %d", queue, DEVICE_QUEUES_MAX);
    if (!d->queues[queue])
        return 0;
    return opencl_check(d->api.clFinish(d->queues[queue]), "clFinish", OPENCL_WAITS, 0, error);
}

static int queue_close(struct device *device, unsigned queue, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (queue >= DEVICE_QUEUES_MAX || d->queues[queue] == d->queue)
        return error_set(error, ERR_INTERNAL, "queue %u can't be closed: %s", queue,
                         queue < DEVICE_QUEUES_MAX ? "it is in use" : "there is none");
    cl_command_queue closed = d->queues[queue];
    d->queues[queue] = NULL;
    return closed ? opencl_check(d->api.clReleaseCommandQueue(closed), "clReleaseCommandQueue",
                                 OPENCL_ASKS, 0, error)
                  : 0;
}

static int sync_device(struct device *device, struct error *error)
{
    int code = 0;
    for (unsigned queue = 0; queue < DEVICE_QUEUES_MAX && !code; queue++)
        code = sync_queue(device, queue, error);
    return code;
}

static int mark(struct device *device, int which, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (d->marks[which])
        d->api.clReleaseEvent(d->marks[which]);
    d->marks[which] = NULL;
    cl_int status = d->api.clEnqueueMarkerWithWaitList(d->queue, 0, NULL, &d->marks[which]);
    return opencl_check(status, "clEnqueueMarkerWithWaitList", OPENCL_ASKS, 0, error);
}

static int elapsed_ns(struct device *device, uint64_t *ns, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    cl_ulong end[2];
    for (int which = 0; which < 2; which++) {
        cl_int status = d->api.clGetEventProfilingInfo(d->marks[which], CL_PROFILING_COMMAND_END,
                                                       sizeof end[which], &end[which], NULL);
        if (status != CL_SUCCESS)
            return opencl_check(status, "clGetEventProfilingInfo", OPENCL_ASKS, 0, error);
    }
    *ns = end[1] - end[0];
    return 0;
}

const struct device_ops device_opencl = {
    .version = DEVICE_API_VERSION,
    .name = "opencl",
    .summary = SUMMARY,
    .enumerate = enumerate,
    .open = open_device,
    .close = close_device,
    .info = get_info,
    .free_bytes = free_bytes,
    .alloc = alloc,
    .free = release,
    .touch = touch,
    .read = read_memory,
    .write = write_memory,
    .copy = copy,
    .fill = fill,
    .build = opencl_build,
    .unbuild = opencl_unbuild,
    .launch = opencl_launch,
    .sync = sync_device,
    .mark = mark,
    .elapsed_ns = elapsed_ns,
    .use_queue = use_queue,
    .sync_queue = sync_queue,
    .queue_close = queue_close,
    .event_create = opencl_event_create,
    .event_destroy = opencl_event_destroy,
    .event_record = opencl_event_record,
    .event_wait = opencl_event_wait,
    .open_together = opencl_open_together,
    .peer_copy = opencl_peer_copy,
    .sub_buffer = sub_buffer,
    .release_sub_buffer = release, /* they keep their memory alive, as commands do them */
    .host_alloc = opencl_host_alloc,
    .host_free = opencl_host_free,
    .load = opencl_load,
    .profile_begin = opencl_profile_begin,
    .profile_start = opencl_profile_start,
    .profile_stop = opencl_profile_stop,
    .profile_end = opencl_profile_end,
};

#else

static const char missing[] =
    "this gamut was built without OpenCL: install its headers (Debian: apt "
    "install opencl-headers) and build again";

static void enumerate(device_found *found, void *context)
{
    found(context, NULL, missing);
}

static int open_device(const char *id, struct device **device, struct error *error)
{
    (void)device;
    return error_set(error, ERR_UNSUPPORTED, "%s: %s", id, missing);
}

const struct device_ops device_opencl = {
    .version = DEVICE_API_VERSION,
    .name = "opencl",
    .summary = SUMMARY,
    .enumerate = enumerate,
    .open = open_device,
};

#endif
