/* One backward walk over every body with the set of memory names that are mentioned later. */
#include "run/execute/executor.h"

#include <string.h>

struct set { /* a set of memory names: a byte per name */
    unsigned char *has;
};

struct analysis {
    const struct fun *fun;
    struct arena *arena;
    struct arena room; /* memory of the sets, which the result does not need */
};

static struct set new_set(struct analysis *a)
{
    return (struct set){arena_alloc(&a->room, a->fun->name_count)};
}

/* ---- what a statement mentions -------------------------------------------------------------- */

static void mention(const struct analysis *a, struct set *set, int name)
{
    if (name == NO_NAME)
        return;
    const struct name *n = &a->fun->names[name];
    if (n->kind == NAME_MEMORY)
        set->has[name] = 1;
    else if (n->kind == NAME_ARRAY && n->memory != NO_NAME)
        set->has[n->memory] = 1;
}

static void mention_all(const struct analysis *a, struct set *set, const int *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        mention(a, set, names[i]);
}

static void mention_body(const struct analysis *a, struct set *set, const struct body *body);

static void mention_statement(const struct analysis *a, struct set *set, const struct stm *s)
{
    mention_all(a, set, s->outs, s->out_count);
    mention(a, set, s->array);
    mention(a, set, s->value);
    for (unsigned i = 0; i < s->piece_count; i++)
        mention(a, set, s->pieces[i].array);
    if (s->kind == STM_IF) {
        mention_body(a, set, s->then);
        mention_body(a, set, s->otherwise);
    }
    if (s->kind == STM_LOOP) {
        mention_all(a, set, s->loop->init_names, s->loop->param_count);
        mention_all(a, set, s->loop->params, s->loop->param_count);
        mention_body(a, set, &s->loop->body);
    }
    if (s->kind == STM_KERNEL) {
        mention_all(a, set, s->kernel->arrays, s->kernel->array_count);
        mention_all(a, set, s->kernel->taken_over, s->out_count);
        mention_all(a, set, s->kernel->privates, s->kernel->private_count);
    }
}

static void mention_body(const struct analysis *a, struct set *set, const struct body *body)
{
    for (const struct stm *s = body->first; s; s = s->next)
        mention_statement(a, set, s);
    mention_all(a, set, body->results, body->result_count);
}

/* ---- lists ---------------------------------------------------------------------------------- */

static struct names_list list_of(const struct analysis *a, const struct set *set)
{
    struct names_list list = {.names = NULL};
    for (unsigned n = 0; n < a->fun->name_count; n++)
        list.count += set->has[n];
    list.names = arena_alloc(a->arena, list.count * sizeof *list.names);
    unsigned i = 0;
    for (unsigned n = 0; n < a->fun->name_count; n++)
        if (set->has[n])
            list.names[i++] = (int)n;
    return list;
}

/* Moves the members of `from` that are not in `kept` to a new set. */
static struct set take_others(struct analysis *a, struct set *from, const struct set *kept)
{
    struct set taken = new_set(a);
    for (unsigned n = 0; n < a->fun->name_count; n++)
        if (from->has[n] && !kept->has[n]) {
            from->has[n] = 0;
            taken.has[n] = 1;
        }
    return taken;
}

/* ---- the walk ------------------------------------------------------------------------------- */

static struct scope *analyse(struct analysis *a, const struct body *body, const int *entering,
                             unsigned entering_count, const struct set *dying);

static void analyse_statement(struct analysis *a, struct step *step, struct set *later,
                              const struct set *releasable)
{
    const struct stm *s = step->stm;
    struct set mentioned = new_set(a), released = new_set(a), kept = new_set(a);
    mention_statement(a, &mentioned, s);
    for (unsigned n = 0; n < a->fun->name_count; n++)
        released.has[n] = mentioned.has[n] && releasable->has[n] && !later->has[n];
    if (s->kind == STM_IF) {
        /* A branch releases the names that die here at its own last use. The if's results die
         * after it, and so does an outer block that they lie in. */
        mention_all(a, &kept, s->outs, s->out_count);
        struct set passed = take_others(a, &released, &kept);
        step->then = analyse(a, s->then, NULL, 0, &passed);
        step->otherwise = analyse(a, s->otherwise, NULL, 0, &passed);
    } else if (s->kind == STM_LOOP) {
        step->then = analyse(a, &s->loop->body, s->loop->params, s->loop->param_count, NULL);
        mention_body(a, &kept, &s->loop->body);
        mention_all(a, &kept, s->loop->params, s->loop->param_count);
        mention_all(a, &kept, s->outs, s->out_count);
        struct set moved = take_others(a, &released, &kept);
        step->moved = list_of(a, &moved);
    }
    step->released = list_of(a, &released);
    for (unsigned n = 0; n < a->fun->name_count; n++)
        later->has[n] |= mentioned.has[n];
}

/* `entering`: the names bound at the entry. `dying` (or NULL): outer names that die in the body. */
static struct scope *analyse(struct analysis *a, const struct body *body, const int *entering,
                             unsigned entering_count, const struct set *dying)
{
    struct scope *scope = arena_alloc(a->arena, sizeof *scope);
    scope->body = body;
    struct set releasable = new_set(a), later = new_set(a), unused = new_set(a);
    if (dying)
        memcpy(releasable.has, dying->has, a->fun->name_count);
    for (unsigned i = 0; i < entering_count; i++)
        if (a->fun->names[entering[i]].kind == NAME_MEMORY)
            releasable.has[entering[i]] = 1;
    memcpy(unused.has, releasable.has, a->fun->name_count);

    unsigned count = 0;
    for (const struct stm *s = body->first; s; s = s->next) {
        for (unsigned o = 0; o < s->out_count; o++)
            if (a->fun->names[s->outs[o]].kind == NAME_MEMORY)
                releasable.has[s->outs[o]] = 1;
        count++;
    }
    struct step *steps = arena_alloc(a->arena, count * sizeof *steps);
    unsigned i = 0;
    for (const struct stm *s = body->first; s; s = s->next, i++)
        steps[i] = (struct step){.stm = s, .next = s->next ? &steps[i + 1] : NULL};
    scope->first = count ? steps : NULL;

    mention_all(a, &later, body->results, body->result_count);
    for (i = count; i-- > 0;)
        analyse_statement(a, &steps[i], &later, &releasable);
    for (unsigned n = 0; n < a->fun->name_count; n++)
        unused.has[n] = unused.has[n] && !later.has[n];
    scope->unused = list_of(a, &unused);
    if (dying)
        scope->entrusted = list_of(a, dying);
    for (unsigned n = 0; n < a->fun->name_count; n++)
        releasable.has[n] = releasable.has[n] && !(dying && dying->has[n]);
    scope->bound = list_of(a, &releasable);
    return scope;
}

struct scope *liveness_analyse(const struct fun *fun, struct arena *arena)
{
    struct analysis a = {.fun = fun, .arena = arena};
    struct scope *scope = analyse(&a, &fun->body, fun->params, fun->param_count, NULL);
    arena_free(&a.room);
    return scope;
}
