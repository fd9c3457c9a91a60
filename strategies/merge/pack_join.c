/* Guessing which buffers lie side by side in a full plan, so that there are fewer to place.
 *
 * Where memory is full, what ends at a time makes exactly the room for what starts then. So:
 *
 *   1. Follow on: if one buffer of a size ends at a boundary and one of that size starts there,
 *      they have the same offset.
 *   2. Stack with evidence: two buffers of the same life, together as large as one that ends where
 *      they start or starts where they end, lie on top of each other in its place.
 *   3. Stack without: two buffers of the same life lie on top of each other. The fewer others start
 *      and end with them, the likelier it is that they are one block cut in two.
 *
 * A rule applies when those before it have nothing more to do, and joined buffers are joined again.
 * None is certain, so what comes out may have no plan: it is worth a short search, and proves
 * nothing.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "merge/pack_model.h"

enum { NONE = -1 };
enum side { STARTS, ENDS, SIDE_COUNT };

struct join_group {
    int64_t size;
    unsigned boundary[SIDE_COUNT]; /* the sections of its life */
    int next[SIDE_COUNT];          /* in the list of the boundary */
    int parent;                    /* the group that it has become part of, or NONE */
    int64_t above;                 /* bytes from the parent's offset to this one's */
};

struct joiner {
    struct join_group *groups;
    unsigned count, boundary_count;
    int *head[SIDE_COUNT]; /* of the lists of groups that start and end at a boundary */
    unsigned *length[SIDE_COUNT];
};

static void add_group(struct joiner *j, unsigned first, unsigned end, int64_t size)
{
    const int group = (int)j->count++;
    j->groups[group] = (struct join_group){.size = size, .boundary = {first, end}, .parent = NONE};
    for (int side = STARTS; side < SIDE_COUNT; side++) {
        const unsigned at = j->groups[group].boundary[side];
        j->groups[group].next[side] = j->head[side][at];
        j->head[side][at] = group;
        j->length[side][at]++;
    }
}

static void remove_group(struct joiner *j, int group)
{
    for (int side = STARTS; side < SIDE_COUNT; side++) {
        const unsigned at = j->groups[group].boundary[side];
        int *link = &j->head[side][at];
        while (*link != group)
            link = &j->groups[*link].next[side];
        *link = j->groups[group].next[side];
        j->length[side][at]--;
    }
}

/* b follows a, or lies `above` bytes above it. */
static void join_pair(struct joiner *j, int a, int b, int64_t size, int64_t above)
{
    remove_group(j, a);
    remove_group(j, b);
    j->groups[a].parent = j->groups[b].parent = (int)j->count;
    j->groups[b].above = above;
    add_group(j, j->groups[a].boundary[STARTS], j->groups[b].boundary[ENDS], size);
}

static void stack_pair(struct joiner *j, int a, int b)
{
    join_pair(j, a, b, j->groups[a].size + j->groups[b].size, j->groups[a].size);
}

/* The only group of a size that starts (or ends) at a boundary, or NONE. */
static int only_one(const struct joiner *j, enum side side, unsigned boundary, int64_t size)
{
    int found = NONE;
    for (int i = j->head[side][boundary]; i != NONE; i = j->groups[i].next[side])
        if (j->groups[i].size == size) {
            if (found != NONE)
                return NONE;
            found = i;
        }
    return found;
}

static bool follow_on(struct joiner *j, unsigned boundary)
{
    for (int a = j->head[ENDS][boundary]; a != NONE; a = j->groups[a].next[ENDS]) {
        const int64_t size = j->groups[a].size;
        if (only_one(j, ENDS, boundary, size) != a)
            continue;
        const int b = only_one(j, STARTS, boundary, size);
        if (b != NONE) {
            join_pair(j, a, b, size, 0);
            return true;
        }
    }
    return false;
}

static bool same_life(const struct joiner *j, int a, int b)
{
    return j->groups[a].boundary[STARTS] == j->groups[b].boundary[STARTS] &&
           j->groups[a].boundary[ENDS] == j->groups[b].boundary[ENDS];
}

static bool stack_with_evidence(struct joiner *j, unsigned boundary)
{
    for (int a = j->head[STARTS][boundary]; a != NONE; a = j->groups[a].next[STARTS])
        for (int b = j->groups[a].next[STARTS]; b != NONE; b = j->groups[b].next[STARTS]) {
            const int64_t size = j->groups[a].size + j->groups[b].size;
            if (same_life(j, a, b) &&
                (only_one(j, ENDS, boundary, size) != NONE ||
                 only_one(j, STARTS, j->groups[a].boundary[ENDS], size) != NONE)) {
                stack_pair(j, a, b);
                return true;
            }
        }
    return false;
}

