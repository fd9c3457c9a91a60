#include "run/select/dry_run.h"

#include <string.h>

#include "alloc/registry.h"
#include "run/execute/device_source.h"

/* Every block is a memory of its own under `raw`, so that no two of them are the same place. Spaces
 * make no difference where there is no device: one allocator serves all. */
static int run(struct executor *e, struct device *device, const struct arguments *scalars,
               struct dry_run *out, struct error *error)
{
    const struct allocator_ops *raw;
    struct option_values options;
    struct allocator allocator;
    int code = allocator_parse("raw", &raw, &options, error);
    struct source source = device_source(device, 0);
    if (!code)
        code = allocator_open(&allocator, raw, &options, &source, error);
    if (code)
        return code;
    struct allocator *allocators[SPACES];
    for (int s = 0; s < SPACES; s++)
        allocators[s] = &allocator;
    code = executor_begin(e, allocators, scalars, false, error);
    struct allocator_counts before = allocator.counts;
    if (!code)
        code = executor_run(e, error);
    const struct executor_counts *counts = executor_counts(e);
    *out = (struct dry_run){
        .peak_requested_bytes = allocator.counts.peak_requested_bytes,
        .live_lower_bound_bytes = counts->peak_live_bytes,
        .alloc_count = allocator.counts.alloc_count - before.alloc_count,
        .free_count = allocator.counts.free_count - before.free_count,
    };
    memcpy(out->copy, counts->copy, sizeof out->copy);
    executor_end(e);
    allocator_close(&allocator);
    return code;
}

int dry_run(const struct fun *fun, const struct arguments *scalars, enum release_policy policy,
            struct dry_run *out, struct error *error)
{
    struct device *device;
    struct executor *executor = NULL;
    int code = device_null.open("null", &device, error);
    if (code)
        return code;
    code = executor_open(fun, device, NULL, NULL, policy, NULL, &executor, error);
    if (!code)
        code = run(executor, device, scalars, out, error);
    executor_close(executor);
    device->ops->close(device);
    return code;
}
