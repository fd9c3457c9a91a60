/* arena: RMM's arena_memory_resource: one memory from the start on, shared by arenas of queues.
 *
 *   1. Sizes are multiples of 256 bytes. The first request is preceded by one memory: `size` bytes,
 *      by default half of what is free of the device, and at least a superblock. It never grows.
 *   2. The memory is cut into superblocks of at least `superblock` bytes. Each belongs to the
 *      global arena, or to the arena of a queue. All are the global arena's at first.
 *   3. A request of more than `superblock` bytes goes to the global arena, another one to its
 *      queue's arena. It gets the beginning of the first free block by address that is large
 *      enough. What is left of the block stays free.
 *   4. A queue's arena that has none takes over the superblock in which the global arena would find
 *      one. If that is wholly free and a superblock would be left over, its first `superblock`
 *      bytes become one; else all of it is taken over, though blocks may live in it.
 *   5. In the same way a large request that meets a wholly free superblock cuts it, if a superblock
 *      would be left over, at the size of the request.
 *   6. free joins the block with free neighbours of its superblock. In the global arena a wholly
 *      free superblock is joined with neighbours that are so, too. A queue's arena keeps its
 *      superblocks.
 *   7. If there is no room, it waits for all queues, all superblocks go to the global arena, and
 *      the request is tried again. Then it fails.
 *   8. free waits for all queues before it takes a block of more than `superblock` bytes, or one in
 *      a superblock that its queue's arena does not have.
 *
 * Why: threads of a program meet only where they need another superblock, and first fit by address
 * keeps the end of the memory free.
 *
 * What it reserves says nothing of a program: half of the least capacity is what a program needs
 * under it. Departures: the memory is taken at the first request, and a trim gives it back if all
 * of it is free and the global arena's. Free is what the program has not taken of the memory limit,
 * or else of the device; what other processes have is not known. RMM refuses to start with less
 * than a superblock. In rule 8 RMM waits for the queue that frees alone. RMM has arenas for threads
 * beside those for streams. Its sizes of jemalloc's classes are a switch of the compiler's, which
 * is off.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include "alloc/allocator.h"
#include "alloc/segments.h"
#include "alloc/source_vm.h"
#include "base/text.h"

/* Who has a superblock: the arena of a queue, by its number, or the global one. */
enum { LEAST_BYTES = 256, GLOBAL = ALLOCATOR_QUEUES_MAX, OWNERS = 2 * ALLOCATOR_QUEUES_MAX };

struct superblocks {
    struct segments memory;  /* one, or none. A piece's `since`: number of its superblock times
                              * OWNERS, plus the owner */
    struct piece_index free; /* by address */
    uint64_t memory_bytes;   /* 0: half of what is free of device_bytes */
    uint64_t device_bytes, superblock_bytes;
    uint64_t made; /* superblocks, ever */
};

enum { OPTION_SIZE, OPTION_SUPERBLOCK };
static const struct option_spec arena_options[] = {
    [OPTION_SIZE] =
        {"size", OPTION_BYTES, "0", NULL, 0, UINT64_C(1) << 50,
         "bytes of the memory; 0: half of what is free of the memory limit, or of the device"},
    [OPTION_SUPERBLOCK] = {"superblock", OPTION_BYTES, "1MiB", NULL, 256, UINT64_C(1) << 40,
                           "least bytes of a superblock; larger requests get theirs elsewhere"},
    {0},
};

static int arena_init(struct source *source, const struct option_values *options, void **state)
{
    const uint64_t bytes = options->value[OPTION_SIZE];
    struct driver_vm_info info = {.memory_bytes = bytes ? 0 : source_read_capacity(source)};
    if (!source->ops->sync)
        return error_set(&source->error, ERR_UNSUPPORTED,
                         "arena waits for queues, which this device cannot");
    if (!bytes && !info.memory_bytes && source_vm_info(source, &info))
        return error_set(&source->error, ERR_UNSUPPORTED,
                         "arena takes half of the device's memory, and how much this device has is "
                         "not known: give the option `size`, or a memory limit");
    TRY(segments_new(source, "arena", sizeof(struct superblocks), LEAST_BYTES, state));
    struct superblocks *a = *state;
    a->memory.pools = &a->free;
    a->memory.pool_count = 1;
    a->memory.leaves_neighbours = true;
    a->superblock_bytes = segments_round(&a->memory, options->value[OPTION_SUPERBLOCK]);
    a->memory_bytes = bytes;
    a->device_bytes = info.memory_bytes;
    return 0;
}

static unsigned owner_of(const struct piece *p)
{
    return p->since % OWNERS;
}

static bool is_superblock(const struct piece *p)
{
    return (!p->prev || p->prev->since != p->since) && (!p->next || p->next->since != p->since);
}

static void put(struct piece *p)
{
    piece_put(p, (struct index_key){p->offset, 0});
}

/* Cuts a free piece. The rest is in the superblock `since`. */
static void cut(struct superblocks *a, struct piece *p, uint64_t size, uint64_t since)
{
    struct piece *rest = piece_split(&a->memory, p, size);
    rest->since = since;
    put(rest);
}

