/* The functions of the CUDA driver and of NVRTC in use, looked up when they are first needed, so
 * that the program starts where there is no CUDA. The headers serve for types and constants alone.
 *
 * Names are those of the libraries: where cuda.h maps a name to a later version, its number is
 * spelt out. cuEventElapsedTime alone is left to cuda.h, because older headers do not know its _v2;
 * the first version has the same parameters and is in every driver.
 */
#pragma once

#include <cuda.h>
#include <nvrtc.h>
#include <stdint.h>

#include "base/error.h"

#define CUDA_FUNCTION_LIST(X)                                                                      \
    X(cuInit)                                                                                      \
    X(cuDriverGetVersion)                                                                          \
    X(cuGetErrorName)                                                                              \
    X(cuGetErrorString)                                                                            \
    X(cuDeviceGetCount)                                                                            \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDeviceTotalMem_v2)                                                                         \
    X(cuDeviceCanAccessPeer)                                                                       \
    X(cuCtxEnablePeerAccess)                                                                       \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDevicePrimaryCtxRelease_v2)                                                                \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxSynchronize)                                                                            \
    X(cuStreamCreate)                                                                              \
    X(cuStreamSynchronize)                                                                         \
    X(cuStreamWaitEvent)                                                                           \
    X(cuStreamIsCapturing)                                                                         \
    X(cuThreadExchangeStreamCaptureMode)                                                           \
    X(cuStreamDestroy_v2)                                                                          \
    X(cuEventCreate)                                                                               \
    X(cuEventSynchronize)                                                                          \
    X(cuEventRecord)                                                                               \
    X(cuEventQuery)                                                                                \
    X(cuEventElapsedTime)                                                                          \
    X(cuEventDestroy_v2)                                                                           \
    X(cuMemGetInfo_v2)                                                                             \
    X(cuMemAlloc_v2)                                                                               \
    X(cuMemFree_v2)                                                                                \
    X(cuMemPoolCreate)                                                                             \
    X(cuMemPoolDestroy)                                                                            \
    X(cuMemPoolSetAttribute)                                                                       \
    X(cuMemPoolGetAttribute)                                                                       \
    X(cuMemPoolTrimTo)                                                                             \
    X(cuMemAllocFromPoolAsync)                                                                     \
    X(cuMemFreeAsync)                                                                              \
    X(cuMemGetAllocationGranularity)                                                               \
    X(cuMemAddressReserve)                                                                         \
    X(cuMemAddressFree)                                                                            \
    X(cuMemCreate)                                                                                 \
    X(cuMemRelease)                                                                                \
    X(cuMemMap)                                                                                    \
    X(cuMemSetAccess)                                                                              \
    X(cuMemUnmap)                                                                                  \
    X(cuMemHostAlloc)                                                                              \
    X(cuMemHostGetDevicePointer_v2)                                                                \
    X(cuMemFreeHost)                                                                               \
    X(cuMemAllocManaged)                                                                           \
    X(cuMemcpyHtoDAsync_v2)                                                                        \
    X(cuMemcpyDtoHAsync_v2)                                                                        \
    X(cuMemcpyDtoDAsync_v2)                                                                        \
    X(cuMemcpyPeerAsync)                                                                           \
    X(cuMemsetD8Async)                                                                             \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuFuncGetAttribute)                                                                          \
    X(cuLaunchKernel)                                                                              \
    X(cuLaunchHostFunc)

#define NVRTC_FUNCTION_LIST(X)                                                                     \
    X(nvrtcVersion)                                                                                \
    X(nvrtcGetErrorString)                                                                         \
    X(nvrtcGetNumSupportedArchs)                                                                   \
    X(nvrtcGetSupportedArchs)                                                                      \
    X(nvrtcCreateProgram)                                                                          \
    X(nvrtcCompileProgram)                                                                         \
    X(nvrtcGetProgramLogSize)                                                                      \
    X(nvrtcGetProgramLog)                                                                          \
    X(nvrtcGetCUBINSize)                                                                           \
    X(nvrtcGetCUBIN)                                                                               \
    X(nvrtcGetPTXSize)                                                                             \
    X(nvrtcGetPTX)                                                                                 \
    X(nvrtcDestroyProgram)

struct cuda_api {
#define X(name) __typeof__(name) *name;
    CUDA_FUNCTION_LIST(X)
    NVRTC_FUNCTION_LIST(X)
#undef X
    int driver_version; /* the CUDA version of the driver: 13000 is 13.0 */
    int nvrtc_major, nvrtc_minor;
};

/* Starts the driver. ERR_UNSUPPORTED where it is missing; the message says what to install. The
 * library stays loaded. */
int cuda_api_load_driver(struct cuda_api *api, struct error *error);
/* Starts the driver and opens NVRTC: the newest one that is not newer than the driver, on the
 * loader's path, in $CUDA_PATH/lib64 or in /usr/local/cuda/lib64. ERR_UNSUPPORTED where one of them
 * is missing; the message says what to install. The libraries stay loaded. */
int cuda_api_load(struct cuda_api *api, struct error *error);

/* Turns a driver's code into an error that names the call (without the version that follows "_v")
 * and, unless 0, the bytes it was about. If memory is short, the message also gives the free bytes.
 * Returns 0 for CUDA_SUCCESS. */
int cuda_check(const struct cuda_api *api, CUresult result, const char *call, uint64_t bytes,
               struct error *error);

/* Calls a function of the driver with the arguments that follow, and checks what it returns. */
#define CUDA_CALL(api, function, bytes, error, ...)                                                \
    cuda_check(api, (api)->function(__VA_ARGS__), #function, bytes, error)
