/* The state that the files of the OpenCL device share. opencl.c has devices and memory, and calls
 * opencl_queue.c (command queues, events, times) and opencl_program.c (building and launching
 * kernels); all three call opencl_api.c. */
#pragma once

#include "device/device.h"
#include "device/opencl_api.h"

/* A buffer that is mapped for as long as it lives. */
struct opencl_mapping {
    uint64_t memory;
    void *host;
};

struct opencl_device {
    struct device base;
    struct device_info info;
    struct opencl_api api;
    cl_device_id device;
    cl_context context;
    cl_command_queue queues[DEVICE_QUEUES_MAX]; /* NULL: not used yet */
    cl_command_queue queue;                     /* the one that commands go to */
    cl_event marks[2];
    size_t mapping_count;
    struct opencl_mapping *mappings;
    struct opencl_profile *profile; /* NULL but between profile_begin and profile_end */
    uint64_t freed_count; /* memories freed so far: another memory may get the handle of one */
    /* Functions of a recorder, by which phases are named in its recording; NULL: there is none. */
    void(CL_API_CALL *begin_phase)(const char *name);
    void(CL_API_CALL *end_phase)(void);
    bool rounds_division; /* correctly rounded f32 division and square root can be asked for */
};

static inline struct opencl_device *opencl_self(struct device *device)
{
    return (struct opencl_device *)device;
}

/* Shared virtual memory is no cl_mem but a pointer, with commands of its own. Both are aligned to
 * more than 4 bytes, so the low bits of a handle say which of them it is. */
enum { OPENCL_IS_SVM = 1, OPENCL_IS_FINE = 2 };

static inline bool opencl_is_svm(uint64_t handle)
{
    return handle & OPENCL_IS_SVM;
}

static inline char *opencl_pointer(uint64_t handle, uint64_t offset)
{
    return (char *)(uintptr_t)(handle & ~(uint64_t)(OPENCL_IS_SVM | OPENCL_IS_FINE)) + offset;
}

/* The buffer of a handle that is not of shared virtual memory. */
static inline cl_mem opencl_memory(uint64_t handle)
{
    return (cl_mem)(uintptr_t)handle;
}

/* ---- opencl_queue.c ---- */

extern const struct device_queue_ops opencl_queues;
extern const struct device_event_ops opencl_events;
extern const struct device_profile_ops opencl_profile;

/* The hook `use` of opencl_queues. */
int opencl_use_queue(struct device *device, unsigned queue, struct error *error);
/* The hooks mark and elapsed_ns of struct device_ops. */
int opencl_mark(struct device *device, enum device_mark which, struct error *error);
int opencl_elapsed_ns(struct device *device, uint64_t *ns, struct error *error);

/* The place in which the next command stores its event; NULL outside of a profile. */
cl_event *opencl_profile_event(struct opencl_device *d);

/* ---- opencl_program.c ---- */

/* The hooks build, unbuild and launch of struct device_ops. */
int opencl_build(struct device *device, const struct kernel_source *source,
                 struct device_program **program, struct error *error);
void opencl_unbuild(struct device *device, struct device_program *program);
int opencl_launch(struct device *device, struct device_program *program, size_t kernel,
                  const struct launch *launch, size_t argument_count,
                  const enum launch_arg_kind *kinds, const union launch_value *arguments,
                  struct error *error);
