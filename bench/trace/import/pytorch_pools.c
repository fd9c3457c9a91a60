#include "trace/import/pytorch_pools.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/pytorch_conf.h"
#include "base/arena.h"
#include "base/sort.h"

enum { FOUND_MOST = 32 }; /* pools that have no name; a replay has room for 63 in all */

/* A walk from the end of the history to its beginning. */
struct walk {
    struct pytorch_pools *pools;
    struct live {
        struct pool_segment segment;
        unsigned life;
    } * live; /* by address */
    unsigned live_count, live_capacity;
    uint64_t run;
    bool is_in_run; /* the entry after the current one ends a life */
    /* The allocations of one stream, one after another; life 0: it is not known where they go. */
    uint64_t stretch_stream;
    unsigned stretch;
};

/* ---- lives ---- */

static unsigned add_life(struct pytorch_pools *p, const struct pool_life *life)
{
    p->lives = must_grow(p->lives, p->life_count, &p->life_capacity, sizeof *p->lives);
    p->lives[p->life_count] = *life;
    p->lives[p->life_count].group = p->life_count;
    return p->life_count++;
}

static unsigned group_of(struct pytorch_pools *p, unsigned life)
{
    while (p->lives[life].group != life)
        life = p->lives[life].group = p->lives[p->lives[life].group].group;
    return life;
}

/* Two lives are of one pool. False: they are known to be of two. Known lives have the lowest
 * numbers: the first of a group says whether the group is known. */
static bool join(struct pytorch_pools *p, unsigned a, unsigned b)
{
    a = group_of(p, a);
    b = group_of(p, b);
    struct pool_life *low = &p->lives[a < b ? a : b], *high = &p->lives[a < b ? b : a];
    if (low->is_known && high->is_known && low->pool != high->pool)
        return false;
    high->group = low->group;
    return true;
}

/* ---- the walk ---- */

/* The place after the last segment that begins at an address or below. */
static unsigned place_after(const struct walk *w, uint64_t address)
{
    unsigned above;
    FIND_PLACE(above, w->live_count, w->live[above].segment.address <= address);
    return above;
}

/* Does an address belong to a segment? An expandable one has parts before and after these bytes,
 * with holes between them. The next one begins far away. */
static bool is_of(const struct pool_segment *s, uint64_t address)
{
    const uint64_t distance =
        address < s->address ? s->address - address : address - s->address - s->bytes;
    return (address >= s->address && address - s->address < s->bytes) ||
           (s->is_expandable && distance <= PYTORCH_SEGMENT_DISTANCE_BYTES);
}

static struct live *live_at(struct walk *w, uint64_t address)
{
    const unsigned above = place_after(w, address);
    if (above && is_of(&w->live[above - 1].segment, address))
        return &w->live[above - 1];
    return above < w->live_count && is_of(&w->live[above].segment, address) ? &w->live[above]
                                                                            : NULL;
}

static void begin_life(struct walk *w, const struct pool_segment *s, uint64_t last, bool is_known)
{
    const unsigned at = place_after(w, s->address);
    const struct pool_life life = {.stream = s->stream,
                                   .run = w->run,
                                   .pool = s->pool,
                                   .last = last,
                                   .is_known = is_known,
                                   .is_small = s->bytes == PYTORCH_SMALL_SEGMENT_BYTES};
    w->live = must_grow(w->live, w->live_count, &w->live_capacity, sizeof *w->live);
    memmove(w->live + at + 1, w->live + at, (w->live_count++ - at) * sizeof *w->live);
    w->live[at] = (struct live){*s, add_life(w->pools, &life)};
}

/* An allocation is of the pool of the one that comes after it, if both may be of a capture. */
static void follow_stretch(struct walk *w, uint64_t stream, unsigned life)
{
    const struct pool_life *group = &w->pools->lives[group_of(w->pools, life)];
    const bool is_outside = !stream || (group->is_known && group->pool == 0);
    if (is_outside || stream != w->stretch_stream || !w->stretch ||
        !join(w->pools, life, w->stretch))
        w->stretch = is_outside ? 0 : life;
    w->stretch_stream = stream;
}

