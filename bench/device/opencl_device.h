/* What the parts of the OpenCL device share: opencl.c (devices, memory, queues), opencl_program.c
 * (building and launching kernels), opencl_host.c (memory that the host can address),
 * opencl_svm.c (commands on shared virtual memory) and opencl_together.c (several devices in one
 * context). */
#ifndef GAMUT_DEVICE_OPENCL_DEVICE_H
#define GAMUT_DEVICE_OPENCL_DEVICE_H

#include "device/device.h"
#include "device/opencl_api.h"

/* A buffer that is mapped for as long as it lives. */
struct opencl_host_memory {
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
    size_t host_memory_count;
    struct opencl_host_memory *host_memory;
    struct opencl_profile *profile; /* NULL but between profile_begin and profile_end */
    uint64_t freed_count; /* memories given back so far: a handle may come again for another one */
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

/* Not of shared virtual memory. */
static inline cl_mem opencl_memory(uint64_t handle)
{
    return (cl_mem)(uintptr_t)handle;
}

/* opencl_profile.c. Where the event of the command that is given now goes; NULL: nobody asks. */
cl_event *opencl_profile_event(struct opencl_device *d);
int opencl_profile_begin(struct device *device, unsigned most, struct error *error);
int opencl_profile_start(struct device *device, struct error *error);
int opencl_profile_stop(struct device *device, struct error *error);
int opencl_profile_end(struct device *device, uint64_t *ns, unsigned *count, bool *marked,
                       struct error *error);

/* The hooks of opencl_program.c; see struct device_ops. */
int opencl_build(struct device *device, const struct kernel_source *source,
                 struct device_program **program, struct error *error);
void opencl_unbuild(struct device *device, struct device_program *program);
int opencl_launch(struct device *device, struct device_program *program, size_t kernel,
                  const struct launch *launch, size_t argument_count,
                  const enum launch_arg_kind *kinds, const union launch_value *arguments,
                  struct error *error);

/* Opens device number `number` in a context, which it then shares, or in one of its own (NULL). */
int opencl_open_in(const char *id, cl_context context, struct device **device, struct error *error);
/* The platform and the driver's name of a device. ERR_NOT_FOUND. */
int opencl_find(const struct opencl_api *api, const char *id, cl_platform_id *platform,
                cl_device_id *device, struct error *error);

/* The hooks of opencl_together.c. */
int opencl_open_together(const char *const *ids, unsigned count, struct device **devices,
                         struct error *error);
int opencl_peer_copy(struct device *device, uint64_t to, uint64_t to_offset, struct device *of,
                     uint64_t from, uint64_t from_offset, uint64_t bytes, struct error *error);
int opencl_event_create(struct device *device, uint64_t *event, struct error *error);
void opencl_event_destroy(struct device *device, uint64_t event);
int opencl_event_record(struct device *device, uint64_t event, struct error *error);
int opencl_event_wait(struct device *device, struct device *of, uint64_t event,
                      struct error *error);

/* The hooks of opencl_host.c. */
/* Where a memory is mapped for the host; NULL where it is not. */
void *opencl_mapped(const struct opencl_device *d, uint64_t memory);
int opencl_host_alloc(struct device *device, enum host_memory kind, uint64_t bytes,
                      uint64_t *memory, void **host, struct error *error);
int opencl_host_free(struct device *device, enum host_memory kind, uint64_t memory, uint64_t bytes,
                     struct error *error);
int opencl_load(struct device *device, void *host, uint64_t memory, uint64_t offset, uint64_t bytes,
                struct error *error);

/* opencl_svm.c. The handle of new shared memory. */
int opencl_svm_create(struct opencl_device *d, bool fine, uint64_t bytes, uint64_t *memory,
                      struct error *error);
/* After the commands that were given to any queue. */
int opencl_svm_release(struct opencl_device *d, uint64_t memory, uint64_t bytes,
                       struct error *error);
/* The hooks of struct device_ops, for shared virtual memory and bytes > 0. Of copy one side may be
 * a buffer; fill is for small pieces. */
int opencl_svm_read(struct opencl_device *d, void *host, uint64_t memory, uint64_t offset,
                    uint64_t bytes, struct error *error);
int opencl_svm_write(struct opencl_device *d, uint64_t memory, uint64_t offset, const void *host,
                     uint64_t bytes, struct error *error);
int opencl_svm_move(struct opencl_device *d, uint64_t to, uint64_t to_offset, uint64_t from,
                    uint64_t from_offset, uint64_t bytes, struct error *error);
int opencl_svm_set(struct opencl_device *d, uint64_t memory, uint64_t offset, uint8_t byte,
                   uint64_t bytes, struct error *error);

#endif
