/* Memories of the source, called segments, that a strategy cuts into pieces. A piece that becomes
 * free is joined with its free neighbours. Free pieces are in pools, each an index in the order of
 * the strategy's own key. What a request takes, when it cuts, and when a segment goes back to the
 * source is the strategy's policy. A strategy whose state begins with a struct segments may take
 * hooks from the end of this file.
 *
 * Its user also needs: base/arena.c base/sort.c, and links alloc/source.c.
 */
#pragma once

#include <stdlib.h>

#include "alloc/allocator.h"
#include "alloc/piece_index.h"
#include "base/arena.h"
#include "base/sort.h"

struct segment {
    struct segment *prev, *next; /* list of all segments, newest first */
    struct piece *first;         /* by address */
    struct piece_index *pool;    /* the pool of its free pieces */
    uint64_t memory, bytes;
    uint64_t place; /* its address, or the bytes of all segments that were made before it */
};

struct piece {
    struct piece *prev, *next; /* by address */
    struct segment *segment;
    uint64_t offset, size;
    struct index_key key; /* of a free piece, in its pool */
    uint64_t since;       /* belongs to the strategy */
    bool is_free;         /* it is in its pool */
};

struct segments {
    struct source *source;
    struct segment *newest;
    struct piece_index *pools; /* those that segments_trim and segments_check look at */
    size_t pool_count;
    uint64_t unit;          /* sizes and offsets of pieces are multiples of this power of two */
    uint64_t made_bytes;    /* of all segments that were ever made */
    uint64_t held_bytes;    /* of those that exist */
    bool leaves_neighbours; /* pieces join if their `since` is equal, or as the strategy does */
    struct slab spare_segments, spare_pieces, index_nodes;
};

/* Makes the state of a strategy: zeros, and first a struct segments. The unit is the source's
 * alignment, or `least_unit` if that is more. ERR_UNSUPPORTED where the source cannot split. */
static inline int segments_new(struct source *source, const char *strategy, size_t state_bytes,
                               uint64_t least_unit, void **state)
{
    TRY(source_requires_split(source, strategy));
    struct segments *s = (struct segments *)must_alloc(state_bytes);
    s->source = source;
    s->unit = larger(source->alignment, least_unit);
    s->spare_segments.item_bytes = sizeof(struct segment);
    s->spare_pieces.item_bytes = sizeof(struct piece);
    s->index_nodes.item_bytes = sizeof(struct index_node);
    *state = s;
    return 0;
}

static inline uint64_t segments_round(const struct segments *s, uint64_t bytes)
{
    return (bytes + s->unit - 1) & ~(s->unit - 1);
}

static inline struct piece *piece_make(struct segments *s, struct segment *g, uint64_t offset,
                                       uint64_t size)
{
    struct piece *p = (struct piece *)slab_take(&s->spare_pieces);
    memset(p, 0, sizeof *p);
    p->segment = g;
    p->offset = offset;
    p->size = size;
    return p;
}

/* The key of best fit: by size, and of one size by address. */
static inline struct index_key piece_best_fit(const struct piece *p)
{
    return (struct index_key){p->size, p->segment->place + p->offset};
}

/* Puts a piece into its pool. No other piece there has the key. */
static inline void piece_put(struct piece *p, struct index_key key)
{
    p->is_free = true;
    p->key = key;
    index_put(p->segment->pool, key, p);
}

static inline void piece_take(struct piece *p)
{
    p->is_free = false;
    index_take(p->segment->pool, p->key);
}

static inline struct piece *piece_after(const struct piece *p)
{
    return (struct piece *)index_after(p->segment->pool, p->key);
}

static inline bool piece_is_segment(const struct piece *p)
{
    return p->size == p->segment->bytes;
}

/* The block that a piece is. */
static inline struct block piece_block(struct piece *p)
{
    struct block block;
    memset(&block, 0, sizeof block);
    block.memory = p->segment->memory;
    block.offset = p->offset;
    block.size = p->size;
    block.node = p;
    return block;
}

/* Cuts off what follows the first `size` bytes (above 0, below all) of a piece, and returns it.
 * Neither is in a pool. */
static inline struct piece *piece_split(struct segments *s, struct piece *p, uint64_t size)
{
    struct piece *rest = piece_make(s, p->segment, p->offset + size, p->size - size);
    rest->prev = p;
    rest->next = p->next;
    if (p->next)
        p->next->prev = rest;
    p->next = rest;
    p->size = size;
    return rest;
}

/* The same if the piece is larger. The rest is put into the pool by best fit. */
static inline void piece_cut(struct segments *s, struct piece *p, uint64_t size)
{
    if (p->size == size)
        return;
    struct piece *rest = piece_split(s, p, size);
    piece_put(rest, piece_best_fit(rest));
}

static inline void piece_join_next(struct segments *s, struct piece *p)
{
    struct piece *next = p->next;
    p->size += next->size;
    p->next = next->next;
    if (p->next)
        p->next->prev = p;
    slab_give(&s->spare_pieces, next);
}

