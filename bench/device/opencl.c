/* OpenCL 1.2 devices of every platform, through the ICD loader.
 *
 * Drivers allocate lazily: clCreateBuffer hands out a name, and the first command that uses it gets
 * the memory. So alloc can succeed and a later launch report ERR_OOM; touch is there to avoid that.
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

enum { PLATFORMS_MAX = 16, DEVICES_MAX = 64, TOGETHER_MAX = 16 };

/* A usable device; its position in the list is its number. */
struct found_device {
    cl_platform_id platform;
    cl_device_id device;
};

/* ---- finding devices ---- */

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

/* "sm_90" for NVIDIA's devices, whose driver has queries of its own for it. */
static void describe_arch(const struct opencl_api *api, cl_device_id device, char *arch,
                          size_t size)
{
    enum { COMPUTE_CAPABILITY_MAJOR_NV = 0x4000, COMPUTE_CAPABILITY_MINOR_NV = 0x4001 };
    unsigned major = (unsigned)device_number(api, device, COMPUTE_CAPABILITY_MAJOR_NV);
    unsigned minor = (unsigned)device_number(api, device, COMPUTE_CAPABILITY_MINOR_NV);
    if (major)
        snprintf(arch, size, "sm_%u%u", major, minor);
}

/* Headers of 1.2 may lack cl_khr_pci_bus_info; drivers without it refuse the query. */
static void describe_bus(const struct opencl_api *api, cl_device_id device, char *bus_id,
                         size_t size)
{
    enum { PCI_BUS_INFO_KHR = 0x410F };
    struct {
        cl_uint domain, bus, device, function;
    } bus;
    if (api->clGetDeviceInfo(device, PCI_BUS_INFO_KHR, sizeof bus, &bus, NULL) == CL_SUCCESS)
        snprintf(bus_id, size, "%04x:%02x:%02x.%x", bus.domain, bus.bus, bus.device, bus.function);
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

void opencl_describe(const struct opencl_api *api, cl_device_id device, struct device_info *info)
{
    struct found_device list[DEVICES_MAX], found = {.device = device};
    struct error error;
    size_t count = 0, at = 0;
    if (find_devices(api, list, &count, &error))
        count = 0;
    while (at < count && list[at].device != device)
        at++;
    api->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof found.platform, &found.platform, NULL);
    describe(api, &found, at < count ? at : 0, info);
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
    free(d->mappings);
    free(d);
}

static int create_context(struct opencl_device *d, cl_context shared, struct error *error)
{
    cl_int status = shared ? d->api.clRetainContext(shared) : CL_SUCCESS;
    if (status != CL_SUCCESS)
        return opencl_check(status, "clRetainContext", OPENCL_ASKS, 0, error);
    d->context = shared ? shared : d->api.clCreateContext(NULL, 1, &d->device, NULL, NULL, &status);
    if (!d->context)
        return opencl_check(status, "clCreateContext", OPENCL_ASKS, 0, error);
    return opencl_use_queue(&d->base, 0, error);
}

/* gamut record answers these names (bench/inside/record_opencl.c); a driver knows no such
 * extension. */
static void find_recorder(struct opencl_device *d, cl_platform_id platform)
{
    *(void **)&d->begin_phase =
        d->api.clGetExtensionFunctionAddressForPlatform(platform, "clBeginPhaseGAMUT");
    *(void **)&d->end_phase =
        d->api.clGetExtensionFunctionAddressForPlatform(platform, "clEndPhaseGAMUT");
}

static void tell_phase(struct device *device, const char *name)
{
    struct opencl_device *d = opencl_self(device);
    if (name && d->begin_phase)
        d->begin_phase(name);
    else if (!name && d->end_phase)
        d->end_phase();
}

