#include "run/predict/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/driver_vm.h"
#include "run/predict/player.h"

/* Runs of a replay: a cold and a warm one, and then the one that counts, like a sampled run. */
enum { RUNS = 3 };

struct block_state {
    struct block block;
    uint64_t requested;
    const char *tag;
};

struct replay {
    const struct run_log *trace;
    struct player player;
    struct source *source;
    struct allocator allocator;
    struct block_state *blocks; /* by number */
    struct error *error;
};

/* ---- events ---------------------------------------------------------------------------------- */

static int replay_alloc(struct replay *r, const struct trace_event *event)
{
    const char *tag = r->trace->names[event->name];
    const struct alloc_request request = {
        .size = event->bytes, .alignment = event->alignment, .tag = tag};
    struct block_state *b = &r->blocks[event->slot];
    int code = player_alloc(&r->player, &r->allocator, &request, &b->block);
    if (code)
        return error_set(r->error, code, "block '%s' in the model: %s", tag, r->source->error.text);
    b->requested = event->bytes;
    b->tag = tag;
    return 0;
}

static int replay_free(struct replay *r, const struct trace_event *event)
{
    struct block_state *b = &r->blocks[event->slot];
    int code = player_free(&r->player, &r->allocator, &b->block, b->tag, b->requested);
    b->block = (struct block){0};
    return code ? error_set(r->error, code, "giving back block '%s' in the model: %s", b->tag,
                            r->source->error.text)
                : 0;
}

static uint64_t memory_of(void *context, unsigned slot)
{
    const struct replay *r = context;
    return r->blocks[slot].block.memory;
}

static int replay_event(struct replay *r, const struct trace_event *event)
{
    player_gap(&r->player, event);
    if (event->kind == TRACE_alloc)
        return replay_alloc(r, event);
    if (event->kind == TRACE_free)
        return replay_free(r, event);
    player_command(&r->player, event, memory_of, r);
    return 0;
}

static int replay_part(struct replay *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        TRY(replay_event(r, &r->trace->events[i]));
    return 0;
}

/* Replays the inputs, the run between two marks, and the frees after it. *timed: what dry_times
 * returned, which counts only for the last run. */
static int replay_run(struct replay *r, struct case_model *prediction, int *timed)
{
    const struct run_log *t = r->trace;
    r->player.ended_ns = 0;
    int code = replay_part(r, 0, t->run_begin);
    dry_begin(r->player.dry);
    r->player.allocator_ns = 0;
    THEN(code, replay_part(r, t->run_begin, t->run_end));
    if (!code)
        dry_end(r->player.dry);
    struct error *error = code ? NULL : r->error;
    *timed = dry_times(r->player.dry, prediction, error);
    prediction->allocator_ns = (uint64_t)(r->player.allocator_ns + 0.5);
    return code ? code : replay_part(r, t->run_end, t->event_count);
}

/* ---- the model ------------------------------------------------------------------------------- */

struct model model_of(const struct atlas *atlas, struct device *device, uint64_t capacity_bytes)
{
    const struct device_info *info = device->info;
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
                       .player = {.dry = dry_open(&model->device),
                                  .own_time = model->own_time,
                                  .host_factor = model->host_factor},
                       .error = error};
    r.source = dry_source(r.player.dry);
    r.blocks = must_alloc(trace->block_capacity * sizeof *r.blocks);
    int code = allocator_open(&r.allocator, strategy, options, r.source, error), timed = 0;
    for (unsigned run = 0; run < RUNS && !code; run++)
        code = replay_run(&r, prediction, &timed);
    allocator_close(&r.allocator);
    dry_close(r.player.dry);
    free(r.blocks);
    return code ? code : timed;
}

static void shorten_commands(struct run_log *t, const uint64_t *ns, uint64_t less_ns)
{
    for (size_t i = t->run_begin; i < t->run_end; i++)
        t->events[i].device_ns = ns[i] > less_ns ? ns[i] - less_ns : 0;
}

int model_fit(const struct model *model, struct run_log *trace,
              const struct allocator_ops *strategy, const struct option_values *options,
              uint64_t plain_ns, struct error *error)
{
    enum { STEPS = 14 };
    struct case_model run;
    uint64_t *ns = must_alloc((trace->event_count + 1) * sizeof *ns);
    uint64_t most = 0, least = 0, less, most_ns = 0; /* [least, most] has what each takes less */
    for (size_t i = 0; i < trace->event_count; i++) {
        ns[i] = trace->events[i].device_ns;
        most = ns[i] > most ? ns[i] : most;
    }
    less = most; /* shows the host's time alone; then comes 0 */
    int code = 0;
    for (unsigned step = 0; step < STEPS && most > 0 && !code; step++) {
        shorten_commands(trace, ns, less);
        code = model_predict(model, trace, strategy, options, &run, error);
        if (step == 0)
            most_ns = (run.predicted_ns > plain_ns ? run.predicted_ns : plain_ns) / 50 * 51;
        *(run.predicted_ns <= most_ns ? &most : &least) = less;
        less = step == 0 ? 0 : least + (most - least) / 2;
    }
    shorten_commands(trace, ns, code ? 0 : most);
    free(ns);
    return code;
}
