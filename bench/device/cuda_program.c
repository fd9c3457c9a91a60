/* Building kernels with NVRTC, and launching them. */
#include "device/device.h"

#ifdef GAMUT_WITH_CUDA

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "device/cuda_device.h"

enum {
    PARAMETERS_MAX = 1024, /* the driver allows 4 KiB of parameters to a kernel */
    GRID_X_MAX = INT32_MAX,
    GRID_YZ_MAX = 65535,
};

struct cuda_kernel {
    CUfunction function;
    unsigned group_items_max; /* registers and shared memory may allow fewer than the device does */
};

/* The kernels compiled for one variant of launches; `kernels` is NULL until the first of them. */
struct variant {
    CUmodule module;
    struct cuda_kernel *kernels;
};

struct device_program {
    struct kernel_source source;
    struct variant variants[KERNEL_VARIANTS];
};

/* The target that NVRTC compiles for: machine code where it knows the device, else the portable
 * code of the closest earlier device, which the driver then compiles. */
struct target {
    bool machine_code;
    char option[40];
};

static int check_nvrtc(const struct cuda_device *d, nvrtcResult result, const char *call,
                       struct error *error)
{
    if (result == NVRTC_SUCCESS)
        return 0;
    return error_set(error, ERR_BUILD, "%s of NVRTC %d.%d: %s (%d)", call, d->api.nvrtc_major,
                     d->api.nvrtc_minor, d->api.nvrtcGetErrorString(result), (int)result);
}

static int choose_target(const struct cuda_device *d, struct target *target, struct error *error)
{
    int count = 0, best = 0;
    TRY(check_nvrtc(d, d->api.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs",
                    error));
    int *archs = must_alloc(((size_t)count + 1) * sizeof *archs);
    int code =
        check_nvrtc(d, d->api.nvrtcGetSupportedArchs(archs), "nvrtcGetSupportedArchs", error);
    for (int i = 0; i < count && !code; i++)
        if (archs[i] <= d->arch && archs[i] > best)
            best = archs[i];
    free(archs);
    if (!code && best == 0)
        code = error_set(error, ERR_UNSUPPORTED,
                         "NVRTC %d.%d does not compile for sm_%d: install the NVRTC of an earlier "
                         "CUDA and set CUDA_PATH to it",
                         d->api.nvrtc_major, d->api.nvrtc_minor, d->arch);
    target->machine_code = best == d->arch;
    snprintf(target->option, sizeof target->option, "--gpu-architecture=%s_%d",
             target->machine_code ? "sm" : "compute", best);
    return code;
}

static int compile_failed(struct cuda_device *d, const struct kernel_source *source,
                          nvrtcProgram program, nvrtcResult result, struct error *error)
{
    size_t size = 0;
    nvrtcResult no_log = d->api.nvrtcGetProgramLogSize(program, &size);
    char *messages = must_alloc(size + 1);
    if (no_log == NVRTC_SUCCESS && size > 0)
        d->api.nvrtcGetProgramLog(program, messages);
    error_set(error, ERR_BUILD, "%s: NVRTC: %s (%d)\n%s", source->name,
              d->api.nvrtcGetErrorString(result), (int)result, messages);
    free(messages);
    return ERR_BUILD;
}

/* Stores the compiler's result, which the driver can load; the caller frees *image. */
static int take_image(struct cuda_device *d, nvrtcProgram program, bool machine_code, char **image,
                      struct error *error)
{
    const struct cuda_api *api = &d->api;
    size_t size = 0;
    TRY(check_nvrtc(d,
                    machine_code ? api->nvrtcGetCUBINSize(program, &size)
                                 : api->nvrtcGetPTXSize(program, &size),
                    "asking for the size of the code", error));
    *image = must_alloc(size + 1);
    return check_nvrtc(
        d, machine_code ? api->nvrtcGetCUBIN(program, *image) : api->nvrtcGetPTX(program, *image),
        "asking for the code", error);
}

static int compile_variant(struct cuda_device *d, const struct kernel_source *source,
                           enum kernel_variant variant, char **image, struct error *error)
{
    char define[32];
    snprintf(define, sizeof define, "-DGAMUT_VARIANT=%d", (int)variant);
    struct target target;
    nvrtcProgram program;
    int code = choose_target(d, &target, error);
    THEN(code,
         check_nvrtc(d,
                     d->api.nvrtcCreateProgram(&program, source->text, source->name, 0, NULL, NULL),
                     "nvrtcCreateProgram", error));
    TRY(code);
    /* Contraction is off because the other devices round after each operation too. */
    const char *options[] = {target.option, "--std=c++17", "--fmad=false", define};
    nvrtcResult result =
        d->api.nvrtcCompileProgram(program, sizeof options / sizeof *options, options);
    if (result != NVRTC_SUCCESS)
        code = compile_failed(d, source, program, result, error);
    else
        code = take_image(d, program, target.machine_code, image, error);
    d->api.nvrtcDestroyProgram(&program);
    return code;
}

