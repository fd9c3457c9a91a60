/* rmm: the pool of RAPIDS Memory Manager: it grows by as much as it has, and gives nothing back.
 *
 *   1. Sizes are multiples of 256 bytes. Each queue has free blocks of its own.
 *   2. alloc takes the smallest free block of the queue that is large enough; of equals, the one at
 *      the lowest address. It is cut whenever it is larger.
 *   3. The first request is preceded by a memory of `initial` bytes, if that is not 0.
 *   4. If no block is large enough, the pool grows: by as much as it has, or by the request if that
 *      is more. With `max`, by half of what is left of it, or by the request if that is more.
 *   5. With `max`, if less than the request is left, wholly free memories go back to the source,
 *      the lowest address first, until enough is left; none goes if the request is above `max`.
 *   6. If the source refuses, half of it is asked for, again and again, and last the request. Then
 *      the request fails, and the pool keeps what it has.
 *   7. free joins the block with free neighbours of its memory that are its queue's, too.
 *   8. Before rule 4 another queue's free blocks serve the request: the smallest that is large
 *      enough of the first queue that has one. What it is cut from stays that queue's. If none has
 *      one, the free blocks of one queue after the other pass to the request's and are joined,
 *      until one is large enough. A block passes after a wait for all queues, which is counted.
 *   9. bins=m (binning_memory_resource over the pool): there is a bin for each power of two from
 *      `least_bin` to m. A request of up to m gets a block of the smallest bin that is large
 *      enough: the one that has been free for longest. A bin that is empty takes `bin_blocks`
 *      blocks from the pool as one, and keeps them. All bins do so before the first request, the
 *      smallest first.
 *
 * Why: calls of the driver are few, and the pool is meant to have the device to itself.
 *
 * A program says how large the pool is at its start. cuDF's benchmarks and tests take half of the
 * device's free memory (rapidsai/cudf#14760): that is `initial` of that many bytes.
 *
 * Departures: the first memory is taken at the first request, and it belongs to its queue. RMM
 * makes a queue wait for another by an event; here the host waits. RMM tries queues in the order of
 * their events' addresses; here in that of their numbers. The blocks of bins stay with their queue.
 * RMM makes bins as the program adds them, and describes those from 256 KiB to 4 MiB.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include "alloc/allocator.h"
#include "alloc/segments.h"
#include "base/text.h"

enum { LEAST_BYTES = 256, BINS_MAX = 41, QUEUE_SHIFT = 59 };

struct rmm {
    struct segments upstream;             /* a piece's `since`: the queue that has it */
    uint64_t initial_bytes;               /* still to be taken */
    uint64_t max_bytes;                   /* UINT64_MAX: none */
    uint64_t least_bin_bytes, bins_bytes; /* of the blocks of the first and the last bin; 0: none */
    uint64_t bin_blocks, freed_count;
    bool bins_are_filled;
    struct piece_index bins[BINS_MAX][ALLOCATOR_QUEUES_MAX]; /* in the order of frees */
    struct piece_index blocks;                               /* by queue, and of one by best fit */
};

enum { OPTION_INITIAL, OPTION_MAX, OPTION_BINS, OPTION_LEAST_BIN, OPTION_BIN_BLOCKS };
static const struct option_spec rmm_options[] = {
    [OPTION_INITIAL] = {"initial", OPTION_BYTES, "0", NULL, 0, UINT64_C(1) << 50,
                        "bytes of the pool at its start"},
    [OPTION_MAX] = {"max", OPTION_BYTES, "0", NULL, 0, UINT64_C(1) << 50,
                    "most bytes of the pool, to which it grows by halves; 0: no maximum"},
    [OPTION_BINS] =
        {"bins", OPTION_BYTES, "0", NULL, 0, UINT64_C(1) << 40,
         "bytes of the blocks of the largest bin, a power of two; 0: there are no bins"},
    [OPTION_LEAST_BIN] = {"least_bin", OPTION_BYTES, "256KiB", NULL, 1, UINT64_C(1) << 40,
                          "... of the smallest bin"},
    [OPTION_BIN_BLOCKS] = {"bin_blocks", OPTION_COUNT, "128", NULL, 1, 65536,
                           "blocks that a bin takes from the pool at a time"},
    {0},
};

