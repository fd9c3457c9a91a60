/* bufalloc: the allocator that PoCL offers to devices which only have a range of memory.
 *
 *   1. A region is one memory of the source, cut into chunks in the order of their addresses. The
 *      last chunk, the sentinel, was never cut or has become free up to the end. A region has
 *      `chunks` descriptors, one of which is the sentinel's: 1023 chunks by default.
 *   2. Appending cuts a chunk from the start of the sentinel, aligned up; the pad before it is lost
 *      until its neighbours merge. It needs a spare descriptor.
 *   3. Recycling takes the first free chunk that is large enough. It is handed out whole, not
 *      split: a small request can take a large chunk (split=yes mends that).
 *   4. strategy=wasteful appends, and recycles where it cannot; tight recycles first.
 *   5. free merges the chunk with a free chunk before it and one after it, pads included. A chunk
 *      that merges with the sentinel becomes the sentinel.
 *   6. Regions are tried in the order in which they were made.
 *
 * Why: it is fast, and fragments little where largish chunks are allocated and freed together. Use
 * it for few, large allocations of similar lifetimes. Source: PoCL, lib/CL/devices/bufalloc.c.
 * Departures: PoCL's devices have fixed regions, and a request that none can serve fails. Here such
 * a request makes another region, of `region` bytes or of its own size if that is more; if the
 * source refuses, wholly free regions are released, then smaller regions are tried, half the size
 * each time down to the request. PoCL passes both merges in one expression, whose order the
 * compiler chooses; here both neighbours always merge. Chunks start at the source's alignment. PoCL
 * walks the chunks of regions without a free one, too.
 *
 * Queues: a chunk may be handed out while commands of its last owner still run. They come first,
 * because both are on one in-order queue: each queue has an instance of its own. The source's free
 * makes released memory safe.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"
#include "base/arena.h"
#include "base/sort.h"

struct region;

struct chunk {
    struct chunk *prev, *next; /* by address; `next` also links spare descriptors */
    struct region *region;
    uint64_t start, size;
    bool is_free; /* always true of the sentinel */
};

struct region {
    uint64_t memory, bytes;
    struct chunk *first, *sentinel, *spare;
    uint64_t free_count;   /* free chunks other than the sentinel; 0: recycling skips the region */
    struct chunk chunks[]; /* all descriptors */
};

struct bufalloc {
    struct source *source;
    uint64_t region_bytes;
    bool append_first, split;
    uint64_t descriptor_count;
    struct region **regions;
    unsigned region_count, region_capacity;
};

enum { OPTION_REGION, OPTION_STRATEGY, OPTION_SPLIT, OPTION_CHUNKS };
static const struct option_spec bufalloc_options[] = {
    [OPTION_REGION] = {"region", OPTION_BYTES, "256MiB", NULL, 4096, UINT64_C(1) << 40,
                       "bytes of a region; a larger request gets one of its own size"},
    [OPTION_STRATEGY] = {"strategy", OPTION_CHOICE, "wasteful", "wasteful|tight", 0, 0,
                         "wasteful: append before recycling free chunks; tight: recycle first"},
    [OPTION_SPLIT] = {"split", OPTION_CHOICE, "no", "no|yes", 0, 0,
                      "no: hand out a free chunk whole; yes: keep the rest free"},
    [OPTION_CHUNKS] = {"chunks", OPTION_COUNT, "1024", NULL, 2, 1 << 20,
                       "chunk descriptors of a region; the sentinel takes one"},
    {0},
};

static int bufalloc_init(struct source *source, const struct option_values *options, void **state)
{
    TRY(source_requires_split(source, "bufalloc"));
    struct bufalloc *b = must_alloc(sizeof *b);
    b->source = source;
    b->region_bytes = options->value[OPTION_REGION];
    b->append_first = options->value[OPTION_STRATEGY] == 0;
    b->split = options->value[OPTION_SPLIT];
    b->descriptor_count = options->value[OPTION_CHUNKS];
    *state = b;
    return 0;
}

static uint64_t align_up(const struct bufalloc *b, uint64_t bytes)
{
    return (bytes + b->source->alignment - 1) & ~(b->source->alignment - 1);
}

static uint64_t end_of(const struct chunk *c)
{
    return c->start + c->size;
}

