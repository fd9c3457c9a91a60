/* ggml: llama.cpp's pools of CUDA buffers, without and with virtual memory.
 *
 * pool=legacy (ggml_cuda_pool_leg):
 *
 *   1. alloc takes the smallest held buffer that is large enough, and hands it out whole; of equals
 *      the one in the first slot. A buffer with 64 GiB or more to spare is not taken.
 *   2. If there is none, the source is asked for 1.05 times the request, rounded up to a multiple
 *      of 256 bytes.
 *   3. If the source refuses, all held buffers are released, and it is asked once more.
 *   4. free puts the buffer into the first empty slot. If all `buffers` slots are full, the buffer
 *      is released. Nothing is released otherwise.
 *
 * pool=virtual (ggml_cuda_pool_vmm):
 *
 *   5. The pool is a stack in one range of addresses. A block begins where the one before it ends.
 *      Sizes are multiples of 128 bytes, or of the source's alignment if that is more.
 *   6. If the mapped memory ends within the block, what is missing is made as one chunk, rounded up
 *      to the source's granularity, and mapped where the memory ends. Nothing is unmapped before
 *      the end.
 *   7. A block that is not the last of the stack cannot be freed. A request is refused if its
 *      memory would end beyond `range` bytes. The original stops the program in both cases.
 *
 * Why: a graph asks for the same few scratch buffers in each evaluation, and a cache that grows a
 * little each time still finds its buffer large enough.
 *
 * Departures: the original waits for the device before rule 3 releases; here the source's free
 * waits. It releases its handle of a chunk once the chunk is mapped; here at the end.
 *
 * Queues: the original has a pool for each stream, and here each queue has an instance of its own.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"
#include "alloc/source_vm.h"
#include "base/arena.h"
#include "base/sort.h"

#define LEAST_TO_SPARE (UINT64_C(1) << 36)

struct ggml_slot {
    uint64_t memory, size; /* bytes; 0, 0: empty */
};

struct ggml {
    struct source *source;
    uint64_t held_bytes, live_bytes; /* free and live ones */
    uint64_t granularity_bytes;      /* 0: pool=legacy */
    uint64_t unit_bytes, range_bytes, range;
    struct ggml_slot *chunks; /* in the order of their offsets */
    unsigned chunk_count, chunk_capacity;
    size_t slot_count;
    struct ggml_slot slots[];
};

enum { OPTION_BUFFERS, OPTION_POOL, OPTION_RANGE };
enum { LEAST_UNIT_BYTES = 128 };
static const struct option_spec ggml_options[] = {
    [OPTION_BUFFERS] = {"buffers", OPTION_COUNT, "256", NULL, 1, 65536,
                        "free buffers that pool=legacy holds at most"},
    [OPTION_POOL] = {"pool", OPTION_CHOICE, "legacy", "legacy|virtual", 0, 0,
                     "legacy: whole buffers; virtual: a stack of blocks in a range of addresses"},
    [OPTION_RANGE] = {"range", OPTION_BYTES, "32GiB", NULL, 1, UINT64_C(1) << 46,
                      "bytes of addresses that pool=virtual reserves"},
    {0},
};

static int ggml_init(struct source *source, const struct option_values *options, void **state)
{
    const bool is_virtual = options->value[OPTION_POOL] == 1;
    const size_t count = is_virtual ? 0 : (size_t)options->value[OPTION_BUFFERS];
    struct driver_vm_info info = {0};
    if (is_virtual)
        TRY(source_vm_info(source, &info));
    struct ggml *g = must_alloc(sizeof *g + count * sizeof *g->slots);
    g->source = source;
    g->slot_count = count;
    g->unit_bytes = larger(source->alignment, LEAST_UNIT_BYTES);
    g->granularity_bytes = info.granularity_bytes;
    if (is_virtual)
        g->range_bytes = vm_round_up(options->value[OPTION_RANGE], info.granularity_bytes);
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

/* Maps a chunk of at least `missing` bytes where the mapped memory ends. */
static int grow(struct ggml *g, uint64_t missing)
{
    const uint64_t bytes = vm_round_up(missing, g->granularity_bytes);
    const uint64_t end = g->held_bytes + g->live_bytes;
    uint64_t chunk;
    if (bytes > g->range_bytes - end)
        return error_set(&g->source->error, ERR_OOM,
                         "needs %llu bytes beyond the pool's addresses (range), where llama.cpp "
                         "stops the program",
                         (unsigned long long)(end + bytes - g->range_bytes));
    TRY(source_vm_create(g->source, bytes, &chunk));
    int code = g->range ? 0 : source_vm_reserve(g->source, g->range_bytes, &g->range);
    THEN(code, source_vm_map(g->source, g->range, end, chunk, bytes));
    const bool is_mapped = !code;
    THEN(code, source_vm_access(g->source, g->range, end, bytes));
    if (code && is_mapped)
        source_vm_unmap(g->source, g->range, end, bytes);
    if (code) {
        const int released = source_vm_release(g->source, chunk, bytes);
        return released ? released : code;
    }
    g->chunks = must_grow(g->chunks, g->chunk_count, &g->chunk_capacity, sizeof *g->chunks);
    g->chunks[g->chunk_count++] = (struct ggml_slot){chunk, bytes};
    g->held_bytes += bytes;
    return 0;
}

/* Rules 5 and 6. */
static int push(struct ggml *g, uint64_t size, struct block *block)
{
    if (size > g->held_bytes)
        TRY(grow(g, size - g->held_bytes));
    *block = (struct block){.memory = g->range, .offset = g->live_bytes, .size = size};
    g->held_bytes -= size;
    g->live_bytes += size;
    return 0;
}

/* Rule 7. */
static int pop(struct ggml *g, const struct block *block)
{
    if (block->offset + block->size != g->live_bytes)
        return error_set(&g->source->error, ERR_UNSUPPORTED,
                         "a block is freed that is not the last of the stack, where llama.cpp's "
                         "pool over virtual memory stops the program");
    g->held_bytes += block->size;
    g->live_bytes -= block->size;
    return 0;
}

static int ggml_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct ggml *g = state;
    if (g->granularity_bytes)
        return push(g, vm_round_up(request->size, g->unit_bytes), block);
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
    if (g->granularity_bytes)
        return pop(g, block);
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
    for (unsigned i = 0; i < g->chunk_count; i++)
        bytes += g->chunks[i].size;
    return broken + (bytes != g->held_bytes + (g->granularity_bytes ? g->live_bytes : 0));
}

static uint64_t ggml_reserved(const void *state)
{
    const struct ggml *g = state;
    return g->held_bytes + g->live_bytes;
}

static void ggml_fini(void *state)
{
    struct ggml *g = state;
    ggml_trim(g);
    if (g->chunk_count)
        source_sync(g->source);
    for (uint64_t i = 0, at = 0; i < g->chunk_count; at += g->chunks[i++].size) {
        source_vm_unmap(g->source, g->range, at, g->chunks[i].size);
        source_vm_release(g->source, g->chunks[i].memory, g->chunks[i].size);
    }
    if (g->range)
        source_vm_unreserve(g->source, g->range, g->range_bytes);
    free(g->chunks);
    free(g);
}

static const struct allocator_origin ggml_origins[] = {
    {"llama.cpp's ggml_cuda_pool_leg and ggml_cuda_pool_vmm", "ggml-org/llama.cpp",
     "ggml/src/ggml-cuda/ggml-cuda.cu", "00108827d879", 2026},
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
