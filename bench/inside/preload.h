/* libgamut_serve_cuda.so, experimental: serves a CUDA program that has no door. LD_PRELOAD loads
 * it, and it answers for a few names of libcuda, whichever way the program gets them:
 *
 *   - a program that is linked to libcuda finds the library's symbols before the driver's;
 *   - a runtime asks dlsym for cuGetProcAddress_v2, and asks that function for everything else;
 *   - others ask dlsym for each function.
 *
 * preload_names.c gives the answers; preload.c has the functions. The library stops serving, with a
 * sentence, where it meets something that it does not know: a name that allocates and is not in its
 * lists, a driver or a request of a later CUDA, or a call that preload.c names. The driver has all
 * later requests. The library still takes back the blocks that it has served.
 *
 * That the CUDA runtime asks dlsym for one name alone, and that serving breaks by recursion, by
 * versioned names and by lost callers, is from the issues 36, 215, 233 and 326 of
 * Project-HAMi/HAMi-core.
 */
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>

/* cuda.h maps names to the versions that its own callers shall have. */
#undef cuDevicePrimaryCtxReset
#undef cuGetProcAddress
#undef cuGetProcAddress_v2
#undef cuMemAllocAsync
#undef cuMemFreeAsync
#undef cuMemAllocFromPoolAsync
#if CUDA_VERSION < 12000
typedef int CUdriverProcAddressQueryResult;
#endif
CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found);
CUresult cuDevicePrimaryCtxReset(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t bytes, CUstream stream);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                      CUstream stream);
#pragma GCC visibility pop

#include <stdbool.h>

/* X(symbol, name, since, per_thread): functions that the library answers for. `name`, for
 * cuGetProcAddress, is this one from CUDA `since` on, until a later line has it; per_thread: for
 * callers whose default stream is the thread's own. */
#define PRELOAD_LIST(X)                                                                            \
    X(cuGetProcAddress, "cuGetProcAddress", 11030, false)                                          \
    X(cuGetProcAddress_v2, "cuGetProcAddress", 12000, false)                                       \
    X(cuMemAlloc_v2, "cuMemAlloc", 3020, false)                                                    \
    X(cuMemFree_v2, "cuMemFree", 3020, false)                                                      \
    X(cuMemAllocAsync, "cuMemAllocAsync", 11020, false)                                            \
    X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, true)                                        \
    X(cuMemFreeAsync, "cuMemFreeAsync", 11020, false)                                              \
    X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, true)                                          \
    X(cuMemGetAddressRange_v2, "cuMemGetAddressRange", 3020, false)                                \
    X(cuPointerGetAttribute, "cuPointerGetAttribute", 4000, false)                                 \
    X(cuPointerGetAttributes, "cuPointerGetAttributes", 7000, false)                               \
    X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010, false)                                         \
    X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 11000, false)                    \
    X(cuDeviceSetMemPool, "cuDeviceSetMemPool", 11020, false)                                      \
    X(cuMemPoolSetAccess, "cuMemPoolSetAccess", 11020, false)                                      \
    X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", 4000, false)                                 \
    X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", 7000, false)                             \
    X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, false)                         \
    X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, false)                                          \
    X(cuMemAllocManaged, "cuMemAllocManaged", 6000, false)                                         \
    X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, false)                            \
    X(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, true)                        \
    X(cuMemCreate, "cuMemCreate", 10020, false)

/* Further functions that the library calls. */
#define PRELOAD_CALLS(X)                                                                           \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxGetDevice)                                                                              \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxSynchronize)                                                                            \
    X(cuDevicePrimaryCtxGetState)                                                                  \
    X(cuDevicePrimaryCtxRelease_v2)                                                                \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDriverGetVersion)                                                                          \
    X(cuStreamIsCapturing)                                                                         \
    X(cuStreamSynchronize)

/* The driver's own functions. */
struct preload_driver {
#define X(symbol, name, since, per_thread) __typeof__(symbol) *symbol;
    PRELOAD_LIST(X)
#undef X
#define X(symbol) __typeof__(symbol) *symbol;
    PRELOAD_CALLS(X)
#undef X
};

/* The driver, once the program has loaded it; else NULL. Functions that it lacks are NULL. */
const struct preload_driver *preload_driver(void);

/* The answer for what cuGetProcAddress has found: the library's function, or `found`. */
void *preload_answer_of(const char *name, void *found, int version, cuuint64_t flags);

/* Stops serving with a sentence, once. */
void preload_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The sentence; NULL: the library serves. */
const char *preload_refusal(void);
