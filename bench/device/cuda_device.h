/* The state that the files of the CUDA device share. cuda.c has devices and their memory, and calls
 * cuda_queue.c (streams, events, times) and cuda_program.c (building and launching kernels); all
 * three call cuda_api.c. */
#pragma once

#include "device/cuda_api.h"
#include "device/device.h"

struct cuda_guest; /* cuda_guest.c */

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
    uint64_t managed_bytes;       /* bytes of live managed memory, wherever its pages are */
    int arch;                     /* 90 for sm_90 */
    struct cuda_guest *guest;     /* NULL: gamut's own program; else cuda_guest.h */
};

static inline struct cuda_device *cuda_self(struct device *device)
{
    return (struct cuda_device *)device;
}

/* ---- cuda_guest.c ---- */

struct cuda_guest *cuda_guest_make(void);
int cuda_guest_use(struct cuda_device *d, struct error *error);
/* The hooks free and sync of a guest, and the stream of a queue. */
int cuda_guest_free(struct cuda_device *d, uint64_t memory, uint64_t bytes, struct error *error);
int cuda_guest_sync(struct cuda_device *d, struct error *error);
CUstream cuda_guest_stream_of(const struct cuda_device *d, unsigned queue);

/* The driver's calls act on the calling thread's current context: every hook begins by making it
 * the device's, so that several devices can be open at once. */
static inline int cuda_use(struct cuda_device *d, struct error *error)
{
    return d->guest ? cuda_guest_use(d, error)
                    : CUDA_CALL(&d->api, cuCtxSetCurrent, 0, error, d->context);
}

/* ---- cuda_queue.c ---- */

extern const struct device_queue_ops cuda_queues;
extern const struct device_event_ops cuda_events;
extern const struct device_profile_ops cuda_profile;

/* The stream of a queue, made on first use. Streams are ordered neither with the default one nor
 * with each other. The context must be in use. */
int cuda_stream(struct cuda_device *d, unsigned queue, CUstream *stream, struct error *error);

/* The hooks mark and elapsed_ns of struct device_ops. */
int cuda_mark(struct device *device, enum device_mark which, struct error *error);
int cuda_elapsed_ns(struct device *device, uint64_t *ns, struct error *error);

/* Lets the device run if a profile holds it back. Every hook that may wait for the device calls
 * cuda_profile_open first. */
void cuda_profile_release(struct cuda_device *d);
static inline void cuda_profile_open(struct cuda_device *d)
{
    if (d->profile)
        cuda_profile_release(d);
}

/* ---- cuda_program.c ---- */

/* The hooks build, unbuild and launch of struct device_ops. */
int cuda_build(struct device *device, const struct kernel_source *source,
               struct device_program **program, struct error *error);
void cuda_unbuild(struct device *device, struct device_program *program);
int cuda_launch(struct device *device, struct device_program *program, size_t kernel,
                const struct launch *launch, size_t argument_count,
                const enum launch_arg_kind *kinds, const union launch_value *arguments,
                struct error *error);
