#include "merge/pack/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/sort.h"
#include "merge/pack/pack_model.h"

struct pack_plan {
    int64_t *offset;
    int64_t height, lower_bound;
    const char *method;
};

/* ---- joining --------------------------------------------------------------------------------- */

/* Joining guesses which buffers are adjacent in a full plan, so that fewer remain to place.
 *
 * When memory is full, the buffers that end at a time leave exactly the room for those that start
 * then. So:
 *
 *   1. Follow on: if a buffer ends where another of the same size starts, both may have the same
 *      offset. The more buffers end and start there, and the smaller they are, the more often sizes
 *      are equal by chance.
 *   2. Stack: of two buffers of the same life, one may lie on the other. The more buffers start and
 *      end with them, the more often lives are equal by chance. A third buffer, as large as both,
 *      that ends where they start or starts where they end, is evidence.
 *
 * The join that is least likely by chance is made first, and joined buffers are joined again. No
 * join is certain, so the joined buffers may have no plan: they are worth a short search, which
 * proves nothing. Of many buffers, all joins that are unlikely by chance are made at once, then
 * more likely ones; if few buffers are left, these are planned.
 */
enum { NONE = -1 };
enum side { STARTS, ENDS, SIDE_COUNT };
/* Of many groups there are also lists of those that start at a time and have a size, or an end. */
enum { OF_SIZE = SIDE_COUNT, OF_LIFE, LIST_COUNT };

/* Of this number of pairs that start or end together, one has the same life by chance. Only the
 * ratio to the chance of equal sizes matters. */
static const double LIVES = 300;
/* The search for a better join stops at a chance below this. */
static const double SURE = 0.02;
/* Guesses are as bold as SURE, or up to so many times twice as bold. */
enum { OCTAVES = 5 };
/* At a boundary of more groups, one of the right size is no evidence, and takes long to find. */
enum { CROWD = 100 };
/* What a question costs besides its nodes, for each item; what a join does. */
enum { STEPS_QUESTION = 100, STEPS_BOUNDARY = 10, STEPS_PAIR = 2 };
/* Search depth and tables grow with the buffers; with more than this there are only orders, and
 * joins of those that are least likely by chance: MOST_FIRST, then MOST_STEP times as likely. */
enum { EXACT_MOST = 4096 };
static const double MOST_FIRST = 1e-5, MOST_STEP = 64, MOST_LAST = 100;
/* Of so many equally long lives, or equal sizes, one ends or is so large by chance. */
static const double SPREAD = 20;
/* At boundaries of so FEW groups their sums tell adjacent ones: TOGETHER or APART. */
enum { FEW = 10 };
static const double TOGETHER = 0.01, APART = 100;
/* The most pairs to compare; beyond this the time is better spent on searching. */
static const uint64_t PAIRS_MOST = UINT64_C(1) << 23;

struct join_group {
    int64_t size;
    unsigned boundary[SIDE_COUNT]; /* the sections of its life */
    int next[LIST_COUNT];          /* the next group in the list */
    unsigned seen;                 /* the groups there were when it was looked at in this round */
    int parent;                    /* the group that it has become part of, or NONE */
    int64_t above;                 /* bytes from the parent's offset to this one's */
};

struct pack_join {
    struct pack_model model; /* the model of the joined buffers */
    struct join_group *groups;
    unsigned *group_of; /* by the source of an item of the model */
    unsigned count, item_count;
};

struct joiner {
    struct arena arena; /* all but the groups */
    struct join_group *groups;
    unsigned count, boundary_count;
    int *head[LIST_COUNT]; /* by boundary, or by a hash: the list of groups */
    unsigned mask;         /* of the hashes */
    unsigned *length[SIDE_COUNT];
    unsigned *changed; /* by boundary: the groups that there were when a list changed last */
    uint64_t pairs;    /* pairs compared so far */
};

static int *list_of(const struct joiner *j, unsigned list, const struct join_group *g)
{
    if (list < SIDE_COUNT)
        return &j->head[list][g->boundary[list]];
    const uint64_t second = list == OF_SIZE ? (uint64_t)g->size : g->boundary[ENDS];
    return &j->head[list][random_mix(second ^ random_mix(g->boundary[STARTS])) & j->mask];
}

static void count_group(struct joiner *j, int group, int by)
{
    for (int side = STARTS; side < SIDE_COUNT; side++) {
        const unsigned at = j->groups[group].boundary[side];
        j->length[side][at] += (unsigned)by;
        j->changed[at] = j->count;
    }
}

static void add_group(struct joiner *j, unsigned first, unsigned end, int64_t size)
{
    const int group = (int)j->count++;
    j->groups[group] = (struct join_group){.size = size, .boundary = {first, end}, .parent = NONE};
    for (unsigned list = STARTS; list < LIST_COUNT; list++) {
        int *link = list_of(j, list, &j->groups[group]);
        j->groups[group].next[list] = *link;
        *link = group;
    }
    count_group(j, group, 1);
}

