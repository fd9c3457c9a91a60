#include "replay/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "run/execute/device_source.h"

/* A queue of the trace is the device's queue of that number, so that strategies which give the
 * device commands themselves (a driver's pool) name the same queues. */
_Static_assert((int)DEVICE_QUEUES_MAX >= (int)ALLOCATOR_QUEUES_MAX,
               "each queue that a strategy knows");

/* A point of a queue that a later event waits for. */
struct point {
    uint64_t command; /* number, from 1 on */
    uint64_t number;  /* of the command's event in the trace, from 1 on */
    uint64_t event;   /* of the device */
    uint16_t waits;   /* that are still to come; UINT16_MAX: any number */
};

/* A queue of the trace. Moments are numbers of events, from 1 on. */
struct live_queue {
    uint64_t commands; /* that it was given */
    uint64_t latest;   /* of them */
    uint64_t waited;   /* the host has waited for its commands up to this moment */
    /* Its next command comes after those of each other queue up to this moment. */
    uint64_t behind[ALLOCATOR_QUEUES_MAX];
    unsigned point_count, point_capacity;
    struct point *points;
};

/* A call of a thread of the trace: its last. */
struct live_thread {
    bool has_called;
    uint64_t recorded_end_ns;
    uint64_t end_ns; /* in the replay, where that thread plays alone */
};

struct mapping {
    unsigned slot;
    uint64_t memory;
    void *host;
    uint64_t bytes;
    bool is_written; /* no device call: the host's contents go back at the unmap */
};

struct live {
    struct device *device;
    const struct schedule *schedule;
    uint64_t capacity_bytes;
    bool gaps; /* are kept */
    struct standins *standins;
    /* `host`: the host's end of all transfers. `pinned`: its handle on the device, so that a
     * transfer can run without a wait; 0: `host` is plain memory. */
    uint64_t pinned;
    void *host;

    unsigned thread_capacity;
    struct live_queue queues[ALLOCATOR_QUEUES_MAX];
    struct live_thread *threads;
    /* The call that ended last, among those whose thread has since made another call. */
    struct live_thread earlier;
    uint64_t call_begin_ns; /* of the current call */
    uint64_t call_late_ns;  /* its delay by a call of another thread that was in progress then */
    unsigned spare_count, spare_capacity;
    uint64_t *spare; /* events of the device that no point has */
    unsigned mapping_count, mapping_capacity;
    struct mapping *mappings;
    unsigned replays; /* that have ended */
    uint64_t start_ns;
    struct live_counts counts;
};

/* ---- queues ---- */

/* Later commands go to a queue. A device with one queue has all of them there. */
static int use_queue(struct live *l, unsigned queue, struct error *error)
{
    const struct device_queue_ops *queues = l->device->ops->queues;
    return queues ? queues->use(l->device, queue, error) : 0;
}

/* ---- points ---- */

static int take_event(struct live *l, uint64_t *event, struct error *error)
{
    if (!l->spare_count)
        return l->device->ops->events->create(l->device, event, error);
    *event = l->spare[--l->spare_count];
    return 0;
}

static void give_event(struct live *l, uint64_t event)
{
    l->spare = must_grow(l->spare, l->spare_count, &l->spare_capacity, sizeof *l->spare);
    l->spare[l->spare_count++] = event;
}

/* Marks the end of the queue, which is in use, if a later event waits for it. */
static int mark_point(struct live *l, unsigned queue, uint64_t number, struct error *error)
{
    struct live_queue *q = &l->queues[queue];
    const struct device_event_ops *events = l->device->ops->events;
    const struct schedule_queue *known = &l->schedule->queues[queue];
    q->commands++;
    q->latest = number;
    if (!events || !known->waits[q->commands])
        return 0;
    q->points = must_grow(q->points, q->point_count, &q->point_capacity, sizeof *q->points);
    struct point *p = &q->points[q->point_count];
    *p = (struct point){
        .command = q->commands, .number = number, .waits = known->waits[q->commands]};
    TRY(take_event(l, &p->event, error));
    q->point_count++;
    return events->record(l->device, p->event, error);
}

/* The point so many commands before the last of a queue; NULL: that was before the record began. */
static struct point *find_point(struct live_queue *q, uint64_t behind)
{
    for (unsigned i = q->point_count; i-- > 0 && behind < q->commands;)
        if (q->points[i].command == q->commands - behind)
            return &q->points[i];
    return NULL;
}

