#include "alloc/allocator.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/list.h"
#include "base/text.h"

static const struct allocator_ops *const strategies[] = {
#define X(name) &allocator_##name,
    ALLOCATOR_LIST(X)
#undef X
};
enum { STRATEGY_COUNT = sizeof strategies / sizeof *strategies };

const struct allocator_ops *const *allocator_list(size_t *count)
{
    *count = STRATEGY_COUNT;
    return strategies;
}

static const char *missing_hook(const struct allocator_ops *ops)
{
    return !ops->init    ? "init"
           : !ops->alloc ? "alloc"
           : !ops->free  ? "free"
           : !ops->trim  ? "trim"
           : !ops->check ? "check"
           : !ops->fini  ? "fini"
                         : NULL;
}

static int verify(const struct allocator_ops *ops, struct error *error)
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
    return 0;
}

static const char *strategy_name(void *context, size_t i)
{
    (void)context;
    return i < STRATEGY_COUNT ? strategies[i]->name : NULL;
}

static int unknown_strategy(const char *name, struct error *error)
{
    struct text known = {0};
    for (size_t i = 0; i < STRATEGY_COUNT; i++)
        text_add(&known, "%s%s", i ? ", " : "", strategies[i]->name);
    int nearest = text_nearest(name, strategy_name, NULL);
    int code = error_set(error, ERR_USAGE, "there is no strategy '%s'%s%s%s; there are: %s", name,
                         nearest >= 0 ? " (did you mean " : "",
                         nearest >= 0 ? strategies[nearest]->name : "", nearest >= 0 ? "?)" : "",
                         known.data);
    text_free(&known);
    return code;
}

int allocator_parse(const char *spec, const struct allocator_ops **ops,
                    struct option_values *options, struct error *error)
{
    char name[64];
    size_t length = strcspn(spec, ":");
    if (length >= sizeof name)
        return error_set(error, ERR_USAGE, "the strategy name '%.40s...' is too long", spec);
    memcpy(name, spec, length);
    name[length] = 0;

    size_t i = 0;
    while (i < STRATEGY_COUNT && strcmp(strategies[i]->name, name) != 0)
        i++;
    if (i == STRATEGY_COUNT)
        return unknown_strategy(name, error);
    *ops = strategies[i];
    int code = verify(*ops, error);
    if (code)
        return code;
    return options_parse((*ops)->options, name, spec + length + (spec[length] == ':'), options,
                         error);
}

int allocator_open(struct allocator *allocator, const struct allocator_ops *ops,
                   const struct option_values *options, struct source *source, struct error *error)
{
    *allocator = (struct allocator){.ops = ops, .source = source};
    int code = verify(ops, error);
    if (code)
        return code;
    code = ops->init(source, options, &allocator->state);
    if (code)
        return error_set(error, code, "strategy %s could not start: %s", ops->name,
                         source->error.code == code ? source->error.text : error_sentence(code));
    return 0;
}

void allocator_close(struct allocator *allocator)
{
    if (allocator->state)
        allocator->ops->fini(allocator->state);
    allocator->state = NULL;
}

/* A broken invariant is best met at the call that broke it; walking everything after every call is
 * for builds that are not timed. */
static inline void debug_check(const struct allocator *allocator)
{
#ifdef GAMUT_DEBUG
    if (allocator_check(allocator) != 0)
        abort();
#else
    (void)allocator;
#endif
}

/* Grows with every request that reaches the driver, and with every one that its limit refuses. */
static inline uint64_t asked(const struct source *source)
{
    return source->counts.alloc_count + source->counts.refused_count;
}

static inline void grow(uint64_t *live, uint64_t *peak, uint64_t bytes)
{
    *live += bytes;
    if (*live > *peak)
        *peak = *live;
}

int allocator_alloc(struct allocator *allocator, const struct alloc_request *request,
                    struct block *block)
{
    if (request->size == 0) {
        *block = (struct block){0};
        return 0;
    }
    struct allocator_counts *counts = &allocator->counts;
    uint64_t asked_before = asked(allocator->source);
    int code = allocator->ops->alloc(allocator->state, request, block);
    bool hit = asked(allocator->source) == asked_before;
    counts->alloc_count++;
    counts->hit_count += hit;
    counts->miss_count += !hit;
    if (code == 0) {
        grow(&counts->requested_bytes, &counts->peak_requested_bytes, request->size);
        grow(&counts->granted_bytes, &counts->peak_granted_bytes, block->size);
    }
    debug_check(allocator);
    return code;
}

int allocator_free(struct allocator *allocator, const struct block *block, const char *tag,
                   uint64_t requested_bytes)
{
    if (block->memory == 0)
        return 0;
    struct allocator_counts *counts = &allocator->counts;
    counts->free_count++;
    counts->requested_bytes -= requested_bytes;
    counts->granted_bytes -= block->size;
    int code = allocator->ops->free(allocator->state, block, tag);
    debug_check(allocator);
    return code;
}

int allocator_trim(struct allocator *allocator)
{
    int code = allocator->ops->trim(allocator->state);
    debug_check(allocator);
    return code;
}

unsigned allocator_check(const struct allocator *allocator)
{
    return allocator->ops->check(allocator->state);
}
