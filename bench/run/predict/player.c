#include "run/predict/player.h"

#include "base/clock.h"

/* A recorded time of the host, at its pace of now. */
static double host_ns(const struct player *p, uint64_t ns)
{
    return (double)ns * (p->host_factor > 0 ? p->host_factor : 1);
}

void player_gap(struct player *p, const struct trace_event *e)
{
    const uint64_t begin_ns = trace_begin_ns(e), end_ns = trace_end_ns(e);
    if (begin_ns > p->ended_ns)
        dry_pass(p->dry, host_ns(p, begin_ns - p->ended_ns));
    if (end_ns > p->ended_ns) /* a call of another thread may last longer */
        p->ended_ns = end_ns;
}

/* ---- the strategy's calls ---- */

static uint64_t ns_in_source(const struct allocator *allocator)
{
    const struct source_counts *c = &allocator->source->counts;
    return c->alloc_ns + c->touch_ns + c->free_ns;
}

/* Adds the strategy's own time, which is measured. The time in the source is taken off, because the
 * source here looks into an atlas. */
static void add_own_time(struct player *p, const struct allocator *allocator, uint64_t start_ns,
                         uint64_t in_source_before_ns)
{
    const uint64_t all_ns = clock_ns() - start_ns;
    const uint64_t source_ns = ns_in_source(allocator) - in_source_before_ns;
    if (all_ns <= source_ns)
        return;
    dry_pass(p->dry, (double)(all_ns - source_ns));
    p->allocator_ns += (double)(all_ns - source_ns);
}

int player_alloc(struct player *p, struct allocator *allocator, const struct alloc_request *request,
                 struct block *block)
{
    if (!p->own_time)
        return allocator_alloc(allocator, request, block);
    const uint64_t before_ns = ns_in_source(allocator), start_ns = clock_ns();
    int code = allocator_alloc(allocator, request, block);
    add_own_time(p, allocator, start_ns, before_ns);
    return code;
}

int player_free(struct player *p, struct allocator *allocator, struct block *block, const char *tag,
                uint64_t requested_bytes)
{
    if (!p->own_time)
        return allocator_free(allocator, block, tag, requested_bytes);
    const uint64_t before_ns = ns_in_source(allocator), start_ns = clock_ns();
    int code = allocator_free(allocator, block, tag, requested_bytes);
    add_own_time(p, allocator, start_ns, before_ns);
    return code;
}

/* ---- commands ---- */

void player_command(struct player *p, const struct trace_event *e,
                    uint64_t (*memory_of)(void *context, unsigned slot), void *context)
{
    for (unsigned i = 0; i < e->use_count; i++) {
        const uint64_t memory = memory_of(context, e->uses[i].slot);
        if (memory)
            dry_use(p->dry, memory);
    }
    if (trace_is_command(e->kind))
        dry_command(p->dry, host_ns(p, e->call_ns), (double)e->device_ns);
    else if (e->kind == TRACE_write || e->kind == TRACE_read)
        dry_transfer(p->dry, e->kind == TRACE_write ? "write" : "read", e->bytes);
    else if (e->kind == TRACE_wait)
        dry_wait(p->dry, e->queue);
    else if (e->kind == TRACE_order && !e->behind)
        dry_order(p->dry, e->queue, e->other);
}