/* One wait for a point is over. */
static void leave_point(struct live *l, struct live_queue *q, struct point *p)
{
    if (p->waits == UINT16_MAX || --p->waits)
        return;
    give_event(l, p->event);
    *p = q->points[--q->point_count];
}

static void advance(uint64_t *moment, uint64_t number)
{
    *moment = number > *moment ? number : *moment;
}

static int play_wait(struct live *l, const struct trace_event *e, uint64_t number,
                     struct error *error)
{
    struct live_queue *q = &l->queues[e->queue];
    const struct device_ops *ops = l->device->ops;
    if (e->behind == 0) {
        TRY(use_queue(l, e->queue, error));
        q->waited = number;
        return ops->queues ? ops->queues->sync(l->device, e->queue, error)
                           : ops->sync(l->device, error);
    }
    struct point *p = find_point(q, e->behind);
    if (!p)
        return 0;
    const int code = ops->events->sync(l->device, p->event, error);
    advance(&q->waited, p->number);
    leave_point(l, q, p);
    return code;
}

static int play_order(struct live *l, const struct trace_event *e, struct error *error)
{
    TRY(use_queue(l, e->queue, error));
    struct live_queue *other = &l->queues[e->other];
    struct point *p = find_point(other, e->behind);
    if (!p)
        return 0;
    const int code = l->device->ops->events->wait(l->device, l->device, p->event, error);
    advance(&l->queues[e->queue].behind[e->other], p->number);
    leave_point(l, other, p);
    return code;
}

/* ---- memory that moves between queues ---- */

/* The next commands of a queue come after all that another has, unless they come after those up to
 * `moment` anyway. */
static int put_behind(struct live *l, unsigned queue, unsigned other, uint64_t moment,
                      uint64_t number, struct error *error)
{
    const struct device_event_ops *events = l->device->ops->events;
    const struct live_queue *o = &l->queues[other];
    uint64_t *behind = &l->queues[queue].behind[other], event;
    moment = moment < o->latest ? moment : o->latest;
    if (!events || *behind >= moment || o->waited >= moment)
        return 0;
    TRY(use_queue(l, other, error));
    TRY(take_event(l, &event, error));
    int code = events->record(l->device, event, error);
    THEN(code, use_queue(l, queue, error));
    THEN(code, events->wait(l->device, l->device, event, error));
    give_event(l, event);
    *behind = number;
    l->counts.crossings++;
    return code;
}

/* A block that was handed out for one queue is used on another: its memory may have been that of an
 * earlier block of the first. */
static int enter_block(struct live *l, struct live_block *block, unsigned queue, uint64_t number,
                       struct error *error)
{
    const uint32_t bit = UINT32_C(1) << queue;
    if (!block->is_reused || queue == block->queue)
        return 0;
    if (!(block->others & bit))
        TRY(put_behind(l, queue, block->queue, block->since, number, error));
    block->others |= bit;
    block->latest = number;
    return 0;
}

int live_let_go(struct live *l, const struct live_block *block, uint64_t number,
                struct error *error)
{
    for (unsigned queue = 0; block->others >> queue && queue < ALLOCATOR_QUEUES_MAX; queue++)
        if (block->others >> queue & 1)
            TRY(put_behind(l, block->queue, queue, block->latest, number, error));
    return 0;
}

/* ---- commands ---- */

static int play_launch(struct live *l, const struct trace_event *e, const struct live_use *uses,
                       unsigned count, struct error *error)
{
    struct standin_use used[STANDIN_USES_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < count && n < STANDIN_USES_MAX; i++, n++)
        used[n] = (struct standin_use){.memory = block_memory(uses[i].block),
                                       .offset = block_offset(uses[i].block),
                                       .bytes = uses[i].requested_bytes,
                                       .is_fresh = !uses[i].state->is_used};
    l->counts.wide += count > STANDIN_USES_MAX;
    l->counts.lost += count < e->use_count;
    /* A block that is not there changes the number of arguments: the kernel of that number may be
     * missing. */
    while (n && !l->schedule->wanted[n])
        n--;
    return standins_launch(l->standins, used, n, e->device_ns, error);
}

