/* What the parts of the host device share: host.c (memory, kernels, time) and host_vm.c (virtual
 * memory). */
#ifndef GAMUT_DEVICE_HOST_DEVICE_H
#define GAMUT_DEVICE_HOST_DEVICE_H

#include "device/device.h"

enum { HOST_PAGE_BYTES = 4096 };

struct host_device {
    struct device base;
    struct device_info info;
    uint64_t held_bytes; /* of raw memory and of chunks */
    uint64_t busy_ns;    /* in kernels, copies and fills so far */
    uint64_t mark_ns[2];
    uint64_t *profile_ns; /* NULL but between profile_begin and profile_end */
    unsigned profile_most, profile_count;
    uint64_t profile_start_ns;
    unsigned threads;
    int chunk_file;            /* all chunks lie in this file that has no name; 0: not made yet */
    uint64_t chunk_file_bytes; /* its size; places are not used again */
};

static inline struct host_device *host_self(struct device *device)
{
    return (struct host_device *)device;
}

/* Whether `bytes` more can be promised. The kernel promises more pages than there are and kills
 * whoever then uses them. */
static inline bool host_has(const struct host_device *d, uint64_t bytes)
{
    return bytes <= d->info.memory_bytes - d->held_bytes;
}

/* ERR_OOM; `call` is the function that has no memory, `why` its reason. */
int host_refuse(struct host_device *d, const char *call, uint64_t bytes, const char *why,
                struct error *error);

/* The hooks of host_vm.c. */
int host_vm_granularity(struct device *device, uint64_t *bytes, struct error *error);
int host_vm_reserve(struct device *device, uint64_t bytes, uint64_t *address, struct error *error);
int host_vm_unreserve(struct device *device, uint64_t address, uint64_t bytes, struct error *error);
int host_vm_create(struct device *device, uint64_t bytes, uint64_t *chunk, struct error *error);
int host_vm_release(struct device *device, uint64_t chunk, uint64_t bytes, struct error *error);
int host_vm_map(struct device *device, uint64_t address, uint64_t chunk, uint64_t bytes,
                struct error *error);
int host_vm_access(struct device *device, uint64_t address, uint64_t bytes, struct error *error);
int host_vm_unmap(struct device *device, uint64_t address, uint64_t bytes, struct error *error);

#endif
