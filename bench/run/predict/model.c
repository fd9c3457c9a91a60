#include "run/predict/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/driver_vm.h"

/* Runs of a replay: a cold and a warm one, and then the one that counts, like a sampled run. */
enum { RUNS = 3 };

struct block_state {
    struct block block;
    uint64_t requested;
    const char *tag;
};

struct replay {
    const struct run_log *trace;
    bool own_time;
    struct dry *dry;
    struct source *source;
    struct allocator allocator;
    struct block_state *blocks; /* by number */
    double allocator_ns;
    struct error *error;
};

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
    uint64_t source_ns = ns_in_source(&r->source->counts) - in_source_before_ns;
    if (!r->own_time || all_ns <= source_ns)
        return;
    dry_pass(r->dry, (double)(all_ns - source_ns));
    r->allocator_ns += (double)(all_ns - source_ns);
}

static int replay_alloc(struct replay *r, const struct trace_event *event)
{
    const struct alloc_request request = {
        .size = event->bytes, .alignment = event->alignment, .tag = event->tag};
    uint64_t before_ns = ns_in_source(&r->source->counts), start_ns = clock_ns();
    struct block_state *b = &r->blocks[event->block];
    int code = allocator_alloc(&r->allocator, &request, &b->block);
    add_own_time(r, start_ns, before_ns);
    if (code)
        return error_set(r->error, code, "block '%s' in the model: %s", event->tag,
                         r->source->error.text);
    b->requested = event->bytes;
    b->tag = event->tag;
    return 0;
}

static int replay_free(struct replay *r, const struct trace_event *event)
{
    struct block_state *b = &r->blocks[event->block];
    uint64_t before_ns = ns_in_source(&r->source->counts), start_ns = clock_ns();
    int code = allocator_free(&r->allocator, &b->block, b->tag, b->requested);
    add_own_time(r, start_ns, before_ns);
    b->block = (struct block){0};
    return code ? error_set(r->error, code, "giving back block '%s' in the model: %s", b->tag,
                            r->source->error.text)
                : 0;
}

static void use_blocks(struct replay *r, const struct trace_event *event)
{
    for (unsigned i = 0; i < event->use_count; i++)
        dry_use(r->dry, r->blocks[r->trace->uses[event->first_use + i]].block.memory);
}

static int replay_event(struct replay *r, const struct trace_event *event)
{
    dry_pass(r->dry, (double)event->before_ns);
    use_blocks(r, event);
    switch (event->kind) {
    case TRACE_ALLOC:
        return replay_alloc(r, event);
    case TRACE_FREE:
        return replay_free(r, event);
    case TRACE_LAUNCH:
    case TRACE_COPY:
        dry_command(r->dry, (double)event->call_ns, (double)event->device_ns);
        return 0;
    case TRACE_WRITE:
        dry_transfer(r->dry, "write", event->bytes);
        return 0;
    case TRACE_READ:
        dry_transfer(r->dry, "read", event->bytes);
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

/* Replays the inputs, the run between two marks, and the frees after it. *timed: what dry_times
 * returned, which counts only for the last run. */
static int replay_run(struct replay *r, struct case_model *prediction, int *timed)
{
    const struct run_log *t = r->trace;
    int code = replay_part(r, 0, t->run_begin);
    dry_begin(r->dry);
    r->allocator_ns = 0;
    if (!code)
        code = replay_part(r, t->run_begin, t->run_end);
    if (!code)
        dry_end(r->dry);
    struct error *error = code ? NULL : r->error;
    *timed = dry_times(r->dry, prediction, error);
    prediction->allocator_ns = (uint64_t)(r->allocator_ns + 0.5);
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
    const struct dry_device dry = {
        .name = "the model",
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
    };
    return (struct model){.device = dry, .own_time = true};
}

int model_predict(const struct model *model, const struct run_log *trace,
                  const struct allocator_ops *strategy, const struct option_values *options,
                  struct case_model *prediction, struct error *error)
{
    struct replay r = {.trace = trace,
                       .own_time = model->own_time,
                       .dry = dry_open(&model->device),
                       .error = error};
    r.source = dry_source(r.dry);
    r.blocks = must_alloc(trace->block_capacity * sizeof *r.blocks);
    int code = allocator_open(&r.allocator, strategy, options, r.source, error), timed = 0;
    for (unsigned run = 0; run < RUNS && !code; run++)
        code = replay_run(&r, prediction, &timed);
    allocator_close(&r.allocator);
    dry_close(r.dry);
    free(r.blocks);
    return code ? code : timed;
}