/* JAX copies 0 bytes; of a map 0 means all of the block. */
static uint64_t bytes_of(struct live *l, const struct trace_event *e, const struct live_use *use)
{
    const uint64_t bytes = e->bytes || e->kind != TRACE_map ? e->bytes : use->requested_bytes;
    if (bytes <= use->requested_bytes)
        return bytes;
    l->counts.shortened++;
    return use->requested_bytes;
}

/* Of a copy within one block the record does not say where it goes: from the end to the start. */
static int play_copy(struct live *l, const struct trace_event *e, const struct live_use *uses,
                     unsigned count, struct error *error)
{
    const struct live_use *from = &uses[0], *to = &uses[count > 1];
    for (unsigned i = 0; i < count; i++) {
        from = uses[i].access & TRACE_READS ? &uses[i] : from;
        to = uses[i].access & TRACE_WRITES ? &uses[i] : to;
    }
    uint64_t bytes = bytes_of(l, e, to), ahead = 0;
    if (from == to) {
        if (2 * bytes > to->requested_bytes) {
            bytes = to->requested_bytes / 2;
            l->counts.shortened++;
        }
        ahead = to->requested_bytes - bytes;
    } else if (bytes > from->requested_bytes) {
        bytes = from->requested_bytes;
        l->counts.shortened++;
    }
    return l->device->ops->copy(l->device, block_memory(to->block), block_offset(to->block),
                                block_memory(from->block), block_offset(from->block) + ahead, bytes,
                                error);
}

static int transfer(struct live *l, bool to_host, const struct block *block, uint64_t bytes,
                    bool waits, struct error *error)
{
    const struct device_ops *ops = l->device->ops;
    const uint64_t memory = block_memory(block), offset = block_offset(block);
    if (!waits && l->pinned)
        return to_host ? ops->copy(l->device, l->pinned, 0, memory, offset, bytes, error)
                       : ops->copy(l->device, memory, offset, l->pinned, 0, bytes, error);
    l->counts.blocking += !waits && ops->queues;
    return to_host ? ops->read(l->device, l->host, memory, offset, bytes, error)
                   : ops->write(l->device, memory, offset, l->host, bytes, error);
}

static int play_map(struct live *l, const struct trace_event *e, const struct live_use *use,
                    bool waits, struct error *error)
{
    const struct device_map_ops *maps = l->device->ops->maps;
    struct mapping made = {
        .slot = use->slot, .memory = block_memory(use->block), .bytes = bytes_of(l, e, use)};
    int code = 0;
    if (maps) {
        const unsigned access = (use->access & TRACE_READS ? DEVICE_READS : 0u) |
                                (use->access & TRACE_WRITES ? DEVICE_WRITES : 0u);
        code = maps->map(l->device, made.memory, block_offset(use->block), made.bytes, access,
                         waits, &made.host, error);
    } else {
        made.is_written = use->access & TRACE_WRITES;
        l->counts.unmapped += l->device->ops->queues != NULL;
        if (use->access & TRACE_READS)
            code = transfer(l, true, use->block, made.bytes, waits, error);
    }
    if (code)
        return code;
    l->mappings =
        must_grow(l->mappings, l->mapping_count, &l->mapping_capacity, sizeof *l->mappings);
    l->mappings[l->mapping_count++] = made;
    return 0;
}

static int play_unmap(struct live *l, const struct live_use *use, struct error *error)
{
    unsigned at = l->mapping_count;
    while (at > 0 && l->mappings[at - 1].slot != use->slot)
        at--;
    if (at == 0) { /* it was mapped before the record began */
        l->counts.lost++;
        return 0;
    }
    const struct mapping m = l->mappings[at - 1];
    l->mappings[at - 1] = l->mappings[--l->mapping_count];
    if (l->device->ops->maps)
        return l->device->ops->maps->unmap(l->device, m.memory, m.host, error);
    return m.is_written ? transfer(l, false, use->block, m.bytes, false, error) : 0;
}

static int play_command(struct live *l, const struct trace_event *e, uint64_t number,
                        const struct live_use *uses, unsigned count, struct error *error)
{
    const bool waits = schedule_blocks(l->schedule, number - 1);
    if (e->kind == TRACE_launch)
        return play_launch(l, e, uses, count, error);
    if (count == 0) {
        l->counts.lost++;
        return 0;
    }
    switch (e->kind) {
    case TRACE_copy:
        return play_copy(l, e, uses, count, error);
    case TRACE_fill:
        return l->device->ops->fill(l->device, block_memory(uses->block), block_offset(uses->block),
                                    0, bytes_of(l, e, uses), error);
    case TRACE_write:
    case TRACE_read:
        return transfer(l, e->kind == TRACE_read, uses->block, bytes_of(l, e, uses), waits, error);
    case TRACE_map:
        return play_map(l, e, uses, waits, error);
    default:
        return play_unmap(l, uses, error);
    }
}

