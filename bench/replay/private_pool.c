#include "replay/private_pool.h"

#include <stdlib.h>

#include "alloc/registry.h"
#include "base/arena.h"

struct kept_memory {
    uint64_t memory, bytes;
};

static int pool_alloc(void *context, uint64_t bytes, uint64_t *memory, struct error *error)
{
    const struct source *driver = &((struct private_pool *)context)->driver;
    return driver->ops->alloc(driver->context, bytes, memory, error);
}

/* The caller counts the bytes as given back: they stay reserved. */
static int pool_free(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct private_pool *pool = context;
    pool->kept = must_grow(pool->kept, pool->kept_count, &pool->capacity, sizeof *pool->kept);
    pool->kept[pool->kept_count++] = (struct kept_memory){memory, bytes};
    pool->total->reserved_bytes += bytes;
    return 0;
}

static int pool_sync(void *context, struct error *error)
{
    const struct source *driver = &((struct private_pool *)context)->driver;
    return driver->ops->sync(driver->context, error);
}

static uint64_t pool_address(void *context, uint64_t memory)
{
    const struct source *driver = &((struct private_pool *)context)->driver;
    return driver->ops->address(driver->context, memory);
}

int private_pool_open(struct private_pool *pool, const struct allocator_ops *strategy,
                      const struct option_values *options, struct source *source,
                      struct allocator *allocator, struct error *error)
{
    static const struct source_ops plain = {
        .alloc = pool_alloc, .free = pool_free, .sync = pool_sync};
    static const struct source_ops placed = {
        .alloc = pool_alloc, .free = pool_free, .sync = pool_sync, .address = pool_address};
    struct option_values values;
    *pool = (struct private_pool){.driver = *source, .total = source->total};
    source->ops = source->ops->address ? &placed : &plain;
    source->context = pool;
    source->kinds = NULL;
    source->sub_buffers = NULL;
    source->pools = NULL;
    source->vm = NULL;
    int code = strategy->serves_plan ? ERR_UNSUPPORTED /* no plan knows of it */
                                     : allocator_open(allocator, strategy, options, source, error);
    if (code != ERR_UNSUPPORTED)
        return code;
    TRY(allocator_parse("caching", &strategy, &values, error));
    return allocator_open(allocator, strategy, &values, source, error);
}

int private_pool_close(struct private_pool *pool, struct allocator *allocator, struct error *error)
{
    const struct source *driver = &pool->driver;
    int code = 0;
    allocator_close(allocator);
    for (unsigned i = 0; i < pool->kept_count; i++) {
        const struct kept_memory *kept = &pool->kept[i];
        pool->total->reserved_bytes -= kept->bytes;
        ALSO(code, driver->ops->free(driver->context, kept->memory, kept->bytes, error));
    }
    free(pool->kept);
    *pool = (struct private_pool){0};
    return code;
}
