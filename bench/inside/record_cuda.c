/* The recorder of CUDA: the driver loads this library in cuInit (CUDA_INJECTION64_PATH) and calls
 * InitializeInjection, which subscribes to CUPTI's callbacks of driver calls. The runtime, static
 * or shared, and libraries call the driver, so that all calls are seen.
 *
 * CUPTI is opened at run time. The driver would silently not load a library that is linked to it,
 * if CUPTI is not on the loader's path, as in the wheels of PyTorch. If the application has CUPTI
 * already, as one with a profiler does, that CUPTI is used. CUPTI serves one subscriber in a
 * process; if another tool is there first, the recording says so.
 *
 * CUPTI does not tell what a kernel uses, so the recorder searches its arguments for addresses. It
 * records each aligned word between the lowest and the highest address of device memory so far, and
 * the importer drops those that are in no block. Pointers in device memory and the nodes of graphs
 * are not seen. Graph launches are counted, and so are commands that a stream captures into a
 * graph, because they do not run then. The recorder asks the driver once for each kernel how many
 * bytes each argument has.
 *
 * With the option `times` CUPTI's activities say how long the device worked; they are joined to the
 * commands by CUPTI's correlation number. CUPTI hands over buffers that are full. The recorder asks
 * for the others at exit, where a phase ends, and in the first call after each second, because an
 * end that runs no handlers (_exit, a signal) loses what CUPTI still has.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/driver_memory.h"
#include "inside/record_cuda.h"
#include "inside/recorder.h"

/* These lists name every version of a call; the header gives the newest the plain name. */
#undef cuMemPrefetchAsync
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync
#undef cuIpcOpenMemHandle
#undef cuStreamBeginCapture
#undef cuGraphAddNode
typedef cuMemHostAlloc_params cuMemHostAlloc_v2_params; /* the header lacks it */

#define HANDLE(pointer) ((uint64_t)(uintptr_t)(pointer))
enum { ADDRESSES_MOST = 1024, PARAMETERS_MOST = 1024, KERNELS = 1 << 13, PROBES = 32 };

static struct {
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);
    CUptiResult (*error_name)(CUptiResult, const char **);
    CUptiResult (*register_buffers)(CUpti_BuffersCallbackRequestFunc,
                                    CUpti_BuffersCallbackCompleteFunc);
    CUptiResult (*enable_activity)(CUpti_ActivityKind);
    CUptiResult (*next_activity)(uint8_t *, size_t, CUpti_Activity **);
    CUptiResult (*flush_activities)(uint32_t);
    CUptiResult (*timestamp)(uint64_t *);
    CUresult (*parameter)(CUfunction, size_t, size_t *, size_t *);
    CUresult (*kernel_parameter)(CUkernel, size_t, size_t *, size_t *);
    CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus *);
    CUresult (*context_device)(CUdevice *);
    CUresult (*device_name)(char *, int, CUdevice);
    CUresult (*device_bytes)(size_t *, CUdevice);
} api;

static bool is_timed;

/* The range of all addresses that the application got. */
static _Atomic uint64_t lowest = UINT64_MAX, highest;

/* Streams that capture, or at least so many: one whose capture failed may count for ever. */
static _Atomic unsigned captures;

/* ---- what commands belong to ---- */

/* A call that has returned. */
struct call {
    const CUpti_CallbackData *data;
    uint64_t begin, end;
    bool per_thread; /* its default stream is the thread's own */
};

/* Describes the context of a call before the call: its record has the time of the call's begin. */
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
    recorder_device(number, c->begin, name, bytes, 0);
    recorder_put(RAW_context, context, 0, c->begin, c->begin, &number, 1);
    return context;
}

/* The default streams have no handle of their own: one is the context's, and each thread has one in
 * each context. */
static uint64_t stream_of(const struct call *c, CUstream stream)
{
    const uint64_t context = context_of(c), given = HANDLE(stream);
    uint64_t handle = given;
    if (stream == CU_STREAM_PER_THREAD || (!stream && c->per_thread))
        handle = UINT64_C(1) << 63 | (context ^ (uint64_t)pthread_self());
    else if (!stream || stream == CU_STREAM_LEGACY)
        handle = context + 1;
    if (recorder_is_new(handle))
        recorder_put(RAW_queue, handle, 0, c->begin, c->begin,
                     (uint64_t[]){context, RAW_QUEUE_SEEN}, 2);
    return handle;
}