static int find_number(const struct opencl_api *api, const char *id, struct found_device *found,
                       size_t *number, struct error *error)
{
    struct found_device list[DEVICES_MAX];
    size_t count;
    TRY(find_devices(api, list, &count, error));
    uint64_t value;
    if (strncmp(id, "opencl:", 7) != 0 || !text_to_u64(id + 7, &value) || value >= count)
        return error_set(error, ERR_NOT_FOUND,
                         "'%s': the OpenCL devices are opencl:0 to opencl:%zu", id, count - 1);
    *found = list[value];
    *number = (size_t)value;
    return 0;
}

/* Opens the device in a context, which it then shares, or in one of its own (NULL). */
static int open_in(const char *id, cl_context context, struct device **device, struct error *error)
{
    struct opencl_device *d = must_alloc(sizeof *d);
    struct found_device found;
    size_t number;
    d->base = (struct device){&device_opencl, &d->info};
    int code = opencl_api_load(&d->api, error);
    THEN(code, find_number(&d->api, id, &found, &number, error));
    if (!code) {
        describe(&d->api, &found, number, &d->info);
        d->device = found.device;
        find_recorder(d, found.platform);
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
    return open_in(id, NULL, device, error);
}

static uint64_t free_bytes(struct device *device)
{
    return 0; /* OpenCL does not report it */
}

/* ---- memory ---- */

static int sync_device(struct device *device, struct error *error)
{
    int code = 0;
    for (unsigned queue = 0; queue < DEVICE_QUEUES_MAX && !code; queue++)
        code = opencl_queues.sync(device, queue, error);
    return code;
}

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
    return OPENCL_CALL(&d->api, clReleaseMemObject, OPENCL_ASKS, bytes, error,
                       opencl_memory(memory));
}

/* ---- shared virtual memory ----
 *
 * It is a pointer that host and device share, with commands of its own. Coarse-grained memory is
 * the host's only while it is mapped, so read and write map their range, copy, and unmap; map and
 * unmap are commands of the queue. Fine-grained memory is the host's as soon as the host has waited
 * for the queue.
 */

/* Constants that cl.h has from OpenCL 2.0 on. */
enum {
    DEVICE_SVM_CAPABILITIES = 0x1053,
    SVM_COARSE_GRAIN_BUFFER = 1,
    SVM_FINE_GRAIN_BUFFER = 2,
    MEM_SVM_FINE_GRAIN_BUFFER = 1 << 10,
};

static int check_svm(struct opencl_device *d, bool fine, struct error *error)
{
    cl_ulong capabilities = 0; /* unknown to drivers before 2.0 */
    if (!d->api.has_svm)
        return error_set(
            error, ERR_UNSUPPORTED,
            "libOpenCL.so.1 lacks clSVMAlloc or its like: it is older than OpenCL 2.0");
    if (d->api.clGetDeviceInfo(d->device, DEVICE_SVM_CAPABILITIES, sizeof capabilities,
                               &capabilities, NULL) != CL_SUCCESS ||
        !(capabilities & (fine ? SVM_FINE_GRAIN_BUFFER : SVM_COARSE_GRAIN_BUFFER)))
        return error_set(error, ERR_UNSUPPORTED, "%s has no %s-grained shared virtual memory",
                         d->info.name, fine ? "fine" : "coarse");
    return 0;
}

static int svm_create(struct opencl_device *d, bool fine, uint64_t bytes, uint64_t *memory,
                      struct error *error)
{
    TRY(check_svm(d, fine, error));
    cl_bitfield flags = CL_MEM_READ_WRITE | (fine ? MEM_SVM_FINE_GRAIN_BUFFER : 0u);
    void *pointer = d->api.clSVMAlloc(d->context, flags, bytes, 0);
    if (!pointer) /* the call reports no code */
        return opencl_check(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc", OPENCL_ASKS, bytes,
                            error);
    *memory = (uint64_t)(uintptr_t)pointer | OPENCL_IS_SVM | (fine ? OPENCL_IS_FINE : 0u);
    return 0;
}