static int rmm_init(struct source *source, const struct option_values *options, void **state)
{
    const uint64_t *value = options->value;
    const uint64_t bins = value[OPTION_BINS], least_bin = value[OPTION_LEAST_BIN];
    if (value[OPTION_MAX] && value[OPTION_INITIAL] > value[OPTION_MAX])
        return error_set(&source->error, ERR_USAGE, "rmm: `initial` is more than `max`");
    if (bins && ((bins & (bins - 1)) || (least_bin & (least_bin - 1)) || least_bin > bins))
        return error_set(&source->error, ERR_USAGE,
                         "rmm: `bins` and `least_bin` are powers of two, the second not above the "
                         "first");
    TRY(segments_new(source, "rmm", sizeof(struct rmm), LEAST_BYTES, state));
    struct rmm *r = *state;
    r->upstream.pools = &r->blocks;
    r->upstream.pool_count = 1;
    r->upstream.leaves_neighbours = true;
    r->initial_bytes = segments_round(&r->upstream, value[OPTION_INITIAL]);
    r->max_bytes = value[OPTION_MAX] ? segments_round(&r->upstream, value[OPTION_MAX]) : UINT64_MAX;
    r->least_bin_bytes = least_bin > r->upstream.unit ? least_bin : r->upstream.unit;
    r->bins_bytes = bins;
    r->bin_blocks = value[OPTION_BIN_BLOCKS];
    return 0;
}

static void put(struct rmm *r, struct piece *p)
{
    p = piece_join(&r->upstream, p);
    struct index_key key = piece_best_fit(p);
    key.major += p->since << QUEUE_SHIFT;
    piece_put(p, key);
}

/* The smallest free block of a queue that has `size` bytes; NULL if there is none. */
static struct piece *find(const struct rmm *r, uint64_t queue, uint64_t size)
{
    struct piece *p = index_from(&r->blocks, (struct index_key){(queue << QUEUE_SHIFT) + size, 0});
    return p && p->since == queue && p->size >= size ? p : NULL;
}

/* Rule 8. *found is NULL if there is none. */
static int find_in_others(struct rmm *r, uint64_t queue, uint64_t size, struct piece **found)
{
    struct source *source = r->upstream.source;
    for (uint64_t q = 0; q < ALLOCATOR_QUEUES_MAX; q++)
        if (q != queue && (*found = find(r, q, size)))
            return source_hand_over(source, (*found)->segment->memory, (*found)->offset, size);
    for (uint64_t q = 0; q < ALLOCATOR_QUEUES_MAX && !*found; q++) {
        struct piece *p = q == queue ? NULL : find(r, q, 0);
        TRY(p ? source_sync(source) : 0);
        for (; p; p = find(r, q, 0)) {
            source_tell(source, 0, SOURCE_HANDED_OVER, p->segment->memory, p->offset, p->size);
            piece_take(p);
            p->since = queue;
            put(r, p);
        }
        *found = find(r, queue, size);
    }
    return 0;
}

/* The wholly free memory at the lowest address; NULL if there is none. */
static struct piece *lowest_free(const struct rmm *r)
{
    struct piece *lowest = NULL;
    for (const struct segment *g = r->upstream.newest; g; g = g->next)
        if (g->first->is_free && piece_is_segment(g->first) &&
            (!lowest || g->place < lowest->segment->place))
            lowest = g->first;
    return lowest;
}

static uint64_t left_bytes(const struct rmm *r)
{
    return r->max_bytes - r->upstream.held_bytes;
}

/* Asks for `bytes`, then for half as long as that is enough for `size`, and last for that. */
static int grow(struct rmm *r, uint64_t queue, uint64_t bytes, uint64_t size)
{
    struct piece *p = NULL;
    int code;
    while ((code = segment_make(&r->upstream, &r->blocks, bytes, &p)) == ERR_OOM && bytes > size)
        bytes = larger(bytes / 2, size);
    TRY(code);
    p->since = queue;
    put(r, p);
    return 0;
}

/* Rules 4 to 6. */
static int expand(struct rmm *r, uint64_t queue, uint64_t size)
{
    struct source *source = r->upstream.source;
    struct piece *idle = NULL;
    while (size <= r->max_bytes && left_bytes(r) < size && (idle = lowest_free(r)))
        TRY(piece_release(&r->upstream, idle));
    char asked[64], held[64];
    if (left_bytes(r) < size)
        return error_set(
            &source->error, ERR_OOM, "asked for %s with %s held, which `max` of rmm forbids",
            text_bytes_exact(asked, size), text_bytes_exact(held, r->upstream.held_bytes));
    const uint64_t bytes = r->max_bytes == UINT64_MAX ? r->upstream.held_bytes : left_bytes(r) / 2;
    return grow(r, queue, bytes > size ? bytes : size, size);
}

