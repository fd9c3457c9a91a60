#include "tests/residency/residency_rig.h"

#include <string.h>

#include "tests/base/cmocka.h"

void rig_mix(const union launch_value *a, int64_t begin, int64_t end)
{
    uint8_t *to = (uint8_t *)(uintptr_t)a[0].memory;
    const uint8_t *from = (const uint8_t *)(uintptr_t)a[2].memory;
    (void)begin, (void)end;
    for (int64_t i = 0; i < a[1].i64; i++) {
        uint8_t before = a[5].i64 ? to[i] : 0;
        to[i] = (uint8_t)(before * 3 + from[i % a[3].i64] + a[4].i64 + i);
    }
}

static const struct host_kernel kernels[] = {{"mix", rig_mix}};
static const char *const kernel_names[] = {"mix"};
static const struct kernel_source source = {
    .name = "test", .kernel_count = 1, .kernel_names = kernel_names, .host_kernels = kernels};

void rig_must(int code, const struct error *error)
{
    if (code)
        fail_msg("%d: %s", code, error->text);
}

void rig_open(struct rig *r, uint64_t seed, unsigned count, bool has_queues, const char *residency,
              struct residency_options options)
{
    struct error error = {0};
    memset(r, 0, sizeof *r);
    fake_world_open(&r->world, seed * 7 + 1, has_queues);
    r->world.peers_whole = seed % 7 == RIG_PEERS_WHOLE;
    for (unsigned m = 0; m < count; m++)
        r->members[m] = fake_world_add(&r->world);
    rig_must(residency_parse(residency, &options.residency, &error), &error);
    rig_must(residency_open(r->members, count, &options, &r->group, &error), &error);
    rig_must(r->group->ops->build(r->group, &source, &r->program, &error), &error);
}

void rig_close(struct rig *r)
{
    if (r->program)
        r->group->ops->unbuild(r->group, r->program);
    r->group->ops->close(r->group);
    assert_int_equal(r->world.stuck_count, 0);
    assert_int_equal(r->world.misuse_count, 0);
    fake_world_close(&r->world);
}

void rig_add(struct rig *r, unsigned buffer, uint64_t bytes)
{
    struct error error = {0};
    r->buffers[buffer].bytes = bytes;
    rig_must(r->group->ops->alloc(r->group, bytes, &r->buffers[buffer].handle, &error), &error);
}

void rig_remove(struct rig *r, unsigned buffer)
{
    struct error error = {0};
    rig_must(
        r->group->ops->free(r->group, r->buffers[buffer].handle, r->buffers[buffer].bytes, &error),
        &error);
    r->buffers[buffer].handle = 0;
}

void rig_put(struct rig *r, unsigned buffer, uint8_t byte)
{
    struct error error = {0};
    uint8_t bytes[RIG_BYTES_MAX];
    memset(bytes, byte, sizeof bytes);
    rig_must(r->group->ops->write(r->group, r->buffers[buffer].handle, 0, bytes,
                                  r->buffers[buffer].bytes, &error),
             &error);
}

int rig_launch(struct rig *r, unsigned member, struct range to, bool keeps, struct range from,
               int64_t salt, struct error *error)
{
    const uint64_t t = r->buffers[to.buffer].handle, f = r->buffers[from.buffer].handle;
    const enum launch_arg_kind kinds[] = {ARG_MEMORY, ARG_I64, ARG_MEMORY,
                                          ARG_I64,    ARG_I64, ARG_I64};
    const union launch_value arguments[] = {{.memory = t + to.begin},
                                            {.i64 = (int64_t)to.bytes},
                                            {.memory = f + from.begin},
                                            {.i64 = (int64_t)from.bytes},
                                            {.i64 = salt},
                                            {.i64 = keeps}};
    const struct launch_array arrays[] = {
        {0, t, to.begin, to.bytes, keeps ? USE_CHANGES : USE_REPLACES},
        {2, f, from.begin, from.bytes, USE_READS}};
    const struct launch launch = {
        .extent = {1, 1, 1}, .rank = 1, .member = (int)member, .array_count = 2, .arrays = arrays};
    return r->group->ops->launch(r->group, r->program, 0, &launch, 6, kinds, arguments, error);
}
