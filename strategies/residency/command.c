/* What a command needs before it runs, and leaves behind: copies, contents, order. */
#include "residency/group.h"

unsigned command_member(const struct use *uses, size_t count)
{
    for (int reads = 1; reads >= 0; reads--)
        for (size_t i = 0; i < count; i++) {
            int writer = piece_at(uses[i].buffer, uses[i].begin)->writer;
            if ((uses[i].use != USE_REPLACES) == reads && writer != NOBODY)
                return (unsigned)writer;
        }
    return 0;
}

bool use_replaces(const struct group *g, const struct use *u)
{
    bool whole = u->begin == 0 && u->end == u->buffer->bytes;
    return u->use == USE_REPLACES && g->how.discards && (g->how.by_range || whole);
}

static int bring(struct group *g, unsigned member, const struct use *u, struct error *error)
{
    if (g->how.by_range)
        return migrate_to(g, u->buffer, member, u->begin, u->end, error);
    return migrate_to(g, u->buffer, member, 0, u->buffer->bytes, error);
}

int command_before(struct group *g, const struct command *c, struct error *error)
{
    const struct use *uses = c->uses;
    int code = 0;
    if (g->members[c->member].lost)
        return error_set(error, ERR_DEVICE_LOST, "%s, device %u of %s, was lost before",
                         g->members[c->member].id, c->member, g->info.id);
    for (size_t i = 0; i < c->use_count && !code; i++) {
        code = order_check(g, c->lane, uses[i].buffer, uses[i].begin, uses[i].end,
                           uses[i].use != USE_READS, error);
        if (!code)
            code = buffer_need(g, uses[i].buffer, c->member, error);
    }
    for (size_t i = 0; i < c->use_count && !code; i++)
        if (!use_replaces(g, &uses[i]))
            code = bring(g, c->member, &uses[i], error);
    for (size_t i = 0; i < c->use_count && !code; i++)
        code = order_before(g, c->lane, uses[i].buffer, c->member, uses[i].begin, uses[i].end,
                            uses[i].use != USE_READS, error);
    return code ? code : order_use(g, c->lane, error);
}

static void note_read(struct group *g, const struct command *c, uint64_t ticket,
                      const struct use *u)
{
    /* Pieces that are read in part are taken as read: to cut them for that would leave a piece for
     * every place ever read. */
    struct piece *p =
        g->check_order ? pieces_cut(g, u->buffer, u->begin, u->end) : piece_at(u->buffer, u->begin);
    for (; p && p->begin < u->end; p = p->next)
        order_note(g, c->lane, ticket, p, c->member, false);
}

/* Whatever the strategy keeps track of, who wrote what is known by ranges: it says where commands
 * run, and that must not depend on the strategy. */
static void note_write(struct group *g, const struct command *c, uint64_t ticket,
                       const struct use *u)
{
    struct piece *p = pieces_merge(g, u->buffer, u->begin, u->end);
    p->writer = (int)c->member;
    p->current = bit((int)c->member);
    order_note(g, c->lane, ticket, p, c->member, true);
    for (p = u->buffer->first; p && !g->how.by_range; p = p->next)
        p->current = bit((int)c->member);
}

int command_after(struct group *g, const struct command *c, int said, struct error *error)
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
