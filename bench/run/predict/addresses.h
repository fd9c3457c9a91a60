/* The addresses that CUDA gives to memories, as far as other programs cannot tell them apart: which
 * of two memories lies lower.
 *
 * In the histories of PyTorch 2.11 under the driver 580, a memory takes the lowest hole that is
 * large enough. If there is none, a range of a multiple of 32 MiB is reserved, mostly below all
 * others; the memory takes its start, and the rest is a hole. Ranges that the driver places
 * elsewhere, because the process has mapped files there, are not known.
 */
#pragma once

#include <stdint.h>

struct address_range {
    uint64_t start, bytes;
};

/* All zeros: no memories. */
struct addresses {
    uint64_t lowest; /* of all ranges; 0: there is none */
    /* Free ranges in the order of their addresses, no two of them side by side. */
    struct address_range *holes;
    unsigned count, capacity;
};

uint64_t addresses_take(struct addresses *addresses, uint64_t bytes);
void addresses_give(struct addresses *addresses, uint64_t address, uint64_t bytes);
void addresses_free(struct addresses *addresses);
