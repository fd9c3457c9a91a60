/* caching: PyTorch's caching allocator.
 *
 *   1. Sizes are multiples of 512 bytes. With divisions=d > 1, sizes above 512 d are rounded up to
 *      one of d steps between two powers of two. d may differ by size (divisions.h).
 *   2. A segment is one memory of the source, cut into blocks. Requests of up to 1 MiB use segments
 *      of 2 MiB and the small pool; below 10 MiB, segments of 20 MiB (large_segment) and the large
 *      pool; others a segment of their own size rounded up to 2 MiB, and the large pool. Each queue
 *      has its own pools.
 *   3. alloc takes the smallest free block of the queue's pool that is large enough; of equals, the
 *      one at the lowest address. A source without addresses counts its memories: the one of the
 *      oldest segment, lowest offset first. If there is none, the source is asked for a new
 *      segment.
 *   4. The block is split if the rest has at least 512 bytes (small pool) or more than 1 MiB
 *      (large pool). Else it is handed out whole.
 *   5. free joins the block with free neighbours of its segment. Nothing is released otherwise.
 *   6. max_split=m: blocks of m bytes and more are oversize. They are not split. Requests below m
 *      do not get one; other requests do not get one that exceeds them by `rounding`, as much as a
 *      large segment, or more.
 *   7. gc=f: before the source is asked, and if more than f of its capacity is held, wholly free
 *      segments of the large pools are released: those that were free for at least as many
 *      searches as the average one, and again, until less is held or none is left.
 *   8. If the source refuses: with max_split, the smallest oversize block of the queue that is
 *      large enough is released, or else the largest ones until their sum is, and the source is
 *      asked again. Then all wholly free segments of all queues are released, large pools first,
 *      smallest first, and the source is asked again. Then it waits for all blocks that were freed
 *      while another queue used them, releases again, and asks for the last time. Then the request
 *      fails, even where a smaller segment would do, or a block that was waited for.
 *   9. proposal=191302: before the source is asked for the last time, rule 3 is tried again.
 *      proposal=171771: rule 8 waits for the oldest blocks until they have the bytes of the
 *      request, and not for all. proposal=186232: before rule 7, the smallest wholly free segment
 *      of another queue's pool of the same kind that is large enough passes to this queue, after a
 *      wait for all queues.
 *
 * Why: a driver's free waits for the device, so memory is kept; two pools keep small blocks from
 * breaking up large ones. Source: pytorch/pytorch, c10/cuda/CUDACachingAllocator.cpp (001074d, and
 * a newer one with max_non_split_rounding_mb), without expandable segments, which are `vmm`.
 *
 * Departures: PyTorch waits before it releases free segments, and here the wait comes after. In the
 * one measured program that waits, a replay in PyTorch's order fits into 7.7 % less than PyTorch,
 * and one in this order needs 2.4 % more. The source is asked again only where something was
 * released or waited for; where the source aligns to more than 512 bytes, that is the
 * unit; queues are collected from in the order of their numbers, not of their addresses.
 * The limit of 1 MiB is half of small_segment, and that of 10 MiB half of a large_segment which
 * PyTorch refuses because it is no larger. The proposals follow their descriptions: 171771 does not
 * say in which order it waits, nor 186232 which segment it takes.
 *
 * Queues: a block may be handed out while commands of its last owner still run. They come first,
 * because both are on one in-order queue: a segment stays with the queue that it was asked for on.
 * The source's free makes released memory safe.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/adopted.h"
#include "alloc/allocator.h"
#include "alloc/divisions.h"
#include "alloc/pytorch_conf.h"
#include "alloc/segments.h"

enum { LEAST_BYTES = 512 };
enum pool_kind { POOL_LARGE, POOL_SMALL, POOL_COUNT }; /* in the order of rule 8 */
/* In the order of the choices. */
enum proposal { PROPOSAL_NONE, SEARCH_AGAIN, WAIT_FOR_ENOUGH, TAKE_OVER };