static struct chunk *take_spare(struct region *r)
{
    struct chunk *c = r->spare;
    if (c)
        r->spare = c->next;
    return c;
}

static void insert_before(struct chunk *c, struct chunk *next)
{
    c->prev = next->prev;
    c->next = next;
    *(c->prev ? &c->prev->next : &c->region->first) = c;
    next->prev = c;
}

static struct chunk *append(const struct bufalloc *b, struct region *r, uint64_t size)
{
    struct chunk *tail = r->sentinel;
    uint64_t start = align_up(b, tail->start);
    if (start > r->bytes || r->bytes - start < size)
        return NULL;
    struct chunk *c = take_spare(r);
    if (!c)
        return NULL;
    c->start = start;
    c->size = size;
    insert_before(c, tail);
    tail->start = start + size;
    tail->size = r->bytes - tail->start;
    return c;
}

/* Makes the bytes after the first `size` a free chunk of their own. */
static void split_chunk(const struct bufalloc *b, struct chunk *c, uint64_t size)
{
    uint64_t rest_start = align_up(b, c->start + size);
    if (rest_start >= end_of(c))
        return;
    struct chunk *rest = take_spare(c->region);
    if (!rest)
        return;
    rest->start = rest_start;
    rest->size = end_of(c) - rest_start;
    rest->is_free = true;
    insert_before(rest, c->next);
    c->region->free_count++;
    c->size = size;
}

static struct chunk *recycle(const struct bufalloc *b, struct region *r, uint64_t size)
{
    if (r->free_count == 0)
        return NULL;
    for (struct chunk *c = r->first; c != r->sentinel; c = c->next) {
        if (!c->is_free || c->size < size)
            continue;
        r->free_count--;
        if (b->split)
            split_chunk(b, c, size);
        return c;
    }
    return NULL;
}

static struct chunk *serve(const struct bufalloc *b, struct region *r, uint64_t size)
{
    struct chunk *c = b->append_first ? append(b, r, size) : recycle(b, r, size);
    return c ? c : b->append_first ? recycle(b, r, size) : append(b, r, size);
}

static struct region *make_region(const struct bufalloc *b, uint64_t memory, uint64_t bytes)
{
    struct region *r = must_alloc(sizeof *r + b->descriptor_count * sizeof *r->chunks);
    r->memory = memory;
    r->bytes = bytes;
    for (uint64_t i = b->descriptor_count; i-- > 0;) {
        r->chunks[i].region = r;
        r->chunks[i].next = r->spare;
        r->spare = &r->chunks[i];
    }
    r->sentinel = r->first = take_spare(r);
    r->sentinel->next = NULL;
    r->sentinel->size = bytes;
    r->sentinel->is_free = true;
    return r;
}

static int release_region(struct bufalloc *b, struct region *r)
{
    int code = source_free(b->source, r->memory, r->bytes);
    free(r);
    return code;
}

static int bufalloc_trim(void *state)
{
    struct bufalloc *b = state;
    int first_failure = 0;
    unsigned kept = 0;
    for (size_t i = 0; i < b->region_count; i++) {
        struct region *r = b->regions[i];
        if (r->first != r->sentinel) {
            b->regions[kept++] = r;
            continue;
        }
        ALSO(first_failure, release_region(b, r));
    }
    b->region_count = kept;
    return first_failure;
}

/* Asks the source for a region that can serve `size` bytes: see the departures above. */
static int ask_driver(struct bufalloc *b, uint64_t size, uint64_t *memory, uint64_t *bytes)
{
    uint64_t least = align_up(b, size);
    uint64_t want = larger(align_up(b, b->region_bytes), least);
    int code = source_alloc(b->source, want, SOURCE_LAZY, memory);
    if (code == ERR_OOM) {
        unsigned region_count = b->region_count;
        TRY(bufalloc_trim(b));
        if (b->region_count < region_count)
            code = source_alloc(b->source, want, SOURCE_LAZY, memory);
    }
    while (code == ERR_OOM && want > least) {
        want = larger(align_up(b, want / 2), least);
        code = source_alloc(b->source, want, SOURCE_LAZY, memory);
    }
    *bytes = want;
    return code;
}