static void remove_group(struct joiner *j, int group)
{
    for (unsigned list = STARTS; list < LIST_COUNT; list++) {
        int *link = list_of(j, list, &j->groups[group]);
        while (*link != group)
            link = &j->groups[*link].next[list];
        *link = j->groups[group].next[list];
    }
    count_group(j, group, -1);
}

/* b follows a, or lies on it. */
static void join_pair(struct joiner *j, int a, int b)
{
    struct join_group *low = &j->groups[a], *high = &j->groups[b];
    const bool is_stack = low->boundary[STARTS] == high->boundary[STARTS];
    remove_group(j, a);
    remove_group(j, b);
    low->parent = high->parent = (int)j->count;
    high->above = is_stack ? low->size : 0;
    add_group(j, low->boundary[STARTS], high->boundary[ENDS],
              is_stack ? low->size + high->size : low->size);
}

/* The factor by which evidence at an end of the lives of a and b makes chance less likely. Evidence
 * is a group on the other side of the boundary that is as large as both. */
static double evidence(const struct joiner *j, int a, int b)
{
    const int64_t size = j->groups[a].size + j->groups[b].size;
    double least = 1;
    for (int side = STARTS; side < SIDE_COUNT; side++) {
        const int across = side == STARTS ? ENDS : STARTS;
        const unsigned boundary = j->groups[a].boundary[side], length = j->length[across][boundary];
        const double by_chance = (double)length / (double)size;
        int i = length > CROWD ? NONE : j->head[across][boundary];
        for (; i != NONE && by_chance < least; i = j->groups[i].next[across])
            if (j->groups[i].size == size)
                least = by_chance;
    }
    return least;
}

/* A possible join, and the expected number of such pairs by chance. */
struct guess {
    int a, b;
    double chance;
};

static void consider_guess(struct guess *best, struct guess guess, struct random *random)
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
                consider_guess(best, (struct guess){a, b, pairs / (double)j->groups[a].size},
                               random);
}

static void consider_stacks(struct joiner *j, unsigned boundary, struct guess *best,
                            struct random *random)
{
    const double starts = j->length[STARTS][boundary];
    j->pairs += (uint64_t)j->length[STARTS][boundary] * j->length[STARTS][boundary] / 2;
    for (int a = j->head[STARTS][boundary]; a != NONE; a = j->groups[a].next[STARTS])
        for (int b = j->groups[a].next[STARTS]; b != NONE; b = j->groups[b].next[STARTS])
            if (j->groups[a].boundary[ENDS] == j->groups[b].boundary[ENDS]) {
                const double ends = j->length[ENDS][j->groups[a].boundary[ENDS]];
                const double chance = starts * ends / LIVES * evidence(j, a, b);
                consider_guess(best, (struct guess){a, b, chance}, random);
            }
}

/* Makes the best join of a chance below `most`; false if there is none. */
static bool join_best(struct joiner *j, double most, struct random *random)
{
    if (j->pairs > PAIRS_MOST)
        return false;
    struct guess best = {NONE, NONE, most};
    pack_steps += STEPS_BOUNDARY * j->boundary_count;
    for (unsigned boundary = 0; boundary < j->boundary_count && best.chance > SURE; boundary++)
        consider_follow_on(j, boundary, &best, random);
    for (unsigned boundary = 0; boundary < j->boundary_count && best.chance > SURE; boundary++)
        consider_stacks(j, boundary, &best, random);
    if (best.a == NONE)
        return false;
    join_pair(j, best.a, best.b);
    return true;
}

/* ---- of many groups */

static bool has_sum(const int64_t *part, unsigned count, int64_t sum)
{
    return sum == 0 || (count > 0 && (has_sum(part + 1, count - 1, sum) ||
                                      has_sum(part + 1, count - 1, sum - *part)));
}

/* The factor by which the groups at one end of the lives of a and b make chance less likely, or
 * more: those that start are as large as those that end, and if some with a and without b are,
 * a and b are hardly adjacent. */
static double balance(const struct joiner *j, enum side side, int a, int b)
{
    const unsigned boundary = j->groups[a].boundary[side];
    int64_t part[FEW];
    unsigned count = 0;
    if (j->length[STARTS][boundary] + j->length[ENDS][boundary] > FEW)
        return 1;
    for (int s = STARTS; s < SIDE_COUNT; s++)
        for (int i = j->head[s][boundary]; i != NONE; i = j->groups[i].next[s])
            if (i != a && i != b)
                part[count++] = s == (int)side ? -j->groups[i].size : j->groups[i].size;
    return has_sum(part, count, j->groups[a].size) ? APART : TOGETHER;
}

/* The chance that b, of the same life as a, is no neighbour of it, if that may be below `most`. */
static double many_chance(const struct joiner *j, int a, int b, double chance, double most)
{
    if (chance > most)
        chance *= evidence(j, a, b);
    if (chance * TOGETHER * TOGETHER <= most)
        chance *= balance(j, STARTS, a, b) * balance(j, ENDS, a, b);
    return chance;
}

