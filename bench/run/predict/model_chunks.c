#include "run/predict/model_chunks.h"

#include <stdlib.h>

#include "base/arena.h"

static uint64_t pieces(uint64_t bytes)
{
    return in_steps(bytes, PIECE_BYTES) / PIECE_BYTES;
}

struct fit_node *chunks_take(struct model_chunks *c, uint64_t bytes)
{
    for (size_t i = 0; i < c->count; i++) {
        struct fit_node *node = fit_find(c->chunks[i], FIT_TIGHT, pieces(bytes));
        if (node)
            return fit_cut(node, pieces(bytes));
    }
    return NULL;
}

struct fit_node *chunks_take_new(struct model_chunks *c, uint64_t bytes, uint64_t chunk_bytes)
{
    if (c->count == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 16;
        c->chunks = must_realloc(c->chunks, c->capacity * sizeof(struct fit_range *));
    }
    struct fit_range *chunk = must_alloc(sizeof *chunk);
    c->nodes.item_bytes = sizeof(struct fit_node);
    fit_open(chunk, pieces(chunk_bytes), &c->nodes);
    c->chunks[c->count++] = chunk;
    c->reserved_bytes += pieces(chunk_bytes) * PIECE_BYTES;
    return fit_cut(fit_find(chunk, FIT_TIGHT, pieces(bytes)), pieces(bytes));
}

void chunks_put_back(struct fit_node *piece)
{
    fit_put_back(piece);
}

uint64_t chunks_give_back(struct model_chunks *c, uint64_t keep_bytes)
{
    uint64_t before = c->reserved_bytes;
    for (size_t i = c->count; i-- > 0 && c->reserved_bytes > keep_bytes;) {
        if (!fit_is_empty(c->chunks[i]))
            continue;
        c->reserved_bytes -= c->chunks[i]->size * PIECE_BYTES;
        fit_close(c->chunks[i]);
        free(c->chunks[i]);
        c->chunks[i] = NULL;
    }
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->chunks[i])
            c->chunks[kept++] = c->chunks[i];
    c->count = kept;
    return before - c->reserved_bytes;
}

void chunks_close(struct model_chunks *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->chunks[i]);
    free(c->chunks);
    slab_free(&c->nodes);
    *c = (struct model_chunks){0};
}
