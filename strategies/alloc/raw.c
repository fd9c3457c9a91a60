/* raw: no strategy, one driver call a request.
 *
 *   1. Every alloc asks the driver, every free gives back at once. Nothing is held.
 *   2. With first_use=lazy the driver decides when the memory becomes resident; on OpenCL that
 *      is at its first use. first_use=resident makes it resident inside the alloc, so that the
 *      first kernel does not pay for it and the alloc reports a lack of memory.
 *
 * Why: a program without an allocator does this; the other strategies are compared with it.
 *
 * Queues: a block may be given back while commands of the queue still use it. The source's free
 * waits for them or defers until they are done.
 *
 * Needs: alloc/source.c base/clock.c base/error.c base/sort.c base/text_bytes.c
 */
#include <stdlib.h>

#include "alloc/allocator.h"

struct raw {
    struct source *source;
    enum source_flags first_use;
    uint64_t live_count, live_bytes;
};

enum { OPTION_FIRST_USE };
static const struct option_spec raw_options[] = {
    [OPTION_FIRST_USE] =
        {"first_use", OPTION_CHOICE, "lazy", "lazy|resident", 0, 0,
         "when memory becomes resident; lazy: when the driver decides; resident: at allocation"},
    {0},
};

static int raw_init(struct source *source, const struct option_values *options, void **state)
{
    struct raw *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(&source->error, ERR_OOM, "the host has no memory for the state");
    r->source = source;
    r->first_use = options->value[OPTION_FIRST_USE] ? SOURCE_RESIDENT : SOURCE_LAZY;
    *state = r;
    return 0;
}

static int raw_alloc(void *state, const struct alloc_request *request, struct block *block)
{
    struct raw *r = state;
    uint64_t memory;
    TRY(source_alloc(r->source, request->size, r->first_use, &memory));
    *block = (struct block){.memory = memory, .size = request->size};
    r->live_count++;
    r->live_bytes += block->size;
    return 0;
}

static int raw_free(void *state, const struct block *block, const char *tag)
{
    (void)tag;
    struct raw *r = state;
    r->live_count--;
    r->live_bytes -= block->size;
    return source_free(r->source, block->memory, block->size);
}

static int raw_trim(void *state)
{
    (void)state;
    return 0;
}

static unsigned raw_check(const void *state)
{
    const struct raw *r = state;
    return (r->live_count == 0) != (r->live_bytes == 0);
}

static uint64_t raw_reserved(const void *state)
{
    return ((const struct raw *)state)->live_bytes;
}

static void raw_fini(void *state)
{
    free(state);
}

static const struct allocator_origin raw_origins[] = {
    {.what = "a program without an allocator"},
    {0},
};

const struct allocator_ops allocator_raw = {
    .version = ALLOCATOR_API_VERSION,
    .name = "raw",
    .summary = "one driver call a request, nothing held",
    .origins = raw_origins,
    .options = raw_options,
    .queues = QUEUES_SOURCE,
    .init = raw_init,
    .alloc = raw_alloc,
    .free = raw_free,
    .trim = raw_trim,
    .check = raw_check,
    .reserved = raw_reserved,
    .fini = raw_fini,
};
