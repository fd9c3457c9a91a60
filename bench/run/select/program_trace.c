#include "run/select/program_trace.h"

#include <stdlib.h>

#include "base/arena.h"
#include "run/execute/spaces.h"
#include "run/select/inputs.h"
#include "run/select/readings.h"

struct tracing {
    struct run_log log;
    struct run_log_listener listener;
    struct trace_writer *writer;
    uint64_t alignment; /* of the blocks */
    unsigned slot_capacity;
    unsigned *slots; /* of the trace, by the executor's number of a block */
};

static void hear_event(void *context, const struct trace_event *event)
{
    struct tracing *t = context;
    if (t->log.part == LOG_AFTER) /* the blocks that a run leaves are its results */
        return;
    if (event->kind != TRACE_alloc && event->kind != TRACE_free)
        return;
    struct trace_event e = {.kind = event->kind, .bytes = event->bytes};
    t->slots = must_reach(t->slots, event->slot, &t->slot_capacity, sizeof *t->slots);
    if (!t->log.memory_of[event->slot]) /* a block of no bytes makes no call */
        return;
    if (e.kind == TRACE_alloc) {
        e.alignment = t->alignment;
        e.name = trace_name(t->writer, t->log.names[event->name]);
        t->slots[event->slot] = trace_take_slot(t->writer);
    }
    e.slot = t->slots[event->slot];
    trace_put(t->writer, &e);
    if (e.kind == TRACE_free)
        trace_give_slot(t->writer, e.slot);
}

static int write_trace(const struct program_run *run, const struct fun *fun,
                       const struct arguments *values, struct trace_info *info, const char *path,
                       struct dry_run *counts, struct error *error)
{
    const uint64_t alignment = run->alignment_bytes;
    struct tracing t = {.alignment = alignment && alignment < 256 ? alignment : 256};
    t.listener = (struct run_log_listener){&t, hear_event};
    t.log.listener = &t.listener;
    info->time_unit_ns = 1;
    info->alignment_bytes = alignment;
    info->knows[TRACE_KNOWS_frees] = info->knows[TRACE_KNOWS_sites] = true;
    TRY(trace_create(path, info, &t.writer, error));
    int code = dry_run_told(fun, values, run->policy, &t.log, counts, error);
    if (code)
        trace_abandon(t.writer);
    else
        code = trace_finish(t.writer, false, NULL, error);
    free(t.slots);
    return code;
}

/* Merges the fun as a measurement does, and runs what comes out. */
static int run_merged(const struct program_run *run, const struct arguments *values,
                      struct trace_info *info, const char *path, struct dry_run *counts,
                      struct error *error)
{
    struct merge *merged;
    TRY(merging_run(run->entry->fun, run->merge, values, run->policy, 0, &merged, error));
    int code = 0;
    for (int s = SPACE_DEVICE + 1; s < SPACES && !code; s++)
        if (spaces_used(merged->fun, (enum space)s))
            code = error_set(error, ERR_UNSUPPORTED,
                             "%s has memory in the space %s, and a trace of it would mix the two",
                             run->entry->name, space_name((enum space)s));
    THEN(code, write_trace(run, merged->fun, values, info, path, counts, error));
    merge_free(merged);
    return code;
}

int program_trace(const struct program_run *run, struct trace_info *info, const char *path,
                  struct dry_run *counts, struct error *error)
{
    struct inputs scalars;
    struct readings readings;
    struct error lacking = {0};
    TRY(inputs_make_scalars(run->entry, run->dataset, &scalars, error));
    int code = readings_find(run->entry, run->dataset, &scalars.arguments, run->seed, run->may_run,
                             &readings, &lacking, error);
    if (!code) {
        const bool must_run = run->entry->builtin && !run->may_run;
        code = readings.from == READINGS_unknown && must_run
                   ? error_set(error, ERR_UNSUPPORTED,
                               "%s has to be run for it, because its memory depends on values that "
                               "it computes",
                               run->entry->name)
               : readings.from == READINGS_unknown
                   ? error_set(error, ERR_UNSUPPORTED, "%s", lacking.text)
                   : run_merged(run, &readings.arguments, info, path, counts, error);
        readings_free(&readings);
    }
    inputs_free(&scalars);
    return code;
}
