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

/* ---- memory that the host can address ---- */

static enum host_memory host_memory_of(enum source_kind kind)
{
    switch (kind) {
    case SOURCE_COARSE_SVM:
        return HOST_COARSE_SVM;
    case SOURCE_FINE_SVM:
        return HOST_FINE_SVM;
    case SOURCE_MANAGED:
        return HOST_MANAGED;
    default:
        return HOST_PINNED;
    }
}

static int kind_alloc(void *context, enum source_kind kind, uint64_t bytes, uint64_t *memory,
                      struct error *error)
{
    struct device *d = context;
    return d->ops->host_alloc(d, host_memory_of(kind), bytes, memory, NULL, error);
}

static int kind_free(void *context, enum source_kind kind, uint64_t memory, uint64_t bytes,
                     struct error *error)
{
    struct device *d = context;
    return d->ops->host_free(d, host_memory_of(kind), memory, bytes, error);
}

static int kind_offered(void *context, enum source_kind kind, struct error *error)
{
    enum { PROBE_BYTES = 4096 };
    struct device *d = context;
    uint64_t memory;
    if (!d->ops->host_alloc)
        return error_set(error, ERR_UNSUPPORTED,
                         "%s has one kind of memory: OpenCL and CUDA devices have more",
                         device_info(d)->id);
    int code = kind_alloc(d, kind, PROBE_BYTES, &memory, error);
    return code ? code : kind_free(d, kind, memory, PROBE_BYTES, error);
}

static const struct source_kind_ops kind_ops = {
    .offered = kind_offered, .alloc = kind_alloc, .free = kind_free};

/* ---- parts of memories: sub-buffers ---- */

static int part_create(void *context, uint64_t memory, uint64_t offset, uint64_t bytes,
                       uint64_t *part, struct error *error)
{
    struct device *d = context;
    return d->ops->sub_buffer(d, memory, offset, bytes, part, error);
}

static int part_release(void *context, uint64_t part, uint64_t bytes, struct error *error)
{
    struct device *d = context;
    return d->ops->release_sub_buffer(d, part, bytes, error);
}

static int part_offered(void *context, enum source_kind kind, struct error *error)
{
    struct device *d = context;
    if (!d->ops->sub_buffer)
        return error_set(error, ERR_UNSUPPORTED,
                         "%s has no sub-buffers: of the APIs here OpenCL alone has, on one device",
                         device_info(d)->id);
    if (kind == SOURCE_COARSE_SVM || kind == SOURCE_FINE_SVM)
        return error_set(error, ERR_UNSUPPORTED,
                         "shared virtual memory has no sub-buffers: a pointer into it is as good");
    return 0;
}

static const struct source_part_ops part_ops = {
    .offered = part_offered, .create = part_create, .release = part_release};

/* ---- the driver's pool ---- */

static int pool_open(void *context, const struct source_pool_options *options, uint64_t most_bytes,
                     uint64_t *pool, struct error *error)
{
    struct device *d = context;
    if (!d->ops->pool_open)
        return error_set(
            error, ERR_UNSUPPORTED,
            "%s has no stream-ordered pool: of the APIs here CUDA alone has, and no group",
            device_info(d)->id);
    const struct device_pool_options same = {
        .release_threshold_bytes = options->release_threshold_bytes,
        .most_bytes = most_bytes,
        .follow_event_dependencies = options->follow_event_dependencies,
        .allow_opportunistic = options->allow_opportunistic,
        .allow_internal_dependencies = options->allow_internal_dependencies,
    };
    return d->ops->pool_open(d, &same, pool, error);
}

static int pool_close(void *context, uint64_t pool, struct error *error)
{
    struct device *d = context;
    return d->ops->pool_close(d, pool, error);
}

static int pool_alloc(void *context, uint64_t pool, unsigned queue, uint64_t bytes,
                      uint64_t *memory, struct error *error)
{
    struct device *d = context;
    return d->ops->pool_alloc(d, pool, queue, bytes, memory, error);
}

