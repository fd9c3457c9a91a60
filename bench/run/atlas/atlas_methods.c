/* The methods of getting memory, and the life of a memory from alloc to free.
 *
 * A cycle is: alloc, first use, second use, free; then turns, as in a program that repeats itself:
 * while a memory of the same size is alive, alloc (realloc) and first use (reuse) of a new one, a
 * use of the older one, its free while that is still queued (free_used), in an ordered method
 * another alloc without a wait (alloc_next), wait (free_sync). A use writes one word to every page
 * and waits, so its time is that of making the pages usable and little else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/atlas/atlas_bench.h"

/* A driver's call as a step of a method. */
#define STEP(name, expression)                                                                     \
    static int name(struct bench *b, uint64_t state, struct method_block *block,                   \
                    struct error *error)                                                           \
    {                                                                                              \
        return b->ops->expression;                                                                 \
    }

/* ---- raw: the driver's own call ---- */

STEP(raw_alloc, alloc(b->device, block->bytes, &block->memory, error))
STEP(raw_free, free(b->device, block->memory, block->bytes, error))

/* ---- resident: the same, and every page is touched ---- */

static int resident_open(struct bench *b, uint64_t *state, struct error *error)
{
    if (!b->ops->touch)
        return error_set(error, ERR_UNSUPPORTED,
                         "memory is resident when it is allocated: see raw");
    return 0;
}

static int resident_alloc(struct bench *b, uint64_t state, struct method_block *block,
                          struct error *error)
{
    int code = raw_alloc(b, state, block, error);
    int touched = code ? 0 : b->ops->touch(b->device, block->memory, block->bytes, error);
    if (touched)
        raw_free(b, state, block, NULL);
    return code ? code : touched;
}

/* ---- malloc: the C library's, on the host ---- */

static int malloc_open(struct bench *b, uint64_t *state, struct error *error)
{
    if (b->device->info->language != KERNEL_HOST_C)
        return error_set(error, ERR_UNSUPPORTED, "the device does not use the host's memory");
    return 0;
}

static int malloc_alloc(struct bench *b, uint64_t state, struct method_block *block,
                        struct error *error)
{
    block->memory = (uint64_t)(uintptr_t)malloc(block->bytes);
    return block->memory ? 0 : error_set(error, ERR_OOM, "malloc returned NULL");
}

static int malloc_free(struct bench *b, uint64_t state, struct method_block *block,
                       struct error *error)
{
    free((void *)(uintptr_t)block->memory);
    return 0;
}

/* ---- stream: the driver's own pool ---- */

static int open_pool(struct bench *b, uint64_t threshold_bytes, uint64_t *pool, struct error *error)
{
    if (!b->ops->pools)
        return error_set(error, ERR_UNSUPPORTED, "%s has no stream-ordered pool", b->ops->name);
    const struct driver_pool_options options = {
        .release_threshold_bytes = threshold_bytes,
        .follow_event_dependencies = true,
        .allow_opportunistic = true,
        .allow_internal_dependencies = true,
    };
    return b->ops->pools->open(b->device, &options, 0, pool, error);
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
    b->ops->pools->close(b->device, pool, NULL);
}

STEP(pool_alloc, pools->alloc(b->device, state, 0, block->bytes, &block->memory, error))
STEP(pool_free, pools->free(b->device, state, 0, block->memory, block->bytes, error))

/* ---- vmm: addresses and chunks, call by call ---- */

static int vmm_open(struct bench *b, uint64_t *state, struct error *error)
{
    if (!b->ops->vm)
        return error_set(error, ERR_UNSUPPORTED, "%s has no calls for virtual memory",
                         b->ops->name);
    struct driver_vm_info info = {0};
    TRY(b->ops->vm->info(b->device, &info, error));
    *state = info.granularity_bytes;
    return 0;
}

STEP(vmm_reserve, vm->reserve(b->device, block->bytes, &block->memory, error))
STEP(vmm_create, vm->create(b->device, block->bytes, &block->chunk, error))
STEP(vmm_map, vm->map(b->device, block->memory, 0, block->chunk, block->bytes, error))
STEP(vmm_access, vm->access(b->device, block->memory, 0, block->bytes, error))
STEP(vmm_unmap, vm->unmap(b->device, block->memory, 0, block->bytes, error))
STEP(vmm_release, vm->release(b->device, block->chunk, block->bytes, error))
STEP(vmm_unreserve, vm->unreserve(b->device, block->memory, block->bytes, error))

