#include "tests/alloc/fake_source.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/planned/plans.h"
#include "base/arena.h"
#include "base/driver_pool.h"
#include "base/driver_sub_buffer.h"
#include "base/driver_vm.h"
#include "tests/base/cmocka.h"

/* ---- what all calls do ---- */

static void write_down(struct fake_source *fake, char what, uint64_t bytes)
{
    text_add(&fake->log, "%s%c%llu", fake->log.length ? " " : "", what, (unsigned long long)bytes);
}

static int inject(struct fake_source *fake, const struct fake_refusal *refusal, uint64_t call,
                  struct error *error)
{
    if (refusal->at == 0 || call < refusal->at || (call > refusal->at && !refusal->onwards))
        return 0;
    fake->injected_count++;
    return error_set(error, refusal->code, "the fake driver fails call %llu, as it was told to",
                     (unsigned long long)call);
}

static int misused(struct fake_source *fake, const char *call, uint64_t what, struct error *error)
{
    fake->misuse_count++;
    return error_set(error, ERR_DEVICE, "the fake driver cannot %s %llu", call,
                     (unsigned long long)what);
}

static struct fake_memory *find(const struct fake_source *fake, enum fake_kind kind,
                                uint64_t handle)
{
    for (size_t i = 0; i < fake->live_count; i++)
        if (fake->live[i].handle == handle && fake->live[i].kind == kind)
            return &fake->live[i];
    return NULL;
}

static struct fake_memory *add(struct fake_source *fake, enum fake_kind kind, uint64_t bytes)
{
    if (fake->live_count == fake->live_capacity) {
        fake->live_capacity = fake->live_capacity ? 2 * fake->live_capacity : 16;
        fake->live = must_realloc(fake->live, fake->live_capacity * sizeof *fake->live);
    }
    struct fake_memory *m = &fake->live[fake->live_count++];
    *m = (struct fake_memory){.kind = kind, .handle = ++fake->next_handle, .bytes = bytes};
    if (kind != FAKE_RANGE && kind != FAKE_SUB_BUFFER)
        fake->live_bytes += bytes;
    return m;
}

static void drop(struct fake_source *fake, struct fake_memory *m)
{
    if (m->kind != FAKE_RANGE && m->kind != FAKE_SUB_BUFFER)
        fake->live_bytes -= m->bytes;
    free(m->pages);
    *m = fake->live[--fake->live_count];
}

/* A call that takes memory: whether it may. */
static int ask(struct fake_source *fake, uint64_t bytes, struct error *error)
{
    int code = inject(fake, &fake->alloc_refusal, ++fake->alloc_calls, error);
    if (code == 0 && fake->capacity_bytes &&
        (bytes > fake->capacity_bytes || fake->live_bytes > fake->capacity_bytes - bytes))
        code = error_set(error, ERR_OOM, "the fake driver has no %llu bytes left",
                         (unsigned long long)bytes);
    write_down(fake, code ? '?' : '+', bytes);
    return code;
}

/* A call that gave something back, and did whatever it says. */
static int end_of_free(struct fake_source *fake, const struct fake_refusal *refusal, uint64_t call,
                       struct error *error)
{
    int code = inject(fake, refusal, call, error);
    fake->failed_frees += code != 0;
    return code;
}

/* ---- memories ---- */

static int fake_alloc(void *context, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct fake_source *fake = context;
    int code = ask(fake, bytes, error);
    if (code == 0)
        *memory = add(fake, FAKE_MEMORY, bytes)->handle;
    return code;
}

static int fake_touch(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct fake_source *fake = context;
    const struct fake_memory *m = find(fake, FAKE_MEMORY, memory);
    if (!m || m->bytes != bytes)
        fake->misuse_count++;
    write_down(fake, '*', bytes);
    return inject(fake, &fake->touch_refusal, ++fake->touch_calls, error);
}

