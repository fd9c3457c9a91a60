/* Who waits for whom.
 *
 *   1. The commands of a lane run one after the other; lanes run side by side.
 *   2. Each piece of a buffer knows, for each copy and lane, the last command of the lane that read
 *      that copy and the last that wrote it. A command waits for the writers of what it uses and,
 *      if it writes, for the readers; nobody waits for what is not in the way. So both halves of a
 *      stencil go on together while their borders are exchanged.
 *   3. To wait is to make the lane wait for an event of the other, or, where the devices can't or
 * the strategy does not want that, to let the host wait for the other lane.
 *   4. The lanes of different queues of the group are the program's to order: by a host that waits.
 *      Where it has not, and one of the two writes, the contents are undefined; check_order finds
 * it.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "residency/group.h"

static bool is_asynchronous(const struct group *g)
{
    for (unsigned m = 0; m < g->count; m++)
        if (g->members[m].device->ops->events)
            return true;
    return false;
}

static bool has_events(const struct group *g)
{
    return g->how.by_events && g->together;
}

static int make_events(struct group *g, struct lane *lane, struct error *error)
{
    struct device *d = g->members[lane->member].device;
    int code = 0;
    lane->has_events = true;
    for (unsigned e = 0; e < LANE_EVENTS && !code; e++)
        code = d->ops->events->create(d, &lane->events[e], error);
    return group_member_said(g, lane->member, code, error);
}

int order_open(struct group *g, struct error *error)
{
    if (!is_asynchronous(g))
        return 0;
    g->lane_count = g->queues * g->count * LANE_WORKS;
    g->lanes = must_alloc(g->lane_count * sizeof *g->lanes);
    g->known = must_alloc(g->lane_count * g->lane_count * sizeof *g->known);
    int code = 0;
    for (unsigned q = 0; q < g->queues && !code; q++)
        for (unsigned m = 0; m < g->count && !code; m++)
            for (unsigned w = 0; w < LANE_WORKS && !code; w++) {
                struct lane *lane = &g->lanes[(q * g->count + m) * LANE_WORKS + w];
                *lane = (struct lane){.member = m, .member_queue = q * LANE_WORKS + w, .queue = q};
                if (has_events(g))
                    code = make_events(g, lane, error);
            }
    return code;
}

void order_close(struct group *g)
{
    for (unsigned l = 0; l < g->lane_count; l++) {
        struct device *d = g->members[g->lanes[l].member].device;
        for (unsigned e = 0; e < LANE_EVENTS && g->lanes[l].has_events; e++)
            if (g->lanes[l].events[e])
                d->ops->events->destroy(d, g->lanes[l].events[e]);
    }
    free(g->lanes);
    free(g->known);
}

/* Transfers for which the host waits gain nothing from a queue of their own. */
unsigned order_lane(const struct group *g, unsigned member, enum lane_work work)
{
    if (!has_events(g))
        work = LANE_COMMANDS;
    return (g->queue * g->count + member) * LANE_WORKS + work;
}

int order_use(struct group *g, unsigned lane, struct error *error)
{
    if (!g->lane_count)
        return 0;
    const struct lane *l = &g->lanes[lane];
    struct member *m = &g->members[l->member];
    if (m->queue == l->member_queue)
        return 0;
    int code = m->device->ops->queues->use(m->device, l->member_queue, error);
    if (!code)
        m->queue = l->member_queue;
    return group_member_said(g, l->member, code, error);
}

void order_completed_lane(struct group *g, unsigned lane)
{
    if (g->lane_count)
        g->lanes[lane].completed = g->lanes[lane].issued;
}

void order_completed_member(struct group *g, unsigned member)
{
    for (unsigned l = 0; l < g->lane_count; l++)
        if (g->lanes[l].member == member)
            order_completed_lane(g, l);
}

static int host_waits(struct group *g, unsigned lane, struct error *error)
{
    const struct lane *l = &g->lanes[lane];
    struct device *d = g->members[l->member].device;
    int code = d->ops->queues->sync(d, l->member_queue, error);
    if (!code)
        order_completed_lane(g, lane);
    return group_member_said(g, l->member, code, error);
}

