/* blocks: the allocator of wgpu under Vulkan and D3D12, the crate gpu-allocator.
 *
 *   1. Sizes are multiples of the alignment. Memories of the source stand in a row of places.
 *   2. A new block would have `start` bytes, doubled once for each block that exists, at most
 *      seven times and at most to `most` bytes. A request of more than that gets a memory of its
 *      own, at the first empty place, which is given back when it is freed.
 *   3. A smaller request looks at the blocks from the last place to the first. In the first block
 *      that has room it takes the smallest free chunk that is large enough; of equals, the one at
 *      the lowest address. What is left of the chunk stays free.
 *   4. If none has room, the source is asked for a block, at the last empty place. If it refuses,
 *      the request fails.
 *   5. free joins the chunk with its free neighbours. A block that is free as a whole is given back
 *      unless it is the only one.
 *
 * Why: blocks are large, and go when they are empty. The row is searched from its end, so that the
 * blocks at its beginning fill and those at its end become empty.
 *
 * By default blocks have 256 MiB, as the crate has for memory of the device; it has 64 MiB for that
 * of the host. wgpu with MemoryHints::Performance is blocks:start=128MiB, with
 * MemoryHints::MemoryUsage blocks:start=8MiB:most=64MiB. Departures: of equal chunks the original
 * takes any, in the order of a hash table. It brings sizes to multiples of 4 MiB up to 256 MiB. It
 * keeps images and buffers apart, which are not told apart here.
 *
 * Queues: the original is told to free what the device no longer uses; here each queue has an
 * instance of its own.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"
#include "alloc/segments.h"

enum { DOUBLED_MOST = 7 };

struct place {
    struct piece_index chunks; /* the free ones; first, because a segment points to it */
    bool is_empty, is_shared;  /* is_shared: a block, else a memory of one request */
};

struct blocks {
    struct segments memories;
    uint64_t start_bytes, most_bytes;
    size_t block_count;
    struct place **places;
    unsigned place_count, place_capacity;
};

enum { OPTION_START, OPTION_MOST };
static const struct option_spec blocks_options[] = {
    [OPTION_START] = {"start", OPTION_BYTES, "256MiB", NULL, 256, UINT64_C(1) << 40,
                      "bytes of the first block"},
    [OPTION_MOST] = {"most", OPTION_BYTES, "256MiB", NULL, 256, UINT64_C(1) << 40,
                     "bytes of a block at most; at least `start`"},
    {0},
};

static int blocks_init(struct source *source, const struct option_values *options, void **state)
{
    TRY(segments_new(source, "blocks", sizeof(struct blocks), 1, state));
    const uint64_t *value = options->value;
    struct blocks *b = *state;
    b->start_bytes = segments_round(&b->memories, value[OPTION_START]);
    b->most_bytes = larger(segments_round(&b->memories, value[OPTION_MOST]), b->start_bytes);
    return 0;
}

static uint64_t next_block_bytes(const struct blocks *b)
{
    return smaller(b->start_bytes << smaller(b->block_count, DOUBLED_MOST), b->most_bytes);
}

/* The first or the last empty place, or a new one at the end. */
static struct place *empty_place(struct blocks *b, bool last)
{
    struct place *found = NULL;
    for (unsigned i = 0; i < b->place_count && (last || !found); i++)
        found = b->places[i]->is_empty ? b->places[i] : found;
    if (!found) {
        b->places = must_grow(b->places, b->place_count, &b->place_capacity, sizeof(*b->places));
        b->places[b->place_count++] = found = must_alloc(sizeof *found);
    }
    return found;
}

/* Asks the source for a memory of one chunk, which is in no pool. */
static int make(struct blocks *b, uint64_t bytes, bool is_shared, struct piece **chunk)
{
    struct piece_index none = {0};
    TRY(segment_make(&b->memories, &none, bytes, chunk));
    struct place *place = empty_place(b, is_shared);
    place->is_empty = false;
    place->is_shared = is_shared;
    b->block_count += is_shared;
    place->chunks.nodes = &b->memories.index_nodes;
    (*chunk)->segment->pool = &place->chunks;
    return 0;
}