static bool is_only_queue(const struct opencl_device *d)
{
    unsigned count = 0;
    for (unsigned q = 0; q < DEVICE_QUEUES_MAX; q++)
        count += d->queues[q] != NULL;
    return count == 1;
}

/* With one queue the release is a command. Several queues are not ordered among each other, so the
 * host waits for all of them. */
static int svm_release(struct opencl_device *d, uint64_t memory, uint64_t bytes,
                       struct error *error)
{
    void *pointer = opencl_pointer(memory, 0);
    d->freed_count++;
    if (is_only_queue(d))
        return OPENCL_CALL(&d->api, clEnqueueSVMFree, OPENCL_ASKS, bytes, error, d->queue, 1,
                           &pointer, NULL, NULL, 0, NULL, NULL);
    int code = sync_device(&d->base, error);
    d->api.clSVMFree(d->context, pointer);
    return code;
}

/* Maps a range for the host, until take_back. */
static int lend(struct opencl_device *d, uint64_t memory, uint64_t offset, cl_map_flags access,
                uint64_t bytes, struct error *error)
{
    if (memory & OPENCL_IS_FINE)
        return OPENCL_CALL(&d->api, clFinish, OPENCL_WAITS, 0, error, d->queue);
    return OPENCL_CALL(&d->api, clEnqueueSVMMap, OPENCL_WAITS, bytes, error, d->queue, CL_TRUE,
                       access, opencl_pointer(memory, offset), bytes, 0, NULL, NULL);
}

static int take_back(struct opencl_device *d, uint64_t memory, uint64_t offset, uint64_t bytes,
                     struct error *error)
{
    if (memory & OPENCL_IS_FINE)
        return 0;
    return OPENCL_CALL(&d->api, clEnqueueSVMUnmap, OPENCL_ASKS, bytes, error, d->queue,
                       opencl_pointer(memory, offset), 0, NULL, NULL);
}

static int svm_read(struct opencl_device *d, void *host, uint64_t memory, uint64_t offset,
                    uint64_t bytes, struct error *error)
{
    TRY(lend(d, memory, offset, CL_MAP_READ, bytes, error));
    memcpy(host, opencl_pointer(memory, offset), bytes);
    return take_back(d, memory, offset, bytes, error);
}

static int svm_write(struct opencl_device *d, uint64_t memory, uint64_t offset, const void *host,
                     uint64_t bytes, struct error *error)
{
    TRY(lend(d, memory, offset, CL_MAP_WRITE_INVALIDATE_REGION, bytes, error));
    memcpy(opencl_pointer(memory, offset), host, bytes);
    return take_back(d, memory, offset, bytes, error);
}

/* ---- reading and writing ---- */

static struct opencl_mapping *find_mapping(const struct opencl_device *d, uint64_t memory)
{
    for (size_t i = d->mapping_count; i-- > 0;)
        if (d->mappings[i].memory == memory)
            return &d->mappings[i];
    return NULL;
}

/* The host's address of a mapped memory; NULL: it is not mapped. */
static void *mapped_at(const struct opencl_device *d, uint64_t memory)
{
    const struct opencl_mapping *found = find_mapping(d, memory);
    return found ? found->host : NULL;
}

/* Returns mapped_at, and forgets the mapping. */
static void *forget_mapping(struct opencl_device *d, uint64_t memory)
{
    struct opencl_mapping *found = find_mapping(d, memory);
    if (!found)
        return NULL;
    void *host = found->host;
    *found = d->mappings[--d->mapping_count];
    return host;
}

static int read_memory(struct device *device, void *host, uint64_t memory, uint64_t offset,
                       uint64_t bytes, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (bytes == 0)
        return 0;
    if (opencl_is_svm(memory))
        return svm_read(d, host, memory, offset, bytes, error);
    return OPENCL_CALL(&d->api, clEnqueueReadBuffer, OPENCL_WAITS, bytes, error, d->queue,
                       opencl_memory(memory), CL_TRUE, offset, bytes, host, 0, NULL, NULL);
}