static int kind_free(void *context, enum driver_memory kind, uint64_t memory, uint64_t bytes,
                     struct error *error)
{
    struct fake_source *fake = context;
    write_down(fake, '-', bytes);
    struct fake_memory *m = find(fake, FAKE_MEMORY, memory);
    if (!m || m->bytes != bytes || m->where != kind)
        return misused(fake, "free memory", memory, error);
    for (size_t i = 0; i < fake->live_count; i++)
        if (fake->live[i].kind == FAKE_SUB_BUFFER && fake->live[i].parent == memory)
            return misused(fake, "free, because of its sub-buffers, memory", memory, error);
    drop(fake, m);
    return end_of_free(fake, &fake->free_refusal, ++fake->free_calls, error);
}

static int fake_free(void *context, uint64_t memory, uint64_t bytes, struct error *error)
{
    return kind_free(context, MEMORY_DEVICE, memory, bytes, error);
}

static int kind_alloc(void *context, enum driver_memory kind, uint64_t bytes, uint64_t *memory,
                      void **host, struct error *error)
{
    assert_null(host);
    int code = fake_alloc(context, bytes, memory, error);
    if (code == 0)
        find(context, FAKE_MEMORY, *memory)->where = kind;
    return code;
}

static int kind_offered(void *context, enum driver_memory kind, struct error *error)
{
    (void)context;
    if (kind == MEMORY_FINE_SVM)
        return error_set(error, ERR_UNSUPPORTED, "the fake driver has no fine SVM");
    return 0;
}

static const struct driver_memory_ops fake_kinds = {
    .offered = kind_offered, .alloc = kind_alloc, .free = kind_free};

/* ---- sub-buffers ---- */

static int sub_buffers_offered(void *context, enum driver_memory kind, struct error *error)
{
    (void)context;
    if (kind == MEMORY_COARSE_SVM)
        return error_set(error, ERR_UNSUPPORTED,
                         "the fake driver has no sub-buffers of coarse SVM");
    return 0;
}

static int create_sub_buffer(void *context, uint64_t memory, uint64_t offset, uint64_t bytes,
                             uint64_t *sub_buffer, struct error *error)
{
    struct fake_source *fake = context;
    const struct fake_memory *m = find(fake, FAKE_MEMORY, memory);
    write_down(fake, 'p', offset);
    text_add(&fake->log, "+%llu", (unsigned long long)bytes);
    if (!m || bytes == 0 || offset % fake->source.alignment || offset + bytes > m->bytes)
        return misused(fake, "make a sub-buffer of memory", memory, error);
    int code = inject(fake, &fake->map_refusal, ++fake->map_calls, error);
    if (code)
        return code;
    struct fake_memory *made = add(fake, FAKE_SUB_BUFFER, bytes);
    made->parent = memory;
    *sub_buffer = made->handle;
    return 0;
}

static int release_sub_buffer(void *context, uint64_t sub_buffer, uint64_t bytes,
                              struct error *error)
{
    struct fake_source *fake = context;
    struct fake_memory *m = find(fake, FAKE_SUB_BUFFER, sub_buffer);
    write_down(fake, 'q', bytes);
    if (!m || m->bytes != bytes)
        return misused(fake, "release sub-buffer", sub_buffer, error);
    drop(fake, m);
    return end_of_free(fake, &fake->unmap_refusal, ++fake->unmap_calls, error);
}

static const struct driver_sub_buffer_ops fake_sub_buffers = {
    .offered = sub_buffers_offered, .create = create_sub_buffer, .release = release_sub_buffer};

/* ---- the pool ---- */

/* Gives back spare memory until the pool has at most keep_bytes of it. */
static void give_back_spare(struct fake_source *fake, uint64_t keep_bytes)
{
    uint64_t spare_bytes = 0;
    for (size_t i = fake->live_count; i-- > 0;) {
        if (fake->live[i].kind != FAKE_SPARE)
            continue;
        spare_bytes += fake->live[i].bytes;
        if (spare_bytes > keep_bytes) {
            spare_bytes -= fake->live[i].bytes;
            drop(fake, &fake->live[i]);
        }
    }
}

