/* The recorder of CUDA: the driver loads this library in cuInit (CUDA_INJECTION64_PATH) and calls
 * InitializeInjection, which subscribes to CUPTI's callbacks of driver calls. The calls of the runtime, static or shared, and of
 * libraries end in driver calls, so that all are seen.
 *
 * CUPTI is opened at run time: a library that is linked to it is not loaded, without a word, where CUPTI is not
 * on the loader's path, as in the wheels of PyTorch. An application that has CUPTI already, such as one with a profiler, has it used.
 * CUPTI serves one subscriber in a process; if another tool is there first, the recording says so.
 *
 * What a kernel uses is not told by CUPTI. Its arguments are searched for addresses: each aligned word between
 * the lowest and the highest address of device memory so far is written down, and the importer drops those that are in no block.
 * Pointers that stand in device memory and the nodes of graphs are not seen; graph launches are counted.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/driver_memory.h"
#include "capture/recorder.h"

#define HANDLE(pointer) ((uint64_t)(uintptr_t)(pointer))
enum { ADDRESSES_MOST = 1024 };

static struct {
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);
    CUptiResult (*error_name)(CUptiResult, const char **);
    CUresult (*parameter)(CUfunction, size_t, size_t *, size_t *);
    CUresult (*kernel_parameter)(CUkernel, size_t, size_t *, size_t *);
    CUresult (*context_device)(CUdevice *);
    CUresult (*device_name)(char *, int, CUdevice);
    CUresult (*device_bytes)(size_t *, CUdevice);
} api;

/* The range of all addresses that the application got. */
static _Atomic uint64_t lowest = UINT64_MAX, highest;

/* ---- what commands belong to ---- */

/* A call that has returned. */
struct call {
    const CUpti_CallbackData *data;
    uint64_t begin, end;
};

/* What a call belongs to is described before the call: its record has the stamp of the call's begin. */
static uint64_t context_of(const struct call *c)
{
    const uint64_t context = HANDLE(c->data->context);
    if (!recorder_is_new(context))
        return context;
    CUdevice device = 0;
    char name[128] = "";
    size_t bytes = 0;
    if (api.context_device(&device) == CUDA_SUCCESS) {
        api.device_name(name, sizeof name, device);
        api.device_bytes(&bytes, device);
    }
    const uint64_t number = (uint64_t)device + 1;
    recorder_device(number, c->begin, name, bytes);
    recorder_put(RAW_context, context, 0, c->begin, c->begin, &number, 1);
    return context;
}

/* The default streams have no handle of their own: they are the context's. */
static uint64_t stream_of(const struct call *c, CUstream stream)
{
    const uint64_t context = context_of(c), given = HANDLE(stream),
                   handle = given > 2 ? given : context + 1 + given;
    if (recorder_is_new(handle))
        recorder_put(RAW_queue, handle, 0, c->begin, c->begin,
                     (uint64_t[]){context, RAW_QUEUE_SEEN}, 2);
    return handle;
}

/* ---- records ---- */

static void put_block(const struct call *c, uint64_t address, uint64_t bytes, uint64_t flags)
{
    const uint64_t words[] = {context_of(c), bytes, flags | RAW_BLOCK_ADDRESS, 0, 0};
    const CUresult result = *(const CUresult *)c->data->functionReturnValue;
    if (result != CUDA_SUCCESS) {
        if (result == CUDA_ERROR_OUT_OF_MEMORY)
            recorder_put(RAW_refused, 0, 0, c->begin, c->end, words, 5);
        return;
    }
    uint64_t old = atomic_load(&lowest);
    while (address < old && !atomic_compare_exchange_weak(&lowest, &old, address))
        continue;
    old = atomic_load(&highest);
    while (address + bytes > old && !atomic_compare_exchange_weak(&highest, &old, address + bytes))
        continue;
    recorder_put(RAW_block, address, 0, c->begin, c->end, words, 4);
}