static int find_kernel(struct cuda_device *d, CUmodule module, const char *name,
                       struct cuda_kernel *k, struct error *error)
{
    int most = 0;
    int code = CUDA_CALL(&d->api, cuModuleGetFunction, 0, error, &k->function, module, name);
    THEN(code, CUDA_CALL(&d->api, cuFuncGetAttribute, 0, error, &most,
                         CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k->function));
    if (code)
        error_prefix(error, "kernel %s: ", name);
    k->group_items_max = (unsigned)most;
    return code;
}

/* Compiles and loads the kernels of the variant unless that was done before. */
static int build_variant(struct cuda_device *d, struct device_program *p,
                         enum kernel_variant number, struct error *error)
{
    struct variant *variant = &p->variants[number];
    if (variant->kernels)
        return 0;
    char *image = NULL;
    struct cuda_kernel *kernels = must_alloc((p->source.kernel_count + 1) * sizeof *kernels);
    int code = compile_variant(d, &p->source, number, &image, error);
    THEN(code, CUDA_CALL(&d->api, cuModuleLoadData, 0, error, &variant->module, image));
    for (size_t i = 0; i < p->source.kernel_count && !code; i++)
        code = find_kernel(d, variant->module, p->source.kernel_names[i], &kernels[i], error);
    free(image);
    if (code)
        free(kernels);
    else
        variant->kernels = kernels;
    return code;
}

void cuda_unbuild(struct device *device, struct device_program *p)
{
    struct cuda_device *d = cuda_self(device);
    bool usable = cuda_use(d, NULL) == 0;
    for (int f = 0; f < KERNEL_VARIANTS; f++) {
        if (p->variants[f].module && usable)
            d->api.cuModuleUnload(p->variants[f].module);
        free(p->variants[f].kernels);
    }
    free(p);
}

int cuda_build(struct device *device, const struct kernel_source *source,
               struct device_program **program, struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    struct device_program *p = must_alloc(sizeof *p);
    *p = (struct device_program){.source = *source};
    int code = cuda_use(d, error);
    THEN(code, build_variant(d, p, source->variant, error));
    if (code)
        cuda_unbuild(device, p);
    else
        *program = p;
    return code;
}

/* ---- launch ---- */

struct geometry {
    unsigned grid[3], block[3];
};

static int plain_blocks(const struct cuda_kernel *k, const struct launch *launch,
                        struct geometry *g, struct error *error)
{
    struct launch_grid grid = launch_gpu_grid(launch, k->group_items_max);
    for (int i = 0; i < 3; i++) {
        bool fits = grid.groups[i] <= (i == 0 ? GRID_X_MAX : GRID_YZ_MAX);
        /* In variant KERNEL_ANY kernels step through y and z by the size of the grid: a smaller one
         * does no less. */
        if (!fits && (i == 0 || launch->variant != KERNEL_ANY))
            return error_set(error, ERR_UNSUPPORTED, "a kernel over %lld items in %c",
                             (long long)launch->extent[i], "xyz"[i]);
        g->block[i] = grid.items[i];
        g->grid[i] = fits ? (unsigned)grid.groups[i] : GRID_YZ_MAX;
    }
    return 0;
}

static int choose_geometry(const struct cuda_kernel *k, const struct launch *launch,
                           struct geometry *g, struct error *error)
{
    if (launch->group_items == 0)
        return plain_blocks(k, launch, g, error);
    if (launch->group_items > k->group_items_max || launch->extent[0] > GRID_X_MAX)
        return error_set(error, ERR_UNSUPPORTED,
                         "%lld groups of %u items: the device runs at most %d groups of %u items "
                         "of this kernel",
                         (long long)launch->extent[0], launch->group_items, GRID_X_MAX,
                         k->group_items_max);
    *g = (struct geometry){.grid = {(unsigned)launch->extent[0], 1, 1},
                           .block = {launch->group_items, 1, 1}};
    return 0;
}

int cuda_launch(struct device *device, struct device_program *program, size_t kernel,
                const struct launch *launch, size_t argument_count,
                const enum launch_arg_kind *kinds, const union launch_value *arguments,
                struct error *error)
{
    struct cuda_device *d = cuda_self(device);
    struct geometry g;
    void *parameters[PARAMETERS_MAX];
    (void)kinds; /* every value lies at the start of its union; a memory's value is its address */
    if (argument_count > PARAMETERS_MAX)
        return error_set(error, ERR_UNSUPPORTED, "a kernel of %zu parameters: at most %d fit",
                         argument_count, PARAMETERS_MAX);
    for (size_t i = 0; i < argument_count; i++)
        parameters[i] = (void *)&arguments[i];
    TRY(cuda_use(d, error));
    TRY(build_variant(d, program, launch->variant, error));
    const struct cuda_kernel *k = &program->variants[launch->variant].kernels[kernel];
    TRY(choose_geometry(k, launch, &g, error));
    CUresult result =
        d->api.cuLaunchKernel(k->function, g.grid[0], g.grid[1], g.grid[2], g.block[0], g.block[1],
                              g.block[2], 0, d->stream, parameters, NULL);
    return cuda_check(&d->api, result, "cuLaunchKernel", 0, error);
}

#endif
