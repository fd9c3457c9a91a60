/* Guessing which buffers lie side by side in a full plan, so that there are fewer to place.
 *
 * Where memory is full, what ends at a time makes exactly the room for what starts then. So:
 *
 *   1. Follow on: if a buffer ends where another of the same size starts, they may well have the
 *      same offset. By chance that happens the more often the more there end and start, and the
 *      smaller they are.
 *   2. Stack: two buffers of the same life may well lie on top of each other. By chance lives are
 *      the same the more often the more start and end with them. Evidence is a third buffer, as
 *      large as both, that ends where they start or starts where they end.
 *
 * The join that is least likely by chance is made first, and joined buffers are joined again. None
 * is certain, so what comes out may have no plan: it is worth a short search, and proves nothing.
 */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "merge/pack/pack_model.h"

enum { NONE = -1 };
enum side { STARTS, ENDS, SIDE_COUNT };

/* One in so many pairs that start or end together has one life by chance; only how this compares to
 * the chance of equal sizes matters. */
static const double LIVES = 300;
/* A chance below which there is no need to look for a better one. */
static const double SURE = 0.02;
/* Where more meet than this, a group of the right size is no evidence, and takes long to find. */
enum { CROWD = 100 };
/* Pairs to look at in all; a search for better guesses would have been the better use of time. */
static const uint64_t PAIRS_MOST = UINT64_C(1) << 23;

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
    uint64_t pairs; /* looked at so far */
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

/* b follows a (above is 0), or lies `above` bytes above it. */
static void join_pair(struct joiner *j, int a, int b, int64_t size, int64_t above)
{
    remove_group(j, a);
    remove_group(j, b);
    j->groups[a].parent = j->groups[b].parent = (int)j->count;
    j->groups[b].above = above;
    add_group(j, j->groups[a].boundary[STARTS], j->groups[b].boundary[ENDS], size);
}

/* Whether a group of a size starts (or ends) at a boundary. */
static bool has_size(const struct joiner *j, enum side side, unsigned boundary, int64_t size)
{
    for (int i = j->head[side][boundary]; i != NONE; i = j->groups[i].next[side])
        if (j->groups[i].size == size)
            return true;
    return false;
}

/* By how much evidence at one end of the lives of a and b makes chance less likely: a group on the
 * other side of the boundary that is as large as both. */
static double evidence(const struct joiner *j, enum side side, int a, int b)
{
    const enum side across = side == STARTS ? ENDS : STARTS;
    const unsigned boundary = j->groups[a].boundary[side];
    const int64_t size = j->groups[a].size + j->groups[b].size;
    const double by_chance = (double)j->length[across][boundary] / (double)size;
    if (j->length[across][boundary] > CROWD)
        return 1;
    return by_chance < 1 && has_size(j, across, boundary, size) ? by_chance : 1;
}

static double stack_chance(const struct joiner *j, int a, int b)
{
    const unsigned *boundary = j->groups[a].boundary;
    const double starts = j->length[STARTS][boundary[STARTS]];
    const double ends = j->length[ENDS][boundary[ENDS]];
    const double at_start = evidence(j, STARTS, a, b), at_end = evidence(j, ENDS, a, b);
    return starts * ends / LIVES * (at_start < at_end ? at_start : at_end);
}

/* A possible join, and how many like it there would be by chance. */
struct guess {
    int a, b;
    double chance;
    bool is_stack;
};

static void consider(struct guess *best, struct guess guess, struct random *random)
{
    if (random)
        guess.chance *= 0.5 + random_unit(random);
    if (guess.chance < best->chance)
        *best = guess;
}

static void consider_follow_on(struct joiner *j, unsigned boundary, struct guess *best,
                               struct random *random)
{
    const double pairs = (double)j->length[STARTS][boundary] * j->length[ENDS][boundary] - 1;
    j->pairs += (uint64_t)j->length[STARTS][boundary] * j->length[ENDS][boundary];
    for (int a = j->head[ENDS][boundary]; a != NONE; a = j->groups[a].next[ENDS])
        for (int b = j->head[STARTS][boundary]; b != NONE; b = j->groups[b].next[STARTS])
            if (j->groups[a].size == j->groups[b].size)
                consider(best, (struct guess){a, b, pairs / (double)j->groups[a].size, false},
                         random);
}

static void consider_stacks(struct joiner *j, unsigned boundary, struct guess *best,
                            struct random *random)
{
    j->pairs += (uint64_t)j->length[STARTS][boundary] * j->length[STARTS][boundary] / 2;
    for (int a = j->head[STARTS][boundary]; a != NONE; a = j->groups[a].next[STARTS])
        for (int b = j->groups[a].next[STARTS]; b != NONE; b = j->groups[b].next[STARTS])
            if (j->groups[a].boundary[ENDS] == j->groups[b].boundary[ENDS])
                consider(best, (struct guess){a, b, stack_chance(j, a, b), true}, random);
}

/* Makes the best join of a chance below `most`; false if there is none. */
static bool join_best(struct joiner *j, double most, struct random *random)
{
    if (j->pairs > PAIRS_MOST)
        return false;
    struct guess best = {NONE, NONE, most, false};
    for (unsigned boundary = 0; boundary < j->boundary_count && best.chance > SURE; boundary++)
        consider_follow_on(j, boundary, &best, random);
    for (unsigned boundary = 0; boundary < j->boundary_count && best.chance > SURE; boundary++)
        consider_stacks(j, boundary, &best, random);
    if (best.a == NONE)
        return false;
    const int64_t size = j->groups[best.a].size;
    if (best.is_stack)
        join_pair(j, best.a, best.b, size + j->groups[best.b].size, size);
    else
        join_pair(j, best.a, best.b, size, 0);
    return true;
}

static void join_all(struct joiner *j, struct random *random)
{
    /* Bold and careful in turn: what is right differs from input to input. */
    const double most = random ? 4 * random_unit(random) * random_unit(random) : HUGE_VAL;
    while (join_best(j, most, random))
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
    join_all(&j, random);
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
