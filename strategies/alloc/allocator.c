#include "alloc/allocator.h"

#include <stdlib.h>

#include "alloc/source_sub_buffer.h"
#include "base/sort.h"

static const char *missing_hook(const struct allocator_ops *ops)
{
    return !ops->init       ? "init"
           : !ops->alloc    ? "alloc"
           : !ops->free     ? "free"
           : !ops->trim     ? "trim"
           : !ops->check    ? "check"
           : !ops->reserved ? "reserved"
           : !ops->fini     ? "fini"
                            : NULL;
}

int allocator_check_ops(const struct allocator_ops *ops, struct error *error)
{
    if (ops->version != ALLOCATOR_API_VERSION)
        return error_set(error, ERR_INTERNAL,
                         "strategy %s was written for version %d of the allocator interface, "
                         "this is version %d",
                         ops->name, ops->version, ALLOCATOR_API_VERSION);
    const char *missing = missing_hook(ops);
    if (missing)
        return error_set(error, ERR_INTERNAL, "strategy %s lacks the required hook '%s'", ops->name,
                         missing);
    size_t options = 0;
    while (ops->options && ops->options[options].name)
        options++;
    if (options > OPTIONS_MAX)
        return error_set(error, ERR_INTERNAL, "strategy %s has %zu options, expected at most %d",
                         ops->name, options, (int)OPTIONS_MAX);
    if (ops->queues == QUEUES_UNSAFE && !ops->harness_only)
        return error_set(error, ERR_INTERNAL,
                         "strategy %s may hand memory to a queue while another still uses it, and "
                         "is not for the harness only",
                         ops->name);
    return 0;
}

int allocator_open(struct allocator *allocator, const struct allocator_ops *ops,
                   const struct option_values *options, struct source *source, struct error *error)
{
    *allocator = (struct allocator){.ops = ops, .source = source};
    clock_prepare(); /* not inside what a caller measures */
    if (options)
        allocator->options = *options;
    TRY(allocator_check_ops(ops, error));
    int code =
        source_use_kind(source, (enum driver_memory)allocator->options.common[ALLOCATOR_KIND]);
    allocator->makes_sub_buffers = allocator->options.common[ALLOCATOR_HANDLE];
    if (!code && allocator->makes_sub_buffers)
        code = source_has_sub_buffers(source);
    THEN(code, ops->init(source, &allocator->options, &allocator->states[0]));
    if (code)
        return error_set(error, code, "strategy %s could not start: %s", ops->name,
                         source->error.code == code ? source->error.text : error_sentence(code));
    return 0;
}

void allocator_close(struct allocator *allocator)
{
    for (unsigned q = 0; q < ALLOCATOR_QUEUES_MAX; q++) {
        if (allocator->states[q])
            allocator->ops->fini(allocator->states[q]);
        allocator->states[q] = NULL;
    }
}

/* Debug builds check after every call, so that a broken invariant is found where it was broken.
 * Timed builds do not. */
static inline void debug_check(const struct allocator *allocator)
{
#ifdef GAMUT_DEBUG
    if (allocator_check(allocator) != 0)
        abort();
#else
    (void)allocator;
#endif
}

/* A number that grows with every request that reaches the driver or is beyond the capacity. */
static inline uint64_t asked(const struct source *source)
{
    return source->counts.alloc_count + source->counts.refused_count;
}

static inline void grow(uint64_t *live, uint64_t *peak, uint64_t bytes)
{
    *live += bytes;
    *peak = larger(*peak, *live);
}

static inline void **instance(struct allocator *allocator, unsigned queue)
{
    return &allocator->states[allocator->ops->queues == QUEUES_APART ? queue : 0];
}

static int make_instance(struct allocator *allocator, unsigned queue)
{
    struct source *source = allocator->source;
    if (queue >= ALLOCATOR_QUEUES_MAX)
        return error_set(&source->error, ERR_INTERNAL,
                         "a block was asked for on queue %u; there are %d at most", queue,
                         ALLOCATOR_QUEUES_MAX);
    void **state = instance(allocator, queue);
    return *state ? 0 : allocator->ops->init(source, &allocator->options, state);
}

