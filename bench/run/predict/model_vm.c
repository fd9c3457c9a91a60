#include "run/predict/model_replay.h"

static const char *const method = "vmm";

static int call(struct replay *r, const char *name, uint64_t bytes)
{
    replay_driver_call(r, method, name, bytes, replay_cost(r, method, name, bytes));
    return 0;
}

static int vm_info(void *context, struct source_vm_info *info, struct error *error)
{
    const struct model *m = ((struct replay *)context)->model;
    (void)error;
    *info = (struct source_vm_info){.granularity_bytes = m->vm_granularity_bytes,
                                    .memory_bytes = m->memory_bytes};
    return 0;
}

/* A range is a memory in which nothing lies yet. */
static int vm_reserve(void *context, uint64_t bytes, uint64_t *range, struct error *error)
{
    struct replay *r = context;
    (void)error;
    *replay_add_memory(r, range) = (struct memory){.method = method, .used = true};
    return call(r, "reserve", bytes);
}

static int vm_unreserve(void *context, uint64_t range, uint64_t bytes, struct error *error)
{
    struct replay *r = context;
    (void)error;
    replay_drop_memory(r, range);
    return call(r, "unreserve", bytes);
}

/* What a chunk is called does not matter here: its bytes come with each call. */
static int vm_create(void *context, uint64_t bytes, uint64_t *chunk, struct error *error)
{
    (void)error;
    *chunk = 1;
    return call(context, "create", bytes);
}

static int vm_release(void *context, uint64_t chunk, uint64_t bytes, struct error *error)
{
    (void)chunk, (void)error;
    return call(context, "release", bytes);
}

/* The next command that uses the range is the first to use all that is new in it. */
static int vm_map(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *error)
{
    struct replay *r = context;
    struct memory *memory = &r->memories[range - 1];
    (void)offset, (void)chunk, (void)error;
    memory->bytes = memory->used ? bytes : memory->bytes + bytes;
    memory->used = false;
    return call(r, "map", bytes);
}

static int vm_access(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                     struct error *error)
{
    (void)range, (void)offset, (void)error;
    return call(context, "access", bytes);
}

static int vm_unmap(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                    struct error *error)
{
    struct replay *r = context;
    struct memory *memory = &r->memories[range - 1];
    (void)offset, (void)error;
    if (!memory->used) { /* a chunk that came in vain; the newest go first */
        memory->bytes -= memory->bytes < bytes ? memory->bytes : bytes;
        memory->used = memory->bytes == 0;
    }
    return call(r, "unmap", bytes);
}

const struct source_vm_ops replay_vm_ops = {
    .info = vm_info,
    .reserve = vm_reserve,
    .unreserve = vm_unreserve,
    .create = vm_create,
    .release = vm_release,
    .map = vm_map,
    .access = vm_access,
    .unmap = vm_unmap,
};
