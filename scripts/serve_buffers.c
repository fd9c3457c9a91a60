/* Times a loop that makes three buffers, writes each by a kernel, reads one integer and releases
 * them: its buffers are the first platform's own, or a served program's.
 *   cc -O2 scripts/serve_buffers.c -l:libOpenCL.so.1
 *   PROGRAM BYTES STEPS      prints the milliseconds of all steps; 20 untimed ones come first
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    size_t bytes = strtoul(argv[1], NULL, 10), items = bytes / sizeof(cl_int);
    long steps = strtol(argv[2], NULL, 10);
    const char *source = "kernel void f(global int *a) { a[get_global_id(0)] = get_global_id(0); }";
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL))
        return 1;
    cl_kernel kernel = clCreateKernel(program, "f", NULL);
    double began = 0;
    for (long i = -20; i < steps; i++) {
        if (i == 0)
            began = now_ms();
        cl_mem made[3];
        cl_int last;
        for (int j = 0; j < 3; j++) {
            made[j] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
            clSetKernelArg(kernel, 0, sizeof made[j], &made[j]);
            clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
        }
        if (clEnqueueReadBuffer(queue, made[2], CL_TRUE, 0, sizeof last, &last, 0, NULL, NULL))
            return 1;
        for (int j = 0; j < 3; j++)
            clReleaseMemObject(made[j]);
    }
    printf("%.3f\n", now_ms() - began);
    return 0;
}
