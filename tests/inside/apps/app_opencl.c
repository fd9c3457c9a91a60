/* An application of OpenCL with everything that a recorder can get wrong: two queues, threads,
 * maps, callbacks from the driver's threads, an image, views of parts, host pointers, retained
 * objects, objects that only the driver still holds, a queue without order. It prints a checksum,
 * which does not depend on how it is run.
 *
 *   app_opencl [kill|fork|threads]   end by SIGKILL; go on in a second process; with eight threads
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inside/apps/opencl.h"

enum { COUNT = 1024, ROUNDS = 50 };

static const char source[] = "kernel void add(global int *to, global const int *from, int by) {"
                             "    size_t i = get_global_id(0); to[i] = from[i] + by; }"
                             "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }";

static void launch_add(cl_command_queue queue, cl_kernel add, cl_mem to, cl_mem from, int by,
                       cl_event wait, cl_event *made)
{
    const size_t count = COUNT;
    check(clSetKernelArg(add, 0, sizeof to, &to), "clSetKernelArg");
    check(clSetKernelArg(add, 1, sizeof from, &from), "clSetKernelArg");
    check(clSetKernelArg(add, 2, sizeof by, &by), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, wait != NULL,
                                 wait ? &wait : NULL, made),
          "clEnqueueNDRangeKernel");
}

/* A block is made on one queue, used on a second behind an event, and freed while it is in use. */
static long two_queues(void)
{
    cl_command_queue first = make_queue(0), second = make_queue(0);
    cl_kernel add = make_kernel("add");
    int host[COUNT] = {0};
    cl_mem sum = make_buffer(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof host, host);
    for (int round = 0; round < ROUNDS; round++) {
        cl_mem part = make_buffer(CL_MEM_READ_WRITE, sizeof host, NULL);
        cl_event made, used;
        launch_add(first, add, part, sum, round, NULL, &made);
        check(clFlush(first), "clFlush");
        launch_add(second, add, sum, part, 1, made, &used);
        check(clReleaseMemObject(part), "clReleaseMemObject");
        check(clFlush(second), "clFlush");
        check(clWaitForEvents(1, &used), "clWaitForEvents");
        clReleaseEvent(made);
        clRetainEvent(used);
        clReleaseEvent(used);
        clReleaseEvent(used);
    }
    check(clEnqueueReadBuffer(second, sum, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    clRetainMemObject(sum);
    clReleaseMemObject(sum);
    clReleaseMemObject(sum);
    clReleaseKernel(add);
    clReleaseCommandQueue(first);
    clReleaseCommandQueue(second);
    return host[0] + host[COUNT - 1];
}

/* Two views of a block: the block's own handle ends first. */
static long parts(void)
{
    cl_command_queue queue = make_queue(0);
    cl_kernel add = make_kernel("add");
    int host[COUNT], pattern = 5;
    cl_int status;
    const size_t bytes = sizeof host, padded = bytes < 4096 ? 4096 : bytes;
    cl_mem whole = make_buffer(CL_MEM_READ_WRITE, 2 * padded, NULL);
    cl_mem low = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION,
                                   &(cl_buffer_region){0, bytes}, &status);
    check(status, "clCreateSubBuffer");
    cl_mem high = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION,
                                    &(cl_buffer_region){padded, bytes}, &status);
    check(status, "clCreateSubBuffer");
    check(clReleaseMemObject(whole), "clReleaseMemObject");
    check(clEnqueueFillBuffer(queue, low, &pattern, sizeof pattern, 0, bytes, 0, NULL, NULL),
          "clEnqueueFillBuffer");
    launch_add(queue, add, high, low, 3, NULL, NULL);
    check(clEnqueueCopyBuffer(queue, high, low, 0, 0, bytes, 0, NULL, NULL), "clEnqueueCopyBuffer");
    check(clReleaseMemObject(high), "clReleaseMemObject");
    check(clFinish(queue), "clFinish");
    check(clEnqueueReadBuffer(queue, low, CL_TRUE, 0, bytes, host, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    check(clReleaseMemObject(low), "clReleaseMemObject");
    clReleaseKernel(add);
    clReleaseCommandQueue(queue);
    return host[7];
}

/* The application's own memory, mapped and written by the host. */
static long maps(void)
{
    cl_command_queue queue = make_queue(0);
    cl_kernel twice = make_kernel("twice");
    static int own[COUNT];
    const size_t count = COUNT;
    cl_int status;
    cl_mem block = make_buffer(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizeof own, own);
    int *mapped = clEnqueueMapBuffer(queue, block, CL_TRUE, CL_MAP_WRITE, 0, sizeof own, 0, NULL,
                                     NULL, &status);
    check(status, "clEnqueueMapBuffer");
    for (int i = 0; i < COUNT; i++)
        mapped[i] = i;
    check(clEnqueueUnmapMemObject(queue, block, mapped, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    check(clSetKernelArg(twice, 0, sizeof block, &block), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, twice, 1, NULL, &count, NULL, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
    mapped = clEnqueueMapBuffer(queue, block, CL_TRUE, CL_MAP_READ, 0, sizeof own, 0, NULL, NULL,
                                &status);
    check(status, "clEnqueueMapBuffer");
    const long answer = mapped[100];
    check(clEnqueueUnmapMemObject(queue, block, mapped, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(block);
    clReleaseKernel(twice);
    clReleaseCommandQueue(queue);
    return answer;
}

static void CL_CALLBACK release_block(cl_event event, cl_int status, void *block)
{
    (void)event;
    (void)status;
    clReleaseMemObject(block);
}

/* A block is released by a callback, from a thread of the driver. */
static void callbacks(void)
{
    cl_command_queue queue = make_queue(0);
    const int pattern = 1;
    cl_event filled;
    cl_mem block = make_buffer(CL_MEM_READ_WRITE, 65536, NULL);
    check(clEnqueueFillBuffer(queue, block, &pattern, sizeof pattern, 0, 65536, 0, NULL, &filled),
          "clEnqueueFillBuffer");
    check(clSetEventCallback(filled, CL_COMPLETE, release_block, block), "clSetEventCallback");
    clReleaseEvent(filled);
    check(clFinish(queue), "clFinish");
    clReleaseCommandQueue(queue);
}

static void images(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc shape = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 32};
    const size_t origin[3] = {0, 0, 0}, region[3] = {64, 32, 1};
    static unsigned char pixels[64 * 32 * 4];
    cl_command_queue queue = make_queue(0);
    cl_int status;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status);
    check(status, "clCreateImage");
    check(clEnqueueWriteImage(queue, image, CL_FALSE, origin, region, 0, 0, pixels, 0, NULL, NULL),
          "clEnqueueWriteImage");
    check(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL),
          "clEnqueueReadImage");
    clReleaseMemObject(image);
    clReleaseCommandQueue(queue);
}

/* The driver hands out objects whose handles the application has released: the context of a queue,
 * and the block of a part. */
static void handed_out(void)
{
    const int pattern = 3;
    cl_context own = clCreateContext(NULL, 1, &device, NULL, NULL, NULL), from_queue;
    cl_command_queue queue = clCreateCommandQueue(own, device, 0, NULL), from_event;
    cl_mem from_part;
    cl_event filled;
    clReleaseContext(own);
    check(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof from_queue, &from_queue, NULL),
          "clGetCommandQueueInfo");
    clRetainContext(from_queue);
    cl_mem whole = clCreateBuffer(from_queue, CL_MEM_READ_WRITE, 20480, NULL, NULL);
    cl_mem part = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION,
                                    &(cl_buffer_region){0, 4096}, NULL);
    clReleaseMemObject(whole);
    check(clGetMemObjectInfo(part, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof from_part, &from_part, NULL),
          "clGetMemObjectInfo");
    clRetainMemObject(from_part);
    clReleaseMemObject(part);
    check(
        clEnqueueFillBuffer(queue, from_part, &pattern, sizeof pattern, 0, 20480, 0, NULL, &filled),
        "clEnqueueFillBuffer");
    clReleaseCommandQueue(queue);
    check(clGetEventInfo(filled, CL_EVENT_COMMAND_QUEUE, sizeof from_event, &from_event, NULL),
          "clGetEventInfo");
    clRetainCommandQueue(from_event);
    clReleaseEvent(filled);
    check(clFinish(from_event), "clFinish");
    clReleaseMemObject(from_part);
    clReleaseCommandQueue(from_event);
    clReleaseContext(from_queue);
}

/* An image that shows a buffer has no memory of its own. */
static void image_of_buffer(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const size_t origin[3] = {0, 0, 0}, region[3] = {256, 1, 1};
    static unsigned char pixels[256 * 4];
    cl_command_queue queue = make_queue(0);
    cl_int status;
    cl_mem block = make_buffer(CL_MEM_READ_WRITE, 24576, NULL);
    const cl_image_desc shape = {
        .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 256, .buffer = block};
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status);
    check(status, "clCreateImage");
    clReleaseMemObject(block);
    check(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL),
          "clEnqueueReadImage");
    clReleaseMemObject(image);
    clReleaseCommandQueue(queue);
}

