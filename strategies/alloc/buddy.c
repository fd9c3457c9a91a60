/* buddy: Dawn's allocator of WebGPU resources under Vulkan: a buddy system in heaps that are kept.
 *
 *   1. A request of half a heap or more is a memory of its own, as large as requested. It is given
 *      back when it is freed.
 *   2. A smaller one is rounded up to a power of two, at least the alignment.
 *   3. It gets the free block of the smallest sufficient size; of equals the one that became free
 *      last. A larger block is cut in halves until it fits: the lower half is used, the upper half
 *      is free.
 *   4. If there is none, the source is asked for a heap. If it refuses, the request fails.
 *   5. free joins the block with its buddy, the other half of the block that both were cut from, if
 *      that is free as a whole, and so on up to the heap. Free heaps are kept.
 *
 * Why: finding and joining take one step a size, at the price of blocks that are up to twice as
 * large as requested.
 *
 * Departures: in the original a buddy system spans the largest power of two of the device's memory.
 * Its parts of 8 MiB are heaps, and get a memory when a block lies in them; what it has no room for
 * is a memory of its own. Here the source's refusals limit the heaps. The alignment is that of the
 * source; there it is at least Vulkan's bufferImageGranularity, because images lie beside buffers.
 *
 * Queues: the original reuses a block after the commands that use it have run; here each queue has
 * an instance of its own.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include "alloc/allocator.h"
#include "alloc/segments.h"

struct buddy {
    struct segments heaps; /* and the memories of rule 1, whose one piece is never free */
    uint64_t heap_bytes;   /* a power of two, at least twice the source's alignment */
    uint64_t frees;        /* blocks that ever became free */
    struct piece_index blocks;
};

enum { OPTION_HEAP };
static const struct option_spec buddy_options[] = {
    [OPTION_HEAP] = {"heap", OPTION_BYTES, "8MiB", NULL, 256, UINT64_C(1) << 40,
                     "bytes of a heap, rounded up to a power of two"},
    {0},
};

static uint64_t power_of_two_from(uint64_t least, uint64_t bytes)
{
    while (least < bytes)
        least *= 2;
    return least;
}

static int buddy_init(struct source *source, const struct option_values *options, void **state)
{
    TRY(segments_new(source, "buddy", sizeof(struct buddy), 1, state));
    struct buddy *b = *state;
    b->heaps.pools = &b->blocks;
    b->heaps.pool_count = 1;
    b->heap_bytes = power_of_two_from(2 * source->alignment, options->value[OPTION_HEAP]);
    b->heaps.leaves_neighbours = true;
    return 0;
}

/* By size, and of one size the last one first. */
static void put(struct buddy *b, struct piece *p)
{
    piece_put(p, (struct index_key){p->size, UINT64_MAX - ++b->frees});
}

static int buddy_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct buddy *b = state;
    const bool is_direct = request->size >= b->heap_bytes / 2;
    const uint64_t size =
        is_direct ? request->size : power_of_two_from(b->heaps.unit, request->size);
    struct piece *p = is_direct ? NULL : index_from(&b->blocks, (struct index_key){size, 0});
    if (p)
        piece_take(p);
    else
        TRY(segment_make(&b->heaps, &b->blocks, is_direct ? size : b->heap_bytes, &p));
    while (p->size > size)
        put(b, piece_split(&b->heaps, p, p->size / 2));
    *block = piece_block(p);
    return 0;
}

static int buddy_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct buddy *b = state;
    struct piece *p = block->node;
    if (piece_is_segment(p))
        return segment_release(&b->heaps, p->segment);
    while (!piece_is_segment(p)) {
        const bool is_upper = p->offset & p->size;
        struct piece *other = is_upper ? p->prev : p->next;
        if (!other->is_free || other->size != p->size)
            break;
        piece_take(other);
        p = is_upper ? other : p;
        piece_join_next(&b->heaps, p);
    }
    put(b, p);
    return 0;
}

static unsigned buddy_check(const void *state)
{
    const struct buddy *b = state;
    unsigned broken = segments_check(b);
    for (const struct segment *g = b->heaps.newest; g; g = g->next)
        for (const struct piece *p = g->first; p && p->next; p = p->next) {
            broken += p->size & (p->size - 1) || p->offset % p->size != 0;
            broken += p->is_free && p->next->is_free && p->next->size == p->size &&
                      !(p->offset & p->size);
        }
    return broken;
}

static const struct allocator_origin buddy_origins[] = {
    {"Dawn's BuddyAllocator (copyright of 2019)", "google/dawn",
     "src/dawn/native/BuddyAllocator.cpp", "11703763c354", 0},
    {"Dawn's heaps and direct memories (copyright of 2019)", "google/dawn",
     "src/dawn/native/vulkan/ResourceMemoryAllocatorVk.cpp", "41408d244c8a", 0},
    {"Dawn's kept heaps (copyright of 2020)", "google/dawn",
     "src/dawn/native/PooledResourceMemoryAllocator.cpp", "0d20b2b2b77d", 0},
    {0},
};

const struct allocator_ops allocator_buddy = {
    .version = ALLOCATOR_API_VERSION,
    .name = "buddy",
    .summary = "powers of two in heaps that are kept, large requests by the driver",
    .origins = buddy_origins,
    .options = buddy_options,
    .when_named = true,
    .init = buddy_init,
    .alloc = buddy_alloc,
    .free = buddy_free,
    .trim = segments_trim,
    .check = buddy_check,
    .reserved = segments_reserved,
    .fini = segments_fini,
};
