/* null: a device that does nothing, for dry runs and for measuring the harness itself.
 *
 * Every memory has an address range of its own, so that places can be compared, but no bytes: reads
 * return zeros. It is not in list.h: "all" and "best" must not find it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "device/device.h"

enum { ALIGNMENT = 256 }; /* as most drivers have it */

struct null_device {
    struct device base;
    uint64_t next; /* address to be handed out */
};

static const struct device_info info = {
    .id = "null",
    .api = "null",
    .name = "a device that does nothing",
    .kind = DEVICE_OTHER,
    .language = KERNEL_HOST_C,
    .memory_bytes = UINT64_MAX,
    .max_alloc_bytes = UINT64_MAX,
    .alignment_bytes = ALIGNMENT,
    .has_f64 = true,
    .can_split = true,
};

static void null_enumerate(device_found *found, void *context)
{
    found(context, &info, NULL);
}

static int null_open(const char *id, struct device **device, struct error *error)
{
    struct null_device *n = must_alloc(sizeof *n);
    *n = (struct null_device){.base = {&device_null, &info}, .next = ALIGNMENT};
    *device = &n->base;
    return 0;
}

static void null_close(struct device *device)
{
    free(device);
}

static uint64_t null_free_bytes(struct device *device)
{
    return 0;
}

static int null_alloc(struct device *device, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct null_device *n = (struct null_device *)device;
    uint64_t end;
    if (__builtin_add_overflow(n->next, bytes, &end) || end > UINT64_MAX - ALIGNMENT)
        return error_set(error, ERR_OOM, "no addresses are left for %llu bytes",
                         (unsigned long long)bytes);
    *memory = n->next;
    n->next = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return 0;
}

static int null_free(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    return 0;
}

static int null_read(struct device *device, void *host, uint64_t memory, uint64_t offset,
                     uint64_t bytes, struct error *error)
{
    if (bytes)
        memset(host, 0, bytes);
    return 0;
}

static int null_write(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                      uint64_t bytes, struct error *error)
{
    return 0;
}

static int null_copy(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                     uint64_t from_offset, uint64_t bytes, struct error *error)
{
    return 0;
}

static int null_fill(struct device *device, uint64_t memory, uint64_t offset, uint8_t byte,
                     uint64_t bytes, struct error *error)
{
    return 0;
}

static int null_build(struct device *device, const struct kernel_source *source,
                      struct device_program **program, struct error *error)
{
    *program = NULL;
    return 0;
}

static void null_unbuild(struct device *device, struct device_program *program) {}

static int null_launch(struct device *device, struct device_program *program, size_t kernel,
                       const struct launch *launch, size_t argument_count,
                       const enum launch_arg_kind *kinds, const union launch_value *arguments,
                       struct error *error)
{
    return 0;
}

static int null_sync(struct device *device, struct error *error)
{
    return 0;
}

static int null_mark(struct device *device, enum device_mark which, struct error *error)
{
    return 0;
}

static int null_elapsed_ns(struct device *device, uint64_t *ns, struct error *error)
{
    *ns = 0;
    return 0;
}

const struct device_ops device_null = {
    .name = "null",
    .summary = "does nothing",
    .enumerate = null_enumerate,
    .open = null_open,
    .close = null_close,
    .free_bytes = null_free_bytes,
    .alloc = null_alloc,
    .free = null_free,
    .read = null_read,
    .write = null_write,
    .copy = null_copy,
    .fill = null_fill,
    .build = null_build,
    .unbuild = null_unbuild,
    .launch = null_launch,
    .sync = null_sync,
    .mark = null_mark,
    .elapsed_ns = null_elapsed_ns,
};
