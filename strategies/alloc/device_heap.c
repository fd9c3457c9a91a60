/* device_heap: a heap that the device runs itself, driven from the host.
 *
 *   1. Memory comes in arenas of `arena` bytes; a request above half of that gets an arena of its
 *      own size. In each arena the device keeps a heap (strategies/device_heap): a kernel chooses
 *      the place of each block by one of four policies.
 *   2. alloc is a command of the block's queue, given to the newest arena that has as many bytes
 *      free by the host's count. The host has to know the block's place, because it hands it to
 *      kernels. With learn=readback it reads the place back, and so waits for all commands queued
 *      before: this measures the wait that the heap was invented to avoid. With learn=mirror it
 *      runs the same commands on a copy of the heap's words, gets the same places, and does not
 *      wait.
 *   3. free is a command too. It goes with the next alloc of its arena: one launch for both.
 *   4. If no arena has room, the driver is asked for another one. If it refuses, it is asked for
 *      half the size, and so on down to the size of the request; then rule 5 is applied, and all
 *      of this tried once more.
 *   5. trim gives back arenas that have no live blocks.
 *
 * Why: programs whose sizes only the device knows use the heap without the host; the experiments
 * measure that. This strategy shows the cost of the same heap where the host could do the work
 * alone.
 *
 * Source: the heap of the Arterra game, and TLSF.
 *
 * Queues: a free comes after the commands that use the block, an alloc after the free, all on one
 * queue: each queue has an instance with arenas of its own. Memory reaches another queue by rule 5,
 * through the driver.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"
#include "alloc/source_heap.h"
#include "base/arena.h"
#include "base/slab.h"
#include "base/text.h"

/* Words at the arena's ends, and around a block. */
enum { WORD_BYTES = 4, ENDS_BYTES = 6 * WORD_BYTES, TAG_BYTES = 3 * WORD_BYTES };

static const uint64_t arena_most_bytes = (UINT64_C(1) << 34) - 65536; /* 32-bit words address it */

struct heap_arena {
    uint64_t memory, bytes, heap, index_bytes;
    uint64_t live_bytes; /* granted, with tags and padding as far as the host knows */
    uint64_t live_count;
    size_t position;
};

/* The node of a block. */
struct heap_block {
    struct heap_arena *arena;
    uint64_t name; /* the heap's name for the block */
};

struct device_heap_state {
    struct source *source;
    struct source_heap_options heap;
    uint64_t kernels;
    struct heap_arena **arenas; /* the newest last */
    size_t arena_count, arena_capacity;
    struct slab blocks, spare_arenas;
};

enum { OPTION_POLICY, OPTION_LEARN, OPTION_PADDING, OPTION_ARENA, OPTION_BLOCKS };
static const struct option_spec device_heap_options[] = {
    [OPTION_POLICY] = {.name = "policy",
                       .type = OPTION_CHOICE,
                       .fallback = "tlsf",
                       .choices = "larger|smaller|best|tlsf",
                       .help = "which free block serves a request; larger: the published one"},
    [OPTION_LEARN] =
        {.name = "learn",
         .type = OPTION_CHOICE,
         .fallback = "readback",
         .choices = "readback|mirror",
         .help =
             "how the host learns a block's place: it reads it back, or repeats the device's work"},
    [OPTION_PADDING] =
        {.name = "padding",
         .type = OPTION_CHOICE,
         .fallback = "tight",
         .choices = "seed|tight",
         .help =
             "seed: one element more, for alignment, as published; tight: only the words needed"},
    [OPTION_ARENA] = {.name = "arena",
                      .type = OPTION_BYTES,
                      .fallback = "256MiB",
                      .least = 4096,
                      .most = UINT64_C(1) << 33,
                      .help = "bytes of an arena; a request above half of it gets one of its own"},
    [OPTION_BLOCKS] = {.name = "blocks",
                       .type = OPTION_COUNT,
                       .fallback = "4096",
                       .least = 1,
                       .most = 1 << 24,
                       .help = "most live blocks of an arena"},
    {0},
};

