#include "run/predict/dry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/segregated_fit.h"
#include "base/arena.h"
#include "base/driver_pool.h"
#include "base/driver_sub_buffer.h"
#include "base/driver_vm.h"
#include "base/slab.h"
#include "run/predict/addresses.h"
#include "run/predict/stream_pool.h"

enum { PIECE_BYTES = 512 }; /* sizes of pieces and chunks are multiples of it */

/* Memory that a driver gets in chunks and hands out in pieces. All zeros: no chunks. */
struct dry_chunks {
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

/* Calls that are dearer after a write from the host's memory, because it has swept the processor's
 * caches; each is so until it has come AFTER_WRITE_CALLS times. */
enum cold_call { COLD_ALLOC, COLD_USE, COLD_FREE, COLD_CALLS };
enum { AFTER_WRITE_CALLS = 3 };

/* The bytes that the host has copied since the calls were warm, and the number of calls since. */
struct cold {
    uint64_t bytes;
    unsigned made[COLD_CALLS];
};

struct memory {
    uint64_t bytes;
    uint64_t address;           /* 0: none yet, it is given when it is asked for */
    bool placed;                /* the address is one of `addresses` */
    const char *method;         /* the atlas's method by which it was allocated */
    bool used;                  /* a command has used it, or it is a spare piece of a pool */
    bool again;                 /* a memory of this size was given back earlier in this run */
    unsigned next;              /* handle of the next memory that is not live */
    struct fit_node *piece;     /* its part of a page; NULL: none, or none yet */
    struct stream_piece *place; /* in a pool */
};

/* The driver's pool. */
struct dry_pool {
    bool is_open;
    bool asked; /* since the host last waited */
    bool follows_events;
    uint64_t threshold_bytes, capacity_bytes; /* capacity 0: none */
    uint64_t peak_bytes;                      /* since it was reset */
    struct stream_pool held;
};
struct dry {
    struct dry_device device;
    struct command_costs costs;
    struct source source;
    unsigned memory_count, memory_capacity;
    struct memory *memories; /* handle - 1 */
    unsigned freed_count, freed_capacity;
    uint64_t *freed_bytes; /* sizes of memories given back in this run and not given out again */
    unsigned spare;        /* handle of a memory that is not live; 0: none */

    unsigned pool_count, pool_capacity;
    struct dry_pool **pools; /* by handle, from 1 on */
    struct dry_chunks pages; /* the driver cuts small memories from these */