static int write_memory(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                        uint64_t bytes, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (bytes == 0)
        return 0;
    if (opencl_is_svm(memory))
        return svm_write(d, memory, offset, host, bytes, error);
    cl_int status = d->api.clEnqueueWriteBuffer(d->queue, opencl_memory(memory), CL_TRUE, offset,
                                                bytes, host, 0, NULL, NULL);
    /* Often the first use of a buffer, so an ambiguous code likely means a lack of memory. */
    return opencl_check(status, "clEnqueueWriteBuffer", OPENCL_ASKS, bytes, error);
}

/* There is no command between a buffer and a pointer: the host lends the pointer's side. */
static int move_from_buffer(struct opencl_device *d, uint64_t to, uint64_t to_offset, uint64_t from,
                            uint64_t from_offset, uint64_t bytes, struct error *error)
{
    TRY(lend(d, to, to_offset, CL_MAP_WRITE_INVALIDATE_REGION, bytes, error));
    int code =
        read_memory(&d->base, opencl_pointer(to, to_offset), from, from_offset, bytes, error);
    ALSO(code, take_back(d, to, to_offset, bytes, code ? NULL : error));
    return code;
}

static int move_to_buffer(struct opencl_device *d, uint64_t to, uint64_t to_offset, uint64_t from,
                          uint64_t from_offset, uint64_t bytes, struct error *error)
{
    TRY(lend(d, from, from_offset, CL_MAP_READ, bytes, error));
    int code =
        write_memory(&d->base, to, to_offset, opencl_pointer(from, from_offset), bytes, error);
    ALSO(code, take_back(d, from, from_offset, bytes, code ? NULL : error));
    return code;
}

static int svm_move(struct opencl_device *d, uint64_t to, uint64_t to_offset, uint64_t from,
                    uint64_t from_offset, uint64_t bytes, struct error *error)
{
    if (!opencl_is_svm(from))
        return move_from_buffer(d, to, to_offset, from, from_offset, bytes, error);
    if (!opencl_is_svm(to))
        return move_to_buffer(d, to, to_offset, from, from_offset, bytes, error);
    return OPENCL_CALL(&d->api, clEnqueueSVMMemcpy, OPENCL_ASKS, bytes, error, d->queue, CL_FALSE,
                       opencl_pointer(to, to_offset), opencl_pointer(from, from_offset), bytes, 0,
                       NULL, opencl_profile_event(d));
}

/* A mapped buffer belongs to the host, and a command on it may see old contents (NVIDIA's driver
 * shows the first ones for ever). So a transfer reads or writes the buffer through its mapping. */
static int copy(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                uint64_t from_offset, uint64_t bytes, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (bytes == 0)
        return 0;
    if (opencl_is_svm(to) || opencl_is_svm(from))
        return svm_move(d, to, to_offset, from, from_offset, bytes, error);
    char *mapped_from = mapped_at(d, from), *mapped_to = mapped_at(d, to);
    if (mapped_from && !mapped_to)
        return OPENCL_CALL(&d->api, clEnqueueWriteBuffer, OPENCL_ASKS, bytes, error, d->queue,
                           opencl_memory(to), CL_FALSE, to_offset, bytes, mapped_from + from_offset,
                           0, NULL, opencl_profile_event(d));
    if (mapped_to && !mapped_from)
        return OPENCL_CALL(&d->api, clEnqueueReadBuffer, OPENCL_ASKS, bytes, error, d->queue,
                           opencl_memory(from), CL_FALSE, from_offset, bytes, mapped_to + to_offset,
                           0, NULL, opencl_profile_event(d));
    return OPENCL_CALL(&d->api, clEnqueueCopyBuffer, OPENCL_ASKS, bytes, error, d->queue,
                       opencl_memory(from), opencl_memory(to), from_offset, to_offset, bytes, 0,
                       NULL, opencl_profile_event(d));
}

