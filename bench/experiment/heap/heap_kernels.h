/* The kernels of the device heap: their text, and the same text compiled for the host. */
#pragma once

#include <stdint.h>

#include "device/device.h"
#include "experiment/heap/heap_layout.h"

enum heap_kernel { HEAP_KERNEL_INIT, HEAP_KERNEL_OPS, HEAP_KERNEL_CHECK, HEAP_KERNELS };
extern const char *const heap_kernel_names[HEAP_KERNELS];
extern const struct host_kernel heap_host_kernels[HEAP_KERNELS];

/* The text of heap_layout.h, index.kernel, heap.kernel and walk.kernel. It goes after the prelude
 * of a language. */
extern const char kernel_text_device_heap[];

/* Words of an index with `capacity` entries. */
uint64_t heap_index_words(enum device_heap_policy policy, uint64_t capacity);