/* Rules 2, 4 to 6, and 8. */
static int take_from_pool(struct rmm *r, uint64_t queue, uint64_t size, struct piece **taken)
{
    struct piece *p = find(r, queue, size);
    if (!p && r->upstream.source->ops->sync)
        TRY(find_in_others(r, queue, size, &p));
    if (!p) {
        TRY(expand(r, queue, size));
        p = find(r, queue, size);
    }
    piece_take(p);
    if (p->size > size) {
        piece_split(&r->upstream, p, size)->since = p->since;
        put(r, p->next);
    }
    p->since = queue;
    *taken = p;
    return 0;
}

/* ---- bins ---- */

/* The bin of the smallest blocks that have `size` bytes, and their bytes. */
static struct piece_index *bin_of(struct rmm *r, unsigned queue, uint64_t size, uint64_t *bytes)
{
    struct piece_index(*bin)[ALLOCATOR_QUEUES_MAX] = r->bins;
    for (*bytes = r->least_bin_bytes; *bytes < size; *bytes *= 2)
        bin++;
    return *bin + queue;
}

/* The pool takes a block of a bin for one that is in use: it joins none. */
static void put_in_bin(struct rmm *r, struct piece_index *bin, struct piece *p)
{
    p->key = (struct index_key){r->freed_count++, 0};
    bin->nodes = &r->upstream.index_nodes;
    index_put(bin, p->key, p);
}

/* The bin of bin_of, filled if it was empty. */
static int filled_bin(struct rmm *r, unsigned queue, uint64_t size, struct piece_index **bin)
{
    uint64_t bytes;
    struct piece *p;
    if (index_first(*bin = bin_of(r, queue, size, &bytes)))
        return 0;
    TRY(take_from_pool(r, queue, bytes * r->bin_blocks, &p));
    for (; p->size > bytes; p = p->next) {
        piece_split(&r->upstream, p, bytes)->since = queue;
        put_in_bin(r, *bin, p);
    }
    put_in_bin(r, *bin, p);
    return 0;
}

static int take_from_bin(struct rmm *r, unsigned queue, uint64_t size, struct piece **taken)
{
    struct piece_index *bin;
    TRY(filled_bin(r, queue, size, &bin));
    *taken = index_first(bin);
    index_take(bin, (*taken)->key);
    return 0;
}

static int begin(struct rmm *r, unsigned queue)
{
    struct piece_index *bin;
    if (r->initial_bytes)
        TRY(grow(r, queue, r->initial_bytes, r->initial_bytes));
    r->initial_bytes = 0;
    for (uint64_t b = r->least_bin_bytes; !r->bins_are_filled && b <= r->bins_bytes; b *= 2)
        TRY(filled_bin(r, queue, b, &bin));
    r->bins_are_filled = true;
    return 0;
}

static int rmm_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct rmm *r = state;
    const uint64_t size = segments_round(&r->upstream, request->size);
    struct piece *p;
    TRY(begin(r, request->queue));
    TRY(size <= r->bins_bytes ? take_from_bin(r, request->queue, size, &p)
                              : take_from_pool(r, request->queue, size, &p));
    *block = piece_block(p);
    block->queue = request->queue;
    return 0;
}

static int rmm_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct rmm *r = state;
    struct piece *p = block->node;
    uint64_t bytes;
    if (p->size <= r->bins_bytes)
        put_in_bin(r, bin_of(r, block->queue, p->size, &bytes), p);
    else
        put(r, p);
    return 0;
}

static const struct allocator_origin rmm_origins[] = {
    {"RMM's pool_memory_resource", "rapidsai/rmm",
     "cpp/src/mr/detail/pool_memory_resource_impl.cpp", "06ddb2421fb9", 2026},
    {"the option bins: binning_memory_resource", "rapidsai/rmm",
     "cpp/src/mr/detail/binning_memory_resource_impl.cpp", "10cdb41c2123", 2026},
    {"the blocks of a bin: fixed_size_memory_resource", "rapidsai/rmm",
     "cpp/src/mr/detail/fixed_size_memory_resource_impl.cpp", "0f3e401e9344", 2026},
    {0},
};

const struct allocator_ops allocator_rmm = {
    .version = ALLOCATOR_API_VERSION,
    .name = "rmm",
    .summary = "best fit in a pool that doubles, or grows by half of what is left",
    .origins = rmm_origins,
    .options = rmm_options,
    .queues = QUEUES_WITHIN,
    .when_named = true,
    .init = rmm_init,
    .alloc = rmm_alloc,
    .free = rmm_free,
    SEGMENTS_HOOKS,
};
