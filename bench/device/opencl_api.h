/* The OpenCL functions in use, looked up in the ICD loader when they are first needed, so that the
 * program starts where there is no OpenCL. The headers serve for types and constants alone. */
#pragma once

#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define OPENCL_FUNCTION_LIST(X)                                                                    \
    X(clGetPlatformIDs)                                                                            \
    X(clGetPlatformInfo)                                                                           \
    X(clGetDeviceIDs)                                                                              \
    X(clGetDeviceInfo)                                                                             \
    X(clCreateContext)                                                                             \
    X(clRetainContext)                                                                             \
    X(clReleaseContext)                                                                            \
    X(clCreateCommandQueue)                                                                        \
    X(clReleaseCommandQueue)                                                                       \
    X(clCreateBuffer)                                                                              \
    X(clCreateSubBuffer)                                                                           \
    X(clReleaseMemObject)                                                                          \
    X(clEnqueueMigrateMemObjects)                                                                  \
    X(clEnqueueReadBuffer)                                                                         \
    X(clEnqueueWriteBuffer)                                                                        \
    X(clEnqueueCopyBuffer)                                                                         \
    X(clEnqueueFillBuffer)                                                                         \
    X(clCreateProgramWithSource)                                                                   \
    X(clBuildProgram)                                                                              \
    X(clGetProgramBuildInfo)                                                                       \
    X(clReleaseProgram)                                                                            \
    X(clCreateKernel)                                                                              \
    X(clReleaseKernel)                                                                             \
    X(clGetKernelInfo)                                                                             \
    X(clGetKernelWorkGroupInfo)                                                                    \
    X(clSetKernelArg)                                                                              \
    X(clEnqueueNDRangeKernel)                                                                      \
    X(clEnqueueMarkerWithWaitList)                                                                 \
    X(clEnqueueBarrierWithWaitList)                                                                \
    X(clGetEventProfilingInfo)                                                                     \
    X(clWaitForEvents)                                                                             \
    X(clReleaseEvent)                                                                              \
    X(clEnqueueMapBuffer)                                                                          \
    X(clEnqueueUnmapMemObject)                                                                     \
    X(clGetExtensionFunctionAddressForPlatform)                                                    \
    X(clFlush)                                                                                     \
    X(clFinish)

/* Functions of OpenCL 2.0, which a loader or a driver may lack, and headers of 1.2 do. */
/* clang-format off */
#define OPENCL_SVM_LIST(X)                                                                         \
    X(clSVMAlloc, void *, (cl_context context, cl_bitfield flags, size_t bytes, cl_uint alignment)) \
    X(clSVMFree, void, (cl_context context, void *pointer))                                        \
    X(clEnqueueSVMFree, cl_int,                                                                    \
      (cl_command_queue queue, cl_uint count, void *pointers[], void *free_function,               \
       void *context, cl_uint wait_count, const cl_event *wait, cl_event *event))                  \
    X(clEnqueueSVMMap, cl_int,                                                                     \
      (cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *pointer, size_t bytes,  \
       cl_uint wait_count, const cl_event *wait, cl_event *event))                                 \
    X(clEnqueueSVMUnmap, cl_int,                                                                   \
      (cl_command_queue queue, void *pointer, cl_uint wait_count, const cl_event *wait,            \
       cl_event *event))                                                                           \
    X(clEnqueueSVMMemcpy, cl_int,                                                                  \
      (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t bytes,         \
       cl_uint wait_count, const cl_event *wait, cl_event *event))                                 \
    X(clEnqueueSVMMemFill, cl_int,                                                                 \
      (cl_command_queue queue, void *pointer, const void *pattern, size_t pattern_bytes,           \
       size_t bytes, cl_uint wait_count, const cl_event *wait, cl_event *event))                   \
    X(clSetKernelArgSVMPointer, cl_int, (cl_kernel kernel, cl_uint index, const void *pointer))
/* clang-format on */

struct opencl_api {
#define X(name) __typeof__(name) *name;
    OPENCL_FUNCTION_LIST(X)
#undef X
    bool has_svm; /* false: the functions below are NULL, the loader is older than OpenCL 2.0 */
#define X(name, result, parameters) result(*name) parameters;
    OPENCL_SVM_LIST(X)
#undef X
};

/* Opens the ICD loader. ERR_UNSUPPORTED where there is none; the message says what to install. The
 * library stays loaded: drivers start threads that do not survive being unloaded. */
int opencl_api_load(struct opencl_api *api, struct error *error);

/* "CL_OUT_OF_RESOURCES"; "an unknown error" for what is not in cl.h. */
const char *opencl_error_name(cl_int code);

/* Kinds of calls: one that waits for earlier commands also reports their failures. */
enum opencl_call { OPENCL_ASKS, OPENCL_WAITS };

/* Turns a driver's code into an error that names the call and, unless 0, the bytes it was about.
 * Returns 0 for CL_SUCCESS. */
int opencl_check(cl_int code, const char *call, enum opencl_call kind, uint64_t bytes,
                 struct error *error);

struct device_info;
/* Describes a device of an application's; of the functions of `api`, those that get platforms,
 * devices and infos are needed. Its number is that of the same device of gamut's. */
void opencl_describe(const struct opencl_api *api, cl_device_id device, struct device_info *info);

/* Calls a function with the arguments that follow, and checks what it returns. */
#define OPENCL_CALL(api, function, kind, bytes, error, ...)                                        \
    opencl_check((api)->function(__VA_ARGS__), #function, kind, bytes, error)
