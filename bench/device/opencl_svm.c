/* Shared virtual memory: pointers that host and device share, and the commands on them.
 *
 * Coarse-grained memory is the host's only while it is mapped, so read and write map what they
 * touch, copy, and unmap: both are commands of the queue. Fine-grained memory is the host's as soon
 * as it has waited for the queue.
 */
#include "device/device.h"

#ifdef GAMUT_WITH_OPENCL

#include <string.h>

#include "device/opencl_device.h"

/* Of cl.h from OpenCL 2.0 on. */
enum {
    DEVICE_SVM_CAPABILITIES = 0x1053,
    SVM_COARSE_GRAIN_BUFFER = 1,
    SVM_FINE_GRAIN_BUFFER = 2,
    MEM_SVM_FINE_GRAIN_BUFFER = 1 << 10,
};

static int check_offered(struct opencl_device *d, bool fine, struct error *error)
{
    cl_ulong capabilities = 0; /* a driver before 2.0 does not know the question */
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

int opencl_svm_create(struct opencl_device *d, bool fine, uint64_t bytes, uint64_t *memory,
                      struct error *error)
{
    int code = check_offered(d, fine, error);
    if (code)
        return code;
    cl_bitfield flags = CL_MEM_READ_WRITE | (fine ? MEM_SVM_FINE_GRAIN_BUFFER : 0u);
    void *pointer = d->api.clSVMAlloc(d->context, flags, bytes, 0);
    if (!pointer) /* it tells no more than that */
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

/* Of one queue the release is a command. Queues are in no order, so several are waited for. */
int opencl_svm_release(struct opencl_device *d, uint64_t memory, uint64_t bytes,
                       struct error *error)
{
    void *pointer = opencl_pointer(memory, 0);
    d->freed_count++;
    if (is_only_queue(d))
        return opencl_check(
            d->api.clEnqueueSVMFree(d->queue, 1, &pointer, NULL, NULL, 0, NULL, NULL),
            "clEnqueueSVMFree", OPENCL_ASKS, bytes, error);
    int code = d->base.ops->sync(&d->base, error);
    d->api.clSVMFree(d->context, pointer);
    return code;
}

/* Makes a range the host's, and gives it back to the device. */
static int lend(struct opencl_device *d, uint64_t memory, uint64_t offset, cl_map_flags access,
                uint64_t bytes, struct error *error)
{
    if (memory & OPENCL_IS_FINE)
        return opencl_check(d->api.clFinish(d->queue), "clFinish", OPENCL_WAITS, 0, error);
    return opencl_check(d->api.clEnqueueSVMMap(d->queue, CL_TRUE, access,
                                               opencl_pointer(memory, offset), bytes, 0, NULL,
                                               NULL),
                        "clEnqueueSVMMap", OPENCL_WAITS, bytes, error);
}

static int take_back(struct opencl_device *d, uint64_t memory, uint64_t offset, uint64_t bytes,
                     struct error *error)
{
    if (memory & OPENCL_IS_FINE)
        return 0;
    return opencl_check(
        d->api.clEnqueueSVMUnmap(d->queue, opencl_pointer(memory, offset), 0, NULL, NULL),
        "clEnqueueSVMUnmap", OPENCL_ASKS, bytes, error);
}

int opencl_svm_read(struct opencl_device *d, void *host, uint64_t memory, uint64_t offset,
                    uint64_t bytes, struct error *error)
{
    int code = lend(d, memory, offset, CL_MAP_READ, bytes, error);
    if (code)
        return code;
    memcpy(host, opencl_pointer(memory, offset), bytes);
    return take_back(d, memory, offset, bytes, error);
}

int opencl_svm_write(struct opencl_device *d, uint64_t memory, uint64_t offset, const void *host,
                     uint64_t bytes, struct error *error)
{
    int code = lend(d, memory, offset, CL_MAP_WRITE_INVALIDATE_REGION, bytes, error);
    if (code)
        return code;
    memcpy(opencl_pointer(memory, offset), host, bytes);
    return take_back(d, memory, offset, bytes, error);
}

/* There is no command between a buffer and a pointer: the host lends the pointer's side. */
static int move_from_buffer(struct opencl_device *d, uint64_t to, uint64_t to_offset, uint64_t from,
                            uint64_t from_offset, uint64_t bytes, struct error *error)
{
    int code = lend(d, to, to_offset, CL_MAP_WRITE_INVALIDATE_REGION, bytes, error);
    if (code)
        return code;
    code =
        d->base.ops->read(&d->base, opencl_pointer(to, to_offset), from, from_offset, bytes, error);
    int unmapped = take_back(d, to, to_offset, bytes, code ? NULL : error);
    return code ? code : unmapped;
}

static int move_to_buffer(struct opencl_device *d, uint64_t to, uint64_t to_offset, uint64_t from,
                          uint64_t from_offset, uint64_t bytes, struct error *error)
{
    int code = lend(d, from, from_offset, CL_MAP_READ, bytes, error);
    if (code)
        return code;
    code = d->base.ops->write(&d->base, to, to_offset, opencl_pointer(from, from_offset), bytes,
                              error);
    int unmapped = take_back(d, from, from_offset, bytes, code ? NULL : error);
    return code ? code : unmapped;
}

int opencl_svm_move(struct opencl_device *d, uint64_t to, uint64_t to_offset, uint64_t from,
                    uint64_t from_offset, uint64_t bytes, struct error *error)
{
    if (!opencl_is_svm(from))
        return move_from_buffer(d, to, to_offset, from, from_offset, bytes, error);
    if (!opencl_is_svm(to))
        return move_to_buffer(d, to, to_offset, from, from_offset, bytes, error);
    return opencl_check(d->api.clEnqueueSVMMemcpy(d->queue, CL_FALSE, opencl_pointer(to, to_offset),
                                                  opencl_pointer(from, from_offset), bytes, 0, NULL,
                                                  opencl_profile_event(d)),
                        "clEnqueueSVMMemcpy", OPENCL_ASKS, bytes, error);
}

int opencl_svm_set(struct opencl_device *d, uint64_t memory, uint64_t offset, uint8_t byte,
                   uint64_t bytes, struct error *error)
{
    return opencl_check(d->api.clEnqueueSVMMemFill(d->queue, opencl_pointer(memory, offset), &byte,
                                                   sizeof byte, bytes, 0, NULL,
                                                   opencl_profile_event(d)),
                        "clEnqueueSVMMemFill", OPENCL_ASKS, bytes, error);
}

#endif
