/* What the parts of the CUDA device share: cuda.c (devices, memory, streams), cuda_program.c
 * (building and launching kernels), cuda_host.c (memory that the host can address), cuda_pool.c
 * (the driver's pools), cuda_vm.c (virtual memory) and cuda_together.c (several devices). */
#ifndef GAMUT_DEVICE_CUDA_DEVICE_H
#define GAMUT_DEVICE_CUDA_DEVICE_H

#include "device/cuda_api.h"
#include "device/device.h"

struct cuda_device {
    struct device base;
    struct device_info info;
    struct cuda_api api;
    CUdevice device;
    CUcontext context; /* the primary one, shared with other users of this device in the process */
    CUstream streams[DEVICE_QUEUES_MAX]; /* NULL: not used yet */
    CUstream stream;                     /* the one that commands go to */
    CUevent marks[2];
    struct cuda_profile *profile; /* NULL but between profile_begin and profile_end */
    uint64_t managed_bytes;       /* live, whoever has their pages now */
    int arch;                     /* 90 for sm_90 */
};

static inline struct cuda_device *cuda_self(struct device *device)
{
    return (struct cuda_device *)device;
}

/* The driver's calls act on the calling thread's current context: every hook begins by making it
 * the device's, so that several devices can be open at once. */
static inline int cuda_use(struct cuda_device *d, struct error *error)
{
    return cuda_check(&d->api, d->api.cuCtxSetCurrent(d->context), "cuCtxSetCurrent", 0, error);
}

/* cuda_profile.c. Every hook that may wait for the device calls cuda_profile_open first: the device
 * may be held back. */
void cuda_profile_let_go(struct cuda_device *d);
static inline void cuda_profile_open(struct cuda_device *d)
{
    if (d->profile)
        cuda_profile_let_go(d);
}
int cuda_profile_begin(struct device *device, unsigned most, struct error *error);
int cuda_profile_start(struct device *device, struct error *error);
int cuda_profile_stop(struct device *device, struct error *error);
int cuda_profile_end(struct device *device, uint64_t *ns, unsigned *count, bool *marked,
                     struct error *error);

/* The stream of a queue, made on first use. Streams are ordered neither with the default one nor
 * with each other. The context must be in use. */
int cuda_stream(struct cuda_device *d, unsigned queue, CUstream *stream, struct error *error);

/* The hooks of cuda_program.c; see struct device_ops. */
int cuda_build(struct device *device, const struct kernel_source *source,
               struct device_program **program, struct error *error);
void cuda_unbuild(struct device *device, struct device_program *program);
int cuda_launch(struct device *device, struct device_program *program, size_t kernel,
                const struct launch *launch, size_t argument_count,
                const enum launch_arg_kind *kinds, const union launch_value *arguments,
                struct error *error);

/* The hooks of cuda_host.c. */
int cuda_host_alloc(struct device *device, enum host_memory kind, uint64_t bytes, uint64_t *memory,
                    void **host, struct error *error);
int cuda_host_free(struct device *device, enum host_memory kind, uint64_t memory, uint64_t bytes,
                   struct error *error);
int cuda_load(struct device *device, void *host, uint64_t memory, uint64_t offset, uint64_t bytes,
              struct error *error);

/* The hooks of cuda_pool.c. */
int cuda_pool_open(struct device *device, const struct device_pool_options *options, uint64_t *pool,
                   struct error *error);
int cuda_pool_close(struct device *device, uint64_t pool, struct error *error);
int cuda_pool_alloc(struct device *device, uint64_t pool, unsigned queue, uint64_t bytes,
                    uint64_t *memory, struct error *error);
int cuda_pool_free(struct device *device, uint64_t pool, unsigned queue, uint64_t memory,
                   uint64_t bytes, struct error *error);
int cuda_pool_trim(struct device *device, uint64_t pool, uint64_t keep_bytes, struct error *error);
int cuda_pool_reserved(struct device *device, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                       struct error *error);
int cuda_pool_reset_peak(struct device *device, uint64_t pool, struct error *error);

/* The hooks of cuda_together.c. */
int cuda_open_together(const char *const *ids, unsigned count, struct device **devices,
                       struct error *error);
int cuda_peer_copy(struct device *device, uint64_t to, uint64_t to_offset, struct device *of,
                   uint64_t from, uint64_t from_offset, uint64_t bytes, struct error *error);
int cuda_event_create(struct device *device, uint64_t *event, struct error *error);
void cuda_event_destroy(struct device *device, uint64_t event);
int cuda_event_record(struct device *device, uint64_t event, struct error *error);
int cuda_event_wait(struct device *device, struct device *of, uint64_t event, struct error *error);

/* The hooks of cuda_vm.c. */
int cuda_vm_granularity(struct device *device, uint64_t *bytes, struct error *error);
int cuda_vm_reserve(struct device *device, uint64_t bytes, uint64_t *address, struct error *error);
int cuda_vm_unreserve(struct device *device, uint64_t address, uint64_t bytes, struct error *error);
int cuda_vm_create(struct device *device, uint64_t bytes, uint64_t *chunk, struct error *error);
int cuda_vm_release(struct device *device, uint64_t chunk, uint64_t bytes, struct error *error);
int cuda_vm_map(struct device *device, uint64_t address, uint64_t chunk, uint64_t bytes,
                struct error *error);
int cuda_vm_access(struct device *device, uint64_t address, uint64_t bytes, struct error *error);
int cuda_vm_unmap(struct device *device, uint64_t address, uint64_t bytes, struct error *error);

#endif
