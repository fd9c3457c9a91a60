#include "replay/schedule.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/sort.h"

struct reading {
    struct schedule *s;
    uint64_t number; /* of the event, from 0 on */
    unsigned blocking_capacity;
    uint64_t ended_ns;
    bool has_begun;
    unsigned slot_capacity;
    uint64_t *slots;           /* bytes of the block there */
    struct trace_event before; /* without its uses */
};

static struct schedule_queue *queue_of(struct schedule *s, unsigned queue)
{
    s->queues = must_reach(s->queues, queue, &s->queue_capacity, sizeof *s->queues);
    if (queue >= s->queue_count)
        s->queue_count = queue + 1;
    return &s->queues[queue];
}

static void add_wait(struct schedule_queue *q, uint64_t behind)
{
    if (behind < q->commands && q->waits[q->commands - behind] < UINT16_MAX)
        q->waits[q->commands - behind]++;
}

static void add_part(struct schedule *s, const struct trace_event *e)
{
    for (unsigned i = 0; i < s->part_count; i++)
        if (s->parts[i].pool == e->pool && s->parts[i].memory == e->memory)
            return;
    if (s->part_count < SCHEDULE_PARTS_MAX)
        s->parts[s->part_count++] =
            (struct schedule_part){e->pool, e->memory, e->kind == TRACE_pool_begin};
}

/* Importers put the wait of a blocking call right after its command, at the same time. */
static bool waits_for_command(const struct trace_event *before, const struct trace_event *e)
{
    return e->kind == TRACE_wait && e->behind == 0 && e->call_ns == 0 &&
           schedule_is_command(before->kind) && before->queue == e->queue &&
           before->thread == e->thread && before->time_ns == e->time_ns;
}

static void add_bit(struct reading *r, bool bit)
{
    struct schedule *s = r->s;
    s->blocking = must_reach(s->blocking, (unsigned)(r->number / 8), &r->blocking_capacity, 1);
    if (bit)
        s->blocking[(r->number - 1) / 8] |= (unsigned char)(1u << (r->number - 1) % 8);
}

static void add_times(struct reading *r, const struct trace_event *e)
{
    if (e->kind == TRACE_held || e->kind == TRACE_done)
        return;
    const uint64_t begin_ns = trace_begin_ns(e), end_ns = trace_end_ns(e);
    if (!r->has_begun)
        r->s->began_ns = begin_ns;
    r->has_begun = true;
    r->ended_ns = larger(end_ns, r->ended_ns);
}

/* A map that does not say how many bytes it gives is one of a whole block (live.c). */
static void add_transfer(struct reading *r, const struct trace_event *e)
{
    uint64_t bytes = e->bytes;
    for (unsigned i = 0; e->kind == TRACE_map && !e->bytes && i < e->use_count; i++)
        bytes = larger(bytes, r->slots[e->uses[i].slot]);
    r->s->most_bytes = larger(bytes, r->s->most_bytes);
}

static void add_event(struct reading *r, const struct trace_event *e)
{
    struct schedule *s = r->s;
    struct schedule_queue *q = queue_of(s, e->queue);
    add_times(r, e);
    add_bit(r, r->number && waits_for_command(&r->before, e));
    if (e->kind == TRACE_held || e->kind == TRACE_alloc) {
        add_part(s, e);
        r->slots = must_reach(r->slots, e->slot, &r->slot_capacity, sizeof *r->slots);
        r->slots[e->slot] = e->bytes;
    } else if (e->kind == TRACE_pool_begin) {
        add_part(s, e);
    } else if (schedule_is_command(e->kind)) {
        q->commands++;
        q->waits = must_reach(q->waits, (unsigned)q->commands, &q->capacity, sizeof *q->waits);
        if (e->kind == TRACE_launch) {
            s->wanted[e->use_count < STANDIN_USES_MAX ? e->use_count : STANDIN_USES_MAX] = true;
            s->timed_launches += e->device_ns != 0;
            s->launches++;
        } else if (e->kind == TRACE_read || e->kind == TRACE_write || e->kind == TRACE_map) {
            add_transfer(r, e);
        }
    } else if (e->kind == TRACE_wait && e->behind) {
        add_wait(q, e->behind);
    } else if (e->kind == TRACE_order) {
        add_wait(queue_of(s, e->other), e->behind);
    }
    r->before = *e;
}

int schedule_read(struct trace_reader *reader, struct schedule *schedule, struct error *error)
{
    struct trace_event event;
    struct reading r = {.s = schedule};
    *schedule = (struct schedule){.has_times = trace_reader_info(reader)->knows[TRACE_KNOWS_times]};
    int more = trace_rewind(reader, error);
    while (!more && (more = trace_next(reader, &event, error)) > 0) {
        add_event(&r, &event);
        r.number++;
        more = 0;
    }
    free(r.slots);
    schedule->recorded_ns = schedule->has_times ? r.ended_ns - schedule->began_ns : 0;
    return more ? more : trace_rewind(reader, error);
}

void schedule_free(struct schedule *s)
{
    for (unsigned i = 0; i < s->queue_count; i++)
        free(s->queues[i].waits);
    free(s->queues);
    free(s->blocking);
    *s = (struct schedule){0};
}
