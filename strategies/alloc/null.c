/* null: measures the cost of the harness itself.
 *
 *   1. All blocks are the start of one and the same memory, which is as big as the largest request
 *      so far. A larger request asks the source for another memory.
 *   2. Older memories are kept while any block is live, because blocks point to them.
 *   3. A refused request releases everything if no block is live, and asks again.
 *
 * Why: an alloc and a free are a few instructions, so a run under null shows the cost of everything
 * else. fio has a null engine for the same reason. Blocks overlap, so real programs compute wrong
 * results under it. It is for programs that do not touch their memory.
 *
 * Queues: not safe, as blocks overlap on one queue already. Memory goes back to the source only
 * when no block is live.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"
#include "base/arena.h"

struct memory {
    uint64_t handle, bytes;
};

struct null {
    struct source *source;
    struct memory *memories; /* each larger than the one before; the last one is handed out */
    unsigned memory_count, memory_capacity;
    uint64_t live_count;
};

static int null_init(struct source *source, const struct option_values *options, void **state)
{
    (void)options;
    struct null *n = must_alloc(sizeof *n);
    n->source = source;
    *state = n;
    return 0;
}

static int release_all(struct null *n)
{
    int first_failure = 0;
    while (n->memory_count > 0) {
        struct memory *m = &n->memories[--n->memory_count];
        ALSO(first_failure, source_free(n->source, m->handle, m->bytes));
    }
    return first_failure;
}

static int grow(struct null *n, uint64_t bytes)
{
    struct memory m = {.bytes = bytes};
    int code = source_alloc(n->source, bytes, SOURCE_LAZY, &m.handle);
    if (code == ERR_OOM && n->live_count == 0 && n->memory_count > 0) {
        code = release_all(n);
        THEN(code, source_alloc(n->source, bytes, SOURCE_LAZY, &m.handle));
    }
    TRY(code);
    n->memories = must_grow(n->memories, n->memory_count, &n->memory_capacity, sizeof m);
    n->memories[n->memory_count++] = m;
    return 0;
}

static int null_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct null *n = state;
    if (n->memory_count == 0 || n->memories[n->memory_count - 1].bytes < request->size)
        TRY(grow(n, request->size));
    *block =
        (struct block){.memory = n->memories[n->memory_count - 1].handle, .size = request->size};
    n->live_count++;
    return 0;
}

static int null_free(void *state, const struct block *block, const char *tag)
{
    (void)block, (void)tag;
    struct null *n = state;
    n->live_count--;
    return 0;
}

static int null_trim(void *state)
{
    struct null *n = state;
    return n->live_count == 0 ? release_all(n) : 0;
}

static unsigned null_check(const void *state)
{
    const struct null *n = state;
    unsigned broken = 0;
    for (size_t i = 0; i < n->memory_count; i++) {
        broken += n->memories[i].handle == 0;
        broken += i > 0 && n->memories[i].bytes <= n->memories[i - 1].bytes;
    }
    broken += n->live_count > 0 && n->memory_count == 0;
    return broken;
}

static uint64_t null_reserved(const void *state)
{
    const struct null *n = state;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n->memory_count; i++)
        bytes += n->memories[i].bytes;
    return bytes;
}

static void null_fini(void *state)
{
    struct null *n = state;
    release_all(n);
    free(n->memories);
    free(n);
}

static const struct allocator_origin null_origins[] = {
    {.what = "gamut's own design"},
    {0},
};

const struct allocator_ops allocator_null = {
    .version = ALLOCATOR_API_VERSION,
    .name = "null",
    .summary = "every request gets the same block; measures the harness itself (results are wrong)",
    .origins = null_origins,
    .queues = QUEUES_UNSAFE,
    .harness_only = true,
    .init = null_init,
    .alloc = null_alloc,
    .free = null_free,
    .trim = null_trim,
    .check = null_check,
    .reserved = null_reserved,
    .fini = null_fini,
};