struct caching {
    struct segments segments;
    uint64_t divisions;
    uint64_t small_segment_bytes, large_segment_bytes;
    uint64_t max_split_bytes; /* UINT64_MAX: no limit */
    uint64_t rounding_bytes;
    enum proposal proposal;
    uint64_t collect_above_bytes; /* held bytes; UINT64_MAX: nothing is collected */
    uint64_t searches[POOL_COUNT];
    struct piece_index pools[POOL_COUNT][ALLOCATOR_QUEUES_MAX];
};

enum {
    OPTION_CONF,
    OPTION_VERSION,
    OPTION_DIVISIONS,
    OPTION_MAX_SPLIT,
    OPTION_ROUNDING,
    OPTION_GC,
    OPTION_SMALL_SEGMENT,
    OPTION_LARGE_SEGMENT,
    OPTION_PROPOSAL
};

static bool parse_share(const char *text, uint64_t *parts)
{
    char *end;
    double share = strtod(text, &end);
    *parts = share >= 0 && share < 1 ? (uint64_t)(share * PYTORCH_SHARE_PARTS + 0.5) : 0;
    return end > text && !*end && share >= 0 && share < 1;
}

static const struct option_spec caching_options[] = {
    [OPTION_CONF] = PYTORCH_CONF_OPTION,
    [OPTION_VERSION] = PYTORCH_VERSION_OPTION,
    [OPTION_DIVISIONS] = DIVISIONS_OPTION,
    [OPTION_MAX_SPLIT] = {"max_split", OPTION_BYTES, "0", NULL, 0, 0,
                          "blocks of this size and above are not split; 0: all may be"},
    [OPTION_ROUNDING] = {"rounding", OPTION_BYTES, "0", NULL, 0, 0,
                         "a request of max_split and above gets no block that exceeds it by so "
                         "much; 0: large_segment"},
    [OPTION_GC] = {.name = "gc",
                   .type = OPTION_OWN,
                   .fallback = "0",
                   .expected = "a number from 0 up to 1",
                   .parse = parse_share,
                   .help = "share of the capacity above which free segments are collected by age; "
                           "0: none are"},
    [OPTION_SMALL_SEGMENT] = {"small_segment", OPTION_BYTES, "2MiB", NULL, 4096, UINT64_C(1) << 40,
                              "bytes of a segment for requests of up to half of it"},
    [OPTION_LARGE_SEGMENT] =
        {"large_segment", OPTION_BYTES, "20MiB", NULL, 4096, UINT64_C(1) << 40,
         "bytes of a segment for other requests below 10MiB, or below half of it"},
    [OPTION_PROPOSAL] = PYTORCH_PROPOSAL_OPTION(
        "191302|171771|186232", "when refused, 191302: search again after the wait; 171771: wait "
                                "for as many blocks as are needed; before the driver, 186232: take "
                                "a free segment of another queue"),
    {0},
};

static int refuse_options(struct source *source, uint64_t small, uint64_t large, uint64_t max_split)
{
    if (small >= large)
        return error_set(&source->error, ERR_USAGE,
                         "option small_segment is %llu, expected less than large_segment, "
                         "%llu",
                         (unsigned long long)small, (unsigned long long)large);
    if (max_split && max_split < large)
        return error_set(&source->error, ERR_USAGE,
                         "option max_split is %llu, expected at least large_segment, "
                         "%llu, or 0",
                         (unsigned long long)max_split, (unsigned long long)large);
    return 0;
}

