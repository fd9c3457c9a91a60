#include "base/text.h"

#ifdef GAMUT_WITH_CUDA

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_api.h"

struct function {
    const char *name;
    size_t offset; /* in struct cuda_api */
};

#define X(name) {#name, offsetof(struct cuda_api, name)},
static const struct function cuda_functions[] = {CUDA_FUNCTION_LIST(X)};
static const struct function nvrtc_functions[] = {NVRTC_FUNCTION_LIST(X)};
#undef X

static int look_up(struct cuda_api *api, void *library, const struct function *functions,
                   size_t count, const char *what, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found)
            return error_set(error, ERR_UNSUPPORTED, "%s has no %s: it is too old (11.2 is needed)",
                             what, functions[i].name);
        memcpy((char *)api + functions[i].offset, &found, sizeof found);
    }
    return 0;
}

static void *open_library(const char *folder, const char *file)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", folder, file);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* The driver refuses machine code from a compiler of a later major version, so the search goes down
 * from the driver's own. */
static void *open_nvrtc(int driver_major)
{
    const char *cuda_path = getenv("CUDA_PATH");
    char own[PATH_MAX / 2] = "";
    if (cuda_path && *cuda_path)
        snprintf(own, sizeof own, "%s/lib64/", cuda_path);
    const char *folders[] = {"", own, "/usr/local/cuda/lib64/"};
    enum { FOLDERS = sizeof folders / sizeof *folders };
    for (int major = driver_major; major >= 11; major--) {
        char file[32];
        snprintf(file, sizeof file, major == 11 ? "libnvrtc.so.11.2" : "libnvrtc.so.%d", major);
        for (size_t i = 0; i < FOLDERS; i++) {
            void *library = open_library(folders[i], file);
            if (library)
                return library;
        }
    }
    void *library = NULL;
    for (size_t i = 0; i < FOLDERS && !library; i++)
        library = open_library(folders[i], "libnvrtc.so");
    return library;
}

static int load_nvrtc(struct cuda_api *api, struct error *error)
{
    int major = api->driver_version / 1000, minor = api->driver_version % 1000 / 10;
    void *library = open_nvrtc(major);
    if (!library)
        return error_set(error, ERR_UNSUPPORTED,
                         "there is a driver for CUDA %d.%d but no NVRTC (libnvrtc.so) to compile "
                         "kernels with: install CUDA's NVRTC package (cuda-nvrtc-%d-%d), or set "
                         "CUDA_PATH to the toolkit",
                         major, minor, major, minor);
    int code = look_up(api, library, nvrtc_functions,
                       sizeof nvrtc_functions / sizeof *nvrtc_functions, "libnvrtc.so", error);
    if (!code && api->nvrtcVersion(&api->nvrtc_major, &api->nvrtc_minor) != NVRTC_SUCCESS)
        code = error_set(error, ERR_UNSUPPORTED, "nvrtcVersion failed");
    return code;
}

int cuda_api_load_driver(struct cuda_api *api, struct error *error)
{
    *api = (struct cuda_api){0};
    void *library = open_library("", "libcuda.so.1");
    if (!library)
        return error_set(error, ERR_UNSUPPORTED, "%s: install NVIDIA's driver", dlerror());
    TRY(look_up(api, library, cuda_functions, sizeof cuda_functions / sizeof *cuda_functions,
                "libcuda.so.1", error));
    TRY(CUDA_CALL(api, cuInit, 0, error, 0));
    return CUDA_CALL(api, cuDriverGetVersion, 0, error, &api->driver_version);
}

int cuda_api_load(struct cuda_api *api, struct error *error)
{
    TRY(cuda_api_load_driver(api, error));
    return load_nvrtc(api, error);
}

/* Whether the context returns nothing but this code from then on. */
static bool is_sticky(CUresult result)
{
    switch ((int)result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN:
    case 46:  /* DEVICE_UNAVAILABLE; this and the next two are missing from older headers */
    case 226: /* CONTAINED: a memory error that ended this process's use of the device */
    case 911: /* EXTERNAL_DEVICE */
        return true;
    default:
        return false;
    }
}

int cuda_check(const struct cuda_api *api, CUresult result, const char *call, uint64_t bytes,
               struct error *error)
{
    if (result == CUDA_SUCCESS)
        return 0;
    const char *name = "an unknown error", *sentence = "";
    api->cuGetErrorName(result, &name);
    api->cuGetErrorString(result, &sentence);
    char size[32], left[32], all[32], state[96] = "";
    size_t free_bytes = 0, all_bytes = 0;
    if (result == CUDA_ERROR_OUT_OF_MEMORY &&
        api->cuMemGetInfo_v2(&free_bytes, &all_bytes) == CUDA_SUCCESS)
        snprintf(state, sizeof state, "; %s of %s are free", text_bytes(left, free_bytes),
                 text_bytes(all, all_bytes));
    int code = result == CUDA_ERROR_OUT_OF_MEMORY ? ERR_OOM
               : is_sticky(result)                ? ERR_DEVICE_LOST
                                                  : ERR_DEVICE;
    const char *version = strstr(call, "_v");
    int length = version ? (int)(version - call) : (int)strlen(call);
    return error_set(error, code, "%.*s%s%s: %s (%d): %s%s", length, call, bytes ? " of " : "",
                     bytes ? text_bytes(size, bytes) : "", name, (int)result, sentence, state);
}

#endif
