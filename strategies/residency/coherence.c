/* Keeps the copies of a buffer coherent: makes them, records which are current, moves contents, and
 * lets commands wait for each other. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/sort.h"
#include "base/text.h"
#include "residency/device_group.h"

int group_member_said(struct device_group *g, unsigned member, int code, struct error *error)
{
    if (!code)
        return 0;
    g->members[member].lost |= code == ERR_DEVICE_LOST;
    error_prefix(error, "device %u of %s (%s): ", member, g->info.id, g->members[member].id);
    return code;
}

/* The first piece that reaches beyond `begin`. */
static struct piece *piece_at(const struct buffer *b, uint64_t begin)
{
    struct piece *p = b->first;
    while (p->next && p->end <= begin)
        p = p->next;
    return p;
}

/* ---- order: which command waits for which -------------------------------------------------------
 *
 *   1. The commands of a lane run one after the other; lanes run side by side.
 *   2. Each piece of a buffer knows, for each copy and lane, the last command of the lane that read
 *      that copy and the last that wrote it. A command waits for the writers of what it uses and,
 *      if it writes, for the readers; it waits for no others. So both halves of a stencil go on
 *      together while their borders are exchanged.
 *   3. A lane waits for an event of the other lane. Where the devices have no such events, or the
 *      strategy does not use them, the host waits for the other lane instead.
 *   4. The program orders different queues of the group by letting the host wait. If it does not,
 *      and one of the two commands writes, the contents are undefined; check_order reports that.
 */

/* An array by lane: the ticket of the last command that reads (or writes) the copy of a piece. */
static uint64_t *order_tickets(const struct device_group *g, struct piece *p, unsigned copy,
                               bool writes)
{
    return p->tickets + (copy * 2 + writes) * g->lane_count;
}

static bool is_asynchronous(const struct device_group *g)
{
    for (unsigned m = 0; m < g->count; m++)
        if (g->members[m].device->ops->events)
            return true;
    return false;
}

static bool has_events(const struct device_group *g)
{
    return g->how.by_events && g->together;
}

static int make_events(struct device_group *g, struct lane *lane, struct error *error)
{
    struct device *d = g->members[lane->member].device;
    int code = 0;
    lane->has_events = true;
    for (unsigned e = 0; e < LANE_EVENTS && !code; e++)
        code = d->ops->events->create(d, &lane->events[e], error);
    return group_member_said(g, lane->member, code, error);
}

int order_open(struct device_group *g, struct error *error)
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

void order_close(struct device_group *g)
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
unsigned order_lane(const struct device_group *g, unsigned member, enum lane_work work)
{
    if (!has_events(g))
        work = LANE_COMMANDS;
    return (g->queue * g->count + member) * LANE_WORKS + work;
}

int order_use(struct device_group *g, unsigned lane, struct error *error)
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

void order_completed_lane(struct device_group *g, unsigned lane)
{
    if (g->lane_count)
        g->lanes[lane].completed = g->lanes[lane].issued;
}

void order_completed_member(struct device_group *g, unsigned member)
{
    for (unsigned l = 0; l < g->lane_count; l++)
        if (g->lanes[l].member == member)
            order_completed_lane(g, l);
}

static int host_waits(struct device_group *g, unsigned lane, struct error *error)
{
    const struct lane *l = &g->lanes[lane];
    struct device *d = g->members[l->member].device;
    int code = d->ops->queues->sync(d, l->member_queue, error);
    if (!code)
        order_completed_lane(g, lane);
    return group_member_said(g, l->member, code, error);
}

static int wait_for(struct device_group *g, unsigned lane, unsigned other, uint64_t ticket,
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
    TRY(order_use(g, lane, error));
    int code = d->ops->events->wait(d, g->members[from->member].device,
                                    from->events[ticket % LANE_EVENTS], error);
    if (!code)
        *known = ticket;
    return group_member_said(g, member, code, error);
}

static int after_piece(struct device_group *g, unsigned lane, struct piece *p, unsigned copy,
                       bool writes, struct error *error)
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

