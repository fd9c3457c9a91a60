/* Buffers of a group: their copies, and the state of their contents piece by piece. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/text.h"
#include "residency/group.h"

/* ---- copies --------------------------------------------------------------------------------- */

static int refuse(struct group *g, unsigned member, uint64_t bytes, struct error *error)
{
    char asked[32], held[32], capacity[32];
    return error_set(error, ERR_OOM, "a copy of %s: %s of the limit of %s are held there",
                     text_bytes(asked, bytes), text_bytes(held, g->members[member].held_bytes),
                     text_bytes(capacity, g->capacity_bytes));
}

int buffer_need(struct group *g, struct buffer *b, unsigned member, struct error *error)
{
    struct member *m = &g->members[member];
    if (b->memory[member])
        return 0;
    bool beyond = g->capacity_bytes &&
                  (b->bytes > g->capacity_bytes || m->held_bytes > g->capacity_bytes - b->bytes);
    uint64_t start = clock_ns();
    int code = beyond ? refuse(g, member, b->bytes, error)
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
    if (g->counts.held_bytes > g->counts.peak_held_bytes)
        g->counts.peak_held_bytes = g->counts.held_bytes;
    return 0;
}

static int free_copy(struct group *g, struct buffer *b, unsigned member, struct error *error)
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

struct buffer *buffer_make(struct group *g, uint64_t bytes)
{
    struct buffer *b = slab_take(&g->buffers);
    *b = (struct buffer){.bytes = bytes, .next = g->first};
    if (g->first)
        g->first->before = b;
    g->first = b;
    struct piece *p = b->first = slab_take(&g->pieces);
    memset(p, 0, g->pieces.item_bytes);
    p->end = bytes;
    p->writer = NOBODY;
    return b;
}

int buffer_destroy(struct group *g, struct buffer *b, struct error *error)
{
    int code = 0;
    for (unsigned m = 0; m < g->count; m++) {
        int freed = b->memory[m] ? free_copy(g, b, m, code ? NULL : error) : 0;
        code = code ? code : freed;
    }
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

/* ---- pieces --------------------------------------------------------------------------------- */

struct piece *piece_at(const struct buffer *b, uint64_t begin)
{
    struct piece *p = b->first;
    while (p->next && p->end <= begin)
        p = p->next;
    return p;
}

static struct piece *cut(struct group *g, struct piece *p, uint64_t at)
{
    if (at <= p->begin || at >= p->end)
        return p;
    struct piece *rest = slab_take(&g->pieces);
    memcpy(rest, p, g->pieces.item_bytes);
    rest->begin = p->end = at;
    p->next = rest;
    return rest;
}

struct piece *pieces_cut(struct group *g, struct buffer *b, uint64_t begin, uint64_t end)
{
    struct piece *first = cut(g, piece_at(b, begin), begin);
    cut(g, piece_at(b, end), end);
    return first;
}

/* Takes the next piece into this one. */
static void swallow(struct group *g, struct piece *p)
{
    struct piece *next = p->next;
    for (unsigned t = 0; t < g->count * 2 * g->lane_count; t++)
        if (next->tickets[t] > p->tickets[t])
            p->tickets[t] = next->tickets[t];
    p->end = next->end;
    p->next = next->next;
    slab_give(&g->pieces, next);
}

struct piece *pieces_merge(struct group *g, struct buffer *b, uint64_t begin, uint64_t end)
{
    struct piece *p = pieces_cut(g, b, begin, end);
    while (p->end < end)
        swallow(g, p);
    return p;
}

void pieces_join(struct group *g, struct buffer *b, uint64_t begin, uint64_t end)
{
    struct piece *p = piece_at(b, begin ? begin - 1 : 0);
    while (p->next && p->end <= end)
        if (p->current == p->next->current && p->writer == p->next->writer)
            swallow(g, p);
        else
            p = p->next;
}

/* ---- checking ------------------------------------------------------------------------------- */

static unsigned check_pieces(const struct group *g, const struct buffer *b)
{
    unsigned broken = 0;
    uint64_t at = 0;
    for (const struct piece *p = b->first; p; at = p->end, p = p->next) {
        broken += p->begin != at || p->end <= p->begin; /* pieces follow each other */
        broken += !p->current && p->writer != NOBODY;   /* what was written is somewhere */
        for (unsigned m = 0; m < RESIDENCY_MEMBERS_MAX; m++)
            broken += (p->current & bit((int)m)) && (m >= g->count || !b->memory[m]);
        broken += (p->current & bit(HOST_SHADOW)) && !b->shadow;
    }
    return broken + (at != b->bytes);
}

unsigned residency_check(const struct device *group)
{
    const struct group *g = (const struct group *)group;
    unsigned broken = 0;
    uint64_t held = 0;
    for (const struct buffer *b = g->first; b; b = b->next) {
        broken += check_pieces(g, b);
        for (unsigned m = 0; m < g->count; m++)
            held += b->memory[m] ? b->bytes : 0;
    }
    return broken + (held != g->counts.held_bytes);
}
