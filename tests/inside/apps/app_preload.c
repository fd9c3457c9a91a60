/* A CUDA program that knows nothing of gamut, on the driver of fake_cuda.c: app_preload [dlsym]
 * CASE [NUMBER...]. It asks dlsym for cuGetProcAddress_v2 and that for the rest, as the CUDA
 * runtime does; with `dlsym` it asks dlsym for all. Compiled with LINKED it is linked to the
 * driver. The driver ends it where a command finds the bytes of another block. */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"

#undef cuMemAllocAsync
#undef cuMemFreeAsync
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t bytes, CUstream stream);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);

/* X(symbol, name, flags) */
#define CUDA_LIST(X)                                                                               \
    X(cuInit, "cuInit", 0)                                                                         \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 0)                                     \
    X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 0)                                    \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", 0)                                                       \
    X(cuCtxSynchronize, "cuCtxSynchronize", 0)                                                     \
    X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", 0)                                           \
    X(cuStreamCreate, "cuStreamCreate", 0)                                                         \
    X(cuStreamWaitEvent, "cuStreamWaitEvent", 0)                                                   \
    X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 0)                                          \
    X(cuStreamEndCapture, "cuStreamEndCapture", 0)                                                 \
    X(cuEventCreate, "cuEventCreate", 0)                                                           \
    X(cuEventRecord, "cuEventRecord", 0)                                                           \
    X(cuMemsetD8Async, "cuMemsetD8Async", 0)                                                       \
    X(cuMemAlloc_v2, "cuMemAlloc", 0)                                                              \
    X(cuMemFree_v2, "cuMemFree", 0)                                                                \
    X(cuMemAllocAsync, "cuMemAllocAsync", 0)                                                       \
    X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 2)                                                  \
    X(cuMemFreeAsync, "cuMemFreeAsync", 0)                                                         \
    X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 2)                                                    \
    X(cuMemAllocPitch_v2, "cuMemAllocPitch", 0)                                                    \
    X(cuMemAllocManaged, "cuMemAllocManaged", 0)                                                   \
    X(cuMemGetAddressRange_v2, "cuMemGetAddressRange", 0)                                          \
    X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 0)                               \
    X(cuMemPoolSetAccess, "cuMemPoolSetAccess", 0)                                                 \
    X(cuDeviceSetMemPool, "cuDeviceSetMemPool", 0)                                                 \
    X(cuPointerGetAttribute, "cuPointerGetAttribute", 0)                                           \
    X(cuPointerGetAttributes, "cuPointerGetAttributes", 0)                                         \
    X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 0)
/* Functions of the tests alone. */
#define FAKE_LIST(X)                                                                               \
    X(fake_check)                                                                                  \
    X(fake_other_context)                                                                          \
    X(fake_next)

typedef CUresult find_function(const char *name, void **function, int version, cuuint64_t flags,
                               CUdriverProcAddressQueryResult *found);

static struct {
#define X(symbol, name, flags) __typeof__(symbol) *symbol;
    CUDA_LIST(X)
#undef X
#define X(symbol) __typeof__(symbol) *symbol;
    FAKE_LIST(X)
#undef X
} cu;
static void *library;
static find_function *find;