/* ---- pinned, shared: memory that the host can address ---- */

static int host_memory_open(struct bench *b, enum driver_memory kind, uint64_t *state,
                            struct error *error)
{
    struct method_block block = {.bytes = 65536};
    *state = kind;
    if (!b->ops->host_memory)
        return error_set(error, ERR_UNSUPPORTED, "%s has the host's memory anyway", b->ops->name);
    TRY(b->ops->host_memory->alloc(b->device, kind, block.bytes, &block.memory, &block.host,
                                   error));
    return b->ops->host_memory->free(b->device, kind, block.memory, block.bytes, error);
}

static int pinned_open(struct bench *b, uint64_t *state, struct error *error)
{
    return host_memory_open(b, MEMORY_PINNED, state, error);
}

static int shared_open(struct bench *b, uint64_t *state, struct error *error)
{
    bool is_cuda = b->device->info->language == KERNEL_CUDA_C;
    return host_memory_open(b, is_cuda ? MEMORY_MANAGED : MEMORY_COARSE_SVM, state, error);
}

STEP(host_memory_alloc, host_memory->alloc(b->device, (enum driver_memory)state, block->bytes,
                                           &block->memory, &block->host, error))
STEP(host_memory_free,
     host_memory->free(b->device, (enum driver_memory)state, block->memory, block->bytes, error))

/* ---- all of them ---- */

/* Memory of the host takes hundreds of milliseconds a GiB, for pages that are made one by one. */
static const uint64_t most_host_bytes = 256 << 20;

static const struct method methods[] = {
    {.name = "raw", .free_while_used = true, .alloc = {{raw_alloc}}, .free = {{raw_free}}},
    {.name = "resident",
     .free_while_used = true,
     .open = resident_open,
     .alloc = {{resident_alloc}},
     .free = {{raw_free}}},
    {.name = "malloc", .open = malloc_open, .alloc = {{malloc_alloc}}, .free = {{malloc_free}}},
    {.name = "stream:threshold=0",
     .free_while_used = true,
     .is_ordered = true,
     .open = releasing_pool_open,
     .close = pool_close,
     .alloc = {{pool_alloc}},
     .free = {{pool_free}}},
    {.name = "stream:threshold=max",
     .free_while_used = true,
     .is_ordered = true,
     .open = keeping_pool_open,
     .close = pool_close,
     .alloc = {{pool_alloc}},
     .free = {{pool_free}}},
    {.name = "vmm",
     .open = vmm_open,
     .alloc = {{vmm_reserve, "reserve", vmm_unreserve},
               {vmm_create, "create", vmm_release},
               {vmm_map, "map", vmm_unmap},
               {vmm_access, "access", NULL}},
     .free = {{vmm_unmap, "unmap", NULL},
              {vmm_release, "release", NULL},
              {vmm_unreserve, "unreserve", NULL}}},
    {.name = "pinned",
     .most_bytes = most_host_bytes,
     .open = pinned_open,
     .alloc = {{host_memory_alloc}},
     .free = {{host_memory_free}}},
    {.name = "shared",
     .most_bytes = most_host_bytes,
     .open = shared_open,
     .alloc = {{host_memory_alloc}},
     .free = {{host_memory_free}}},
};

int method_alloc(struct bench *b, const struct open_method *o, struct method_block *block,
                 struct error *error)
{
    const struct method_step *steps = o->method->alloc;
    int code = 0, i = 0;
    memset(block->step_ns, 0, sizeof block->step_ns);
    for (; steps[i].call && !code; i++) {
        uint64_t began = bench_begin(b);
        code = steps[i].call(b, o->state, block, error);
        block->step_ns[i] = bench_end(began);
    }
    for (i -= 2; code && i >= 0; i--)
        steps[i].undo(b, o->state, block, NULL);
    return code;
}

