/* The methods of getting memory, and the life of a memory from alloc to free.
 *
 * A cycle is: alloc, first use, second use, free, alloc again at once (realloc), its first use
 * (reuse), a use, free while that is still queued (free_used), wait (free_sync). A use writes one
 * word to every page and waits, so that it costs what making the pages usable costs and little
 * else.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run/atlas/atlas_bench.h"

/* ---- raw: the driver's own call ---- */

static int raw_alloc(struct bench *b, uint64_t state, struct method_block *block,
                     struct error *error)
{
    (void)state;
    uint64_t began = bench_begin(b);
    int code = b->ops->alloc(b->device, block->bytes, &block->memory, error);
    block->step_ns[0] = bench_end(began);
    return code;
}

static int raw_free(struct bench *b, uint64_t state, struct method_block *block,
                    struct error *error)
{
    (void)state;
    uint64_t began = bench_begin(b);
    int code = b->ops->free(b->device, block->memory, block->bytes, error);
    block->step_ns[0] = bench_end(began);
    return code;
}

/* ---- resident: the same, and made to be there ---- */

static int resident_open(struct bench *b, uint64_t *state, struct error *error)
{
    (void)state;
    if (!b->ops->touch)
        return error_set(error, ERR_UNSUPPORTED,
                         "memory is resident when it is allocated: see raw");
    return 0;
}

static int resident_alloc(struct bench *b, uint64_t state, struct method_block *block,
                          struct error *error)
{
    (void)state;
    uint64_t began = bench_begin(b);
    int code = b->ops->alloc(b->device, block->bytes, &block->memory, error);
    int touched = code ? 0 : b->ops->touch(b->device, block->memory, block->bytes, error);
    block->step_ns[0] = bench_end(began);
    if (touched)
        b->ops->free(b->device, block->memory, block->bytes, NULL);
    return code ? code : touched;
}

/* ---- malloc: the C library's, on the host ---- */

static int malloc_open(struct bench *b, uint64_t *state, struct error *error)
{
    (void)state;
    if (device_info(b->device)->language != KERNEL_HOST_C)
        return error_set(error, ERR_UNSUPPORTED, "the device does not use the host's memory");
    return 0;
}

static int malloc_alloc(struct bench *b, uint64_t state, struct method_block *block,
                        struct error *error)
{
    (void)state;
    uint64_t began = bench_begin(b);
    void *memory = malloc(block->bytes);
    block->step_ns[0] = bench_end(began);
    block->memory = (uint64_t)(uintptr_t)memory;
    return memory ? 0 : error_set(error, ERR_OOM, "malloc returned NULL");
}

static int malloc_free(struct bench *b, uint64_t state, struct method_block *block,
                       struct error *error)
{
    (void)state, (void)error;
    void *memory = (void *)(uintptr_t)block->memory;
    uint64_t began = bench_begin(b);
    free(memory);
    block->step_ns[0] = bench_end(began);
    return 0;
}

/* ---- stream: the driver's own pool ---- */

static int open_pool(struct bench *b, uint64_t threshold_bytes, uint64_t *pool, struct error *error)
{
    if (!b->ops->pool_open || !b->ops->pool_alloc)
        return error_set(error, ERR_UNSUPPORTED, "%s has no stream-ordered pool", b->ops->name);
    const struct device_pool_options options = {
        .release_threshold_bytes = threshold_bytes,
        .follow_event_dependencies = true,
        .allow_opportunistic = true,
        .allow_internal_dependencies = true,
    };
    return b->ops->pool_open(b->device, &options, pool, error);
}

static int keeping_pool_open(struct bench *b, uint64_t *pool, struct error *error)
{
    return open_pool(b, UINT64_MAX, pool, error);
}

static int releasing_pool_open(struct bench *b, uint64_t *pool, struct error *error)
{
    return open_pool(b, 0, pool, error);
}

static void pool_close(struct bench *b, uint64_t pool)
{
    b->ops->pool_close(b->device, pool, NULL);
}

