/* Who had which bytes of a memory last: finds blocks that overlap live ones, and memory that
 * reaches another queue without a wait. */
#ifndef GAMUT_RUN_REPLAY_OWNERS_H
#define GAMUT_RUN_REPLAY_OWNERS_H

#include <stdint.h>

#include "alloc/allocator.h"
#include "base/slab.h"
#include "base/treap.h"

/* {0}, and then owners_open. */
struct owners {
    struct treap ranges; /* by memory and offset; they do not overlap */
    struct slab nodes;
};

void owners_open(struct owners *owners);
void owners_close(struct owners *owners);
/* A block was handed out on a queue. Returns NULL, or what is wrong with that. */
const char *owners_take(struct owners *owners, const struct block *block, unsigned queue);
/* It was freed. */
void owners_give(struct owners *owners, const struct block *block);
/* The source took a memory back, or unmapped a part of it: the wait orders all commands. */
void owners_forget(struct owners *owners, uint64_t memory, uint64_t offset, uint64_t bytes);

#endif
