/* What moves, from where, and by which way.
 *
 *   1. A piece moves if it has contents and the copy that is to be used is not current.
 *   2. It comes from the member that wrote it, or else (and always where whole memories move) from
 *      the first whose copy is current.
 *   3. Directly, in the receiver's queue for transfers; or to the shadow on the host and from
 * there. What the shadow has of the latest contents need not be fetched again, and is still there
 *      when the device that it came from is lost.
 *   4. Neighbours that come from the same place come in one transfer.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "residency/group.h"

static bool is_healthy(const struct group *g, const struct piece *p, int member)
{
    return member >= 0 && (unsigned)member < g->count && (p->current & bit(member)) &&
           !g->members[member].lost;
}

/* Where the contents of a piece can be had from, or NOBODY. */
static int source_of(const struct group *g, const struct piece *p)
{
    if ((p->current & bit(HOST_SHADOW)) && !g->direct)
        return HOST_SHADOW;
    if (g->how.by_range && is_healthy(g, p, p->writer))
        return p->writer;
    for (unsigned m = 0; m < g->count; m++)
        if (is_healthy(g, p, (int)m))
            return (int)m;
    return p->current & bit(HOST_SHADOW) ? HOST_SHADOW : NOBODY;
}

static int nowhere(const struct group *g, const struct piece *p, struct error *error)
{
    unsigned m = 0;
    while (m + 1 < g->count && !(p->current & bit((int)m)))
        m++;
    return error_set(error, ERR_DEVICE_LOST,
                     "bytes %llu to %llu of a buffer were on %s alone, which is lost",
                     (unsigned long long)p->begin, (unsigned long long)p->end, g->members[m].id);
}

/* A range of one buffer, all of it in the same place. */
struct transfer {
    struct buffer *buffer;
    struct piece *first;
    uint64_t begin, end;
};

static void note(const struct group *g, unsigned lane, uint64_t ticket, const struct transfer *t,
                 unsigned copy, bool writes)
{
    for (struct piece *p = t->first; p && p->begin < t->end; p = p->next)
        order_note(g, lane, ticket, p, copy, writes);
}

/* What a direct transfer does to the copy that it comes from: it reads it, or takes it with it. */
static struct transfer taken(const struct group *g, const struct transfer *t)
{
    const struct transfer all = {t->buffer, t->buffer->first, 0, t->buffer->bytes};
    return g->info.peers_whole ? all : *t;
}

/* The driver says that a device is lost, and not which of the two. */
static unsigned which_is_lost(const struct group *g, unsigned from, unsigned to)
{
    struct device *d = g->members[from].device;
    return d->ops->sync(d, NULL) == ERR_DEVICE_LOST ? from : to;
}

static int move_directly(struct group *g, const struct transfer *t, unsigned from, unsigned to,
                         struct error *error)
{
    struct device *d = g->members[to].device;
    unsigned lane = order_lane(g, to, LANE_TRANSFERS);
    const struct transfer source = taken(g, t);
    const bool takes = g->info.peers_whole;
    uint64_t ticket;
    int code = order_before(g, lane, t->buffer, from, source.begin, source.end, takes, error);
    if (!code)
        code = order_before(g, lane, t->buffer, to, t->begin, t->end, true, error);
    if (!code)
        code = order_use(g, lane, error);
    if (code)
        return code;
    code = d->ops->peers->copy(d, t->buffer->memory[to], t->begin, g->members[from].device,
                               t->buffer->memory[from], t->begin, t->end - t->begin, error);
    if (code)
        return group_member_said(g, code == ERR_DEVICE_LOST ? which_is_lost(g, from, to) : to, code,
                                 error);
    code = order_issued(g, lane, &ticket, error);
    note(g, lane, ticket, &source, from, takes);
    note(g, lane, ticket, t, to, true);
    return code;
}