static uint64_t new_superblock(struct superblocks *a)
{
    return ++a->made * OWNERS + GLOBAL;
}

static bool should_join(const struct piece *p, const struct piece *next)
{
    return p->is_free && next && next->is_free &&
           (p->since == next->since || (owner_of(p) == GLOBAL && owner_of(next) == GLOBAL &&
                                        is_superblock(p) && is_superblock(next)));
}

/* Rule 6: joins a free piece with those after it, and with those before it. */
static struct piece *join(struct superblocks *a, struct piece *p)
{
    while (should_join(p, p->next)) {
        piece_take(p->next);
        piece_join_next(&a->memory, p);
    }
    return p->prev && should_join(p->prev, p) ? join(a, p->prev) : p;
}

/* Rule 7. */
static int hand_back(struct superblocks *a)
{
    TRY(source_sync(a->memory.source));
    struct piece *p = a->memory.newest->first;
    for (struct piece *q = p; q; q = q->next) {
        q->since += GLOBAL - owner_of(q);
        if (q->is_free)
            source_tell(a->memory.source, 0, SOURCE_HANDED_OVER, q->segment->memory, q->offset,
                        q->size);
    }
    for (; p; p = p->next)
        p = join(a, p);
    return 0;
}

static struct piece *first_fit(const struct superblocks *a, unsigned owner, uint64_t size)
{
    struct piece *p = index_first(&a->free);
    while (p && (owner_of(p) != owner || p->size < size))
        p = piece_after(p);
    return p;
}

/* Rules 3 to 5: a free piece, still in the pool; NULL if there is no room. */
static struct piece *find(struct superblocks *a, unsigned queue, uint64_t size)
{
    const bool is_large = size > a->superblock_bytes;
    const uint64_t bytes = is_large ? size : a->superblock_bytes;
    struct piece *found = is_large ? NULL : first_fit(a, queue, size);
    if (found || !(found = first_fit(a, GLOBAL, size)))
        return found;
    if (is_superblock(found) && found->size >= bytes + a->superblock_bytes)
        cut(a, found, bytes, new_superblock(a));
    if (is_large)
        return found;
    const uint64_t since = found->since;
    struct piece *p = found;
    while (p->prev && p->prev->since == since)
        p = p->prev;
    for (; p && p->since == since; p = p->next)
        p->since -= GLOBAL - queue;
    return found;
}

static int begin(struct superblocks *a)
{
    const uint64_t held_bytes = source_held_bytes(a->memory.source);
    uint64_t bytes = a->memory_bytes;
    struct piece *p;
    if (a->memory.newest)
        return 0;
    if (!bytes && a->device_bytes > held_bytes)
        bytes = (a->device_bytes - held_bytes) / 2;
    bytes = larger(bytes & ~(a->memory.unit - 1), a->superblock_bytes);
    TRY(segment_make(&a->memory, &a->free, bytes, &p));
    p->since = new_superblock(a);
    put(p);
    return 0;
}

static int arena_alloc_block(void *state, const struct alloc_request *request, struct block *block)
{
    struct superblocks *a = state;
    const uint64_t size = segments_round(&a->memory, request->size);
    char asked[64], held[64];
    TRY(begin(a));
    struct piece *p = find(a, request->queue, size);
    if (!p) {
        TRY(hand_back(a));
        p = find(a, request->queue, size);
    }
    if (!p)
        return error_set(
            &a->memory.source->error, ERR_OOM, "asked for %s: there is no room in the %s of arena",
            text_bytes_exact(asked, size), text_bytes_exact(held, a->memory.held_bytes));
    if (p->size > size)
        cut(a, p, size, p->since);
    piece_take(p);
    *block = piece_block(p);
    block->queue = request->queue;
    return 0;
}

static int arena_free_block(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct superblocks *a = state;
    struct piece *p = block->node;
    const bool waits = p->size > a->superblock_bytes || owner_of(p) != block->queue;
    const int code =
        waits ? source_hand_over(a->memory.source, block->memory, p->offset, p->size) : 0;
    put(p);
    join(a, p);
    return code;
}

static const struct allocator_origin arena_origins[] = {
    {"RMM's arena_memory_resource", "rapidsai/rmm",
     "cpp/src/mr/detail/arena_memory_resource_impl.cpp", "08cef2a2f91b", 2026},
    {"its superblocks and arenas", "rapidsai/rmm", "cpp/include/rmm/mr/detail/arena.hpp",
     "07b2ac6776a3", 2026},
    {0},
};

const struct allocator_ops allocator_arena = {
    .version = ALLOCATOR_API_VERSION,
    .name = "arena",
    .summary = "one memory from the start on, first fit by address in superblocks of queues",
    .origins = arena_origins,
    .options = arena_options,
    .queues = QUEUES_WITHIN,
    .when_named = true,
    .init = arena_init,
    .alloc = arena_alloc_block,
    .free = arena_free_block,
    SEGMENTS_HOOKS,
};