static int wait_for(struct group *g, unsigned lane, unsigned other, uint64_t ticket,
                    struct error *error)
{
    uint64_t *known = &g->known[lane * g->lane_count + other];
    struct lane *from = &g->lanes[other];
    if (lane == other || ticket <= from->completed || ticket <= *known)
        return 0;
    if (!has_events(g))
        return host_waits(g, other, error);
    unsigned member = g->lanes[lane].member;
    struct device *d = g->members[member].device;
    int code = order_use(g, lane, error);
    if (code)
        return code;
    code = d->ops->events->wait(d, g->members[from->member].device,
                                from->events[ticket % LANE_EVENTS], error);
    if (!code)
        *known = ticket;
    return group_member_said(g, member, code, error);
}

static int after_piece(struct group *g, unsigned lane, struct piece *p, unsigned copy, bool writes,
                       struct error *error)
{
    int code = 0;
    for (unsigned wrote = !writes; wrote < 2 && !code; wrote++) {
        const uint64_t *tickets = order_tickets(g, p, copy, wrote);
        for (unsigned l = 0; l < g->lane_count && !code; l++)
            if (tickets[l] && g->lanes[l].queue == g->lanes[lane].queue)
                code = wait_for(g, lane, l, tickets[l], error);
    }
    return code;
}

int order_before(struct group *g, unsigned lane, const struct buffer *b, unsigned copy,
                 uint64_t begin, uint64_t end, bool writes, struct error *error)
{
    int code = 0;
    if (!g->lane_count)
        return 0;
    for (struct piece *p = piece_at(b, begin); p && p->begin < end && !code; p = p->next)
        code = after_piece(g, lane, p, copy, writes, error);
    return code;
}

static int unordered(const struct group *g, unsigned lane, unsigned other, const struct piece *p,
                     bool writes, bool wrote, struct error *error)
{
    const struct lane *l = &g->lanes[lane], *o = &g->lanes[other];
    return error_set(error, ERR_PROGRAM,
                     "nobody has ordered two commands: queue %u on %s %s bytes %llu to %llu of a "
                     "buffer that queue %u on %s %s; wait for queue %u first",
                     l->queue, g->members[l->member].id, writes ? "writes" : "reads",
                     (unsigned long long)p->begin, (unsigned long long)p->end, o->queue,
                     g->members[o->member].id, wrote ? "writes" : "reads", o->queue);
}

int order_check(const struct group *g, unsigned lane, const struct buffer *b, uint64_t begin,
                uint64_t end, bool writes, struct error *error)
{
    if (!g->check_order)
        return 0;
    for (struct piece *p = piece_at(b, begin); p && p->begin < end; p = p->next)
        for (unsigned copy = 0; copy < g->count; copy++)
            for (unsigned wrote = !writes; wrote < 2; wrote++)
                for (unsigned l = 0; l < g->lane_count; l++)
                    if (g->lanes[l].queue != g->lanes[lane].queue &&
                        order_tickets(g, p, copy, wrote)[l] > g->lanes[l].completed)
                        return unordered(g, lane, l, p, writes, wrote, error);
    return 0;
}

int order_issued(struct group *g, unsigned lane, uint64_t *ticket, struct error *error)
{
    *ticket = 0;
    if (!g->lane_count)
        return 0;
    struct lane *l = &g->lanes[lane];
    struct device *d = g->members[l->member].device;
    *ticket = ++l->issued;
    if (!has_events(g))
        return 0;
    int code = d->ops->events->record(d, l->events[*ticket % LANE_EVENTS], error);
    return group_member_said(g, l->member, code, error);
}

/* Whoever writes has waited for all others: to come after it is to come after them. */
void order_note(const struct group *g, unsigned lane, uint64_t ticket, struct piece *p,
                unsigned copy, bool writes)
{
    if (!g->lane_count)
        return;
    for (unsigned kind = 0; kind < 2 && writes; kind++)
        for (unsigned l = 0; l < g->lane_count; l++)
            order_tickets(g, p, copy, kind)[l] = 0;
    order_tickets(g, p, copy, writes)[lane] = ticket;
}

int order_join(struct group *g, unsigned lane, unsigned other, struct error *error)
{
    return g->lane_count ? wait_for(g, lane, other, g->lanes[other].issued, error) : 0;
}

int order_wait_for_others(struct group *g, const struct buffer *b, unsigned copy,
                          struct error *error)
{
    int code = 0;
    for (struct piece *p = g->lane_count ? b->first : NULL; p; p = p->next)
        for (unsigned wrote = 0; wrote < 2; wrote++)
            for (unsigned l = 0; l < g->lane_count && !code; l++)
                if (g->lanes[l].member != copy &&
                    order_tickets(g, p, copy, wrote)[l] > g->lanes[l].completed)
                    code = host_waits(g, l, error);
    return code;
}