static int add_region(struct bufalloc *b, uint64_t size)
{
    uint64_t memory, bytes;
    TRY(ask_driver(b, size, &memory, &bytes));
    b->regions = must_grow(b->regions, b->region_count, &b->region_capacity, sizeof *b->regions);
    b->regions[b->region_count++] = make_region(b, memory, bytes);
    return 0;
}

static int bufalloc_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct bufalloc *b = state;
    struct chunk *c = NULL;
    for (size_t i = 0; !c && i < b->region_count; i++)
        c = serve(b, b->regions[i], request->size);
    if (!c) {
        TRY(add_region(b, request->size));
        c = serve(b, b->regions[b->region_count - 1], request->size);
    }
    c->is_free = false;
    *block =
        (struct block){.memory = c->region->memory, .offset = c->start, .size = c->size, .node = c};
    return 0;
}

/* `second` follows `first`, and both are free. */
static void merge(struct chunk *first, struct chunk *second)
{
    struct region *r = first->region;
    first->size = end_of(second) - first->start;
    first->next = second->next;
    if (second == r->sentinel)
        r->sentinel = first;
    else
        second->next->prev = first;
    second->next = r->spare;
    r->spare = second;
    r->free_count--; /* two became one, or one became the sentinel */
}

static int bufalloc_free(void *state, const struct block *block, const char *tag)
{
    (void)state, (void)tag;
    struct chunk *c = block->node;
    c->is_free = true;
    c->region->free_count++;
    if (c->prev && c->prev->is_free) {
        c = c->prev;
        merge(c, c->next);
    }
    if (c->next->is_free)
        merge(c, c->next);
    return 0;
}

static unsigned check_region(const struct bufalloc *b, const struct region *r)
{
    unsigned broken = 0;
    uint64_t linked = 0, spare = 0, free_count = 0;
    uint64_t end = 0; /* end of the chunk before */
    const struct chunk *prev = NULL, *last = NULL;
    for (const struct chunk *c = r->first; c && linked <= b->descriptor_count; c = c->next) {
        bool is_sentinel = c == r->sentinel;
        linked++;
        free_count += c->is_free && !is_sentinel;
        broken += c->region != r || c->prev != prev;
        broken += c->start < end || c->start - end >= b->source->alignment;
        broken += !is_sentinel && (c->size == 0 || c->start % b->source->alignment != 0);
        broken += prev && prev->is_free && c->is_free;
        end = end_of(c);
        prev = last = c;
    }
    for (const struct chunk *c = r->spare; c && spare <= b->descriptor_count; c = c->next)
        spare++;
    broken += linked + spare != b->descriptor_count;
    broken += free_count != r->free_count;
    broken += last != r->sentinel || !r->sentinel->is_free || end != r->bytes;
    return broken;
}

static unsigned bufalloc_check(const void *state)
{
    const struct bufalloc *b = state;
    unsigned broken = 0;
    for (size_t i = 0; i < b->region_count; i++)
        broken += check_region(b, b->regions[i]);
    return broken;
}

static uint64_t bufalloc_reserved(const void *state)
{
    const struct bufalloc *b = state;
    uint64_t bytes = 0;
    for (size_t i = 0; i < b->region_count; i++)
        bytes += b->regions[i]->bytes;
    return bytes;
}

static void bufalloc_fini(void *state)
{
    struct bufalloc *b = state;
    for (size_t i = 0; i < b->region_count; i++)
        release_region(b, b->regions[i]);
    free(b->regions);
    free(b);
}

static const struct allocator_origin bufalloc_origins[] = {
    {"PoCL's bufalloc", "pocl/pocl", "lib/CL/devices/bufalloc.c", "5066640dc", 2026},
    {0},
};

const struct allocator_ops allocator_bufalloc = {
    .version = ALLOCATOR_API_VERSION,
    .name = "bufalloc",
    .summary = "regions cut into chunks: first fit or append, merged when freed",
    .origins = bufalloc_origins,
    .options = bufalloc_options,
    .queues = QUEUES_APART,
    .init = bufalloc_init,
    .alloc = bufalloc_alloc,
    .free = bufalloc_free,
    .trim = bufalloc_trim,
    .check = bufalloc_check,
    .reserved = bufalloc_reserved,
    .fini = bufalloc_fini,
};
