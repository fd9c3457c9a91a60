/* The walk through the program that fills the tables, statement by statement in order. */
#include <string.h>

#include "merge/size/size_state.h"

static unsigned next_position(struct sizes *s, unsigned world)
{
    s->last_position++;
    if (s->last_position >= s->world_capacity) {
        s->world_capacity = s->world_capacity * 2 + 64;
        s->world_at = must_realloc(s->world_at, s->world_capacity * sizeof *s->world_at);
    }
    s->world_at[s->last_position] = world;
    return s->last_position;
}

static unsigned current_world(const struct sizes *s)
{
    return s->world_at[s->last_position];
}

static unsigned step(struct sizes *s)
{
    return next_position(s, current_world(s));
}

static void bind(struct sizes *s, int name)
{
    struct size_name *n = sizes_name(s, name);
    n->bound = true;
    n->bound_at = s->last_position;
}

/* ---- what statements say -------------------------------------------------------------------- */

static void learn_shape(struct sizes *s, int array, struct span span)
{
    const struct name *n = &s->fun->names[array];
    if (n->kind != NAME_ARRAY || (s->without & SIZES_BOUNDS))
        return;
    for (unsigned d = 0; d < n->rank; d++)
        sizes_learn_nonnegative(s, sizes_of(s, n->shape[d]), span);
}

/* Names that are bound together may mention each other in their shapes. */
static void bind_all(struct sizes *s, const int *names, unsigned count, struct span span)
{
    for (unsigned i = 0; i < count; i++)
        bind(s, names[i]);
    for (unsigned i = 0; i < count; i++)
        learn_shape(s, names[i], span);
}

/* 0 <= name < range, inside of span. */
static void learn_counter(struct sizes *s, int name, const struct poly *range, struct span span)
{
    bind(s, name);
    sizes_name(s, name)->range = range;
    const struct poly *value = sizes_of_name(s, name);
    const struct poly *below = poly_add(&s->polys, range, -1, value);
    if (below)
        below = poly_add(&s->polys, below, -1, sizes_constant(s, 1));
    if (s->without & SIZES_BOUNDS)
        return;
    sizes_learn_nonnegative(s, value, span);
    if (below)
        sizes_learn_nonnegative(s, below, span);
}

static void learn_condition(struct sizes *s, const struct expr *condition, bool truth,
                            struct span span)
{
    if (!(s->without & SIZES_ASSERTS))
        sizes_learn_condition(s, sizes_of(s, condition), truth, span);
}

static void remember_position(struct sizes *s, const struct stm *stm, unsigned position)
{
    uint64_t h = (uintptr_t)stm >> 4;
    while (s->slots[h & (s->slot_count - 1)].stm)
        h++;
    s->slots[h & (s->slot_count - 1)] = (struct position_slot){stm, position};
}

/* ---- statements with bodies ----------------------------------------------------------------- */

static void walk_body(struct sizes *s, const struct body *body, const unsigned *end);

/* Opens a body: its own position, and the place for its end. */
static unsigned *enter(struct sizes *s)
{
    unsigned *end = arena_alloc(&s->polys.arena, sizeof *end);
    *end = UINT32_MAX;
    step(s);
    return end;
}

static void leave(struct sizes *s, unsigned *end, unsigned world_before)
{
    *end = step(s);
    next_position(s, world_before);
}

static void walk_branch(struct sizes *s, const struct body *body, const struct expr *condition,
                        bool truth)
{
    unsigned world = current_world(s), *end = enter(s);
    learn_condition(s, condition, truth, (struct span){s->last_position, end});
    walk_body(s, body, end);
    leave(s, end, world);
}

/* A scalar that both branches give the same value has that value. */
static void walk_if(struct sizes *s, const struct stm *stm)
{
    walk_branch(s, stm->then, stm->expr, true);
    walk_branch(s, stm->otherwise, stm->expr, false);
    for (unsigned o = 0; o < stm->out_count; o++) {
        if (s->fun->names[stm->outs[o]].kind != NAME_SCALAR)
            continue;
        const struct poly *a = sizes_of_name(s, stm->then->results[o]);
        if (a == sizes_of_name(s, stm->otherwise->results[o]))
            sizes_name(s, stm->outs[o])->value = a;
    }
}

