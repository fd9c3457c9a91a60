/* What applications of OpenCL begin with: the first device, and a context and a program on it. Each
 * includes CL/cl.h for its version first. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_program program;

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: error %d\n", what, status);
    exit(77);
}
#define CHECK(call) check(call, #call)

static void set_up(const char *source)
{
    cl_int status;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
}

static cl_command_queue make_queue(cl_command_queue_properties properties)
{
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(context, device, properties, &status);
    check(status, "clCreateCommandQueue");
    return queue;
}

static cl_kernel make_kernel(const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, "clCreateKernel");
    return kernel;
}

static cl_mem make_buffer(cl_mem_flags flags, size_t bytes, void *host)
{
    cl_int status;
    cl_mem block = clCreateBuffer(context, flags, bytes, host, &status);
    check(status, "clCreateBuffer");
    return block;
}
