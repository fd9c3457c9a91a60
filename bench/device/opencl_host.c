/* Memory that the host can address: buffers that the driver keeps in pinned memory, and shared
 * virtual memory, whose commands are in opencl_svm.c. */
#include "device/device.h"

#ifdef GAMUT_WITH_OPENCL

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "device/opencl_device.h"

static void remember(struct opencl_device *d, uint64_t memory, void *host)
{
    d->host_memory =
        must_realloc(d->host_memory, (d->host_memory_count + 1) * sizeof *d->host_memory);
    d->host_memory[d->host_memory_count++] = (struct opencl_host_memory){memory, host};
}

static struct opencl_host_memory *find(const struct opencl_device *d, uint64_t memory)
{
    for (size_t i = d->host_memory_count; i-- > 0;)
        if (d->host_memory[i].memory == memory)
            return &d->host_memory[i];
    return NULL;
}

void *opencl_mapped(const struct opencl_device *d, uint64_t memory)
{
    const struct opencl_host_memory *found = find(d, memory);
    return found ? found->host : NULL;
}

/* The same, which is forgotten. */
static void *forget(struct opencl_device *d, uint64_t memory)
{
    struct opencl_host_memory *found = find(d, memory);
    if (!found)
        return NULL;
    void *host = found->host;
    *found = d->host_memory[--d->host_memory_count];
    return host;
}

/* ALLOC_HOST_PTR is how OpenCL spells pinned memory: a hint that drivers follow. A kernel may not
 * write to what is mapped, says the standard; it works everywhere, but nobody has to rely on it who
 * does not need the address. */
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
    if (code)
        d->api.clReleaseMemObject(buffer);
    else
        remember(d, *memory, *host);
    return code;
}

int opencl_host_alloc(struct device *device, enum host_memory kind, uint64_t bytes,
                      uint64_t *memory, void **host, struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (kind == HOST_MANAGED)
        return error_set(error, ERR_UNSUPPORTED,
                         "managed memory is CUDA's: OpenCL has shared virtual memory");
    if (kind == HOST_PINNED)
        return alloc_pinned(d, bytes, memory, host, error);
    int code = opencl_svm_create(d, kind == HOST_FINE_SVM, bytes, memory, error);
    if (!code && host)
        *host = opencl_pointer(*memory, 0);
    return code;
}

/* The map is a command of the queue, so it waits for what is before it, and what it returns is what
 * the buffer holds: by the standard, wherever the driver keeps it. A mapping that is kept would
 * save both commands, but what kernels write to a mapped buffer is undefined, and NVIDIA's driver
 * indeed goes on showing what was there when it was mapped. */
int opencl_load(struct device *device, void *host, uint64_t memory, uint64_t offset, uint64_t bytes,
                struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    cl_int status = CL_SUCCESS;
    if (bytes == 0)
        return 0;
    void *mapped = d->api.clEnqueueMapBuffer(d->queue, opencl_memory(memory), CL_TRUE, CL_MAP_READ,
                                             offset, bytes, 0, NULL, NULL, &status);
    int code = opencl_check(status, "clEnqueueMapBuffer", OPENCL_WAITS, bytes, error);
    if (code)
        return code;
    memcpy(host, mapped, bytes);
    return opencl_check(
        d->api.clEnqueueUnmapMemObject(d->queue, opencl_memory(memory), mapped, 0, NULL, NULL),
        "clEnqueueUnmapMemObject", OPENCL_ASKS, bytes, error);
}

int opencl_host_free(struct device *device, enum host_memory kind, uint64_t memory, uint64_t bytes,
                     struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    if (opencl_is_svm(memory) != (kind == HOST_COARSE_SVM || kind == HOST_FINE_SVM))
        return error_set(error, ERR_INTERNAL, "this memory is of another kind");
    if (opencl_is_svm(memory))
        return opencl_svm_release(d, memory, bytes, error);
    void *host = forget(d, memory);
    int code = 0;
    if (host)
        code = opencl_check(
            d->api.clEnqueueUnmapMemObject(d->queue, opencl_memory(memory), host, 0, NULL, NULL),
            "clEnqueueUnmapMemObject", OPENCL_ASKS, bytes, error);
    int released = device->ops->free(device, memory, bytes, code ? NULL : error);
    return code ? code : released;
}

#endif
