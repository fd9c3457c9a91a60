/* An application of OpenCL that waits for a kernel of at least 50 ms: in a blocking map, and in
 * clWaitForEvents after a map that does not block. Prints how many nanoseconds the faster of the
 * two kernels took, by the driver's profile. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "tests/inside/apps/opencl.h"

enum { LEAST_NS = 50000000, COUNT = 64 };

static const char source[] =
    "kernel void spin(global float *x, int n) { float y = x[get_global_id(0)];"
    "    for (int i = 0; i < n; i++) y = y * 0.9999f + 1.0f; x[get_global_id(0)] = y; }";

static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem block;

static cl_event launch(int n)
{
    const size_t count = COUNT;
    cl_event made;
    check(clSetKernelArg(kernel, 0, sizeof block, &block), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof n, &n), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, &made),
          "clEnqueueNDRangeKernel");
    return made;
}

/* How long a command took that has ended. */
static cl_ulong took(cl_event event)
{
    cl_ulong start, end;
    check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL),
          "clGetEventProfilingInfo");
    check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL),
          "clGetEventProfilingInfo");
    clReleaseEvent(event);
    return end - start;
}

static void *map(cl_bool blocking, cl_event *mapped)
{
    cl_int status;
    void *host = clEnqueueMapBuffer(queue, block, blocking, CL_MAP_READ, 0, COUNT * sizeof(float),
                                    0, NULL, mapped, &status);
    check(status, "clEnqueueMapBuffer");
    return host;
}

int main(void)
{
    int n = 100000;
    set_up(source);
    queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
    kernel = make_kernel("spin");
    block = make_buffer(CL_MEM_READ_WRITE, COUNT * sizeof(float), NULL);
    for (cl_ulong ns = 0; 2 * ns < 3 * (cl_ulong)LEAST_NS; n *= 2) { /* later ones may be faster */
        cl_event made = launch(n);
        check(clFinish(queue), "clFinish");
        ns = took(made);
    }

    cl_event first = launch(n / 2);
    void *host = map(CL_TRUE, NULL);
    check(clEnqueueUnmapMemObject(queue, block, host, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    check(clFinish(queue), "clFinish");

    cl_event mapped, second = launch(n / 2);
    host = map(CL_FALSE, &mapped);
    check(clWaitForEvents(1, &mapped), "clWaitForEvents");
    clReleaseEvent(mapped);
    check(clEnqueueUnmapMemObject(queue, block, host, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    check(clFinish(queue), "clFinish");

    const cl_ulong one = took(first), two = took(second);
    printf("%lu\n", (unsigned long)(one < two ? one : two));
    clReleaseMemObject(block);
    clReleaseKernel(kernel);
    clReleaseCommandQueue(queue);
    return 0;
}