static int pool_alloc(struct bench *b, uint64_t pool, struct method_block *block,
                      struct error *error)
{
    uint64_t began = bench_begin(b);
    int code = b->ops->pool_alloc(b->device, pool, 0, block->bytes, &block->memory, error);
    block->step_ns[0] = bench_end(began);
    return code;
}

static int pool_free(struct bench *b, uint64_t pool, struct method_block *block,
                     struct error *error)
{
    uint64_t began = bench_begin(b);
    int code = b->ops->pool_free(b->device, pool, 0, block->memory, block->bytes, error);
    block->step_ns[0] = bench_end(began);
    return code;
}

/* ---- vmm: addresses and chunks, call by call ---- */

static int vmm_open(struct bench *b, uint64_t *state, struct error *error)
{
    if (!b->ops->vm_granularity)
        return error_set(error, ERR_UNSUPPORTED, "%s has no calls for virtual memory",
                         b->ops->name);
    return b->ops->vm_granularity(b->device, state, error);
}

static int vmm_alloc(struct bench *b, uint64_t granularity, struct method_block *block,
                     struct error *error)
{
    (void)granularity;
    uint64_t began = bench_begin(b);
    int code = b->ops->vm_reserve(b->device, block->bytes, &block->memory, error);
    block->step_ns[0] = bench_end(began);
    if (code)
        return code;
    began = bench_begin(b);
    code = b->ops->vm_create(b->device, block->bytes, &block->chunk, error);
    block->step_ns[1] = bench_end(began);
    if (code)
        goto unreserve;
    began = bench_begin(b);
    code = b->ops->vm_map(b->device, block->memory, block->chunk, block->bytes, error);
    block->step_ns[2] = bench_end(began);
    if (code)
        goto release;
    began = bench_begin(b);
    code = b->ops->vm_access(b->device, block->memory, block->bytes, error);
    block->step_ns[3] = bench_end(began);
    if (!code)
        return 0;
    b->ops->vm_unmap(b->device, block->memory, block->bytes, NULL);
release:
    b->ops->vm_release(b->device, block->chunk, block->bytes, NULL);
unreserve:
    b->ops->vm_unreserve(b->device, block->memory, block->bytes, NULL);
    return code;
}

static int vmm_free(struct bench *b, uint64_t granularity, struct method_block *block,
                    struct error *error)
{
    (void)granularity;
    uint64_t began = bench_begin(b);
    int code = b->ops->vm_unmap(b->device, block->memory, block->bytes, error);
    block->step_ns[0] = bench_end(began);
    began = bench_begin(b);
    int released = b->ops->vm_release(b->device, block->chunk, block->bytes, code ? NULL : error);
    block->step_ns[1] = bench_end(began);
    code = code ? code : released;
    began = bench_begin(b);
    int left = b->ops->vm_unreserve(b->device, block->memory, block->bytes, code ? NULL : error);
    block->step_ns[2] = bench_end(began);
    return code ? code : left;
}

/* ---- pinned, shared: memory that the host can address ---- */

static int host_memory_open(struct bench *b, enum host_memory kind, uint64_t *state,
                            struct error *error)
{
    struct method_block block = {.bytes = 65536};
    *state = kind;
    if (!b->ops->host_alloc)
        return error_set(error, ERR_UNSUPPORTED, "%s has the host's memory anyway", b->ops->name);
    int code = b->ops->host_alloc(b->device, kind, block.bytes, &block.memory, &block.host, error);
    return code ? code : b->ops->host_free(b->device, kind, block.memory, block.bytes, error);
}

static int pinned_open(struct bench *b, uint64_t *state, struct error *error)
{
    return host_memory_open(b, HOST_PINNED, state, error);
}

static int shared_open(struct bench *b, uint64_t *state, struct error *error)
{
    bool is_cuda = device_info(b->device)->language == KERNEL_CUDA_C;
    return host_memory_open(b, is_cuda ? HOST_MANAGED : HOST_COARSE_SVM, state, error);
}