static int give_command(struct live *l, const struct trace_event *e, uint64_t number,
                        const struct live_use *uses, unsigned count, struct error *error)
{
    for (unsigned i = 0; i < count; i++)
        TRY(enter_block(l, uses[i].state, e->queue, number, error));
    TRY(use_queue(l, e->queue, error));
    const int code = play_command(l, e, number, uses, count, error);
    for (unsigned i = 0; i < count; i++)
        uses[i].state->is_used = true;
    return code ? code : mark_point(l, e->queue, number, error);
}

int live_command(struct live *l, const struct trace_event *e, uint64_t number,
                 const struct live_use *uses, unsigned count, struct error *error)
{
    /* The call of the command before has waited for it. */
    if (e->kind == TRACE_wait && number > 1 && schedule_blocks(l->schedule, number - 2)) {
        l->queues[e->queue].waited = number;
        return 0;
    }
    if (e->kind == TRACE_wait)
        return play_wait(l, e, number, error);
    if (e->kind == TRACE_order)
        return play_order(l, e, error);
    return schedule_is_command(e->kind) ? give_command(l, e, number, uses, count, error) : 0;
}

/* ---- gaps ---- */

/* Events that are no call, or a part of the call before: what the driver says, and further waits of
 * one call. */
static bool is_no_call(const struct trace_event *e)
{
    return e->kind == TRACE_held || e->kind == TRACE_done ||
           (e->kind == TRACE_wait && e->call_ns == 0);
}

/* Sleeps for most of a long gap: an application that works leaves a core to a driver that uses the
 * others. */
static void pass_until(uint64_t until_ns)
{
    enum { SPIN_NS = 1000000 };
    uint64_t now_ns;
    while ((now_ns = clock_ns()) < until_ns)
        if (until_ns - now_ns > 2 * SPIN_NS)
            nanosleep(&(struct timespec){(time_t)((until_ns - now_ns - SPIN_NS) / 1000000000u),
                                         (long)((until_ns - now_ns - SPIN_NS) % 1000000000u)},
                      NULL);
}

/* The call after which one that began at this time in the record comes: of those that had ended,
 * the last. *overlaps: another call was in progress. */
static const struct live_thread *call_before(const struct live *l, uint64_t begin_ns,
                                             bool *overlaps)
{
    const struct live_thread *last = &l->earlier;
    *overlaps = false;
    for (unsigned i = 0; i < l->thread_capacity; i++) {
        const struct live_thread *t = &l->threads[i];
        *overlaps |= t->has_called && t->recorded_end_ns > begin_ns;
        if (t->has_called && t->recorded_end_ns <= begin_ns &&
            t->recorded_end_ns >= last->recorded_end_ns)
            last = t;
    }
    return last;
}

void live_call(struct live *l, const struct trace_event *e)
{
    if (!l->gaps || is_no_call(e))
        return;
    const uint64_t begin_ns = trace_begin_ns(e);
    bool overlaps;
    const struct live_thread *before = call_before(l, begin_ns, &overlaps);
    const uint64_t due_ns = before->end_ns + (begin_ns - before->recorded_end_ns);
    pass_until(due_ns);
    l->call_begin_ns = clock_ns();
    l->call_late_ns = overlaps ? l->call_begin_ns - due_ns : 0;
}

void live_return(struct live *l, const struct trace_event *e)
{
    if (!l->gaps || is_no_call(e))
        return;
    if (trace_is_command(e->kind))
        pass_until(l->call_begin_ns + e->call_ns);
    l->threads = must_reach(l->threads, e->thread, &l->thread_capacity, sizeof *l->threads);
    struct live_thread *t = &l->threads[e->thread];
    if (t->has_called && t->recorded_end_ns >= l->earlier.recorded_end_ns)
        l->earlier = *t;
    *t = (struct live_thread){true, trace_end_ns(e), clock_ns() - l->call_late_ns};
}

