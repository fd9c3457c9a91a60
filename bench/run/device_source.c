#include "run/device_source.h"

static int alloc(void *context, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct device *d = context;
    return d->ops->alloc(d, bytes, memory, error);
}

static int touch(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct device *d = context;
    return d->ops->touch ? d->ops->touch(d, memory, bytes, error) : 0;
}

static int release(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct device *d = context;
    return d->ops->free(d, memory, bytes, error);
}

struct source device_source(struct device *device, uint64_t capacity_bytes)
{
    static const struct source_ops with_touch = {alloc, touch, release};
    static const struct source_ops without_touch = {alloc, NULL, release};
    const struct device_info *info = device_info(device);
    return (struct source){.ops = device->ops->touch ? &with_touch : &without_touch,
                           .context = device,
                           .alignment = info->alignment_bytes,
                           .can_split = info->can_split,
                           .capacity_bytes = capacity_bytes};
}