static int fill_piece(struct opencl_device *d, uint64_t memory, uint64_t offset, uint8_t byte,
                      uint64_t bytes, struct error *error)
{
    if (opencl_is_svm(memory))
        return OPENCL_CALL(&d->api, clEnqueueSVMMemFill, OPENCL_ASKS, bytes, error, d->queue,
                           opencl_pointer(memory, offset), &byte, sizeof byte, bytes, 0, NULL,
                           opencl_profile_event(d));
    return OPENCL_CALL(&d->api, clEnqueueFillBuffer, OPENCL_ASKS, bytes, error, d->queue,
                       opencl_memory(memory), &byte, sizeof byte, offset, bytes, 0, NULL,
                       opencl_profile_event(d));
}

/* A GPU's driver may fill byte by byte, from the host: NVIDIA's does not fill 2 GiB within minutes.
 * Copies are fast everywhere, so there only a first piece is filled, and the filled part is copied
 * to its own end until all is filled. PoCL fills 16 MiB at once in half the time of that. */
static int fill(struct device *device, uint64_t memory, uint64_t offset, uint8_t byte,
                uint64_t bytes, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    uint64_t filled = bytes < 65536 || d->info.kind == DEVICE_CPU ? bytes : 65536;
    if (bytes == 0)
        return 0;
    int code = fill_piece(d, memory, offset, byte, filled, error);
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
    /* Drivers may ignore a migration, but not a command that writes. A device on the host's memory
     * gets its pages one by one, so there all bytes are written. */
    uint64_t written = d->info.kind == DEVICE_CPU || bytes < 4 ? bytes : 4;
    int code = 0;
    if (!opencl_is_svm(memory)) /* shared memory cannot be migrated */
        code = OPENCL_CALL(&d->api, clEnqueueMigrateMemObjects, OPENCL_ASKS, bytes, error, d->queue,
                           1, &buffer, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
    THEN(code, fill(device, memory, 0, 0, written, error));
    THEN(code, OPENCL_CALL(&d->api, clFinish, OPENCL_ASKS, bytes, error, d->queue));
    return memory_error(d, code, error);
}

/* ---- sub-buffers, and memory that the host can address ---- */

static int sub_buffer_create(void *context, uint64_t memory, uint64_t offset, uint64_t bytes,
                             uint64_t *sub_buffer, struct error *error)
{
    struct opencl_device *d = context;
    const cl_buffer_region region = {offset, bytes};
    cl_int status = CL_SUCCESS;
    if (opencl_is_svm(memory))
        return error_set(error, ERR_UNSUPPORTED,
                         "shared virtual memory has no sub-buffers: a pointer into it is as good");
    cl_mem buffer = d->api.clCreateSubBuffer(opencl_memory(memory), 0, CL_BUFFER_CREATE_TYPE_REGION,
                                             &region, &status);
    *sub_buffer = (uint64_t)(uintptr_t)buffer;
    return opencl_check(status, "clCreateSubBuffer", OPENCL_ASKS, bytes, error);
}

/* A sub-buffer keeps its memory alive, and commands keep both. */
static int sub_buffer_release(void *context, uint64_t sub_buffer, uint64_t bytes,
                              struct error *error)
{
    return release(context, sub_buffer, bytes, error);
}

static const struct driver_sub_buffer_ops sub_buffer_ops = {.create = sub_buffer_create,
                                                            .release = sub_buffer_release};

/* CL_MEM_ALLOC_HOST_PTR asks for pinned memory: a hint that drivers follow. By the standard a
 * kernel may not write to mapped memory; drivers allow it. Without `host` nothing is mapped. */
static int alloc_pinned(struct opencl_device *d, uint64_t bytes, uint64_t *memory, void **host,
                        struct error *error)
{
    cl_int status = CL_SUCCESS;
    cl_mem buffer = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                          bytes, NULL, &status);
    *memory = (uint64_t)(uintptr_t)buffer;
    int code = opencl_check(status, "clCreateBuffer with CL_MEM_ALLOC_HOST_PTR", OPENCL_ASKS, bytes,
                            error);
    if (code || !host)
        return code;
    *host = d->api.clEnqueueMapBuffer(d->queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      bytes, 0, NULL, NULL, &status);
    code = opencl_check(status, "clEnqueueMapBuffer", OPENCL_ASKS, bytes, error);
    if (code) {
        d->api.clReleaseMemObject(buffer);
        return code;
    }
    d->mappings = must_realloc(d->mappings, (d->mapping_count + 1) * sizeof *d->mappings);
    d->mappings[d->mapping_count++] = (struct opencl_mapping){*memory, *host};
    return 0;
}

