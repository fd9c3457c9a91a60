/* A program of OpenCL with everything that a server can get wrong. Each mode prints what it finds;
 * served and unserved it is the same.
 *
 *   blocks_opencl two-queues     a block is released under a slow kernel of one queue, and the next
 *                               is filled on another: wrong bytes
 *   blocks_opencl no-order       the same within a queue without order
 *   blocks_opencl user-event     a queue that waits for the host does not stop another
 *   blocks_opencl facts          what clGetMemObjectInfo says of buffers, parts and images
 *   blocks_opencl destructors    when and in which order they are called
 *   blocks_opencl views          a block lives as long as a part or an image of it
 *   blocks_opencl image-within   an image of a buffer that is not the first one: its error
 *   blocks_opencl mistakes       requests that fail
 *   blocks_opencl passed         host pointers, images, shared memory, several devices
 *   blocks_opencl contexts       a hundred contexts, one after the other
 *   blocks_opencl out-of-memory  blocks of 1 MiB until one is refused, and again after a release
 *   blocks_opencl alignment      of the device's memories, in bytes
 *   blocks_opencl churn          ten thousand requests on one queue
 *   blocks_opencl callbacks      a callback of the driver releases a block, while another thread
 *                               asks for and releases others
 *   blocks_opencl callbacks-late the same in a context with a queue without order
 *   blocks_opencl beyond         a kernel writes four bytes beyond a block
 *   blocks_opencl threads        eight threads on four queues at random; contents are checked
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <time.h>

#include "tests/inside/apps/opencl.h"

enum { COUNT = 4096, BYTES = COUNT * sizeof(int), SLOW = 12000000 /* turns */, ROUNDS = 4 };

/* One item writes all numbers, after so many turns. */
static const char source[] = "kernel void late(global int *to, int value, int turns, int count) {"
                             "    volatile int x = value;"
                             "    for (int t = 0; t < turns; t++) x = x * 3 + t;"
                             "    for (int i = 0; i < count; i++) to[i] = value; }";

static cl_mem make_block(size_t bytes)
{
    return make_buffer(CL_MEM_READ_WRITE, bytes, NULL);
}

static void launch(cl_command_queue queue, cl_mem to, int value, int turns, cl_event wait,
                   cl_event *made)
{
    const size_t one = 1;
    const int numbers = COUNT;
    cl_kernel kernel = make_kernel("late");
    CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
    CHECK(clSetKernelArg(kernel, 1, sizeof value, &value));
    CHECK(clSetKernelArg(kernel, 2, sizeof turns, &turns));
    CHECK(clSetKernelArg(kernel, 3, sizeof numbers, &numbers));
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, wait != NULL,
                                 wait ? &wait : NULL, made));
    CHECK(clFlush(queue));
    CHECK(clReleaseKernel(kernel));
}

static int wrong_ones(cl_command_queue queue, cl_mem block, int value)
{
    static _Thread_local int host[COUNT];
    int wrong = 0;
    CHECK(clEnqueueReadBuffer(queue, block, CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != value;
    return wrong;
}

/* ---- queues ---- */

/* The kernel of the first block still runs when the second is filled on another queue, or at
 * another place of the same one. */
static void released_in_use(cl_command_queue first, cl_command_queue second)
{
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        cl_event filled;
        cl_mem old = make_block(BYTES);
        launch(first, old, 1000 + round, SLOW, NULL, NULL);
        CHECK(clReleaseMemObject(old));
        cl_mem block = make_block(BYTES);
        launch(second, block, round, 0, NULL, &filled);
        CHECK(clWaitForEvents(1, &filled));
        CHECK(clReleaseEvent(filled));
        CHECK(clFinish(first));
        wrong += wrong_ones(second, block, round);
        CHECK(clReleaseMemObject(block));
    }
    printf("%d wrong\n", wrong);
}

static void two_queues(void)
{
    cl_command_queue first = make_queue(0), second = make_queue(0);
    released_in_use(first, second);
    /* The second queue's blocks go back to the first one, which they belong to. */
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        cl_mem old = make_block(BYTES);
        launch(first, old, 1, 0, NULL, NULL);
        CHECK(clFinish(first));
        launch(second, old, 1000 + round, SLOW, NULL, NULL);
        CHECK(clReleaseMemObject(old));
        cl_mem block = make_block(BYTES);
        launch(first, block, round, 0, NULL, NULL);
        CHECK(clFinish(first));
        CHECK(clFinish(second));
        wrong += wrong_ones(first, block, round);
        CHECK(clReleaseMemObject(block));
    }
    /* A queue ends under its kernel, and the next one takes its memory. */
    for (int round = 0; round < ROUNDS; round++) {
        cl_command_queue last = make_queue(0);
        cl_mem old = make_block(BYTES);
        launch(last, old, 1000 + round, SLOW, NULL, NULL);
        CHECK(clReleaseMemObject(old));
        CHECK(clReleaseCommandQueue(last));
        last = make_queue(0);
        cl_mem block = make_block(BYTES);
        launch(last, block, round, 0, NULL, NULL);
        CHECK(clFinish(last));
        struct timespec pause = {0, 30000000};
        nanosleep(&pause, NULL);
        wrong += wrong_ones(last, block, round);
        CHECK(clReleaseMemObject(block));
        CHECK(clReleaseCommandQueue(last));
    }
    printf("%d wrong\n", wrong);
}