static int caching_init(struct source *source, const struct option_values *options, void **state)
{
    const uint64_t *value = options->value;
    TRY(refuse_options(source, value[OPTION_SMALL_SEGMENT], value[OPTION_LARGE_SEGMENT],
                       value[OPTION_MAX_SPLIT]));
    if (value[OPTION_PROPOSAL] == TAKE_OVER && !source->ops->sync)
        return error_set(&source->error, ERR_UNSUPPORTED,
                         "proposal=186232 of caching waits for queues, which this device cannot");
    TRY(segments_new(source, "caching", sizeof(struct caching), LEAST_BYTES, state));
    struct caching *c = *state;
    c->segments.pools = c->pools[0];
    c->segments.pool_count = (size_t)ALLOCATOR_QUEUES_MAX * POOL_COUNT;
    c->proposal = (enum proposal)value[OPTION_PROPOSAL];
    c->divisions = value[OPTION_DIVISIONS];
    c->small_segment_bytes = value[OPTION_SMALL_SEGMENT];
    c->large_segment_bytes = value[OPTION_LARGE_SEGMENT];
    c->max_split_bytes = value[OPTION_MAX_SPLIT] ? value[OPTION_MAX_SPLIT] : UINT64_MAX;
    c->rounding_bytes =
        value[OPTION_ROUNDING] ? value[OPTION_ROUNDING] : value[OPTION_LARGE_SEGMENT];
    c->collect_above_bytes = value[OPTION_GC] && source->capacity_bytes
                                 ? (uint64_t)((double)value[OPTION_GC] / PYTORCH_SHARE_PARTS *
                                              (double)source_read_capacity(source))
                                 : UINT64_MAX;
    return 0;
}

/* ---- sizes ---- */

static enum pool_kind pool_of(const struct caching *c, uint64_t size)
{
    return size <= c->small_segment_bytes / 2 ? POOL_SMALL : POOL_LARGE;
}

static bool is_oversize(const struct caching *c, uint64_t size)
{
    return size >= c->max_split_bytes;
}

/* Whether a free block may serve a request that it is large enough for. */
static bool may_serve(const struct caching *c, uint64_t block, uint64_t size)
{
    if (!is_oversize(c, size))
        return !is_oversize(c, block);
    return block - size < c->rounding_bytes;
}

static bool should_split(const struct caching *c, uint64_t block, uint64_t size)
{
    if (pool_of(c, size) == POOL_SMALL)
        return block - size >= c->segments.unit;
    return !is_oversize(c, size) && block - size > c->small_segment_bytes / 2;
}

/* ---- blocks ---- */

static enum pool_kind kind_of(const struct caching *c, const struct piece_index *pool)
{
    return (enum pool_kind)((pool - c->pools[0]) / ALLOCATOR_QUEUES_MAX);
}

/* `since`: searches of its kind of pool when it became free. */
static void put_in_pool(struct caching *c, struct piece *b)
{
    b->since = c->searches[kind_of(c, b->segment->pool)];
    piece_put(b, piece_best_fit(b)); /* rule 3 */
}

static struct piece *find_block(const struct caching *c, const struct piece_index *pool,
                                uint64_t size)
{
    struct piece *b = index_from(pool, (struct index_key){size, 0});
    return b && may_serve(c, b->size, size) ? b : NULL;
}

/* Frees the bytes after the first `size` of a block that is not free. */
static void split_block(struct caching *c, struct piece *b, uint64_t size)
{
    put_in_pool(c, piece_split(&c->segments, b, size));
}

/* The first part of rule 8. *enough: the bytes that were needed are released. */
static int release_oversize(struct caching *c, struct piece_index *pool, uint64_t size,
                            bool *enough)
{
    uint64_t needed = is_oversize(c, size) ? size : c->max_split_bytes, released = 0;
    struct piece *b = index_from(pool, (struct index_key){needed, 0});
    int code = 0;
    if (!b)
        b = index_last(pool);
    while (!code && released < needed && b && is_oversize(c, b->size) && piece_is_segment(b)) {
        released += b->size;
        code = piece_release(&c->segments, b);
        b = index_last(pool);
    }
    *enough = released >= needed;
    return code;
}

/* ---- collection by age ---- */

/* The wholly free segments of the large pools. */
struct free_segments {
    uint64_t count, age; /* their number, and the sum of their ages in searches */
};

static uint64_t age_of(const struct caching *c, const struct piece *b)
{
    return c->searches[POOL_LARGE] - b->since;
}

