/* Kinds of memory by where they live, and the calls for kinds that are not on the device.
 *
 * A device fills in the table; an allocator's source passes it on. In this table and in those of
 * driver_pool.h, driver_vm.h and driver_sub_buffer.h, `context` is the open `struct device` or the
 * context of a source, whichever holds the table. Memory is named by a non-zero handle.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* In the order of the option `kind` of all strategies. */
enum driver_memory {
    MEMORY_DEVICE,     /* on the device: the plain allocation, which this table does not serve */
    MEMORY_PINNED,     /* on the host, locked in place: the device reads it through its bus */
    MEMORY_COARSE_SVM, /* OpenCL: one address; the host maps the memory before it uses it */
    MEMORY_FINE_SVM,   /* OpenCL: one address; the host only waits before it uses the memory */
    MEMORY_MANAGED, /* CUDA: one address; the driver moves pages to the processor that uses them */
};

struct driver_memory_ops {
    /* Optional. Whether the kind exists: 0, or ERR_UNSUPPORTED and the reason. NULL: the caller
     * tries a small allocation. */
    int (*offered)(void *context, enum driver_memory kind, struct error *error);
    /* Allocates memory; *host receives the host's address. The host may touch the memory only while
     * no command uses it, and MEMORY_COARSE_SVM not at all: the device's read and write map it.
     * Pass host == NULL if the host never touches it: otherwise OpenCL keeps pinned memory mapped.
     * MEMORY_MANAGED is refused (ERR_OOM) beyond the free device memory, because the driver would
     * page other allocations out. */
    int (*alloc)(void *context, enum driver_memory kind, uint64_t bytes, uint64_t *memory,
                 void **host, struct error *error);
    /* Frees memory; `kind` and `bytes` are those of alloc. Queued commands may still use it. */
    int (*free)(void *context, enum driver_memory kind, uint64_t memory, uint64_t bytes,
                struct error *error);
};
