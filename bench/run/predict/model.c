#include "run/predict/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/segregated_fit.h"
#include "base/arena.h"
#include "base/driver_pool.h"
#include "base/driver_sub_buffer.h"
#include "base/driver_vm.h"
#include "base/slab.h"

/* Runs of a replay: a cold and a warm one, and then the one that counts, like a sampled run. */
enum { RUNS = 3 };

enum { PIECE_BYTES = 512 }; /* sizes of pieces and chunks are multiples of it */

/* Memory that a driver gets in chunks and hands out in pieces. All zeros: no chunks. */
struct model_chunks {
    uint64_t reserved_bytes; /* sum over the chunks */
    unsigned count, capacity;
    struct fit_range **chunks; /* in the order in which the driver got them */
    struct slab nodes;         /* the nodes of all chunks */
};

/* The commands that a queue holds; a call that finds it full waits for the oldest. Drivers do not
 * report the number; NVIDIA's hold 1024. It affects only the work that the host does meanwhile. */
enum { QUEUE_DEPTH = 1024 };

/* Costs of commands that have no size. */
struct command_costs {
    double launch_ns;  /* host: time of the call */
    double latency_ns; /* from the end of the call until an idle device begins */
    double mark_ns, mark_device_ns;
    double sync_ns; /* host: time of a sync that has nothing to wait for */
};

struct memory {
    uint64_t bytes;
    const char *method;     /* the atlas's method by which it was allocated */
    bool used;              /* a command has used it, or it is a spare piece of a pool */
    bool again;             /* a memory of this size was given back earlier in this run */
    unsigned next;          /* handle of the next memory that is not live */
    struct fit_node *piece; /* its part of a pool's chunk or of a page; NULL: none, or none yet */
};

/* The driver's pool. */
struct model_pool {
    bool is_open;
    uint64_t threshold_bytes, capacity_bytes; /* capacity 0: none */
    struct model_chunks chunks;
    uint64_t peak_bytes; /* peak of the chunks' reserved_bytes since it was reset */
};

struct block_state {
    struct block block;
    uint64_t requested;
    const char *tag;
};

struct replay {
    const struct model *model;
    const struct run_log *trace;
    struct command_costs costs;
    struct source source;
    struct allocator allocator;
    struct block_state *blocks; /* by number */
    size_t memory_count, memory_capacity;
    struct memory *memories; /* handle - 1 */
    unsigned freed_count, freed_capacity;
    uint64_t *freed_bytes; /* sizes of memories given back in this run and not given out again */
    unsigned spare;        /* handle of a memory that is not live; 0: none */

    struct model_pool pool;
    struct model_chunks pages; /* the driver cuts small memories from these */

    double host_ns, device_ns;    /* the two clocks */
    double ended_ns[QUEUE_DEPTH]; /* when the last commands ended; a ring */
    size_t command_count;
    double busy_ns, driver_ns, waiting_ns, first_use_ns, allocator_ns;
    bool lacks; /* the atlas lacks a cost; `error` says which */
    struct error *error;
};

static double more_than(double ns, double part)
{
    return ns > part ? ns - part : 0;
}

/* Rounds up to a multiple of `step`. */
static uint64_t in_steps(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) / step * step;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static uint64_t pieces(uint64_t bytes)
{
    return in_steps(bytes, PIECE_BYTES) / PIECE_BYTES;
}

/* A piece of the first chunk that has room; NULL: none has. */
static struct fit_node *chunks_take(struct model_chunks *c, uint64_t bytes)
{
    for (size_t i = 0; i < c->count; i++) {
        struct fit_node *node = fit_find(c->chunks[i], FIT_TIGHT, pieces(bytes));
        if (node)
            return fit_cut(node, pieces(bytes));
    }
    return NULL;
}

