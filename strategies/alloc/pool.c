/* pool: PyOpenCL's unbounded memory pool (MemoryPool, src/mempool.hpp).
 *
 *   1. A size belongs to a bin: the position of its leading one bit and the leading_bits bits after
 *      it. The block of a bin is the largest size in it, so at most 1/2^leading_bits is wasted.
 *      Powers of two fare worst: 4096 is served by 4351 bytes, and drivers round that up again.
 *   2. alloc takes the block that was freed last into the request's bin. It does not search other
 *      bins.
 *   3. An empty bin asks the driver for a block of the bin's size.
 *   4. If the driver is out of memory, held blocks are released one at a time, from the largest bin
 *      down, and the driver is asked again after each; with none left the request fails.
 *   5. free puts the block into its bin. Nothing is ever released otherwise: no cap, no ageing, no
 *      splitting, no merging.
 *
 * Why: array programs ask for the same few sizes again and again, and an OpenCL buffer can be
 * neither split nor joined. first_use is PyOpenCL's choice of DeferredAllocator or
 * ImmediateAllocator under the pool. Rule 4 there first runs Python's garbage collector, which has
 * no counterpart here.
 *
 * Queues: a block may be handed out while commands of its last owner still run. They come first,
 * because both are on one in-order queue: each queue has an instance of its own. The source's free
 * makes released memory safe.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"
#include "base/arena.h"

struct bin {
    uint64_t *memories; /* a stack, the last one freed on top */
    unsigned count, capacity;
};

struct pool {
    struct source *source;
    enum source_flags first_use;
    unsigned leading_bits;
    size_t bin_count;
    uint64_t held_count, held_bytes;
    uint64_t live_bytes;
    struct bin bins[];
};

enum { OPTION_LEADING_BITS, OPTION_FIRST_USE };
static const struct option_spec pool_options[] = {
    [OPTION_LEADING_BITS] =
        {"leading_bits", OPTION_COUNT, "4", NULL, 0, 7,
         "bits after the leading one that select a bin: 2^bits bins between two powers of two"},
    [OPTION_FIRST_USE] =
        {"first_use", OPTION_CHOICE, "lazy", "lazy|resident", 0, 0,
         "when memory becomes resident; lazy: when the driver decides; resident: at allocation"},
    {0},
};

/* size >= 1 */
static inline size_t bin_number(unsigned leading_bits, uint64_t size)
{
    unsigned exponent = 63 - (unsigned)__builtin_clzll(size);
    uint64_t leading = exponent >= leading_bits ? size >> (exponent - leading_bits)
                                                : size << (leading_bits - exponent);
    uint64_t mantissa = leading & ((1u << leading_bits) - 1);
    return ((size_t)exponent << leading_bits) | mantissa;
}

/* The largest size in a bin: the leading bits of the bin, and ones below them. */
static inline uint64_t bin_block_size(unsigned leading_bits, size_t bin)
{
    unsigned exponent = (unsigned)(bin >> leading_bits);
    uint64_t leading = (1u << leading_bits) | (bin & ((1u << leading_bits) - 1));
    if (exponent < leading_bits)
        return leading >> (leading_bits - exponent);
    unsigned ones = exponent - leading_bits;
    return leading << ones | ((UINT64_C(1) << ones) - 1);
}

static int pool_init(struct source *source, const struct option_values *options, void **state)
{
    unsigned leading_bits = (unsigned)options->value[OPTION_LEADING_BITS];
    size_t bin_count = (size_t)64 << leading_bits;
    struct pool *p = must_alloc(sizeof *p + bin_count * sizeof *p->bins);
    p->source = source;
    p->first_use = options->value[OPTION_FIRST_USE] ? SOURCE_RESIDENT : SOURCE_LAZY;
    p->leading_bits = leading_bits;
    p->bin_count = bin_count;
    *state = p;
    return 0;
}