static void no_order(void)
{
    cl_command_queue queue = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    released_in_use(queue, queue);
    released_in_use(make_queue(0), queue);
}

static void user_event(void)
{
    cl_command_queue first = make_queue(0), second = make_queue(0);
    cl_int status;
    /* What the first queue had before belongs to the past of its memory. */
    cl_mem early = make_block(BYTES);
    launch(first, early, 7, SLOW, NULL, NULL);
    CHECK(clReleaseMemObject(early));
    cl_event go = clCreateUserEvent(context, &status);
    check(status, "clCreateUserEvent");
    cl_mem old = make_block(BYTES);
    launch(first, old, 8, 0, go, NULL);
    CHECK(clReleaseMemObject(old));
    int numbers[COUNT];
    for (int i = 0; i < COUNT; i++)
        numbers[i] = 9;
    cl_mem copied =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, numbers, &status);
    check(status, "clCreateBuffer");
    cl_mem block = make_block(BYTES);
    launch(second, block, 10, 0, NULL, NULL);
    CHECK(clFinish(second));
    const int wrong = wrong_ones(second, copied, 9);
    CHECK(clSetUserEventStatus(go, CL_COMPLETE));
    CHECK(clFinish(first));
    printf("%d wrong\n", wrong + wrong_ones(second, copied, 9) + wrong_ones(second, block, 10));
    CHECK(clReleaseMemObject(block));
    CHECK(clReleaseMemObject(copied));
    CHECK(clReleaseEvent(go));
}

/* ---- facts ---- */

static void print_facts(const char *name, cl_mem object, cl_mem whole)
{
    cl_mem_object_type type = 0;
    cl_mem_flags flags = 0;
    size_t size = 0, offset = 1, needed = 0;
    void *host = &size;
    cl_uint references = 0, maps = 1;
    cl_context its_context = NULL;
    cl_mem associated = object;
    cl_bool is_svm = 2;
    CHECK(clGetMemObjectInfo(object, CL_MEM_TYPE, sizeof type, &type, NULL));
    CHECK(clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
    CHECK(clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof size, &size, NULL));
    CHECK(clGetMemObjectInfo(object, CL_MEM_HOST_PTR, sizeof host, &host, NULL));
    CHECK(clGetMemObjectInfo(object, CL_MEM_MAP_COUNT, sizeof maps, &maps, NULL));
    CHECK(clGetMemObjectInfo(object, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL));
    CHECK(clGetMemObjectInfo(object, CL_MEM_CONTEXT, sizeof its_context, &its_context, NULL));
    CHECK(clGetMemObjectInfo(object, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof associated, &associated,
                             NULL));
    CHECK(clGetMemObjectInfo(object, CL_MEM_OFFSET, sizeof offset, &offset, &needed));
    CHECK(clGetMemObjectInfo(object, CL_MEM_USES_SVM_POINTER, sizeof is_svm, &is_svm, NULL));
    printf("%s: type %x flags %x size %zu host %s maps %u references %u context %s of %s at %zu "
           "(%zu) svm %d, too small: %d\n",
           name, type, (unsigned)flags, size, host ? "some" : "none", maps, references,
           its_context == context ? "right" : "wrong",
           !associated           ? "none"
           : associated == whole ? "its whole"
                                 : "another",
           offset, needed, (int)is_svm,
           clGetMemObjectInfo(object, CL_MEM_OFFSET, 2, &offset, NULL));
}

