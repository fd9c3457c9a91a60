/* Functions of the fake driver by name, as cuGetProcAddress gives them; and what a block lies in,
 * and what makes it others'. */
#include <dlfcn.h>
#include <string.h>

#include "fake_cuda.h"
#include "fake_driver.h"

#undef cuGetProcAddress
#undef cuGetProcAddress_v2
#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct CUctx_st others[DEVICES] = {{0}, {1}};

CUcontext fake_other_context(int device)
{
    return &others[device];
}

void *fake_next(const char *name)
{
    void *volatile found =
        dlsym(RTLD_NEXT, name); /* a jump instead of a call would have another caller */
    return found;
}

/* ---- blocks ---- */

CUresult cuMemAllocBeyond(CUdeviceptr *address, size_t bytes)
{
    return cuMemAlloc_v2(address, bytes);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                            unsigned element)
{
    *pitch = (width + 511) & ~(size_t)511;
    return cuMemAlloc_v2(address, *pitch * height);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t bytes, CUstream stream);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    return cuMemAllocAsync(address, bytes, stream);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream)
{
    return cuMemFreeAsync(address, stream);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    return fake_range(address, base, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr address)
{
    CUdeviceptr base;
    size_t bytes;
    if (!fake_range(address, &base, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (which == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
        *(CUdeviceptr *)data = base;
    else if (which == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
        *(size_t *)data = bytes;
    else if (which == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        *(int *)data = 0;
    else
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *which, void **data,
                                CUdeviceptr address)
{
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < count && !result; i++)
        result = cuPointerGetAttribute(data[i], which[i], address);
    return result;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    memset(handle, 0, sizeof *handle);
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    *handle = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    fake_reset(device);
    return CUDA_SUCCESS;
}

/* ---- names ---- */

CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found);

#define ALL(X)                                                                                     \
    X(cuGetProcAddress, "cuGetProcAddress", 11030, 0)                                              \
    X(cuGetProcAddress_v2, "cuGetProcAddress", 12000, 0)                                           \
    X(cuInit, "cuInit", 2000, 0)                                                                   \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, 0)                               \
    X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, 0)                             \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", 4000, 0)                                                 \
    X(cuCtxSynchronize, "cuCtxSynchronize", 2000, 0)                                               \
    X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", 4000, 0)                                     \
    X(cuStreamCreate, "cuStreamCreate", 2000, 0)                                                   \
    X(cuStreamWaitEvent, "cuStreamWaitEvent", 3020, 0)                                             \
    X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, 0)                                   \
    X(cuStreamEndCapture, "cuStreamEndCapture", 10000, 0)                                          \
    X(cuEventCreate, "cuEventCreate", 2000, 0)                                                     \
    X(cuEventRecord, "cuEventRecord", 2000, 0)                                                     \
    X(cuMemsetD8Async, "cuMemsetD8Async", 3020, 0)                                                 \
    X(cuMemAlloc_v2, "cuMemAlloc", 3020, 0)                                                        \
    X(cuMemFree_v2, "cuMemFree", 3020, 0)                                                          \
    X(cuMemAllocAsync, "cuMemAllocAsync", 11020, 0)                                                \
    X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, 1)                                           \
    X(cuMemFreeAsync, "cuMemFreeAsync", 11020, 0)                                                  \
    X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, 1)                                             \
    X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, 0)                                              \
    X(cuMemAllocManaged, "cuMemAllocManaged", 6000, 0)                                             \
    X(cuMemAllocBeyond, "cuMemAllocBeyond", 13000, 0)                                              \
    X(cuMemGetAddressRange_v2, "cuMemGetAddressRange", 3020, 0)                                    \
    X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 11000, 0)                        \
    X(cuMemPoolSetAccess, "cuMemPoolSetAccess", 11020, 0)                                          \
    X(cuDeviceSetMemPool, "cuDeviceSetMemPool", 11020, 0)                                          \
    X(cuPointerGetAttribute, "cuPointerGetAttribute", 4000, 0)                                     \
    X(cuPointerGetAttributes, "cuPointerGetAttributes", 7000, 0)                                   \
    X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010, 0)

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    *function = NULL;
#define X(symbol, base, since, per_thread)                                                         \
    if (strcmp(name, base) == 0 && version >= (since) && (!(per_thread) || (flags & 2)))           \
        *function = (void *)symbol;
    ALL(X)
#undef X
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
