/* Many items of one size that come and go: an item given back is the next one taken. The host's
 * memory is asked only when more are in use than ever before, and has all of it back at slab_free.
 */
#ifndef GAMUT_BASE_SLAB_H
#define GAMUT_BASE_SLAB_H

#include "base/arena.h"

struct slab {
    size_t item_bytes; /* set by the user, at least that of a pointer; the rest starts as zeros */
    void *spare;
    struct arena arena;
};

/* An item aligned for any type. What is in it is undefined. */
static inline void *slab_take(struct slab *s)
{
    void *item = s->spare;
    if (!item)
        return arena_alloc(&s->arena, s->item_bytes);
    s->spare = *(void **)item;
    return item;
}

static inline void slab_give(struct slab *s, void *item)
{
    *(void **)item = s->spare;
    s->spare = item;
}

static inline void slab_free(struct slab *s)
{
    arena_free(&s->arena);
    s->spare = NULL;
}

#endif