/* Joins a group with one that it starts or that has the same life, at a chance of `most`. */
static bool join_one(struct joiner *j, int a, double most)
{
    const struct join_group *groups = j->groups, *g = &groups[a];
    const unsigned first = g->boundary[STARTS], end = g->boundary[ENDS];
    const struct join_group after = {.size = g->size, .boundary = {end}};
    const double starts = j->length[STARTS][first], ends = j->length[ENDS][end];
    if (j->length[STARTS][end] * ends - 1 <= most * SPREAD * (double)g->size)
        for (int b = *list_of(j, OF_SIZE, &after); b != NONE; b = groups[b].next[OF_SIZE])
            if (groups[b].boundary[STARTS] == end && groups[b].size == g->size) {
                join_pair(j, a, b);
                return true;
            }
    const double chance = (starts - 1) * (ends - 1) / (SPREAD * (end - first));
    unsigned tries = CROWD;
    for (int b = *list_of(j, OF_LIFE, g); b != NONE && tries > 0; b = groups[b].next[OF_LIFE])
        if (b != a && groups[b].boundary[STARTS] == first && groups[b].boundary[ENDS] == end) {
            tries--;
            if (many_chance(j, a, b, chance, most) > most)
                continue;
            join_pair(j, a, b);
            return true;
        }
    return false;
}

/* Is there news at an end of the life of a group since it was looked at in this round? */
static bool has_news(const struct joiner *j, const struct join_group *g)
{
    return g->parent == NONE &&
           (g->seen < j->changed[g->boundary[STARTS]] || g->seen < j->changed[g->boundary[ENDS]]);
}

/* In each round, looks at groups until none is joined. */
static void join_many(struct joiner *j, uint64_t deadline_ns)
{
    unsigned *left = must_alloc(2 * (size_t)j->count * sizeof *left), count = 0;
    for (; count < j->count; count++)
        left[count] = count;
    for (double most = MOST_FIRST; most < MOST_LAST && pack_now() <= deadline_ns;) {
        const unsigned before = j->count;
        pack_steps += STEPS_BOUNDARY * (uint64_t)count;
        for (unsigned i = 0; i < count; i++) {
            struct join_group *g = &j->groups[left[i]];
            if (!has_news(j, g))
                continue;
            g->seen = j->count;
            if (join_one(j, (int)left[i], most))
                left[count++] = j->count - 1;
        }
        const bool is_over = j->count == before;
        unsigned kept = 0;
        for (unsigned i = 0; i < count; i++) {
            struct join_group *g = &j->groups[left[i]];
            g->seen = is_over ? 0 : g->seen;
            if (g->parent == NONE)
                left[kept++] = left[i];
        }
        count = kept;
        most *= is_over ? MOST_STEP : 1;
    }
    free(left);
}

static void build_model(struct pack_join *join)
{
    struct pack_buffer *buffers = must_alloc(join->item_count * sizeof *buffers);
    unsigned count = 0;
    join->group_of = must_alloc(join->item_count * sizeof *join->group_of);
    for (unsigned i = 0; i < join->count; i++) {
        const struct join_group *g = &join->groups[i];
        if (g->parent != NONE)
            continue;
        buffers[count] = (struct pack_buffer){
            .lower = g->boundary[STARTS], .upper = g->boundary[ENDS], .size = g->size};
        join->group_of[count++] = i;
    }
    pack_model_build(&join->model, buffers, count);
    free(buffers);
}

/* Joins items for which pack_skyline_fits is true. If `random` is NULL it makes every join; else
 * those above a random likeliness, in a somewhat random order. With more than EXACT_MOST items it
 * ends at the deadline. */
static void join_build(struct pack_join *join, const struct pack_item *items, unsigned count,
                       struct random *random, uint64_t deadline_ns)
{
    struct joiner j = {.groups = must_alloc(2 * (size_t)count * sizeof *j.groups),
                       .mask = 1,
                       .boundary_count = pack_section_count(items, count) + 1};
    j.changed = arena_alloc(&j.arena, j.boundary_count * sizeof *j.changed);
    while (j.mask < count)
        j.mask = 2 * j.mask + 1;
    for (unsigned list = STARTS; list < LIST_COUNT; list++) {
        const size_t heads = list < SIDE_COUNT ? j.boundary_count : j.mask + (size_t)1;
        j.head[list] = arena_alloc(&j.arena, heads * sizeof *j.head[list]);
        memset(j.head[list], NONE, heads * sizeof *j.head[list]);
    }
    for (int side = STARTS; side < SIDE_COUNT; side++)
        j.length[side] = arena_alloc(&j.arena, j.boundary_count * sizeof *j.length[side]);
    for (unsigned i = 0; i < count; i++)
        add_group(&j, items[i].hull.first, items[i].hull.end, items[i].size);
    /* Inputs differ in how careful a guess must be: of some, plans are found only between two and
     * three times SURE. Beyond 2^OCTAVES times, almost every join has been made. */
    const double most =
        random ? ldexp(SURE * (1 + random_unit(random)), (int)random_below(random, OCTAVES))
               : HUGE_VAL;
    if (count > EXACT_MOST)
        join_many(&j, deadline_ns);
    else
        while (join_best(&j, most, random))
            ;
    pack_steps += STEPS_PAIR * j.pairs;
    *join = (struct pack_join){.groups = j.groups, .count = j.count, .item_count = count};
    build_model(join);
    arena_free(&j.arena);
}