/* bytes > 0: all blocks that begin in these. */
static void put_free(const struct call *c, uint64_t address, uint64_t queue, uint64_t bytes)
{
    if (address)
        recorder_put(RAW_free, address, 0, c->begin, c->end, (uint64_t[]){queue, bytes}, 2);
}

static void put_command(const struct call *c, enum raw_kind kind, CUstream stream, unsigned flags,
                        uint64_t kernel, uint64_t bytes, const uint64_t *blocks, unsigned count,
                        uint64_t event_made, uint64_t event_waited)
{
    const uint64_t queue = stream_of(c, stream);
    uint64_t *words = recorder_begin(kind, queue, event_made, c->begin, c->end,
                                     RAW_COMMAND_WORDS + count + (event_waited != 0));
    if (!words)
        return;
    words[RAW_COMMAND_FLAGS] = flags;
    words[RAW_COMMAND_KERNEL] = kernel;
    words[RAW_COMMAND_BYTES] = bytes;
    words[RAW_COMMAND_BLOCKS] = count;
    words[RAW_COMMAND_EVENTS] = event_waited != 0;
    words += RAW_COMMAND_WORDS;
    for (unsigned i = 0; i < count; i++)
        *words++ = blocks[i];
    if (event_waited)
        *words = event_waited;
    recorder_commit();
}

static void put_copy(const struct call *c, enum raw_kind kind, CUstream stream, bool blocking,
                     uint64_t from, uint64_t to, uint64_t bytes)
{
    const uint64_t both[] = {from, to};
    const bool is_read = kind == RAW_read, is_write = kind == RAW_write;
    put_command(c, kind, stream, blocking ? RAW_COMMAND_BLOCKING : 0, 0, bytes,
                is_write ? both + 1 : both, is_read || is_write ? 1 : 2, 0, 0);
}

static void put_fill(const struct call *c, CUstream stream, uint64_t block, uint64_t bytes)
{
    put_command(c, RAW_fill, stream, 0, 0, bytes, &block, 1, 0, 0);
}

/* The words of a kernel's arguments that may be addresses. */
struct addresses {
    uint64_t low, high;
    unsigned count;
    uint64_t words[ADDRESSES_MOST];
};

static void find_addresses(struct addresses *a, const void *bytes, size_t length)
{
    for (size_t at = 0; at + 8 <= length && a->count < ADDRESSES_MOST; at += 8) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + at, sizeof word);
        if (word >= a->low && word < a->high)
            a->words[a->count++] = word;
    }
}

/* A function's handle may be that of a kernel of a library, which the runtime launches without asking for the
 * function. Returns false behind the last argument. */
static bool argument_bytes(CUfunction function, size_t i, size_t *bytes)
{
    size_t offset;
    if (api.parameter && api.parameter(function, i, &offset, bytes) == CUDA_SUCCESS)
        return true;
    return api.kernel_parameter &&
           api.kernel_parameter((CUkernel)function, i, &offset, bytes) == CUDA_SUCCESS;
}

static void put_launch(const struct call *c, CUstream stream, CUfunction function, void **arguments,
                       void **extra)
{
    const uint64_t kernel = HANDLE(function);
    struct addresses found = {.low = atomic_load(&lowest), .high = atomic_load(&highest)};
    size_t bytes;
    if (recorder_is_new(kernel))
        recorder_text(RAW_kernel, kernel, c->begin, c->data->symbolName ? c->data->symbolName : "");
    for (size_t i = 0; arguments && argument_bytes(function, i, &bytes); i++)
        find_addresses(&found, arguments[i], bytes);
    /* Or all arguments stand in one buffer. */
    const void *buffer = NULL;
    for (bytes = 0; !arguments && extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *(const size_t *)extra[1];
    }
    if (buffer)
        find_addresses(&found, buffer, bytes);
    put_command(c, RAW_launch, stream, 0, kernel, 0, found.words, found.count, 0, 0);
}

