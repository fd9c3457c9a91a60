#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/predict/model_replay.h"

/* ---- costs ---------------------------------------------------------------------------------- */

int replay_lack(struct replay *r, const char *what, const char *method, const char *call)
{
    if (!r->lacks)
        error_set(r->error, ERR_UNSUPPORTED, "the atlas of %s does not know %s (%s, %s)",
                  r->model->atlas->device, what, method, call);
    r->lacks = true;
    return ERR_UNSUPPORTED;
}

double replay_device_cost(struct replay *r, const char *method, const char *call, uint64_t bytes)
{
    double ns;
    if (atlas_cost_ns(r->model->atlas, method, call, bytes, &ns) && !isnan(ns))
        return ns;
    replay_lack(r, "what a call costs", method, call);
    return 0;
}

/* Of the host: less what reading the clock took. */
double replay_cost(struct replay *r, const char *method, const char *call, uint64_t bytes)
{
    double ns = replay_device_cost(r, method, call, bytes);
    return isnan(r->model->atlas->timer_ns) ? ns : more_than(ns, r->model->atlas->timer_ns);
}

double replay_wait(struct replay *r)
{
    double waited = more_than(r->device_ns, r->host_ns);
    r->host_ns += waited;
    return waited;
}

void replay_driver_call(struct replay *r, const char *method, const char *call, uint64_t bytes,
                        double ns)
{
    double waited = 0;
    if (!r->model->synchronous && r->device_ns > r->host_ns) {
        enum atlas_wait waits = atlas_waits(r->model->atlas, method, call, bytes);
        if (waits == ATLAS_WAITS_unknown)
            replay_lack(r, "what a call waits for", method, call);
        else if (waits != ATLAS_WAITS_nothing)
            waited = replay_wait(r);
    }
    r->host_ns += ns;
    r->waiting_ns += waited;
    r->driver_ns += waited + ns;
}

static bool knows(const struct replay *r, const char *method, const char *call)
{
    return atlas_find(r->model->atlas, method, call) != NULL;
}

/* A driver gives what it has just got back for less than what it has to find: the atlas knows both.
 * Just got back is a memory of the same size in the same run. */
static double alloc_cost(struct replay *r, uint64_t bytes, bool again)
{
    return replay_cost(r, "raw", again && knows(r, "raw", "realloc") ? "realloc" : "alloc", bytes);
}

/* Of a call that finds nothing to wait for. A free behind a use that was just launched is a call in
 * the middle of work, as in a program; where it waits for the use, that is taken off. */
static double free_cost(struct replay *r, uint64_t bytes)
{
    if (!knows(r, "raw", "free_used") || !knows(r, "raw", "second_use"))
        return replay_cost(r, "raw", "free", bytes);
    double ns = replay_cost(r, "raw", "free_used", bytes);
    enum atlas_wait waits = atlas_waits(r->model->atlas, "raw", "free", bytes);
    if (r->model->synchronous || waits == ATLAS_WAITS_nothing || waits == ATLAS_WAITS_unknown)
        return ns;
    double use_ns = replay_cost(r, "raw", "second_use", bytes);
    return more_than(ns, more_than(use_ns, r->costs.launch_ns + r->costs.sync_ns));
}

/* ---- what the driver has just got back ------------------------------------------------------ */

static void remember_free(struct replay *r, uint64_t bytes)
{
    if (r->freed_count == r->freed_capacity) {
        r->freed_capacity = r->freed_capacity ? 2 * r->freed_capacity : 64;
        r->freed_bytes = must_realloc(r->freed_bytes, r->freed_capacity * sizeof *r->freed_bytes);
    }
    r->freed_bytes[r->freed_count++] = bytes;
}