static int host_memory_alloc(struct bench *b, uint64_t state, struct method_block *block,
                             struct error *error)
{
    uint64_t began = bench_begin(b);
    int code = b->ops->host_alloc(b->device, (enum host_memory)state, block->bytes, &block->memory,
                                  &block->host, error);
    block->step_ns[0] = bench_end(began);
    return code;
}

static int host_memory_free(struct bench *b, uint64_t state, struct method_block *block,
                            struct error *error)
{
    uint64_t began = bench_begin(b);
    int code =
        b->ops->host_free(b->device, (enum host_memory)state, block->memory, block->bytes, error);
    block->step_ns[0] = bench_end(began);
    return code;
}

/* ---- all of them ---- */

static const uint64_t gib = 1 << 30;

static const struct method methods[] = {
    {.name = "raw", .free_while_used = true, .alloc = raw_alloc, .free = raw_free},
    {.name = "resident",
     .free_while_used = true,
     .open = resident_open,
     .alloc = resident_alloc,
     .free = raw_free},
    {.name = "malloc", .open = malloc_open, .alloc = malloc_alloc, .free = malloc_free},
    {.name = "stream:threshold=0",
     .free_while_used = true,
     .open = releasing_pool_open,
     .close = pool_close,
     .alloc = pool_alloc,
     .free = pool_free},
    {.name = "stream:threshold=max",
     .free_while_used = true,
     .open = keeping_pool_open,
     .close = pool_close,
     .alloc = pool_alloc,
     .free = pool_free},
    {.name = "vmm",
     .alloc_steps = {"reserve", "create", "map", "access"},
     .free_steps = {"unmap", "release", "unreserve"},
     .open = vmm_open,
     .alloc = vmm_alloc,
     .free = vmm_free},
    {.name = "pinned",
     .most_bytes = gib,
     .open = pinned_open,
     .alloc = host_memory_alloc,
     .free = host_memory_free},
    {.name = "shared",
     .most_bytes = gib,
     .open = shared_open,
     .alloc = host_memory_alloc,
     .free = host_memory_free},
};

uint64_t method_ns(const struct method_block *block)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < METHOD_STEPS; i++)
        ns += block->step_ns[i];
    return ns;
}

static void file_missing(struct bench *b, const char *method, const char *why)
{
    struct atlas_point point = {.sample_count = 0};
    snprintf(point.skipped, sizeof point.skipped, "%.250s", why);
    atlas_add_point(atlas_curve_of(b->atlas, method, "alloc"), &point);
}

int methods_open(struct bench *b, struct open_method open[METHODS_MAX], size_t *count,
                 struct error *error)
{
    *count = 0;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct open_method method = {.method = &methods[i], .step_bytes = 1};
        struct error why = {0};
        int code = method.method->open ? method.method->open(b, &method.state, &why) : 0;
        if (code == ERR_DEVICE_LOST)
            return error_set(error, code, "%s: %s", method.method->name, why.text);
        if (code) {
            file_missing(b, method.method->name, why.text);
            continue;
        }
        if (method.method->open == vmm_open)
            method.least_bytes = method.step_bytes = method.state;
        open[(*count)++] = method;
    }
    return 0;
}

void methods_close(struct bench *b, struct open_method *open, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (open[i].method->close)
            open[i].method->close(b, open[i].state);
}

/* ---- the life of a memory ---- */

enum method_call {
    METHOD_ALLOC,
    METHOD_FIRST_USE,
    METHOD_SECOND_USE,
    METHOD_FREE,
    METHOD_REALLOC,
    METHOD_REUSE,
    METHOD_FREE_SYNC,
    METHOD_FREE_USED, /* of methods that allow it */
    METHOD_CALLS,
};

static int use(struct bench *b, const struct method_block *block, uint64_t *ns, struct error *error)
{
    uint64_t began = clock_ns();
    int code = bench_touch(b, block->memory, block->bytes, error);
    if (!code)
        code = bench_sync(b, error);
    *ns = bench_end(began);
    return code;
}

