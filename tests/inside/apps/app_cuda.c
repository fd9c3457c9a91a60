/* A program of CUDA for the driver of fake_cuda.c: app_cuda
 * [threads|fork|kill|leave|phases|idle|kernels]. What it does is counted in
 * tests/inside/test_record_cuda.sh. */
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"

#define ASK(call)                                                                                  \
    do {                                                                                           \
        if ((call) != CUDA_SUCCESS) {                                                              \
            fprintf(stderr, "app_cuda: %s\n", #call);                                              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* The per-thread variant has no prototype of its own. */
CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);

static CUcontext context[2];

static CUfunction load(CUmodule *module, const char *image, const char *name)
{
    CUfunction function;
    ASK(cuModuleLoadData(module, image));
    ASK(cuModuleGetFunction(&function, *module, name));
    return function;
}

static void launch(CUfunction function, CUstream stream, void **arguments, void **extra)
{
    ASK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, extra));
}

/* 100 + 10 + 1 + 1 + 5 launches. */
static void launches(CUdeviceptr a, CUdeviceptr b)
{
    CUmodule module, other;
    CUdeviceptr inside = b + 500;
    uint32_t number = 7;
    CUfunction f = load(&module, "add 8 8 4", "add");
    for (int i = 0; i < 100; i++)
        launch(f, 0, (void *[]){&a, &inside, &number}, NULL);
    /* Another kernel gets its handle. */
    ASK(cuModuleUnload(module));
    CUfunction g = load(&module, "scale 4 8", "scale");
    if (f != g)
        exit(1);
    for (int i = 0; i < 10; i++)
        launch(g, 0, (void *[]){&number, &a}, NULL);
    struct {
        CUdeviceptr from;
        double factor;
        CUdeviceptr to;
    } both = {a, 0.5, b};
    launch(load(&other, "both 24", "both"), 0, (void *[]){&both}, NULL);
    size_t bytes = sizeof a;
    launch(g, 0, NULL,
           (void *[]){CU_LAUNCH_PARAM_BUFFER_POINTER, &a, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END});
    f = load(&other, "*library 8", "library");
    for (int i = 0; i < 5; i++)
        launch(f, 0, (void *[]){&b}, NULL);
}

static void copies(CUdeviceptr a, CUdeviceptr b, CUstream first, CUstream second)
{
    char host[100] = "";
    ASK(cuMemsetD8Async(a, 1, 1000, first));
    ASK(cuMemcpyHtoD_v2(b, host, sizeof host));
    ASK(cuMemcpyDtoHAsync_v2(host, a, sizeof host, second));
    ASK(cuMemcpyAsync(b, a, 1000, first));
    ASK(cuMemcpyAsync_ptsz(b, a, 10, 0));
    const CUDA_MEMCPY2D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = a,
                               .srcPitch = 100,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = b,
                               .dstPitch = 200,
                               .dstY = 1,
                               .WidthInBytes = 64,
                               .Height = 5};
    ASK(cuMemcpy2D_v2(&box));
    CUevent event, unused;
    ASK(cuEventCreate(&event, 0));
    ASK(cuEventRecord(event, first));
    ASK(cuStreamWaitEvent(second, event, 0));
    ASK(cuMemsetD8Async(b, 2, 11, second));
    ASK(cuEventSynchronize(event));
    ASK(cuEventDestroy_v2(event));
    ASK(cuEventCreate(&unused, 0));
    ASK(cuEventDestroy_v2(unused));
}

/* The second block has the first one's address, before the host knows that the first is done. */
static void in_order(CUstream stream, CUstream other)
{
    CUdeviceptr c, d;
    ASK(cuMemAllocAsync(&c, 4096, stream));
    ASK(cuMemsetD8Async(c, 3, 4096, stream));
    ASK(cuMemFreeAsync(c, stream));
    ASK(cuMemAllocAsync(&d, 4096, stream));
    ASK(cuMemsetD8Async(d, 4, 4096, stream));
    ASK(cuStreamSynchronize(stream));
    ASK(cuMemFreeAsync(d, other));
    ASK(cuStreamSynchronize(other));
}