static int fake_sync(void *context, struct error *error)
{
    struct fake_source *fake = context;
    text_add(&fake->log, "%sw", fake->log.length ? " " : "");
    int code = inject(fake, &fake->sync_refusal, ++fake->sync_calls, error);
    if (code)
        return code;
    for (size_t i = 0; i < fake->live_count; i++)
        if (fake->live[i].kind == FAKE_FREED)
            fake->live[i].kind = FAKE_SPARE;
    if (fake->pool_is_open)
        give_back_spare(fake, fake->threshold_bytes);
    return 0;
}

static int pool_open(void *context, const struct driver_pool_options *options, uint64_t most_bytes,
                     uint64_t *pool, struct error *error)
{
    struct fake_source *fake = context;
    if (fake->pool_is_open)
        return misused(fake, "open a second pool beside", *pool, error);
    text_add(&fake->log, "o%lld/%d%d%d", (long long)options->release_threshold_bytes,
             options->follow_event_dependencies, options->allow_opportunistic,
             options->allow_internal_dependencies);
    fake->pool_is_open = true;
    fake->threshold_bytes = options->release_threshold_bytes;
    fake->peak_bytes = 0;
    if (most_bytes)
        fake->capacity_bytes = most_bytes;
    *pool = 7;
    return 0;
}

static int pool_close(void *context, uint64_t pool, struct error *error)
{
    struct fake_source *fake = context;
    if (!fake->pool_is_open || pool != 7)
        return misused(fake, "close pool", pool, error);
    fake->pool_is_open = false;
    for (size_t i = fake->live_count; i-- > 0;)
        if (fake->live[i].kind == FAKE_FREED || fake->live[i].kind == FAKE_SPARE)
            drop(fake, &fake->live[i]);
    return 0;
}

static struct fake_memory *reusable(struct fake_source *fake, unsigned queue, uint64_t bytes)
{
    for (size_t i = 0; i < fake->live_count; i++) {
        struct fake_memory *m = &fake->live[i];
        if (m->bytes == bytes &&
            (m->kind == FAKE_SPARE || (m->kind == FAKE_FREED && m->queue == queue)))
            return m;
    }
    return NULL;
}

static int pool_alloc(void *context, uint64_t pool, unsigned queue, uint64_t bytes,
                      uint64_t *memory, struct error *error)
{
    struct fake_source *fake = context;
    if (!fake->pool_is_open || pool != 7)
        return misused(fake, "ask pool", pool, error);
    struct fake_memory *m = reusable(fake, queue, bytes);
    uint64_t more_bytes = m ? 0 : bytes;
    int code = inject(fake, &fake->alloc_refusal, ++fake->alloc_calls, error);
    if (code == 0 && fake->capacity_bytes &&
        (more_bytes > fake->capacity_bytes || fake->live_bytes > fake->capacity_bytes - more_bytes))
        code = error_set(error, ERR_OOM, "the fake pool has no %llu bytes left",
                         (unsigned long long)bytes);
    write_down(fake, code ? '?' : '+', bytes);
    if (code)
        return code;
    if (!m)
        m = add(fake, FAKE_POOLED, bytes);
    m->kind = FAKE_POOLED;
    m->queue = queue;
    if (fake->live_bytes > fake->peak_bytes)
        fake->peak_bytes = fake->live_bytes;
    *memory = m->handle;
    return 0;
}

static int pool_free(void *context, uint64_t pool, unsigned queue, uint64_t memory, uint64_t bytes,
                     struct error *error)
{
    struct fake_source *fake = context;
    write_down(fake, '-', bytes);
    struct fake_memory *m = find(fake, FAKE_POOLED, memory);
    if (!fake->pool_is_open || pool != 7 || !m || m->bytes != bytes || m->queue != queue)
        return misused(fake, "free to the pool memory", memory, error);
    m->kind = FAKE_FREED;
    return end_of_free(fake, &fake->free_refusal, ++fake->free_calls, error);
}

static int pool_trim(void *context, uint64_t pool, uint64_t keep_bytes, struct error *error)
{
    struct fake_source *fake = context;
    text_add(&fake->log, "%st", fake->log.length ? " " : "");
    if (!fake->pool_is_open || pool != 7)
        return misused(fake, "trim pool", pool, error);
    give_back_spare(fake, keep_bytes);
    return end_of_free(fake, &fake->free_refusal, ++fake->free_calls, error);
}

