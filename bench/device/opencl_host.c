/* Memory that the host can address: buffers that the driver keeps in pinned memory, mapped for as
 * long as they live, and shared virtual memory. Both are buffers to all other hooks. */
#include "device/device.h"

#ifdef GAMUT_WITH_OPENCL

#include <stdlib.h>

#include "base/arena.h"
#include "device/opencl_device.h"

/* Of cl.h from OpenCL 2.0 on. */
enum { DEVICE_SVM_CAPABILITIES = 0x1053, SVM_COARSE_GRAIN_BUFFER = 1 };

static void remember(struct opencl_device *d, uint64_t memory, void *host)
{
    d->host_memory =
        must_realloc(d->host_memory, (d->host_memory_count + 1) * sizeof *d->host_memory);
    d->host_memory[d->host_memory_count++] = (struct opencl_host_memory){memory, host};
}

/* The host's address of a memory, which is forgotten; NULL where there was none. */
static void *forget(struct opencl_device *d, uint64_t memory)
{
    for (size_t i = d->host_memory_count; i-- > 0;)
        if (d->host_memory[i].memory == memory) {
            void *host = d->host_memory[i].host;
            d->host_memory[i] = d->host_memory[--d->host_memory_count];
            return host;
        }
    return NULL;
}

/* ALLOC_HOST_PTR and a mapping are how OpenCL spells pinned memory: a hint that drivers follow. */
static int alloc_pinned(struct opencl_device *d, uint64_t bytes, cl_mem *buffer, void **host,
                        struct error *error)
{
    cl_int status = CL_SUCCESS;
    *buffer = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                                    NULL, &status);
    int code = opencl_check(status, "clCreateBuffer with CL_MEM_ALLOC_HOST_PTR", OPENCL_ASKS, bytes,
                            error);
    if (code)
        return code;
    *host = d->api.clEnqueueMapBuffer(d->queue, *buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      bytes, 0, NULL, NULL, &status);
    code = opencl_check(status, "clEnqueueMapBuffer", OPENCL_ASKS, bytes, error);
    if (code)
        d->api.clReleaseMemObject(*buffer);
    return code;
}

static int check_svm(struct opencl_device *d, struct error *error)
{
    cl_ulong capabilities = 0; /* a driver before 2.0 does not know the question */
    if (!d->api.clSVMAlloc || !d->api.clSVMFree)
        return error_set(error, ERR_UNSUPPORTED,
                         "libOpenCL.so.1 has no clSVMAlloc: it is older than OpenCL 2.0");
    d->api.clGetDeviceInfo(d->device, DEVICE_SVM_CAPABILITIES, sizeof capabilities, &capabilities,
                           NULL);
    if (!(capabilities & SVM_COARSE_GRAIN_BUFFER))
        return error_set(error, ERR_UNSUPPORTED, "%s has no shared virtual memory", d->info.name);
    return 0;
}

/* A buffer around shared memory uses that memory itself, by the standard. */
static int alloc_shared(struct opencl_device *d, uint64_t bytes, cl_mem *buffer, void **host,
                        struct error *error)
{
    cl_int status = CL_SUCCESS;
    int code = check_svm(d, error);
    if (code)
        return code;
    *host = d->api.clSVMAlloc(d->context, CL_MEM_READ_WRITE, bytes, 0);
    if (!*host) /* it tells no more than that */
        return opencl_check(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc", OPENCL_ASKS, bytes,
                            error);
    *buffer = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                                    *host, &status);
    code = opencl_check(status, "clCreateBuffer around clSVMAlloc's memory", OPENCL_ASKS, bytes,
                        error);
    if (code)
        d->api.clSVMFree(d->context, *host);
    return code;
}

int opencl_host_alloc(struct device *device, enum host_memory kind, uint64_t bytes,
                      uint64_t *memory, void **host, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    cl_mem buffer = NULL;
    int code = kind == HOST_PINNED ? alloc_pinned(d, bytes, &buffer, host, error)
                                   : alloc_shared(d, bytes, &buffer, host, error);
    if (code)
        return code;
    *memory = (uint64_t)(uintptr_t)buffer;
    remember(d, *memory, *host);
    return 0;
}

/* Neither a mapping nor shared memory may go while a command uses it, and unlike clReleaseMemObject
 * nobody waits on its own: what was given to the queues is waited for first. */
int opencl_host_free(struct device *device, enum host_memory kind, uint64_t memory, uint64_t bytes,
                     struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    void *host = forget(d, memory);
    if (!host)
        return error_set(error, ERR_INTERNAL, "this memory is not the host's");
    int code = 0;
    if (kind == HOST_PINNED)
        code = opencl_check(
            d->api.clEnqueueUnmapMemObject(d->queue, opencl_memory(memory), host, 0, NULL, NULL),
            "clEnqueueUnmapMemObject", OPENCL_ASKS, bytes, error);
    else
        code = d->base.ops->sync(device, error);
    int released = d->base.ops->free(device, memory, bytes, code ? NULL : error);
    if (kind == HOST_SHARED)
        d->api.clSVMFree(d->context, host);
    return code ? code : released;
}

#endif