static cl_mem part_of(cl_mem whole, cl_mem_flags flags, size_t origin, size_t bytes)
{
    cl_int status;
    cl_mem part = clCreateSubBuffer(whole, flags, CL_BUFFER_CREATE_TYPE_REGION,
                                    &(cl_buffer_region){origin, bytes}, &status);
    check(status, "clCreateSubBuffer");
    return part;
}

static cl_mem image_of(cl_mem block)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc shape = {
        .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 256, .buffer = block};
    cl_int status;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status);
    check(status, "clCreateImage");
    return image;
}

static void facts(void)
{
    static char host[50000];
    const cl_mem_flags flags[] = {0,
                                  CL_MEM_READ_WRITE,
                                  CL_MEM_READ_ONLY,
                                  CL_MEM_WRITE_ONLY | CL_MEM_HOST_READ_ONLY,
                                  CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR | CL_MEM_HOST_NO_ACCESS,
                                  CL_MEM_ALLOC_HOST_PTR};
    cl_command_queue queue = make_queue(0);
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        cl_int status;
        char name[32];
        cl_mem block = clCreateBuffer(context, flags[i], 10000 * (i + 1),
                                      flags[i] & CL_MEM_COPY_HOST_PTR ? host : NULL, &status);
        check(status, "clCreateBuffer");
        snprintf(name, sizeof name, "buffer %u", i);
        if (flags[i] & CL_MEM_ALLOC_HOST_PTR)
            continue; /* drivers differ in what they say of the host's pointer */
        print_facts(name, block, NULL);
        CHECK(clRetainMemObject(block));
        cl_mem part = part_of(block, 0, 4096, 100);
        print_facts("  with a part", block, NULL);
        print_facts("  the part", part, block);
        CHECK(clReleaseMemObject(part));
        CHECK(clReleaseMemObject(block));
        print_facts("  without", block, NULL);
        CHECK(clReleaseMemObject(block));
    }
    cl_mem block = make_block(20480), image = image_of(block);
    cl_mem shown = NULL;
    CHECK(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof shown, &shown, NULL));
    print_facts("image", image, block);
    printf("shows %s\n", shown == block ? "its block" : "another");
    CHECK(clReleaseMemObject(image));
    cl_mem part = part_of(block, CL_MEM_READ_ONLY, 8192, 64);
    int *mapped = clEnqueueMapBuffer(queue, part, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL, NULL, NULL);
    print_facts("mapped part", part, block);
    CHECK(clEnqueueUnmapMemObject(queue, part, mapped, 0, NULL, NULL));
    CHECK(clFinish(queue));
}

/* ---- ends ---- */

static _Atomic int calls, is_done;
static char order[64];

static void CL_CALLBACK is_gone(cl_mem object, void *name)
{
    (void)object;
    order[calls] = *(char *)name;
    if (!is_done)
        order[calls] = '!';
    calls++;
}

static void CL_CALLBACK kernel_is_done(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    is_done = 1;
}