int method_free(struct bench *b, const struct open_method *o, struct method_block *block,
                struct error *error)
{
    const struct method_step *steps = o->method->free;
    int code = 0;
    memset(block->step_ns, 0, sizeof block->step_ns);
    for (int i = 0; steps[i].call; i++) {
        uint64_t began = bench_begin(b);
        ALSO(code, steps[i].call(b, o->state, block, code ? NULL : error));
        block->step_ns[i] = bench_end(began);
    }
    return code;
}

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

enum {
    METHOD_ALLOC,
    METHOD_FIRST_USE,
    METHOD_SECOND_USE,
    METHOD_FREE,
    METHOD_REALLOC,
    METHOD_REUSE,
    METHOD_FREE_SYNC,
    METHOD_FREE_USED,  /* only for methods with free_while_used */
    METHOD_ALLOC_NEXT, /* only for methods that are is_ordered */
    METHOD_CALLS,
};

static int use_block(struct bench *b, const struct method_block *block, uint64_t *ns,
                     struct error *error)
{
    uint64_t began = clock_ns();
    TRY(bench_touch(b, block->memory, block->bytes, error));
    TRY(bench_sync(b, error));
    *ns = bench_end(began);
    return 0;
}

int method_warm_up(struct bench *b, const struct open_method *o, struct error *error)
{
    enum { LIVES = 2, NO_CELLS_BYTES = 10 << 20 }; /* cells have 2^k or 3 * 2^k bytes */
    const uint64_t step = o->step_bytes;
    uint64_t ns;
    for (int i = 0; i < LIVES; i++) {
        struct method_block block = {.bytes = (NO_CELLS_BYTES + step - 1) / step * step};
        struct error why = {0};
        int code = method_alloc(b, o, &block, &why);
        if (code) /* too large for the device: its cells do without */
            return code == ERR_DEVICE_LOST ? error_set(error, code, "%s", why.text) : 0;
        code = use_block(b, &block, &ns, error);
        ALSO(code, method_free(b, o, &block, code ? NULL : error));
        TRY(code);
    }
    return bench_sync(b, error);
}

static void take_steps(struct cell *cell, const struct method_step *steps,
                       const struct method_block *block)
{
    for (size_t step = 0; steps[step].name; step++)
        for (size_t call = 0; cell->calls[call]; call++)
            if (strcmp(cell->calls[call], steps[step].name) == 0)
                cell_take(cell, call, block->step_ns[step]);
}

/* Times alloc, two uses and free on an idle device. */
static int first_life(struct bench *b, struct cell *cell, struct error *error)
{
    const struct open_method *o = cell->subject;
    struct method_block block = {.bytes = cell->bytes};
    uint64_t use_ns[2] = {0, 0};
    TRY(method_alloc(b, o, &block, error));
    uint64_t alloc_ns = method_ns(&block);
    struct method_block allocated = block;
    int code = bench_sync(b, error);
    for (int i = 0; i < 2 && !code; i++)
        code = use_block(b, &block, &use_ns[i], error);
    ALSO(code, method_free(b, o, &block, code ? NULL : error));
    TRY(code);
    cell_take(cell, METHOD_ALLOC, alloc_ns);
    take_steps(cell, o->method->alloc, &allocated);
    cell_take(cell, METHOD_FIRST_USE, use_ns[0]);
    cell_take(cell, METHOD_SECOND_USE, use_ns[1]);
    cell_take(cell, METHOD_FREE, method_ns(&block));
    take_steps(cell, o->method->free, &block);
    return 0;
}

/* Times an alloc that follows other calls of the method without a wait, and frees the memory. */
static int alloc_next(struct bench *b, const struct open_method *o, uint64_t bytes, uint64_t *ns,
                      struct error *error)
{
    struct method_block block = {.bytes = bytes};
    int code = method_alloc(b, o, &block, error);
    *ns = method_ns(&block);
    return code ? code : method_free(b, o, &block, error);
}

/* One turn of a program that repeats itself: times an alloc while the memory of the turn before is
 * alive, its first use, and a free of that older memory while a further use of it is queued. The
 * new memory takes its place, also after an error. */