static void mapped(void)
{
    const CUdeviceptr first = UINT64_C(0x7e0000000000);
    for (unsigned i = 0; i < 3; i++)
        ASK(cuMemMap(first + i * 65536, 65536, 0, 1, 0));
    ASK(cuMemsetD8Async(first + 65536 + 100, 5, 10, 0));
    ASK(cuMemUnmap(first, 3 * 65536));
}

/* Streams that get no command, and a wait for one of them. */
static void unused(CUstream stream)
{
    CUstream other;
    CUevent event;
    for (int i = 0; i < 40; i++)
        ASK(cuStreamCreate(&other, 0));
    ASK(cuEventCreate(&event, 0));
    ASK(cuEventRecord(event, other));
    ASK(cuStreamWaitEvent(stream, event, 0));
    ASK(cuEventDestroy_v2(event));
}

/* What a stream captures does not run; another stream's commands do. The block has been there
 * before. */
static void captured(CUdeviceptr a, CUstream captures, CUstream other)
{
    CUmodule module;
    CUdeviceptr c;
    CUevent event;
    CUgraph graph;
    CUgraphNode node;
    CUgraphNodeParams memory = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC},
                      kernel = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    CUfunction f = load(&module, "part 8", "part");
    ASK(cuEventCreate(&event, 0));
    ASK(cuStreamBeginCapture_v2(captures, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ASK(cuMemAllocAsync(&c, 8192, captures));
    for (int i = 0; i < 3; i++)
        launch(f, captures, (void *[]){&c}, NULL);
    ASK(cuMemsetD8Async(a, 7, 100, captures));
    ASK(cuMemFreeAsync(c, captures));
    ASK(cuEventRecord(event, captures));
    launch(f, other, (void *[]){&a}, NULL);
    ASK(cuStreamEndCapture(captures, &graph));
    launch(f, captures, (void *[]){&a}, NULL);
    ASK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &memory));
    ASK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &kernel));
    ASK(cuEventDestroy_v2(event));
}

static void called(void *user)
{
    (void)user;
}

static void second_device(CUdeviceptr a)
{
    CUdeviceptr e;
    ASK(cuCtxSetCurrent(context[1]));
    ASK(cuMemAlloc_v2(&e, 300));
    ASK(cuMemcpyPeerAsync(e, context[1], a, context[0], 300, 0));
    ASK(cuCtxSynchronize());
    ASK(cuMemFree_v2(e));
    ASK(cuCtxSetCurrent(context[0]));
}

static void all(void)
{
    CUdeviceptr a, b, c;
    CUstream first, second, again;
    ASK(cuMemAlloc_v2(&a, 1000));
    ASK(cuMemAlloc_v2(&b, 2000));
    if (cuMemAlloc_v2(&c, (size_t)1 << 50) != CUDA_ERROR_OUT_OF_MEMORY)
        exit(1);
    ASK(cuStreamCreate(&first, 0));
    ASK(cuStreamCreate(&second, 0));
    launches(a, b);
    unused(first);
    copies(a, b, first, second);
    in_order(first, second);
    mapped();
    ASK(cuStreamDestroy_v2(second));
    ASK(cuStreamCreate(&again, 0));
    ASK(cuMemsetD8Async(a, 6, 1, again));
    second_device(a);
    captured(a, first, again);
    ASK(cuGraphLaunch(NULL, first));
    ASK(cuLaunchHostFunc(first, called, NULL));
    ASK(cuLaunchHostFunc(first, called, NULL));
    ASK(cuCtxSynchronize_v2(NULL));
    ASK(cuMemFree_v2(a));
    ASK(cuMemFree_v2(b));
}

/* A block, 1000 launches of two kernels, a wait. */
static void *work(void *context_of_all)
{
    CUmodule module[2];
    CUdeviceptr a;
    ASK(cuCtxSetCurrent(context_of_all));
    ASK(cuMemAlloc_v2(&a, 512));
    CUfunction f = load(&module[0], "one 8", "one"), g = load(&module[1], "two 4 4 8", "two");
    uint32_t number = 1;
    for (int i = 0; i < 500; i++) {
        launch(f, 0, (void *[]){&a}, NULL);
        launch(g, 0, (void *[]){&number, &number, &a}, NULL);
    }
    ASK(cuStreamSynchronize(0));
    ASK(cuMemFree_v2(a));
    return NULL;
}