/* Joins a piece with its free neighbours, which leave their pool. Returns the whole, in no pool. */
static inline struct piece *piece_join(struct segments *s, struct piece *p)
{
    if (p->next && p->next->is_free && (!s->leaves_neighbours || p->since == p->next->since)) {
        piece_take(p->next);
        piece_join_next(s, p);
    }
    if (p->prev && p->prev->is_free && (!s->leaves_neighbours || p->since == p->prev->since)) {
        p = p->prev;
        piece_take(p);
        piece_join_next(s, p);
    }
    return p;
}

/* Asks the source for a memory, and makes a segment of it. *piece: all of it, in no pool. */
static inline int segment_make(struct segments *s, struct piece_index *pool, uint64_t bytes,
                               struct piece **piece)
{
    uint64_t memory;
    TRY(source_alloc(s->source, bytes, SOURCE_LAZY, &memory));
    struct segment *made = (struct segment *)slab_take(&s->spare_segments);
    memset(made, 0, sizeof *made);
    made->next = s->newest;
    made->first = *piece = piece_make(s, made, 0, bytes);
    made->pool = pool;
    made->memory = memory;
    made->bytes = bytes;
    pool->nodes = &s->index_nodes;
    made->place = s->source->ops->address ? s->source->ops->address(s->source->context, memory)
                                          : s->made_bytes;
    s->made_bytes += bytes;
    s->held_bytes += bytes;
    if (made->next)
        made->next->prev = made;
    s->newest = made;
    return 0;
}

/* Gives back a segment of one piece, which is in no pool. */
static inline int segment_release(struct segments *s, struct segment *g)
{
    const uint64_t memory = g->memory, bytes = g->bytes;
    if (g->next)
        g->next->prev = g->prev;
    *(g->prev ? &g->prev->next : &s->newest) = g->next;
    s->held_bytes -= bytes;
    slab_give(&s->spare_pieces, g->first);
    slab_give(&s->spare_segments, g);
    return source_free(s->source, memory, bytes);
}

/* Gives back the segment of a free piece that is all of it. */
static inline int piece_release(struct segments *s, struct piece *p)
{
    piece_take(p);
    return segment_release(s, p->segment);
}

/* Gives back all segments of a pool that are free as a whole. The first failure is returned. */
static inline int segments_release_free(struct segments *s, struct piece_index *pool)
{
    int first_failure = 0;
    struct piece *next, *p = (struct piece *)index_first(pool);
    for (; p; p = next) {
        next = piece_after(p);
        ALSO(first_failure, piece_is_segment(p) ? piece_release(s, p) : 0);
    }
    return first_failure;
}

/* ---- hooks of a strategy whose state begins with a struct segments ---- */

static inline int segments_trim(void *state)
{
    struct segments *s = (struct segments *)state;
    int first_failure = 0;
    for (size_t i = 0; i < s->pool_count; i++)
        ALSO(first_failure, segments_release_free(s, &s->pools[i]));
    return first_failure;
}

static inline unsigned segments_check(const void *state)
{
    const struct segments *s = (const struct segments *)state;
    unsigned broken = 0;
    uint64_t bytes = 0, free_count = 0, pooled_count = 0;
    for (const struct segment *g = s->newest; g; bytes += g->bytes, g = g->next) {
        const struct piece *prev = NULL;
        uint64_t end = 0;
        broken += g->next && g->next->prev != g;
        for (const struct piece *p = g->first; p; prev = p, p = p->next) {
            broken += p->segment != g || p->prev != prev;
            broken += p->offset != end || p->size == 0 || p->offset % s->unit != 0;
            broken += p->is_free && prev && prev->is_free && !s->leaves_neighbours;
            broken += p->is_free && index_from(g->pool, p->key) != p;
            free_count += p->is_free;
            end = p->offset + p->size;
        }
        broken += end != g->bytes;
    }
    for (size_t i = 0; i < s->pool_count; i++) {
        uint64_t count;
        broken += index_check(&s->pools[i], &count);
        pooled_count += count;
    }
    return broken + (bytes != s->held_bytes) + (free_count != pooled_count);
}

/* Joins the block with its free neighbours, and puts the whole into the pool by best fit. */
static inline int segments_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct piece *p = piece_join((struct segments *)state, (struct piece *)block->node);
    piece_put(p, piece_best_fit(p));
    return 0;
}

static inline uint64_t segments_reserved(const void *state)
{
    return ((const struct segments *)state)->held_bytes;
}

static inline void segments_fini(void *state)
{
    struct segments *s = (struct segments *)state;
    while (s->newest) {
        struct segment *g = s->newest;
        while (g->first->next)
            piece_join_next(s, g->first);
        segment_release(s, g);
    }
    slab_free(&s->spare_pieces);
    slab_free(&s->spare_segments);
    slab_free(&s->index_nodes);
    free(state);
}

/* Those of a strategy that has none of its own for them. */
#define SEGMENTS_HOOKS                                                                             \
    .trim = segments_trim, .check = segments_check, .reserved = segments_reserved,                 \
    .fini = segments_fini