/* ---- a replay ---- */

/* In a recording of gamut a replay is a phase: "replay 0" is the first. */
static void tell_phase(struct live *l, bool begins)
{
    char name[32];
    snprintf(name, sizeof name, "replay %u", l->replays);
    if (l->device->ops->phase)
        l->device->ops->phase(l->device, begins ? name : NULL);
    l->replays += !begins;
}

int live_begin(struct live *l, struct error *error)
{
    TRY(l->device->ops->sync(l->device, error));
    for (unsigned i = 0; i < l->thread_capacity; i++)
        l->threads[i] = (struct live_thread){0};
    l->counts = (struct live_counts){0};
    tell_phase(l, true);
    l->start_ns = clock_ns();
    l->earlier = (struct live_thread){false, l->schedule->began_ns, l->start_ns};
    return 0;
}

int live_wait(struct live *l, struct error *error)
{
    return l->device->ops->sync(l->device, error);
}

/* Mappings that the record leaves are given up; points that are left give their events back. */
static int clear(struct live *l, struct error *error)
{
    int code = 0;
    for (unsigned i = 0; i < l->mapping_count && l->device->ops->maps && !code; i++)
        code = l->device->ops->maps->unmap(l->device, l->mappings[i].memory, l->mappings[i].host,
                                           error);
    l->mapping_count = 0;
    for (unsigned i = 0; i < ALLOCATOR_QUEUES_MAX; i++) {
        struct live_queue *q = &l->queues[i];
        for (unsigned p = 0; p < q->point_count; p++)
            give_event(l, q->points[p].event);
        *q = (struct live_queue){.points = q->points, .point_capacity = q->point_capacity};
    }
    return code ? code : l->device->ops->sync(l->device, error);
}

int live_end(struct live *l, uint64_t *wall_ns, struct error *error)
{
    tell_phase(l, false);
    int code = l->device->ops->sync(l->device, error);
    *wall_ns = clock_ns() - l->start_ns;
    ALSO(code, clear(l, code ? NULL : error));
    return code;
}

const struct live_counts *live_counts(const struct live *l)
{
    return &l->counts;
}

/* ---- the whole ---- */

const struct schedule *live_schedule(const struct live *l)
{
    return l->schedule;
}

struct source live_source(struct live *l)
{
    return device_source(l->device, l->capacity_bytes);
}

enum driver_memory live_kind(const struct live *l, unsigned memory)
{
    return l->device->ops->host_memory ? (enum driver_memory)memory : MEMORY_DEVICE;
}

/* Memory on the host that transfers without a wait may use; plain memory where there is none. */
static void open_host_memory(struct live *l)
{
    const struct driver_memory_ops *kinds = l->device->ops->host_memory;
    const uint64_t bytes = l->schedule->most_bytes ? l->schedule->most_bytes : 1;
    struct error error;
    if (kinds && !kinds->alloc(l->device, MEMORY_PINNED, bytes, &l->pinned, &l->host, &error))
        return;
    l->pinned = 0;
    l->host = must_alloc(bytes);
}

int live_open(struct device *device, const struct schedule *schedule, uint64_t capacity_bytes,
              struct live **live, struct error *error)
{
    struct live *l = must_alloc(sizeof *l);
    *l = (struct live){.device = device, .schedule = schedule, .capacity_bytes = capacity_bytes};
    open_host_memory(l);
    int code = standins_open(device, schedule->wanted, &l->standins, error);
    if (code)
        live_close(l);
    else
        *live = l;
    return code;
}

void live_keep_gaps(struct live *l, bool gaps)
{
    l->gaps = gaps && l->schedule->has_times;
}

void live_close(struct live *l)
{
    if (!l)
        return;
    for (unsigned i = 0; i < l->spare_count; i++)
        l->device->ops->events->destroy(l->device, l->spare[i]);
    for (unsigned i = 0; i < ALLOCATOR_QUEUES_MAX; i++)
        free(l->queues[i].points);
    standins_close(l->standins);
    const uint64_t bytes = l->schedule->most_bytes ? l->schedule->most_bytes : 1;
    if (l->pinned)
        l->device->ops->host_memory->free(l->device, MEMORY_PINNED, l->pinned, bytes, NULL);
    else
        free(l->host);
    free(l->threads);
    free(l->spare);
    free(l->mappings);
    free(l);
}