/* Turns a plan of the joined model into a plan of the items. */
static void join_spread(const struct pack_join *join, const int64_t *joined, int64_t *offset)
{
    int64_t *at = must_alloc(join->count * sizeof *at);
    for (unsigned i = 0; i < join->model.count; i++)
        at[join->group_of[join->model.items[i].source]] = joined[i];
    for (unsigned i = join->count; i-- > 0;) /* a parent is younger than its parts */
        if (join->groups[i].parent != NONE)
            at[i] = at[join->groups[i].parent] + join->groups[i].above;
    for (unsigned i = 0; i < join->item_count; i++)
        offset[i] = at[i];
    free(at);
}

static void join_free(struct pack_join *join)
{
    pack_model_free(&join->model);
    free(join->groups);
    free(join->group_of);
    *join = (struct pack_join){0};
}

/* ---- the portfolio of exact searches --------------------------------------------------------- */

/* No search and no static order is best for all inputs. So all searches take turns, and each gets
 * twice as many nodes in every round.
 *
 * The question is a plan as low as the capacity asked for, or as the lower bound. "Impossible"
 * raises the bound; a plan ends the search. As there may be no such plan, the searches also look
 * for one that is lower than the best by a part of the gap to the bound. They begin with half of
 * it; the part is halved if none is found, and doubled if one is. So the plan is good when the time
 * is over, and no higher than with a capacity that was asked for.
 *
 * Most guesses at joins have no plan, and a search of a good one ends soon: of MiniMalloc's
 * input F, within 2000 nodes. How long it takes differs. So the guesses 1, 2, 3, 4, ... get
 * FIRST_NODES times 1, 2, 1, 4, 1, 2, 1, 8, ... for each order: all lengths get the same share of
 * the nodes (Luby, Sinclair, Zuckerman 1993).
 */
enum {
    ORDERS = 3,
    FIRST_NODES = 1024,
    JOINED_NODES = 72, /* of searches of joined buffers in the first round, times FIRST_NODES */
    /* Searches for lower plans get twice the nodes of those for the plan that is asked for; with a
     * capacity, where a higher plan is of little use, an eighth. */
    LOWER_TIMES = 2,
    LOWER_SHARE = 8,
    PARTS_MOST = 16, /* the smallest part of the gap is 1/16 */
    /* With room for waste the skyline rises in many small steps: each is a node. */
    WASTE_NODES = 4,
    /* Searches of all buffers are longer than those of joined ones, and fewer. In the first round
     * they are as short, for what is easy. */
    PLAIN_NODES = 8,
    OFFSET_SHARE =
        8, /* the offset search gets a share of 1/8: the skyline search mostly finds more */
    HALVING_ROUND = 4, /* the first round in which searches of all buffers look for half the gap */
    SQUEAK_ROUND = 2,  /* the first round with new orders: the case is not easy then */
    SQUEAK_SHARE = 64, /* nodes for which one order is tried */
};
static const enum pack_order static_orders[ORDERS] = {PACK_DURATION, PACK_SIZE, PACK_AREA};

/* Memory of so much use is full; if so many times fewer buffers are left, joins may be right. */
static const double FULL = 0.99;
/* With less time for each buffer, joins or two orders might not come to an end. */
enum { FEWER = 4, JOINS_NS = 3000, ORDERS_NS = 8000 };
/* With more than this an order takes so long that there is only one, or sweeps have all the time.
 * With less the orders come first, because one alone solves many programs, and then a trial of the
 * sweeps. Each has 1 / FIRST_SHARE of the time. If the trial is lower than the orders, sweeps begin
 * again with about half of the time. */
enum { ORDERS_MOST = 1 << 17, FIRST_SHARE = 8 };

/* A set of buffers whose lives overlap no others: an independent problem. */
struct component {
    struct pack_model model;
    struct pack_plan plan;
    size_t *buffer; /* the caller's number of each buffer that the model was built from */
    unsigned round; /* how often it was searched */
    unsigned parts; /* of the gap; the next height asked for is lower by one part */
    bool has_capacity, is_joined;
    uint64_t guesses; /* joins that were searched for a plan as low as asked for */
    uint64_t joined_nodes, lower_nodes; /* of these searches, and of those for lower plans */
    struct pack_squeaky *squeaky;
};

struct exact {
    const struct pack_item *items;
    unsigned count;
    int64_t enough;
    uint64_t deadline_ns, nodes;
    struct pack_plan *plan;
    bool use_skyline;
    struct pack_skyline *skyline[ORDERS];
    struct pack_search *search[ORDERS];
    struct random random;
    int64_t *offset; /* the plan of the last answer */
};

static bool is_done(const struct exact *e)
{
    return e->plan->height <= pack_max(e->enough, e->plan->lower_bound) ||
           pack_now() > e->deadline_ns;
}

