#include "base/text.h"

#ifdef GAMUT_WITH_OPENCL

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "device/opencl_api.h"

struct function {
    const char *name;
    size_t offset; /* in struct opencl_api */
};
#define FUNCTION(name) {#name, offsetof(struct opencl_api, name)},
static const struct function functions[] = {OPENCL_FUNCTION_LIST(FUNCTION)};
#define SVM_FUNCTION(name, result, parameters) {#name, offsetof(struct opencl_api, name)},
static const struct function svm_functions[] = {OPENCL_SVM_LIST(SVM_FUNCTION)};

int opencl_api_load(struct opencl_api *api, struct error *error)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return error_set(error, ERR_UNSUPPORTED,
                         "%s: install the OpenCL loader and a driver (Debian: apt install "
                         "ocl-icd-libopencl1 pocl-opencl-icd)",
                         dlerror());
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function)
            return error_set(error, ERR_UNSUPPORTED,
                             "libOpenCL.so.1 has no %s: it is older than OpenCL 1.2",
                             functions[i].name);
        memcpy((char *)api + functions[i].offset, &function, sizeof function);
    }
    api->has_svm = true;
    for (size_t i = 0; i < sizeof svm_functions / sizeof *svm_functions; i++) {
        void *function = dlsym(library, svm_functions[i].name);
        memcpy((char *)api + svm_functions[i].offset, &function, sizeof function);
        api->has_svm = api->has_svm && function;
    }
    return 0;
}

#define ERROR_NAME_LIST(X)                                                                         \
    X(CL_DEVICE_NOT_FOUND)                                                                         \
    X(CL_DEVICE_NOT_AVAILABLE)                                                                     \
    X(CL_COMPILER_NOT_AVAILABLE)                                                                   \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE)                                                            \
    X(CL_OUT_OF_RESOURCES)                                                                         \
    X(CL_OUT_OF_HOST_MEMORY)                                                                       \
    X(CL_PROFILING_INFO_NOT_AVAILABLE)                                                             \
    X(CL_MEM_COPY_OVERLAP)                                                                         \
    X(CL_IMAGE_FORMAT_MISMATCH)                                                                    \
    X(CL_IMAGE_FORMAT_NOT_SUPPORTED)                                                               \
    X(CL_BUILD_PROGRAM_FAILURE)                                                                    \
    X(CL_MAP_FAILURE)                                                                              \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET)                                                             \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                                                \
    X(CL_COMPILE_PROGRAM_FAILURE)                                                                  \
    X(CL_LINKER_NOT_AVAILABLE)                                                                     \
    X(CL_LINK_PROGRAM_FAILURE)                                                                     \
    X(CL_DEVICE_PARTITION_FAILED)                                                                  \
    X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)                                                            \
    X(CL_INVALID_VALUE)                                                                            \
    X(CL_INVALID_DEVICE_TYPE)                                                                      \
    X(CL_INVALID_PLATFORM)                                                                         \
    X(CL_INVALID_DEVICE)                                                                           \
    X(CL_INVALID_CONTEXT)                                                                          \
    X(CL_INVALID_QUEUE_PROPERTIES)                                                                 \
    X(CL_INVALID_COMMAND_QUEUE)                                                                    \
    X(CL_INVALID_HOST_PTR)                                                                         \
    X(CL_INVALID_MEM_OBJECT)                                                                       \
    X(CL_INVALID_BINARY)                                                                           \
    X(CL_INVALID_BUILD_OPTIONS)                                                                    \
    X(CL_INVALID_PROGRAM)                                                                          \
    X(CL_INVALID_PROGRAM_EXECUTABLE)                                                               \
    X(CL_INVALID_KERNEL_NAME)                                                                      \
    X(CL_INVALID_KERNEL_DEFINITION)                                                                \
    X(CL_INVALID_KERNEL)                                                                           \
    X(CL_INVALID_ARG_INDEX)                                                                        \
    X(CL_INVALID_ARG_VALUE)                                                                        \
    X(CL_INVALID_ARG_SIZE)                                                                         \
    X(CL_INVALID_KERNEL_ARGS)                                                                      \
    X(CL_INVALID_WORK_DIMENSION)                                                                   \
    X(CL_INVALID_WORK_GROUP_SIZE)                                                                  \
    X(CL_INVALID_WORK_ITEM_SIZE)                                                                   \
    X(CL_INVALID_GLOBAL_OFFSET)                                                                    \
    X(CL_INVALID_EVENT_WAIT_LIST)                                                                  \
    X(CL_INVALID_EVENT)                                                                            \
    X(CL_INVALID_OPERATION)                                                                        \
    X(CL_INVALID_BUFFER_SIZE)                                                                      \
    X(CL_INVALID_GLOBAL_WORK_SIZE)                                                                 \
    X(CL_INVALID_PROPERTY)

enum {
    NO_PLATFORM = -1001,       /* CL_PLATFORM_NOT_FOUND_KHR, of the loader's extension */
    NVIDIA_BAD_ACCESS = -9999, /* NVIDIA: a kernel read or wrote where there is no memory */
};

const char *opencl_error_name(cl_int code)
{
    switch (code) {
#define X(name)                                                                                    \
    case name:                                                                                     \
        return #name;
        ERROR_NAME_LIST(X)
#undef X
    case NO_PLATFORM:
        return "CL_PLATFORM_NOT_FOUND_KHR";
    case NVIDIA_BAD_ACCESS:
        return "invalid access by a kernel (NVIDIA)";
    default:
        return "an unknown error";
    }
}

/* Drivers disagree on how to say that memory is short, and most allocate at the first use. */
static const struct {
    cl_int code;
    int asks, waits; /* the meaning of the code in each kind of call */
} meanings[] = {
    /* NVIDIA and Intel, from clCreateBuffer or the first command that uses the buffer. */
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, ERR_OOM, ERR_OOM},
    /* PoCL, from the first command that uses the buffer. NVIDIA's clFinish says the same when a
     * kernel went wrong; nothing works after that. */
    {CL_OUT_OF_RESOURCES, ERR_OOM, ERR_DEVICE_LOST},
    /* Drivers whose device memory is the host's. */
    {CL_OUT_OF_HOST_MEMORY, ERR_OOM, ERR_OOM},
    /* All of them, for more than CL_DEVICE_MAX_MEM_ALLOC_SIZE. */
    {CL_INVALID_BUFFER_SIZE, ERR_OOM, ERR_OOM},
    {CL_DEVICE_NOT_AVAILABLE, ERR_DEVICE_LOST, ERR_DEVICE_LOST},
    /* The queue was valid when it was made: NVIDIA says this after a kernel went wrong. */
    {CL_INVALID_COMMAND_QUEUE, ERR_DEVICE_LOST, ERR_DEVICE_LOST},
    {NVIDIA_BAD_ACCESS, ERR_DEVICE_LOST, ERR_DEVICE_LOST},
};

int opencl_check(cl_int code, const char *call, enum opencl_call kind, uint64_t bytes,
                 struct error *error)
{
    if (code == CL_SUCCESS)
        return 0;
    int meaning = ERR_DEVICE;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].code == code)
            meaning = kind == OPENCL_WAITS ? meanings[i].waits : meanings[i].asks;
    char size[32];
    return error_set(error, meaning, "%s%s%s: %s (%d)", call, bytes ? " of " : "",
                     bytes ? text_bytes(size, bytes) : "", opencl_error_name(code), (int)code);
}

#endif