static void put_wait(const struct call *c, enum raw_kind kind, uint64_t object, uint64_t event)
{
    recorder_put(kind, object, 0, c->begin, c->end, &event, event != 0);
}

static void put_release(const struct call *c, uint64_t object, uint64_t class)
{
    recorder_forget(object);
    recorder_put(RAW_release, object, 0, c->begin, c->end, &class, 1);
}

/* ---- the driver's calls ---- */

/* X(call, action): `p` is the call's parameters, `c` the call. Calls of memory also count if they fail. */
#define MEMORY_CALLS(X)                                                                            \
    X(cuMemAlloc_v2, put_block(c, *p->dptr, p->bytesize, MEMORY_DEVICE))                           \
    X(cuMemAllocPitch_v2, put_block(c, *p->dptr, *p->pPitch * p->Height, MEMORY_DEVICE))           \
    X(cuMemAllocManaged, put_block(c, *p->dptr, p->bytesize, MEMORY_MANAGED))                      \
    X(cuMemAllocHost_v2, put_block(c, HANDLE(*p->pp), p->bytesize, MEMORY_PINNED))                 \
    X(cuMemHostAlloc, put_block(c, HANDLE(*p->pp), p->bytesize, MEMORY_PINNED))                    \
    X(cuMemAllocAsync, put_block(c, *p->dptr, p->bytesize, MEMORY_DEVICE))                         \
    X(cuMemAllocAsync_ptsz, put_block(c, *p->dptr, p->bytesize, MEMORY_DEVICE))                    \
    X(cuMemAllocFromPoolAsync, put_block(c, *p->dptr, p->bytesize, MEMORY_DEVICE))                 \
    X(cuMemAllocFromPoolAsync_ptsz, put_block(c, *p->dptr, p->bytesize, MEMORY_DEVICE))            \
    X(cuMemMap, put_block(c, p->ptr, p->size, MEMORY_DEVICE))

