/* A driver of CUDA and a CUPTI in one library, without a device: calls do their bookkeeping and CUPTI's callbacks. It is for
 * app_cuda.c, and loads what CUDA_INJECTION64_PATH names as the driver does.
 *
 * The image of a module is a text: the name of its one kernel and the bytes of its arguments, "add 8 8 4"; one with a '*' in
 * front is a kernel of a library, about which only cuKernelGetParamInfo answers. A new module, block or stream gets the
 * handle of the one of its kind that was given back last. Each command ends in its call, after 5,000 ns. The two devices have one name. */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_cuda.h"

enum { DEVICES = 2, CALLS = 2000, ROOM = 512, COMMAND_NS = 5000 };
#define DEVICE_BYTES (UINT64_C(1) << 30)

struct module {
    bool is_used, is_library;
    char name[32];
    unsigned count;
    size_t bytes[16];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st {
    int device;
} contexts[DEVICES] = {{0}, {1}};
static _Thread_local struct CUctx_st *current;
static struct module modules[ROOM];
static struct range {
    uint64_t address, bytes;
    bool is_used;
} ranges[DEVICES][ROOM];
static char streams[ROOM][16];
static bool stream_is_used[ROOM], stream_captures[ROOM];
static unsigned questions, entered;

/* ---- CUPTI ---- */

static bool enabled[CALLS], timed;
static CUpti_CallbackFunc callback;
static CUpti_BuffersCallbackRequestFunc request_buffer;
static CUpti_BuffersCallbackCompleteFunc complete_buffer;
static uint32_t correlation;
static uint8_t *buffer;
static size_t buffer_bytes, buffer_used;

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc function,
                           void *user)
{
    (void)user;
    if (callback || getenv("FAKE_CUDA_SUBSCRIBED"))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    callback = function;
    *subscriber = (CUpti_SubscriberHandle)contexts;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)subscriber;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < CALLS)
        enabled[id] = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_SUCCESS";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    request_buffer = request;
    complete_buffer = complete;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    timed |= kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *bytes, size_t used, CUpti_Activity **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + sizeof(CUpti_ActivityKernel10) : bytes;
    if (next + sizeof(CUpti_ActivityKernel10) > bytes + used)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    if (buffer)
        complete_buffer(NULL, 0, buffer, buffer_bytes, buffer_used);
    buffer = NULL;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *ns)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return CUPTI_SUCCESS;
}

/* One more command that was timed. */
static void add_activity(CUpti_ActivityKind kind, uint32_t number)
{
    size_t most;
    uint64_t now;
    if (!timed)
        return;
    cuptiGetTimestamp(&now);
    pthread_mutex_lock(&lock);
    if (buffer && buffer_used + sizeof(CUpti_ActivityKernel10) > buffer_bytes)
        cuptiActivityFlushAll(0);
    if (!buffer) {
        request_buffer(&buffer, &buffer_bytes, &most);
        buffer_used = 0;
    }
    memset(buffer + buffer_used, 0, sizeof(CUpti_ActivityKernel10));
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        CUpti_ActivityKernel10 *a = (void *)(buffer + buffer_used);
        a->start = now - COMMAND_NS;
        a->end = now;
        a->correlationId = number;
    } else {
        CUpti_ActivityMemcpy6 *a = (void *)(buffer + buffer_used);
        a->start = now - COMMAND_NS;
        a->end = now;
        a->correlationId = number;
    }
    ((CUpti_Activity *)(buffer + buffer_used))->kind = kind;
    buffer_used += sizeof(CUpti_ActivityKernel10);
    pthread_mutex_unlock(&lock);
}

struct call {
    CUpti_CallbackData data;
    CUpti_CallbackId id;
    uint64_t kept;
    CUresult result;
};

