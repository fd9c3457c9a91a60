#include "replay/fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"

struct reading {
    struct lifetimes *out;
    unsigned capacity, slot_capacity;
    size_t *buffer_of; /* by slot: index + 1; 0: no block that has bytes */
    uint64_t live_bytes;
    int64_t event;
    bool ends_at_done;
};

static size_t *slot_of(struct reading *r, unsigned slot)
{
    r->buffer_of = must_reach(r->buffer_of, slot, &r->slot_capacity, sizeof *r->buffer_of);
    return &r->buffer_of[slot];
}

static void begin_life(struct reading *r, const struct trace_event *e)
{
    struct lifetimes *l = r->out;
    l->request_count++;
    *slot_of(r, e->slot) = 0;
    if (e->bytes == 0)
        return;
    l->buffers = must_grow(l->buffers, (unsigned)l->count, &r->capacity, sizeof *l->buffers);
    l->buffers[l->count++] = (struct pack_buffer){.lower = r->event,
                                                  .upper = INT64_MAX,
                                                  .size = (int64_t)e->bytes,
                                                  .alignment = (int64_t)e->alignment};
    *slot_of(r, e->slot) = l->count;
    r->live_bytes += e->bytes;
    if (r->live_bytes > l->peak_bytes)
        l->peak_bytes = r->live_bytes;
}

static void end_life(struct reading *r, unsigned slot)
{
    size_t *at = slot_of(r, slot);
    if (!*at)
        return;
    struct pack_buffer *buffer = &r->out->buffers[*at - 1];
    buffer->upper = r->event;
    r->live_bytes -= (uint64_t)buffer->size;
    *at = 0;
}

int lifetimes_read(struct trace_reader *reader, struct lifetimes *lifetimes, struct error *error)
{
    struct reading r = {.out = lifetimes,
                        .ends_at_done = replay_frees_at_done(reader, FREE_AT_LET_GO)};
    struct trace_event event;
    *lifetimes = (struct lifetimes){0};
    int more = trace_rewind(reader, error);
    while (!more && (more = trace_next(reader, &event, error)) > 0) {
        r.event++;
        more = 0;
        if (event.kind == TRACE_held || event.kind == TRACE_alloc)
            begin_life(&r, &event);
        else if (event.kind == TRACE_done || (event.kind == TRACE_free && !r.ends_at_done))
            end_life(&r, event.slot);
    }
    for (size_t i = 0; i < lifetimes->count; i++)
        if (lifetimes->buffers[i].upper == INT64_MAX)
            lifetimes->buffers[i].upper = r.event + 1;
    free(r.buffer_of);
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
    *optimum = (struct optimum){.bound_bytes = l->peak_bytes};
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
