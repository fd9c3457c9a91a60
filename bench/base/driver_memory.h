/* Where memory lives, and the calls for memory that lives elsewhere than on the device.
 *
 * A device fills in the table; an allocator's source hands it on. In this table and in those of
 * driver_pool.h, driver_vm.h and driver_sub_buffer.h `context` is what the table's owner says: the
 * open `struct device`, or the context of a source. Memory is named by a non-zero handle.
 */
#ifndef GAMUT_BASE_DRIVER_MEMORY_H
#define GAMUT_BASE_DRIVER_MEMORY_H

#include <stdint.h>

#include "base/error.h"

/* In the order of the option `kind` of all strategies. */
enum driver_memory {
    MEMORY_DEVICE,     /* on the device: the plain allocation, which this table does not serve */
    MEMORY_PINNED,     /* on the host, locked in place: the device reads it through its bus */
    MEMORY_COARSE_SVM, /* OpenCL: one address for both, the host's while it is mapped */
    MEMORY_FINE_SVM,   /* OpenCL: the same without mapping, once the host has waited */
    MEMORY_MANAGED,    /* CUDA: one address for both, and pages that the driver moves to the user */
};

struct driver_memory_ops {
    /* Optional. 0, or ERR_UNSUPPORTED and the reason. NULL: a small allocation shows it. */
    int (*offered)(void *context, enum driver_memory kind, struct error *error);
    /* *host receives the host's address. The host may touch the memory only while no command uses
     * it, and MEMORY_COARSE_SVM not at all: the device's read and write map and unmap it. Pass
     * host == NULL if the host will never touch it: OpenCL keeps pinned memory mapped otherwise.
     * MEMORY_MANAGED is refused (ERR_OOM) beyond the free device memory, because the driver would
     * page other allocations out. */
    int (*alloc)(void *context, enum driver_memory kind, uint64_t bytes, uint64_t *memory,
                 void **host, struct error *error);
    /* `kind` and `bytes` are those of alloc. Queued commands may still use the memory. */
    int (*free)(void *context, enum driver_memory kind, uint64_t memory, uint64_t bytes,
                struct error *error);
};

#endif
