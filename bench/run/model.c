#include "run/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* As many commands may wait in a queue; the next call waits for the oldest. Drivers do not say how
 * many: NVIDIA's hold 1024. It matters to what the host does meanwhile alone. */
enum { QUEUE_DEPTH = 1024 };

/* Runs of a replay: a cold one, and those that are sampled come after a warm one at least. */
enum { RUNS = 3 };

/* Costs of commands that have no size. */
struct command_costs {
    double launch_ns;  /* host: the call */
    double latency_ns; /* from the end of the call until an idle device begins */
    double mark_ns, mark_device_ns;
    double sync_ns; /* host: when there is nothing to wait for */
};

struct memory {
    uint64_t bytes;
    bool used;     /* some command has used it */
    bool again;    /* one of this size had been given back before, in this run */
    unsigned next; /* handle of the next one that is not live */
};

struct block_state {
    struct block block;
    uint64_t requested;
    const char *tag;
};

struct replay {
    const struct model *model;
    const struct trace *trace;
    struct command_costs costs;
    struct source source;
    struct allocator allocator;
    struct block_state *blocks; /* by number */
    size_t memory_count, memory_capacity;
    struct memory *memories; /* handle - 1 */
    size_t freed_count, freed_capacity;
    uint64_t *freed_bytes; /* of memories given back in this run and not given out again */
    unsigned spare;        /* handle of a memory that is not live; 0: none */

    double host_ns, device_ns;    /* the two clocks */
    double ended_ns[QUEUE_DEPTH]; /* of the last commands */
    size_t command_count;
    double busy_ns, driver_ns, waiting_ns, first_use_ns, allocator_ns;
    bool lacks; /* some cost; `error` says which */
    struct error *error;
};

/* ---- costs ---------------------------------------------------------------------------------- */

static int lack(struct replay *r, const char *what, const char *way, const char *call)
{
    if (!r->lacks)
        error_set(r->error, ERR_UNSUPPORTED, "the atlas of %s does not know %s (%s, %s)",
                  r->model->atlas->device, what, way, call);
    r->lacks = true;
    return ERR_UNSUPPORTED;
}

static double more_than(double ns, double part)
{
    return ns > part ? ns - part : 0;
}

static double device_cost(struct replay *r, const char *way, const char *call, uint64_t bytes)
{
    double ns;
    if (atlas_cost_ns(r->model->atlas, way, call, bytes, &ns) && !isnan(ns))
        return ns;
    lack(r, "what a call costs", way, call);
    return 0;
}

/* Of the host: less what reading the clock took. */
static double cost(struct replay *r, const char *way, const char *call, uint64_t bytes)
{
    double ns = device_cost(r, way, call, bytes);
    return isnan(r->model->atlas->timer_ns) ? ns : more_than(ns, r->model->atlas->timer_ns);
}

/* What is between a launch and its end, besides the calls and the device's own time, is the way to
 * a device that is idle. */
static void read_costs(struct replay *r)
{
    struct command_costs *c = &r->costs;
    c->launch_ns = cost(r, "command", "launch", 0);
    c->sync_ns = cost(r, "command", "sync", 0);
    c->mark_ns = cost(r, "command", "mark", 0);
    if (r->model->synchronous)
        return;
    c->mark_device_ns = device_cost(r, "command", "mark_device", 0);
    c->latency_ns =
        more_than(cost(r, "command", "launch_sync", 0),
                  c->launch_ns + device_cost(r, "command", "launch_device", 0) + c->sync_ns);
}

static bool knows(const struct replay *r, const char *call)
{
    return atlas_find(r->model->atlas, "raw", call) != NULL;
}

/* A driver gives what it has just got back for less than what it has to find: the atlas knows both.
 * Just got back is a memory of the same size in the same run. */
static double alloc_cost(struct replay *r, uint64_t bytes, bool again)
{
    return cost(r, "raw", again && knows(r, "realloc") ? "realloc" : "alloc", bytes);
}

/* Of a call that finds nothing to wait for. A free behind a use that was just launched is a call in
 * the middle of work, as in a program; where it waits for the use, that is taken off. */