/* How unlikely it is that groups of this one's life belong together; random: a third less to a
 * third more. */
static uint64_t doubt(const struct joiner *j, int group, struct random *random)
{
    const unsigned *boundary = j->groups[group].boundary;
    const uint64_t starts = j->length[STARTS][boundary[STARTS]];
    const uint64_t ends = j->length[ENDS][boundary[ENDS]];
    return starts * ends * (random ? 512 + random_below(random, 1024) : 1024);
}

static bool stack_likeliest(struct joiner *j, struct random *random)
{
    int best_a = NONE, best_b = NONE;
    uint64_t least = UINT64_MAX;
    for (unsigned boundary = 0; boundary < j->boundary_count; boundary++)
        for (int a = j->head[STARTS][boundary]; a != NONE; a = j->groups[a].next[STARTS])
            for (int b = j->groups[a].next[STARTS]; b != NONE; b = j->groups[b].next[STARTS]) {
                if (!same_life(j, a, b))
                    continue;
                const uint64_t d = doubt(j, a, random);
                if (d < least) {
                    least = d;
                    best_a = a;
                    best_b = b;
                }
            }
    if (best_a == NONE)
        return false;
    stack_pair(j, best_a, best_b);
    return true;
}

static bool join_with_evidence(struct joiner *j)
{
    bool joined = false;
    for (unsigned boundary = 0; boundary < j->boundary_count; boundary++)
        while (follow_on(j, boundary))
            joined = true;
    for (unsigned boundary = 0; boundary < j->boundary_count && !joined; boundary++)
        joined = stack_with_evidence(j, boundary);
    return joined;
}

static void join_all(struct joiner *j, unsigned item_count, struct random *random)
{
    /* How many may be stacked without evidence. */
    uint64_t guesses = random ? random_below(random, item_count) : item_count;
    while (join_with_evidence(j) || (guesses-- && stack_likeliest(j, random)))
        ;
}

static void build_model(struct pack_join *join)
{
    struct pack_buffer *buffers = must_alloc(join->item_count * sizeof *buffers);
    unsigned *group = must_alloc(join->item_count * sizeof *group);
    unsigned count = 0;
    for (unsigned i = 0; i < join->count; i++) {
        const struct join_group *g = &join->groups[i];
        if (g->parent != NONE)
            continue;
        buffers[count] = (struct pack_buffer){
            .lower = g->boundary[STARTS], .upper = g->boundary[ENDS], .size = g->size};
        group[count++] = i;
    }
    pack_model_build(&join->model, buffers, count);
    join->group_of = must_alloc(count * sizeof *join->group_of);
    for (unsigned i = 0; i < count; i++)
        join->group_of[i] = group[join->model.items[i].source];
    free(buffers);
    free(group);
}

void pack_join_build(struct pack_join *join, const struct pack_item *items, unsigned count,
                     struct random *random)
{
    struct joiner j = {.groups = must_alloc(2 * (size_t)count * sizeof *j.groups),
                       .boundary_count = pack_section_count(items, count) + 1};
    for (int side = STARTS; side < SIDE_COUNT; side++) {
        j.head[side] = must_alloc(j.boundary_count * sizeof *j.head[side]);
        j.length[side] = must_alloc(j.boundary_count * sizeof *j.length[side]);
        for (unsigned i = 0; i < j.boundary_count; i++)
            j.head[side][i] = NONE;
    }
    for (unsigned i = 0; i < count; i++)
        add_group(&j, items[i].hull.first, items[i].hull.end, items[i].size);
    join_all(&j, count, random);
    *join = (struct pack_join){.groups = j.groups, .count = j.count, .item_count = count};
    build_model(join);
    for (int side = STARTS; side < SIDE_COUNT; side++) {
        free(j.head[side]);
        free(j.length[side]);
    }
}

void pack_join_spread(const struct pack_join *join, const int64_t *joined, int64_t *offset)
{
    int64_t *at = must_alloc(join->count * sizeof *at);
    for (unsigned i = 0; i < join->model.count; i++)
        at[join->group_of[i]] = joined[i];
    for (unsigned i = join->count; i-- > 0;) /* a parent is younger than its parts */
        if (join->groups[i].parent != NONE)
            at[i] = at[join->groups[i].parent] + join->groups[i].above;
    for (unsigned i = 0; i < join->item_count; i++)
        offset[i] = at[i];
    free(at);
}

void pack_join_free(struct pack_join *join)
{
    pack_model_free(&join->model);
    free(join->groups);
    free(join->group_of);
    *join = (struct pack_join){0};
}
