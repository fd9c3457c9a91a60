#include "trace/codec.h"

#include <stdlib.h>

#include "base/arena.h"

static uint64_t add(uint64_t a, uint64_t b)
{
    return b > TRACE_TOTAL_MOST - a ? TRACE_TOTAL_MOST : a + b;
}

static bool is_taken(const struct trace_slots *s, unsigned slot)
{
    return slot < s->capacity && s->slots[slot].state != SLOT_FREE;
}

static const char *begin_block(struct trace_slots *s, struct trace_event *e)
{
    if (e->slot >= TRACE_SLOTS_MAX)
        return "more than 16777216 blocks would live at once";
    if (is_taken(s, e->slot))
        return "its slot holds a block that was not freed";
    s->slots = must_reach(s->slots, e->slot, &s->capacity, sizeof *s->slots);
    struct trace_totals *t = &s->totals;
    e->block = ++t->blocks;
    s->slots[e->slot] =
        (struct trace_slot){.block = e->block, .bytes = e->bytes, .state = SLOT_LIVE};
    t->live_at_end++;
    t->requested_bytes = add(t->requested_bytes, e->bytes);
    s->live_bytes = add(s->live_bytes, e->bytes);
    t->peak_bytes = s->live_bytes > t->peak_bytes ? s->live_bytes : t->peak_bytes;
    t->slots = e->slot >= t->slots ? (uint64_t)e->slot + 1 : t->slots;
    return NULL;
}

static const char *end_block(struct trace_slots *s, struct trace_event *e)
{
    if (!is_taken(s, e->slot))
        return "its block does not live";
    struct trace_slot *at = &s->slots[e->slot];
    if (e->kind == TRACE_free && at->state == SLOT_LET_GO)
        return "its block was freed before";
    e->block = at->block;
    if (at->state == SLOT_LIVE) {
        s->totals.live_at_end--;
        s->live_bytes -= at->bytes < s->live_bytes ? at->bytes : s->live_bytes;
    }
    at->state = e->kind == TRACE_free && s->knows_done ? SLOT_LET_GO : SLOT_FREE;
    return NULL;
}

const char *slots_follow(struct trace_slots *s, struct trace_event *e)
{
    const char *wrong = NULL;
    if (e->kind == TRACE_held || e->kind == TRACE_alloc)
        wrong = begin_block(s, e);
    else if (e->kind == TRACE_free || e->kind == TRACE_done)
        wrong = end_block(s, e);
    for (unsigned i = 0; i < e->use_count && !wrong; i++)
        wrong = is_taken(s, e->uses[i].slot) ? NULL : "it uses a block that does not live";
    if (wrong)
        return wrong;
    struct trace_totals *t = &s->totals;
    t->events++;
    t->by_kind[e->kind]++;
    t->last_ns = e->time_ns > t->last_ns ? add(0, e->time_ns) : t->last_ns;
    t->queues = e->queue >= t->queues ? (uint64_t)e->queue + 1 : t->queues;
    t->threads = e->thread >= t->threads ? (uint64_t)e->thread + 1 : t->threads;
    return NULL;
}

void slots_free(struct trace_slots *s)
{
    free(s->slots);
    s->slots = NULL;
    s->capacity = 0;
}

void slots_restart(struct trace_slots *s)
{
    slots_free(s); /* most may be untouched */
    s->live_bytes = 0;
    s->totals = (struct trace_totals){0};
}
