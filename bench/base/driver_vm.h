/* Virtual memory: ranges of addresses, physical chunks, and which chunk lies where. A range serves
 * as a memory once chunks are mapped into it and made accessible. All handles are non-zero, and all
 * bytes and offsets are multiples of the granularity. `context` and who fills in the table:
 * driver_memory.h. */
#ifndef GAMUT_BASE_DRIVER_VM_H
#define GAMUT_BASE_DRIVER_VM_H

#include <stdint.h>

#include "base/error.h"

struct driver_vm_info {
    uint64_t granularity_bytes;
    uint64_t memory_bytes; /* of the device */
};

struct driver_vm_ops {
    /* ERR_UNSUPPORTED, and the reason, on a device that has no virtual memory. */
    int (*info)(void *context, struct driver_vm_info *info, struct error *error);
    int (*reserve)(void *context, uint64_t bytes, uint64_t *range, struct error *error);
    int (*unreserve)(void *context, uint64_t range, uint64_t bytes, struct error *error);
    int (*create)(void *context, uint64_t bytes, uint64_t *chunk, struct error *error);
    /* The chunk must be unmapped. */
    int (*release)(void *context, uint64_t chunk, uint64_t bytes, struct error *error);
    /* Lays a whole chunk, of `bytes`, at an offset of a range. */
    int (*map)(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
               struct error *error);
    /* Makes mapped chunks readable and writable. */
    int (*access)(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                  struct error *error);
    /* Takes whole chunks. It waits for nothing: no queued command may still use them. */
    int (*unmap)(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                 struct error *error);
};

#endif