/* A device has no memory for the first; the second fails for another reason. */
static void refused(void)
{
    const cl_image_format format = {CL_RGBA, 0};
    const cl_image_desc shape = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 32};
    cl_int status;
    if (clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)1 << 50, NULL, &status) ||
        clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status))
        exit(1);
}

/* Commands of a queue without order, which an event orders. */
static void without_order(void)
{
    const int pattern = 1;
    cl_event filled;
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    cl_mem block = make_buffer(CL_MEM_READ_WRITE, 28672, NULL), copy = make_buffer(0, 28672, NULL);
    check(clEnqueueFillBuffer(queue, block, &pattern, sizeof pattern, 0, 28672, 0, NULL, &filled),
          "clEnqueueFillBuffer");
    check(clEnqueueCopyBuffer(queue, block, copy, 0, 0, 28672, 1, &filled, NULL),
          "clEnqueueCopyBuffer");
    clReleaseEvent(filled);
    clReleaseMemObject(block);
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(copy);
    clReleaseCommandQueue(queue);
}

/* Names the part of the program that follows, if a recorder is here; NULL: it ends. */
static void phase(const char *name)
{
    union {
        void *address;
        void(CL_API_CALL *begin)(const char *name);
        void(CL_API_CALL *end)(void);
    } function = {clGetExtensionFunctionAddressForPlatform(platform, name ? "clBeginPhaseGAMUT"
                                                                          : "clEndPhaseGAMUT")};
    if (function.address && name)
        function.begin(name);
    else if (function.address)
        function.end();
}

