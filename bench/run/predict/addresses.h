/* The addresses that CUDA gives to memories, as far as other programs cannot tell them apart: which
 * of two memories lies lower.
 *
 * In the histories of PyTorch 2.11 under the driver 580, a memory takes the lowest hole that is
 * large enough. If there is none, a range of a multiple of 32 MiB is reserved, mostly below all
 * others; the memory takes its start, and the rest is a hole. Ranges that the driver places
 * elsewhere, because the process has mapped files there, are not known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct address_range {
    uint64_t start, bytes;
};

/* Free ranges in the order of their addresses, no two of them side by side. All zeros: none. */
struct address_holes {
    struct address_range *ranges;
    unsigned count, capacity;
};

/* Takes the start of the lowest range that has `bytes` (> 0), by a walk. False if none has. */
bool holes_take(struct address_holes *holes, uint64_t bytes, uint64_t *start);
/* Frees a range whose bytes are all in use, and merges it with the free ranges next to it. */
void holes_give(struct address_holes *holes, uint64_t start, uint64_t bytes);
void holes_free(struct address_holes *holes);

/* All zeros: no memories. */
struct addresses {
    uint64_t lowest; /* of all ranges; 0: there is none */
    struct address_holes holes;
};

uint64_t addresses_take(struct addresses *addresses, uint64_t bytes);
void addresses_give(struct addresses *addresses, uint64_t address, uint64_t bytes);
void addresses_free(struct addresses *addresses);