static void wait_for_calls(int count)
{
    for (int i = 0; i < 2000 && calls < count; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void destructors(void)
{
    cl_command_queue queue = make_queue(0);
    cl_event done;
    cl_mem block = make_block(BYTES);
    CHECK(clSetMemObjectDestructorCallback(block, is_gone, "c"));
    CHECK(clSetMemObjectDestructorCallback(block, is_gone, "b"));
    CHECK(clSetMemObjectDestructorCallback(block, is_gone, "a"));
    printf("no function: %d\n", clSetMemObjectDestructorCallback(block, NULL, NULL));
    launch(queue, block, 1, SLOW, NULL, &done);
    CHECK(clSetEventCallback(done, CL_COMPLETE, kernel_is_done, NULL));
    CHECK(clReleaseMemObject(block));
    wait_for_calls(3);
    block = make_block(BYTES);
    CHECK(clSetMemObjectDestructorCallback(block, is_gone, "d"));
    CHECK(clRetainMemObject(block));
    CHECK(clReleaseMemObject(block));
    printf("called: %s\n", order);
    CHECK(clReleaseMemObject(block));
    wait_for_calls(4);
    printf("called: %s\n", order);
}

static void views(void)
{
    cl_command_queue queue = make_queue(0);
    int wrong = 0;
    for (int round = 0; round < 3; round++) {
        cl_mem block = make_block(BYTES), other;
        launch(queue, block, 5, 0, NULL, NULL);
        cl_mem view = round == 2 ? image_of(block) : part_of(block, 0, round * 8192, 4096);
        CHECK(clReleaseMemObject(block));
        for (int i = 0; i < 4; i++) {
            other = make_block(BYTES);
            launch(queue, other, 6, 0, NULL, NULL);
            CHECK(clReleaseMemObject(other));
        }
        int host[1024] = {0};
        const size_t origin[3] = {0}, region[3] = {256, 1, 1};
        if (round == 2)
            CHECK(clEnqueueReadImage(queue, view, CL_TRUE, origin, region, 0, 0, host, 0, NULL,
                                     NULL));
        else
            CHECK(clEnqueueReadBuffer(queue, view, CL_TRUE, 0, 4096, host, 0, NULL, NULL));
        for (int i = 0; i < (round == 2 ? 256 : 1024); i++)
            wrong += host[i] != 5;
        CHECK(clReleaseMemObject(view));
    }
    printf("%d wrong\n", wrong);
}

/* ---- requests ---- */

static int error_of(cl_mem_flags flags, size_t bytes, void *host)
{
    cl_int status = 1;
    cl_mem block = clCreateBuffer(context, flags, bytes, host, &status);
    if (block)
        clReleaseMemObject(block);
    return status;
}

static int error_of_part(cl_mem whole, cl_mem_flags flags, size_t origin, size_t bytes)
{
    cl_int status = 1;
    cl_mem part = clCreateSubBuffer(whole, flags, CL_BUFFER_CREATE_TYPE_REGION,
                                    &(cl_buffer_region){origin, bytes}, &status);
    if (part)
        clReleaseMemObject(part);
    return status;
}

static void mistakes(void)
{
    char host[100];
    cl_int status;
    cl_command_queue queue = make_queue(0);
    printf("%d %d %d %d %d\n", error_of(0, 0, NULL), error_of(0, (size_t)1 << 50, NULL),
           error_of(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 100, NULL), error_of(0, 100, host),
           error_of(CL_MEM_COPY_HOST_PTR, 100, NULL));
    cl_mem block = clCreateBuffer(context, CL_MEM_READ_ONLY, 10000, NULL, &status);
    cl_mem part = part_of(block, 0, 4096, 4096);
    printf("%d %d %d %d %d %d\n", error_of_part(block, 0, 4097, 100),
           error_of_part(block, 0, 8192, 4096), error_of_part(block, CL_MEM_WRITE_ONLY, 0, 100),
           error_of_part(block, CL_MEM_READ_ONLY, 0, 100), error_of_part(part, 0, 0, 100),
           error_of_part(block, 0, 0, 0));
    printf("%d %d\n", clEnqueueReadBuffer(queue, block, CL_TRUE, 9990, 100, host, 0, NULL, NULL),
           clEnqueueCopyBuffer(queue, block, block, 0, 50, 100, 0, NULL, NULL));
    cl_mem closed =
        clCreateBuffer(context, CL_MEM_HOST_NO_ACCESS | CL_MEM_COPY_HOST_PTR, 100, host, &status);
    printf("%d %d\n", status,
           clEnqueueReadBuffer(queue, closed, CL_TRUE, 0, 100, host, 0, NULL, NULL));
}

static void image_within(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_int status;
    make_block(BYTES);
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER,
                                 .image_width = 256,
                                 .buffer = make_block(BYTES)};
    clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status);
    printf("%d\n", status);
}