static struct pack_question next_question(const struct exact *e, int64_t capacity, uint64_t nodes)
{
    pack_steps += STEPS_QUESTION * e->count; /* what comes before and after the search */
    return (struct pack_question){.capacity = capacity,
                                  .node_limit = nodes,
                                  .deadline_ns = e->deadline_ns,
                                  .offset = e->offset};
}

static void keep_plan(struct exact *e, const char *method)
{
    const int64_t height = pack_height(e->items, e->count, e->offset);
    if (height >= e->plan->height)
        return;
    e->plan->height = height;
    e->plan->method = method;
    memcpy(e->plan->offset, e->offset, e->count * sizeof *e->offset);
}

static void take_answer(struct exact *e, enum pack_verdict verdict, const struct pack_question *q,
                        const char *method)
{
    e->nodes += q->nodes;
    if (verdict == PACK_SOLVED)
        keep_plan(e, method);
    /* The best plan exists, so no proof can exceed its height. */
    if (verdict == PACK_IMPOSSIBLE)
        e->plan->lower_bound =
            pack_max(e->plan->lower_bound, pack_min(q->next_capacity, e->plan->height));
}

/* Joins buffers by one guess, then searches shortly with each order. */
static bool try_joined(struct exact *e, int64_t capacity, uint64_t nodes, struct random *random)
{
    struct pack_join join;
    join_build(&join, e->items, e->count, random, e->deadline_ns);
    const unsigned count = join.model.count;
    unsigned *order = must_alloc(count * sizeof *order);
    int64_t *joined = must_alloc(count * sizeof *joined);
    enum pack_verdict verdict = PACK_GAVE_UP;
    for (int i = 0; i < ORDERS && verdict == PACK_GAVE_UP && !is_done(e); i++) {
        pack_order_fill(join.model.items, count, static_orders[i], order);
        struct pack_skyline *skyline = pack_skyline_open(join.model.items, count, order);
        struct pack_question q = next_question(e, capacity, nodes);
        q.offset = joined;
        verdict = pack_skyline_ask(skyline, &q);
        e->nodes += q.nodes;
        pack_skyline_close(skyline);
    }
    if (verdict == PACK_SOLVED) {
        join_spread(&join, joined, e->offset);
        keep_plan(e, "search of joined buffers");
    }
    free(order);
    free(joined);
    join_free(&join);
    return verdict == PACK_SOLVED;
}

static void open_searches(struct exact *e)
{
    unsigned *order = must_alloc(e->count * sizeof *order);
    for (int i = 0; i < ORDERS; i++) {
        pack_order_fill(e->items, e->count, static_orders[i], order);
        e->search[i] = pack_search_open(e->items, e->count, order);
        if (e->use_skyline)
            e->skyline[i] = pack_skyline_open(e->items, e->count, order);
    }
    free(order);
}

/* Would an answer for this capacity be new? */
static bool is_open(const struct exact *e, int64_t capacity)
{
    return !is_done(e) && capacity < e->plan->height && capacity >= e->plan->lower_bound;
}

static void ask_all(struct exact *e, int64_t capacity, uint64_t nodes)
{
    for (int i = 0; i < ORDERS; i++) {
        if (e->use_skyline && is_open(e, capacity)) {
            struct pack_question q = next_question(e, capacity, nodes);
            const enum pack_verdict verdict = pack_skyline_ask(e->skyline[i], &q);
            take_answer(e, verdict, &q, "skyline search");
        }
        if (is_open(e, capacity)) {
            struct pack_question q =
                next_question(e, capacity, e->use_skyline ? nodes / OFFSET_SHARE : nodes);
            const enum pack_verdict verdict = pack_search_ask(e->search[i], &q);
            take_answer(e, verdict, &q, "search in order of offset");
        }
    }
}

/* Places the buffers in some better orders. */
static void try_orders(struct exact *e, struct component *c, uint64_t rounds)
{
    if (!c->squeaky)
        c->squeaky = pack_squeaky_open(e->items, e->count);
    for (uint64_t i = 0; i < rounds && !is_done(e); i++)
        if (pack_squeaky_round(c->squeaky, c->plan.height, e->deadline_ns, e->offset) != INT64_MAX)
            keep_plan(e, "squeaky wheel");
}

/* The capacity that is lower than the best plan by one of `parts` parts of the gap. */
static int64_t lower_by(const struct exact *e, unsigned parts)
{
    const int64_t floor = pack_max(e->enough, e->plan->lower_bound);
    return e->plan->height - pack_max((e->plan->height - floor) / parts, 1);
}

/* Lowers the plan by parts of the gap, as long as one join for each is enough. */
static void lower_joined(struct exact *e, struct component *c, uint64_t nodes)
{
    while (!is_done(e) && try_joined(e, lower_by(e, c->parts), WASTE_NODES * nodes, &e->random))
        c->parts = c->parts > 2 ? c->parts / 2 : 2;
    c->parts = c->parts < PARTS_MOST ? 2 * c->parts : PARTS_MOST;
}

/* Searches joined buffers for the plan that is asked for, or for a lower one, whichever has spent
 * less of its share. Returns nodes, no fewer than the join alone is worth. */
