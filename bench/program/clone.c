/* A copy of one fun that passes may change. It has its own names and statements. It shares the
 * expressions, kernels and texts of the original, which passes never change. */
#include <string.h>

#include "program/parser.h"

static void *copy_array(struct arena *arena, const void *from, size_t count, size_t each)
{
    void *to = arena_alloc(arena, count * each);
    if (count)
        memcpy(to, from, count * each);
    return to;
}

static void clone_body(struct arena *arena, const struct body *from, struct body *to);

static struct stm *clone_stm(struct arena *arena, const struct stm *from)
{
    struct stm *s = copy_array(arena, from, 1, sizeof *s);
    s->outs = copy_array(arena, from->outs, from->out_count, sizeof *s->outs);
    s->pieces = copy_array(arena, from->pieces, from->piece_count, sizeof *s->pieces);
    if (from->kind == STM_IF) {
        s->then = arena_alloc(arena, sizeof *s->then);
        s->otherwise = arena_alloc(arena, sizeof *s->otherwise);
        clone_body(arena, from->then, s->then);
        clone_body(arena, from->otherwise, s->otherwise);
    }
    if (from->kind == STM_LOOP) {
        const struct loop *l = from->loop;
        s->loop = copy_array(arena, l, 1, sizeof *l);
        s->loop->params = copy_array(arena, l->params, l->param_count, sizeof *l->params);
        s->loop->init_exprs =
            copy_array(arena, l->init_exprs, l->param_count, sizeof *l->init_exprs);
        s->loop->init_names =
            copy_array(arena, l->init_names, l->param_count, sizeof *l->init_names);
        clone_body(arena, &l->body, &s->loop->body);
    }
    return s;
}

static void clone_body(struct arena *arena, const struct body *from, struct body *to)
{
    *to = *from;
    to->results = copy_array(arena, from->results, from->result_count, sizeof *to->results);
    struct stm **link = &to->first;
    for (const struct stm *s = from->first; s; s = s->next) {
        *link = clone_stm(arena, s);
        link = &(*link)->next;
    }
    *link = NULL;
}

struct program *program_clone(const struct fun *fun)
{
    struct program *program = must_alloc(sizeof *program);
    *program = (struct program){.path = fun->program->path,
                                .text = fun->program->text,
                                .fun_count = 1,
                                .code_count = fun->program->code_count,
                                .codes = fun->program->codes};
    struct arena *arena = &program->arena;
    struct fun *f = program->funs = copy_array(arena, fun, 1, sizeof *fun);
    f->program = program;
    f->params = copy_array(arena, fun->params, fun->param_count, sizeof *f->params);
    names_clone(f);
    clone_body(arena, &fun->body, &f->body);
    return program;
}
