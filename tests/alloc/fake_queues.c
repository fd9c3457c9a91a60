#include "tests/alloc/fake_queues.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/driver_pool.h"
#include "base/driver_vm.h"
#include "tests/base/cmocka.h"

enum { ADDRESS_COUNT = 1 << 26 }; /* granules: 16 GiB */

/* What lies at an address, or NULL. */
static struct fake_granule *granule_at(const struct fake_queues *fake, size_t address)
{
    uint32_t granule = fake->memory_at[address];
    return granule ? &fake->granules[granule - 1] : NULL;
}

void fake_queues_run_one(struct fake_queues *fake, unsigned queue)
{
    struct fake_queue *q = &fake->queues[queue];
    if (q->done == q->issued)
        return;
    const struct fake_command *c = &q->pending[q->done++ % FAKE_PENDING_MOST];
    bool corrupted = false;
    for (size_t i = c->first; i < c->first + c->count; i++) {
        struct fake_granule *g = granule_at(fake, i);
        corrupted |= !g || (!c->writes && g->stamp != c->stamp);
        if (g && c->writes)
            g->stamp = c->stamp;
    }
    fake->corrupted_count += corrupted;
}

void fake_queues_sync(struct fake_queues *fake, unsigned queue)
{
    struct fake_queue *q = &fake->queues[queue];
    while (q->done != q->issued)
        fake_queues_run_one(fake, queue);
    q->known = q->done;
}

static void sync_all(struct fake_queues *fake)
{
    for (unsigned q = 0; q < FAKE_QUEUE_COUNT; q++)
        fake_queues_sync(fake, q);
}

void fake_queues_submit(struct fake_queues *fake, unsigned queue, struct fake_command command)
{
    struct fake_queue *q = &fake->queues[queue];
    if (q->issued - q->done == FAKE_PENDING_MOST)
        fake_queues_run_one(fake, queue);
    q->pending[q->issued++ % FAKE_PENDING_MOST] = command;
    for (size_t i = command.first; i < command.first + command.count; i++)
        granule_at(fake, i)->last_use[queue] = q->issued;
}

void fake_queues_granted(struct fake_queues *fake, unsigned queue, size_t first, size_t count)
{
    bool unordered = false;
    for (size_t i = first; i < first + count; i++)
        for (unsigned q = 0; q < FAKE_QUEUE_COUNT; q++)
            unordered |= q != queue && granule_at(fake, i)->last_use[q] > fake->queues[q].known;
    fake->unordered_count += unordered;
}

static bool is_used(const struct fake_queues *fake, const struct fake_range *r)
{
    for (size_t i = r->first; i < r->first + r->count; i++)
        for (unsigned q = 0; q < FAKE_QUEUE_COUNT; q++)
            if (fake->granules[i].last_use[q] > fake->queues[q].done)
                return true;
    return false;
}

/* Removes a range. `in_order`: the driver has seen the end of all commands on it, so that the next
 * use comes after them. */
static void remove_range(struct fake_queues *fake, size_t at, bool in_order)
{
    const struct fake_range *r = &fake->ranges[at];
    for (size_t i = r->first; in_order && i < r->first + r->count; i++)
        memset(fake->granules[i].last_use, 0, sizeof fake->granules[i].last_use);
    fake->range_count--;
    memmove(&fake->ranges[at], &fake->ranges[at + 1],
            (fake->range_count - at) * sizeof *fake->ranges);
}

static void reclaim(struct fake_queues *fake)
{
    for (size_t i = fake->range_count; i-- > 0;)
        if (fake->ranges[i].dying && !is_used(fake, &fake->ranges[i]))
            remove_range(fake, i, true);
}

/* Where in `ranges` a memory of `count` granules fits before, and its first granule. */
static bool find_gap(const struct fake_queues *fake, size_t count, size_t *at, size_t *first)
{
    *first = 0;
    for (*at = 0; *at < fake->range_count; ++*at) {
        if (fake->ranges[*at].first - *first >= count)
            return true;
        *first = fake->ranges[*at].first + fake->ranges[*at].count;
    }
    return fake->granule_count - *first >= count;
}

/* Finds memory for `bytes`; its handle is for the caller to set. */
static int add_range(struct fake_queues *fake, uint64_t bytes, struct fake_range **range,
                     struct error *error)
{
    size_t at, first, count = (bytes + FAKE_GRANULE_BYTES - 1) / FAKE_GRANULE_BYTES;
    reclaim(fake);
    if (!find_gap(fake, count, &at, &first) && fake->release == RELEASE_DEFERS) {
        sync_all(fake);
        reclaim(fake);
    }
    if (!find_gap(fake, count, &at, &first))
        return error_set(error, ERR_OOM, "the fake device has no %llu bytes in one piece",
                         (unsigned long long)bytes);
    if (fake->range_count == fake->range_capacity) {
        fake->range_capacity = fake->range_capacity ? 2 * fake->range_capacity : 64;
        fake->ranges = must_realloc(fake->ranges, fake->range_capacity * sizeof *fake->ranges);
    }
    memmove(&fake->ranges[at + 1], &fake->ranges[at],
            (fake->range_count++ - at) * sizeof *fake->ranges);
    *range = &fake->ranges[at];
    **range = (struct fake_range){.bytes = bytes, .first = first, .count = count};
    return 0;
}

