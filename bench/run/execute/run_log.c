#include "run/execute/run_log.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/allocator.h"
#include "base/arena.h"
#include "run/execute/executor.h"

void run_log_open(struct run_log *t, size_t events, size_t uses, unsigned block_capacity)
{
    *t = (struct run_log){
        .event_capacity = events, .use_capacity = uses, .block_capacity = block_capacity};
    t->events = must_alloc(events * sizeof *t->events);
    t->uses = must_alloc(uses * sizeof *t->uses);
    t->names = must_alloc((events + 1) * sizeof *t->names); /* one for `unkept` */
    t->memory_of = must_alloc(block_capacity * sizeof *t->memory_of);
}

void run_log_close(struct run_log *t)
{
    free(t->events);
    free(t->uses);
    free(t->names);
    free(t->memory_of);
    *t = (struct run_log){0};
}

void run_log_restart(struct run_log *t)
{
    t->event_count = t->use_count = t->run_begin = t->run_end = 0;
    t->time_ns = 0;
    t->part = LOG_BEFORE;
    memset(t->memory_of, 0, t->block_capacity * sizeof *t->memory_of);
    t->profiled = NULL;
    t->ended_ns = clock_ns();
}

/* ---- while it runs -------------------------------------------------------------------------- */

void run_log_begin_call(struct run_log *t)
{
    if (t)
        t->started_ns = clock_ns();
}

/* A device that cannot time a command leaves it out; profile_end then returns fewer entries. */
void run_log_begin_command(struct run_log *t)
{
    if (!t)
        return;
    t->started_ns = clock_ns();
    if (t->profiled)
        t->profiled->ops->profile->start(t->profiled, NULL);
}

/* Ends a call, and returns its event; NULL if there is neither room for it nor a listener. */
static struct trace_event *end_call(struct run_log *t, enum trace_kind kind)
{
    const uint64_t now = clock_ns();
    const uint64_t begin_ns = t->time_ns + (t->started_ns - t->ended_ns);
    if (trace_is_command(kind) && t->profiled)
        t->profiled->ops->profile->stop(t->profiled, NULL);
    struct trace_event *event = t->event_count < t->event_capacity ? &t->events[t->event_count]
                                : t->listener                      ? &t->unkept
                                                                   : NULL;
    if (event) {
        const uint64_t call_ns = now - t->started_ns;
        *event = (struct trace_event){.kind = kind,
                                      .time_ns = trace_time_ns(kind, begin_ns, call_ns),
                                      .call_ns = call_ns,
                                      .uses = t->uses + t->use_count};
    }
    t->time_ns = begin_ns + (now - t->started_ns);
    t->event_count++;
    t->ended_ns = clock_ns();
    return event;
}

static void tell_listener(struct run_log *t, const struct trace_event *event)
{
    if (!event || !t->listener)
        return;
    t->listener->event(t->listener->context, event);
    t->ended_ns = clock_ns();
}

/* Adds the block that lies in a memory. Traces are made under a strategy that gives each block a
 * memory of its own. */
static void add_use(struct run_log *t, struct trace_event *event, uint64_t memory)
{
    if (memory == 0)
        return;
    if (event && t->use_count < t->use_capacity)
        for (unsigned b = 0; b < t->block_capacity; b++)
            if (t->memory_of[b] == memory) {
                t->uses[t->use_count] = (struct trace_use){b, TRACE_READS | TRACE_WRITES};
                event->use_count++;
                break;
            }
    t->use_count++;
}

void run_log_alloc(struct run_log *t, unsigned block, const struct block *got,
                   const struct alloc_request *request)
{
    struct trace_event *event = t ? end_call(t, TRACE_alloc) : NULL;
    if (!event)
        return;
    event->slot = block;
    event->bytes = request->size;
    event->alignment = request->alignment;
    event->name = (unsigned)(event == &t->unkept ? t->event_capacity : t->event_count - 1);
    t->names[event->name] = request->tag;
    t->memory_of[block] = got ? block_memory(got) : 0;
    tell_listener(t, event);
}

void run_log_free(struct run_log *t, unsigned block)
{
    struct trace_event *event = t ? end_call(t, TRACE_free) : NULL;
    if (!event)
        return;
    event->slot = block;
    tell_listener(t, event);
    t->memory_of[block] = 0;
}

void run_log_launch(struct run_log *t, unsigned kernel, unsigned array_count,
                    const struct launched_array *arrays)
{
    if (!t)
        return;
    struct trace_event *event = end_call(t, TRACE_launch);
    if (event)
        event->name = kernel;
    for (unsigned i = 0; i < array_count; i++)
        add_use(t, event, arrays[i].state->memory);
    t->ended_ns = clock_ns();
    tell_listener(t, event);
}

void run_log_transfer(struct run_log *t, enum trace_kind kind, uint64_t to, uint64_t from,
                      uint64_t bytes)
{
    if (!t)
        return;
    struct trace_event *event = end_call(t, kind);
    if (event)
        event->bytes = bytes;
    add_use(t, event, to);
    add_use(t, event, from);
    t->ended_ns = clock_ns();
    tell_listener(t, event);
}

void run_log_begin_run(struct run_log *t)
{
    if (!t)
        return;
    t->run_begin = t->event_count;
    t->part = LOG_RUN;
    t->ended_ns = clock_ns();
}

void run_log_end_run(struct run_log *t)
{
    if (!t)
        return;
    t->run_end = t->event_count;
    t->part = LOG_AFTER;
}