static int device_heap_init(struct source *source, const struct option_values *options,
                            void **state)
{
    TRY(source_requires_split(source, "device_heap"));
    uint64_t kernels;
    TRY(source_heap_begin(source, &kernels));
    struct device_heap_state *d = must_alloc(sizeof *d);
    d->source = source;
    d->kernels = kernels;
    d->heap = (struct source_heap_options){
        .policy = (enum device_heap_policy)options->value[OPTION_POLICY],
        .padding = (enum device_heap_padding)options->value[OPTION_PADDING],
        .mirror = options->value[OPTION_LEARN] == 1,
        .arena_bytes = options->value[OPTION_ARENA] & ~(source->alignment - 1),
        .block_count = options->value[OPTION_BLOCKS],
    };
    d->blocks.item_bytes = sizeof(struct heap_block);
    d->spare_arenas.item_bytes = sizeof(struct heap_arena);
    *state = d;
    return 0;
}

/* ---- arenas ---- */

/* The bytes that a heap takes for a block at most, wherever it lies. */
static uint64_t need_of(const struct device_heap_state *d, uint64_t bytes)
{
    return bytes + d->source->alignment + TAG_BYTES;
}

static int close_arena(struct device_heap_state *d, struct heap_arena *a)
{
    d->arenas[a->position] = d->arenas[--d->arena_count];
    d->arenas[a->position]->position = a->position;
    int code = source_heap_close(d->source, a->heap, a->index_bytes);
    int freed = source_free(d->source, a->memory, a->bytes);
    slab_give(&d->spare_arenas, a);
    return code ? code : freed;
}

static int device_heap_trim(void *state)
{
    struct device_heap_state *d = state;
    int first_failure = 0;
    for (size_t i = d->arena_count; i-- > 0;) {
        int code = d->arenas[i]->live_count == 0 ? close_arena(d, d->arenas[i]) : 0;
        if (first_failure == 0)
            first_failure = code;
    }
    return first_failure;
}

static int try_arena(struct device_heap_state *d, uint64_t bytes, unsigned queue)
{
    struct source_heap_options options = d->heap;
    struct heap_arena a = {.bytes = bytes};
    options.arena_bytes = bytes;
    TRY(source_alloc(d->source, bytes, SOURCE_LAZY, &a.memory));
    int code =
        source_heap_open(d->source, d->kernels, a.memory, queue, &options, &a.heap, &a.index_bytes);
    if (code) {
        struct error reason = d->source->error;
        int freed = source_free(d->source, a.memory, bytes);
        if (freed)
            return freed;
        d->source->error = reason;
        return code;
    }
    if (d->arena_count == d->arena_capacity) {
        d->arena_capacity = d->arena_capacity ? 2 * d->arena_capacity : 16;
        d->arenas = must_realloc(d->arenas, d->arena_capacity * sizeof *d->arenas);
    }
    struct heap_arena *arena = slab_take(&d->spare_arenas);
    *arena = a;
    arena->position = d->arena_count;
    d->arenas[d->arena_count++] = arena;
    return 0;
}

/* Rule 4, without its last part. */
static int add_arena(struct device_heap_state *d, uint64_t size, unsigned queue)
{
    uint64_t unit = d->source->alignment;
    uint64_t least = (need_of(d, size) + ENDS_BYTES + unit - 1) & ~(unit - 1);
    uint64_t bytes = size > d->heap.arena_bytes / 2 ? least : d->heap.arena_bytes;
    if (least > arena_most_bytes) {
        char asked[64], most[64];
        return error_set(&d->source->error, ERR_OOM,
                         "asked for %s: an arena of the device heap has at most %s",
                         text_bytes_exact(asked, size), text_bytes_exact(most, arena_most_bytes));
    }
    bytes = bytes < least ? least : bytes;
    int code = try_arena(d, bytes, queue);
    while (code == ERR_OOM && bytes / 2 >= least) {
        bytes = (bytes / 2 + unit - 1) & ~(unit - 1);
        code = try_arena(d, bytes, queue);
    }
    return code;
}

/* ---- the hooks ---- */