static uint64_t pop(struct pool *p, struct bin *bin, uint64_t block_size)
{
    p->held_count--;
    p->held_bytes -= block_size;
    return bin->memories[--bin->count];
}

static int release_one(struct pool *p, size_t bin)
{
    uint64_t size = bin_block_size(p->leading_bits, bin);
    return source_free(p->source, pop(p, &p->bins[bin], size), size);
}

static int ask_driver(struct pool *p, uint64_t size, uint64_t *memory)
{
    int code = source_alloc(p->source, size, p->first_use, memory);
    size_t largest = p->bin_count - 1;
    while (code == ERR_OOM && p->held_count > 0) {
        while (p->bins[largest].count == 0)
            largest--;
        code = release_one(p, largest);
        THEN(code, source_alloc(p->source, size, p->first_use, memory));
    }
    return code;
}

static int pool_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct pool *p = state;
    size_t i = bin_number(p->leading_bits, request->size);
    struct bin *bin = &p->bins[i];
    uint64_t size = bin_block_size(p->leading_bits, i), memory;
    if (bin->count > 0)
        memory = pop(p, bin, size);
    else
        TRY(ask_driver(p, size, &memory));
    *block = (struct block){.memory = memory, .size = size};
    p->live_bytes += size;
    return 0;
}

static int pool_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct pool *p = state;
    struct bin *bin = &p->bins[bin_number(p->leading_bits, block->size)];
    bin->memories = must_grow(bin->memories, bin->count, &bin->capacity, sizeof *bin->memories);
    bin->memories[bin->count++] = block->memory;
    p->held_count++;
    p->held_bytes += block->size;
    p->live_bytes -= block->size;
    return 0;
}

static int pool_trim(void *state)
{
    struct pool *p = state;
    int first_failure = 0;
    for (size_t i = p->bin_count; i-- > 0;)
        while (p->bins[i].count > 0)
            ALSO(first_failure, release_one(p, i));
    return first_failure;
}

static unsigned check_bin(const struct bin *bin)
{
    unsigned broken = bin->count > bin->capacity;
    for (size_t i = 0; i < bin->count; i++) {
        broken += bin->memories[i] == 0;
        for (size_t j = 0; j < i; j++)
            broken += bin->memories[i] == bin->memories[j];
    }
    return broken;
}

static unsigned pool_check(const void *state)
{
    const struct pool *p = state;
    unsigned broken = 0;
    uint64_t count = 0, bytes = 0;
    for (size_t i = 0; i < p->bin_count; i++) {
        if (p->bins[i].count == 0)
            continue;
        uint64_t size = bin_block_size(p->leading_bits, i);
        broken += check_bin(&p->bins[i]);
        broken += bin_number(p->leading_bits, size) != i;
        count += p->bins[i].count;
        bytes += p->bins[i].count * size;
    }
    broken += count != p->held_count;
    broken += bytes != p->held_bytes;
    return broken;
}

static uint64_t pool_reserved(const void *state)
{
    const struct pool *p = state;
    return p->held_bytes + p->live_bytes;
}

static void pool_fini(void *state)
{
    struct pool *p = state;
    pool_trim(p);
    for (size_t i = 0; i < p->bin_count; i++)
        free(p->bins[i].memories);
    free(p);
}

static const struct allocator_origin pool_origins[] = {
    {"PyOpenCL's MemoryPool", "inducer/pyopencl", "src/mempool.hpp", "26c8ab98", 2026},
    {0},
};

const struct allocator_ops allocator_pool = {
    .version = ALLOCATOR_API_VERSION,
    .name = "pool",
    .summary = "size bins, the last block freed into a bin first, released when the driver refuses",
    .origins = pool_origins,
    .options = pool_options,
    .queues = QUEUES_APART,
    .init = pool_init,
    .alloc = pool_alloc,
    .free = pool_free,
    .trim = pool_trim,
    .check = pool_check,
    .reserved = pool_reserved,
    .fini = pool_fini,
};