/* A piece of a new chunk of chunk_bytes, a multiple of PIECE_BYTES that has room for it. */
static struct fit_node *chunks_take_new(struct model_chunks *c, uint64_t bytes,
                                        uint64_t chunk_bytes)
{
    c->chunks = must_grow(c->chunks, c->count, &c->capacity, sizeof(struct fit_range *));
    struct fit_range *chunk = must_alloc(sizeof *chunk);
    c->nodes.item_bytes = sizeof(struct fit_node);
    fit_open(chunk, pieces(chunk_bytes), &c->nodes);
    c->chunks[c->count++] = chunk;
    c->reserved_bytes += pieces(chunk_bytes) * PIECE_BYTES;
    return fit_cut(fit_find(chunk, FIT_TIGHT, pieces(bytes)), pieces(bytes));
}

/* Releases chunks that are wholly free, the latest first, while more than keep_bytes are reserved.
 * Returns the bytes released. */
static uint64_t chunks_give_back(struct model_chunks *c, uint64_t keep_bytes)
{
    uint64_t before = c->reserved_bytes;
    for (size_t i = c->count; i-- > 0 && c->reserved_bytes > keep_bytes;) {
        if (!fit_is_empty(c->chunks[i]))
            continue;
        c->reserved_bytes -= c->chunks[i]->size * PIECE_BYTES;
        fit_close(c->chunks[i]);
        free(c->chunks[i]);
        c->chunks[i] = NULL;
    }
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->chunks[i])
            c->chunks[kept++] = c->chunks[i];
    c->count = kept;
    return before - c->reserved_bytes;
}

/* Releases all chunks, with the pieces that are still taken. */
static void chunks_close(struct model_chunks *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->chunks[i]);
    free(c->chunks);
    slab_free(&c->nodes);
    *c = (struct model_chunks){0};
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Records that the atlas lacks a cost; the first one that a run needs becomes the error. */
static int replay_lack(struct replay *r, const char *what, const char *method, const char *call)
{
    if (!r->lacks)
        error_set(r->error, ERR_UNSUPPORTED, "the atlas of %s does not know %s (%s, %s)",
                  r->model->atlas->device, what, method, call);
    r->lacks = true;
    return ERR_UNSUPPORTED;
}

/* The median time of a call on the device. A cost that the atlas lacks is 0 and is recorded. */
static double replay_device_cost(struct replay *r, const char *method, const char *call,
                                 uint64_t bytes)
{
    double ns;
    if (atlas_cost_ns(r->model->atlas, method, call, bytes, &ns) && !isnan(ns))
        return ns;
    replay_lack(r, "what a call costs", method, call);
    return 0;
}

/* The median time of a call on the host, less the time of reading the clock. */
static double replay_cost(struct replay *r, const char *method, const char *call, uint64_t bytes)
{
    double ns = replay_device_cost(r, method, call, bytes);
    return isnan(r->model->atlas->timer_ns) ? ns : more_than(ns, r->model->atlas->timer_ns);
}

/* Lets the host wait for the device. Returns for how long, in ns. */
static double replay_wait(struct replay *r)
{
    double waited = more_than(r->device_ns, r->host_ns);
    r->host_ns += waited;
    return waited;
}

/* Replays a call for memory that takes `ns`, after a wait if the atlas says that the call waits. */
static void replay_driver_call(struct replay *r, const char *method, const char *call,
                               uint64_t bytes, double ns)
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

/* The cost of an allocation. `again`: a memory of this size was given back in this run; the driver
 * then takes less time, and the atlas has both costs. */
static double alloc_cost(struct replay *r, uint64_t bytes, bool again)
{
    return replay_cost(r, "raw", again && knows(r, "raw", "realloc") ? "realloc" : "alloc", bytes);
}

/* The cost of a free that need not wait. The atlas measures a free just after the launch of a
 * kernel that uses the memory, as in a program; if the free waits for the kernel, the kernel's time
 * is taken off. */
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

/* ---- memory that the driver got back in this run --------------------------------------------- */