static void passed(void)
{
    static int own[COUNT];
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc shape = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 32};
    cl_int status;
    cl_mem used = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, BYTES, own, &status);
    check(status, "USE_HOST_PTR");
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status);
    check(status, "clCreateImage");
    cl_mem pinned = clCreateBuffer(context, CL_MEM_ALLOC_HOST_PTR, BYTES, NULL, &status);
    check(status, "ALLOC_HOST_PTR");
    void *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0);
    cl_device_id halves[2] = {NULL, NULL};
    const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_context wide = NULL;
    if (clCreateSubDevices(device, equally, 2, halves, NULL) == CL_SUCCESS)
        wide = clCreateContext(NULL, 2, halves, NULL, NULL, &status);
    cl_mem block = wide ? clCreateBuffer(wide, 0, BYTES, NULL, &status) : NULL;
    printf("%d %d\n", shared != NULL, block != NULL);
    if (block)
        clReleaseMemObject(block);
    clReleaseMemObject(used);
    clReleaseMemObject(image);
    clReleaseMemObject(pinned);
    clSVMFree(context, shared);
}

static void contexts(void)
{
    int wrong = 0;
    for (int i = 0; i < 100; i++) {
        cl_context own = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
        cl_command_queue queue = clCreateCommandQueue(own, device, 0, NULL);
        cl_mem block = clCreateBuffer(own, 0, BYTES, NULL, NULL);
        CHECK(clReleaseContext(own));
        CHECK(clEnqueueFillBuffer(queue, block, &i, sizeof i, 0, BYTES, 0, NULL, NULL));
        wrong += wrong_ones(queue, block, i);
        if (i % 2)
            CHECK(clReleaseMemObject(block));
        CHECK(clReleaseCommandQueue(queue));
        if (i % 2 == 0)
            CHECK(clReleaseMemObject(block));
    }
    printf("%d wrong\n", wrong);
}

static void out_of_memory(void)
{
    cl_command_queue queue = make_queue(0);
    cl_mem blocks[64];
    int count = 0;
    cl_int status = CL_SUCCESS;
    for (; count < 64; count++) {
        blocks[count] = clCreateBuffer(context, 0, 1 << 20, NULL, &status);
        if (!blocks[count])
            break;
        launch(queue, blocks[count], count, 0, NULL, NULL);
    }
    printf("%d blocks, then %d\n", count, status);
    CHECK(clReleaseMemObject(blocks[0]));
    cl_mem block = clCreateBuffer(context, 0, 1 << 20, NULL, &status);
    printf("after a release %d\n", status);
    (void)block;
}

static uint64_t random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void alignment(void)
{
    cl_uint bits;
    CHECK(clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL));
    printf("%u\n", bits / 8);
}

static void churn(void)
{
    enum { LIVE = 40 };
    cl_command_queue queue = make_queue(0);
    cl_mem live[LIVE] = {0};
    uint64_t seed = 1;
    for (int i = 0; i < 10000; i++) {
        const unsigned at = (unsigned)(random_of(&seed) % LIVE);
        if (live[at])
            CHECK(clReleaseMemObject(live[at]));
        live[at] = make_block(1 + random_of(&seed) % (1u << (6 + random_of(&seed) % 12)));
        CHECK(clEnqueueFillBuffer(queue, live[at], &i, 1, 0, 1, 0, NULL, NULL));
    }
    CHECK(clFinish(queue));
    for (int i = 0; i < LIVE; i++)
        if (live[i])
            CHECK(clReleaseMemObject(live[i]));
    printf("10000\n");
}

static cl_command_queue shared_queues[4];
static _Atomic long refused;

/* A process that is forked off while other threads are in the driver releases what it was left, and
 * ends. Returns how many did not. */
static int fork_off(cl_mem block)
{
    int status = -1;
    const pid_t process = fork();
    if (!process) {
        alarm(20);
        clReleaseMemObject(block);
        _exit(0);
    }
    return waitpid(process, &status, 0) != process || status != 0;
}

/* Blocks have the number of their round; each is checked on one queue after it was written on
 * another, which an event orders. */