static void enter(struct call *c, CUpti_CallbackId id, const void *parameters, const char *symbol)
{
    *c = (struct call){.id = id};
    if (!callback || !enabled[id])
        return;
    __atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED);
    c->data = (CUpti_CallbackData){.callbackSite = CUPTI_API_ENTER,
                                   .functionParams = parameters,
                                   .functionReturnValue = &c->result,
                                   .symbolName = symbol,
                                   .context = current,
                                   .correlationData = &c->kept,
                                   .correlationId =
                                       __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED)};
    callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, id, &c->data);
}

static CUresult leave(struct call *c, CUresult result)
{
    c->result = result;
    c->data.callbackSite = CUPTI_API_EXIT;
    if (callback && enabled[c->id])
        callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, c->id, &c->data);
    return result;
}

/* Begins a call: its parameters are those of the struct that CUPTI has for it. */
#define ENTER(name, symbol, ...)                                                                   \
    const name##_params p_ = {__VA_ARGS__};                                                        \
    struct call c_;                                                                                \
    enter(&c_, CUPTI_DRIVER_TRACE_CBID_##name, &p_, symbol)
#define LEAVE(result) return leave(&c_, result)

/* ---- devices ---- */

CUresult cuInit(unsigned flags)
{
    static bool done;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path && !done ? dlopen(path, RTLD_NOW) : NULL;
    int (*begin)(void) = NULL;
    (void)flags;
    done = true;
    if (library)
        *(void **)&begin = dlsym(library, "InitializeInjection");
    if (begin)
        begin();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)length, "Fake");
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = DEVICE_BYTES;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = &contexts[device];
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = current->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize_v2(CUcontext context)
{
    ENTER(cuCtxSynchronize_v2, NULL, context);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize(void)
{
    struct call c;
    enter(&c, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, NULL, NULL);
    return leave(&c, CUDA_SUCCESS);
}

/* ---- memory ---- */

static CUresult take(CUdeviceptr *address, size_t bytes)
{
    if (bytes > DEVICE_BYTES)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    struct range *all = ranges[current->device], *r = all;
    while (r->is_used || (r->bytes && r->bytes < bytes))
        r++;
    if (!r->bytes) {
        const uint64_t first = UINT64_C(0x7f0000000000) + ((uint64_t)current->device << 36);
        r->address = r > all ? (r[-1].address + r[-1].bytes + 511) & ~UINT64_C(511) : first;
        r->bytes = bytes;
    }
    r->is_used = true;
    *address = r->address;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static void give(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    for (unsigned d = 0; d < DEVICES; d++)
        for (unsigned i = 0; i < ROOM; i++)
            if (ranges[d][i].address == address)
                ranges[d][i].is_used = false;
    pthread_mutex_unlock(&lock);
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    ENTER(cuMemAlloc_v2, NULL, address, bytes);
    LEAVE(take(address, bytes));
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    ENTER(cuMemFree_v2, NULL, address);
    give(address);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    ENTER(cuMemAllocAsync, NULL, address, bytes, stream);
    LEAVE(take(address, bytes));
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    ENTER(cuMemFreeAsync, NULL, address, stream);
    give(address);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    ENTER(cuMemMap, NULL, address, bytes, offset, handle, flags);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    ENTER(cuMemUnmap, NULL, address, bytes);
    LEAVE(CUDA_SUCCESS);
}

/* ---- commands ---- */

/* A stream's place; the default ones have none. */
static unsigned place_of(CUstream stream)
{
    const uintptr_t at = (uintptr_t)stream - (uintptr_t)streams;
    return at < sizeof streams ? (unsigned)(at / sizeof *streams) : ROOM - 1;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    ENTER(cuStreamBeginCapture_v2, NULL, stream, mode);
    stream_captures[place_of(stream)] = true;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    ENTER(cuStreamEndCapture, NULL, stream, graph);
    stream_captures[place_of(stream)] = false;
    *graph = NULL;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = stream_captures[place_of(stream)] ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *what)
{
    ENTER(cuGraphAddNode_v2, NULL, node, graph, after, edges, count, what);
    LEAVE(CUDA_SUCCESS);
}

#define COMMAND(kind)                                                                              \
    do {                                                                                           \
        add_activity(CUPTI_ACTIVITY_KIND_##kind, c_.data.correlationId);                           \
        LEAVE(CUDA_SUCCESS);                                                                       \
    } while (0)

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    ENTER(cuMemsetD8Async, NULL, to, value, bytes, stream);
    COMMAND(MEMCPY);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    ENTER(cuMemcpyHtoD_v2, NULL, to, from, bytes);
    COMMAND(MEMCPY);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER(cuMemcpyDtoHAsync_v2, NULL, to, from, bytes, stream);
    COMMAND(MEMCPY);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER(cuMemcpyAsync, NULL, to, from, bytes, stream);
    COMMAND(MEMCPY);
}

CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER(cuMemcpyAsync_ptsz, NULL, to, from, bytes, stream);
    COMMAND(MEMCPY);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream)
{
    ENTER(cuMemcpyPeerAsync, NULL, to, to_context, from, from_context, bytes, stream);
    COMMAND(MEMCPY);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *box)
{
    ENTER(cuMemcpy2D_v2, NULL, box);
    COMMAND(MEMCPY);
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
    ENTER(cuGraphLaunch, NULL, graph, stream);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user)
{
    ENTER(cuLaunchHostFunc, NULL, stream, function, user);
    function(user);
    LEAVE(CUDA_SUCCESS);
}

/* ---- kernels ---- */

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    const char *text = image;
    struct module *m = modules;
    pthread_mutex_lock(&lock);
    while (m->is_used)
        m++;
    *m = (struct module){.is_used = true, .is_library = *text == '*'};
    pthread_mutex_unlock(&lock);
    int length = 0;
    sscanf(text + m->is_library, "%31s%n", m->name, &length);
    char *at = (char *)text + m->is_library + length;
    while (*at)
        m->bytes[m->count++] = strtoul(at, &at, 10);
    *module = (CUmodule)m;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    *function = (CUfunction)module;
    return strcmp(((struct module *)module)->name, name) ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    ENTER(cuModuleUnload, NULL, module);
    ((struct module *)module)->is_used = false;
    LEAVE(CUDA_SUCCESS);
}