static void walk_back(struct walk *w, uint64_t i, struct pytorch_entry *e)
{
    const bool unmaps = strcmp(e->action, "segment_unmap") == 0 && !live_at(w, e->address);
    const bool is_release = unmaps || strcmp(e->action, "segment_free") == 0;
    if (is_release) {
        const struct pool_segment s = {
            .address = e->address, .bytes = e->size, .stream = e->stream, .is_expandable = unmaps};
        w->run += !w->is_in_run;
        w->stretch = 0;
        begin_life(w, &s, i, false);
    }
    w->is_in_run = is_release;
    struct live *l = live_at(w, e->address);
    e->pool = l ? l->life : 0;
    if (strcmp(e->action, "alloc") == 0)
        follow_stretch(w, e->stream, e->pool);
    if (strcmp(e->action, "segment_alloc") == 0 && l && l->segment.address == e->address &&
        !l->segment.is_expandable) {
        struct pool_life *life = &w->pools->lives[l->life];
        life->is_made = true;
        life->first = i;
        memmove(l, l + 1, (size_t)(w->live + --w->live_count - l) * sizeof *l);
    }
}

/* ---- after the walk ---- */

/* Rule 2. `count` lives are of the end, from 1 on. */
static bool is_private(const struct pytorch_pools *p, unsigned count, const struct pool_life *life)
{
    bool has_class[2] = {false}, has_common[2] = {false};
    for (unsigned i = 1; i <= count; i++) {
        const struct pool_life *end = &p->lives[i];
        if (end->stream != life->stream)
            continue;
        has_class[end->is_small] = true;
        has_common[end->is_small] |= end->pool == 0;
    }
    const bool class = has_class[life->is_small] ? life->is_small : !life->is_small;
    return life->stream && has_class[class] && !has_common[class];
}

/* Rules 2 and 3, for the groups of which the pool is not known. */
static void guess(struct pytorch_pools *p, unsigned count)
{
    unsigned earlier = 0; /* a private life of the start in the same run */
    for (unsigned i = count + 1; i < p->life_count; i++) {
        struct pool_life *life = &p->lives[i], *group = &p->lives[group_of(p, i)];
        if (group->is_known || !is_private(p, count, life))
            continue;
        group->is_private = true;
        if (life->is_made)
            continue;
        if (earlier && p->lives[earlier].run == life->run &&
            p->lives[earlier].stream == life->stream)
            join(p, i, earlier);
        earlier = i;
    }
}

/* Gives each group its number: one that no group has at the same time, as far as there are. */
static void number_groups(struct pytorch_pools *p, unsigned pool_count)
{
    uint64_t taken_from[FOUND_MOST];
    memset(taken_from, 0xff, sizeof taken_from);
    for (unsigned i = 1; i < p->life_count; i++) {
        struct pool_life *group = &p->lives[group_of(p, i)];
        group->first = p->lives[i].first < group->first ? p->lives[i].first : group->first;
    }
    for (unsigned i = 1; i < p->life_count; i++) {
        struct pool_life *life = &p->lives[i];
        unsigned place = 0;
        if (life->group != i) {
            life->pool = p->lives[group_of(p, i)].pool;
        } else if (!life->is_known && life->is_private) {
            while (place < FOUND_MOST - 1 && taken_from[place] <= life->last)
                place++;
            taken_from[place] = life->first;
            life->pool = pool_count + place + 1;
        }
    }
}

void pytorch_pools_find(struct pytorch_pools *p, struct pytorch_entries *entries,
                        const struct pool_segment *segments, unsigned count, unsigned pool_count)
{
    struct walk w = {.pools = p};
    add_life(p, &(struct pool_life){.is_known = true});
    for (unsigned i = 0; i < count; i++)
        begin_life(&w, &segments[i], UINT64_MAX - 1, true);
    for (unsigned i = entries->count; i-- > 0;) {
        struct pytorch_entry *e = pytorch_entry_at(entries, i);
        if (!e->has_pool)
            walk_back(&w, i, e);
    }
    free(w.live);
    guess(p, count);
    number_groups(p, pool_count);
}

void pytorch_pools_free(struct pytorch_pools *p)
{
    free(p->lives);
}