/* Handles are addresses plus 1. */
static uint64_t take_addresses(struct fake_queues *fake, size_t count)
{
    uint64_t handle = fake->next_address + 1;
    fake->next_address += count;
    if (fake->next_address > ADDRESS_COUNT)
        fail_msg("the fake device has run out of addresses");
    return handle;
}

static void map(struct fake_queues *fake, size_t address, const struct fake_range *range)
{
    for (size_t i = 0; i < range->count; i++)
        fake->memory_at[address + i] = (uint32_t)(range->first + i + 1);
}

static int fake_alloc(void *context, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct fake_queues *fake = context;
    struct fake_range *range = NULL;
    int code = add_range(fake, bytes, &range, error);
    if (code)
        return code;
    *memory = range->handle = take_addresses(fake, range->count);
    map(fake, *memory - 1, range);
    return 0;
}

static size_t find_handle(const struct fake_queues *fake, uint64_t memory)
{
    size_t i = 0;
    while (i < fake->range_count && (fake->ranges[i].handle != memory || fake->ranges[i].dying))
        i++;
    return i;
}

static int fake_free(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct fake_queues *fake = context;
    size_t i = find_handle(fake, memory);
    if (i == fake->range_count || fake->ranges[i].bytes != bytes) {
        fake->misuse_count++;
        return error_set(error, ERR_DEVICE, "the fake device knows no memory %llu of %llu bytes",
                         (unsigned long long)memory, (unsigned long long)bytes);
    }
    if (fake->release == RELEASE_WAITS)
        sync_all(fake);
    if (fake->release == RELEASE_DEFERS)
        fake->ranges[i].dying = true;
    else
        remove_range(fake, i, fake->release == RELEASE_WAITS);
    return 0;
}

static int fake_sync(void *context, struct error *error)
{
    (void)error;
    sync_all(context);
    return 0;
}

/* ---- the pool ---- */

static int pool_open(void *context, const struct driver_pool_options *options, uint64_t most_bytes,
                     uint64_t *pool, struct error *error)
{
    (void)context, (void)options, (void)most_bytes, (void)error;
    *pool = 1;
    return 0;
}

static int pool_close(void *context, uint64_t pool, struct error *error)
{
    (void)pool, (void)error;
    sync_all(context);
    reclaim(context);
    return 0;
}

/* The lowest range of that size that was freed in the order of this queue. */
static struct fake_range *reusable(struct fake_queues *fake, unsigned queue, uint64_t bytes)
{
    for (size_t i = 0; i < fake->range_count; i++)
        if (fake->ranges[i].pool_queue == 1 + queue && fake->ranges[i].bytes == bytes)
            return &fake->ranges[i];
    return NULL;
}

static int pool_alloc(void *context, uint64_t pool, unsigned queue, uint64_t bytes,
                      uint64_t *memory, struct error *error)
{
    (void)pool;
    struct fake_queues *fake = context;
    reclaim(fake);
    struct fake_range *r = reusable(fake, queue, bytes);
    if (!r)
        return fake_alloc(context, bytes, memory, error);
    r->dying = false;
    r->pool_queue = 0;
    *memory = r->handle;
    return 0;
}

static int pool_free(void *context, uint64_t pool, unsigned queue, uint64_t memory, uint64_t bytes,
                     struct error *error)
{
    (void)pool;
    struct fake_queues *fake = context;
    size_t i = find_handle(fake, memory);
    if (i == fake->range_count || fake->ranges[i].bytes != bytes) {
        fake->misuse_count++;
        return error_set(error, ERR_DEVICE, "the fake pool knows no memory %llu",
                         (unsigned long long)memory);
    }
    fake->ranges[i].dying = true;
    fake->ranges[i].pool_queue = 1 + queue;
    return 0;
}

static int pool_trim(void *context, uint64_t pool, uint64_t keep_bytes, struct error *error)
{
    (void)pool, (void)keep_bytes, (void)error;
    reclaim(context);
    return 0;
}

static int pool_reserved(void *context, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                         struct error *error)
{
    (void)pool, (void)error;
    const struct fake_queues *fake = context;
    *bytes = 0;
    for (size_t i = 0; i < fake->range_count; i++)
        *bytes += fake->ranges[i].bytes;
    *peak_bytes = *bytes;
    return 0;
}

