/* What `caching` and `vmm` check of a memory that they adopt: both cut it into blocks that lie side
 * by side. */
#pragma once

#include "alloc/allocator.h"

/* The bytes from a block's begin up to the next block, or to the end of the memory. */
static inline uint64_t adopted_room(const struct adopted_memory *m, size_t k)
{
    const uint64_t end = k + 1 < m->block_count ? m->blocks[k + 1].address : m->address + m->bytes;
    return end - m->blocks[k].address;
}

/* May a block take `size` bytes of its room? All sizes and places are multiples of `unit`. */
static inline bool adopted_fits(const struct adopted_memory *m, size_t k, uint64_t size,
                                uint64_t unit)
{
    const struct adopted_block *b = &m->blocks[k];
    const uint64_t room = adopted_room(m, k);
    return b->requested && b->requested <= room && (b->address - m->address) % unit == 0 &&
           b->granted % unit == 0 && (!b->granted || b->granted >= b->requested) && size <= room;
}