/* Makes the lane wait for the writers of [begin, end) of a member's copy, and if `writes` for the
 * readers too. */
static int order_before(struct device_group *g, unsigned lane, const struct buffer *b,
                        unsigned copy, uint64_t begin, uint64_t end, bool writes,
                        struct error *error)
{
    int code = 0;
    if (!g->lane_count)
        return 0;
    for (struct piece *p = piece_at(b, begin); p && p->begin < end && !code; p = p->next)
        code = after_piece(g, lane, p, copy, writes, error);
    return code;
}

static int unordered(const struct device_group *g, unsigned lane, unsigned other,
                     const struct piece *p, bool writes, bool wrote, struct error *error)
{
    const struct lane *l = &g->lanes[lane], *o = &g->lanes[other];
    return error_set(error, ERR_PROGRAM,
                     "two commands are not ordered: queue %u on %s %s bytes %llu to %llu of a "
                     "buffer that queue %u on %s %s; wait for queue %u first",
                     l->queue, g->members[l->member].id, writes ? "writes" : "reads",
                     (unsigned long long)p->begin, (unsigned long long)p->end, o->queue,
                     g->members[o->member].id, wrote ? "writes" : "reads", o->queue);
}

int order_check(const struct device_group *g, unsigned lane, const struct buffer *b, uint64_t begin,
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

/* Records that the lane was given a command; *ticket receives its ticket. */
static int order_issued(struct device_group *g, unsigned lane, uint64_t *ticket,
                        struct error *error)
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

/* Records that a command reads, or writes, the copy of a piece. A writer has waited for all others,
 * so a command that comes after it comes after them too. */
static void order_note(const struct device_group *g, unsigned lane, uint64_t ticket,
                       struct piece *p, unsigned copy, bool writes)
{
    if (!g->lane_count)
        return;
    for (unsigned kind = 0; kind < 2 && writes; kind++)
        for (unsigned l = 0; l < g->lane_count; l++)
            order_tickets(g, p, copy, kind)[l] = 0;
    order_tickets(g, p, copy, writes)[lane] = ticket;
}

int order_join(struct device_group *g, unsigned lane, unsigned other, struct error *error)
{
    return g->lane_count ? wait_for(g, lane, other, g->lanes[other].issued, error) : 0;
}

/* Lets the host wait until no lane of another member uses the copy on member `copy`. */
static int order_wait_for_others(struct device_group *g, const struct buffer *b, unsigned copy,
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

/* ---- the copies of a buffer ------------------------------------------------------------------ */

static int refuse_copy(struct device_group *g, unsigned member, uint64_t bytes, struct error *error)
{
    char asked[64], held[64], capacity[64];
    return error_set(error, ERR_OOM, "a copy of %s: %s of the limit of %s are held there",
                     text_bytes_exact(asked, bytes),
                     text_bytes_exact(held, g->members[member].held_bytes),
                     text_bytes_exact(capacity, g->capacity_bytes));
}

int buffer_need(struct device_group *g, struct buffer *b, unsigned member, struct error *error)
{
    struct member *m = &g->members[member];
    if (b->memory[member])
        return 0;
    bool beyond = g->capacity_bytes &&
                  (b->bytes > g->capacity_bytes || m->held_bytes > g->capacity_bytes - b->bytes);
    uint64_t start = clock_ns();
    int code = beyond ? refuse_copy(g, member, b->bytes, error)
                      : m->device->ops->alloc(m->device, b->bytes, &b->memory[member], error);
    g->counts.alloc_ns += clock_ns() - start;
    g->counts.alloc_count += !beyond;
    if (code) {
        b->memory[member] = 0;
        g->counts.refused_count += code == ERR_OOM;
        return group_member_said(g, member, code, error);
    }
    m->held_bytes += b->bytes;
    g->counts.held_bytes += b->bytes;
    g->counts.peak_held_bytes = larger(g->counts.peak_held_bytes, g->counts.held_bytes);
    return 0;
}

static int free_copy(struct device_group *g, struct buffer *b, unsigned member, struct error *error)
{
    struct member *m = &g->members[member];
    uint64_t start = clock_ns();
    int code = order_wait_for_others(g, b, member, error);
    int freed = m->device->ops->free(m->device, b->memory[member], b->bytes, code ? NULL : error);
    g->counts.free_ns += clock_ns() - start;
    g->counts.free_count++;
    g->counts.held_bytes -= b->bytes;
    m->held_bytes -= b->bytes;
    b->memory[member] = 0;
    return code ? code : group_member_said(g, member, freed, error);
}

struct buffer *buffer_make(struct device_group *g, uint64_t bytes)
{
    struct buffer *b = slab_take(&g->buffers);
    *b = (struct buffer){.bytes = bytes, .next = g->first};
    if (g->first)
        g->first->before = b;
    g->first = b;
    struct piece *p = b->first = slab_take(&g->pieces);
    memset(p, 0, g->pieces.item_bytes);
    p->end = bytes;
    p->writer = MEMBER_NONE;
    return b;
}

int buffer_destroy(struct device_group *g, struct buffer *b, struct error *error)
{
    int code = 0;
    for (unsigned m = 0; m < g->count; m++)
        ALSO(code, b->memory[m] ? free_copy(g, b, m, code ? NULL : error) : 0);
    free(b->shadow);
    while (b->first) {
        struct piece *next = b->first->next;
        slab_give(&g->pieces, b->first);
        b->first = next;
    }
    if (b->before)
        b->before->next = b->next;
    else
        g->first = b->next;
    if (b->next)
        b->next->before = b->before;
    slab_give(&g->buffers, b);
    return code;
}

/* ---- pieces of contents ---------------------------------------------------------------------- */

static struct piece *cut_at(struct device_group *g, struct piece *p, uint64_t at)
{
    if (at <= p->begin || at >= p->end)
        return p;
    struct piece *rest = slab_take(&g->pieces);
    memcpy(rest, p, g->pieces.item_bytes);
    rest->begin = p->end = at;
    p->next = rest;
    return rest;
}

struct piece *pieces_cut(struct device_group *g, struct buffer *b, uint64_t begin, uint64_t end)
{
    struct piece *first = cut_at(g, piece_at(b, begin), begin);
    cut_at(g, piece_at(b, end), end);
    return first;
}

/* Takes the next piece into this one. */
static void swallow(struct device_group *g, struct piece *p)
{
    struct piece *next = p->next;
    for (unsigned t = 0; t < g->count * 2 * g->lane_count; t++)
        if (next->tickets[t] > p->tickets[t])
            p->tickets[t] = next->tickets[t];
    p->end = next->end;
    p->next = next->next;
    slab_give(&g->pieces, next);
}

struct piece *pieces_merge(struct device_group *g, struct buffer *b, uint64_t begin, uint64_t end)
{
    struct piece *p = pieces_cut(g, b, begin, end);
    while (p->end < end)
        swallow(g, p);
    return p;
}

/* Merges neighbours around [begin, end) whose contents are in the same state. */
static void pieces_join(struct device_group *g, struct buffer *b, uint64_t begin, uint64_t end)
{
    struct piece *p = piece_at(b, begin ? begin - 1 : 0);
    while (p->next && p->end <= end)
        if (p->current == p->next->current && p->writer == p->next->writer)
            swallow(g, p);
        else
            p = p->next;
}

/* ---- migration: what moves, from where, and by which route --------------------------------------
 *
 *   1. A piece moves if it has contents and the copy that is to be used is not current.
 *   2. It comes from the member that wrote it, or else from the first member whose copy is current.
 *      Where whole memories have versions, it always comes from the first.
 *   3. It goes directly, in the receiver's queue for transfers, or through the shadow on the host.
 *      Latest contents in the shadow are not fetched again; they outlive a device that is lost.
 *   4. Neighbours that come from the same member go in one transfer.
 */

static bool is_healthy(const struct device_group *g, const struct piece *p, int member)
{
    return member >= 0 && (unsigned)member < g->count && (p->current & bit(member)) &&
           !g->members[member].lost;
}

/* The member (or HOST_SHADOW) that the contents of a piece can come from, or MEMBER_NONE. */
static int source_of(const struct device_group *g, const struct piece *p)
{
    if ((p->current & bit(HOST_SHADOW)) && !g->direct)
        return HOST_SHADOW;
    if (g->how.by_range && is_healthy(g, p, p->writer))
        return p->writer;
    for (unsigned m = 0; m < g->count; m++)
        if (is_healthy(g, p, (int)m))
            return (int)m;
    return p->current & bit(HOST_SHADOW) ? HOST_SHADOW : MEMBER_NONE;
}

static int nowhere(const struct device_group *g, const struct piece *p, struct error *error)
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

static void note_transfer(const struct device_group *g, unsigned lane, uint64_t ticket,
                          const struct transfer *t, unsigned copy, bool writes)
{
    for (struct piece *p = t->first; p && p->begin < t->end; p = p->next)
        order_note(g, lane, ticket, p, copy, writes);
}

/* The part of the sender's copy that a direct transfer uses: the range that it reads, or the whole
 * copy where the driver may move the memory. */
static struct transfer taken(const struct device_group *g, const struct transfer *t)
{
    const struct transfer all = {t->buffer, t->buffer->first, 0, t->buffer->bytes};
    return g->info.peers_whole ? all : *t;
}

/* The driver reports that a device is lost, but not which of the two. */
static unsigned which_is_lost(const struct device_group *g, unsigned from, unsigned to)
{
    struct device *d = g->members[from].device;
    return d->ops->sync(d, NULL) == ERR_DEVICE_LOST ? from : to;
}

static int move_directly(struct device_group *g, const struct transfer *t, unsigned from,
                         unsigned to, struct error *error)
{
    struct device *d = g->members[to].device;
    unsigned lane = order_lane(g, to, LANE_TRANSFERS);
    const struct transfer source = taken(g, t);
    const bool takes = g->info.peers_whole;
    uint64_t ticket;
    TRY(order_before(g, lane, t->buffer, from, source.begin, source.end, takes, error));
    TRY(order_before(g, lane, t->buffer, to, t->begin, t->end, true, error));
    TRY(order_use(g, lane, error));
    int code = d->ops->peers->copy(d, t->buffer->memory[to], t->begin, g->members[from].device,
                                   t->buffer->memory[from], t->begin, t->end - t->begin, error);
    if (code)
        return group_member_said(g, code == ERR_DEVICE_LOST ? which_is_lost(g, from, to) : to, code,
                                 error);
    code = order_issued(g, lane, &ticket, error);
    note_transfer(g, lane, ticket, &source, from, takes);
    note_transfer(g, lane, ticket, t, to, true);
    return code;
}

/* Reads to the host, which waits for all earlier commands of the member's lane. */
static int fetch(struct device_group *g, const struct transfer *t, unsigned from, char *host,
                 struct error *error)
{
    struct device *d = g->members[from].device;
    unsigned lane = order_lane(g, from, LANE_COMMANDS);
    TRY(order_before(g, lane, t->buffer, from, t->begin, t->end, false, error));
    TRY(order_use(g, lane, error));
    int code = d->ops->read(d, host, t->buffer->memory[from], t->begin, t->end - t->begin, error);
    if (!code)
        order_completed_lane(g, lane);
    return group_member_said(g, from, code, error);
}

static int send_to(struct device_group *g, const struct transfer *t, unsigned to,
                   struct error *error)
{
    struct device *d = g->members[to].device;
    unsigned lane = order_lane(g, to, LANE_COMMANDS);
    uint64_t ticket;
    TRY(order_before(g, lane, t->buffer, to, t->begin, t->end, true, error));
    TRY(order_use(g, lane, error));
    int code = d->ops->write(d, t->buffer->memory[to], t->begin, t->buffer->shadow + t->begin,
                             t->end - t->begin, error);
    if (code)
        return group_member_said(g, to, code, error);
    code = order_issued(g, lane, &ticket, error);
    note_transfer(g, lane, ticket, t, to, true);
    return code;
}

static int move_by_host(struct device_group *g, const struct transfer *t, int from, unsigned to,
                        struct error *error)
{
    if (from != HOST_SHADOW) {
        if (!t->buffer->shadow)
            t->buffer->shadow = must_alloc(t->buffer->bytes);
        TRY(fetch(g, t, (unsigned)from, t->buffer->shadow + t->begin, error));
        for (struct piece *p = t->first; p && p->begin < t->end; p = p->next)
            p->current |= bit(HOST_SHADOW);
    }
    return send_to(g, t, to, error);
}

static int move_to(struct device_group *g, const struct transfer *t, int from, unsigned to,
                   struct error *error)
{
    TRY(g->direct && from != HOST_SHADOW ? move_directly(g, t, (unsigned)from, to, error)
                                         : move_by_host(g, t, from, to, error));
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

/* Brings those contents of [begin, end) that are not current on a member to its copy. */
static int migrate_to(struct device_group *g, struct buffer *b, unsigned member, uint64_t begin,
                      uint64_t end, struct error *error)
{
    bool moved = false;
    for (struct piece *p = piece_at(b, begin); p && p->begin < end; p = p->next) {
        if (!is_missing(p, member))
            continue;
        int from = source_of(g, p);
        if (from == MEMBER_NONE)
            return nowhere(g, p, error);
        struct transfer t = {b, NULL, larger(begin, p->begin), smaller(end, p->end)};
        for (const struct piece *n = p->next; n && n->begin < end; n = n->next) {
            if (!is_missing(n, member) || source_of(g, n) != from)
                break;
            t.end = smaller(end, n->end);
        }
        t.first = pieces_cut(g, b, t.begin, t.end);
        TRY(move_to(g, &t, from, member, error));
        moved = true;
        p = piece_at(b, t.end - 1);
    }
    if (moved && !g->check_order)
        pieces_join(g, b, begin, end);
    return 0;
}

int migrate_read(struct device_group *g, struct buffer *b, uint64_t begin, uint64_t bytes,
                 void *host, struct error *error)
{
    int code = 0;
    for (struct piece *p = piece_at(b, begin); p && p->begin < begin + bytes && !code;
         p = p->next) {
        struct transfer t = {b, p, larger(begin, p->begin), smaller(begin + bytes, p->end)};
        char *to = (char *)host + (t.begin - begin);
        int from = source_of(g, p);
        if (!p->current)
            memset(to, 0, t.end - t.begin);
        else if (from == MEMBER_NONE)
            code = nowhere(g, p, error);
        else if (from == HOST_SHADOW)
            memcpy(to, b->shadow + t.begin, t.end - t.begin);
        else
            code = fetch(g, &t, (unsigned)from, to, error);
    }
    return code;
}

/* ---- before and after a command -------------------------------------------------------------- */

unsigned command_member(const struct use *uses, size_t count)
{
    for (int reads = 1; reads >= 0; reads--)
        for (size_t i = 0; i < count; i++) {
            int writer = piece_at(uses[i].buffer, uses[i].begin)->writer;
            if ((uses[i].use != USE_REPLACES) == reads && writer != MEMBER_NONE)
                return (unsigned)writer;
        }
    return 0;
}

bool use_replaces(const struct device_group *g, const struct use *u)
{
    bool whole = u->begin == 0 && u->end == u->buffer->bytes;
    return u->use == USE_REPLACES && g->how.discards && (g->how.by_range || whole);
}

static int bring(struct device_group *g, unsigned member, const struct use *u, struct error *error)
{
    if (g->how.by_range)
        return migrate_to(g, u->buffer, member, u->begin, u->end, error);
    return migrate_to(g, u->buffer, member, 0, u->buffer->bytes, error);
}

int command_before(struct device_group *g, const struct command *c, struct error *error)
{
    const struct use *uses = c->uses;
    int code = 0;
    if (g->members[c->member].lost)
        return error_set(error, ERR_DEVICE_LOST, "%s, device %u of %s, was lost before",
                         g->members[c->member].id, c->member, g->info.id);
    for (size_t i = 0; i < c->use_count && !code; i++) {
        code = order_check(g, c->lane, uses[i].buffer, uses[i].begin, uses[i].end,
                           uses[i].use != USE_READS, error);
        THEN(code, buffer_need(g, uses[i].buffer, c->member, error));
    }
    for (size_t i = 0; i < c->use_count && !code; i++)
        if (!use_replaces(g, &uses[i]))
            code = bring(g, c->member, &uses[i], error);
    for (size_t i = 0; i < c->use_count && !code; i++)
        code = order_before(g, c->lane, uses[i].buffer, c->member, uses[i].begin, uses[i].end,
                            uses[i].use != USE_READS, error);
    return code ? code : order_use(g, c->lane, error);
}

static void note_read(struct device_group *g, const struct command *c, uint64_t ticket,
                      const struct use *u)
{
    /* A piece that is read in part counts as read: cutting it would leave a piece for every range
     * ever read. */
    struct piece *p =
        g->check_order ? pieces_cut(g, u->buffer, u->begin, u->end) : piece_at(u->buffer, u->begin);
    for (; p && p->begin < u->end; p = p->next)
        order_note(g, c->lane, ticket, p, c->member, false);
}

/* Writers are recorded by range under every strategy, because they decide where commands run, and
 * that must not depend on the strategy. */
static void note_write(struct device_group *g, const struct command *c, uint64_t ticket,
                       const struct use *u)
{
    struct piece *p = pieces_merge(g, u->buffer, u->begin, u->end);
    p->writer = (int)c->member;
    p->current = bit((int)c->member);
    order_note(g, c->lane, ticket, p, c->member, true);
    for (p = u->buffer->first; p && !g->how.by_range; p = p->next)
        p->current = bit((int)c->member);
}

int command_after(struct device_group *g, const struct command *c, int said, struct error *error)
{
    uint64_t ticket;
    if (said)
        return group_member_said(g, c->member, said, error);
    int code = order_issued(g, c->lane, &ticket, error);
    for (size_t i = 0; i < c->use_count && g->lane_count; i++)
        if (c->uses[i].use == USE_READS)
            note_read(g, c, ticket, &c->uses[i]);
    for (size_t i = 0; i < c->use_count; i++)
        if (c->uses[i].use != USE_READS)
            note_write(g, c, ticket, &c->uses[i]);
    return code;
}

/* ---- checking -------------------------------------------------------------------------------- */

static unsigned check_pieces(const struct device_group *g, const struct buffer *b)
{
    unsigned broken = 0;
    uint64_t at = 0;
    for (const struct piece *p = b->first; p; at = p->end, p = p->next) {
        broken += p->begin != at || p->end <= p->begin;    /* pieces follow each other */
        broken += !p->current && p->writer != MEMBER_NONE; /* written contents are somewhere */
        for (unsigned m = 0; m < RESIDENCY_MEMBERS_MAX; m++)
            broken += (p->current & bit((int)m)) && (m >= g->count || !b->memory[m]);
        broken += (p->current & bit(HOST_SHADOW)) && !b->shadow;
    }
    return broken + (at != b->bytes);
}

unsigned residency_check(const struct device *group)
{
    const struct device_group *g = (const struct device_group *)group;
    unsigned broken = 0;
    uint64_t held = 0;
    for (const struct buffer *b = g->first; b; b = b->next) {
        broken += check_pieces(g, b);
        for (unsigned m = 0; m < g->count; m++)
            held += b->memory[m] ? b->bytes : 0;
    }
    return broken + (held != g->counts.held_bytes);
}
