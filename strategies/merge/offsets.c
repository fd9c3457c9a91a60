#include "merge/offsets.h"

#include <stdlib.h>
#include <string.h>

struct offsets {
    struct merge *m;
    const struct outline *o;
    const struct memory_map *map;
    const int64_t *offset;
    unsigned name_count; /* the names that the fun had before offsets were added */
    int *scalar;         /* by name of an existential block: where it begins, or NO_NAME */
};

static struct fun *fun_of(const struct offsets *p)
{
    return p->m->fun;
}

static bool varies(const struct offsets *p, int memory)
{
    return memory < (int)p->name_count && p->scalar[memory] != NO_NAME;
}

/* ---- values --------------------------------------------------------------------------------- */

/* The byte at which `memory` begins. */
static struct expr *begin_of(const struct offsets *p, int memory)
{
    if (varies(p, memory))
        return expr_name(p->m->program, ELEMENT_i64, p->scalar[memory]);
    int64_t offset = p->offset[memory];
    return expr_constant(p->m->program, offset == NO_OFFSET ? 0 : offset);
}

static int add_scalar(const struct offsets *p, const char *base, const char *suffix)
{
    struct name n = {.kind = NAME_SCALAR, .element = ELEMENT_i64, .memory = NO_NAME};
    n.at = fun_of(p)->at;
    return fun_add_name(p->m->program, fun_of(p),
                        arena_printf(&p->m->program->arena, "%s_%s", base, suffix), &n);
}

/* The name of the byte at which a body's result begins; bound at the body's end if there is
 * none. */