static uint64_t search_joined(struct exact *e, struct component *c, uint64_t nodes)
{
    const uint64_t before = e->nodes;
    const bool lower = c->lower_nodes < (c->has_capacity ? c->joined_nodes / LOWER_SHARE
                                                         : LOWER_TIMES * c->joined_nodes);
    if (lower)
        lower_joined(e, c, nodes);
    else
        try_joined(e, pack_max(e->enough, e->plan->lower_bound),
                   (uint64_t)FIRST_NODES << __builtin_ctzll(++c->guesses), &e->random);
    const uint64_t spent = e->nodes - before > FIRST_NODES ? e->nodes - before : FIRST_NODES;
    *(lower ? &c->lower_nodes : &c->joined_nodes) += spent;
    return spent;
}

static void search_round(struct exact *e, struct component *c)
{
    const uint64_t nodes = (uint64_t)FIRST_NODES << (c->round < 40 ? c->round : 40);
    const struct pack_plan *plan = e->plan;
    if (c->round == 0 && e->use_skyline)
        try_joined(e, pack_max(e->enough, plan->lower_bound), FIRST_NODES, NULL);
    if (!is_done(e) && !e->search[0])
        open_searches(e);
    if (c->round >= SQUEAK_ROUND)
        try_orders(e, c, nodes / SQUEAK_SHARE);
    ask_all(e, pack_max(e->enough, plan->lower_bound), c->round ? PLAIN_NODES * nodes : nodes);
    if (c->round >= HALVING_ROUND)
        ask_all(e, lower_by(e, 2), nodes);
    for (uint64_t spent = 0; e->use_skyline && spent < JOINED_NODES * nodes && !is_done(e);)
        spent += search_joined(e, c, nodes);
}

/* The end of a share of the time that is left: `part` of `whole`. */
static uint64_t share_deadline(uint64_t deadline_ns, double part, double whole)
{
    const uint64_t now = pack_now();
    return now < deadline_ns ? now + (uint64_t)((double)(deadline_ns - now) * (part / whole))
                             : deadline_ns;
}

/* Is an item alive several times? */
static bool has_interrupted(const struct pack_item *items, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (items[i].range_count > 1)
            return true;
    return false;
}

/* Lowers the plan of a component until it is as low as the larger of `enough` and its lower bound,
 * or lower than `next`, or the time is over; raises the bound as far as is proved. Returns the
 * number of buffers placed meanwhile by searches. */
static uint64_t lower_component(struct component *c, int64_t enough, int64_t next,
                                uint64_t deadline_ns)
{
    struct exact e = {.items = c->model.items,
                      .count = c->model.count,
                      .enough = enough,
                      .deadline_ns = deadline_ns,
                      .plan = &c->plan,
                      .random = {c->round},
                      .use_skyline = pack_skyline_fits(c->model.items, c->model.count)};
    e.offset = must_alloc(e.count * sizeof *e.offset);
    for (; !is_done(&e) && c->plan.height >= next; c->round++) {
        if (e.count > EXACT_MOST)
            try_orders(&e, c, 1);
        else
            search_round(&e, c);
    }
    for (int i = 0; i < ORDERS; i++) {
        pack_search_close(e.search[i]);
        pack_skyline_close(e.skyline[i]);
    }
    free(e.offset);
    return e.nodes;
}

/* ---- a plan of all buffers ------------------------------------------------------------------- */

static const enum pack_order many_orders[] = {PACK_CLASS, PACK_SIZE};

/* Is memory nearly always full, so that joins may be right, and sweeps through time are not? */
static bool is_full(const struct component *c)
{
    double area = 0;
    for (unsigned i = 0; i < c->model.count; i++)
        area += (double)c->model.items[i].size *
                (c->model.items[i].hull.end - c->model.items[i].hull.first);
    return pack_skyline_fits(c->model.items, c->model.count) &&
           area >= FULL * (double)c->plan.lower_bound * c->model.section_count;
}

static uint64_t plan_greedily(struct component *c, int64_t enough, uint64_t deadline_ns);

/* Plans the joined buffers, if few are left. Returns nodes. */
static uint64_t plan_joined(struct component *c, int64_t enough, uint64_t deadline_ns)
{
    struct pack_join join;
    uint64_t nodes = 0;
    const uint64_t now = pack_now(), time = deadline_ns > now ? deadline_ns - now : 0;
    if (time < (uint64_t)JOINS_NS * c->model.count)
        return 0;
    join_build(&join, c->model.items, c->model.count, NULL, now + time / 4 * 3);
    struct component joined = {.model = join.model, .is_joined = true};
    if (join.model.count < c->model.count / FEWER) {
        plan_greedily(&joined, enough, deadline_ns);
        nodes = lower_component(&joined, pack_max(enough, c->plan.lower_bound), 0,
                                deadline_ns - pack_max(deadline_ns - pack_now(), 0) / 3);
        join_spread(&join, joined.plan.offset, c->plan.offset);
        c->plan.height = pack_height(c->model.items, c->model.count, c->plan.offset);
        c->plan.method = "joined buffers";
        pack_squeaky_close(joined.squeaky);
        free(joined.plan.offset);
    }
    join_free(&join);
    return nodes;
}

