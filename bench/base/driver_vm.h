/* Virtual memory: ranges of addresses, and physical chunks that are mapped into them. A range
 * serves as a memory once chunks are mapped into it and made accessible. All handles are non-zero,
 * and all bytes and offsets are multiples of the granularity. driver_memory.h describes `context`
 * and the owner of the table. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct driver_vm_info {
    uint64_t granularity_bytes;
    uint64_t memory_bytes; /* the memory of the device */
};

struct driver_vm_ops {
    /* ERR_UNSUPPORTED, and the reason, on a device that has no virtual memory. */
    int (*info)(void *context, struct driver_vm_info *info, struct error *error);
    /* Reserves a range of addresses, and gives it back; nothing may be mapped there then. */
    int (*reserve)(void *context, uint64_t bytes, uint64_t *range, struct error *error);
    int (*unreserve)(void *context, uint64_t range, uint64_t bytes, struct error *error);
    /* Makes a chunk. ERR_OOM where the device has no memory left. */
    int (*create)(void *context, uint64_t bytes, uint64_t *chunk, struct error *error);
    /* Releases a chunk, which must be unmapped. */
    int (*release)(void *context, uint64_t chunk, uint64_t bytes, struct error *error);
    /* Maps a whole chunk of `bytes` at an offset of a range. */
    int (*map)(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
               struct error *error);
    /* Makes mapped chunks readable and writable. */
    int (*access)(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                  struct error *error);
    /* Unmaps whole chunks. It waits for nothing: no queued command may still use them. */
    int (*unmap)(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                 struct error *error);
};
/* Of functions that are named as the members are. */
#define DRIVER_VM_OPS                                                                              \
    vm_info, vm_reserve, vm_unreserve, vm_create, vm_release, vm_map, vm_access, vm_unmap
