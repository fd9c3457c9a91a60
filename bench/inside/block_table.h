/* The live blocks of a server by address: a table with open addressing, whose cells are moved back
 * when one is emptied. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"

/* The first member of what is in the table. */
struct block_entry {
    uint64_t address; /* not 0 */
};

struct block_table {
    struct block_entry **cells; /* 2^bits of them, at most half of them taken */
    unsigned bits;
    size_t count;
};

static inline size_t block_table_cell(const struct block_table *t, uint64_t address)
{
    /* Addresses are multiples of a block's alignment; the product's upper bits depend on all of
     * theirs. */
    return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - t->bits));
}

/* The cell of an address, or the empty one where it would stand. */
static inline size_t block_table_find_cell(const struct block_table *t, uint64_t address)
{
    const size_t mask = ((size_t)1 << t->bits) - 1;
    size_t at = block_table_cell(t, address);
    while (t->cells[at] && t->cells[at]->address != address)
        at = (at + 1) & mask;
    return at;
}

/* The entry of an address; NULL: there is none. */
static inline struct block_entry *block_table_find(const struct block_table *t, uint64_t address)
{
    return t->count ? t->cells[block_table_find_cell(t, address)] : NULL;
}

/* Adds an entry. Returns the one that has its address already, and adds nothing then; else NULL. */
static inline struct block_entry *block_table_add(struct block_table *t, struct block_entry *entry)
{
    if (!t->cells || t->count >= (size_t)1 << (t->bits - 1)) {
        const struct block_table old = *t;
        t->bits = old.cells ? old.bits + 1 : 10;
        t->cells = must_alloc(sizeof(struct block_entry *) << t->bits);
        for (size_t i = 0; old.cells && i < (size_t)1 << old.bits; i++)
            if (old.cells[i])
                t->cells[block_table_find_cell(t, old.cells[i]->address)] = old.cells[i];
        free(old.cells);
    }
    const size_t at = block_table_find_cell(t, entry->address);
    if (t->cells[at])
        return t->cells[at];
    t->cells[at] = entry;
    t->count++;
    return NULL;
}

/* Removes and returns the entry of an address; NULL: there is none. */
static inline struct block_entry *block_table_remove(struct block_table *t, uint64_t address)
{
    if (!t->count)
        return NULL;
    const size_t mask = ((size_t)1 << t->bits) - 1;
    size_t hole = block_table_find_cell(t, address);
    struct block_entry *entry = t->cells[hole];
    if (!entry)
        return NULL;
    t->count--;
    /* An entry whose own cell is not between the hole and it would not be found any more. */
    for (size_t at = (hole + 1) & mask; t->cells[at]; at = (at + 1) & mask) {
        const size_t own = block_table_cell(t, t->cells[at]->address);
        if (((at - own) & mask) < ((at - hole) & mask))
            continue;
        t->cells[hole] = t->cells[at];
        hole = at;
    }
    t->cells[hole] = NULL;
    return entry;
}
