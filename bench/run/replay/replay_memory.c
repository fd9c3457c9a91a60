#include "run/replay/replay_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "run/execute/memory_record.h"

struct replay_memory {
    const struct trace_reader *reader;
    struct memory_record *record;
    struct replay_listener listener;
    struct source_listener source;
    bool in_ns;
    uint64_t step;
    unsigned capacity;
    struct recorded_block *blocks; /* by slot */
};

static struct recorded_block *block_of(struct replay_memory *m, unsigned slot)
{
    m->blocks = must_reach(m->blocks, slot, &m->capacity, sizeof *m->blocks);
    return &m->blocks[slot];
}

/* The log of another program may have times that decrease; steps may not. */
static void step(struct replay_memory *m, const struct trace_event *event, uint64_t number)
{
    const uint64_t now = m->in_ns ? event->time_ns : number;
    m->step = now > m->step ? now : m->step;
    memory_record_step(m->record, m->step);
}

static void note_bytes(struct replay_memory *m, const struct trace_event *event,
                       const struct replay_state *state)
{
    struct timeline_point point = {.at_ns = event->time_ns};
    point.most[TIMELINE_requested] = state->requested_bytes;
    point.most[TIMELINE_granted] = state->granted_bytes;
    point.most[TIMELINE_reserved] = state->reserved_bytes;
    point.most[TIMELINE_live] = state->requested_bytes;
    point.most[TIMELINE_spare] = state->reserved_bytes > state->granted_bytes
                                     ? state->reserved_bytes - state->granted_bytes
                                     : 0;
    memcpy(point.least, point.most, sizeof point.least);
    if (state->most_reserved_bytes > state->reserved_bytes)
        point.most[TIMELINE_reserved] = state->most_reserved_bytes;
    memory_record_bytes(m->record, point);
}

static void hear(void *context, const struct trace_event *event, const struct block *block,
                 const struct replay_state *state)
{
    struct replay_memory *m = context;
    step(m, event, state->event);
    if (!block)
        return;
    note_bytes(m, event, state);
    if (event->kind == TRACE_held || event->kind == TRACE_alloc)
        *block_of(m, event->slot) = memory_record_alloc(m->record, block, event->bytes,
                                                        trace_name_of(m->reader, event->name));
    else
        memory_record_free(m->record, block_of(m, event->slot));
}

struct replay_memory *replay_memory_open(const struct trace_reader *reader, enum replay_steps steps)
{
    if (steps == STEPS_NONE)
        return NULL;
    struct replay_memory *m = must_alloc(sizeof *m);
    m->reader = reader;
    m->record = memory_record_open();
    m->in_ns = steps == STEPS_TIMES && trace_reader_info(reader)->knows[TRACE_KNOWS_times];
    m->source = (struct source_listener){m->record, memory_record_source};
    m->listener = (struct replay_listener){m, hear, &m->source};
    return m;
}

const struct replay_listener *replay_memory_listener(const struct replay_memory *m)
{
    return m ? &m->listener : NULL;
}

json_t *replay_memory_to_json(struct replay_memory *m)
{
    if (!m)
        return NULL;
    json_t *json = tree_object();
    tree_put(json, "step_unit", tree_text(m->in_ns ? "ns" : "event"));
    memory_record_to_json(m->record, m->step + 1, json);
    return json;
}

void replay_memory_close(struct replay_memory *m)
{
    if (!m)
        return;
    memory_record_close(m->record);
    free(m->blocks);
    free(m);
}