#define OTHER_CALLS(X)                                                                             \
    X(cuMemFree_v2, put_free(c, p->dptr, 0, 0))                                                    \
    X(cuMemFreeHost, put_free(c, HANDLE(p->p), 0, 0))                                              \
    X(cuMemFreeAsync, put_free(c, p->dptr, stream_of(c, p->hStream), 0))                           \
    X(cuMemFreeAsync_ptsz, put_free(c, p->dptr, stream_of(c, p->hStream), 0))                      \
    X(cuMemUnmap, put_free(c, p->ptr, 0, p->size))                                                 \
    X(cuLaunchKernel, put_launch(c, p->hStream, p->f, p->kernelParams, p->extra))                  \
    X(cuLaunchKernel_ptsz, put_launch(c, p->hStream, p->f, p->kernelParams, p->extra))             \
    X(cuLaunchKernelEx, put_launch(c, p->config->hStream, p->f, p->kernelParams, p->extra))        \
    X(cuLaunchKernelEx_ptsz, put_launch(c, p->config->hStream, p->f, p->kernelParams, p->extra))   \
    X(cuMemcpy, put_copy(c, RAW_copy, 0, true, p->src, p->dst, p->ByteCount))                      \
    X(cuMemcpyAsync, put_copy(c, RAW_copy, p->hStream, false, p->src, p->dst, p->ByteCount))       \
    X(cuMemcpyAsync_ptsz, put_copy(c, RAW_copy, p->hStream, false, p->src, p->dst, p->ByteCount))  \
    X(cuMemcpyHtoD_v2, put_copy(c, RAW_write, 0, true, 0, p->dstDevice, p->ByteCount))             \
    X(cuMemcpyDtoH_v2, put_copy(c, RAW_read, 0, true, p->srcDevice, 0, p->ByteCount))              \
    X(cuMemcpyDtoD_v2, put_copy(c, RAW_copy, 0, false, p->srcDevice, p->dstDevice, p->ByteCount))  \
    X(cuMemcpyHtoDAsync_v2,                                                                        \
      put_copy(c, RAW_write, p->hStream, false, 0, p->dstDevice, p->ByteCount))                    \
    X(cuMemcpyDtoHAsync_v2,                                                                        \
      put_copy(c, RAW_read, p->hStream, false, p->srcDevice, 0, p->ByteCount))                     \
    X(cuMemcpyDtoDAsync_v2,                                                                        \
      put_copy(c, RAW_copy, p->hStream, false, p->srcDevice, p->dstDevice, p->ByteCount))          \
    X(cuMemsetD8_v2, put_fill(c, 0, p->dstDevice, p->N))                                           \
    X(cuMemsetD16_v2, put_fill(c, 0, p->dstDevice, 2 * p->N))                                      \
    X(cuMemsetD32_v2, put_fill(c, 0, p->dstDevice, 4 * p->N))                                      \
    X(cuMemsetD8Async, put_fill(c, p->hStream, p->dstDevice, p->N))                                \
    X(cuMemsetD16Async, put_fill(c, p->hStream, p->dstDevice, 2 * p->N))                           \
    X(cuMemsetD32Async, put_fill(c, p->hStream, p->dstDevice, 4 * p->N))                           \
    X(cuStreamDestroy_v2, put_release(c, HANDLE(p->hStream), RAW_CLASS_QUEUE))                     \
    X(cuEventDestroy_v2, put_release(c, HANDLE(p->hEvent), RAW_CLASS_EVENT))                       \
    X(cuStreamSynchronize, put_wait(c, RAW_finish, stream_of(c, p->hStream), 0))                   \
    X(cuStreamSynchronize_ptsz, put_wait(c, RAW_finish, stream_of(c, p->hStream), 0))              \
    X(cuEventRecord,                                                                               \
      put_command(c, RAW_marker, p->hStream, 0, 0, 0, NULL, 0, HANDLE(p->hEvent), 0))              \
    X(cuEventRecord_ptsz,                                                                          \
      put_command(c, RAW_marker, p->hStream, 0, 0, 0, NULL, 0, HANDLE(p->hEvent), 0))              \
    X(cuEventRecordWithFlags,                                                                      \
      put_command(c, RAW_marker, p->hStream, 0, 0, 0, NULL, 0, HANDLE(p->hEvent), 0))              \
    X(cuStreamWaitEvent, put_command(c, RAW_marker, p->hStream, RAW_COMMAND_BARRIER, 0, 0, NULL,   \
                                     0, 0, HANDLE(p->hEvent)))                                     \
    X(cuStreamWaitEvent_ptsz, put_command(c, RAW_marker, p->hStream, RAW_COMMAND_BARRIER, 0, 0,    \
                                          NULL, 0, 0, HANDLE(p->hEvent)))                          \
    X(cuEventSynchronize, put_wait(c, RAW_wait, 0, HANDLE(p->hEvent)))

/* X(call): counted, not recorded. */
#define UNSEEN_CALLS(X)                                                                            \
    X(cuGraphLaunch)                                                                               \
    X(cuGraphLaunch_ptsz)                                                                          \
    X(cuLaunchCooperativeKernel)                                                                   \
    X(cuMemcpy2D_v2)                                                                               \
    X(cuMemcpy2DAsync_v2)                                                                          \
    X(cuMemcpy3D_v2)                                                                               \
    X(cuMemcpy3DAsync_v2)                                                                          \
    X(cuMemcpyPeerAsync)                                                                           \
    X(cuArrayCreate_v2)                                                                            \
    X(cuIpcOpenMemHandle_v2)                                                                       \
    X(cuMemImportFromShareableHandle)                                                              \
    X(cuMemHostRegister_v2)                                                                        \
    X(cuMemPrefetchAsync)                                                                          \
    X(cuMemPoolTrimTo)