static struct free_segments count_free_segments(const struct caching *c)
{
    struct free_segments free = {0};
    for (unsigned q = 0; q < ALLOCATOR_QUEUES_MAX; q++) {
        const struct piece_index *pool = &c->pools[POOL_LARGE][q];
        for (const struct piece *b = index_first(pool); b; b = piece_after(b))
            if (piece_is_segment(b)) {
                free.count++;
                free.age += age_of(c, b);
            }
    }
    return free;
}

/* Releases the wholly free segments of a pool that are at least so old. */
static int release_old(struct caching *c, struct piece_index *pool, double least_age,
                       struct free_segments *free)
{
    struct piece *next, *b = index_first(pool);
    int code = 0;
    for (; b && !code; b = next) {
        next = piece_after(b);
        if (!piece_is_segment(b) || (double)age_of(c, b) < least_age)
            continue;
        free->count--;
        free->age -= age_of(c, b);
        code = piece_release(&c->segments, b);
    }
    return code;
}

/* Rule 7. */
static int collect(struct caching *c)
{
    struct free_segments free = count_free_segments(c);
    uint64_t before = free.count + 1;
    int code = 0;
    while (!code && source_held_bytes(c->segments.source) > c->collect_above_bytes && free.count &&
           free.count < before) {
        const double average = (double)free.age / (double)free.count;
        before = free.count;
        for (unsigned q = 0; q < ALLOCATOR_QUEUES_MAX && !code; q++)
            code = release_old(c, &c->pools[POOL_LARGE][q], average, &free);
    }
    return code;
}

/* ---- the driver ---- */

/* proposal=186232. *taken: the segment, in no pool; NULL if there is none. */
static int take_over(struct caching *c, struct piece_index *pool, uint64_t size,
                     struct piece **taken)
{
    struct piece *best = NULL;
    for (unsigned q = 0; q < ALLOCATOR_QUEUES_MAX; q++) {
        const struct piece_index *other = &c->pools[kind_of(c, pool)][q];
        struct piece *b = index_from(other, (struct index_key){size, 0});
        while (b && !(piece_is_segment(b) && may_serve(c, b->size, size)))
            b = piece_after(b);
        if (b && (!best || index_before(b->key, best->key)))
            best = b;
    }
    *taken = best;
    if (!best)
        return 0;
    TRY(source_hand_over(c->segments.source, best->segment->memory, 0, best->segment->bytes));
    piece_take(best);
    best->segment->pool = pool;
    pool->nodes = &c->segments.index_nodes;
    return 0;
}

/* Makes a segment for `size`. *found: its piece, or that of proposal=191302; in no pool. */
static int ask_driver(struct caching *c, struct piece_index *pool, uint64_t size,
                      struct piece **found)
{
    const uint64_t bytes = segments_round(
        &c->segments, pytorch_segment_bytes(size, c->small_segment_bytes, c->large_segment_bytes));
    if (source_held_bytes(c->segments.source) > c->collect_above_bytes)
        TRY(collect(c));
    const uint64_t reserved_bytes = c->segments.source->counts.reserved_bytes;
    int code = segment_make(&c->segments, pool, bytes, found);
    if (code == ERR_OOM && c->max_split_bytes != UINT64_MAX) {
        bool enough;
        TRY(release_oversize(c, pool, size, &enough));
        if (enough)
            code = segment_make(&c->segments, pool, bytes, found);
    }
    if (code == ERR_OOM) {
        TRY(segments_trim(c));
        if (c->segments.source->counts.reserved_bytes < reserved_bytes)
            code = segment_make(&c->segments, pool, bytes, found);
    }
    unsigned waited = 0;
    if (code == ERR_OOM)
        TRY(source_settle(c->segments.source, c->proposal == WAIT_FOR_ENOUGH ? size : UINT64_MAX,
                          &waited));
    if (waited) {
        TRY(segments_trim(c));
        if (c->proposal == SEARCH_AGAIN && (*found = find_block(c, pool, size)) != NULL) {
            piece_take(*found);
            return 0;
        }
        code = segment_make(&c->segments, pool, bytes, found);
    }
    return code;
}