/* Trims the instances, those of the other queues at least, and asks again. Their memory passes
 * through the source, which waits or defers: only then may this queue have it. */
static int ask_again(struct allocator *allocator, const struct alloc_request *request,
                     struct block *block)
{
    void *own = *instance(allocator, request->queue);
    uint64_t reserved_bytes = allocator->source->counts.reserved_bytes;
    for (unsigned q = 0; q < ALLOCATOR_QUEUES_MAX; q++) {
        if (!allocator->states[q] ||
            (allocator->states[q] == own && !allocator->ops->trims_together))
            continue;
        TRY(allocator->ops->trim(allocator->states[q]));
    }
    if (allocator->source->counts.reserved_bytes == reserved_bytes)
        return ERR_OOM;
    return allocator->ops->alloc(own, request, block);
}

static int ask_instance(struct allocator *allocator, const struct alloc_request *request,
                        struct block *block)
{
    if (request->queue >= ALLOCATOR_QUEUES_MAX || !*instance(allocator, request->queue))
        TRY(make_instance(allocator, request->queue));
    int code = allocator->ops->alloc(*instance(allocator, request->queue), request, block);
    if (code == ERR_OOM)
        code = ask_again(allocator, request, block);
    return code;
}

int allocator_trim(struct allocator *allocator)
{
    int first_failure = 0;
    for (unsigned q = 0; q < ALLOCATOR_QUEUES_MAX; q++)
        ALSO(first_failure, allocator->states[q] ? allocator->ops->trim(allocator->states[q]) : 0);
    debug_check(allocator);
    return first_failure;
}

void allocator_mark(struct allocator *allocator, const char *name)
{
    for (unsigned q = 0; allocator->ops->mark && q < ALLOCATOR_QUEUES_MAX; q++)
        if (allocator->states[q])
            allocator->ops->mark(allocator->states[q], name);
    debug_check(allocator);
}

static int create_sub_buffer(struct allocator *allocator, struct block *block)
{
    return source_create_sub_buffer(allocator->source, block->memory, block->offset, block->size,
                                    &block->sub_buffer);
}

/* Frees a block for which no sub-buffer could be made; on ERR_OOM also gives back spare memory. */
static int fail_sub_buffer(struct allocator *allocator, const struct alloc_request *request,
                           const struct block *block, int code)
{
    const struct error why = allocator->source->error;
    int freed = allocator->ops->free(*instance(allocator, request->queue), block, request->tag);
    if (!freed && code == ERR_OOM)
        freed = allocator_trim(allocator);
    if (freed)
        return freed;
    allocator->source->error = why;
    return code;
}

/* Serves a request with a block that has a handle of its own. */
static int ask_for_sub_buffer(struct allocator *allocator, const struct alloc_request *request,
                              struct block *block)
{
    struct alloc_request aligned = *request;
    aligned.alignment = larger(aligned.alignment, allocator->source->alignment);
    TRY(ask_instance(allocator, &aligned, block));
    int code = create_sub_buffer(allocator, block);
    if (code == ERR_OOM) {
        code = allocator_trim(allocator);
        THEN(code, create_sub_buffer(allocator, block));
    }
    return code ? fail_sub_buffer(allocator, &aligned, block, code) : 0;
}

/* `block` is NULL if the request failed. */
static inline void count_alloc(struct allocator_counts *counts, bool hit,
                               const struct alloc_request *request, const struct block *block)
{
    counts->alloc_count++;
    counts->hit_count += hit;
    counts->miss_count += !hit;
    if (!block)
        return;
    grow(&counts->requested_bytes, &counts->peak_requested_bytes, request->size);
    grow(&counts->granted_bytes, &counts->peak_granted_bytes, block->size);
}

static inline void count_free(struct allocator_counts *counts, uint64_t requested_bytes,
                              uint64_t granted_bytes)
{
    counts->free_count++;
    counts->requested_bytes -= requested_bytes;
    counts->granted_bytes -= granted_bytes;
}

