#include "tests/merge/size/size_print.h"

#include <string.h>

#include "merge/size/size_state.h"

/* ---- back to expressions -------------------------------------------------------------------- */

static struct expr *new_expr(struct sizes *s, enum expr_op op, enum element type)
{
    struct expr *e = arena_alloc(&s->program->arena, sizeof *e);
    e->op = op;
    e->type = type;
    return e;
}

static enum element type_of(const struct atom *a)
{
    bool is_bool = (a->op >= EXPR_LT && a->op <= EXPR_NE) || a->op == EXPR_AND ||
                   a->op == EXPR_OR || a->op == EXPR_NOT;
    return is_bool ? ELEMENT_bool : a->type;
}

static struct expr *expr_as(struct sizes *s, const struct poly *p, enum element type);

static struct expr *expr_of_atom(struct sizes *s, const struct atom *a)
{
    struct expr *e = new_expr(s, a->op, type_of(a));
    if (a->op == EXPR_NAME) {
        e->name = (int)a->number;
    } else if (a->op == EXPR_CONSTANT) {
        memcpy(&e->value, &a->number, sizeof a->number);
    } else {
        int single = poly_single_atom(a->arg[0]);
        enum element from = a->type;
        if (a->op == EXPR_CONVERT)
            from = single < 0 ? ELEMENT_i64 : type_of(&s->polys.atoms[single]);
        e->arg[0] = expr_as(s, a->arg[0], from);
        e->arg[1] = a->arg[1] ? expr_as(s, a->arg[1], a->type) : NULL;
    }
    return e;
}

static struct expr *expr_as(struct sizes *s, const struct poly *p, enum element type)
{
    int single = poly_single_atom(p);
    struct expr *e = NULL;
    if (single >= 0 && type_of(&s->polys.atoms[single]) == type)
        return expr_of_atom(s, &s->polys.atoms[single]);
    e = sizes_expr(s, p);
    if (type == ELEMENT_i64)
        return e;
    struct expr *converted = new_expr(s, EXPR_CONVERT, type);
    converted->arg[0] = e;
    return converted;
}

struct expr *sizes_expr(struct sizes *s, const struct poly *p)
{
    struct expr *sum = expr_constant(s->program, 0);
    for (unsigned t = 0; t < p->count; t++) {
        const struct term *term = &p->terms[t];
        bool minus = term->coefficient < 0 && term->coefficient != INT64_MIN && t > 0;
        struct expr *product =
            expr_constant(s->program, minus ? -term->coefficient : term->coefficient);
        for (unsigned i = 0; i < term->degree; i++) {
            const struct atom *a = &s->polys.atoms[term->atoms[i]];
            struct expr *e = expr_of_atom(s, a);
            if (e->type != ELEMENT_i64) {
                struct expr *wide = new_expr(s, EXPR_CONVERT, ELEMENT_i64);
                wide->arg[0] = e;
                e = wide;
            }
            product = expr_binary(s->program, EXPR_MUL, product, e);
        }
        sum = expr_binary(s->program, minus ? EXPR_SUB : EXPR_ADD, sum, product);
    }
    return sum;
}
