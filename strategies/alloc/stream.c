/* stream: the driver's own pool, cuMemAllocAsync and cuMemFreeAsync.
 *
 *   1. Every alloc and every free is a command of the block's queue, handed to the driver's pool.
 *      The strategy holds nothing. Only the driver knows what the pool holds and how it cuts it up.
 *   2. Memory that was freed on a queue may be handed out again on the same queue at once. It
 *      may be handed out on another queue only as the options allow: where an event has put the two
 *      in order (follow_events), where the free turns out to be done (opportunistic), and where the
 *      driver makes the second queue wait for it (internal_dependencies).
 *   3. When the host waits for a queue, the pool returns spare memory beyond `threshold` to the
 *      driver. The driver's default is 0: everything goes, and the next run pays for it again. RMM
 *      and PyTorch set it to the maximum.
 *   4. If the pool is out of memory, the strategy waits for all queues, so that all frees are done,
 *      trims the pool and asks once more.
 *   5. trim waits as well: memory that commands still use cannot be returned.
 *
 * Why: this is the vendor's answer to the cost of cuMemAlloc, which all others have to beat.
 * Source: the CUDA driver's interface; the options are the pool's attributes. Rule 4 is what
 * programs do that met an early "out of memory". The strategy makes a pool of its own instead of
 * using the device's default one, so that reserved bytes are this strategy's.
 *
 * Queues: the driver keeps the order. The free of a block is a command of the block's queue, after
 * the commands that use it.
 *
 * Needs: alloc/source.c base/arena.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"
#include "alloc/source_pool.h"
#include "base/arena.h"

struct stream {
    struct source *source;
    uint64_t live_count, live_bytes;
};

enum {
    OPTION_THRESHOLD,
    OPTION_FOLLOW_EVENTS,
    OPTION_OPPORTUNISTIC,
    OPTION_INTERNAL_DEPENDENCIES,
};
static const struct option_spec stream_options[] = {
    [OPTION_THRESHOLD] = {"threshold", OPTION_BYTES, "0", NULL, 0, UINT64_MAX,
                          "bytes that the pool keeps when the host waits; max: all"},
    [OPTION_FOLLOW_EVENTS] = {"follow_events", OPTION_CHOICE, "yes", "no|yes", 0, 0,
                              "reuse across queues that an event has put in order"},
    [OPTION_OPPORTUNISTIC] = {"opportunistic", OPTION_CHOICE, "yes", "no|yes", 0, 0,
                              "reuse across queues where the free turns out to be done"},
    [OPTION_INTERNAL_DEPENDENCIES] = {"internal_dependencies", OPTION_CHOICE, "yes", "no|yes", 0, 0,
                                      "reuse across queues by making the second one wait"},
    {0},
};

static int stream_init(struct source *source, const struct option_values *options, void **state)
{
    const struct driver_pool_options pool = {
        .release_threshold_bytes = options->value[OPTION_THRESHOLD],
        .follow_event_dependencies = options->value[OPTION_FOLLOW_EVENTS],
        .allow_opportunistic = options->value[OPTION_OPPORTUNISTIC],
        .allow_internal_dependencies = options->value[OPTION_INTERNAL_DEPENDENCIES],
    };
    TRY(source_pool_open(source, &pool));
    struct stream *s = must_alloc(sizeof *s);
    s->source = source;
    *state = s;
    return 0;
}

static int stream_trim(void *state)
{
    struct stream *s = state;
    TRY(source_sync(s->source));
    return source_pool_trim(s->source);
}

static int stream_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct stream *s = state;
    uint64_t memory;
    int code = source_pool_alloc(s->source, request->queue, request->size, &memory);
    if (code == ERR_OOM) {
        code = stream_trim(s);
        THEN(code, source_pool_alloc(s->source, request->queue, request->size, &memory));
    }
    TRY(code);
    *block = (struct block){.memory = memory, .size = request->size};
    s->live_count++;
    s->live_bytes += block->size;
    return 0;
}

static int stream_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct stream *s = state;
    s->live_count--;
    s->live_bytes -= block->size;
    return source_pool_free(s->source, block->queue, block->memory, block->size);
}

/* The driver cannot hold less than the live blocks. This asks the driver, because the source's
 * count may be out of date. */
static unsigned stream_check(const void *state)
{
    const struct stream *s = state;
    unsigned broken = (s->live_count == 0) != (s->live_bytes == 0);
    return broken + (source_update(s->source) != 0) +
           (s->source->counts.reserved_bytes < s->live_bytes);
}

/* Asks the driver, which alone knows the bytes that the pool holds. */
static uint64_t stream_reserved(const void *state)
{
    const struct stream *s = state;
    return s->source->counts.reserved_bytes;
}

static void stream_fini(void *state)
{
    struct stream *s = state;
    source_pool_close(s->source);
    free(s);
}

static const struct allocator_origin stream_origins[] = {
    {.what = "the CUDA driver's cuMemAllocAsync"},
    {0},
};

const struct allocator_ops allocator_stream = {
    .version = ALLOCATOR_API_VERSION,
    .name = "stream",
    .summary = "the driver's own stream-ordered pool; CUDA only",
    .origins = stream_origins,
    .options = stream_options,
    .queues = QUEUES_SOURCE,
    .opens_pool = true,
    .init = stream_init,
    .alloc = stream_alloc,
    .free = stream_free,
    .trim = stream_trim,
    .check = stream_check,
    .reserved = stream_reserved,
    .fini = stream_fini,
};