static void ended(const struct call *c, CUpti_CallbackId id)
{
    const bool ok = *(const CUresult *)c->data->functionReturnValue == CUDA_SUCCESS;
    switch (id) {
#define X(name, ...)                                                                               \
    case CUPTI_DRIVER_TRACE_CBID_##name: {                                                         \
        const name##_params *p = c->data->functionParams;                                          \
        __VA_ARGS__;                                                                               \
        break;                                                                                     \
    }
        MEMORY_CALLS(X)
#undef X
#define X(name, ...)                                                                               \
    case CUPTI_DRIVER_TRACE_CBID_##name: {                                                         \
        const name##_params *p = c->data->functionParams;                                          \
        (void)p;                                                                                   \
        if (ok) {                                                                                  \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        break;                                                                                     \
    }
        OTHER_CALLS(X)
#undef X
#define X(name)                                                                                    \
    case CUPTI_DRIVER_TRACE_CBID_##name:                                                           \
        recorder_unseen(#name);                                                                    \
        break;
        UNSEEN_CALLS(X)
#undef X
    case CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize: /* has no parameters */
        if (ok)
            put_wait(c, RAW_finish, 0, 0);
        break;
    default:
        break;
    }
}

static void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void *data)
{
    const CUpti_CallbackData *call = data;
    (void)user;
    (void)domain;
    if (call->callbackSite == CUPTI_API_ENTER)
        *call->correlationData = recorder_ticks();
    else
        ended(&(struct call){call, *call->correlationData, recorder_ticks()}, id);
}

/* ---- beginning ---- */

static void *open_cupti(void)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                        "/usr/local/cuda/lib64/libcupti.so",
                                        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
    const char *given = getenv("GAMUT_CUPTI");
    void *library = given && *given ? dlopen(given, RTLD_NOW) : NULL;
    for (unsigned i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    for (unsigned i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW);
    return library;
}

static bool find_all(void *cupti, void *driver)
{
    *(void **)&api.subscribe = dlsym(cupti, "cuptiSubscribe");
    *(void **)&api.enable = dlsym(cupti, "cuptiEnableCallback");
    *(void **)&api.error_name = dlsym(cupti, "cuptiGetResultString");
    *(void **)&api.parameter = dlsym(driver, "cuFuncGetParamInfo");
    *(void **)&api.kernel_parameter = dlsym(driver, "cuKernelGetParamInfo");
    *(void **)&api.context_device = dlsym(driver, "cuCtxGetDevice");
    *(void **)&api.device_name = dlsym(driver, "cuDeviceGetName");
    *(void **)&api.device_bytes = dlsym(driver, "cuDeviceTotalMem_v2");
    return api.subscribe && api.enable && api.error_name && api.context_device && api.device_name &&
           api.device_bytes;
}

static void enable_all(CUpti_SubscriberHandle subscriber)
{
#define X(name, ...)                                                                               \
    api.enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name);
    MEMORY_CALLS(X)
    OTHER_CALLS(X)
#undef X
#define X(name)                                                                                    \
    api.enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name);
    UNSEEN_CALLS(X)
    X(cuCtxSynchronize)
#undef X
}

/* The driver calls this in cuInit; 1: all is well. A failure must not end the application. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    void *cupti = open_cupti(), *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CUpti_SubscriberHandle subscriber;
    if (!recorder_open("CUDA", "cupti"))
        return 1;
    if (!cupti || !driver || !find_all(cupti, driver)) {
        fprintf(stderr, "gamut: CUDA is not recorded: %s\n",
                cupti ? "CUPTI or the driver lacks a function" : dlerror());
        return 1;
    }
    const CUptiResult result = api.subscribe(&subscriber, called, NULL);
    if (result != CUPTI_SUCCESS) {
        const char *why = "";
        api.error_name(result, &why);
        fprintf(stderr, "gamut: CUDA is not recorded: cuptiSubscribe: %s%s\n", why,
                result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                    ? ": another tool, such as a profiler, subscribed first"
                    : "");
        return 1;
    }
    enable_all(subscriber);
    return 1;
}