/* A new stream may have the handle of a destroyed one that other threads have met. */
static void put_stream(const struct call *c, uint64_t handle)
{
    const uint64_t words[] = {context_of(c), 0};
    recorder_put(RAW_queue, handle, 0, c->begin, c->end, words, 2);
}

/* Whether a call was captured into a graph. The default stream of all threads never captures. */
static bool is_captured(const struct call *c, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!atomic_load_explicit(&captures, memory_order_relaxed) || !api.is_capturing ||
        (!stream && !c->per_thread) || stream == CU_STREAM_LEGACY)
        return false;
    return api.is_capturing(stream ? stream : CU_STREAM_PER_THREAD, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void end_capture(void)
{
    unsigned now = atomic_load(&captures);
    while (now && !atomic_compare_exchange_weak(&captures, &now, now - 1))
        continue;
}

/* ---- records ---- */

/* queue: the one that it was asked for on, or 0. */
static void put_block(const struct call *c, uint64_t address, uint64_t bytes, uint64_t flags,
                      uint64_t queue)
{
    const uint64_t words[] = {context_of(c), bytes, flags | RAW_BLOCK_ADDRESS, queue, 0};
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

/* In the order of a stream. */
static void put_block_on(const struct call *c, uint64_t address, uint64_t bytes, CUstream stream)
{
    if (is_captured(c, stream))
        recorder_unseen("allocations captured into a graph");
    else
        put_block(c, address, bytes, MEMORY_DEVICE, stream_of(c, stream));
}

static void put_free_on(const struct call *c, uint64_t address, CUstream stream)
{
    if (is_captured(c, stream))
        recorder_unseen("frees captured into a graph");
    else
        put_free(c, address, stream_of(c, stream), 0);
}

static void put_command(const struct call *c, enum raw_kind kind, CUstream stream, unsigned flags,
                        uint64_t kernel, uint64_t bytes, const uint64_t *blocks, unsigned count,
                        uint64_t event_made, uint64_t event_waited)
{
    if (is_captured(c, stream)) {
        if (kind != RAW_marker)
            recorder_unseen("commands captured into a graph");
        return;
    }
    const uint64_t queue = stream_of(c, stream);
    if (is_timed && kind != RAW_marker)
        event_made = RAW_EVENT_CORRELATION | c->data->correlationId;
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

/* A copy of rows and planes; of arrays the addresses are not known. */
static void put_box(const struct call *c, CUstream stream, bool blocking, CUmemorytype from_type,
                    uint64_t from, CUmemorytype to_type, uint64_t to, uint64_t bytes)
{
    if (from_type == CU_MEMORYTYPE_ARRAY || to_type == CU_MEMORYTYPE_ARRAY)
        recorder_unseen("copies of arrays");
    else
        put_copy(c,
                 from_type == CU_MEMORYTYPE_HOST ? RAW_write
                 : to_type == CU_MEMORYTYPE_HOST ? RAW_read
                                                 : RAW_copy,
                 stream, blocking, from, to, bytes);
}

static void put_copy_2d(const struct call *c, CUstream stream, bool blocking,
                        const CUDA_MEMCPY2D *box)
{
    put_box(c, stream, blocking, box->srcMemoryType,
            box->srcDevice + box->srcY * box->srcPitch + box->srcXInBytes, box->dstMemoryType,
            box->dstDevice + box->dstY * box->dstPitch + box->dstXInBytes,
            box->WidthInBytes * box->Height);
}

static void put_copy_3d(const struct call *c, CUstream stream, bool blocking,
                        const CUDA_MEMCPY3D *box)
{
    put_box(c, stream, blocking, box->srcMemoryType,
            box->srcDevice + (box->srcZ * box->srcHeight + box->srcY) * box->srcPitch +
                box->srcXInBytes,
            box->dstMemoryType,
            box->dstDevice + (box->dstZ * box->dstHeight + box->dstY) * box->dstPitch +
                box->dstXInBytes,
            box->WidthInBytes * box->Height * box->Depth);
}

static void put_copies(const struct call *c, CUstream stream, const CUdeviceptr *from,
                       const CUdeviceptr *to, const size_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_copy(c, RAW_copy, stream, false, from[i], to[i], bytes[i]);
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

/* ---- what is known of kernels ---- */

/* The arguments of a kernel that have room for an address. Never freed: threads read without a
 * lock. Those whose place another one has hang in `replaced`. */
struct kernel {
    struct kernel *next;
    uint64_t function;
    _Atomic uint64_t loads; /* as `loads` below, when the driver said it */
    unsigned count;
    struct argument {
        uint16_t index, bytes;
    } arguments[];
};

/* By handle; a place is taken once, and has another kernel only after code was unloaded. */
static _Atomic(struct kernel *) kernels[KERNELS];
static _Atomic(struct kernel *) replaced;
/* Changes when code is unloaded: any handle of a kernel may then be another's. */
static _Atomic uint64_t loads;

/* A function's handle may be that of a kernel of a library, which the runtime launches without
 * asking for the function. Returns false after the last argument. */
static bool argument_bytes(CUfunction function, size_t i, size_t *bytes)
{
    size_t offset;
    if (api.parameter && api.parameter(function, i, &offset, bytes) == CUDA_SUCCESS)
        return true;
    return api.kernel_parameter &&
           api.kernel_parameter((CUkernel)function, i, &offset, bytes) == CUDA_SUCCESS;
}

static struct kernel *ask_kernel(CUfunction function, uint64_t load)
{
    struct argument found[PARAMETERS_MOST];
    unsigned count = 0;
    size_t bytes;
    for (unsigned i = 0; i < PARAMETERS_MOST && argument_bytes(function, i, &bytes); i++)
        if (bytes >= sizeof(uint64_t) && bytes <= UINT16_MAX)
            found[count++] = (struct argument){(uint16_t)i, (uint16_t)bytes};
    struct kernel *kernel = malloc(sizeof *kernel + count * sizeof *found);
    if (!kernel)
        return NULL;
    kernel->function = HANDLE(function);
    atomic_init(&kernel->loads, load);
    kernel->count = count;
    memcpy(kernel->arguments, found, count * sizeof *found);
    return kernel;
}

/* Puts what the driver said in its place. A kernel that code unloaded elsewhere left as it was
 * keeps its entry. */
static struct kernel *keep_kernel(_Atomic(struct kernel *) *place, struct kernel *old,
                                  struct kernel *kernel)
{
    if (old && old->function == kernel->function && old->count == kernel->count &&
        memcmp(old->arguments, kernel->arguments, old->count * sizeof *old->arguments) == 0) {
        atomic_store(&old->loads, atomic_load(&kernel->loads));
        free(kernel);
        return old;
    }
    /* Another thread may have been first: what it found stays, and what this one found is only read
     * now. */
    struct kernel *out = atomic_compare_exchange_strong(place, &old, kernel) ? old : kernel;
    if (out) {
        out->next = atomic_load(&replaced);
        while (!atomic_compare_exchange_weak(&replaced, &out->next, out))
            ;
    }
    return kernel;
}

static struct kernel *find_kernel(CUfunction function)
{
    const uint64_t handle = HANDLE(function), load = atomic_load(&loads);
    _Atomic(struct kernel *) *place = NULL;
    struct kernel *old = NULL;
    for (uint64_t i = 0, at = (handle >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40; i < PROBES; i++) {
        place = &kernels[(at + i) % KERNELS];
        old = atomic_load_explicit(place, memory_order_acquire);
        if (!old || old->function == handle)
            break;
    }
    if (old && old->function == handle &&
        atomic_load_explicit(&old->loads, memory_order_relaxed) == load)
        return old;
    struct kernel *kernel = ask_kernel(function, load);
    return kernel ? keep_kernel(place, old, kernel) : NULL;
}

static void forget_kernels(void)
{
    atomic_fetch_add(&loads, 1);
}

static void put_launch(const struct call *c, CUstream stream, CUfunction function, void **arguments,
                       void **extra)
{
    const uint64_t kernel = HANDLE(function);
    struct addresses found = {.low = atomic_load(&lowest), .high = atomic_load(&highest)};
    const struct kernel *known = arguments ? find_kernel(function) : NULL;
    /* After code was unloaded the handle is described again. */
    if (recorder_is_new(kernel ^ atomic_load(&loads) << 56))
        recorder_text(RAW_kernel, kernel, c->begin, c->data->symbolName ? c->data->symbolName : "");
    for (unsigned i = 0; known && i < known->count; i++)
        find_addresses(&found, arguments[known->arguments[i].index], known->arguments[i].bytes);
    /* Or all arguments stand in one buffer. */
    const void *buffer = NULL;
    size_t bytes = 0;
    for (; !arguments && extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *(const size_t *)extra[1];
    }
    if (buffer)
        find_addresses(&found, buffer, bytes);
    put_command(c, RAW_launch, stream, 0, kernel, 0, found.words, found.count, 0, 0);
}

static void put_record(const struct call *c, CUstream stream, CUevent event)
{
    put_command(c, RAW_marker, stream, 0, 0, 0, NULL, 0, HANDLE(event), 0);
}

static void put_node(CUgraphNodeType type)
{
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        recorder_unseen("cuGraphAddNode of memory");
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

/* X(call, action): `p` is the call's parameters, `c` the call. Calls whose names end in _ptsz or
 * _ptds have a default stream of the thread's own. Calls of memory also count if they fail. */
#define BOTH(X, call, suffix, ...) X(call, __VA_ARGS__) X(call##suffix, __VA_ARGS__)
#define MEMORY_CALLS(X)                                                                            \
    X(cuMemAlloc_v2, put_block(c, *p->dptr, p->bytesize, MEMORY_DEVICE, 0))                        \
    X(cuMemAllocPitch_v2, put_block(c, *p->dptr, *p->pPitch * p->Height, MEMORY_DEVICE, 0))        \
    X(cuMemAllocManaged, put_block(c, *p->dptr, p->bytesize, MEMORY_MANAGED, 0))                   \
    X(cuMemAllocHost_v2, put_block(c, HANDLE(*p->pp), p->bytesize, MEMORY_PINNED, 0))              \
    X(cuMemHostAlloc, put_block(c, HANDLE(*p->pp), p->bytesize, MEMORY_PINNED, 0))                 \
    X(cuMemHostAlloc_v2, put_block(c, HANDLE(*p->pp), p->bytesize, MEMORY_PINNED, 0))              \
    BOTH(X, cuMemAllocAsync, _ptsz, put_block_on(c, *p->dptr, p->bytesize, p->hStream))            \
    BOTH(X, cuMemAllocFromPoolAsync, _ptsz, put_block_on(c, *p->dptr, p->bytesize, p->hStream))    \
    X(cuMemMap, put_block(c, p->ptr, p->size, MEMORY_DEVICE, 0))

#define COPY_CALLS(X)                                                                              \
    BOTH(X, cuMemcpy, _ptds, put_copy(c, RAW_copy, 0, true, p->src, p->dst, p->ByteCount))         \
    BOTH(X, cuMemcpyAsync, _ptsz,                                                                  \
         put_copy(c, RAW_copy, p->hStream, false, p->src, p->dst, p->ByteCount))                   \
    BOTH(X, cuMemcpyHtoD_v2, _ptds,                                                                \
         put_copy(c, RAW_write, 0, true, 0, p->dstDevice, p->ByteCount))                           \
    BOTH(X, cuMemcpyDtoH_v2, _ptds, put_copy(c, RAW_read, 0, true, p->srcDevice, 0, p->ByteCount)) \
    BOTH(X, cuMemcpyDtoD_v2, _ptds,                                                                \
         put_copy(c, RAW_copy, 0, false, p->srcDevice, p->dstDevice, p->ByteCount))                \
    BOTH(X, cuMemcpyHtoDAsync_v2, _ptsz,                                                           \
         put_copy(c, RAW_write, p->hStream, false, 0, p->dstDevice, p->ByteCount))                 \
    BOTH(X, cuMemcpyDtoHAsync_v2, _ptsz,                                                           \
         put_copy(c, RAW_read, p->hStream, false, p->srcDevice, 0, p->ByteCount))                  \
    BOTH(X, cuMemcpyDtoDAsync_v2, _ptsz,                                                           \
         put_copy(c, RAW_copy, p->hStream, false, p->srcDevice, p->dstDevice, p->ByteCount))       \
    BOTH(X, cuMemcpyPeer, _ptds,                                                                   \
         put_copy(c, RAW_copy, 0, false, p->srcDevice, p->dstDevice, p->ByteCount))                \
    BOTH(X, cuMemcpyPeerAsync, _ptsz,                                                              \
         put_copy(c, RAW_copy, p->hStream, false, p->srcDevice, p->dstDevice, p->ByteCount))       \
    BOTH(X, cuMemcpy2D_v2, _ptds, put_copy_2d(c, 0, true, p->pCopy))                               \
    BOTH(X, cuMemcpy2DUnaligned_v2, _ptds, put_copy_2d(c, 0, true, p->pCopy))                      \
    BOTH(X, cuMemcpy2DAsync_v2, _ptsz, put_copy_2d(c, p->hStream, false, p->pCopy))                \
    BOTH(X, cuMemcpy3D_v2, _ptds, put_copy_3d(c, 0, true, p->pCopy))                               \
    BOTH(X, cuMemcpy3DAsync_v2, _ptsz, put_copy_3d(c, p->hStream, false, p->pCopy))                \
    BOTH(X, cuMemsetD8_v2, _ptds, put_fill(c, 0, p->dstDevice, p->N))                              \
    BOTH(X, cuMemsetD16_v2, _ptds, put_fill(c, 0, p->dstDevice, 2 * p->N))                         \
    BOTH(X, cuMemsetD32_v2, _ptds, put_fill(c, 0, p->dstDevice, 4 * p->N))                         \
    BOTH(X, cuMemsetD8Async, _ptsz, put_fill(c, p->hStream, p->dstDevice, p->N))                   \
    BOTH(X, cuMemsetD16Async, _ptsz, put_fill(c, p->hStream, p->dstDevice, 2 * p->N))              \
    BOTH(X, cuMemsetD32Async, _ptsz, put_fill(c, p->hStream, p->dstDevice, 4 * p->N))              \
    BOTH(X, cuMemsetD2D8_v2, _ptds, put_fill(c, 0, p->dstDevice, p->Width * p->Height))            \
    BOTH(X, cuMemsetD2D16_v2, _ptds, put_fill(c, 0, p->dstDevice, 2 * p->Width * p->Height))       \
    BOTH(X, cuMemsetD2D32_v2, _ptds, put_fill(c, 0, p->dstDevice, 4 * p->Width * p->Height))       \
    BOTH(X, cuMemsetD2D8Async, _ptsz, put_fill(c, p->hStream, p->dstDevice, p->Width * p->Height)) \
    BOTH(X, cuMemsetD2D16Async, _ptsz,                                                             \
         put_fill(c, p->hStream, p->dstDevice, 2 * p->Width * p->Height))                          \
    BOTH(X, cuMemsetD2D32Async, _ptsz,                                                             \
         put_fill(c, p->hStream, p->dstDevice, 4 * p->Width * p->Height))

#define OTHER_CALLS(X)                                                                             \
    X(cuMemFree_v2, put_free(c, p->dptr, 0, 0))                                                    \
    X(cuMemFreeHost, put_free(c, HANDLE(p->p), 0, 0))                                              \
    BOTH(X, cuMemFreeAsync, _ptsz, put_free_on(c, p->dptr, p->hStream))                            \
    X(cuMemUnmap, put_free(c, p->ptr, 0, p->size))                                                 \
    BOTH(X, cuLaunchKernel, _ptsz, put_launch(c, p->hStream, p->f, p->kernelParams, p->extra))     \
    BOTH(X, cuLaunchKernelEx, _ptsz,                                                               \
         put_launch(c, p->config->hStream, p->f, p->kernelParams, p->extra))                       \
    BOTH(X, cuLaunchCooperativeKernel, _ptsz,                                                      \
         put_launch(c, p->hStream, p->f, p->kernelParams, NULL))                                   \
    X(cuModuleUnload, forget_kernels())                                                            \
    X(cuLibraryUnload, forget_kernels())                                                           \
    X(cuStreamCreate, put_stream(c, HANDLE(*p->phStream)))                                         \
    X(cuStreamCreateWithPriority, put_stream(c, HANDLE(*p->phStream)))                             \
    X(cuStreamDestroy_v2, put_release(c, HANDLE(p->hStream), RAW_CLASS_QUEUE))                     \
    X(cuEventDestroy_v2, put_release(c, HANDLE(p->hEvent), RAW_CLASS_EVENT))                       \
    BOTH(X, cuStreamSynchronize, _ptsz, put_wait(c, RAW_finish, stream_of(c, p->hStream), 0))      \
    BOTH(X, cuEventRecord, _ptsz, put_record(c, p->hStream, p->hEvent))                            \
    BOTH(X, cuEventRecordWithFlags, _ptsz, put_record(c, p->hStream, p->hEvent))                   \
    BOTH(X, cuStreamWaitEvent, _ptsz,                                                              \
         put_command(c, RAW_marker, p->hStream, RAW_COMMAND_BARRIER, 0, 0, NULL, 0, 0,             \
                     HANDLE(p->hEvent)))                                                           \
    X(cuEventSynchronize, put_wait(c, RAW_wait, 0, HANDLE(p->hEvent)))                             \
    BOTH(X, cuStreamBeginCapture, _ptsz, atomic_fetch_add(&captures, 1))                           \
    BOTH(X, cuStreamBeginCapture_v2, _ptsz, atomic_fetch_add(&captures, 1))                        \
    BOTH(X, cuStreamEndCapture, _ptsz, end_capture())

/* X(call): counted, not recorded. */
#define TWO(X, call) X(call) X(call##_ptsz)
#define UNSEEN_CALLS(X)                                                                            \
    TWO(X, cuGraphLaunch)                                                                          \
    X(cuGraphAddMemAllocNode)                                                                      \
    X(cuGraphAddMemFreeNode)                                                                       \
    X(cuLaunchCooperativeKernelMultiDevice)                                                        \
    TWO(X, cuLaunchHostFunc)                                                                       \
    TWO(X, cuStreamWaitValue32_v2)                                                                 \
    TWO(X, cuStreamWaitValue64_v2)                                                                 \
    TWO(X, cuStreamBatchMemOp_v2)                                                                  \
    TWO(X, cuStreamAttachMemAsync)                                                                 \
    TWO(X, cuMemcpy3DPeerAsync)                                                                    \
    X(cuMemcpy3DPeer)                                                                              \
    X(cuMemcpyDtoA_v2)                                                                             \
    X(cuMemcpyAtoD_v2)                                                                             \
    X(cuMemcpyHtoA_v2)                                                                             \
    X(cuMemcpyAtoH_v2)                                                                             \
    X(cuMemcpyAtoA_v2)                                                                             \
    TWO(X, cuMemcpyHtoAAsync_v2)                                                                   \
    TWO(X, cuMemcpyAtoHAsync_v2)                                                                   \
    X(cuArrayCreate_v2)                                                                            \
    X(cuArray3DCreate_v2)                                                                          \
    X(cuMipmappedArrayCreate)                                                                      \
    TWO(X, cuMemMapArrayAsync)                                                                     \
    X(cuIpcOpenMemHandle)                                                                          \
    X(cuIpcOpenMemHandle_v2)                                                                       \
    X(cuGraphicsResourceGetMappedPointer_v2)                                                       \
    X(cuExternalMemoryGetMappedMipmappedArray)                                                     \
    X(cuDeviceGraphMemTrim)                                                                        \
    X(cuExternalMemoryGetMappedBuffer)                                                             \
    X(cuMemImportFromShareableHandle)                                                              \
    X(cuMemPoolImportPointer)                                                                      \
    X(cuMemHostRegister_v2)                                                                        \
    TWO(X, cuMemPrefetchAsync)                                                                     \
    X(cuMemPoolTrimTo)                                                                             \
    X(cuCtxDestroy_v2)                                                                             \
    X(cuDevicePrimaryCtxReset_v2)

/* Calls that CUPTI's headers have from CUDA 13 on. */
#if CUPTI_API_VERSION >= 130000
#define LATER_CALLS(X)                                                                             \
    X(cuCtxSynchronize_v2, put_wait(c, RAW_finish, p->ctx ? HANDLE(p->ctx) : context_of(c), 0))    \
    BOTH(X, cuStreamBeginCaptureToGraph, _ptsz, atomic_fetch_add(&captures, 1))                    \
    X(cuGraphAddNode, put_node(p->nodeParams->type))                                               \
    X(cuGraphAddNode_v2, put_node(p->nodeParams->type))                                            \
    BOTH(X, cuMemcpyBatchAsync, _ptsz,                                                             \
         put_copies(c, p->hStream, p->srcs, p->dsts, p->sizes, p->count))                          \
    BOTH(X, cuMemcpyBatchAsync_v2, _ptsz,                                                          \
         put_copies(c, p->hStream, p->srcs, p->dsts, p->sizes, p->count))
#define LATER_UNSEEN_CALLS(X)                                                                      \
    TWO(X, cuMemcpy3DBatchAsync)                                                                   \
    TWO(X, cuMemcpy3DBatchAsync_v2)                                                                \
    TWO(X, cuMemPrefetchAsync_v2)                                                                  \
    TWO(X, cuMemPrefetchBatchAsync)                                                                \
    TWO(X, cuMemDiscardBatchAsync)                                                                 \
    TWO(X, cuMemDiscardAndPrefetchBatchAsync)                                                      \
    TWO(X, cuMemBatchDecompressAsync)
#else
#define LATER_CALLS(X)
#define LATER_UNSEEN_CALLS(X)
#endif

/* Whether a call's name says that its default stream is the thread's own. */
static inline bool is_per_thread(const char *name, size_t length)
{
    return length > 5 && name[length - 5] == '_' && name[length - 4] == 'p' &&
           name[length - 3] == 't';
}

static void ended(struct call *c, CUpti_CallbackId id)
{
    const bool ok = *(const CUresult *)c->data->functionReturnValue == CUDA_SUCCESS;
    switch (id) {
#define CASE(name, counts, ...)                                                                    \
    case CUPTI_DRIVER_TRACE_CBID_##name: {                                                         \
        const name##_params *p = c->data->functionParams;                                          \
        (void)p;                                                                                   \
        c->per_thread = is_per_thread(#name, sizeof #name - 1);                                    \
        if (counts) {                                                                              \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        break;                                                                                     \
    }
#define X(name, ...) CASE(name, true, __VA_ARGS__)
        MEMORY_CALLS(X)
#undef X
#define X(name, ...) CASE(name, ok, __VA_ARGS__)
        COPY_CALLS(X)
        OTHER_CALLS(X)
        LATER_CALLS(X)
#undef X
#define X(name)                                                                                    \
    case CUPTI_DRIVER_TRACE_CBID_##name:                                                           \
        recorder_unseen(#name);                                                                    \
        break;
        UNSEEN_CALLS(X)
        LATER_UNSEEN_CALLS(X)
#undef X
    case CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize: /* has no parameters */
        if (ok)
            put_wait(c, RAW_finish, context_of(c), 0);
        break;
    default:
        break;
    }
}

static struct {
    pid_t process;     /* a forked one must not call CUPTI: another thread's lock may be held */
    uint64_t period_s; /* GAMUT_RECORD_ASK_S [1], for tests */
    _Atomic uint64_t asked_s, phase_ticks; /* phase_ticks: from when on a phase asks */
} asking;

/* Without a flag CUPTI hands over times of commands that have ended. Phases that end ask in at most
 * a hundredth of the time. */
static void ask_for_times(uint32_t flag)
{
    if (getpid() != asking.process)
        return;
    const uint64_t begin = recorder_ticks();
    api.flush_activities(flag);
    const uint64_t end = recorder_ticks();
    atomic_store(&asking.phase_ticks, end + 100 * (end - begin));
}

static void ask_each_period(void)
{
    uint64_t now = (uint64_t)time(NULL), asked = atomic_load(&asking.asked_s);
    if (now - asked >= asking.period_s &&
        atomic_compare_exchange_strong(&asking.asked_s, &asked, now))
        ask_for_times(0);
}

static void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void *data)
{
    const CUpti_CallbackData *call = data;
    if (call->callbackSite == CUPTI_API_ENTER)
        *call->correlationData = recorder_ticks();
    else {
        ended(&(struct call){call, *call->correlationData, recorder_ticks(), false}, id);
        if (is_timed)
            ask_each_period();
    }
}

/* ---- times of the device ---- */

enum { ACTIVITY_BYTES = 1 << 20 };

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(8, ACTIVITY_BYTES);
    *size = *buffer ? ACTIVITY_BYTES : 0;
    *records = 0; /* as many as there is room for */
}

/* The clock of CUPTI and the recorder's, read at one moment. */
struct clocks {
    uint64_t cupti_ns, ticks;
};

static void put_ran(const struct clocks *now, uint32_t correlation, uint64_t begin, uint64_t end)
{
    const uint64_t words[] = {end - begin, 0, now->cupti_ns > end ? now->cupti_ns - end : 0};
    if (end > begin)
        recorder_put(RAW_ran, RAW_EVENT_CORRELATION | correlation, 0, now->ticks, now->ticks, words,
                     3);
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t used)
{
    CUpti_Activity *activity = NULL;
    struct clocks now = {.ticks = recorder_ticks()};
    if (!api.timestamp || api.timestamp(&now.cupti_ns) != CUPTI_SUCCESS)
        now.cupti_ns = 0;
    while (api.next_activity(buffer, used, &activity) == CUPTI_SUCCESS) {
        const CUpti_ActivityKernel10 *kernel = (const void *)activity;
        const CUpti_ActivityMemcpy6 *copy = (const void *)activity;
        const CUpti_ActivityMemset4 *fill = (const void *)activity;
        if (activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            put_ran(&now, kernel->correlationId, kernel->start, kernel->end);
        else if (activity->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
            put_ran(&now, copy->correlationId, copy->start, copy->end);
        else if (activity->kind == CUPTI_ACTIVITY_KIND_MEMSET)
            put_ran(&now, fill->correlationId, fill->start, fill->end);
    }
    free(buffer);
}

void record_cuda_phase_ended(void)
{
    if (is_timed && recorder_ticks() >= atomic_load(&asking.phase_ticks))
        ask_for_times(0);
}

static void end_times(void)
{
    ask_for_times(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

static void begin_times(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMSET};
    const char *period = getenv("GAMUT_RECORD_ASK_S");
    CUptiResult result = api.register_buffers(give_buffer, take_buffer);
    asking.process = getpid();
    asking.period_s = period ? strtoull(period, NULL, 10) : 1;
    asking.asked_s = (uint64_t)time(NULL);
    for (unsigned i = 0; result == CUPTI_SUCCESS && i < sizeof kinds / sizeof *kinds; i++)
        result = api.enable_activity(kinds[i]);
    is_timed = result == CUPTI_SUCCESS;
    if (is_timed)
        atexit(end_times); /* runs before the driver's own, which was loaded first */
    else
        fprintf(stderr,
                "gamut: the device's times are not recorded: CUPTI's activities: error %d\n",
                (int)result);
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
    *(void **)&api.register_buffers = dlsym(cupti, "cuptiActivityRegisterCallbacks");
    *(void **)&api.enable_activity = dlsym(cupti, "cuptiActivityEnable");
    *(void **)&api.next_activity = dlsym(cupti, "cuptiActivityGetNextRecord");
    *(void **)&api.flush_activities = dlsym(cupti, "cuptiActivityFlushAll");
    *(void **)&api.timestamp = dlsym(cupti, "cuptiGetTimestamp");
    *(void **)&api.parameter = dlsym(driver, "cuFuncGetParamInfo");
    *(void **)&api.kernel_parameter = dlsym(driver, "cuKernelGetParamInfo");
    *(void **)&api.is_capturing = dlsym(driver, "cuStreamIsCapturing");
    *(void **)&api.context_device = dlsym(driver, "cuCtxGetDevice");
    *(void **)&api.device_name = dlsym(driver, "cuDeviceGetName");
    *(void **)&api.device_bytes = dlsym(driver, "cuDeviceTotalMem_v2");
    return api.subscribe && api.enable && api.error_name && api.register_buffers &&
           api.enable_activity && api.next_activity && api.flush_activities && api.context_device &&
           api.device_name && api.device_bytes;
}

static void enable_all(CUpti_SubscriberHandle subscriber)
{
#define X(name, ...)                                                                               \
    api.enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name);
    MEMORY_CALLS(X)
    COPY_CALLS(X)
    OTHER_CALLS(X)
    LATER_CALLS(X)
#undef X
#define X(name)                                                                                    \
    api.enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name);
    UNSEEN_CALLS(X)
    LATER_UNSEEN_CALLS(X)
    X(cuCtxSynchronize)
#undef X
}

/* The driver calls this in cuInit; 1: all is well. A failure must not end the application. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    static atomic_flag has_begun = ATOMIC_FLAG_INIT; /* NVIDIA's OpenCL driver calls this too */
    void *cupti = open_cupti(), *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CUpti_SubscriberHandle subscriber;
    if (!recorder_open("CUDA", "cupti") || atomic_flag_test_and_set(&has_begun))
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
    if (recorder_wants("times"))
        begin_times();
    return 1;
}