/* ---- the hooks ---- */

static int caching_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct caching *c = state;
    uint64_t size = divisions_round(c->divisions, request->size, c->segments.unit);
    enum pool_kind kind = pool_of(c, size);
    struct piece_index *pool = &c->pools[kind][request->queue];
    c->searches[kind]++;
    struct piece *b = find_block(c, pool, size);
    if (b) {
        piece_take(b);
    } else {
        if (c->proposal == TAKE_OVER)
            TRY(take_over(c, pool, size, &b));
        if (!b)
            TRY(ask_driver(c, pool, size, &b));
    }
    if (should_split(c, b->size, size))
        split_block(c, b, size);
    *block = piece_block(b);
    return 0;
}

static int caching_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct caching *c = state;
    put_in_pool(c, piece_join(&c->segments, block->node));
    return 0;
}

/* The bytes that a live block had when the recording began. What is not split off belongs to it. */
static uint64_t adopted_bytes(const struct caching *c, const struct adopted_memory *m, size_t k)
{
    const struct adopted_block *b = &m->blocks[k];
    const uint64_t size = divisions_round(c->divisions, b->requested, c->segments.unit);
    const uint64_t room = adopted_room(m, k);
    if (b->granted)
        return b->granted;
    return size >= room || !should_split(c, room, size) ? room : size;
}

static bool can_adopt(const struct caching *c, const struct adopted_memory *m)
{
    bool can = !m->is_mapped && m->bytes && m->bytes % c->segments.unit == 0;
    for (size_t k = 0; can && k < m->block_count; k++)
        can = adopted_fits(m, k, adopted_bytes(c, m, k), c->segments.unit);
    return can;
}

static int caching_adopt(void *state, const struct adopted_memory *m)
{
    struct caching *c = state;
    if (!can_adopt(c, m))
        return ERR_UNSUPPORTED;
    const enum pool_kind kind = m->bytes <= c->small_segment_bytes ? POOL_SMALL : POOL_LARGE;
    struct piece *b;
    TRY(segment_make(&c->segments, &c->pools[kind][m->queue], m->bytes, &b));
    for (size_t k = 0; k < m->block_count; k++) {
        const struct adopted_block *adopted = &m->blocks[k];
        const uint64_t offset = adopted->address - m->address;
        if (b->offset < offset) { /* free up to the block */
            split_block(c, b, offset - b->offset);
            put_in_pool(c, b);
            b = b->next;
            piece_take(b);
        }
        const uint64_t size = adopted_bytes(c, m, k);
        if (size < b->size) {
            split_block(c, b, size);
            piece_take(b->next);
        }
        *adopted->block = piece_block(b);
        if (!b->next)
            return 0;
        b = b->next;
    }
    put_in_pool(c, b);
    b->since -= m->age; /* before the first search */
    return 0;
}

static const struct allocator_origin caching_origins[] = {
    {"PyTorch's caching allocator", "pytorch/pytorch", "c10/cuda/CUDACachingAllocator.cpp",
     "001074d25084", 2024},
    {"proposal=191302", "pytorch/pytorch", "pull request 191302, open; from its description", NULL,
     2026},
    {"proposal=171771", "pytorch/pytorch", "issue 171771, open; from its description", NULL, 2026},
    {"proposal=186232", "pytorch/pytorch", "pull request 186232, closed; from its description",
     NULL, 2026},
    PYTORCH_OPTION_ORIGINS,
    {0},
};

const struct allocator_ops allocator_caching = {
    .version = ALLOCATOR_API_VERSION,
    .name = "caching",
    .summary = "segments of 2 and 20 MiB, best fit in a small and a large pool for each queue",
    .origins = caching_origins,
    .options = caching_options,
    .queues = QUEUES_WITHIN,
    .init = caching_init,
    .alloc = caching_alloc,
    .free = caching_free,
    .adopt = caching_adopt,
    SEGMENTS_HOOKS,
};
