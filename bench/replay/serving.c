#include "replay/serving.h"

#include "run/predict/dry.h"

enum { GRANULARITY_BYTES = 2 << 20, ALIGNMENT_BYTES = 512 };

/* Opens the strategy over a source without a driver that offers what the API may offer. */
static int try_to_open(const struct allocator_ops *ops, const struct option_values *options,
                       enum serving_api api, struct error *error)
{
    const bool is_cuda = api == SERVING_CUDA;
    const struct dry_device device = {.name = is_cuda ? "an application of CUDA"
                                                      : "an application of OpenCL",
                                      .can_split = true,
                                      .has_pool = is_cuda,
                                      .vm_granularity_bytes = is_cuda ? GRANULARITY_BYTES : 0,
                                      .alignment = ALIGNMENT_BYTES};
    struct option_values values = *options;
    struct allocator allocator;
    struct dry *dry = dry_open(&device);
    struct source *source = dry_source(dry);
    source->sub_buffers = NULL;
    source->kinds = NULL;
    if (is_cuda)
        values.common[ALLOCATOR_KIND] = MEMORY_DEVICE;
    const int code = allocator_open(&allocator, ops, &values, source, error);
    allocator_close(&allocator);
    dry_close(dry);
    return code;
}

int serving_parse(struct allocator_plans *plans, const char *spec, enum serving_api api,
                  const struct allocator_ops **ops, struct option_values *options,
                  struct error *error)
{
    TRY(allocator_parse_planned(plans, spec, ops, options, error));
    if ((*ops)->harness_only)
        return error_set(
            error, ERR_USAGE,
            "strategy %s gives all requests the same memory, and serves no application",
            (*ops)->name);
    return try_to_open(*ops, options, api, error);
}
