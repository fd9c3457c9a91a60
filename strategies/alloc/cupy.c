/* cupy: CuPy's memory pool: segments of the size of a request, cut without a least rest.
 *
 *   1. Sizes are multiples of 512 bytes. Each queue has free chunks of its own.
 *   2. alloc takes the smallest free chunk of the queue that is large enough; of equals, the one at
 *      the lowest address. It is cut whenever it is larger, however little is left.
 *   3. If there is none, the source is asked for exactly the size.
 *   4. If the source refuses, all wholly free memories of all queues are given back, and it is
 *      asked again. Then the request fails.
 *   5. With `limit`, a request that would make the pool hold more fails, and nothing is given back
 *      for it.
 *   6. free joins the chunk with free neighbours of its memory.
 *
 * Why: what is held is never more than what was asked for at one time, as long as chunks fit; in
 * exchange a large chunk is cut for small ones, and nothing bounds how small the rests are.
 *
 * Departures: of equal chunks CuPy takes one out of a set of Python, in no order that a program
 * could rely on; until the first such choice, CuPy 14.2 on an H100 made the same. CuPy asks a third
 * time after Python's garbage collection, which has no counterpart here.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include "alloc/allocator.h"
#include "alloc/segments.h"
#include "base/text.h"

enum { LEAST_BYTES = 512 };

struct cupy {
    struct segments memories;
    uint64_t limit_bytes; /* 0: none */
    struct piece_index arenas[ALLOCATOR_QUEUES_MAX];
};

enum { OPTION_LIMIT };
static const struct option_spec cupy_options[] = {
    [OPTION_LIMIT] = {"limit", OPTION_BYTES, "0", NULL, 0, UINT64_C(1) << 50,
                      "most bytes to hold; 0: no limit"},
    {0},
};

static int cupy_init(struct source *source, const struct option_values *options, void **state)
{
    TRY(segments_new(source, "cupy", sizeof(struct cupy), LEAST_BYTES, state));
    struct cupy *c = *state;
    c->memories.pools = c->arenas;
    c->memories.pool_count = ALLOCATOR_QUEUES_MAX;
    c->limit_bytes = options->value[OPTION_LIMIT];
    return 0;
}

/* Rules 3 to 5. */
static int ask(struct cupy *c, struct piece_index *arena, uint64_t size, struct piece **p)
{
    const uint64_t held_bytes = c->memories.held_bytes;
    char asked[64], held[64];
    if (c->limit_bytes && size + held_bytes > c->limit_bytes)
        return error_set(&c->memories.source->error, ERR_OOM,
                         "asked for %s with %s held, which the limit of "
                         "cupy forbids",
                         text_bytes_exact(asked, size), text_bytes_exact(held, held_bytes));
    int code = segment_make(&c->memories, arena, size, p);
    if (code != ERR_OOM)
        return code;
    TRY(segments_trim(c));
    return c->memories.held_bytes < held_bytes ? segment_make(&c->memories, arena, size, p) : code;
}

static int cupy_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct cupy *c = state;
    struct piece_index *arena = &c->arenas[request->queue];
    const uint64_t size = segments_round(&c->memories, request->size);
    struct piece *p = index_from(arena, (struct index_key){size, 0});
    if (p)
        piece_take(p);
    else
        TRY(ask(c, arena, size, &p));
    piece_cut(&c->memories, p, size);
    *block = piece_block(p);
    return 0;
}

static const struct allocator_origin cupy_origins[] = {
    {"CuPy's SingleDeviceMemoryPool (pull request 168, 2017)", "cupy/cupy", "cupy/cuda/memory.pyx",
     "005d7598ad30", 0},
    {0},
};

const struct allocator_ops allocator_cupy = {
    .version = ALLOCATOR_API_VERSION,
    .name = "cupy",
    .summary = "best fit in memories of the size of a request, always cut",
    .origins = cupy_origins,
    .options = cupy_options,
    .queues = QUEUES_WITHIN,
    .when_named = true,
    .init = cupy_init,
    .alloc = cupy_alloc,
    .free = segments_free,
    SEGMENTS_HOOKS,
};