    double host_ns, device_ns;    /* the two clocks */
    double ended_ns[QUEUE_DEPTH]; /* when the last commands ended; a ring */
    size_t command_count;
    double pending_ns;      /* first uses that the next command pays for */
    double pending_busy_ns; /* the same if the device works meanwhile */
    struct cold cold;
    double busy_ns, driver_ns, waiting_ns, first_use_ns;
    void (*released)(void *context, uint64_t memory, uint64_t offset, uint64_t bytes);
    void *released_context;
    struct addresses addresses;
    struct address_range expected; /* the recorded driver's next memory; bytes 0: none */
    bool deviates;                 /* from the record: nothing is expected any more */
    uint64_t logged_ns;            /* of the next call for memory; 0: by the atlas */
    bool lacks;                    /* the atlas lacks a cost; `error` says which */
    struct error error;
};

static double more_than(double ns, double part)
{
    return ns > part ? ns - part : 0;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static uint64_t pieces(uint64_t bytes)
{
    return (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
}

/* A piece of the first chunk that has room; NULL: none has. */
static struct fit_node *chunks_take(struct dry_chunks *c, uint64_t bytes)
{
    for (size_t i = 0; i < c->count; i++) {
        struct fit_node *node = fit_take(c->chunks[i], FIT_TIGHT, pieces(bytes));
        if (node)
            return node;
    }
    return NULL;
}

/* A piece of a new chunk of chunk_bytes, a multiple of PIECE_BYTES that has room for it. */
static struct fit_node *chunks_take_new(struct dry_chunks *c, uint64_t bytes, uint64_t chunk_bytes)
{
    c->chunks = must_grow(c->chunks, c->count, &c->capacity, sizeof(struct fit_range *));
    struct fit_range *chunk = must_alloc(sizeof *chunk);
    c->nodes.item_bytes = sizeof(struct fit_node);
    fit_open(chunk, pieces(chunk_bytes), &c->nodes);
    c->chunks[c->count++] = chunk;
    return fit_take(chunk, FIT_TIGHT, pieces(bytes));
}

/* Releases chunks that are wholly free. Returns the bytes released. */
static uint64_t chunks_give_back(struct dry_chunks *c)
{
    uint64_t released = 0;
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct fit_range *chunk = c->chunks[i];
        if (!fit_is_empty(chunk)) {
            c->chunks[kept++] = chunk;
            continue;
        }
        released += chunk->size * PIECE_BYTES;
        fit_close(chunk);
        free(chunk);
    }
    c->count = kept;
    return released;
}

/* Releases all chunks, with the pieces that are still taken. */
static void chunks_close(struct dry_chunks *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->chunks[i]);
    free(c->chunks);
    slab_free(&c->nodes);
    *c = (struct dry_chunks){0};
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Records that the atlas lacks a cost; the first one that a run needs becomes the error. */
static void dry_lack(struct dry *d, const char *what, const char *method, const char *call)
{
    if (!d->lacks)
        error_set(&d->error, ERR_UNSUPPORTED, "the atlas of %s does not know %s (%s, %s)",
                  d->device.atlas->device, what, method, call);
    d->lacks = true;
}

typedef bool cost_of(const struct atlas *atlas, const char *method, const char *call,
                     uint64_t bytes, double *ns);

/* Prices that are multiplied by a pace are those of pace 1. */
static cost_of *prices(const struct dry *d)
{
    return d->device.pace.is_known ? atlas_paced_cost_ns : atlas_cost_ns;
}

static double known_cost(struct dry *d, cost_of *cost, const char *method, const char *call,
                         uint64_t bytes)
{
    double ns;
    if (!d->device.atlas)
        return 0;
    if (cost(d->device.atlas, method, call, bytes, &ns) && !isnan(ns))
        return ns;
    dry_lack(d, "what a call costs", method, call);
    return 0;
}

/* The median time of a call on the device. A cost that the atlas lacks is 0 and is recorded. */
static double dry_device_cost(struct dry *d, const char *method, const char *call, uint64_t bytes)
{
    return known_cost(d, atlas_cost_ns, method, call, bytes);
}

/* The pace of a method's calls. The size of a copy or a write does not change it. */
static double pace_of(const struct dry *d, const char *method, uint64_t bytes)
{
    return pace_at(&d->device.pace, strcmp(method, "command") == 0 ? 0 : bytes);
}

/* The median time of a call on the host, less the time of reading the clock, at the host's pace. */
static double dry_cost(struct dry *d, const char *method, const char *call, uint64_t bytes)
{
    double ns = known_cost(d, prices(d), method, call, bytes);
    if (!d->device.atlas)
        return ns;
    if (!isnan(d->device.atlas->timer_ns))
        ns = more_than(ns, d->device.atlas->timer_ns);
    return ns * pace_of(d, method, bytes);
}

/* Lets the host wait for the device. Returns for how long, in ns. */
static double wait_for_device(struct dry *d)
{
    double waited = more_than(d->device_ns, d->host_ns);
    d->host_ns += waited;
    return waited;
}

/* Replays a call for memory that takes `ns`, after a wait if the atlas says that the call waits. */
static void dry_driver_call(struct dry *d, const char *method, const char *call, uint64_t bytes,
                            double ns)
{
    double waited = 0;
    if (!d->device.atlas)
        return;
    if (!d->device.synchronous && d->device_ns > d->host_ns) {
        enum atlas_wait waits = atlas_waits(d->device.atlas, method, call, bytes);
        if (waits == ATLAS_WAITS_unknown)
            dry_lack(d, "what a call waits for", method, call);
        else if (waits != ATLAS_WAITS_nothing)
            waited = wait_for_device(d);
    }
    d->host_ns += ns;
    d->waiting_ns += waited;
    d->driver_ns += waited + ns;
}

/* The price of a call by the log, which has it once, or `ns`. */
static double logged_or(struct dry *d, double ns)
{
    const uint64_t logged_ns = d->logged_ns;
    d->logged_ns = 0;
    return logged_ns ? (double)logged_ns : ns;
}

/* The same of a call that is not for memory: no more than `ns`, because the recorder's own time is
 * in the log's. */
static double logged_within(struct dry *d, double ns)
{
    const double logged_ns = logged_or(d, ns);
    return logged_ns < ns ? logged_ns : ns;
}

static bool knows(const struct dry *d, const char *method, const char *call)
{
    return d->device.atlas && atlas_find(d->device.atlas, method, call) != NULL;
}

/* ---- costs away from rest -------------------------------------------------------------------- */

/* The time of a call that takes rest_ns, or busy_ns while the device works. It does the same work,
 * and is slower until the device is done. */
static double slowed(const struct dry *d, double rest_ns, double busy_ns)
{
    const double work_ns = more_than(d->device_ns, d->host_ns);
    return work_ns >= busy_ns ? busy_ns : work_ns + (1 - work_ns / busy_ns) * rest_ns;
}

/* The median time of a call at pace 1, less the time of reading the clock, if the atlas has
 * it: a lack of such a cost is none of the run's. */
static bool has_cost(const struct dry *d, const char *method, const char *call, uint64_t bytes,
                     double *ns)
{
    const struct atlas *atlas = d->device.atlas;
    if (!atlas || !prices(d)(atlas, method, call, bytes, ns) || isnan(*ns))
        return false;
    *ns = isnan(atlas->timer_ns) ? *ns : more_than(*ns, atlas->timer_ns);
    return true;
}

/* The time of a call of `rest_ns` under a method, which takes longer while the device works by as
 * much as the atlas says of `call` at this size. Without that price it takes as long as at rest. */
static double beside_work(const struct dry *d, const char *method, const char *call, uint64_t bytes,
                          double rest_ns)
{
    char name[32];
    double idle_ns, busy_ns;
    snprintf(name, sizeof name, "%s_busy", call);
    if (!has_cost(d, method, call, bytes, &idle_ns) ||
        !has_cost(d, method, name, bytes, &busy_ns) || !(busy_ns > idle_ns) || !(idle_ns > 0))
        return rest_ns;
    return slowed(d, rest_ns, busy_ns / idle_ns * rest_ns);
}

/* The price that the host's copies add to a call of the atlas: at least 0. *rest_ns receives its
 * time after the smallest one. */
static double after_write(const struct dry *d, const char *call, unsigned number, double *rest_ns)
{
    const struct atlas_curve *c = atlas_find(d->device.atlas, "after_write", "launch");
    const uint64_t least = c->points[0].bytes, most = c->points[c->point_count - 1].bytes;
    const uint64_t bytes = d->cold.bytes < most ? d->cold.bytes : most;
    const double pace = pace_at(&d->device.pace, 0);
    double cold_ns;
    char name[32];
    snprintf(name, sizeof name, number ? "%s_%u" : "%s", call, number);
    if (!has_cost(d, "after_write", name, least, rest_ns) ||
        !has_cost(d, "after_write", name, bytes, &cold_ns))
        return 0;
    *rest_ns *= pace;
    return more_than(pace * cold_ns, *rest_ns);
}

/* The price that the host's copies add to a call of `ns`. A call that costs less than
 * the one in the atlas becomes dearer by the same factor, one that costs more by the same time. */
static double cold_cost(struct dry *d, enum cold_call call, double ns)
{
    static const char *const names[] = {"alloc", "use", "free"};
    if (d->cold.bytes == 0 || d->cold.made[call] == AFTER_WRITE_CALLS || !(ns > 0) ||
        !knows(d, "after_write", "launch"))
        return 0;
    const unsigned number = ++d->cold.made[call];
    double rest_ns = 0, launch_ns, more_ns = after_write(d, names[call], number, &rest_ns);
    if (call == COLD_USE && number == 1) /* the program's own launch has its share already */
        more_ns = more_than(more_ns, after_write(d, "launch", 0, &launch_ns));
    return rest_ns > ns ? more_ns * ns / rest_ns : more_ns;
}

/* The host has copied to or from its memory. Copies without a call between them count together. */
static void host_copied(struct dry *d, uint64_t bytes)
{
    enum { FEW_BYTES = 65536 }; /* so few leave the caches as they are */
    struct cold *c = &d->cold;
    bool called = false;
    for (int i = 0; i < COLD_CALLS; i++)
        called |= c->made[i] > 0;
    if (bytes >= FEW_BYTES)
        *c = (struct cold){.bytes = bytes + (called ? 0 : c->bytes)};
}

/* ---- what a memory costs --------------------------------------------------------------------- */

/* The cost of an allocation. `again`: a memory of this size was given back in this run; the driver
 * then takes less time, and the atlas has both costs. */
static double alloc_cost(struct dry *d, uint64_t bytes, bool again)
{
    return dry_cost(d, "raw", again && knows(d, "raw", "realloc") ? "realloc" : "alloc", bytes);
}

/* The cost of a free that need not wait. The atlas measures a free just after the launch of a
 * kernel that uses the memory, as in a program; if the free waits for the kernel, the kernel's time
 * is taken off. */
static double free_cost(struct dry *d, uint64_t bytes)
{
    if (!knows(d, "raw", "free_used") || !knows(d, "raw", "second_use"))
        return dry_cost(d, "raw", "free", bytes);
    double ns = dry_cost(d, "raw", "free_used", bytes);
    enum atlas_wait waits = atlas_waits(d->device.atlas, "raw", "free", bytes);
    if (d->device.synchronous || waits == ATLAS_WAITS_nothing || waits == ATLAS_WAITS_unknown)
        return ns;
    double use_ns = dry_cost(d, "raw", "second_use", bytes);
    return more_than(ns, more_than(use_ns, d->costs.launch_ns + d->costs.sync_ns));
}

/* The cost of a free that waits: that of free_cost after no wait, and after the atlas's long one as
 * much as the free there took longer than a wait alone. Between them it grows with the wait. */
static double free_after_wait(const struct dry *d, uint64_t bytes, double ns)
{
    const double waited_ns = more_than(d->device_ns, d->host_ns);
    double long_ns, free_ns;
    if (waited_ns == 0 || !has_cost(d, "raw", "sync_busy", bytes, &long_ns) ||
        !has_cost(d, "raw", "free_busy", bytes, &free_ns) ||
        atlas_waits(d->device.atlas, "raw", "free", bytes) == ATLAS_WAITS_nothing)
        return ns;
    const double more_ns = pace_of(d, "raw", bytes) * (free_ns - long_ns); /* both have the wait */
    const double busy_ns = fmax(0, more_ns + d->costs.sync_ns);
    return waited_ns >= long_ns ? busy_ns : ns + (busy_ns - ns) * waited_ns / long_ns;
}

/* ---- memory that the driver got back in this run --------------------------------------------- */

static bool take_freed(struct dry *d, uint64_t bytes)
{
    for (size_t i = d->freed_count; i-- > 0;)
        if (d->freed_bytes[i] == bytes) {
            d->freed_bytes[i] = d->freed_bytes[--d->freed_count];
            return true;
        }
    return false;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Cuts a small memory from a page. Returns the size by which the call is priced: that of a page if
 * a new one is needed. */
static uint64_t take_piece(struct dry *d, struct memory *memory)
{
    const uint64_t page_bytes = d->device.page_bytes;
    if (memory->bytes >= page_bytes)
        return memory->bytes;
    memory->piece = chunks_take(&d->pages, memory->bytes);
    if (memory->piece)
        return memory->bytes;
    memory->piece = chunks_take_new(&d->pages, memory->bytes, page_bytes);
    memory->again = take_freed(d, page_bytes);
    return page_bytes;
}

/* Gives a memory's piece back. Returns the size by which the call is priced. */
static uint64_t put_piece_back(struct dry *d, struct memory *memory)
{
    if (!memory->piece)
        return memory->bytes;
    fit_put_back(memory->piece);
    uint64_t page_bytes = chunks_give_back(&d->pages);
    return page_bytes ? page_bytes : memory->bytes;
}

/* The time of a first use of `ns` while the device works, by the atlas's first and second launches
 * beside a copy; at least `ns`. */
static double busy_use(const struct dry *d, const char *method, uint64_t bytes, double ns)
{
    double first_ns, second_ns, first_busy_ns, second_busy_ns;
    if (!has_cost(d, method, "first_use", bytes, &first_ns) ||
        !has_cost(d, method, "second_use", bytes, &second_ns) ||
        !has_cost(d, method, "first_use_busy", bytes, &first_busy_ns) ||
        !has_cost(d, method, "second_use_busy", bytes, &second_busy_ns) || first_ns <= second_ns)
        return ns;
    return fmax(ns, ns * (first_busy_ns - second_busy_ns) / (first_ns - second_ns));
}

/* The time that the first command to use a memory takes longer than the next one. Differences of up
 * to a twentieth are noise. */
static double dry_first_use_cost(struct dry *d, struct memory *memory, double *busy_ns)
{
    const char *method = memory->method;
    uint64_t bytes = memory->bytes;
    *busy_ns = 0;
    if (d->device.pages_at_use && strcmp(method, "raw") == 0)
        bytes = take_piece(d, memory);
    const char *call = memory->again && knows(d, method, "reuse") ? "reuse" : "first_use";
    if (!knows(d, method, call) || !knows(d, method, "second_use"))
        return 0;
    double first = dry_cost(d, method, call, bytes);
    double second = dry_cost(d, method, "second_use", bytes);
    if (first <= 1.05 * second)
        return 0;
    double ns = first - second, more_ns = cold_cost(d, COLD_USE, ns);
    *busy_ns = busy_use(d, method, bytes, ns) + more_ns;
    return ns + more_ns;
}

/* ---- memories -------------------------------------------------------------------------------- */

/* Adds a memory that the source hands out; *handle receives its handle. */
static struct memory *dry_add_memory(struct dry *d, uint64_t *handle)
{
    if (!d->spare) {
        d->memories =
            must_grow(d->memories, d->memory_count, &d->memory_capacity, sizeof *d->memories);
        d->memories[d->memory_count++].next = 0;
        d->spare = d->memory_count;
    }
    *handle = d->spare;
    struct memory *memory = &d->memories[d->spare - 1];
    d->spare = memory->next;
    return memory;
}

static void tell_released(struct dry *d, uint64_t handle, uint64_t offset, uint64_t bytes)
{
    if (d->released)
        d->released(d->released_context, handle, offset, bytes);
}

static void dry_drop_memory(struct dry *d, uint64_t handle)
{
    const struct memory *memory = &d->memories[handle - 1];
    tell_released(d, handle, 0, UINT64_MAX);
    if (memory->placed)
        addresses_give(&d->addresses, memory->address, memory->bytes);
    d->memories[handle - 1].next = d->spare;
    d->spare = (unsigned)handle;
}

/* ---- the driver's pool ----------------------------------------------------------------------- */

static const char *const releasing_method = "stream:threshold=0";
static const char *const keeping_method = "stream:threshold=max";

/* Gives back spare memory during a wait, down to keep_bytes, and returns how much longer the wait
 * takes. In the atlas that is the difference between two waits after a free: with a pool that keeps
 * nothing, and with one that keeps everything. */
static double give_back(struct dry *d, struct dry_pool *p, unsigned queue, uint64_t keep_bytes)
{
    stream_pool_wait(&p->held, queue);
    const uint64_t bytes = stream_pool_release(&p->held, keep_bytes);
    return bytes ? more_than(dry_cost(d, releasing_method, "free_sync", bytes),
                             dry_cost(d, keeping_method, "free_sync", bytes))
                 : 0;
}

static double dry_pool_waited(struct dry *d, unsigned queue)
{
    double ns = 0;
    for (unsigned i = 0; i < d->pool_count; i++) {
        d->pools[i]->asked = false;
        if (d->pools[i]->is_open)
            ns += give_back(d, d->pools[i], queue, d->pools[i]->threshold_bytes);
    }
    return ns;
}

static struct dry_pool *pool_of(const struct dry *d, uint64_t pool)
{
    return d->pools[pool - 1];
}

/* The last step may be cut off by the capacity. */
static uint64_t reserved_by(const struct dry_pool *p)
{
    const uint64_t most = p->capacity_bytes, bytes = p->held.reserved_bytes;
    return most && bytes > most ? most : bytes;
}

static int pool_open(void *context, const struct driver_pool_options *options, uint64_t most_bytes,
                     uint64_t *pool, struct error *error)
{
    struct dry *d = context;
    struct dry_pool *p = must_alloc(sizeof *p);
    *p = (struct dry_pool){.is_open = true,
                           .follows_events = options->follow_event_dependencies,
                           .threshold_bytes = options->release_threshold_bytes,
                           .capacity_bytes = most_bytes};
    d->pools = must_grow(d->pools, d->pool_count, &d->pool_capacity, sizeof(struct dry_pool *));
    d->pools[d->pool_count++] = p;
    *pool = d->pool_count;
    return 0;
}

/* All pieces are free at this point, or are never used again. */
static int pool_close(void *context, uint64_t pool, struct error *error)
{
    struct dry_pool *p = pool_of(context, pool);
    stream_pool_free(&p->held);
    p->is_open = false;
    return 0;
}

/* A spare piece is handed out without a wait: the order of the queue makes that safe, and there is
 * no first use to pay for. Memory that moves to other addresses has no price in the atlas. The
 * first call after a wait of the host costs more than the next ones, which the atlas times apart.
 * New steps are mapped; the atlas has that cost from a pool that keeps nothing. */
static int pool_alloc(void *context, uint64_t pool, unsigned queue, uint64_t bytes,
                      uint64_t *handle, struct error *error)
{
    struct dry *d = context;
    struct dry_pool *p = pool_of(d, pool);
    struct stream_piece *place;
    p->held.now_ns = d->device.log_ns ? d->device.log_ns[0] : d->host_ns;
    const uint64_t new_bytes = stream_pool_take(&p->held, queue, bytes, p->capacity_bytes, &place);
    if (new_bytes == UINT64_MAX)
        return error_set(error, ERR_OOM, "the model's pool has reached its capacity");
    const bool is_spare = new_bytes == 0;
    if (p->peak_bytes < reserved_by(p))
        p->peak_bytes = reserved_by(p);
    const char *method = is_spare ? keeping_method : releasing_method;
    *dry_add_memory(d, handle) =
        (struct memory){.bytes = bytes, .method = method, .used = is_spare, .place = place};
    const char *spare_call = p->asked && knows(d, method, "alloc_next") ? "alloc_next" : "realloc";
    double ns = dry_cost(d, method, is_spare ? spare_call : "alloc", is_spare ? bytes : new_bytes);
    p->asked = true;
    if (!is_spare)
        ns = beside_work(d, method, "alloc", new_bytes, ns) + cold_cost(d, COLD_ALLOC, ns);
    dry_driver_call(d, method, "alloc", bytes, ns);
    return 0;
}

static int pool_free(void *context, uint64_t pool, unsigned queue, uint64_t handle, uint64_t bytes,
                     struct error *error)
{
    struct dry *d = context;
    const char *method = d->memories[handle - 1].method;
    const char *call = knows(d, method, "free_used") ? "free_used" : "free";
    pool_of(d, pool)->asked = true;
    stream_pool_give(&pool_of(d, pool)->held, queue, d->memories[handle - 1].place,
                     d->device.log_ns ? d->device.log_ns[1] : d->device_ns);
    dry_drop_memory(d, handle);
    dry_driver_call(d, method, "free", bytes, dry_cost(d, method, call, bytes));
    return 0;
}

static int pool_trim(void *context, uint64_t pool, uint64_t keep_bytes, struct error *error)
{
    struct dry *d = context;
    double ns = give_back(d, pool_of(d, pool), ALLOCATOR_QUEUES_MAX, keep_bytes);
    d->host_ns += ns;
    d->driver_ns += ns;
    return 0;
}

static int pool_reserved(void *context, uint64_t pool, uint64_t *bytes, uint64_t *peak_bytes,
                         struct error *error)
{
    const struct dry_pool *p = pool_of(context, pool);
    *bytes = reserved_by(p);
    *peak_bytes = p->peak_bytes;
    return 0;
}

static int pool_reset_peak(void *context, uint64_t pool, struct error *error)
{
    struct dry_pool *p = pool_of(context, pool);
    p->peak_bytes = reserved_by(p);
    return 0;
}

static const struct driver_pool_ops dry_pool_ops = {DRIVER_POOL_OPS};

/* ---- virtual memory -------------------------------------------------------------------------- */

static const char *const vm_method = "vmm";

static int vm_call(struct dry *d, const char *name, uint64_t bytes)
{
    dry_driver_call(d, vm_method, name, bytes, dry_cost(d, vm_method, name, bytes));
    return 0;
}

static int vm_info(void *context, struct driver_vm_info *info, struct error *error)
{
    const struct dry_device *m = &((struct dry *)context)->device;
    *info = (struct driver_vm_info){.granularity_bytes = m->vm_granularity_bytes,
                                    .memory_bytes = m->memory_bytes};
    return 0;
}

/* A range is a memory into which no chunk is mapped yet. */
static int vm_reserve(void *context, uint64_t bytes, uint64_t *range, struct error *error)
{
    struct dry *d = context;
    *dry_add_memory(d, range) = (struct memory){.method = vm_method, .used = true};
    return vm_call(d, "reserve", bytes);
}

static int vm_unreserve(void *context, uint64_t range, uint64_t bytes, struct error *error)
{
    struct dry *d = context;
    dry_drop_memory(d, range);
    return vm_call(d, "unreserve", bytes);
}

/* All chunks have one handle: each call passes the chunk's bytes. */
static int vm_create(void *context, uint64_t bytes, uint64_t *chunk, struct error *error)
{
    *chunk = 1;
    return vm_call(context, "create", bytes);
}

static int vm_release(void *context, uint64_t chunk, uint64_t bytes, struct error *error)
{
    return vm_call(context, "release", bytes);
}

/* The next command that uses the range pays for the first use of all chunks mapped since. */
static int vm_map(void *context, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *error)
{
    struct dry *d = context;
    struct memory *memory = &d->memories[range - 1];
    memory->bytes = memory->used ? bytes : memory->bytes + bytes;
    memory->used = false;
    return vm_call(d, "map", bytes);
}

static int vm_access(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                     struct error *error)
{
    return vm_call(context, "access", bytes);
}

static int vm_unmap(void *context, uint64_t range, uint64_t offset, uint64_t bytes,
                    struct error *error)
{
    struct dry *d = context;
    struct memory *memory = &d->memories[range - 1];
    tell_released(d, range, offset, bytes);
    if (!memory->used) { /* no command has used the chunk; the newest go first */
        memory->bytes -= memory->bytes < bytes ? memory->bytes : bytes;
        memory->used = memory->bytes == 0;
    }
    return vm_call(d, "unmap", bytes);
}

static const struct driver_vm_ops dry_vm_ops = {DRIVER_VM_OPS};

/* ---- the source ------------------------------------------------------------------------------ */

static int source_gives(void *context, uint64_t bytes, uint64_t *handle, struct error *error)
{
    struct dry *d = context;
    struct memory *memory = dry_add_memory(d, handle);
    *memory = (struct memory){.bytes = bytes, .method = "raw", .again = take_freed(d, bytes)};
    d->deviates |= d->expected.bytes != bytes;
    if (!d->deviates)
        memory->address = d->expected.start;
    d->expected.bytes = 0;
    uint64_t priced_bytes = d->device.pages_at_use ? bytes : take_piece(d, memory);
    const double ns = alloc_cost(d, priced_bytes, memory->again);
    const double busy_ns = beside_work(d, "raw", "alloc", priced_bytes, ns);
    dry_driver_call(d, "raw", "alloc", priced_bytes,
                    logged_or(d, busy_ns + cold_cost(d, COLD_ALLOC, ns)));
    return 0;
}

/* The atlas has the cost of an allocation together with making it resident. */
static int source_touches(void *context, uint64_t handle, uint64_t bytes, struct error *error)
{
    struct dry *d = context;
    struct memory *memory = &d->memories[handle - 1];
    memory->used = true;
    bool again = memory->again && knows(d, "resident", "realloc");
    double ns = more_than(dry_cost(d, "resident", again ? "realloc" : "alloc", bytes),
                          alloc_cost(d, bytes, again));
    double waited = wait_for_device(d); /* it ends when the memory has been written */
    d->host_ns += ns;
    d->waiting_ns += waited;
    d->driver_ns += waited + ns;
    return 0;
}

static int source_takes(void *context, uint64_t handle, uint64_t bytes, struct error *error)
{
    struct dry *d = context;
    uint64_t priced_bytes = put_piece_back(d, &d->memories[handle - 1]);
    dry_drop_memory(d, handle);
    d->freed_bytes =
        must_grow(d->freed_bytes, d->freed_count, &d->freed_capacity, sizeof *d->freed_bytes);
    d->freed_bytes[d->freed_count++] = priced_bytes;
    const double ns = free_cost(d, priced_bytes);
    const double busy_ns = free_after_wait(d, priced_bytes, ns);
    dry_driver_call(d, "raw", "free", priced_bytes,
                    logged_or(d, busy_ns + cold_cost(d, COLD_FREE, ns)));
    return 0;
}

static int source_waits(void *context, struct error *error)
{
    struct dry *d = context;
    double waited = wait_for_device(d);
    double ns = d->costs.sync_ns + dry_pool_waited(d, ALLOCATOR_QUEUES_MAX);
    d->host_ns += ns;
    d->waiting_ns += waited;
    d->driver_ns += waited + ns;
    return 0;
}

static uint64_t source_address(void *context, uint64_t handle)
{
    struct dry *d = context;
    struct memory *memory = &d->memories[handle - 1];
    if (!memory->address) {
        memory->address = addresses_take(&d->addresses, memory->bytes);
        memory->placed = true;
    }
    return memory->address;
}

/* Kernels were timed over device memory. No atlas has their times over memory that lives elsewhere.
 */
static int kind_is_unknown(void *context, enum driver_memory kind, struct error *error)
{
    return error_set(error, ERR_UNSUPPORTED,
                     "the model knows what commands take on device memory, not on other kinds");
}

static const struct driver_memory_ops no_kinds = {.offered = kind_is_unknown};

static int sub_buffer_is_unknown(void *context, enum driver_memory kind, struct error *error)
{
    return error_set(error, ERR_UNSUPPORTED, "no atlas knows what sub-buffers cost");
}

static const struct driver_sub_buffer_ops no_sub_buffers = {.offered = sub_buffer_is_unknown};

static struct source dry_source_of(struct dry *d)
{
    const struct dry_device *m = &d->device;
    static const struct source_ops lazy = {source_gives, source_touches, source_takes, source_waits,
                                           NULL};
    static const struct source_ops resident = {source_gives, NULL, source_takes, source_waits,
                                               NULL};
    static const struct source_ops placed = {source_gives, NULL, source_takes, source_waits,
                                             source_address};
    return (struct source){.ops = m->has_addresses ? &placed
                                  : m->can_touch   ? &lazy
                                                   : &resident,
                           .kinds = &no_kinds,
                           .sub_buffers = &no_sub_buffers,
                           .pools = m->has_pool ? &dry_pool_ops : NULL,
                           .vm = m->vm_granularity_bytes ? &dry_vm_ops : NULL,
                           .context = d,
                           .name = d->device.name,
                           .alignment = m->alignment,
                           .can_split = m->can_split,
                           .capacity_bytes = m->capacity_bytes};
}

/* ---- costs of commands ----------------------------------------------------------------------- */

/* Reads the costs. latency_ns is the time from a launch to its end on an idle device, less the
 * calls and the device's own time. */
static void read_costs(struct dry *d)
{
    struct command_costs *c = &d->costs;
    c->launch_ns = dry_cost(d, "command", "launch", 0);
    c->sync_ns = dry_cost(d, "command", "sync", 0);
    c->mark_ns = dry_cost(d, "command", "mark", 0);
    if (d->device.synchronous)
        return;
    c->mark_device_ns = dry_device_cost(d, "command", "mark_device", 0);
    c->latency_ns =
        more_than(dry_cost(d, "command", "launch_sync", 0),
                  c->launch_ns + dry_device_cost(d, "command", "launch_device", 0) + c->sync_ns);
}

/* ---- the two clocks -------------------------------------------------------------------------- */

/* Gives the device a command that keeps it busy for `ns`; the call has been made. */
static void give_command(struct dry *d, double ns)
{
    double *oldest = &d->ended_ns[d->command_count++ % QUEUE_DEPTH];
    if (*oldest > d->host_ns)
        d->host_ns = *oldest;
    double given_ns = d->host_ns + d->costs.latency_ns;
    d->device_ns = (given_ns > d->device_ns ? given_ns : d->device_ns) + ns;
    d->busy_ns += ns;
    *oldest = d->device_ns;
    if (d->device.synchronous)
        wait_for_device(d);
}

/* ---- what the replay calls ------------------------------------------------------------------- */

struct dry *dry_open(const struct dry_device *device)
{
    struct dry *d = must_alloc(sizeof *d);
    d->device = *device;
    d->source = dry_source_of(d);
    return d;
}

void dry_close(struct dry *d)
{
    chunks_close(&d->pages);
    for (unsigned i = 0; i < d->pool_count; i++)
        free(d->pools[i]);
    free(d->pools);
    addresses_free(&d->addresses);
    free(d->memories);
    free(d->freed_bytes);
    free(d);
}

struct source *dry_source(struct dry *d)
{
    return &d->source;
}

void dry_on_release(struct dry *d,
                    void (*released)(void *context, uint64_t memory, uint64_t offset,
                                     uint64_t bytes),
                    void *context)
{
    d->released = released;
    d->released_context = context;
}

void dry_logged(struct dry *d, uint64_t ns)
{
    d->logged_ns = ns;
}

void dry_expect(struct dry *d, uint64_t bytes, uint64_t address)
{
    d->deviates |= d->expected.bytes != 0 || address == 0;
    d->expected = (struct address_range){address, bytes};
}

void dry_begin(struct dry *d)
{
    dry_pool_waited(d, ALLOCATOR_QUEUES_MAX);
    d->host_ns = d->device_ns = d->pending_ns = d->pending_busy_ns = 0;
    memset(d->ended_ns, 0, sizeof d->ended_ns);
    d->busy_ns = d->driver_ns = d->waiting_ns = d->first_use_ns = 0;
    d->freed_count = 0; /* earlier frees are too long ago to count */
    d->lacks = false;   /* costs before the timed run do not matter */
    if (d->device.atlas)
        read_costs(d);
}

void dry_pass(struct dry *d, double ns)
{
    d->host_ns += ns;
}

void dry_use(struct dry *d, uint64_t handle)
{
    struct memory *memory = handle ? &d->memories[handle - 1] : NULL;
    if (!memory || memory->used)
        return;
    double busy_ns;
    memory->used = true;
    d->pending_ns += dry_first_use_cost(d, memory, &busy_ns);
    d->pending_busy_ns += busy_ns;
}

/* The first uses that a command pays for. */
static double take_pending(struct dry *d)
{
    const double busy_ns = d->device.lazy_on_device ? d->pending_ns : d->pending_busy_ns;
    const double ns = busy_ns > d->pending_ns ? slowed(d, d->pending_ns, busy_ns) : d->pending_ns;
    d->first_use_ns += ns;
    d->pending_ns = d->pending_busy_ns = 0;
    return ns;
}

void dry_transfer(struct dry *d, const char *call, uint64_t bytes)
{
    const bool is_logged = d->logged_ns;
    double ns = logged_within(d, dry_cost(d, "command", call, bytes)) + take_pending(d);
    double way_ns =
        d->device.synchronous || is_logged ? 0 : d->costs.launch_ns + d->costs.latency_ns;
    if (way_ns > ns)
        way_ns = ns;
    d->host_ns += way_ns;
    wait_for_device(d);
    d->host_ns += ns - way_ns + dry_pool_waited(d, ALLOCATOR_QUEUES_MAX);
    host_copied(d, bytes);
}

void dry_command(struct dry *d, double call_ns, double device_ns)
{
    double first_ns = take_pending(d);
    call_ns = d->logged_ns ? logged_within(d, d->costs.launch_ns) : call_ns;
    d->host_ns += d->device.synchronous ? d->costs.launch_ns : call_ns;
    if (d->device.lazy_on_device)
        device_ns += first_ns;
    else
        d->host_ns += first_ns;
    give_command(d, device_ns);
}

void dry_end(struct dry *d)
{
    d->host_ns += d->costs.mark_ns;
    d->device_ns += d->costs.mark_device_ns;
    dry_wait(d, ALLOCATOR_QUEUES_MAX);
}

void dry_wait(struct dry *d, unsigned queue)
{
    wait_for_device(d);
    d->host_ns += logged_within(d, d->costs.sync_ns) + dry_pool_waited(d, queue);
}

void dry_order(struct dry *d, unsigned queue, unsigned other)
{
    for (unsigned i = 0; i < d->pool_count; i++)
        if (d->pools[i]->follows_events)
            stream_pool_order(&d->pools[i]->held, queue, other);
}

static uint64_t whole_ns(double ns)
{
    return (uint64_t)(ns + 0.5);
}

int dry_times(const struct dry *d, struct case_model *times, struct error *error)
{
    *times = (struct case_model){
        .asked = true,
        .predicted_ns = whole_ns(d->host_ns),
        .device_ns = whole_ns(d->busy_ns),
        .driver_ns = whole_ns(d->driver_ns),
        .waiting_ns = whole_ns(d->waiting_ns),
        .first_use_ns = whole_ns(d->first_use_ns),
    };
    return d->lacks ? error_set(error, ERR_UNSUPPORTED, "%s", d->error.text) : 0;
}