static int take_turn(struct bench *b, struct cell *cell, struct method_block *older, bool is_timed,
                     struct error *error)
{
    const struct open_method *o = cell->subject;
    struct method_block block = {.bytes = cell->bytes};
    TRY(method_alloc(b, o, &block, error));
    uint64_t realloc_ns = method_ns(&block), reuse_ns = 0;
    int code = use_block(b, &block, &reuse_ns, error);
    THEN(code, bench_touch(b, older->memory, older->bytes, error));
    THEN(code, !o->method->free_while_used ? bench_sync(b, error) : 0);
    ALSO(code, method_free(b, o, older, code ? NULL : error));
    const uint64_t free_ns = method_ns(older);
    uint64_t next_ns = 0;
    *older = block;
    TRY(code);
    if (o->method->is_ordered)
        TRY(alloc_next(b, o, cell->bytes, &next_ns, error));
    const uint64_t began = clock_ns();
    TRY(bench_sync(b, error));
    if (!is_timed)
        return 0;
    cell_take(cell, METHOD_REALLOC, realloc_ns);
    cell_take(cell, METHOD_REUSE, reuse_ns);
    cell_take(cell, METHOD_FREE_SYNC, bench_end(began));
    if (o->method->free_while_used)
        cell_take(cell, METHOD_FREE_USED, free_ns);
    if (o->method->is_ordered)
        cell_take(cell, METHOD_ALLOC_NEXT, next_ns);
    return 0;
}

/* Several turns, of which the first ones are not timed: the memory that the very first frees was
 * allocated alone, and the calls of a program that repeats itself are warmer than those of a bench
 * that has just measured another size. Turns that take long are few, because each of many sizes is
 * visited often. */
static int later_lives(struct bench *b, struct cell *cell, struct error *error)
{
    enum { LEAST_TURNS = 2, UNTIMED_TURNS = 4, TURNS = UNTIMED_TURNS + 3, ENOUGH_NS = 2000000 };
    const struct open_method *o = cell->subject;
    const uint64_t began = clock_ns();
    struct method_block block = {.bytes = cell->bytes};
    uint64_t ns;
    TRY(method_alloc(b, o, &block, error));
    int code = use_block(b, &block, &ns, error);
    for (int turn = 0, timed = 0; turn < TURNS && !code; turn++) {
        const bool is_late = clock_ns() - began >= ENOUGH_NS;
        const bool is_timed = turn >= (is_late ? LEAST_TURNS - 1 : UNTIMED_TURNS);
        if (is_late && timed > 0)
            break;
        code = take_turn(b, cell, &block, is_timed, error);
        timed += is_timed;
    }
    ALSO(code, method_free(b, o, &block, code ? NULL : error));
    THEN(code, bench_sync(b, error));
    return code;
}

static int live_and_die(struct bench *b, struct cell *cell, struct error *error)
{
    TRY(method_warm_up(b, cell->subject, error));
    TRY(first_life(b, cell, error));
    return later_lives(b, cell, error);
}

size_t method_name_steps(const struct method_step *steps, struct cell *cell, size_t count)
{
    for (; steps->name; steps++)
        cell->calls[count++] = steps->name;
    return count;
}

void method_cell(const struct open_method *open, uint64_t bytes, struct cell *cell)
{
    static const char *const names[] = {
        [METHOD_ALLOC] = "alloc",           [METHOD_FIRST_USE] = "first_use",
        [METHOD_SECOND_USE] = "second_use", [METHOD_FREE] = "free",
        [METHOD_REALLOC] = "realloc",       [METHOD_REUSE] = "reuse",
        [METHOD_FREE_SYNC] = "free_sync",   [METHOD_FREE_USED] = "free_used",
        [METHOD_ALLOC_NEXT] = "alloc_next",
    };
    const struct method *method = open->method;
    size_t count = method->is_ordered        ? METHOD_CALLS
                   : method->free_while_used ? METHOD_ALLOC_NEXT
                                             : METHOD_FREE_USED;
    *cell =
        (struct cell){.method = method->name, .bytes = bytes, .run = live_and_die, .subject = open};
    memcpy(cell->calls, names, count * sizeof *names);
    count = method_name_steps(method->alloc, cell, count);
    method_name_steps(method->free, cell, count);
}
