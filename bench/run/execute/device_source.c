#include "run/execute/device_source.h"

static int alloc(void *context, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct device *d = context;
    return d->ops->alloc(d, bytes, memory, error);
}

static int touch(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct device *d = context;
    return d->ops->touch(d, memory, bytes, error);
}

static int release(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct device *d = context;
    return d->ops->free(d, memory, bytes, error);
}

static int sync_device(void *context, struct error *error)
{
    struct device *d = context;
    return d->ops->sync(d, error);
}

struct source device_source(struct device *device, uint64_t capacity_bytes)
{
    static const struct source_ops lazy = {
        .alloc = alloc, .touch = touch, .free = release, .sync = sync_device};
    static const struct source_ops resident = {
        .alloc = alloc, .free = release, .sync = sync_device};
    const struct device_ops *ops = device->ops;
    const struct device_info *info = device->info;
    return (struct source){.ops = ops->touch ? &lazy : &resident,
                           .kinds = ops->host_memory,
                           .sub_buffers = ops->sub_buffers,
                           .pools = ops->pools,
                           .vm = ops->vm,
                           .context = device,
                           .name = info->id,
                           .alignment = info->alignment_bytes,
                           .can_split = info->can_split,
                           .capacity_bytes = capacity_bytes};
}
