/* A slab: many items of one size that come and go. An item that was given back is the next one
 * taken. The slab asks the host for memory only when more items are in use than ever before, and
 * frees all of it in slab_free.
 */
#pragma once

#include "base/arena.h"

struct slab {
    size_t item_bytes; /* set by the user, at least the size of a pointer; the rest starts as 0 */
    void *spare;
    struct arena arena;
};

/* Takes an item, aligned for any type. Its contents are undefined. */
static inline void *slab_take(struct slab *s)
{
    void *item = s->spare;
    if (!item)
        return arena_alloc(&s->arena, s->item_bytes);
    s->spare = *(void **)item;
    return item;
}

/* Gives an item back. */
static inline void slab_give(struct slab *s, void *item)
{
    *(void **)item = s->spare;
    s->spare = item;
}

/* Frees all items. */
static inline void slab_free(struct slab *s)
{
    arena_free(&s->arena);
    s->spare = NULL;
}