static int host_alloc(void *context, enum driver_memory kind, uint64_t bytes, uint64_t *memory,
                      void **host, struct error *error)
{
    struct opencl_device *d = context;
    if (kind == MEMORY_MANAGED)
        return error_set(error, ERR_UNSUPPORTED,
                         "managed memory is CUDA's: OpenCL has shared virtual memory");
    if (kind == MEMORY_PINNED)
        return alloc_pinned(d, bytes, memory, host, error);
    int code = svm_create(d, kind == MEMORY_FINE_SVM, bytes, memory, error);
    if (!code && host)
        *host = opencl_pointer(*memory, 0);
    return code;
}

static int host_free(void *context, enum driver_memory kind, uint64_t memory, uint64_t bytes,
                     struct error *error)
{
    struct opencl_device *d = context;
    if (opencl_is_svm(memory) != (kind == MEMORY_COARSE_SVM || kind == MEMORY_FINE_SVM))
        return error_set(error, ERR_INTERNAL, "this memory is of another kind");
    if (opencl_is_svm(memory))
        return svm_release(d, memory, bytes, error);
    void *host = forget_mapping(d, memory);
    int code = 0;
    if (host)
        code = OPENCL_CALL(&d->api, clEnqueueUnmapMemObject, OPENCL_ASKS, bytes, error, d->queue,
                           opencl_memory(memory), host, 0, NULL, NULL);
    ALSO(code, release(context, memory, bytes, code ? NULL : error));
    return code;
}

static const struct driver_memory_ops host_memory_ops = {.alloc = host_alloc, .free = host_free};

static int map_memory(struct device *device, uint64_t memory, uint64_t offset, uint64_t bytes,
                      unsigned access, bool waits, void **host, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    const cl_map_flags flags =
        (access & DEVICE_READS ? CL_MAP_READ : 0u) | (access & DEVICE_WRITES ? CL_MAP_WRITE : 0u);
    const cl_bool blocking = waits ? CL_TRUE : CL_FALSE;
    if (opencl_is_svm(memory)) {
        *host = opencl_pointer(memory, offset);
        return OPENCL_CALL(&d->api, clEnqueueSVMMap, OPENCL_WAITS, bytes, error, d->queue, blocking,
                           flags, *host, bytes, 0, NULL, NULL);
    }
    cl_int status = CL_SUCCESS;
    *host = d->api.clEnqueueMapBuffer(d->queue, opencl_memory(memory), blocking, flags, offset,
                                      bytes, 0, NULL, NULL, &status);
    return opencl_check(status, "clEnqueueMapBuffer", OPENCL_WAITS, bytes, error);
}

static int unmap_memory(struct device *device, uint64_t memory, void *host, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (opencl_is_svm(memory))
        return OPENCL_CALL(&d->api, clEnqueueSVMUnmap, OPENCL_ASKS, 0, error, d->queue, host, 0,
                           NULL, NULL);
    return OPENCL_CALL(&d->api, clEnqueueUnmapMemObject, OPENCL_ASKS, 0, error, d->queue,
                       opencl_memory(memory), host, 0, NULL, NULL);
}

static const struct device_map_ops map_ops = {.map = map_memory, .unmap = unmap_memory};