static double free_cost(struct replay *r, uint64_t bytes)
{
    if (!knows(r, "free_used") || !knows(r, "second_use"))
        return cost(r, "raw", "free", bytes);
    double ns = cost(r, "raw", "free_used", bytes);
    enum atlas_wait waits = atlas_waits(r->model->atlas, "raw", "free", bytes);
    if (r->model->synchronous || waits == ATLAS_WAITS_nothing || waits == ATLAS_WAITS_unknown)
        return ns;
    double use_ns = cost(r, "raw", "second_use", bytes);
    return more_than(ns, more_than(use_ns, r->costs.launch_ns + r->costs.sync_ns));
}

/* How much longer the first command takes that uses a memory than the next one. A twentieth more or
 * less is what two equal measurements differ by. */
static double first_use_cost(struct replay *r, const struct memory *memory)
{
    const char *call = memory->again && knows(r, "reuse") ? "reuse" : "first_use";
    if (!knows(r, call) || !knows(r, "second_use"))
        return 0;
    double first = cost(r, "raw", call, memory->bytes);
    double second = cost(r, "raw", "second_use", memory->bytes);
    return first > 1.05 * second ? first - second : 0;
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

/* ---- the two clocks ------------------------------------------------------------------------- */

/* Returns how long the host waited. */
static double wait_for_device(struct replay *r)
{
    double waited = more_than(r->device_ns, r->host_ns);
    r->host_ns += waited;
    return waited;
}

/* A call for memory: waits if it is one that does, then takes its time. */
static void driver_call(struct replay *r, const char *way, const char *call, uint64_t bytes,
                        double ns)
{
    double waited = 0;
    if (!r->model->synchronous && r->device_ns > r->host_ns) {
        enum atlas_wait waits = atlas_waits(r->model->atlas, way, call, bytes);
        if (waits == ATLAS_WAITS_unknown)
            lack(r, "what a call waits for", way, call);
        else if (waits != ATLAS_WAITS_nothing)
            waited = wait_for_device(r);
    }
    r->host_ns += ns;
    r->waiting_ns += waited;
    r->driver_ns += waited + ns;
}

/* Gives the device a command that keeps it busy for `ns`; the call has been made. */
static void command(struct replay *r, double ns)
{
    double *oldest = &r->ended_ns[r->command_count++ % QUEUE_DEPTH];
    if (*oldest > r->host_ns)
        r->host_ns = *oldest;
    double given_ns = r->host_ns + r->costs.latency_ns;
    r->device_ns = (given_ns > r->device_ns ? given_ns : r->device_ns) + ns;
    r->busy_ns += ns;
    *oldest = r->device_ns;
    if (r->model->synchronous)
        wait_for_device(r);
}

static void reset_clocks(struct replay *r)
{
    r->host_ns = r->device_ns = 0;
    memset(r->ended_ns, 0, sizeof r->ended_ns);
    r->busy_ns = r->driver_ns = r->waiting_ns = r->first_use_ns = r->allocator_ns = 0;
    r->freed_count = 0; /* a while ago */
    r->lacks = false;   /* what is not timed may cost what it will */
}

/* ---- the source ----------------------------------------------------------------------------- */

static int source_gives(void *context, uint64_t bytes, uint64_t *handle, struct error *error)
{
    struct replay *r = context;
    (void)error;
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
    *memory = (struct memory){.bytes = bytes, .again = take_freed(r, bytes)};
    driver_call(r, "raw", "alloc", bytes, alloc_cost(r, bytes, memory->again));
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
    double ns = more_than(cost(r, "resident", again ? "realloc" : "alloc", bytes),
                          alloc_cost(r, bytes, again));
    double waited = wait_for_device(r); /* it ends when the memory has been written */
    r->host_ns += ns;
    r->waiting_ns += waited;
    r->driver_ns += waited + ns;
    return 0;
}

static int source_takes(void *context, uint64_t handle, uint64_t bytes, struct error *error)
{
    struct replay *r = context;
    (void)error;
    r->memories[handle - 1].next = r->spare;
    r->spare = (unsigned)handle;
    remember_free(r, bytes);
    driver_call(r, "raw", "free", bytes, free_cost(r, bytes));
    return 0;
}

static struct source source_of(struct replay *r)
{
    static const struct source_ops with_touch = {
        .alloc = source_gives, .touch = source_touches, .free = source_takes};
    static const struct source_ops without_touch = {.alloc = source_gives, .free = source_takes};
    const struct model *m = r->model;
    return (struct source){.ops = m->can_touch ? &with_touch : &without_touch,
                           .context = r,
                           .alignment = m->alignment,
                           .can_split = m->can_split,
                           .capacity_bytes = m->capacity_bytes};
}

/* ---- events --------------------------------------------------------------------------------- */

static uint64_t ns_in_source(const struct source_counts *c)
{
    return c->alloc_ns + c->touch_ns + c->free_ns;
}

/* The strategy is real and so is its time, but for what it spent in the source, whose real time is
 * that of looking into an atlas. */
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

/* What the first use of memories adds to an event that uses them. */
static double first_uses(struct replay *r, const struct trace_event *event)
{
    double ns = 0;
    for (unsigned i = 0; i < event->use_count; i++) {
        uint64_t handle = r->blocks[r->trace->uses[event->first_use + i]].block.memory;
        struct memory *memory = handle ? &r->memories[handle - 1] : NULL;
        if (!memory || memory->used)
            continue;
        memory->used = true;
        ns += first_use_cost(r, memory);
    }
    r->first_use_ns += ns;
    return ns;
}

/* A blocking transfer is a call and a command, in which the host waits for the end. The atlas knows
 * what it takes on an idle device: on a busy one the way to it is no longer in it. */
static void replay_transfer(struct replay *r, const struct trace_event *event, const char *call)
{
    double ns = cost(r, "command", call, event->bytes) + first_uses(r, event);
    double way_ns = r->model->synchronous ? 0 : r->costs.launch_ns + r->costs.latency_ns;
    if (way_ns > ns)
        way_ns = ns;
    r->host_ns += way_ns;
    wait_for_device(r);
    r->host_ns += ns - way_ns;
}

static void replay_command(struct replay *r, const struct trace_event *event)
{
    double first_ns = first_uses(r, event), device_ns = (double)event->device_ns;
    r->host_ns += r->model->synchronous ? r->costs.launch_ns : (double)event->call_ns;
    if (r->model->lazy_on_device)
        device_ns += first_ns;
    else
        r->host_ns += first_ns;
    command(r, device_ns);
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

/* Inputs, the run between two marks, and what is left over. */
static int replay_run(struct replay *r, struct case_model *prediction, bool *lacked)
{
    const struct trace *t = r->trace;
    int code = replay_part(r, 0, t->run_begin);
    reset_clocks(r);
    read_costs(r);
    if (!code)
        code = replay_part(r, t->run_begin, t->run_end);
    if (!code) {
        r->host_ns += r->costs.mark_ns;
        r->device_ns += r->costs.mark_device_ns;
        wait_for_device(r);
        r->host_ns += r->costs.sync_ns;
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

/* ---- the model ------------------------------------------------------------------------------ */

struct model model_of(const struct atlas *atlas, const struct device *device,
                      uint64_t capacity_bytes)
{
    const struct device_info *info = device_info(device);
    return (struct model){
        .atlas = atlas,
        .synchronous = strcmp(info->api, "host") == 0,
        .lazy_on_device = info->kind == DEVICE_CPU,
        .can_touch = device->ops->touch,
        .can_split = info->can_split,
        .alignment = info->alignment_bytes,
        .capacity_bytes = capacity_bytes,
        .own_time = true,
    };
}

int model_predict(const struct model *model, const struct trace *trace,
                  const struct allocator_ops *strategy, const struct option_values *options,
                  struct case_model *prediction, struct error *error)
{
    struct replay *r = must_alloc(sizeof *r);
    *r = (struct replay){.model = model, .trace = trace, .error = error};
    r->blocks = must_alloc(trace->block_capacity * sizeof *r->blocks);
    r->source = source_of(r);
    int code = allocator_open(&r->allocator, strategy, options, &r->source, error);
    bool lacked = false; /* in the last run, the only one that counts */
    for (unsigned run = 0; run < RUNS && !code; run++)
        code = replay_run(r, prediction, &lacked);
    if (!code && lacked)
        code = ERR_UNSUPPORTED;
    allocator_close(&r->allocator);
    free(r->memories);
    free(r->freed_bytes);
    free(r->blocks);
    free(r);
    return code;
}