static int pool_reserved(void *context, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                         struct error *error)
{
    struct fake_source *fake = context;
    if (!fake->pool_is_open || pool != 7)
        return misused(fake, "tell the size of pool", pool, error);
    *bytes = fake->live_bytes;
    *peak_bytes = fake->peak_bytes;
    return 0;
}

static int pool_reset_peak(void *context, uint64_t pool, struct error *error)
{
    (void)pool, (void)error;
    struct fake_source *fake = context;
    fake->peak_bytes = fake->live_bytes;
    return 0;
}

/* ---- virtual memory ---- */

static int vm_info(void *context, struct driver_vm_info *info, struct error *error)
{
    (void)context, (void)error;
    *info = (struct driver_vm_info){.granularity_bytes = FAKE_PAGE_BYTES,
                                    .memory_bytes = FAKE_DEVICE_BYTES};
    return 0;
}

static int vm_reserve(void *context, uint64_t bytes, uint64_t *range, struct error *error)
{
    struct fake_source *fake = context;
    write_down(fake, 'r', bytes);
    int code = inject(fake, &fake->map_refusal, ++fake->map_calls, error);
    if (code)
        return code;
    if (bytes % FAKE_PAGE_BYTES != 0)
        return misused(fake, "reserve bytes", bytes, error);
    struct fake_memory *m = add(fake, FAKE_RANGE, bytes);
    m->pages = must_alloc(bytes / FAKE_PAGE_BYTES * sizeof *m->pages);
    *range = m->handle;
    return 0;
}

static int vm_unreserve(void *context, uint64_t range, uint64_t bytes, struct error *error)
{
    struct fake_source *fake = context;
    write_down(fake, 'x', bytes);
    struct fake_memory *m = find(fake, FAKE_RANGE, range);
    if (!m || m->bytes != bytes)
        return misused(fake, "unreserve range", range, error);
    for (uint64_t i = 0; i < bytes / FAKE_PAGE_BYTES; i++)
        fake->misuse_count += m->pages[i].chunk != 0;
    drop(fake, m);
    return end_of_free(fake, &fake->unmap_refusal, ++fake->unmap_calls, error);
}

static int vm_create(void *context, uint64_t bytes, uint64_t *chunk, struct error *error)
{
    struct fake_source *fake = context;
    if (bytes % FAKE_PAGE_BYTES != 0)
        return misused(fake, "create a chunk of bytes", bytes, error);
    int code = ask(fake, bytes, error);
    if (code == 0)
        *chunk = add(fake, FAKE_CHUNK, bytes)->handle;
    return code;
}

static int vm_release(void *context, uint64_t chunk, uint64_t bytes, struct error *error)
{
    struct fake_source *fake = context;
    write_down(fake, '-', bytes);
    struct fake_memory *m = find(fake, FAKE_CHUNK, chunk);
    if (!m || m->bytes != bytes || m->mapped)
        return misused(fake, "release chunk", chunk, error);
    drop(fake, m);
    return end_of_free(fake, &fake->free_refusal, ++fake->free_calls, error);
}

/* The pages [offset, offset + bytes) of a range; NULL where there are none. */
static struct fake_page *pages_of(struct fake_source *fake, uint64_t range, uint64_t offset,
                                  uint64_t bytes)
{
    struct fake_memory *m = find(fake, FAKE_RANGE, range);
    if (!m || offset % FAKE_PAGE_BYTES || bytes % FAKE_PAGE_BYTES || offset + bytes > m->bytes)
        return NULL;
    return &m->pages[offset / FAKE_PAGE_BYTES];
}

static int vm_map(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *error)
{
    struct fake_source *fake = context;
    write_down(fake, 'm', offset);
    int code = inject(fake, &fake->map_refusal, ++fake->map_calls, error);
    if (code)
        return code;
    struct fake_memory *c = find(fake, FAKE_CHUNK, chunk);
    struct fake_page *pages = pages_of(fake, range, offset, bytes);
    if (!c || !pages || c->bytes != bytes || c->mapped)
        return misused(fake, "map at", offset, error);
    c->mapped = true;
    for (uint64_t i = 0; i < bytes / FAKE_PAGE_BYTES; i++) {
        fake->misuse_count += pages[i].chunk != 0;
        pages[i] = (struct fake_page){.chunk = chunk};
    }
    return 0;
}

