/* Keeps the last owner of each byte of a memory: finds blocks that overlap live ones, and memory
 * that reaches another queue without a wait. */
#pragma once

#include <stdbool.h>
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
/* The source gave a memory, or mapped a part of one. Memories need not be made known; if they are,
 * owners_free finds what is not handed out. */
void owners_got(struct owners *owners, uint64_t memory, uint64_t offset, uint64_t bytes);
/* A block was handed out on a queue. Returns NULL, or what is wrong with that. */
const char *owners_take(struct owners *owners, const struct block *block, unsigned queue);
/* It was freed. */
void owners_give(struct owners *owners, const struct block *block);
/* The source took a memory back, or unmapped a part of it: the wait orders all commands. */
void owners_forget(struct owners *owners, uint64_t memory, uint64_t offset, uint64_t bytes);
/* Shows all known ranges in the order of their places: live blocks, each with the queue that
 * owners_take had, and the free pieces between them, which have live blocks or the ends of memories
 * as neighbours. */
void owners_walk(const struct owners *owners,
                 void (*see)(void *context, uint64_t memory, uint64_t bytes, bool is_live,
                             unsigned queue),
                 void *context);
