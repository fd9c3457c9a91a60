/* Memory that a driver gets in chunks and hands out in pieces, as the cost model sees it: which
 * chunks there are, and what is free in each. */
#ifndef GAMUT_RUN_MODEL_CHUNKS_H
#define GAMUT_RUN_MODEL_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "alloc/segregated_fit.h"
#include "base/slab.h"

enum { PIECE_BYTES = 512 }; /* pieces are multiples of it, and so are chunks */

/* All zeros: no chunks. */
struct model_chunks {
    uint64_t reserved_bytes; /* in all chunks */
    size_t count, capacity;
    struct fit_range **chunks; /* in the order in which they were got */
    struct slab nodes;         /* of the chunks' pieces */
};

/* A piece of a chunk that there is, the first with room; NULL: no chunk has any. */
struct fit_node *chunks_take(struct model_chunks *chunks, uint64_t bytes);
/* A piece of a new chunk of so many bytes, a multiple of PIECE_BYTES that has room for the piece.
 */
struct fit_node *chunks_take_new(struct model_chunks *chunks, uint64_t bytes, uint64_t chunk_bytes);
void chunks_put_back(struct fit_node *piece);
/* Gives up chunks that are wholly free, the latest first, while more is reserved than may be kept.
 * Returns the bytes of these. */
uint64_t chunks_give_back(struct model_chunks *chunks, uint64_t keep_bytes);
/* Pieces that are still taken are gone too. */
void chunks_close(struct model_chunks *chunks);

/* The least multiple of `step` that is no less. */
static inline uint64_t in_steps(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) / step * step;
}

#endif