/* The map is a command of the queue, so it comes after earlier commands and returns what the buffer
 * then holds. A mapping that is kept would save both commands, but the result of kernels that write
 * to a mapped buffer is undefined: NVIDIA's driver goes on showing the contents at the time of the
 * map. */
static int load(struct device *device, void *host, uint64_t memory, uint64_t offset, uint64_t bytes,
                struct error *error)
{
    void *mapped;
    if (bytes == 0)
        return 0;
    TRY(map_memory(device, memory, offset, bytes, DEVICE_READS, true, &mapped, error));
    memcpy(host, mapped, bytes);
    return unmap_memory(device, memory, mapped, error);
}

/* ---- several devices ----
 *
 * They share a context. A cl_mem belongs to a context, and the driver decides which device has its
 * contents. Here only commands of one device use a cl_mem, except for copies to another device.
 */

static int create_shared_context(const struct opencl_api *api, const char *const *ids,
                                 unsigned count, cl_context *context, struct error *error)
{
    cl_device_id each[TOGETHER_MAX];
    cl_platform_id first = NULL;
    cl_uint different = 0;
    if (count > TOGETHER_MAX)
        return error_set(error, ERR_UNSUPPORTED, "%u devices together: at most %d", count,
                         TOGETHER_MAX);
    for (unsigned i = 0; i < count; i++) {
        struct found_device found;
        size_t number;
        TRY(find_number(api, ids[i], &found, &number, error));
        if (i > 0 && found.platform != first)
            return error_set(error, ERR_UNSUPPORTED, "%s and %s are of different platforms", ids[0],
                             ids[i]);
        first = found.platform;
        cl_uint at = 0;
        while (at < different && each[at] != found.device)
            at++;
        each[at] = found.device; /* a context has each device once */
        different += at == different;
    }
    cl_int status;
    *context = api->clCreateContext(NULL, different, each, NULL, NULL, &status);
    return *context ? 0 : opencl_check(status, "clCreateContext", OPENCL_ASKS, 0, error);
}

static int open_together(const char *const *ids, unsigned count, struct device **devices,
                         struct error *error)
{
    struct opencl_api api;
    cl_context context = NULL;
    TRY(opencl_api_load(&api, error));
    TRY(create_shared_context(&api, ids, count, &context, error));
    int code = 0;
    for (unsigned i = 0; i < count && !code; i++) {
        code = open_in(ids[i], context, &devices[i], error);
        for (unsigned o = 0; o < i && code; o++)
            devices[o]->ops->close(devices[o]);
    }
    api.clReleaseContext(context); /* each device has a reference of its own */
    return code;
}

static int peer_copy(struct device *device, uint64_t to, uint64_t to_offset, struct device *of,
                     uint64_t from, uint64_t from_offset, uint64_t bytes, struct error *error)
{
    if (opencl_self(device)->context != opencl_self(of)->context)
        return error_set(error, ERR_UNSUPPORTED, "%s and %s were not opened together",
                         device->info->id, of->info->id);
    return copy(device, to, to_offset, from, from_offset, bytes, error);
}

static const struct device_peer_ops peer_ops = {.open_together = open_together, .copy = peer_copy};

const struct device_ops device_opencl = {
    .name = "opencl",
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
    .build = opencl_build,
    .unbuild = opencl_unbuild,
    .launch = opencl_launch,
    .sync = sync_device,
    .mark = opencl_mark,
    .elapsed_ns = opencl_elapsed_ns,
    .touch = touch,
    .load = load,
    .phase = tell_phase,
    .queues = &opencl_queues,
    .events = &opencl_events,
    .maps = &map_ops,
    .peers = &peer_ops,
    .profile = &opencl_profile,
    .host_memory = &host_memory_ops,
    .sub_buffers = &sub_buffer_ops,
};

#else

const struct device_ops device_opencl = {
    .name = "opencl",
    .summary = SUMMARY,
    .missing = "this gamut was built without OpenCL: install its headers (Debian: apt install "
               "opencl-headers) and build again",
};

#endif