/* ---- virtual memory ---- */

static int vm_info(void *context, struct driver_vm_info *info, struct error *error)
{
    (void)error;
    enum { PAGE_GRANULES = 8 };
    const struct fake_queues *fake = context;
    *info =
        (struct driver_vm_info){.granularity_bytes = (uint64_t)PAGE_GRANULES * FAKE_GRANULE_BYTES,
                                .memory_bytes = fake->granule_count * FAKE_GRANULE_BYTES};
    return 0;
}

static int vm_reserve(void *context, uint64_t bytes, uint64_t *range, struct error *error)
{
    (void)error;
    *range = take_addresses(context, bytes / FAKE_GRANULE_BYTES);
    return 0;
}

static int vm_unreserve(void *context, uint64_t range, uint64_t bytes, struct error *error)
{
    (void)error;
    struct fake_queues *fake = context;
    for (size_t i = 0; i < bytes / FAKE_GRANULE_BYTES; i++)
        fake->misuse_count += fake->memory_at[range - 1 + i] != 0;
    return 0;
}

/* A chunk is a range with a handle, but without addresses that are given out. */
static int vm_create(void *context, uint64_t bytes, uint64_t *chunk, struct error *error)
{
    struct fake_queues *fake = context;
    struct fake_range *range = NULL;
    int code = add_range(fake, bytes, &range, error);
    if (!code)
        *chunk = range->handle = take_addresses(fake, 1);
    return code;
}

static int vm_release(void *context, uint64_t chunk, uint64_t bytes, struct error *error)
{
    struct fake_queues *fake = context;
    enum fake_release usual = fake->release;
    fake->release = RELEASE_UNSAFE;
    int code = fake_free(context, chunk, bytes, error);
    fake->release = usual;
    return code;
}

static int vm_map(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *error)
{
    (void)error;
    struct fake_queues *fake = context;
    size_t c = find_handle(fake, chunk), address = range - 1 + offset / FAKE_GRANULE_BYTES;
    bool is_whole = c < fake->range_count && fake->ranges[c].bytes == bytes;
    fake->misuse_count += !is_whole || granule_at(fake, address);
    if (is_whole)
        map(fake, address, &fake->ranges[c]);
    return 0;
}

static int vm_access(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                     struct error *error)
{
    (void)context, (void)range, (void)offset, (void)bytes, (void)error;
    return 0;
}

static int vm_unmap(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                    struct error *error)
{
    (void)error;
    struct fake_queues *fake = context;
    memset(&fake->memory_at[range - 1 + offset / FAKE_GRANULE_BYTES], 0,
           bytes / FAKE_GRANULE_BYTES * sizeof *fake->memory_at);
    return 0;
}

/* ---- the source ---- */

size_t fake_queues_address(const struct fake_queues *fake, uint64_t memory, uint64_t offset)
{
    size_t address = memory - 1 + offset / FAKE_GRANULE_BYTES;
    if (memory == 0 || offset % FAKE_GRANULE_BYTES != 0 || address >= fake->next_address ||
        !granule_at(fake, address))
        fail_msg("there is nothing at byte %llu of memory %llu", (unsigned long long)offset,
                 (unsigned long long)memory);
    return address;
}

void fake_queues_open(struct fake_queues *fake, uint64_t bytes, enum fake_release release)
{
    static const struct driver_pool_ops pool = {.open = pool_open,
                                                .close = pool_close,
                                                .alloc = pool_alloc,
                                                .free = pool_free,
                                                .trim = pool_trim,
                                                .reserved = pool_reserved};
    static const struct driver_vm_ops vm = {.info = vm_info,
                                            .reserve = vm_reserve,
                                            .unreserve = vm_unreserve,
                                            .create = vm_create,
                                            .release = vm_release,
                                            .map = vm_map,
                                            .access = vm_access,
                                            .unmap = vm_unmap};
    static const struct source_ops ops = {
        .alloc = fake_alloc, .free = fake_free, .sync = fake_sync};
    *fake = (struct fake_queues){.release = release};
    fake->granule_count = bytes / FAKE_GRANULE_BYTES;
    fake->granules = must_alloc(fake->granule_count * sizeof *fake->granules);
    fake->memory_at = must_alloc(ADDRESS_COUNT * sizeof *fake->memory_at);
    fake->source = (struct source){.ops = &ops,
                                   .pools = &pool,
                                   .vm = &vm,
                                   .context = fake,
                                   .alignment = FAKE_GRANULE_BYTES,
                                   .can_split = true};
}

void fake_queues_close(struct fake_queues *fake)
{
    free(fake->granules);
    free(fake->memory_at);
    free(fake->ranges);
}
