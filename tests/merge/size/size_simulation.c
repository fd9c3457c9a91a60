#include "tests/merge/size/size_simulation.h"

bool simulation_value(const struct simulation *sim, const struct expr *e, int64_t *value)
{
    union scalar result;
    struct error error = {0};
    if (expr_evaluate(sim->program, e, sim->values, &result, &error))
        return false;
    *value = scalar_convert(result, e->type, ELEMENT_i64).i64;
    return true;
}

static bool shapes_are_fine(struct simulation *sim, const int *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct name *n = &sim->fun->names[names[i]];
        int64_t size;
        for (unsigned d = 0; n->kind == NAME_ARRAY && d < n->rank; d++)
            if (!simulation_value(sim, n->shape[d], &size) || size < 0)
                return false;
    }
    return true;
}

static void set(struct simulation *sim, int name, int64_t value)
{
    sim->values[name] =
        scalar_convert((union scalar){.i64 = value}, ELEMENT_i64, sim->fun->names[name].element);
}

static void set_at_random(struct simulation *sim, const int *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (sim->fun->names[names[i]].kind == NAME_SCALAR)
            set(sim, names[i], (int64_t)random_below(&sim->random, 5) - 1);
}

/* Counters are in front of every loop's body; one value of each index of a kernel. */
static bool draw(struct simulation *sim, int counter, const struct expr *bound)
{
    int64_t count;
    if (!simulation_value(sim, bound, &count) || count <= 0)
        return false;
    set(sim, counter, (int64_t)random_below(&sim->random, (uint64_t)count));
    return true;
}

static bool run(struct simulation *sim, const struct body *body);

static bool run_if(struct simulation *sim, const struct stm *stm, bool taken)
{
    const struct body *body = taken ? stm->then : stm->otherwise;
    if (!run(sim, body))
        return false;
    for (unsigned o = 0; o < stm->out_count; o++)
        sim->values[stm->outs[o]] = sim->values[body->results[o]];
    return shapes_are_fine(sim, stm->outs, stm->out_count);
}

/* The state in a middle iteration, and behind the loop, is anything that fits what is handed on. */
static bool run_loop(struct simulation *sim, const struct loop *l, const struct stm *stm)
{
    set_at_random(sim, l->params, l->param_count);
    for (unsigned i = 0; i < l->param_count; i++)
        if (l->init_exprs[i] && l->body.results[i] == l->params[i]) {
            int64_t value;
            if (!simulation_value(sim, l->init_exprs[i], &value))
                return false;
            set(sim, l->params[i], value);
        }
    if (!shapes_are_fine(sim, l->params, l->param_count) || l->counter == NO_NAME ||
        !draw(sim, l->counter, l->bound) || !run(sim, &l->body))
        return false;
    for (unsigned o = 0; o < stm->out_count; o++)
        sim->values[stm->outs[o]] = sim->values[l->body.results[o]];
    return shapes_are_fine(sim, stm->outs, stm->out_count);
}

static bool run_statement(struct simulation *sim, const struct stm *stm)
{
    int64_t value = 0;
    if (stm->kind == STM_SCALAR || stm->kind == STM_ASSERT || stm->kind == STM_IF)
        if (!simulation_value(sim, stm->expr, &value))
            return false;
    if (stm->kind == STM_ELEMENT)
        set_at_random(sim, stm->outs, stm->out_count);
    if (stm->kind == STM_SCALAR)
        set(sim, stm->outs[0], value);
    if (stm->kind == STM_IF)
        return run_if(sim, stm, value != 0);
    if (stm->kind == STM_LOOP)
        return run_loop(sim, stm->loop, stm);
    if (!shapes_are_fine(sim, stm->outs, stm->out_count))
        return false;
    for (unsigned d = 0; stm->kind == STM_KERNEL && d < stm->kernel->rank; d++)
        if (!draw(sim, stm->kernel->indices[d], stm->kernel->extents[d]))
            return false;
    sim->visit(sim, stm);
    sim->visits++;
    return stm->kind != STM_ASSERT || value != 0;
}

static bool run(struct simulation *sim, const struct body *body)
{
    bool goes_on = true;
    for (const struct stm *stm = body->first; stm && goes_on; stm = stm->next)
        goes_on = run_statement(sim, stm);
    return goes_on;
}

void simulate(struct simulation *sim, unsigned limit)
{
    const struct fun *fun = sim->fun;
    for (unsigned i = 0; i < fun->param_count; i++)
        if (fun->names[fun->params[i]].kind == NAME_SCALAR)
            set(sim, fun->params[i], (int64_t)random_below(&sim->random, limit + 2) - 2);
    if (shapes_are_fine(sim, fun->params, fun->param_count))
        run(sim, &fun->body);
}

const struct stm *simulation_find(const struct body *body, int name)
{
    const struct stm *found = NULL;
    for (const struct stm *stm = body->first; stm && !found; stm = stm->next) {
        for (unsigned o = 0; o < stm->out_count; o++)
            if (stm->outs[o] == name)
                return stm;
        if (stm->kind == STM_LOOP)
            found = simulation_find(&stm->loop->body, name);
        if (stm->kind == STM_IF)
            found = simulation_find(stm->then, name);
        if (stm->kind == STM_IF && !found)
            found = simulation_find(stm->otherwise, name);
    }
    return found;
}