#define ASK(call)                                                                                  \
    do {                                                                                           \
        if ((call) != CUDA_SUCCESS)                                                                \
            fail(#call, __LINE__);                                                                 \
    } while (0)
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(#condition, __LINE__);                                                            \
    } while (0)

static _Noreturn void fail(const char *what, int line)
{
    fprintf(stderr, "app_preload: line %d: failed: %s\n", line, what);
    exit(1);
}

static void load(bool by_dlsym)
{
#ifdef LINKED
    (void)by_dlsym;
#define X(symbol, name, flags) cu.symbol = symbol;
    CUDA_LIST(X)
#undef X
#define X(symbol) cu.symbol = symbol;
    FAKE_LIST(X)
#undef X
#else
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    EXPECT(library);
    *(void **)&find = dlsym(library, "cuGetProcAddress_v2");
    EXPECT(find);
#define X(symbol, name, flags)                                                                     \
    if (by_dlsym)                                                                                  \
        *(void **)&cu.symbol = dlsym(library, #symbol);                                            \
    else                                                                                           \
        ASK(find(name, (void **)&cu.symbol, CUDA_VERSION, flags, NULL));                           \
    EXPECT(cu.symbol);
    CUDA_LIST(X)
#undef X
#define X(symbol) *(void **)&cu.symbol = dlsym(library, #symbol);
    FAKE_LIST(X)
#undef X
#endif
}

enum { STREAMS_MOST = 8, KIB = 1024, MIB = 1 << 20 };
static CUcontext contexts[2];
static CUstream streams[STREAMS_MOST];

static void start(unsigned count)
{
    ASK(cu.cuInit(0));
    for (int d = 0; d < 2; d++)
        ASK(cu.cuDevicePrimaryCtxRetain(&contexts[d], d));
    ASK(cu.cuCtxSetCurrent(contexts[0]));
    for (unsigned i = 0; i < count; i++)
        ASK(cu.cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
}

static CUdeviceptr block_of(size_t bytes)
{
    CUdeviceptr block = 0;
    ASK(cu.cuMemAlloc_v2(&block, bytes));
    EXPECT(block);
    return block;
}

static CUdeviceptr block_in(size_t bytes, CUstream stream)
{
    CUdeviceptr block = 0;
    ASK(cu.cuMemAllocAsync(&block, bytes, stream));
    EXPECT(block);
    return block;
}

/* ---- blocks and streams ---- */

/* A freed block is the next one of its stream, before its commands are done. */
static void case_order(void)
{
    start(1);
    for (unsigned i = 0; i < 100; i++) {
        const CUdeviceptr block = block_in(MIB, streams[0]);
        ASK(cu.cuMemsetD8Async(block, (unsigned char)i, MIB, streams[0]));
        cu.fake_check(streams[0], block, MIB, (unsigned char)i);
        ASK(cu.cuMemFreeAsync(block, streams[0]));
    }
    ASK(cu.cuCtxSynchronize());
}

/* Blocks of no stream are used on any, while commands that used their memory before are queued on
 * others. */
static void case_any(void)
{
    start(2);
    for (unsigned i = 0; i < 200; i++) {
        const unsigned char value = (unsigned char)(i + 1);
        const CUdeviceptr first = block_of(64 * KIB);
        for (unsigned k = 0; k < 4; k++) {
            ASK(cu.cuMemsetD8Async(first, value, 64 * KIB, streams[i % 2]));
            cu.fake_check(streams[i % 2], first, 64 * KIB, value);
        }
        ASK(cu.cuMemFree_v2(first));
        /* In the order of the default stream, which the others do not wait for. */
        const CUdeviceptr second = block_in(64 * KIB, i % 3 ? NULL : CU_STREAM_LEGACY);
        for (unsigned k = 0; k < 4; k++) {
            ASK(cu.cuMemsetD8Async(second, 255, 64 * KIB, NULL));
            cu.fake_check(NULL, second, 64 * KIB, 255);
        }
        ASK(cu.cuMemFreeAsync(second, i % 5 ? NULL : CU_STREAM_LEGACY));
    }
    ASK(cu.cuCtxSynchronize());
}

/* A block is freed on another stream, which still uses it. */
static void case_elsewhere(void)
{
    CUevent filled;
    start(2);
    ASK(cu.cuEventCreate(&filled, CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < 100; i++) {
        const unsigned char value = (unsigned char)(i + 1);
        const CUdeviceptr block = i % 2 ? block_in(64 * KIB, streams[0]) : block_of(64 * KIB);
        ASK(cu.cuMemsetD8Async(block, value, 64 * KIB, streams[0]));
        ASK(cu.cuEventRecord(filled, streams[0]));
        ASK(cu.cuStreamWaitEvent(streams[1], filled, 0));
        for (unsigned k = 0; k < 8; k++)
            cu.fake_check(streams[1], block, 64 * KIB, value);
        ASK(cu.cuMemFreeAsync(block, streams[1]));
        const CUdeviceptr next = i % 2 ? block_in(64 * KIB, streams[0]) : block_of(64 * KIB);
        ASK(cu.cuMemsetD8Async(next, 255, 64 * KIB, streams[0]));
        ASK(cu.cuMemFree_v2(next));
    }
    ASK(cu.cuCtxSynchronize());
}

static void case_frees(void)
{
    CUdeviceptr block = 0;
    start(1);
    ASK(cu.cuMemFree_v2(0));
    EXPECT(cu.cuMemAlloc_v2(&block, (size_t)1 << 50) == CUDA_ERROR_OUT_OF_MEMORY);
    /* The other device's block is freed in this one's context. */
    ASK(cu.cuCtxSetCurrent(contexts[1]));
    block = block_of(MIB);
    ASK(cu.cuMemsetD8Async(block, 3, MIB, streams[0]));
    ASK(cu.cuCtxSetCurrent(contexts[0]));
    ASK(cu.cuMemFree_v2(block));
    /* A wait for the device ends a capture, and the block lives on. */
    CUgraph graph;
    block = block_of(MIB);
    ASK(cu.cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(cu.cuMemFree_v2(block) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT(cu.cuMemFreeAsync(block, streams[0]) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cu.cuStreamEndCapture(streams[0], &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    ASK(cu.cuMemsetD8Async(block, 3, MIB, streams[0]));
    ASK(cu.cuMemFree_v2(block));
}

/* ---- what is not served, or refused ---- */

static void case_ranges(void)
{
    CUdeviceptr base = 0, start_address = 0;
    size_t bytes = 0, range = 0;
    int device = -1;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *data[] = {&start_address, &device, &range};
    CUipcMemHandle ipc;
    CUmemGenericAllocationHandle handle;
    start(0);
    const CUdeviceptr first = block_of(5000), second = block_of(7000);
    ASK(cu.cuMemGetAddressRange_v2(&base, &bytes, second + 6999));
    EXPECT(base == second && bytes == 7000);
    ASK(cu.cuMemGetAddressRange_v2(&base, NULL, first));
    EXPECT(base == first);
    ASK(cu.cuPointerGetAttribute(&base, which[0], second + 1));
    ASK(cu.cuPointerGetAttribute(&bytes, which[2], first + 1));
    EXPECT(base == second && bytes == 5000);
    ASK(cu.cuPointerGetAttributes(3, which, data, second + 512));
    EXPECT(start_address == second && device == 0 && range == 7000);
    EXPECT(cu.cuIpcGetMemHandle(&ipc, second) == CUDA_ERROR_NOT_SUPPORTED);
    EXPECT(cu.cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)second) ==
           CUDA_ERROR_NOT_SUPPORTED);
    ASK(cu.cuMemFree_v2(first));
    ASK(cu.cuMemFree_v2(second));
}

static void case_passed(void)
{
    CUdeviceptr block = 0;
    size_t pitch;
    CUgraph graph;
    CUipcMemHandle ipc;
    start(1);
    ASK(cu.cuMemAllocPitch_v2(&block, &pitch, 100, 100, 4));
    ASK(cu.cuIpcGetMemHandle(&ipc, block));
    ASK(cu.cuMemFree_v2(block));
    ASK(cu.cuMemAllocManaged(&block, KIB, 1));
    ASK(cu.cuMemFree_v2(block));
    ASK(cu.cuMemAllocAsync_ptsz(&block, KIB, NULL));
    ASK(cu.cuMemFreeAsync_ptsz(block, NULL));
    block = block_of(KIB); /* served, and freed on the thread's stream */
    ASK(cu.cuMemsetD8Async(block, 1, KIB, CU_STREAM_PER_THREAD));
    ASK(cu.cuMemFreeAsync_ptsz(block, NULL));
    ASK(cu.cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    block = block_in(KIB, streams[0]);
    ASK(cu.cuMemFreeAsync(block, streams[0]));
    ASK(cu.cuStreamEndCapture(streams[0], &graph));
    ASK(cu.cuCtxSetCurrent(cu.fake_other_context(0)));
    block = block_of(KIB);
    ASK(cu.cuMemFree_v2(block));
    ASK(cu.cuCtxSetCurrent(contexts[0]));
}

static void case_own_pool(void)
{
    start(1);
    const CUdeviceptr block = block_in(KIB, streams[0]);
    EXPECT(cu.cuMemPoolSetAccess(NULL, NULL, 0) == CUDA_ERROR_NOT_SUPPORTED);
    ASK(cu.cuMemFreeAsync(block_in(KIB, streams[0]), streams[0]));
    ASK(cu.cuMemFreeAsync(block, streams[0]));
    ASK(cu.cuMemPoolSetAccess(NULL, NULL, 0));
    ASK(cu.cuDeviceSetMemPool(0, NULL));
    ASK(cu.cuMemFree_v2(block_of(KIB)));
}

/* app_preload peers: prints what the driver says, with a block that lives. */
static void case_peers(void)
{
    start(0);
    const CUdeviceptr block = block_of(KIB);
    printf("%d\n", cu.cuCtxEnablePeerAccess(contexts[1], 0));
    ASK(cu.cuMemFree_v2(block));
    ASK(cu.cuMemFree_v2(block_of(KIB)));
}

static void case_reset(void)
{
    start(1);
    ASK(cu.cuMemFree_v2(block_of(KIB)));
    block_of(KIB);
    block_in(KIB, streams[0]);
    ASK(cu.cuDevicePrimaryCtxReset_v2(0));
    ASK(cu.cuDevicePrimaryCtxReset_v2(0));
    const CUdeviceptr block = block_of(MIB);
    ASK(cu.cuMemsetD8Async(block, 1, MIB, streams[0]));
    ASK(cu.cuMemFree_v2(block));
    ASK(cu.cuCtxSetCurrent(contexts[1]));
    ASK(cu.cuMemFree_v2(block_of(KIB)));
}

/* Blocks that were served before are taken back. */
static void case_unknown(void)
{
    void *beyond = NULL;
    start(0);
    const CUdeviceptr block = block_of(KIB);
    if (library) {
        ASK(find("cuMemAllocBeyond", &beyond, CUDA_VERSION, 0, NULL));
        EXPECT(find("cuMemAllocNever", &beyond, CUDA_VERSION, 0, NULL));
    } else {
        void *handle = dlopen("libcuda.so.1", RTLD_NOW);
        EXPECT(dlsym(handle, "cuMemAllocBeyond"));
    }
    ASK(cu.cuMemFree_v2(block));
    ASK(cu.cuMemFree_v2(block_of(KIB)));
}

static void case_later(void)
{
    CUresult (*later)(CUdeviceptr * address, size_t bytes) = NULL;
    CUdeviceptr block = 0;
    start(0);
    if (!find)
        *(void **)&find = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
    ASK(find("cuMemAlloc", (void **)&later, CUDA_VERSION + 10, 0, NULL));
    ASK(later(&block, KIB));
    ASK(cu.cuMemFree_v2(block));
}

/* RTLD_NEXT depends on who calls. */
static void case_next(void)
{
    EXPECT(cu.fake_next("getpid"));
    EXPECT(!cu.fake_next("cuInit"));
    EXPECT(!dlsym(library ? library : RTLD_DEFAULT, "cuNothing"));
    EXPECT(dlerror());
}

/* ---- threads and chance ---- */

enum { OWN_MOST = 24 };
struct own {
    CUdeviceptr block;
    size_t bytes;
    CUstream stream;
    unsigned char value;
    bool is_async;
};
struct thread {
    unsigned number, operations;
    uint64_t seed;
};

static uint64_t chance(struct thread *t)
{
    t->seed ^= t->seed << 13;
    t->seed ^= t->seed >> 7;
    return t->seed ^= t->seed << 17;
}

static void end_own(struct thread *t, struct own *own)
{
    if (!own->block)
        return;
    cu.fake_check(own->stream, own->block, own->bytes, own->value);
    if (chance(t) % 2 && own->is_async)
        ASK(cu.cuMemFreeAsync(own->block, own->stream));
    else if (chance(t) % 2 && !own->is_async)
        ASK(cu.cuMemFreeAsync(own->block, own->stream));
    else
        ASK(cu.cuMemFree_v2(own->block));
    own->block = 0;
}

/* In a process that is forked off while other threads are in the library, the driver answers. */
static void fork_off(CUdeviceptr block)
{
    int status = -1;
    const pid_t process = fork();
    if (!process) {
        alarm(20);
        _exit(cu.cuMemFree_v2(block) != CUDA_ERROR_NOT_INITIALIZED);
    }
    EXPECT(process > 0 && waitpid(process, &status, 0) == process && status == 0);
}

static void *churn(void *argument)
{
    struct thread *t = argument;
    struct own owns[OWN_MOST] = {{0}};
    ASK(cu.cuCtxSetCurrent(contexts[t->number % 2]));
    for (unsigned i = 0; i < t->operations; i++) {
        struct own *own = &owns[chance(t) % OWN_MOST];
        end_own(t, own);
        *own = (struct own){.bytes = 1 + chance(t) % (chance(t) % 8 ? 8 * KIB : 512 * KIB),
                            .stream = streams[chance(t) % 4],
                            .value = (unsigned char)chance(t),
                            .is_async = chance(t) % 2};
        const CUresult result = own->is_async
                                    ? cu.cuMemAllocAsync(&own->block, own->bytes, own->stream)
                                    : cu.cuMemAlloc_v2(&own->block, own->bytes);
        EXPECT(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
        if (result)
            own->block = 0;
        else
            ASK(cu.cuMemsetD8Async(own->block, own->value, own->bytes, own->stream));
        CUdeviceptr base = 0;
        if (own->block)
            ASK(cu.cuMemGetAddressRange_v2(&base, NULL, own->block + own->bytes - 1));
        EXPECT(base == own->block);
        if (own->block && chance(t) % 64 == 0)
            fork_off(own->block);
    }
    for (unsigned i = 0; i < OWN_MOST; i++)
        end_own(t, &owns[i]);
    return NULL;
}

/* stress THREADS OPERATIONS SEED */
static void stress(unsigned threads, unsigned operations, unsigned seed)
{
    pthread_t handles[64];
    struct thread each[64];
    start(4);
    for (unsigned i = 0; i < threads; i++) {
        each[i] = (struct thread){i, operations, (seed * 64 + i + 1) * 0x9e3779b9u};
        EXPECT(!pthread_create(&handles[i], NULL, churn, &each[i]));
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    ASK(cu.cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"order", case_order},       {"any", case_any},       {"elsewhere", case_elsewhere},
        {"frees", case_frees},       {"ranges", case_ranges}, {"passed", case_passed},
        {"own_pool", case_own_pool}, {"peers", case_peers},   {"reset", case_reset},
        {"unknown", case_unknown},   {"later", case_later},   {"next", case_next}};
    const bool by_dlsym = argc > 1 && strcmp(argv[1], "dlsym") == 0;
    const char *name = argc > 1 + by_dlsym ? argv[1 + by_dlsym] : "";
    load(by_dlsym);
    if (strcmp(name, "stress") == 0 && argc > 4 + by_dlsym) {
        char **numbers = argv + 2 + by_dlsym;
        stress((unsigned)atoi(numbers[0]), (unsigned)atoi(numbers[1]), (unsigned)atoi(numbers[2]));
        return 0;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "app_preload: there is no case '%s'\n", name);
    return 2;
}