static int refuse(struct source *source, const struct alloc_request *request)
{
    if (request->size > ALLOCATOR_MOST_BYTES)
        return error_set(&source->error, ERR_OOM,
                         "asked for %llu bytes: no device has more than 2^60",
                         (unsigned long long)request->size);
    return error_set(
        &source->error, ERR_UNSUPPORTED,
        "asked for an alignment of %llu bytes, expected a power of two of at most %llu, "
        "the source's",
        (unsigned long long)request->alignment, (unsigned long long)source->alignment);
}

static inline bool is_possible(const struct source *source, const struct alloc_request *request)
{
    return request->size <= ALLOCATOR_MOST_BYTES && request->alignment <= source->alignment &&
           (request->alignment & (request->alignment - 1)) == 0;
}

int allocator_alloc(struct allocator *allocator, const struct alloc_request *request,
                    struct block *block)
{
    if (request->size == 0) {
        *block = (struct block){0};
        return 0;
    }
    uint64_t asked_before = asked(allocator->source);
    int code = !is_possible(allocator->source, request) ? refuse(allocator->source, request)
               : allocator->makes_sub_buffers ? ask_for_sub_buffer(allocator, request, block)
                                              : ask_instance(allocator, request, block);
    bool hit = code == 0 && asked(allocator->source) == asked_before;
    if (code == 0) {
        block->queue = request->queue;
        if (!allocator->makes_sub_buffers)
            block->sub_buffer = 0;
    }
    count_alloc(&allocator->counts, hit, request, code ? NULL : block);
    if (allocator->total)
        count_alloc(allocator->total, hit, request, code ? NULL : block);
    debug_check(allocator);
    return code;
}

static void count_adopted(struct allocator_counts *counts, const struct adopted_block *b)
{
    grow(&counts->requested_bytes, &counts->peak_requested_bytes, b->requested);
    grow(&counts->granted_bytes, &counts->peak_granted_bytes, b->block->size);
}

int allocator_adopt(struct allocator *allocator, const struct adopted_memory *memory)
{
    if (!allocator->ops->adopt || allocator->makes_sub_buffers ||
        memory->bytes > ALLOCATOR_MOST_BYTES || memory->queue >= ALLOCATOR_QUEUES_MAX)
        return ERR_UNSUPPORTED;
    TRY(make_instance(allocator, memory->queue));
    TRY(allocator->ops->adopt(*instance(allocator, memory->queue), memory));
    for (size_t k = 0; k < memory->block_count; k++) {
        const struct adopted_block *b = &memory->blocks[k];
        b->block->queue = memory->queue;
        b->block->sub_buffer = 0;
        count_adopted(&allocator->counts, b);
        if (allocator->total)
            count_adopted(allocator->total, b);
    }
    debug_check(allocator);
    return 0;
}

int allocator_free(struct allocator *allocator, const struct block *block, const char *tag,
                   uint64_t requested_bytes)
{
    if (block->memory == 0)
        return 0;
    count_free(&allocator->counts, requested_bytes, block->size);
    if (allocator->total)
        count_free(allocator->total, requested_bytes, block->size);
    int released = block->sub_buffer ? source_release_sub_buffer(allocator->source,
                                                                 block->sub_buffer, block->size)
                                     : 0;
    int code = allocator->ops->free(*instance(allocator, block->queue), block, tag);
    debug_check(allocator);
    return code ? code : released;
}

unsigned allocator_check(const struct allocator *allocator)
{
    unsigned broken = 0;
    uint64_t reserved_bytes = 0;
    for (unsigned q = 0; q < ALLOCATOR_QUEUES_MAX; q++)
        if (allocator->states[q]) {
            broken += allocator->ops->check(allocator->states[q]);
            reserved_bytes += allocator->ops->reserved(allocator->states[q]);
        }
    return broken + (reserved_bytes != allocator->source->counts.reserved_bytes);
}