/* Sweeps until the deadline; is that plan lower? `offset` is room for it. */
static bool lower_by_sweeps(struct component *c, int64_t enough, uint64_t deadline_ns,
                            int64_t *offset)
{
    const unsigned count = c->model.count;
    const int64_t height = pack_sweep(c->model.items, count, enough, deadline_ns, offset);
    if (height >= c->plan.height)
        return false;
    c->plan.height = height;
    c->plan.method = "sweeps through time";
    memcpy(c->plan.offset, offset, count * sizeof *offset);
    return true;
}

/* The greedy orders, until a plan is as low as need be; without a deadline (0) only the first. Of
 * many buffers only two, and of very many one: squeaky wheels begin like the others. Of a full
 * memory the first order is never cut: the sweep instead would take as long, and be far higher. */
static uint64_t plan_greedily(struct component *c, int64_t enough, uint64_t deadline_ns)
{
    const struct pack_item *items = c->model.items;
    const unsigned count = c->model.count;
    unsigned *order = must_alloc(count * sizeof *order);
    int64_t *offset = must_alloc(count * sizeof *offset);
    struct pack_placer *placer = pack_placer_open(items, count);
    c->plan.lower_bound = pack_load_bound(items, count, NULL);
    if (count <= EXACT_MOST && has_interrupted(items, count))
        c->plan.lower_bound = pack_max(c->plan.lower_bound, pack_clique_bound(items, count));
    c->plan.height = INT64_MAX;
    c->parts = 2;
    c->has_capacity = enough > 0;
    c->plan.offset = must_alloc(count * sizeof *c->plan.offset);
    const bool is_large = count > EXACT_MOST;
    const bool full = is_large && is_full(c);
    const uint64_t nodes = full && !c->is_joined ? plan_joined(c, enough, deadline_ns) : 0;
    const bool has_sweeps = is_large && !full && deadline_ns && !has_interrupted(items, count);
    const uint64_t now = pack_now(), time = deadline_ns > now ? deadline_ns - now : 0;
    const bool has_both = has_sweeps && count <= ORDERS_MOST && time >= (uint64_t)ORDERS_NS * count;
    const uint64_t orders_ns = has_both      ? now + time / FIRST_SHARE
                               : deadline_ns ? deadline_ns
                                             : UINT64_MAX;
    const int orders = has_sweeps && !has_both ? 0
                       : count > ORDERS_MOST   ? 1
                       : is_large              ? sizeof many_orders / sizeof *many_orders
                                               : PACK_ORDER_COUNT * PACK_GAP_COUNT;
    for (int k = 0; k < orders; k++) {
        if (c->plan.height < INT64_MAX &&
            (c->plan.height <= pack_max(enough, c->plan.lower_bound) || pack_now() > deadline_ns))
            break;
        const enum pack_order o = is_large ? many_orders[k] : (enum pack_order)(k / PACK_GAP_COUNT);
        const enum pack_gap gap = is_large ? PACK_FIRST_GAP : (enum pack_gap)(k % PACK_GAP_COUNT);
        struct pack_run run = {.below = c->plan.height,
                               .deadline_ns = full && k == 0 ? UINT64_MAX : orders_ns};
        pack_order_fill(items, count, o, order);
        const int64_t height = pack_placer_run(placer, order, count, gap, &run, offset);
        if (height == INT64_MAX)
            continue;
        c->plan.height = height;
        c->plan.method = pack_greedy_name(o, gap);
        memcpy(c->plan.offset, offset, count * sizeof *offset);
    }
    const int64_t floor = pack_max(enough, c->plan.lower_bound);
    if (has_both && c->plan.height > floor) {
        const uint64_t trial_ns = share_deadline(deadline_ns, 1, FIRST_SHARE);
        if (lower_by_sweeps(c, enough, trial_ns, offset) && c->plan.height > floor &&
            pack_now() > trial_ns)
            lower_by_sweeps(c, enough, share_deadline(deadline_ns, 5, 8), offset);
    } else if (c->plan.height == INT64_MAX) {
        const uint64_t end_ns =
            count > ORDERS_MOST ? deadline_ns : share_deadline(deadline_ns, 1, 2);
        c->plan.height = pack_sweep(items, count, enough, has_sweeps ? end_ns : 1, c->plan.offset);
        c->plan.method = "sweeps through time";
    }
    pack_placer_close(placer);
    free(order);
    free(offset);
    return nodes;
}

/* A buffer's life from its first start to its last end. */
struct life {
    int64_t lower, upper;
    size_t buffer;
};

ORDER_BY_BOTH(by_start, struct life, lower, buffer)

/* Collects the lives of the buffers that take room, by start. */
static size_t collect_lives(const struct pack_buffer *buffers, size_t count, struct life *lives)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct life life = {.buffer = i};
        bool alive = false;
        for (size_t k = 0; buffers[i].size && k < pack_interval_count(&buffers[i]); k++) {
            const struct pack_interval part = pack_interval_at(&buffers[i], k);
            if (part.lower == part.upper)
                continue;
            life.lower = alive ? life.lower : part.lower;
            life.upper = part.upper;
            alive = true;
        }
        if (alive)
            lives[used++] = life;
    }
    qsort(lives, used, sizeof *lives, by_start);
    return used;
}