static int release(struct blocks *b, struct segment *memory)
{
    struct place *place = (struct place *)memory->pool;
    place->is_empty = true;
    b->block_count -= place->is_shared;
    return segment_release(&b->memories, memory);
}

static int blocks_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct blocks *b = state;
    const uint64_t size = segments_round(&b->memories, request->size),
                   block_bytes = next_block_bytes(b);
    const bool is_shared = size <= block_bytes;
    struct piece *c = NULL;
    for (unsigned i = b->place_count; is_shared && !c && i-- > 0;)
        c = index_from(&b->places[i]->chunks, (struct index_key){size, 0});
    if (c)
        piece_take(c);
    else
        TRY(make(b, is_shared ? block_bytes : size, is_shared, &c));
    piece_cut(&b->memories, c, size);
    *block = piece_block(c);
    return 0;
}

static int blocks_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct blocks *b = state;
    struct piece *c = piece_join(&b->memories, block->node);
    const bool is_shared = ((const struct place *)c->segment->pool)->is_shared;
    if (piece_is_segment(c) && (!is_shared || b->block_count > 1))
        return release(b, c->segment);
    piece_put(c, piece_best_fit(c));
    return 0;
}

/* The only block, if it is free as a whole. */
static int blocks_trim(void *state)
{
    struct blocks *b = state;
    for (unsigned i = 0; i < b->place_count; i++) {
        struct piece *c = index_last(&b->places[i]->chunks);
        if (c && piece_is_segment(c)) {
            piece_take(c);
            return release(b, c->segment);
        }
    }
    return 0;
}

static unsigned blocks_check(const void *state)
{
    const struct blocks *b = state;
    struct piece_index *pools = must_alloc((b->place_count + 1) * sizeof *pools);
    uint64_t shared = 0, used = 0, memories = 0;
    for (unsigned i = 0; i < b->place_count; i++) {
        pools[i] = b->places[i]->chunks;
        used += !b->places[i]->is_empty;
        shared += !b->places[i]->is_empty && b->places[i]->is_shared;
    }
    for (const struct segment *g = b->memories.newest; g; g = g->next)
        memories++;
    struct segments all = b->memories;
    all.pools = pools;
    all.pool_count = b->place_count;
    const unsigned broken = segments_check(&all);
    free(pools);
    return broken + (shared != b->block_count || used != memories);
}

static void blocks_fini(void *state)
{
    struct blocks *b = state;
    for (unsigned i = 0; i < b->place_count; i++)
        free(b->places[i]);
    free(b->places);
    segments_fini(b);
}

static const struct allocator_origin blocks_origins[] = {
    {"gpu-allocator's blocks, row of places and own memories (first published in 2020)",
     "Traverse-Research/gpu-allocator", "src/vulkan/mod.rs", "a270024b64fa", 0},
    {"gpu-allocator's chunks of a block", "Traverse-Research/gpu-allocator",
     "src/allocator/free_list_allocator/mod.rs", "0e5fafb2f245", 0},
    {"gpu-allocator's blocks that double (AllocationSizes; pull request 254)",
     "Traverse-Research/gpu-allocator", "src/lib.rs", NULL, 2024},
    {0},
};

const struct allocator_ops allocator_blocks = {
    .version = ALLOCATOR_API_VERSION,
    .name = "blocks",
    .summary = "blocks of 256 MiB that go when they are empty, best fit in the last with room",
    .origins = blocks_origins,
    .options = blocks_options,
    .when_named = true,
    .init = blocks_init,
    .alloc = blocks_alloc,
    .free = blocks_free,
    .trim = blocks_trim,
    .check = blocks_check,
    .reserved = segments_reserved,
    .fini = blocks_fini,
};