static CUresult parameter(const struct module *m, size_t i, size_t *offset, size_t *bytes)
{
    __atomic_fetch_add(&questions, 1, __ATOMIC_RELAXED);
    if (i >= m->count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = 0;
    *bytes = m->bytes[i];
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t i, size_t *offset, size_t *bytes)
{
    const struct module *m = (const struct module *)function;
    return m->is_library ? CUDA_ERROR_INVALID_HANDLE : parameter(m, i, offset, bytes);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t i, size_t *offset, size_t *bytes)
{
    return parameter((const struct module *)kernel, i, offset, bytes);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream,
                        void **arguments, void **extra)
{
    ENTER(cuLaunchKernel, ((struct module *)f)->name, f, gx, gy, gz, bx, by, bz, shared, stream,
          arguments, extra);
    COMMAND(CONCURRENT_KERNEL);
}

/* ---- streams and events ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    ENTER(cuStreamCreate, NULL, stream, flags);
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (stream_is_used[i])
        i++;
    stream_is_used[i] = true;
    *stream = (CUstream)streams[i];
    pthread_mutex_unlock(&lock);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    ENTER(cuStreamDestroy_v2, NULL, stream);
    stream_is_used[((char *)stream - streams[0]) / (ptrdiff_t)sizeof *streams] = false;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    ENTER(cuStreamSynchronize, NULL, stream);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    ENTER(cuStreamWaitEvent, NULL, stream, event, flags);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = malloc(16);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    ENTER(cuEventRecord, NULL, event, stream);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuEventSynchronize(CUevent event)
{
    ENTER(cuEventSynchronize, NULL, event);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event)
{
    ENTER(cuEventDestroy_v2, NULL, event);
    free(event);
    LEAVE(CUDA_SUCCESS);
}

unsigned fake_cuda_questions(void)
{
    return questions;
}

unsigned fake_cuda_entered(void)
{
    return entered;
}