static void open_component(struct component *c, const struct pack_buffer *buffers,
                           const struct life *lives, size_t count)
{
    struct pack_buffer *own = must_alloc(count * sizeof *own);
    c->buffer = must_alloc(count * sizeof *c->buffer);
    for (size_t i = 0; i < count; i++) {
        own[i] = buffers[lives[i].buffer];
        c->buffer[i] = lives[i].buffer;
    }
    pack_model_build(&c->model, own, count);
    free(own);
}

static size_t open_components(const struct pack_buffer *buffers, size_t count,
                              struct component *components)
{
    struct life *lives = must_alloc((count + 1) * sizeof *lives);
    const size_t life_count = collect_lives(buffers, count, lives);
    size_t component_count = 0, end;
    for (size_t first = 0; first < life_count; first = end) {
        int64_t upper = lives[first].upper;
        for (end = first + 1; end < life_count && lives[end].lower < upper; end++)
            upper = pack_max(upper, lives[end].upper);
        open_component(&components[component_count++], buffers, &lives[first], end - first);
    }
    free(lives);
    return component_count;
}

ORDER_FROM_MOST(by_height, struct component, plan.height, buffer[0])

/* Puts the first component where it belongs, among the others in the order of a heap. */
static void sift_down(struct component *heap, size_t count)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && by_height(&heap[child + 1], &heap[child]) < 0)
            child++;
        if (by_height(&heap[i], &heap[child]) < 0)
            break;
        const struct component c = heap[i];
        heap[i] = heap[child];
        heap[child] = c;
    }
}

/* Lowers the highest plan again and again: the others lie below it. */
static uint64_t lower_components(struct component *heap, size_t count, int64_t enough,
                                 uint64_t deadline_ns)
{
    uint64_t nodes = 0;
    qsort(heap, count, sizeof *heap, by_height);
    for (size_t i = 0; i < count; i++)
        enough = pack_max(enough, heap[i].plan.lower_bound);
    while (count && heap->plan.height > enough && pack_now() <= deadline_ns) {
        const int64_t next =
            pack_max(count > 1 ? heap[1].plan.height : 0, count > 2 ? heap[2].plan.height : 0);
        nodes += lower_component(heap, enough, next, deadline_ns);
        enough = pack_max(enough, heap->plan.lower_bound);
        sift_down(heap, count);
    }
    return nodes;
}

static uint64_t plan_components(struct component *components, size_t count, int64_t enough,
                                uint64_t deadline_ns)
{
    double left = 0;
    uint64_t nodes = 0;
    for (size_t i = 0; i < count; i++)
        left += components[i].model.count;
    for (size_t i = 0; i < count; i++) {
        const double part = components[i].model.count;
        nodes += plan_greedily(&components[i], enough, share_deadline(deadline_ns, part, left));
        enough = pack_max(enough, components[i].plan.lower_bound);
        left -= part;
    }
    return nodes + lower_components(components, count, enough, deadline_ns);
}

static void take_plan(const struct component *c, struct pack_result *result)
{
    for (unsigned i = 0; i < c->model.count; i++)
        result->offset[c->buffer[c->model.items[i].source]] = c->plan.offset[i];
    result->lower_bound = pack_max(result->lower_bound, c->plan.lower_bound);
    if (c->plan.height > result->height) {
        result->height = c->plan.height;
        result->method = c->plan.method;
    }
}

int pack_solve(const struct pack_buffer *buffers, size_t count, const struct pack_options *options,
               struct pack_result *result, struct error *error)
{
    const uint64_t start = clock_ns();
    const uint64_t deadline = options->step_limit ? options->step_limit
                              : options->time_limit_ns > 0
                                  ? start + (uint64_t)options->time_limit_ns
                                  : 0;
    *result = (struct pack_result){.method = "nothing to place"};
    TRY(pack_verify(buffers, count, error));
    pack_steps = 0;
    pack_counts_steps = options->step_limit > 0;
    result->offset = must_alloc((count + 1) * sizeof *result->offset);
    struct component *components = must_alloc((count + 1) * sizeof *components);
    const size_t component_count = open_components(buffers, count, components);
    result->nodes = plan_components(components, component_count, options->capacity, deadline);
    for (size_t i = 0; i < component_count; i++) {
        take_plan(&components[i], result);
        pack_model_free(&components[i].model);
        pack_squeaky_close(components[i].squeaky);
        free(components[i].plan.offset);
        free(components[i].buffer);
    }
    free(components);
    pack_counts_steps = false;
    result->optimal = result->height == result->lower_bound;
    result->elapsed_ns = (int64_t)(clock_ns() - start);
    return 0;
}

void pack_result_free(struct pack_result *result)
{
    free(result->offset);
    *result = (struct pack_result){0};
}