static int vm_access(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                     struct error *error)
{
    struct fake_source *fake = context;
    write_down(fake, 'a', offset);
    text_add(&fake->log, "+%llu", (unsigned long long)bytes);
    int code = inject(fake, &fake->map_refusal, ++fake->map_calls, error);
    if (code)
        return code;
    struct fake_page *pages = pages_of(fake, range, offset, bytes);
    if (!pages)
        return misused(fake, "make accessible", offset, error);
    for (uint64_t i = 0; i < bytes / FAKE_PAGE_BYTES; i++) {
        fake->misuse_count += pages[i].chunk == 0;
        pages[i].usable = true;
    }
    return 0;
}

static int vm_unmap(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                    struct error *error)
{
    struct fake_source *fake = context;
    write_down(fake, 'u', offset);
    struct fake_page *pages = pages_of(fake, range, offset, bytes);
    struct fake_memory *c = pages ? find(fake, FAKE_CHUNK, pages->chunk) : NULL;
    if (!c || c->bytes != bytes)
        return misused(fake, "unmap at", offset, error);
    c->mapped = false;
    for (uint64_t i = 0; i < bytes / FAKE_PAGE_BYTES; i++) {
        fake->misuse_count += pages[i].chunk != c->handle;
        pages[i] = (struct fake_page){0};
    }
    return end_of_free(fake, &fake->unmap_refusal, ++fake->unmap_calls, error);
}

/* ---- the source ---- */

static const struct driver_pool_ops fake_pool = {DRIVER_POOL_OPS};

static const struct driver_vm_ops fake_vm = {DRIVER_VM_OPS};

static const struct source_ops fake_ops = {
    .alloc = fake_alloc, .touch = fake_touch, .free = fake_free, .sync = fake_sync};

void fake_source_open(struct fake_source *fake, uint64_t alignment, bool can_split)
{
    *fake = (struct fake_source){0};
    fake->source = (struct source){.ops = &fake_ops,
                                   .kinds = &fake_kinds,
                                   .sub_buffers = &fake_sub_buffers,
                                   .pools = &fake_pool,
                                   .vm = &fake_vm,
                                   .context = fake,
                                   .alignment = alignment,
                                   .can_split = can_split};
}

void fake_source_close(struct fake_source *fake)
{
    for (size_t i = 0; i < fake->live_count; i++)
        free(fake->live[i].pages);
    free(fake->live);
    text_free(&fake->log);
}

void fake_source_allocator(struct fake_source *fake, const char *spec, struct allocator *allocator)
{
    const struct allocator_ops *ops;
    struct option_values options;
    struct error error = {0};
    static struct allocator_plans plans; /* read once for all tests */
    if (strstr(spec, "handle=sub_buffer"))
        fake->source.vm = NULL; /* as OpenCL, which has the one and not the other */
    if (allocator_parse_planned(&plans, spec, &ops, &options, &error) ||
        allocator_open(allocator, ops, &options, &fake->source, &error))
        fail_msg("%s: %s", spec, error.text);
}

bool fake_source_holds(const struct fake_source *fake, uint64_t handle, uint64_t offset,
                       uint64_t bytes)
{
    const struct fake_memory *range = find(fake, FAKE_RANGE, handle);
    if (range) {
        for (uint64_t i = offset / FAKE_PAGE_BYTES; i * FAKE_PAGE_BYTES < offset + bytes; i++)
            if (i * FAKE_PAGE_BYTES >= range->bytes || !range->pages[i].usable)
                return false;
        return true;
    }
    const struct fake_memory *m = find(fake, FAKE_MEMORY, handle);
    m = m ? m : find(fake, FAKE_POOLED, handle);
    m = m ? m : find(fake, FAKE_SUB_BUFFER, handle);
    return m && offset + bytes <= m->bytes;
}