static void *work(void *number)
{
    uint64_t seed = (uint64_t)(uintptr_t)number;
    long wrong = 0;
    for (int i = 0; i < 60; i++) {
        cl_command_queue first = shared_queues[random_of(&seed) % 4],
                         second = shared_queues[random_of(&seed) % 4];
        const int value = (int)(seed >> 40);
        cl_event done;
        cl_int no;
        cl_mem block = clCreateBuffer(context, 0, BYTES, NULL, &no),
               copy = clCreateBuffer(context, 0, BYTES, NULL, &no);
        if (!block || !copy) { /* as under --mem-limit */
            refused++;
            CHECK(block || copy ? clReleaseMemObject(block ? block : copy) : 0);
            continue;
        }
        launch(first, block, value, random_of(&seed) % 2 ? 300000 : 0, NULL, &done);
        CHECK(clEnqueueCopyBuffer(second, block, copy, 0, 0, BYTES, 1, &done, NULL));
        CHECK(clReleaseEvent(done));
        CHECK(clReleaseMemObject(block));
        wrong += wrong_ones(second, copy, value);
        if (i % 16 == 0 && getenv("GAMUT_SERVE")) /* PoCL itself may wait for ever there */
            wrong += fork_off(copy);
        CHECK(clReleaseMemObject(copy));
    }
    return (void *)(intptr_t)wrong;
}

static void threads(void)
{
    pthread_t ids[8];
    long sum = 0;
    for (int i = 0; i < 4; i++)
        shared_queues[i] = make_queue(0);
    for (uintptr_t i = 0; i < 8; i++)
        pthread_create(&ids[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 8; i++) {
        void *wrong;
        pthread_join(ids[i], &wrong);
        sum += (intptr_t)wrong;
    }
    if (refused)
        fprintf(stderr, "%ld refused\n", refused);
    printf("%ld wrong\n", sum);
}

/* ---- callbacks ---- */

static _Atomic unsigned called;

static void CL_CALLBACK release_block(cl_event event, cl_int status, void *block)
{
    (void)status;
    CHECK(clReleaseMemObject(block));
    CHECK(clReleaseEvent(event));
    called++;
}

/* Drivers call from the thread that carries out commands: what waits for a command there waits for
 * itself. */
static void release_in_callbacks(void)
{
    enum { BLOCKS = 200 };
    cl_command_queue queue = make_queue(0);
    int wrong = 0;
    for (int i = 0; i < BLOCKS; i++) {
        cl_event filled;
        cl_mem block = make_block(BYTES), other = make_block(BYTES);
        launch(queue, block, i, 1000, NULL, &filled);
        CHECK(clSetEventCallback(filled, CL_COMPLETE, release_block, block));
        launch(queue, other, i, 0, NULL, NULL);
        if (i % 8 == 0)
            wrong += wrong_ones(queue, other, i);
        CHECK(clReleaseMemObject(other));
    }
    CHECK(clFinish(queue));
    while (called < BLOCKS)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    printf("%d wrong\n", wrong);
}

static void callbacks(void)
{
    release_in_callbacks();
}

static void beyond(void)
{
    cl_command_queue queue = make_queue(0);
    cl_mem block = make_block(BYTES - sizeof(int));
    launch(queue, block, 1, 0, NULL, NULL);
    CHECK(clReleaseMemObject(block));
    CHECK(clFinish(queue));
}

static void callbacks_late(void)
{
    CHECK(clReleaseCommandQueue(make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)));
    release_in_callbacks();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"two-queues", two_queues},
                 {"no-order", no_order},
                 {"user-event", user_event},
                 {"facts", facts},
                 {"destructors", destructors},
                 {"views", views},
                 {"image-within", image_within},
                 {"mistakes", mistakes},
                 {"passed", passed},
                 {"contexts", contexts},
                 {"out-of-memory", out_of_memory},
                 {"alignment", alignment},
                 {"churn", churn},
                 {"beyond", beyond},
                 {"callbacks", callbacks},
                 {"callbacks-late", callbacks_late},
                 {"threads", threads}};
    set_up(source);
    for (unsigned i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, argv[1]) == 0) {
            modes[i].run();
            return 0;
        }
    return 2;
}
