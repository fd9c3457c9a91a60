/* A number for each tag, found by the tag's address. Tags are literals of a program, so none is
 * ever removed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"

struct tag_cell {
    const char *tag;
    uint32_t known; /* 0 in an unused cell */
    uint32_t value;
};

/* Starts as zeros. */
struct tag_table {
    struct tag_cell *cells; /* open addressing: at least half of them are unused */
    unsigned bits;          /* there are 2^bits cells; 0: none */
    uint32_t count;
};

/* The cell of a tag, or the unused one where it belongs. The table must have cells. */
static inline struct tag_cell *tag_table_cell(const struct tag_table *t, const char *tag)
{
    const size_t mask = ((size_t)1 << t->bits) - 1;
    size_t i = (uint64_t)(uintptr_t)tag * 0x9e3779b97f4a7c15u >> (64 - t->bits);
    while (t->cells[i].known && t->cells[i].tag != tag)
        i = (i + 1) & mask;
    return &t->cells[i];
}

/* The cell of a tag; NULL: it was never added. */
static inline struct tag_cell *tag_table_find(const struct tag_table *t, const char *tag)
{
    struct tag_cell *cell = t->count ? tag_table_cell(t, tag) : NULL;
    return cell && cell->known ? cell : NULL;
}

/* Adds a tag that the table does not have, with value 0. Its cell is good until the next one is
 * added. */
static inline struct tag_cell *tag_table_add(struct tag_table *t, const char *tag)
{
    enum { FIRST_BITS = 6 };
    if (2 * ((size_t)t->count + 1) > (size_t)1 << t->bits) {
        const struct tag_table old = *t;
        t->bits = old.bits ? old.bits + 1 : (unsigned)FIRST_BITS;
        t->cells = (struct tag_cell *)must_alloc(sizeof *t->cells << t->bits);
        for (size_t i = 0; old.cells && i < (size_t)1 << old.bits; i++)
            if (old.cells[i].known)
                *tag_table_cell(t, old.cells[i].tag) = old.cells[i];
        free(old.cells);
    }
    struct tag_cell *cell = tag_table_cell(t, tag);
    cell->tag = tag;
    cell->known = 1;
    t->count++;
    return cell;
}

static inline void tag_table_free(struct tag_table *t)
{
    free(t->cells);
}