/* A scalar that every iteration hands on as it is keeps the value that it began with. */
static void walk_loop(struct sizes *s, const struct stm *stm)
{
    const struct loop *l = stm->loop;
    const struct poly *range = l->counter != NO_NAME ? sizes_of(s, l->bound) : NULL;
    unsigned world = current_world(s), *end = enter(s), begin = s->last_position;
    struct span span = {begin, end};
    for (unsigned i = 0; i < l->param_count; i++)
        if (l->init_exprs[i] && l->body.results[i] == l->params[i]) {
            const struct poly *init = sizes_of(s, l->init_exprs[i]);
            sizes_name(s, l->params[i])->value = init;
            sizes_name(s, stm->outs[i])->value = init;
        }
    bind_all(s, l->params, l->param_count, span);
    if (range)
        learn_counter(s, l->counter, range, span);
    walk_body(s, &l->body, end);
    leave(s, end, world);
    if (range) {
        sizes_name(s, l->counter)->from = begin;
        sizes_name(s, l->counter)->to = *end;
    }
}

/* Shapes are checked before extents, and both before the launch. */
static void walk_kernel(struct sizes *s, const struct stm *stm, struct span span)
{
    const struct kernel *k = stm->kernel;
    unsigned *here = arena_alloc(&s->polys.arena, sizeof *here);
    *here = s->last_position;
    bind_all(s, stm->outs, stm->out_count, span);
    for (unsigned p = 0; p < k->private_count; p++)
        sizes_name(s, k->privates[p])->kernel = k;
    for (unsigned d = 0; d < k->rank; d++) {
        const struct poly *extent = sizes_of(s, k->extents[d]);
        if (!(s->without & SIZES_BOUNDS))
            sizes_learn_nonnegative(s, extent, span);
        learn_counter(s, k->indices[d], extent, (struct span){*here, here});
        sizes_name(s, k->indices[d])->is_index = true;
    }
    if (k->item != NO_NAME)
        bind(s, k->item);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void walk_statement(struct sizes *s, const struct stm *stm, const unsigned *end)
{
    remember_position(s, stm, step(s));
    if (stm->kind == STM_IF)
        walk_if(s, stm);
    else if (stm->kind == STM_LOOP)
        walk_loop(s, stm);
    struct span span = {s->last_position, end};
    if (stm->kind == STM_KERNEL) {
        walk_kernel(s, stm, span);
    } else if (stm->kind == STM_ASSERT) {
        span.from = step(s);
        learn_condition(s, stm->expr, true, span);
    } else {
        if (stm->kind == STM_SCALAR) {
            const struct poly *value = sizes_of(s, stm->expr);
            sizes_name(s, stm->outs[0])->value = value;
        }
        bind_all(s, stm->outs, stm->out_count, span);
    }
}

static void walk_body(struct sizes *s, const struct body *body, const unsigned *end)
{
    for (const struct stm *stm = body->first; stm; stm = stm->next)
        walk_statement(s, stm, end);
}

static unsigned count_statements(const struct body *body)
{
    unsigned count = 0;
    for (const struct stm *stm = body->first; stm; stm = stm->next) {
        count++;
        if (stm->kind == STM_IF)
            count += count_statements(stm->then) + count_statements(stm->otherwise);
        else if (stm->kind == STM_LOOP)
            count += count_statements(&stm->loop->body);
    }
    return count;
}

void sizes_walk(struct sizes *s)
{
    const struct fun *fun = s->fun;
    unsigned needed = 2 * count_statements(&fun->body) + 1;
    for (s->slot_count = 16; s->slot_count < needed;)
        s->slot_count *= 2;
    s->slots = must_alloc(s->slot_count * sizeof *s->slots);
    s->world_capacity = 64;
    s->world_at = must_alloc(s->world_capacity * sizeof *s->world_at);
    s->world_at[0] = s->world_count = 1;
    sizes_name(s, 0);
    unsigned *end = arena_alloc(&s->polys.arena, sizeof *end);
    *end = UINT32_MAX;
    bind_all(s, fun->params, fun->param_count, (struct span){0, end});
    walk_body(s, &fun->body, end);
    *end = step(s);
}