static void take_steps(struct cell *cell, const char *const names[METHOD_STEPS],
                       const struct method_block *block)
{
    for (size_t step = 0; step < METHOD_STEPS && names[step]; step++)
        for (size_t call = 0; cell->calls[call]; call++)
            if (strcmp(cell->calls[call], names[step]) == 0)
                cell_take(cell, call, block->step_ns[step]);
}

/* Alloc, two uses and a free on an idle device. */
static int first_life(struct bench *b, struct cell *cell, struct error *error)
{
    const struct open_method *o = cell->subject;
    struct method_block block = {.bytes = cell->bytes};
    uint64_t use_ns[2] = {0, 0};
    int code = o->method->alloc(b, o->state, &block, error);
    if (code)
        return code;
    uint64_t alloc_ns = method_ns(&block);
    struct method_block allocated = block;
    code = bench_sync(b, error);
    for (int i = 0; i < 2 && !code; i++)
        code = use(b, &block, &use_ns[i], error);
    memset(block.step_ns, 0, sizeof block.step_ns);
    int freed = o->method->free(b, o->state, &block, code ? NULL : error);
    if (code || freed)
        return code ? code : freed;
    cell_take(cell, METHOD_ALLOC, alloc_ns);
    take_steps(cell, o->method->alloc_steps, &allocated);
    cell_take(cell, METHOD_FIRST_USE, use_ns[0]);
    cell_take(cell, METHOD_SECOND_USE, use_ns[1]);
    cell_take(cell, METHOD_FREE, method_ns(&block));
    take_steps(cell, o->method->free_steps, &block);
    return 0;
}

/* Alloc right after that free, as in a program that repeats itself, its first use, and a free
 * behind another one. */
static int second_life(struct bench *b, struct cell *cell, struct error *error)
{
    const struct open_method *o = cell->subject;
    struct method_block block = {.bytes = cell->bytes};
    int code = o->method->alloc(b, o->state, &block, error);
    if (code)
        return code;
    uint64_t realloc_ns = method_ns(&block), reuse_ns = 0;
    code = use(b, &block, &reuse_ns, error);
    if (!code)
        code = bench_touch(b, block.memory, block.bytes, error);
    if (!code && !o->method->free_while_used)
        code = bench_sync(b, error);
    memset(block.step_ns, 0, sizeof block.step_ns);
    int freed = o->method->free(b, o->state, &block, code ? NULL : error);
    uint64_t began = clock_ns();
    if (!code && !freed)
        code = bench_sync(b, error);
    if (code || freed)
        return code ? code : freed;
    cell_take(cell, METHOD_REALLOC, realloc_ns);
    cell_take(cell, METHOD_REUSE, reuse_ns);
    cell_take(cell, METHOD_FREE_SYNC, bench_end(began));
    if (o->method->free_while_used)
        cell_take(cell, METHOD_FREE_USED, method_ns(&block));
    return 0;
}

static int live_and_die(struct bench *b, struct cell *cell, struct error *error)
{
    int code = first_life(b, cell, error);
    return code ? code : second_life(b, cell, error);
}

void method_cell(const struct open_method *open, uint64_t bytes, struct cell *cell)
{
    static const char *const names[] = {
        [METHOD_ALLOC] = "alloc",           [METHOD_FIRST_USE] = "first_use",
        [METHOD_SECOND_USE] = "second_use", [METHOD_FREE] = "free",
        [METHOD_REALLOC] = "realloc",       [METHOD_REUSE] = "reuse",
        [METHOD_FREE_SYNC] = "free_sync",   [METHOD_FREE_USED] = "free_used",
    };
    const struct method *method = open->method;
    size_t count = method->free_while_used ? METHOD_CALLS : METHOD_FREE_USED;
    *cell =
        (struct cell){.method = method->name, .bytes = bytes, .run = live_and_die, .subject = open};
    memcpy(cell->calls, names, count * sizeof *names);
    for (size_t i = 0; i < METHOD_STEPS && method->alloc_steps[i]; i++)
        cell->calls[count++] = method->alloc_steps[i];
    for (size_t i = 0; i < METHOD_STEPS && method->free_steps[i]; i++)
        cell->calls[count++] = method->free_steps[i];
}