static void *end_range(void *range)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)range);
    return NULL;
}

/* Every kind of NVTX's phases; one has begun before the driver was asked for anything. */
static void phases(void)
{
    CUdeviceptr a, b;
    pthread_t other;
    ASK(cuMemAlloc_v2(&a, 1000));
    nvtxRangePop();
    nvtxRangePop(); /* of nothing */

    nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
    nvtxEventAttributes_t named = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    named.message.registered = nvtxDomainRegisterStringA(domain, "sort");
    nvtxRangeId_t range = nvtxRangeStartA("range");
    nvtxDomainRangePushEx(domain, &named);
    nvtxRangePushW(L"stra\u00dfe");
    ASK(cuMemAlloc_v2(&b, 2000));
    nvtxDomainRangePop(domain);
    ASK(cuMemFree_v2(b));
    nvtxMarkA("mark");
    nvtxRangePop();
    pthread_create(&other, NULL, end_range, &range);
    pthread_join(other, NULL);
    ASK(cuMemFree_v2(a));
    nvtxRangePushA("open");
}

/* 200 launches of each of 300 kernels, in turn. */
static void kernels(void)
{
    CUdeviceptr a;
    CUmodule module;
    CUfunction all[300];
    ASK(cuMemAlloc_v2(&a, 512));
    for (unsigned i = 0; i < 300; i++)
        all[i] = load(&module, "kernel 8", "kernel");
    for (unsigned i = 0; i < 200 * 300; i++)
        launch(all[i % 300], 0, (void *[]){&a}, NULL);
    ASK(cuMemFree_v2(a));
}

/* Launches, a phase, later launches, all waited for, and an end without the handlers of exit.
 * After the phase a child has one too, and exits. Without later launches there is none of this. */
static void leave(unsigned launches, unsigned later)
{
    CUdeviceptr a;
    CUmodule module;
    char host[100];
    ASK(cuMemAlloc_v2(&a, 512));
    CUfunction f = load(&module, "kernel 8", "kernel");
    for (unsigned i = 0; i < launches; i++)
        launch(f, 0, (void *[]){&a}, NULL);
    if (later) {
        int status;
        nvtxMarkA("half");
        const pid_t child = fork();
        if (child == 0) {
            nvtxMarkA("child");
            exit(0);
        }
        if (waitpid(child, &status, 0) != child || status)
            exit(1);
    }
    for (unsigned i = 0; i < later; i++)
        launch(f, 0, (void *[]){&a}, NULL);
    ASK(cuMemcpyDtoHAsync_v2(host, a, sizeof host, 0));
    ASK(cuStreamSynchronize(0));
    ASK(cuMemFree_v2(a));
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    pthread_t threads[8];
    CUdeviceptr a;
    if (strcmp(mode, "phases") == 0)
        nvtxRangePushA("set up");
    if (strcmp(mode, "idle") == 0) {
        nvtxMarkA("nothing else");
        return 0;
    }
    ASK(cuInit(0));
    for (int d = 0; d < 2; d++)
        ASK(cuDevicePrimaryCtxRetain(&context[d], d));
    ASK(cuCtxSetCurrent(context[0]));
    if (strcmp(mode, "threads") == 0) {
        for (int i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, work, context[0]);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
    } else if (strcmp(mode, "fork") == 0) {
        work(context[0]);
        const pid_t child = fork();
        work(context[0]);
        if (child == 0)
            exit(0);
        waitpid(child, NULL, 0);
    } else if (strcmp(mode, "kernels") == 0) {
        kernels();
    } else if (strcmp(mode, "kill") == 0) {
        ASK(cuMemAlloc_v2(&a, 12345));
        kill(getpid(), SIGKILL);
    } else if (strcmp(mode, "leave") == 0) {
        leave(argc > 2 ? (unsigned)atoi(argv[2]) : 0, argc > 3 ? (unsigned)atoi(argv[3]) : 0);
    } else if (strcmp(mode, "phases") == 0) {
        phases();
    } else {
        all();
    }
    printf("%u questions, %u callbacks\n", fake_cuda_questions(), fake_cuda_entered());
    return 0;
}
