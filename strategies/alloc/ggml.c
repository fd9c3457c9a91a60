/* ggml: llama.cpp's pool of CUDA buffers for devices without virtual memory (ggml_cuda_pool_leg).
 *
 *   1. alloc takes the smallest held buffer that is large enough, and hands it out whole; of equals
 *      the one in the first slot. A buffer with 64 GiB or more to spare is not taken.
 *   2. If there is none, the source is asked for 1.05 times the request, rounded up to a multiple
 *      of 256 bytes.
 *   3. If the source refuses, all held buffers are released, and it is asked once more.
 *   4. free puts the buffer into the first empty slot. If all `buffers` slots are full, the buffer
 *      is released. Nothing is released otherwise.
 *
 * Why: a graph asks for the same few scratch buffers in each evaluation, and a cache that grows a
 * little each time still finds its buffer large enough.
 *
 * Departures: the original waits for the device before rule 3 releases; here the source's free
 * waits. Where there is virtual memory, llama.cpp takes ggml_cuda_pool_vmm instead, which maps a
 * range of 32 GiB from its start on. It is not a strategy here, because it stops the program unless
 * buffers are freed in the reverse of the order in which they were asked for. Few programs do.
 *
 * Queues: the original has a pool for each stream, and here each queue has an instance of its own.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"
#include "base/arena.h"

#define LEAST_TO_SPARE (UINT64_C(1) << 36)

struct ggml_slot {
    uint64_t memory, size; /* bytes; 0, 0: empty */
};

struct ggml {
    struct source *source;
    uint64_t held_bytes, live_bytes;
    size_t slot_count;
    struct ggml_slot slots[];
};

enum { OPTION_BUFFERS };
static const struct option_spec ggml_options[] = {
    [OPTION_BUFFERS] = {"buffers", OPTION_COUNT, "256", NULL, 1, 65536,
                        "free buffers that are held at most"},
    {0},
};

static int ggml_init(struct source *source, const struct option_values *options, void **state)
{
    const size_t count = (size_t)options->value[OPTION_BUFFERS];
    struct ggml *g = must_alloc(sizeof *g + count * sizeof *g->slots);
    g->source = source;
    g->slot_count = count;
    *state = g;
    return 0;
}

static uint64_t empty(struct ggml *g, struct ggml_slot *slot)
{
    const uint64_t memory = slot->memory;
    g->held_bytes -= slot->size;
    *slot = (struct ggml_slot){0};
    return memory;
}

static int ggml_trim(void *state)
{
    struct ggml *g = state;
    int first_failure = 0;
    for (struct ggml_slot *s = g->slots; s < g->slots + g->slot_count; s++) {
        const uint64_t size = s->size;
        ALSO(first_failure, size ? source_free(g->source, empty(g, s), size) : 0);
    }
    return first_failure;
}

static int ggml_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct ggml *g = state;
    struct ggml_slot *best = NULL;
    uint64_t least = LEAST_TO_SPARE;
    for (struct ggml_slot *s = g->slots; s < g->slots + g->slot_count && least > 0; s++)
        if (s->size >= request->size && s->size - request->size < least) {
            least = s->size - request->size;
            best = s;
        }
    if (best) {
        block->size = best->size;
        block->memory = empty(g, best);
    } else {
        block->size = ((uint64_t)(1.05 * (double)request->size) + 255) & ~UINT64_C(255);
        int code = source_alloc(g->source, block->size, SOURCE_LAZY, &block->memory);
        if (code == ERR_OOM) {
            TRY(ggml_trim(g));
            code = source_alloc(g->source, block->size, SOURCE_LAZY, &block->memory);
        }
        TRY(code);
    }
    block->offset = 0;
    g->live_bytes += block->size;
    return 0;
}

static int ggml_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct ggml *g = state;
    g->live_bytes -= block->size;
    for (struct ggml_slot *s = g->slots; s < g->slots + g->slot_count; s++)
        if (s->size == 0) {
            *s = (struct ggml_slot){block->memory, block->size};
            g->held_bytes += block->size;
            return 0;
        }
    return source_free(g->source, block->memory, block->size);
}

static unsigned ggml_check(const void *state)
{
    const struct ggml *g = state;
    uint64_t bytes = 0;
    unsigned broken = 0;
    for (size_t i = 0; i < g->slot_count; bytes += g->slots[i++].size)
        broken += (g->slots[i].memory == 0) != (g->slots[i].size == 0);
    return broken + (bytes != g->held_bytes);
}

static uint64_t ggml_reserved(const void *state)
{
    const struct ggml *g = state;
    return g->held_bytes + g->live_bytes;
}

static void ggml_fini(void *state)
{
    ggml_trim(state);
    free(state);
}

static const struct allocator_origin ggml_origins[] = {
    {"llama.cpp's ggml_cuda_pool_leg", "ggml-org/llama.cpp", "ggml/src/ggml-cuda/ggml-cuda.cu",
     "00108827d879", 2026},
    {0},
};

const struct allocator_ops allocator_ggml = {
    .version = ALLOCATOR_API_VERSION,
    .name = "ggml",
    .summary = "whole buffers with 5 % to spare, best fit among at most 256 free ones",
    .origins = ggml_origins,
    .options = ggml_options,
    .when_named = true,
    .init = ggml_init,
    .alloc = ggml_alloc,
    .free = ggml_free,
    .trim = ggml_trim,
    .check = ggml_check,
    .reserved = ggml_reserved,
    .fini = ggml_fini,
};