static void remember_free(struct replay *r, uint64_t bytes)
{
    r->freed_bytes =
        must_grow(r->freed_bytes, r->freed_count, &r->freed_capacity, sizeof *r->freed_bytes);
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

/* ---- pages ----------------------------------------------------------------------------------- */

/* Cuts a small memory from a page. Returns the size by which the call is priced: that of a page if
 * a new one is needed. */
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

/* Gives a memory's piece back. Returns the size by which the call is priced. */
static uint64_t put_piece_back(struct replay *r, struct memory *memory)
{
    if (!memory->piece)
        return memory->bytes;
    fit_put_back(memory->piece);
    uint64_t page_bytes = chunks_give_back(&r->pages, 0);
    return page_bytes ? page_bytes : memory->bytes;
}

/* The time that the first command to use a memory takes longer than the next one. Differences of up
 * to a twentieth are noise. */
static double replay_first_use_cost(struct replay *r, struct memory *memory)
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

/* ---- memories -------------------------------------------------------------------------------- */

/* Adds a memory that the source hands out; *handle receives its handle. */
static struct memory *replay_add_memory(struct replay *r, uint64_t *handle)
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

static void replay_drop_memory(struct replay *r, uint64_t handle)
{
    r->memories[handle - 1].next = r->spare;
    r->spare = (unsigned)handle;
}

/* ---- the driver's pool ----------------------------------------------------------------------- */

static const char *const releasing_method = "stream:threshold=0";
static const char *const keeping_method = "stream:threshold=max";

/* CUDA's pool gets memory from the driver in chunks, multiples of 32 MiB, and gives back chunks
 * that are wholly free. Three observations show it: the reserved bytes that it reports; the sizes
 * at which the costs of the atlas begin to rise; and programs that read back while the pool holds
 * more than their blocks need, whose next allocation costs no more than before. */
static const uint64_t chunk_bytes = UINT64_C(32) << 20;

/* Gives back spare chunks during a wait, and returns how much longer the wait takes. In the atlas
 * that is the difference between two waits after a free: with a pool that keeps nothing, and with
 * one that keeps everything. */
static double give_back(struct replay *r, uint64_t keep_bytes)
{
    uint64_t bytes = chunks_give_back(&r->pool.chunks, keep_bytes);
    return bytes == 0 ? 0
                      : more_than(replay_cost(r, releasing_method, "free_sync", bytes),
                                  replay_cost(r, keeping_method, "free_sync", bytes));
}

static double replay_pool_waited(struct replay *r)
{
    return r->pool.is_open ? give_back(r, r->pool.threshold_bytes) : 0;
}

/* The bytes of a new chunk for a block of `needed` bytes; 0: the pool's capacity has no room. */
static uint64_t new_chunk_bytes(const struct model_pool *p, uint64_t needed)
{
    uint64_t bytes = in_steps(needed, chunk_bytes);
    if (!p->capacity_bytes)
        return bytes;
    uint64_t room = p->capacity_bytes - p->chunks.reserved_bytes;
    room -= room % PIECE_BYTES;
    return bytes <= room ? bytes : in_steps(needed, PIECE_BYTES) <= room ? room : 0;
}

static int pool_open(void *context, const struct driver_pool_options *options, uint64_t most_bytes,
                     uint64_t *pool, struct error *error)
{
    struct replay *r = context;
    (void)error;
    r->pool = (struct model_pool){.is_open = true,
                                  .threshold_bytes = options->release_threshold_bytes,
                                  .capacity_bytes = most_bytes};
    *pool = 1;
    return 0;
}

/* All pieces are free at this point, or are never used again. */
static int pool_close(void *context, uint64_t pool, struct error *error)
{
    struct model_pool *p = &((struct replay *)context)->pool;
    (void)pool, (void)error;
    chunks_close(&p->chunks);
    p->is_open = false;
    return 0;
}

/* A spare piece is handed out without a wait: the order of the queue makes that safe, and there is
 * no first use to pay for. A new chunk is mapped; the atlas has that cost from a pool that keeps
 * nothing. */
static int pool_alloc(void *context, uint64_t pool, unsigned queue, uint64_t bytes,
                      uint64_t *handle, struct error *error)
{
    struct replay *r = context;
    struct model_pool *p = &r->pool;
    (void)pool, (void)queue;
    struct fit_node *piece = chunks_take(&p->chunks, bytes);
    bool is_spare = piece != NULL;
    if (!is_spare) {
        uint64_t new_bytes = new_chunk_bytes(p, bytes);
        if (new_bytes == 0)
            return error_set(error, ERR_OOM, "the model's pool has reached its capacity");
        piece = chunks_take_new(&p->chunks, bytes, new_bytes);
        if (p->peak_bytes < p->chunks.reserved_bytes)
            p->peak_bytes = p->chunks.reserved_bytes;
    }
    const char *method = is_spare ? keeping_method : releasing_method;
    *replay_add_memory(r, handle) =
        (struct memory){.bytes = bytes, .method = method, .used = is_spare, .piece = piece};
    replay_driver_call(r, method, "alloc", bytes,
                       replay_cost(r, method, is_spare ? "realloc" : "alloc", bytes));
    return 0;
}

static int pool_free(void *context, uint64_t pool, unsigned queue, uint64_t handle, uint64_t bytes,
                     struct error *error)
{
    struct replay *r = context;
    const char *method = r->memories[handle - 1].method;
    (void)pool, (void)queue, (void)error;
    const char *call = atlas_find(r->model->atlas, method, "free_used") ? "free_used" : "free";
    fit_put_back(r->memories[handle - 1].piece);
    replay_drop_memory(r, handle);
    replay_driver_call(r, method, "free", bytes, replay_cost(r, method, call, bytes));
    return 0;
}

static int pool_trim(void *context, uint64_t pool, uint64_t keep_bytes, struct error *error)
{
    struct replay *r = context;
    (void)pool, (void)error;
    double ns = give_back(r, keep_bytes);
    r->host_ns += ns;
    r->driver_ns += ns;
    return 0;
}

static int pool_reserved(void *context, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                         struct error *error)
{
    const struct replay *r = context;
    (void)pool, (void)error;
    *bytes = r->pool.chunks.reserved_bytes;
    *peak_bytes = r->pool.peak_bytes;
    return 0;
}

static int pool_reset_peak(void *context, uint64_t pool, struct error *error)
{
    struct replay *r = context;
    (void)pool, (void)error;
    r->pool.peak_bytes = r->pool.chunks.reserved_bytes;
    return 0;
}

static const struct driver_pool_ops replay_pool_ops = {
    .open = pool_open,
    .close = pool_close,
    .alloc = pool_alloc,
    .free = pool_free,
    .trim = pool_trim,
    .reserved = pool_reserved,
    .reset_peak = pool_reset_peak,
};

/* ---- virtual memory -------------------------------------------------------------------------- */

static const char *const vm_method = "vmm";

static int vm_call(struct replay *r, const char *name, uint64_t bytes)
{
    replay_driver_call(r, vm_method, name, bytes, replay_cost(r, vm_method, name, bytes));
    return 0;
}

static int vm_info(void *context, struct driver_vm_info *info, struct error *error)
{
    const struct model *m = ((struct replay *)context)->model;
    (void)error;
    *info = (struct driver_vm_info){.granularity_bytes = m->vm_granularity_bytes,
                                    .memory_bytes = m->memory_bytes};
    return 0;
}

/* A range is a memory into which no chunk is mapped yet. */
static int vm_reserve(void *context, uint64_t bytes, uint64_t *range, struct error *error)
{
    struct replay *r = context;
    (void)error;
    *replay_add_memory(r, range) = (struct memory){.method = vm_method, .used = true};
    return vm_call(r, "reserve", bytes);
}

static int vm_unreserve(void *context, uint64_t range, uint64_t bytes, struct error *error)
{
    struct replay *r = context;
    (void)error;
    replay_drop_memory(r, range);
    return vm_call(r, "unreserve", bytes);
}

/* All chunks have one handle: each call passes the chunk's bytes. */
static int vm_create(void *context, uint64_t bytes, uint64_t *chunk, struct error *error)
{
    (void)error;
    *chunk = 1;
    return vm_call(context, "create", bytes);
}

static int vm_release(void *context, uint64_t chunk, uint64_t bytes, struct error *error)
{
    (void)chunk, (void)error;
    return vm_call(context, "release", bytes);
}

/* The next command that uses the range pays for the first use of all chunks mapped since. */
static int vm_map(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *error)
{
    struct replay *r = context;
    struct memory *memory = &r->memories[range - 1];
    (void)offset, (void)chunk, (void)error;
    memory->bytes = memory->used ? bytes : memory->bytes + bytes;
    memory->used = false;
    return vm_call(r, "map", bytes);
}

static int vm_access(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                     struct error *error)
{
    (void)range, (void)offset, (void)error;
    return vm_call(context, "access", bytes);
}

static int vm_unmap(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                    struct error *error)
{
    struct replay *r = context;
    struct memory *memory = &r->memories[range - 1];
    (void)offset, (void)error;
    if (!memory->used) { /* no command has used the chunk; the newest go first */
        memory->bytes -= memory->bytes < bytes ? memory->bytes : bytes;
        memory->used = memory->bytes == 0;
    }
    return vm_call(r, "unmap", bytes);
}

static const struct driver_vm_ops replay_vm_ops = {
    .info = vm_info,
    .reserve = vm_reserve,
    .unreserve = vm_unreserve,
    .create = vm_create,
    .release = vm_release,
    .map = vm_map,
    .access = vm_access,
    .unmap = vm_unmap,
};

/* ---- the source ------------------------------------------------------------------------------ */

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

/* The atlas has the cost of an allocation together with making it resident. */
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

/* Kernels were timed over device memory. No atlas has their times over memory that lives elsewhere.
 */
static int kind_is_unknown(void *context, enum driver_memory kind, struct error *error)
{
    (void)context, (void)kind;
    return error_set(error, ERR_UNSUPPORTED,
                     "the model knows what commands take on device memory, not on other kinds");
}

static const struct driver_memory_ops no_kinds = {.offered = kind_is_unknown};

static int sub_buffer_is_unknown(void *context, enum driver_memory kind, struct error *error)
{
    (void)context, (void)kind;
    return error_set(error, ERR_UNSUPPORTED, "no atlas knows what sub-buffers cost");
}

static const struct driver_sub_buffer_ops no_sub_buffers = {.offered = sub_buffer_is_unknown};

static struct source replay_source(struct replay *r)
{
    const struct model *m = r->model;
    static const struct source_ops lazy = {source_gives, source_touches, source_takes,
                                           source_waits};
    static const struct source_ops resident = {source_gives, NULL, source_takes, source_waits};
    return (struct source){.ops = m->can_touch ? &lazy : &resident,
                           .kinds = &no_kinds,
                           .sub_buffers = &no_sub_buffers,
                           .pools = m->has_pool ? &replay_pool_ops : NULL,
                           .vm = m->vm_granularity_bytes ? &replay_vm_ops : NULL,
                           .context = r,
                           .name = "the model",
                           .alignment = m->alignment,
                           .can_split = m->can_split,
                           .capacity_bytes = m->capacity_bytes};
}

/* ---- costs of commands ----------------------------------------------------------------------- */

/* Reads the costs. latency_ns is the time from a launch to its end on an idle device, less the
 * calls and the device's own time. */
static void read_costs(struct replay *r)
{
    struct command_costs *c = &r->costs;
    c->launch_ns = replay_cost(r, "command", "launch", 0);
    c->sync_ns = replay_cost(r, "command", "sync", 0);
    c->mark_ns = replay_cost(r, "command", "mark", 0);
    if (r->model->synchronous)
        return;
    c->mark_device_ns = replay_device_cost(r, "command", "mark_device", 0);
    c->latency_ns =
        more_than(replay_cost(r, "command", "launch_sync", 0),
                  c->launch_ns + replay_device_cost(r, "command", "launch_device", 0) + c->sync_ns);
}

/* ---- the two clocks -------------------------------------------------------------------------- */

/* Gives the device a command that keeps it busy for `ns`; the call has been made. */
static void give_command(struct replay *r, double ns)
{
    double *oldest = &r->ended_ns[r->command_count++ % QUEUE_DEPTH];
    if (*oldest > r->host_ns)
        r->host_ns = *oldest;
    double given_ns = r->host_ns + r->costs.latency_ns;
    r->device_ns = (given_ns > r->device_ns ? given_ns : r->device_ns) + ns;
    r->busy_ns += ns;
    *oldest = r->device_ns;
    if (r->model->synchronous)
        replay_wait(r);
}

static void reset_clocks(struct replay *r)
{
    r->host_ns = r->device_ns = 0;
    memset(r->ended_ns, 0, sizeof r->ended_ns);
    r->busy_ns = r->driver_ns = r->waiting_ns = r->first_use_ns = r->allocator_ns = 0;
    r->freed_count = 0; /* earlier frees are too long ago to count */
    r->lacks = false;   /* costs before the timed run do not matter */
}

/* ---- events ---------------------------------------------------------------------------------- */

static uint64_t ns_in_source(const struct source_counts *c)
{
    return c->alloc_ns + c->touch_ns + c->free_ns;
}

/* Adds the strategy's own time, which is measured. The time in the source is taken off, because the
 * source here looks into an atlas. */
static void add_own_time(struct replay *r, uint64_t start_ns, uint64_t in_source_before_ns)
{
    uint64_t all_ns = clock_ns() - start_ns;
    uint64_t source_ns = ns_in_source(&r->source.counts) - in_source_before_ns;
    if (!r->model->own_time || all_ns <= source_ns)
        return;
    r->host_ns += (double)(all_ns - source_ns);
    r->allocator_ns += (double)(all_ns - source_ns);
}

static int replay_alloc(struct replay *r, const struct trace_event *event)
{
    const struct alloc_request request = {
        .size = event->bytes, .alignment = event->alignment, .tag = event->tag};
    uint64_t before_ns = ns_in_source(&r->source.counts), start_ns = clock_ns();
    struct block_state *b = &r->blocks[event->block];
    int code = allocator_alloc(&r->allocator, &request, &b->block);
    add_own_time(r, start_ns, before_ns);
    if (code)
        return error_set(r->error, code, "block '%s' in the model: %s", event->tag,
                         r->source.error.text);
    b->requested = event->bytes;
    b->tag = event->tag;
    return 0;
}

static int replay_free(struct replay *r, const struct trace_event *event)
{
    struct block_state *b = &r->blocks[event->block];
    uint64_t before_ns = ns_in_source(&r->source.counts), start_ns = clock_ns();
    int code = allocator_free(&r->allocator, &b->block, b->tag, b->requested);
    add_own_time(r, start_ns, before_ns);
    b->block = (struct block){0};
    return code ? error_set(r->error, code, "giving back block '%s' in the model: %s", b->tag,
                            r->source.error.text)
                : 0;
}

/* The time that first uses of memories add to an event. */
static double first_uses(struct replay *r, const struct trace_event *event)
{
    double ns = 0;
    for (unsigned i = 0; i < event->use_count; i++) {
        uint64_t handle = r->blocks[r->trace->uses[event->first_use + i]].block.memory;
        struct memory *memory = handle ? &r->memories[handle - 1] : NULL;
        if (!memory || memory->used)
            continue;
        memory->used = true;
        ns += replay_first_use_cost(r, memory);
    }
    r->first_use_ns += ns;
    return ns;
}

/* A blocking transfer is a call and a command for whose end the host waits. The atlas has its time
 * on an idle device; on a busy one the latency passes while the host waits. */
static void replay_transfer(struct replay *r, const struct trace_event *event, const char *call)
{
    double ns = replay_cost(r, "command", call, event->bytes) + first_uses(r, event);
    double way_ns = r->model->synchronous ? 0 : r->costs.launch_ns + r->costs.latency_ns;
    if (way_ns > ns)
        way_ns = ns;
    r->host_ns += way_ns;
    replay_wait(r);
    r->host_ns += ns - way_ns + replay_pool_waited(r);
}

static void replay_command(struct replay *r, const struct trace_event *event)
{
    double first_ns = first_uses(r, event), device_ns = (double)event->device_ns;
    r->host_ns += r->model->synchronous ? r->costs.launch_ns : (double)event->call_ns;
    if (r->model->lazy_on_device)
        device_ns += first_ns;
    else
        r->host_ns += first_ns;
    give_command(r, device_ns);
}

static int replay_event(struct replay *r, const struct trace_event *event)
{
    r->host_ns += (double)event->before_ns;
    switch (event->kind) {
    case TRACE_ALLOC:
        return replay_alloc(r, event);
    case TRACE_FREE:
        return replay_free(r, event);
    case TRACE_LAUNCH:
    case TRACE_COPY:
        replay_command(r, event);
        return 0;
    case TRACE_WRITE:
        replay_transfer(r, event, "write");
        return 0;
    case TRACE_READ:
        replay_transfer(r, event, "read");
        return 0;
    }
    return 0;
}

static int replay_part(struct replay *r, size_t from, size_t to)
{
    int code = 0;
    for (size_t i = from; i < to && !code; i++)
        code = replay_event(r, &r->trace->events[i]);
    return code;
}

/* Replays the inputs, the run between two marks, and the frees after it. */
static int replay_run(struct replay *r, struct case_model *prediction, bool *lacked)
{
    const struct run_log *t = r->trace;
    int code = replay_part(r, 0, t->run_begin);
    replay_pool_waited(r); /* the run begins on an idle device */
    reset_clocks(r);
    read_costs(r);
    if (!code)
        code = replay_part(r, t->run_begin, t->run_end);
    if (!code) {
        r->host_ns += r->costs.mark_ns;
        r->device_ns += r->costs.mark_device_ns;
        replay_wait(r);
        r->host_ns += r->costs.sync_ns + replay_pool_waited(r);
    }
    *lacked = r->lacks;
    *prediction = (struct case_model){
        .asked = true,
        .predicted_ns = (uint64_t)(r->host_ns + 0.5),
        .device_ns = (uint64_t)(r->busy_ns + 0.5),
        .driver_ns = (uint64_t)(r->driver_ns + 0.5),
        .waiting_ns = (uint64_t)(r->waiting_ns + 0.5),
        .first_use_ns = (uint64_t)(r->first_use_ns + 0.5),
        .allocator_ns = (uint64_t)(r->allocator_ns + 0.5),
    };
    return code ? code : replay_part(r, t->run_end, t->event_count);
}

/* ---- the model ------------------------------------------------------------------------------- */

struct model model_of(const struct atlas *atlas, struct device *device, uint64_t capacity_bytes)
{
    const struct device_info *info = device_info(device);
    struct driver_vm_info vm = {0};
    if (device->ops->vm && device->ops->vm->info(device, &vm, NULL))
        vm.granularity_bytes = 0;
    bool is_gpu = info->kind == DEVICE_GPU;
    uint64_t at_alloc = is_gpu ? atlas_step_bytes(atlas, "raw", "alloc") : 0;
    uint64_t at_use = is_gpu ? atlas_step_bytes(atlas, "raw", "first_use") : 0;
    return (struct model){
        .page_bytes = at_alloc ? at_alloc : at_use,
        .pages_at_use = !at_alloc,
        .atlas = atlas,
        .synchronous = strcmp(info->api, "host") == 0,
        .lazy_on_device = info->kind == DEVICE_CPU,
        .can_touch = device->ops->touch,
        .has_pool = device->ops->pools != NULL,
        .vm_granularity_bytes = vm.granularity_bytes,
        .memory_bytes = info->memory_bytes,
        .can_split = info->can_split,
        .alignment = info->alignment_bytes,
        .capacity_bytes = capacity_bytes,
        .own_time = true,
    };
}

int model_predict(const struct model *model, const struct run_log *trace,
                  const struct allocator_ops *strategy, const struct option_values *options,
                  struct case_model *prediction, struct error *error)
{
    struct replay *r = must_alloc(sizeof *r);
    *r = (struct replay){.model = model, .trace = trace, .error = error};
    r->blocks = must_alloc(trace->block_capacity * sizeof *r->blocks);
    r->source = replay_source(r);
    int code = allocator_open(&r->allocator, strategy, options, &r->source, error);
    bool lacked = false; /* in the last run, the only one that counts */
    for (unsigned run = 0; run < RUNS && !code; run++)
        code = replay_run(r, prediction, &lacked);
    if (!code && lacked)
        code = ERR_UNSUPPORTED;
    allocator_close(&r->allocator);
    chunks_close(&r->pages);
    free(r->memories);
    free(r->freed_bytes);
    free(r->blocks);
    free(r);
    return code;
}