static int from_arena(struct device_heap_state *d, struct heap_arena *a, uint64_t size,
                      struct block *block)
{
    uint64_t name, offset;
    TRY(source_heap_alloc(d->source, a->heap, !d->heap.mirror, size, d->source->alignment, &name,
                          &offset));
    struct heap_block *node = slab_take(&d->blocks);
    *node = (struct heap_block){.arena = a, .name = name};
    a->live_count++;
    a->live_bytes += size + TAG_BYTES;
    *block = (struct block){.memory = a->memory, .offset = offset, .size = size, .node = node};
    return 0;
}

static bool may_have_room(const struct device_heap_state *d, const struct heap_arena *a,
                          uint64_t size)
{
    return a->live_count < d->heap.block_count &&
           a->bytes - ENDS_BYTES >= a->live_bytes + size + TAG_BYTES;
}

static int from_arenas(struct device_heap_state *d, uint64_t size, struct block *block)
{
    int code = ERR_OOM;
    for (size_t i = d->arena_count; i-- > 0 && code == ERR_OOM;)
        if (may_have_room(d, d->arenas[i], size))
            code = from_arena(d, d->arenas[i], size, block);
    return code;
}

static int device_heap_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct device_heap_state *d = state;
    uint64_t unit = d->source->alignment, size = (request->size + unit - 1) & ~(unit - 1);
    int code = from_arenas(d, size, block);
    if (code != ERR_OOM)
        return code;
    code = add_arena(d, size, request->queue);
    if (code == ERR_OOM) {
        uint64_t reserved_bytes = d->source->counts.reserved_bytes;
        int trimmed = device_heap_trim(d);
        if (trimmed || d->source->counts.reserved_bytes == reserved_bytes)
            return trimmed ? trimmed : code;
        code = add_arena(d, size, request->queue);
    }
    return code ? code : from_arena(d, d->arenas[d->arena_count - 1], size, block);
}

static int device_heap_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct device_heap_state *d = state;
    struct heap_block *node = block->node;
    struct heap_arena *a = node->arena;
    a->live_count--;
    a->live_bytes -= block->size + TAG_BYTES;
    int code = source_heap_free(d->source, a->heap, node->name);
    slab_give(&d->blocks, node);
    return code;
}

static unsigned device_heap_check(const void *state)
{
    const struct device_heap_state *d = state;
    unsigned broken = 0;
    for (size_t i = 0; i < d->arena_count; i++) {
        const struct heap_arena *a = d->arenas[i];
        uint64_t of_heap = 0;
        broken += (a->live_count == 0) != (a->live_bytes == 0) || a->live_bytes > a->bytes;
        broken += a->position != i;
        broken += source_heap_check(d->source, a->heap, &of_heap) != 0;
        broken += (unsigned)of_heap;
    }
    return broken;
}

static uint64_t device_heap_reserved(const void *state)
{
    const struct device_heap_state *d = state;
    uint64_t bytes = 0;
    for (size_t i = 0; i < d->arena_count; i++)
        bytes += d->arenas[i]->bytes + d->arenas[i]->index_bytes;
    return bytes;
}

static void device_heap_fini(void *state)
{
    struct device_heap_state *d = state;
    while (d->arena_count > 0)
        close_arena(d, d->arenas[d->arena_count - 1]);
    source_heap_end(d->source, d->kernels);
    slab_free(&d->blocks);
    slab_free(&d->spare_arenas);
    free(d->arenas);
    free(d);
}

static const struct allocator_origin device_heap_origins[] = {
    {.what = "the heap in shaders of the Arterra game"},
    {.what = "TLSF: Masmano, Ripoll, Crespo and Real, at ECRTS", .year = 2004},
    {0},
};

const struct allocator_ops allocator_device_heap = {
    .version = ALLOCATOR_API_VERSION,
    .name = "device_heap",
    .summary = "a heap that the device runs, commanded and queried by the host",
    .origins = device_heap_origins,
    .options = device_heap_options,
    .queues = QUEUES_APART,
    .init = device_heap_init,
    .alloc = device_heap_alloc,
    .free = device_heap_free,
    .trim = device_heap_trim,
    .check = device_heap_check,
    .reserved = device_heap_reserved,
    .fini = device_heap_fini,
};