static int begin_name(const struct offsets *p, struct body *body, int memory)
{
    struct expr *place = begin_of(p, memory);
    if (place->op == EXPR_NAME)
        return place->name;
    int name = add_scalar(p, fun_of(p)->names[memory].text, "at");
    struct stm *s = arena_alloc(&p->m->program->arena, sizeof *s);
    *s = (struct stm){.kind = STM_SCALAR, .at = body->results_at, .expr = place, .out_count = 1};
    s->array = s->value = NO_NAME;
    s->outs = arena_alloc(&p->m->program->arena, sizeof *s->outs);
    s->outs[0] = name;
    struct stm **end = &body->first;
    while (*end)
        end = &(*end)->next;
    *end = s;
    return name;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* The list with one more value in front: the types of the arrays that follow mention it. */
static void *prepend(const struct offsets *p, const void *list, unsigned count, const void *value,
                     size_t each)
{
    char *grown = arena_alloc(&p->m->program->arena, (count + 1) * each);
    memcpy(grown, value, each);
    if (count)
        memcpy(grown + each, list, count * each);
    return grown;
}

static void prepend_name(const struct offsets *p, int **list, unsigned count, int name)
{
    *list = prepend(p, *list, count, &name, sizeof name);
}

/* ---- branches and loops --------------------------------------------------------------------- */

static void pass_on_if(const struct offsets *p, struct stm *s)
{
    for (unsigned i = 0; i < s->out_count; i++) {
        int out = s->outs[i];
        if (fun_of(p)->names[out].kind != NAME_MEMORY || !varies(p, out))
            continue;
        int then = begin_name(p, s->then, s->then->results[i]);
        int otherwise = begin_name(p, s->otherwise, s->otherwise->results[i]);
        prepend_name(p, &s->then->results, s->then->result_count++, then);
        prepend_name(p, &s->otherwise->results, s->otherwise->result_count++, otherwise);
        prepend_name(p, &s->outs, s->out_count++, p->scalar[out]);
        i++;
    }
}

static void pass_on_loop(const struct offsets *p, struct stm *s)
{
    struct loop *l = s->loop;
    for (unsigned i = 0; i < l->param_count; i++) {
        int param = l->params[i], out = s->outs[i];
        if (fun_of(p)->names[param].kind != NAME_MEMORY || !varies(p, param))
            continue;
        int next = begin_name(p, &l->body, l->body.results[i]);
        const struct expr *init = begin_of(p, l->init_names[i]);
        l->init_exprs = prepend(p, l->init_exprs, l->param_count, &init, sizeof init);
        prepend_name(p, &l->init_names, l->param_count, NO_NAME);
        prepend_name(p, &l->body.results, l->body.result_count++, next);
        prepend_name(p, &l->params, l->param_count++, p->scalar[param]);
        prepend_name(p, &s->outs, s->out_count++, p->scalar[out]);
        i++;
    }
}

static void pass_on_body(const struct offsets *p, struct body *body)
{
    for (struct stm *s = body->first; s; s = s->next) {
        if (s->kind == STM_IF) {
            pass_on_body(p, s->then);
            pass_on_body(p, s->otherwise);
            pass_on_if(p, s);
        } else if (s->kind == STM_LOOP) {
            pass_on_body(p, &s->loop->body);
            pass_on_loop(p, s);
        }
    }
}

/* ---- arrays --------------------------------------------------------------------------------- */

static void move_array(const struct offsets *p, struct name *array)
{
    struct program *program = p->m->program;
    struct expr *place = begin_of(p, array->memory);
    struct expr *each = expr_constant(program, (int64_t)element_bytes(array->element));
    if (place->op != EXPR_CONSTANT)
        place = each->value.i64 == 1 ? place : expr_binary(program, EXPR_DIV, place, each);
    else if (place->value.i64 == 0)
        return;
    else
        place = expr_constant(program, place->value.i64 / each->value.i64);
    struct index_function moved = {0};
    for (unsigned d = 0; d < array->rank + array->thread_rank; d++)
        moved.stride[d] = index_stride(program, array, d);
    moved.offset = expr_binary(program, EXPR_ADD, place, index_offset(program, array));
    array->index = moved;
}

static void add_scalars(struct offsets *p, const bool *wanted)
{
    p->scalar = must_alloc((p->name_count + 1) * sizeof *p->scalar);
    for (unsigned n = 0; n < p->name_count; n++)
        p->scalar[n] = wanted[n] ? add_scalar(p, fun_of(p)->names[n].text, "at") : NO_NAME;
}

static void pass_on(struct offsets *p, const bool *wanted)
{
    add_scalars(p, wanted);
    pass_on_body(p, &fun_of(p)->body);
    for (unsigned n = 0; n < p->name_count; n++)
        if (fun_of(p)->names[n].kind == NAME_ARRAY && fun_of(p)->names[n].memory != NO_NAME)
            move_array(p, &fun_of(p)->names[n]);
    free(p->scalar);
}

void offsets_pass_on(struct merge *m, const struct outline *o, const struct memory_map *map,
                     const int64_t *offset)
{
    struct offsets p = {.m = m, .o = o, .map = map, .offset = offset, .name_count = o->name_count};
    bool *wanted = must_alloc(p.name_count + 1);
    for (unsigned n = 0; n < p.name_count; n++) {
        const struct memory *of = &map->of[n];
        if (m->fun->names[n].kind != NAME_MEMORY || of->kind != MEMORY_EXISTENTIAL)
            continue;
        for (unsigned a = 0; a < of->actual_count; a++)
            wanted[n] |= offset[of->actuals[a]] != NO_OFFSET && offset[of->actuals[a]] != 0;
    }
    pass_on(&p, wanted);
    free(wanted);
}

void offsets_make_variable(struct merge *m, const struct outline *o, const struct memory_map *map,
                           const bool *wanted)
{
    struct offsets p = {.m = m, .o = o, .map = map, .name_count = o->name_count};
    int64_t *offset = must_alloc((p.name_count + 1) * sizeof *offset);
    p.offset = offset;
    pass_on(&p, wanted);
    free(offset);
}

struct stm *offsets_next(const struct fun *fun, const struct outline *o, const struct stm *loop,
                         int param)
{
    const struct expr *place = fun->names[param].index.offset;
    if (place && place->op == EXPR_DIV)
        place = place->arg[0];
    for (unsigned i = 0; place && place->op == EXPR_NAME && i < loop->loop->param_count; i++) {
        if (loop->loop->params[i] != place->name)
            continue;
        struct stm *next = o->names[loop->loop->body.results[i]].definer;
        return next && next->kind == STM_SCALAR && next->expr->op == EXPR_CONSTANT ? next : NULL;
    }
    return NULL;
}
