/* The searches side by side: none is best everywhere, and which static order is right differs from
 * input to input, so all take turns, and everyone's nodes double from round to round.
 *
 * They are asked for a plan as low as the lower bound. "Impossible" raises the bound; a plan ends
 * the matter. If neither comes soon, they are also asked for half-way between the bound and the
 * best plan, so that what there is when the time is over is as good as it can be.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "merge/pack/pack_model.h"

enum {
    ORDERS = 3,
    FIRST_NODES = 1024,
    JOINS_A_ROUND = 16,
    OFFSET_SHARE = 8,  /* beside the skyline search, which mostly finds more with as many nodes */
    HALVING_ROUND = 4, /* before that, what lies between is not worth the time */
    CLIMB_ROUND = 2,   /* by then it is no easy case */
    CLIMB_ATTEMPTS = 200,
};
static const enum pack_order static_orders[ORDERS] = {PACK_AREA, PACK_DURATION, PACK_SIZE};

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
    int64_t *offset; /* of the last answer */
};

static bool is_done(const struct exact *e)
{
    return e->plan->height <= pack_max(e->enough, e->plan->lower_bound) ||
           clock_ns() > e->deadline_ns;
}

static struct pack_question question(const struct exact *e, int64_t capacity, uint64_t nodes)
{
    return (struct pack_question){.capacity = capacity,
                                  .node_limit = nodes,
                                  .deadline_ns = e->deadline_ns,
                                  .offset = e->offset};
}

static void take_plan(struct exact *e, const char *method)
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
        take_plan(e, method);
    /* A plan of the height at hand exists, so no proof can go beyond it. */
    if (verdict == PACK_IMPOSSIBLE)
        e->plan->lower_bound =
            pack_max(e->plan->lower_bound, pack_min(q->next_capacity, e->plan->height));
}

/* One guess at which buffers belong together, and a short search with each order. */
static void try_joined(struct exact *e, uint64_t nodes, struct random *random)
{
    struct pack_join join;
    pack_join_build(&join, e->items, e->count, random);
    const unsigned count = join.model.count;
    unsigned *order = must_alloc(count * sizeof *order);
    int64_t *joined = must_alloc(count * sizeof *joined);
    enum pack_verdict verdict = PACK_GAVE_UP;
    for (int i = 0; i < ORDERS && verdict == PACK_GAVE_UP && !is_done(e); i++) {
        pack_order_fill(join.model.items, count, static_orders[i], order);
        struct pack_skyline *skyline = pack_skyline_open(join.model.items, count, order);
        struct pack_question q = question(e, e->plan->lower_bound, nodes);
        q.offset = joined;
        verdict = pack_skyline_ask(skyline, &q);
        e->nodes += q.nodes;
        pack_skyline_close(skyline);
    }
    if (verdict == PACK_SOLVED) {
        pack_join_spread(&join, joined, e->offset);
        take_plan(e, "search of joined buffers");
    }
    free(order);
    free(joined);
    pack_join_free(&join);
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

/* Whether an answer would tell something new. */
static bool is_open(const struct exact *e, int64_t capacity)
{
    return !is_done(e) && capacity < e->plan->height && capacity >= e->plan->lower_bound;
}

static void ask_all(struct exact *e, int64_t capacity, uint64_t nodes)
{
    for (int i = 0; i < ORDERS; i++) {
        if (e->use_skyline && is_open(e, capacity)) {
            struct pack_question q = question(e, capacity, nodes);
            const enum pack_verdict verdict = pack_skyline_ask(e->skyline[i], &q);
            take_answer(e, verdict, &q, "skyline search");
        }
        if (is_open(e, capacity)) {
            struct pack_question q =
                question(e, capacity, e->use_skyline ? nodes / OFFSET_SHARE : nodes);
            const enum pack_verdict verdict = pack_search_ask(e->search[i], &q);
            take_answer(e, verdict, &q, "search in order of offset");
        }
    }
}

static void climb(struct exact *e)
{
    unsigned *order = must_alloc(e->count * sizeof *order);
    pack_order_fill(e->items, e->count, PACK_SIZE, order);
    const int64_t height = pack_place(e->items, e->count, order, PACK_BEST_GAP, e->offset);
    pack_climb(e->items, e->count, PACK_BEST_GAP, CLIMB_ATTEMPTS,
               pack_max(e->enough, e->plan->lower_bound), e->deadline_ns, order, e->offset, height);
    take_plan(e, "hill climbing");
    free(order);
}

uint64_t pack_exact(const struct pack_item *items, unsigned count, int64_t enough,
                    uint64_t deadline_ns, struct pack_plan *plan)
{
    struct exact e = {.items = items,
                      .count = count,
                      .enough = enough,
                      .deadline_ns = deadline_ns,
                      .plan = plan,
                      .use_skyline = pack_skyline_fits(items, count)};
    e.offset = must_alloc(count * sizeof *e.offset);
    if (e.use_skyline && !is_done(&e))
        try_joined(&e, FIRST_NODES, NULL);
    if (!is_done(&e))
        open_searches(&e);
    for (unsigned round = 0; !is_done(&e); round++) {
        const uint64_t nodes = (uint64_t)FIRST_NODES << (round < 40 ? round : 40);
        if (round == CLIMB_ROUND)
            climb(&e);
        ask_all(&e, pack_max(e.enough, plan->lower_bound), nodes);
        if (round >= HALVING_ROUND)
            ask_all(&e, plan->lower_bound + (plan->height - plan->lower_bound) / 2, nodes);
        for (int i = 0; i < JOINS_A_ROUND && e.use_skyline && !is_done(&e); i++)
            try_joined(&e, nodes, &e.random);
    }
    for (int i = 0; i < ORDERS; i++) {
        pack_search_close(e.search[i]);
        pack_skyline_close(e.skyline[i]);
    }
    free(e.offset);
    return e.nodes;
}