static int pool_free(void *context, uint64_t pool, unsigned queue, uint64_t memory, uint64_t bytes,
                     struct error *error)
{
    struct device *d = context;
    return d->ops->pool_free(d, pool, queue, memory, bytes, error);
}

static int pool_trim(void *context, uint64_t pool, uint64_t keep_bytes, struct error *error)
{
    struct device *d = context;
    return d->ops->pool_trim(d, pool, keep_bytes, error);
}

static int pool_reserved(void *context, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                         struct error *error)
{
    struct device *d = context;
    return d->ops->pool_reserved(d, pool, bytes, peak_bytes, error);
}

static int pool_reset_peak(void *context, uint64_t pool, struct error *error)
{
    struct device *d = context;
    return d->ops->pool_reset_peak(d, pool, error);
}

static const struct source_pool_ops pool_ops = {
    .open = pool_open,
    .close = pool_close,
    .alloc = pool_alloc,
    .free = pool_free,
    .trim = pool_trim,
    .reserved = pool_reserved,
    .reset_peak = pool_reset_peak,
};

/* ---- virtual memory ---- */

static int vm_info(void *context, struct source_vm_info *info, struct error *error)
{
    struct device *d = context;
    if (!d->ops->vm_granularity)
        return error_set(
            error, ERR_UNSUPPORTED,
            "%s has no virtual memory for programs to map: CUDA and the host have, and no group",
            device_info(d)->id);
    info->memory_bytes = device_info(d)->memory_bytes;
    return d->ops->vm_granularity(d, &info->granularity_bytes, error);
}

static int vm_reserve(void *context, uint64_t bytes, uint64_t *range, struct error *error)
{
    struct device *d = context;
    return d->ops->vm_reserve(d, bytes, range, error);
}

static int vm_unreserve(void *context, uint64_t range, uint64_t bytes, struct error *error)
{
    struct device *d = context;
    return d->ops->vm_unreserve(d, range, bytes, error);
}

static int vm_create(void *context, uint64_t bytes, uint64_t *chunk, struct error *error)
{
    struct device *d = context;
    return d->ops->vm_create(d, bytes, chunk, error);
}

static int vm_release(void *context, uint64_t chunk, uint64_t bytes, struct error *error)
{
    struct device *d = context;
    return d->ops->vm_release(d, chunk, bytes, error);
}

static int vm_map(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *error)
{
    struct device *d = context;
    return d->ops->vm_map(d, range + offset, chunk, bytes, error);
}

static int vm_access(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                     struct error *error)
{
    struct device *d = context;
    return d->ops->vm_access(d, range + offset, bytes, error);
}

static int vm_unmap(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                    struct error *error)
{
    struct device *d = context;
    return d->ops->vm_unmap(d, range + offset, bytes, error);
}

static const struct source_vm_ops vm_ops = {
    .info = vm_info,
    .reserve = vm_reserve,
    .unreserve = vm_unreserve,
    .create = vm_create,
    .release = vm_release,
    .map = vm_map,
    .access = vm_access,
    .unmap = vm_unmap,
};

/* ---- the source ---- */

/* What is optional is always there to be asked: a device without it says why. */
struct source device_source(struct device *device, uint64_t capacity_bytes)
{
    static const struct source_ops with_touch = {.alloc = alloc,
                                                 .touch = touch,
                                                 .free = release,
                                                 .sync = sync_device,
                                                 .kinds = &kind_ops,
                                                 .parts = &part_ops,
                                                 .pool = &pool_ops,
                                                 .vm = &vm_ops,
                                                 .heap = &device_source_heap};
    static const struct source_ops without_touch = {.alloc = alloc,
                                                    .free = release,
                                                    .sync = sync_device,
                                                    .kinds = &kind_ops,
                                                    .parts = &part_ops,
                                                    .pool = &pool_ops,
                                                    .vm = &vm_ops,
                                                    .heap = &device_source_heap};
    const struct device_info *info = device_info(device);
    return (struct source){.ops = device->ops->touch ? &with_touch : &without_touch,
                           .context = device,
                           .alignment = info->alignment_bytes,
                           .can_split = info->can_split,
                           .capacity_bytes = capacity_bytes};
}
