#include "replay/fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/sort.h"

struct life {
    size_t buffer; /* index + 1; 0: no block that has bytes */
    uint64_t needed_bytes;
};

struct reading {
    struct trace_reader *reader;
    struct lifetimes *out;
    unsigned capacity, slot_capacity;
    struct life *lives; /* by slot */
    uint64_t live_bytes, needed_bytes, device_bytes;
    int64_t event;
    bool ends_at_done;
};

static struct life *life_of(struct reading *r, unsigned slot)
{
    r->lives = must_reach(r->lives, slot, &r->slot_capacity, sizeof *r->lives);
    return &r->lives[slot];
}

/* A block that ends with the trace, unless end_life is called. */
static struct life add_life(struct reading *r, const struct trace_event *e, uint64_t needed_bytes)
{
    struct lifetimes *l = r->out;
    l->buffers = must_grow(l->buffers, (unsigned)l->count, &r->capacity, sizeof *l->buffers);
    l->buffers[l->count++] = (struct pack_buffer){.lower = r->event,
                                                  .upper = INT64_MAX,
                                                  .size = (int64_t)e->bytes,
                                                  .alignment = (int64_t)e->alignment};
    r->live_bytes += e->bytes;
    r->needed_bytes += needed_bytes;
    l->demand.peak_bytes = larger(l->demand.peak_bytes, r->live_bytes);
    l->demand.needed_peak_bytes = larger(l->demand.needed_peak_bytes, r->needed_bytes);
    return (struct life){l->count, needed_bytes};
}

static void end_life(struct reading *r, struct life *life, int64_t event)
{
    if (!life->buffer)
        return;
    struct pack_buffer *buffer = &r->out->buffers[life->buffer - 1];
    buffer->upper = event;
    r->live_bytes -= (uint64_t)buffer->size;
    r->needed_bytes -= life->needed_bytes;
    life->buffer = 0;
}

static void take_request(struct reading *r, const struct trace_event *e)
{
    struct demand *d = &r->out->demand;
    const bool is_dispensable = trace_is_dispensable(r->reader, e);
    const bool is_refused = e->kind == TRACE_refused;
    struct life refused = {0}, *life = is_refused ? &refused : life_of(r, e->slot);
    *life = (struct life){0};
    if (is_refused && is_dispensable)
        return;
    d->ends_refused = is_refused;
    d->refused_count += is_refused;
    d->dispensable_count += is_dispensable;
    r->out->request_count += !is_refused;
    if (is_dispensable)
        d->dispensable_most_bytes = larger(d->dispensable_most_bytes, e->bytes);
    /* A refused request that exceeds the device says nothing of what the program needs. */
    if (e->bytes && (!is_refused || r->live_bytes + e->bytes <= r->device_bytes))
        *life = add_life(r, e, is_dispensable ? 0 : e->bytes);
    end_life(r, &refused, r->event + 1);
}

int lifetimes_read(struct trace_reader *reader, struct lifetimes *lifetimes, struct error *error)
{
    const uint64_t capacity_bytes = trace_reader_info(reader)->capacity_bytes;
    struct reading r = {.reader = reader,
                        .out = lifetimes,
                        .device_bytes = replay_device(capacity_bytes, NULL).memory_bytes,
                        .ends_at_done = replay_frees_at_done(reader, FREE_AT_LET_GO)};
    struct trace_event event;
    *lifetimes = (struct lifetimes){0};
    int more = trace_rewind(reader, error);
    while (!more && (more = trace_next(reader, &event, error)) > 0) {
        r.event++;
        more = 0;
        if (event.kind == TRACE_held || event.kind == TRACE_alloc || event.kind == TRACE_refused)
            take_request(&r, &event);
        else if (event.kind == TRACE_done || (event.kind == TRACE_free && !r.ends_at_done))
            end_life(&r, life_of(&r, event.slot), r.event);
    }
    for (size_t i = 0; i < lifetimes->count; i++)
        if (lifetimes->buffers[i].upper == INT64_MAX)
            lifetimes->buffers[i].upper = r.event + 1;
    free(r.lives);
    return more;
}

void lifetimes_free(struct lifetimes *lifetimes)
{
    free(lifetimes->buffers);
    *lifetimes = (struct lifetimes){0};
}

void lifetimes_optimum(const struct lifetimes *l, int64_t time_ns, struct optimum *optimum)
{
    const struct pack_options options = {.time_limit_ns = time_ns};
    struct pack_result plan;
    struct error error = {0};
    *optimum = (struct optimum){.bound_bytes = l->demand.peak_bytes};
    if (pack_solve(l->buffers, l->count, &options, &plan, &error)) {
        snprintf(optimum->why_not, sizeof optimum->why_not, "%.255s", error.text);
        return;
    }
    *optimum = (struct optimum){.known = true,
                                .bytes = (uint64_t)plan.height,
                                .bound_bytes = (uint64_t)plan.lower_bound,
                                .proven = plan.optimal};
    pack_result_free(&plan);
}