static bool take_freed(struct replay *r, uint64_t bytes)
{
    for (size_t i = r->freed_count; i-- > 0;)
        if (r->freed_bytes[i] == bytes) {
            r->freed_bytes[i] = r->freed_bytes[--r->freed_count];
            return true;
        }
    return false;
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* Cuts a small memory from a page. Returns the size by which the driver's work is priced: that of a
 * page if there had to be a new one. */
static uint64_t take_piece(struct replay *r, struct memory *memory)
{
    const uint64_t page_bytes = r->model->page_bytes;
    if (memory->bytes >= page_bytes)
        return memory->bytes;
    memory->piece = chunks_take(&r->pages, memory->bytes);
    if (memory->piece)
        return memory->bytes;
    memory->piece = chunks_take_new(&r->pages, memory->bytes, page_bytes);
    memory->again = take_freed(r, page_bytes);
    return page_bytes;
}

/* The same when the memory goes. */
static uint64_t put_piece_back(struct replay *r, struct memory *memory)
{
    if (!memory->piece)
        return memory->bytes;
    chunks_put_back(memory->piece);
    uint64_t page_bytes = chunks_give_back(&r->pages, 0);
    return page_bytes ? page_bytes : memory->bytes;
}

/* How much longer the first command takes that uses a memory than the next one. A twentieth more or
 * less is what two equal measurements differ by. */
double replay_first_use_cost(struct replay *r, struct memory *memory)
{
    const char *method = memory->method;
    uint64_t bytes = memory->bytes;
    if (r->model->pages_at_use && strcmp(method, "raw") == 0)
        bytes = take_piece(r, memory);
    const char *call = memory->again && knows(r, method, "reuse") ? "reuse" : "first_use";
    if (!knows(r, method, call) || !knows(r, method, "second_use"))
        return 0;
    double first = replay_cost(r, method, call, bytes);
    double second = replay_cost(r, method, "second_use", bytes);
    return first > 1.05 * second ? first - second : 0;
}

/* ---- the source ----------------------------------------------------------------------------- */

struct memory *replay_add_memory(struct replay *r, uint64_t *handle)
{
    if (!r->spare) {
        if (r->memory_count == r->memory_capacity) {
            r->memory_capacity = r->memory_capacity ? 2 * r->memory_capacity : 64;
            r->memories = must_realloc(r->memories, r->memory_capacity * sizeof *r->memories);
        }
        r->memories[r->memory_count++].next = 0;
        r->spare = (unsigned)r->memory_count;
    }
    *handle = r->spare;
    struct memory *memory = &r->memories[r->spare - 1];
    r->spare = memory->next;
    return memory;
}

void replay_drop_memory(struct replay *r, uint64_t handle)
{
    r->memories[handle - 1].next = r->spare;
    r->spare = (unsigned)handle;
}

static int source_gives(void *context, uint64_t bytes, uint64_t *handle, struct error *error)
{
    struct replay *r = context;
    (void)error;
    struct memory *memory = replay_add_memory(r, handle);
    *memory = (struct memory){.bytes = bytes, .method = "raw", .again = take_freed(r, bytes)};
    uint64_t priced_bytes = r->model->pages_at_use ? bytes : take_piece(r, memory);
    replay_driver_call(r, "raw", "alloc", priced_bytes, alloc_cost(r, priced_bytes, memory->again));
    return 0;
}

/* The atlas knows an allocation that is made resident as a whole. */
static int source_touches(void *context, uint64_t handle, uint64_t bytes, struct error *error)
{
    struct replay *r = context;
    (void)error;
    struct memory *memory = &r->memories[handle - 1];
    memory->used = true;
    bool again = memory->again && atlas_find(r->model->atlas, "resident", "realloc");
    double ns = more_than(replay_cost(r, "resident", again ? "realloc" : "alloc", bytes),
                          alloc_cost(r, bytes, again));
    double waited = replay_wait(r); /* it ends when the memory has been written */
    r->host_ns += ns;
    r->waiting_ns += waited;
    r->driver_ns += waited + ns;
    return 0;
}

static int source_takes(void *context, uint64_t handle, uint64_t bytes, struct error *error)
{
    struct replay *r = context;
    (void)bytes, (void)error;
    uint64_t priced_bytes = put_piece_back(r, &r->memories[handle - 1]);
    replay_drop_memory(r, handle);
    remember_free(r, priced_bytes);
    replay_driver_call(r, "raw", "free", priced_bytes, free_cost(r, priced_bytes));
    return 0;
}

static int source_waits(void *context, struct error *error)
{
    struct replay *r = context;
    (void)error;
    double waited = replay_wait(r);
    double ns = r->costs.sync_ns + replay_pool_waited(r);
    r->host_ns += ns;
    r->waiting_ns += waited;
    r->driver_ns += waited + ns;
    return 0;
}

/* Kernels were timed over device memory. Over memory that lives elsewhere they take what its place
 * makes of them, which no atlas knows. */
static int kind_is_unknown(void *context, enum source_kind kind, struct error *error)
{
    (void)context, (void)kind;
    return error_set(error, ERR_UNSUPPORTED,
                     "the model knows what commands take on device memory, not on other kinds");
}

static const struct source_kind_ops no_kinds = {.offered = kind_is_unknown};

static int part_is_unknown(void *context, enum source_kind kind, struct error *error)
{
    (void)context, (void)kind;
    return error_set(error, ERR_UNSUPPORTED, "no atlas knows what sub-buffers cost");
}

static const struct source_part_ops no_parts = {.offered = part_is_unknown};

struct source replay_source(struct replay *r)
{
    const struct model *m = r->model;
    r->source_ops = (struct source_ops){
        .alloc = source_gives,
        .touch = m->can_touch ? source_touches : NULL,
        .free = source_takes,
        .sync = source_waits,
        .kinds = &no_kinds,
        .parts = &no_parts,
        .pool = m->has_pool ? &replay_pool_ops : NULL,
        .vm = m->vm_granularity_bytes ? &replay_vm_ops : NULL,
    };
    return (struct source){.ops = &r->source_ops,
                           .context = r,
                           .alignment = m->alignment,
                           .can_split = m->can_split,
                           .capacity_bytes = m->capacity_bytes};
}
