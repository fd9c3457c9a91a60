/* A driver of CUDA and a CUPTI in one library, without a device: calls do their bookkeeping and
 * CUPTI's callbacks. It is for app_cuda.c, and loads what CUDA_INJECTION64_PATH names as the driver
 * does.
 *
 * The image of a module is a text: the name of its one kernel and the bytes of its arguments, "add
 * 8 8 4"; one with a '*' in front is a kernel of a library, about which only cuKernelGetParamInfo
 * answers. A new module, block or stream gets the handle of the one of its kind that was given back
 * last. Each command ends in its call, after 5,000 ns. The two devices have one name.
 *
 * fake_memory.c has memory, streams and events, fake_names.c what tells functions and blocks apart.
 * FAKE_CUDA_VERSION is the driver's version [that of the headers]. With FAKE_CUDA_ABORTS cuInit
 * ends the process, as a broken driver does. With FAKE_CUDA_LOSES no command has a time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "fake_driver.h"

enum { CALLS = 2000, COMMAND_NS = 5000 };

struct module {
    bool is_used, is_library;
    char name[32];
    unsigned count;
    size_t bytes[16];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st contexts[DEVICES] = {{0}, {1}};
static _Atomic bool is_active[DEVICES];
_Thread_local struct CUctx_st *fake_current;
static struct module modules[ROOM];
static unsigned questions, entered;

/* ---- CUPTI ---- */

static bool enabled[CALLS], timed;
static CUpti_CallbackFunc callback;
static CUpti_BuffersCallbackRequestFunc request_buffer;
static CUpti_BuffersCallbackCompleteFunc complete_buffer;
static pid_t process; /* in a forked one CUPTI may wait for ever */
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
    process = getpid();
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
    if (getpid() != process)
        abort();
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

void fake_activity(CUpti_ActivityKind kind, uint32_t number)
{
    size_t most;
    uint64_t now;
    if (!timed || getenv("FAKE_CUDA_LOSES"))
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

void fake_enter(struct call *c, CUpti_CallbackId id, const void *parameters, const char *symbol)
{
    *c = (struct call){.id = id};
    if (!callback || !enabled[id])
        return;
    __atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED);
    c->data = (CUpti_CallbackData){.callbackSite = CUPTI_API_ENTER,
                                   .functionParams = parameters,
                                   .functionReturnValue = &c->result,
                                   .symbolName = symbol,
                                   .context = fake_current,
                                   .correlationData = &c->kept,
                                   .correlationId =
                                       __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED)};
    callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, id, &c->data);
}

CUresult fake_leave(struct call *c, CUresult result)
{
    c->result = result;
    c->data.callbackSite = CUPTI_API_EXIT;
    if (callback && enabled[c->id])
        callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, c->id, &c->data);
    return result;
}

/* ---- devices ---- */

CUresult cuInit(unsigned flags)
{
    static bool done;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (getenv("FAKE_CUDA_ABORTS"))
        abort();
    void *library = path && !done ? dlopen(path, RTLD_NOW) : NULL;
    int (*begin)(void) = NULL;
    (void)flags;
    done = true;
    if (library)
        *(void **)&begin = dlsym(library, "InitializeInjection");
    if (begin && begin())
        begin(); /* the driver of OpenCL calls it too */
    return CUDA_SUCCESS;
}

/* ---- what a program of gamut's own asks at its start ---- */

CUresult cuDriverGetVersion(int *version)
{
    const char *text = getenv("FAKE_CUDA_VERSION");
    *version = text && *text ? atoi(text) : CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char **name)
{
    *name = result == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
                : "CUDA_ERROR_OTHER";
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult result, const char **sentence)
{
    *sentence = result == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "the fake driver says no";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = DEVICES;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int number)
{
    *device = number;
    return CUDA_SUCCESS;
}

/* It has pools and virtual memory, and all else is 1 too. */
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
    (void)what, (void)device;
    *value = 1;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = fake_current;
    return CUDA_SUCCESS;
}

/* What it does not do: peers, and times. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define LACKS(name, ...)                                                                           \
    CUresult name(__VA_ARGS__);                                                                    \
    CUresult name(__VA_ARGS__)                                                                     \
    {                                                                                              \
        return CUDA_ERROR_NOT_SUPPORTED;                                                           \
    }
LACKS(cuDevicePrimaryCtxRelease_v2, CUdevice device)
LACKS(cuDeviceCanAccessPeer, int *can, CUdevice device, CUdevice peer)
#undef cuEventElapsedTime
LACKS(cuEventElapsedTime, float *ms, CUevent start, CUevent end)
LACKS(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
LACKS(cuMemcpyDtoDAsync_v2, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
LACKS(cuFuncGetAttribute, int *value, CUfunction_attribute what, CUfunction function)
#pragma GCC diagnostic pop

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)length, "Fake");
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    const char *text = getenv("FAKE_CUDA_BYTES");
    (void)device;
    *bytes = text ? strtoull(text, NULL, 10) : DEVICE_BYTES;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = &contexts[device];
    is_active[device] = true;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = is_active[device];
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    fake_current = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = fake_current->device;
    return CUDA_SUCCESS;
}

/* ---- commands ---- */

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *what)
{
    ENTER(cuGraphAddNode_v2, NULL, node, graph, after, edges, count, what);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    ENTER(cuMemcpyHtoD_v2, NULL, to, from, bytes);
    COMMAND(MEMCPY);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER(cuMemcpyDtoHAsync_v2, NULL, to, from, bytes, stream);
    fake_read(stream, to, from, bytes);
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
    LEAVE(fake_launch_graph(graph, stream));
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

unsigned fake_cuda_questions(void)
{
    return questions;
}

unsigned fake_cuda_entered(void)
{
    return entered;
}
