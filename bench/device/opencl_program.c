/* Building and launching OpenCL kernels. */
#include "device/device.h"

#ifdef GAMUT_WITH_OPENCL

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "device/opencl_device.h"

/* The argument that a kernel's parameter was last set to. */
struct last_argument {
    bool set;
    union launch_value value;
};

struct opencl_kernel {
    cl_kernel kernel;
    size_t group_items_max; /* registers and local memory may allow fewer than the device does */
    size_t argument_count;
    struct last_argument *last;
    uint64_t freed_count; /* the device's freed_count when the memories were last set */
    bool is_set, has_svm; /* arguments were set; one of them to shared virtual memory */
};

/* The kernels compiled for one variant of launches; `program` is NULL until the first of them. */
struct variant {
    cl_program program;
    struct opencl_kernel *kernels;
};

struct device_program {
    struct kernel_source source;
    struct variant variants[KERNEL_VARIANTS];
};

static int build_failed(struct opencl_device *d, const struct kernel_source *source,
                        cl_program program, cl_int status, struct error *error)
{
    size_t size = 0;
    cl_int no_log =
        d->api.clGetProgramBuildInfo(program, d->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log_text = must_alloc(size + 1);
    if (no_log == CL_SUCCESS && size > 0)
        d->api.clGetProgramBuildInfo(program, d->device, CL_PROGRAM_BUILD_LOG, size, log_text,
                                     NULL);
    error_set(error, ERR_BUILD, "%s: clBuildProgram: %s (%d)\n%s", source->name,
              opencl_error_name(status), (int)status, log_text);
    free(log_text);
    return ERR_BUILD;
}

static int compile_variant(struct opencl_device *d, const struct kernel_source *source,
                           enum kernel_variant variant, cl_program *program, struct error *error)
{
    cl_int status;
    *program = d->api.clCreateProgramWithSource(d->context, 1, (const char **)&source->text, NULL,
                                                &status);
    if (!*program)
        return opencl_check(status, "clCreateProgramWithSource", OPENCL_ASKS, 0, error);
    char options[96];
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DGAMUT_VARIANT=%d%s", (int)variant,
             d->rounds_division ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
    status = d->api.clBuildProgram(*program, 1, &d->device, options, NULL, NULL);
    return status == CL_SUCCESS ? 0 : build_failed(d, source, *program, status, error);
}

static int create_kernel(struct opencl_device *d, cl_program program, const char *name,
                         struct opencl_kernel *k, struct error *error)
{
    cl_int status;
    k->kernel = d->api.clCreateKernel(program, name, &status);
    if (!k->kernel) {
        int code = opencl_check(status, "clCreateKernel", OPENCL_ASKS, 0, error);
        error_prefix(error, "kernel %s: ", name);
        return code == ERR_DEVICE ? ERR_BUILD : code;
    }
    cl_uint argument_count = 0;
    status = d->api.clGetKernelInfo(k->kernel, CL_KERNEL_NUM_ARGS, sizeof argument_count,
                                    &argument_count, NULL);
    if (status == CL_SUCCESS)
        status =
            d->api.clGetKernelWorkGroupInfo(k->kernel, d->device, CL_KERNEL_WORK_GROUP_SIZE,
                                            sizeof k->group_items_max, &k->group_items_max, NULL);
    k->argument_count = argument_count;
    k->last = must_alloc((argument_count + 1) * sizeof *k->last);
    return opencl_check(status, "clGetKernelInfo", OPENCL_ASKS, 0, error);
}

static void discard_kernel(struct opencl_device *d, struct opencl_kernel *k)
{
    if (k->kernel)
        d->api.clReleaseKernel(k->kernel);
    free(k->last);
    *k = (struct opencl_kernel){0};
}

static void discard_variant(struct opencl_device *d, struct variant *variant, size_t kernel_count)
{
    for (size_t i = 0; i < kernel_count && variant->kernels; i++)
        discard_kernel(d, &variant->kernels[i]);
    free(variant->kernels);
    if (variant->program)
        d->api.clReleaseProgram(variant->program);
    *variant = (struct variant){0};
}

/* Compiles the kernels of the variant unless that was done before. */
static int build_variant(struct opencl_device *d, struct device_program *p,
                         enum kernel_variant number, struct error *error)
{
    struct variant *variant = &p->variants[number];
    size_t count = p->source.kernel_count;
    if (variant->program)
        return 0;
    int code = compile_variant(d, &p->source, number, &variant->program, error);
    variant->kernels = must_alloc((count + 1) * sizeof *variant->kernels);
    for (size_t i = 0; i < count && !code; i++)
        code = create_kernel(d, variant->program, p->source.kernel_names[i], &variant->kernels[i],
                             error);
    if (code)
        discard_variant(d, variant, count);
    return code;
}

void opencl_unbuild(struct device *device, struct device_program *p)
{
    for (int f = 0; f < KERNEL_VARIANTS; f++)
        discard_variant(opencl_self(device), &p->variants[f], p->source.kernel_count);
    free(p);
}

int opencl_build(struct device *device, const struct kernel_source *source,
                 struct device_program **program, struct error *error)
{
    struct device_program *p = must_alloc(sizeof *p);
    *p = (struct device_program){.source = *source};
    int code = build_variant(opencl_self(device), p, source->variant, error);
    if (code)
        opencl_unbuild(device, p);
    else
        *program = p;
    return code;
}

/* ---- launch ---- */

/* Bytes of an argument: in launch_value, and for the driver, which has 64 bits. */
static const uint8_t sizes[] = {
    [ARG_MEMORY] = sizeof(cl_mem),
    [ARG_I32] = 4,
    [ARG_U32] = 4,
    [ARG_I64] = 8,
    [ARG_U8] = 1,
    [ARG_BOOL] = 1,
    [ARG_F32] = 4,
    [ARG_F64] = 8,
};

static cl_int set_argument(const struct opencl_device *d, const struct opencl_kernel *k, size_t i,
                           enum launch_arg_kind kind, const union launch_value *value)
{
    if (kind == ARG_MEMORY && opencl_is_svm(value->memory))
        return d->api.clSetKernelArgSVMPointer(k->kernel, (cl_uint)i,
                                               opencl_pointer(value->memory, 0));
    cl_mem memory = kind == ARG_MEMORY ? opencl_memory(value->memory) : NULL;
    return d->api.clSetKernelArg(k->kernel, (cl_uint)i, sizes[kind],
                                 kind == ARG_MEMORY ? (const void *)&memory : value);
}

/* Sets the arguments that differ from the last launch. After a free it sets all memories again: the
 * driver may have looked up a memory's address when it was set, and another memory may have got the
 * freed handle. */
static int set_arguments(struct opencl_device *d, struct opencl_kernel *k,
                         const enum launch_arg_kind *kinds, const union launch_value *arguments,
                         struct error *error)
{
    bool memories_stand = k->freed_count == d->freed_count;
    for (size_t i = 0; i < k->argument_count; i++) {
        struct last_argument *last = &k->last[i];
        if (last->set && (kinds[i] != ARG_MEMORY || memories_stand) &&
            memcmp(&last->value, &arguments[i], sizes[kinds[i]]) == 0)
            continue;
        last->set = false;
        cl_int status = set_argument(d, k, i, kinds[i], &arguments[i]);
        if (status != CL_SUCCESS) {
            int code = opencl_check(status, "clSetKernelArg", OPENCL_ASKS, 0, error);
            error_prefix(error, "argument %zu: ", i);
            return code;
        }
        *last = (struct last_argument){.set = true, .value = arguments[i]};
    }
    k->freed_count = d->freed_count;
    return 0;
}

/* NVIDIA's driver refuses a kernel once an argument that was a pointer to shared virtual memory is
 * set to a buffer (CL_INVALID_KERNEL_ARGS). So the kernel is made anew when the kind changes. */
static int match_memory(struct opencl_device *d, cl_program program, const char *name,
                        struct opencl_kernel *k, const enum launch_arg_kind *kinds,
                        const union launch_value *arguments, struct error *error)
{
    bool has_svm = false;
    for (size_t i = 0; i < k->argument_count; i++)
        has_svm |= kinds[i] == ARG_MEMORY && opencl_is_svm(arguments[i].memory);
    int code = 0;
    if (k->is_set && k->has_svm != has_svm) {
        discard_kernel(d, k);
        code = create_kernel(d, program, name, k, error);
    }
    k->is_set = true;
    k->has_svm = has_svm;
    return code;
}

/* Chooses the groups of a plain kernel. A CPU runs the items of a group in a loop that it
 * vectorises along x; on PoCL 256 was as fast as any longer row and a third faster than 64. PoCL
 * compiles a kernel anew for every group size, hence just two: 256, and 16 for narrow arrays. */
static void plain_groups(const struct opencl_device *d, const struct opencl_kernel *k,
                         const struct launch *launch, size_t global[3], size_t local[3])
{
    if (d->info.kind == DEVICE_GPU) {
        struct launch_grid grid = launch_gpu_grid(launch, k->group_items_max);
        for (unsigned i = 0; i < 3; i++) {
            local[i] = grid.items[i];
            global[i] = (size_t)grid.groups[i] * local[i];
        }
        return;
    }
    local[0] = launch->rank > 1 && launch->extent[0] < 128 ? 16 : 256;
    local[1] = local[2] = 1;
    while (local[0] > k->group_items_max && local[0] > 1)
        local[0] /= 2;
    for (unsigned i = 0; i < 3; i++) {
        size_t extent = (size_t)launch->extent[i];
        global[i] = (extent + local[i] - 1) / local[i] * local[i];
    }
}

static int choose_groups(const struct opencl_device *d, const struct opencl_kernel *k,
                         const struct launch *launch, size_t global[3], size_t local[3],
                         struct error *error)
{
    if (launch->group_items == 0) {
        plain_groups(d, k, launch, global, local);
        return 0;
    }
    if (launch->group_items > k->group_items_max)
        return error_set(error, ERR_UNSUPPORTED,
                         "groups of %u items: %s runs at most %zu of this kernel",
                         launch->group_items, d->info.name, k->group_items_max);
    for (unsigned i = 0; i < 3; i++)
        global[i] = local[i] = 1;
    local[0] = launch->group_items;
    global[0] = (size_t)launch->extent[0] * local[0];
    return 0;
}

int opencl_launch(struct device *device, struct device_program *program, size_t kernel,
                  const struct launch *launch, size_t argument_count,
                  const enum launch_arg_kind *kinds, const union launch_value *arguments,
                  struct error *error)
{
    struct opencl_device *d = opencl_self(device);
    size_t global[3], local[3];
    TRY(build_variant(d, program, launch->variant, error));
    struct opencl_kernel *k = &program->variants[launch->variant].kernels[kernel];
    if (argument_count != k->argument_count)
        return error_set(error, ERR_INTERNAL, "a kernel of %zu parameters is given %zu arguments",
                         k->argument_count, argument_count);
    TRY(match_memory(d, program->variants[launch->variant].program,
                     program->source.kernel_names[kernel], k, kinds, arguments, error));
    TRY(set_arguments(d, k, kinds, arguments, error));
    TRY(choose_groups(d, k, launch, global, local, error));
    return OPENCL_CALL(&d->api, clEnqueueNDRangeKernel, OPENCL_ASKS, 0, error, d->queue, k->kernel,
                       launch->rank, NULL, global, local, 0, NULL, opencl_profile_event(d));
}

#endif
