#include <stdlib.h>
#include <string.h>

#include "run/predict/model_replay.h"

/* Runs of a replay: a cold one, and those that are sampled come after a warm one at least. */
enum { RUNS = 3 };

/* ---- costs of commands ---------------------------------------------------------------------- */

/* What is between a launch and its end, besides the calls and the device's own time, is the way to
 * a device that is idle. */
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

/* ---- the two clocks ------------------------------------------------------------------------- */

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
        replay_wait(r);
}

static void reset_clocks(struct replay *r)
{
    r->host_ns = r->device_ns = 0;
    memset(r->ended_ns, 0, sizeof r->ended_ns);
    r->busy_ns = r->driver_ns = r->waiting_ns = r->first_use_ns = r->allocator_ns = 0;
    r->freed_count = 0; /* a while ago */
    r->lacks = false;   /* what is not timed may cost what it will */
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
        ns += replay_first_use_cost(r, memory);
    }
    r->first_use_ns += ns;
    return ns;
}

/* A blocking transfer is a call and a command, in which the host waits for the end. The atlas knows
 * what it takes on an idle device: on a busy one the way to it is no longer in it. */
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

/* ---- the model ------------------------------------------------------------------------------ */

struct model model_of(const struct atlas *atlas, struct device *device, uint64_t capacity_bytes)
{
    const struct device_info *info = device_info(device);
    uint64_t granularity_bytes = 0;
    if (device->ops->vm_granularity &&
        device->ops->vm_granularity(device, &granularity_bytes, NULL))
        granularity_bytes = 0;
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
        .has_pool = device->ops->pool_open != NULL,
        .vm_granularity_bytes = granularity_bytes,
        .memory_bytes = info->memory_bytes,
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
