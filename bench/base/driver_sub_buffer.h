/* Sub-buffers: handles for parts of memories. A sub-buffer serves as a memory that begins there.
 * driver_memory.h describes `context` and the owner of the table. */
#pragma once

#include "base/driver_memory.h"

struct driver_sub_buffer_ops {
    /* Optional. Whether memory of that kind has sub-buffers: 0, or ERR_UNSUPPORTED and the reason.
     * NULL: all kinds but shared virtual memory. */
    int (*offered)(void *context, enum driver_memory kind, struct error *error);
    /* Makes a sub-buffer. `offset` is a multiple of the memory's alignment; bytes > 0. */
    int (*create)(void *context, uint64_t memory, uint64_t offset, uint64_t bytes,
                  uint64_t *sub_buffer, struct error *error);
    /* Releases a sub-buffer, before its memory is freed. Queued commands may still use it: the
     * release is deferred until they are done. */
    int (*release)(void *context, uint64_t sub_buffer, uint64_t bytes, struct error *error);
};