static cl_uint references(void)
{
    cl_uint count;
    check(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL),
          "clGetContextInfo");
    return count;
}

/* Threads of the driver hold what a command used for a moment after its queue is finished. What
 * they hold holds the context, which has so many references without them. Served, a pool has more,
 * for as long as it lives. */
static void wait_for_driver(cl_uint without)
{
    for (unsigned ms = 0; references() > without && ms < 200; ms++)
        usleep(1000);
}

static void *in_a_thread(void *answer)
{
    *(long *)answer = two_queues();
    return NULL;
}

static long threads(unsigned count)
{
    pthread_t ids[8];
    long answers[8], sum = 0;
    for (unsigned i = 0; i < count; i++)
        pthread_create(&ids[i], NULL, in_a_thread, &answers[i]);
    for (unsigned i = 0; i < count; i++) {
        pthread_join(ids[i], NULL);
        sum += answers[i];
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "fork") == 0) {
        /* OpenCL does not survive a fork; the second process begins anew. */
        const pid_t id = fork();
        set_up(source);
        const long answer = parts();
        if (id == 0)
            _exit(answer != 8);
        int status;
        waitpid(id, &status, 0);
        printf("%ld\n", answer);
        return status != 0;
    }
    set_up(source);
    const cl_uint without = references();
    long answer = two_queues() + parts() + maps() + threads(strcmp(mode, "threads") == 0 ? 8 : 2);
    callbacks();
    phase("images");
    images();
    phase(NULL);
    handed_out();
    without_order();
    wait_for_driver(without);
    image_of_buffer(); /* PoCL 3.1 keeps a reference to the context */
    refused();
    if (strcmp(mode, "kill") == 0) {
        const cl_mem last = make_buffer(CL_MEM_READ_WRITE, 12345, NULL);
        printf("%ld %d\n", answer, last != NULL);
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    printf("%ld\n", answer);
    clReleaseProgram(program);
    clReleaseContext(context);
    return 0;
}
