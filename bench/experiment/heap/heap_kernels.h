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

/* A heap in memory of the host, and its kernels as functions. */
struct host_heap {
    uint32_t *index, *arena, *slots;
    uint32_t words, capacity, slot_count;
    enum device_heap_policy policy;
    enum device_heap_padding padding;
};

/* Words of an index with `capacity` entries. */
uint64_t heap_index_words(enum device_heap_policy policy, uint64_t capacity);

/* Allocates zeroed index, arena and slots, of the sizes in the other members, and runs
 * host_heap_init. */
void host_heap_open(struct host_heap *heap);
/* Frees index, arena and slots. */
void host_heap_close(struct host_heap *heap);

/* The three that follow are the kernels as functions. */
/* Makes an empty heap; `index` and `slots` hold zeros before. */
void host_heap_init(const struct host_heap *heap);
/* Carries out the commands, COMMAND_WORDS words each. `counts` may be NULL if counts_words is 0. */
void host_heap_ops(const struct host_heap *heap, const uint32_t *commands, uint32_t command_count,
                   const uint32_t *counts, uint32_t counts_words);
/* Checks the heap, as device_heap_check does. */
void host_heap_check(const struct host_heap *heap, uint32_t report[REPORT_WORDS]);
