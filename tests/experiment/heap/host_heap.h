/* A device heap in memory of the host, to measure and as a mirror of a device's heap. */
#pragma once

#include <stdint.h>

#include "experiment/heap/heap_kernels.h"

struct host_heap {
    uint32_t *index, *arena, *slots;
    uint32_t words, capacity, slot_count;
    enum device_heap_policy policy;
    enum device_heap_padding padding;
};

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