/* Reading waits for all that its lane was given before. */
static int fetch(struct group *g, const struct transfer *t, unsigned from, char *host,
                 struct error *error)
{
    struct device *d = g->members[from].device;
    unsigned lane = order_lane(g, from, LANE_COMMANDS);
    int code = order_before(g, lane, t->buffer, from, t->begin, t->end, false, error);
    if (!code)
        code = order_use(g, lane, error);
    if (code)
        return code;
    code = d->ops->read(d, host, t->buffer->memory[from], t->begin, t->end - t->begin, error);
    if (!code)
        order_completed_lane(g, lane);
    return group_member_said(g, from, code, error);
}

static int send(struct group *g, const struct transfer *t, unsigned to, struct error *error)
{
    struct device *d = g->members[to].device;
    unsigned lane = order_lane(g, to, LANE_COMMANDS);
    uint64_t ticket;
    int code = order_before(g, lane, t->buffer, to, t->begin, t->end, true, error);
    if (!code)
        code = order_use(g, lane, error);
    if (code)
        return code;
    code = d->ops->write(d, t->buffer->memory[to], t->begin, t->buffer->shadow + t->begin,
                         t->end - t->begin, error);
    if (code)
        return group_member_said(g, to, code, error);
    code = order_issued(g, lane, &ticket, error);
    note(g, lane, ticket, t, to, true);
    return code;
}

static int move_by_host(struct group *g, const struct transfer *t, int from, unsigned to,
                        struct error *error)
{
    if (from != HOST_SHADOW) {
        if (!t->buffer->shadow)
            t->buffer->shadow = must_alloc(t->buffer->bytes);
        int code = fetch(g, t, (unsigned)from, t->buffer->shadow + t->begin, error);
        if (code)
            return code;
        for (struct piece *p = t->first; p && p->begin < t->end; p = p->next)
            p->current |= bit(HOST_SHADOW);
    }
    return send(g, t, to, error);
}

static int move(struct group *g, const struct transfer *t, int from, unsigned to,
                struct error *error)
{
    int code = g->direct && from != HOST_SHADOW ? move_directly(g, t, (unsigned)from, to, error)
                                                : move_by_host(g, t, from, to, error);
    if (code)
        return code;
    for (struct piece *p = t->first; p && p->begin < t->end; p = p->next)
        p->current = g->how.shared ? p->current | bit((int)to) : bit((int)to);
    g->counts.migration_count++;
    g->counts.migration_bytes += t->end - t->begin;
    return 0;
}

static bool is_missing(const struct piece *p, unsigned member)
{
    return p->current && !(p->current & bit((int)member));
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int migrate_to(struct group *g, struct buffer *b, unsigned member, uint64_t begin, uint64_t end,
               struct error *error)
{
    bool moved = false;
    for (struct piece *p = piece_at(b, begin); p && p->begin < end; p = p->next) {
        if (!is_missing(p, member))
            continue;
        int from = source_of(g, p);
        if (from == NOBODY)
            return nowhere(g, p, error);
        struct transfer t = {b, NULL, larger(begin, p->begin), smaller(end, p->end)};
        for (const struct piece *n = p->next; n && n->begin < end; n = n->next) {
            if (!is_missing(n, member) || source_of(g, n) != from)
                break;
            t.end = smaller(end, n->end);
        }
        t.first = pieces_cut(g, b, t.begin, t.end);
        int code = move(g, &t, from, member, error);
        if (code)
            return code;
        moved = true;
        p = piece_at(b, t.end - 1);
    }
    if (moved && !g->check_order)
        pieces_join(g, b, begin, end);
    return 0;
}

int migrate_read(struct group *g, struct buffer *b, uint64_t begin, uint64_t bytes, void *host,
                 struct error *error)
{
    int code = 0;
    for (struct piece *p = piece_at(b, begin); p && p->begin < begin + bytes && !code;
         p = p->next) {
        struct transfer t = {b, p, larger(begin, p->begin), smaller(begin + bytes, p->end)};
        char *to = (char *)host + (t.begin - begin);
        int from = source_of(g, p);
        if (!p->current)
            memset(to, 0, t.end - t.begin);
        else if (from == NOBODY)
            code = nowhere(g, p, error);
        else if (from == HOST_SHADOW)
            memcpy(to, b->shadow + t.begin, t.end - t.begin);
        else
            code = fetch(g, &t, (unsigned)from, to, error);
    }
    return code;
}
