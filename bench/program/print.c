/* The printer: a program as text that parses to the same program. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "program/program.h"

struct printer {
    struct text out;
    const struct fun *fun;
    unsigned indent;
};

static void new_line(struct printer *p)
{
    text_add(&p->out, "\n%*s", (int)p->indent * 2, "");
}

static const char *name_of(const struct printer *p, int name)
{
    return p->fun->names[name].text;
}

/* ---- expressions ---------------------------------------------------------------------------- */

static void print_real(struct printer *p, double value, bool is_f32)
{
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) { /* the shortest that reads back */
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (is_f32 ? strtof(digits, NULL) == (float)value : strtod(digits, NULL) == value)
            break;
    }
    text_add(&p->out, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
}

static void print_constant(struct printer *p, const struct expr *e)
{
    if (e->type == ELEMENT_bool)
        text_add(&p->out, e->value.u8 ? "true" : "false");
    else if (element_is_float(e->type))
        print_real(p, scalar_convert(e->value, e->type, ELEMENT_f64).f64, e->type == ELEMENT_f32);
    else
        text_add(&p->out, "%lld", (long long)scalar_convert(e->value, e->type, ELEMENT_i64).i64);
}

static void print_expr(struct printer *p, const struct expr *e, unsigned least);

static void print_call(struct printer *p, const char *function, const struct expr *argument)
{
    text_add(&p->out, "%s(", function);
    print_expr(p, argument, 0);
    text_add(&p->out, ")");
}

static void print_expr(struct printer *p, const struct expr *e, unsigned least)
{
    if (e->op == EXPR_CONSTANT) {
        print_constant(p, e);
    } else if (e->op == EXPR_NAME) {
        text_add(&p->out, "%s", name_of(p, e->name));
    } else if (e->op == EXPR_CONVERT || isalpha((unsigned char)expr_operators[e->op].text[0])) {
        text_add(&p->out, "%s(",
                 e->op == EXPR_CONVERT ? element_name(e->type) : expr_operators[e->op].text);
        print_expr(p, e->arg[0], 0);
        if (e->arg[1]) {
            text_add(&p->out, ", ");
            print_expr(p, e->arg[1], 0);
        }
        text_add(&p->out, ")");
    } else if (expr_operators[e->op].arity == 1) {
        size_t start = p->out.length + 1;
        text_add(&p->out, "%s", expr_operators[e->op].text);
        print_expr(p, e->arg[0], 9);
        if (p->out.data[start] == '-') { /* two minus signs would begin a comment */
            p->out.length = start;
            print_call(p, "", e->arg[0]);
        }
    } else {
        unsigned own = expr_binding(e->op);
        text_add(&p->out, own < least ? "(" : "");
        print_expr(p, e->arg[0], own);
        text_add(&p->out, " %s ", expr_operators[e->op].text);
        print_expr(p, e->arg[1], own + 1);
        text_add(&p->out, own < least ? ")" : "");
    }
}

/* ---- names and types ------------------------------------------------------------------------ */

static void print_type(struct printer *p, const struct name *n)
{
    if (n->kind == NAME_MEMORY) {
        text_add(&p->out, "mem");
        if (n->space != SPACE_DEVICE)
            text_add(&p->out, " %s", space_name(n->space));
        if (n->bytes)
            print_call(p, "", n->bytes);
        return;
    }
    text_add(&p->out, n->unique ? "*" : "");
    for (unsigned d = 0; d < n->rank; d++) {
        text_add(&p->out, "[");
        print_expr(p, n->shape[d], 0);
        text_add(&p->out, "]");
    }
    text_add(&p->out, "%s", element_name(n->element));
    if (n->block)
        text_add(&p->out, " @ mem %s", n->block);
    if (n->memory == NO_NAME)
        return;
    text_add(&p->out, " @ %s", name_of(p, n->memory));
    if (!n->index.offset)
        return;
    text_add(&p->out, "(");
    print_expr(p, n->index.offset, 0);
    for (unsigned d = 0; d < n->rank + n->thread_rank; d++) {
        text_add(&p->out, d ? ", " : ": ");
        print_expr(p, n->index.stride[d], 0);
    }
    text_add(&p->out, ")");
}

static void print_binding(struct printer *p, int name)
{
    text_add(&p->out, "%s: ", name_of(p, name));
    print_type(p, &p->fun->names[name]);
}

static void print_bindings(struct printer *p, const int *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        text_add(&p->out, i ? ", " : "");
        print_binding(p, names[i]);
    }
}

/* ---- statements ----------------------------------------------------------------------------- */

static void print_slice(struct printer *p, const struct stm *s)
{
    const bool flat = slice_array_rank(s->slice, s->slice_rank) < s->slice_rank;
    text_add(&p->out, flat ? "{" : "[");
    for (unsigned d = 0; d < s->slice_rank; d++) {
        const struct slice_dim *dim = &s->slice[d];
        text_add(&p->out, d ? ", " : "");
        if (dim->start)
            print_expr(p, dim->start, 0);
        if (!dim->length) {
            text_add(&p->out, dim->fixed ? "" : ":");
            continue;
        }
        text_add(&p->out, dim->start ? " :+ " : "");
        print_expr(p, dim->length, 0);
        if (dim->step) {
            text_add(&p->out, " : ");
            print_expr(p, dim->step, 0);
        }
    }
    text_add(&p->out, flat ? "}" : "]");
}

static void print_body(struct printer *p, const struct body *body);

static void print_braced(struct printer *p, const struct body *body)
{
    text_add(&p->out, "{");
    p->indent++;
    print_body(p, body);
    p->indent--;
    new_line(p);
    text_add(&p->out, "}");
}

static void print_loop(struct printer *p, const struct loop *l)
{
    text_add(&p->out, "loop (");
    for (unsigned i = 0; i < l->param_count; i++) {
        text_add(&p->out, i ? ", " : "");
        print_binding(p, l->params[i]);
        text_add(&p->out, " = ");
        if (l->init_exprs[i])
            print_expr(p, l->init_exprs[i], 0);
        else
            text_add(&p->out, "%s", name_of(p, l->init_names[i]));
    }
    if (l->counter != NO_NAME) {
        text_add(&p->out, ") for %s < ", name_of(p, l->counter));
        print_expr(p, l->bound, 0);
    } else {
        text_add(&p->out, ") while %s", name_of(p, l->condition));
    }
    text_add(&p->out, " ");
    print_braced(p, &l->body);
}

static void print_kernel(struct printer *p, const struct stm *s)
{
    const struct kernel *k = s->kernel;
    text_add(&p->out, "kernel %s ", k->name);
    if (k->on)
        text_add(&p->out, "on %u ", k->on);
    text_add(&p->out, "(");
    for (unsigned d = 0; d < k->rank; d++) {
        text_add(&p->out, "%s%s < ", d ? ", " : "", name_of(p, k->indices[d]));
        print_expr(p, k->extents[d], 0);
    }
    text_add(&p->out, ")");
    const char *separator = " with ";
    for (unsigned o = 0; o < s->out_count; o++)
        if (k->taken_over[o] != NO_NAME) {
            text_add(&p->out, "%s%s <- %s", separator, name_of(p, s->outs[o]),
                     name_of(p, k->taken_over[o]));
            separator = ", ";
        }
    if (k->item != NO_NAME)
        text_add(&p->out, " group %s < %u", name_of(p, k->item), k->group_items);
    if (k->local_count) {
        text_add(&p->out, " local ");
        print_bindings(p, k->locals, k->local_count);
    }
    if (k->private_count) {
        text_add(&p->out, " private ");
        print_bindings(p, k->privates, k->private_count);
    }
    text_add(&p->out, " {");
    text_add_bytes(&p->out, k->text, k->length);
    text_add(&p->out, "}");
}

static void print_concat(struct printer *p, const struct stm *s)
{
    text_add(&p->out, "concat(");
    for (unsigned i = 0; i < s->piece_count; i++)
        text_add(&p->out, "%s%s%s", i ? ", " : "", s->pieces[i].copied ? "copy " : "",
                 name_of(p, s->pieces[i].array));
    text_add(&p->out, ")");
}

static void print_update(struct printer *p, const struct stm *s)
{
    text_add(&p->out, "%s with ", name_of(p, s->array));
    print_slice(p, s);
    text_add(&p->out, " <- %s", s->value_copied ? "copy " : "");
    if (s->expr)
        print_expr(p, s->expr, 0);
    else
        text_add(&p->out, "%s", name_of(p, s->value));
}

static void print_right_side(struct printer *p, const struct stm *s)
{
    switch (s->kind) {
    case STM_SCALAR:
    case STM_ASSERT:
        print_expr(p, s->expr, 0);
        break;
    case STM_ALLOC:
        print_call(p, "alloc", s->expr);
        break;
    case STM_REPLICATE:
        if (s->expr)
            print_call(p, "replicate", s->expr);
        else
            text_add(&p->out, "replicate(%s)", name_of(p, s->array));
        break;
    case STM_SCRATCH:
        text_add(&p->out, "scratch");
        break;
    case STM_IOTA:
        text_add(&p->out, "iota");
        break;
    case STM_COPY:
        text_add(&p->out, "copy %s", name_of(p, s->array));
        break;
    case STM_ALIAS:
        text_add(&p->out, "%s", name_of(p, s->array));
        break;
    case STM_RESHAPE:
        text_add(&p->out, "reshape %s", name_of(p, s->array));
        break;
    case STM_REARRANGE:
        text_add(&p->out, "rearrange (");
        for (unsigned d = 0; d < p->fun->names[s->array].rank; d++)
            text_add(&p->out, "%s%u", d ? ", " : "", s->permutation[d]);
        text_add(&p->out, ") %s", name_of(p, s->array));
        break;
    case STM_ELEMENT:
    case STM_SLICE:
        text_add(&p->out, "%s", name_of(p, s->array));
        print_slice(p, s);
        break;
    case STM_UPDATE:
        print_update(p, s);
        break;
    case STM_CONCAT:
        print_concat(p, s);
        break;
    case STM_IF:
        text_add(&p->out, "if ");
        print_expr(p, s->expr, 0);
        text_add(&p->out, " ");
        print_braced(p, s->then);
        text_add(&p->out, " else ");
        print_braced(p, s->otherwise);
        break;
    case STM_LOOP:
        print_loop(p, s->loop);
        break;
    case STM_KERNEL:
        print_kernel(p, s);
        break;
    }
}

static void print_body(struct printer *p, const struct body *body)
{
    for (const struct stm *s = body->first; s; s = s->next) {
        new_line(p);
        if (s->kind == STM_ASSERT) {
            text_add(&p->out, "assert ");
        } else {
            text_add(&p->out, s->out_count == 1 ? "let " : "let (");
            print_bindings(p, s->outs, s->out_count);
            text_add(&p->out, s->out_count == 1 ? " = " : ") = ");
        }
        print_right_side(p, s);
    }
    new_line(p);
    text_add(&p->out, "in ");
    for (unsigned i = 0; i < body->result_count; i++)
        text_add(&p->out, "%s%s", i ? ", " : "", name_of(p, body->results[i]));
}

/* ---- items ---------------------------------------------------------------------------------- */

static void print_fun(struct printer *p, const struct fun *fun)
{
    p->fun = fun;
    text_add(&p->out, "fun %s(", fun->name);
    print_bindings(p, fun->params, fun->param_count);
    text_add(&p->out, ") ");
    if (fun->traffic) {
        text_add(&p->out, "traffic ");
        print_expr(p, fun->traffic, 0);
        text_add(&p->out, " ");
    }
    print_braced(p, &fun->body);
    text_add(&p->out, "\n\n");
}

static void print_literal(struct printer *p, const struct literal *l)
{
    if (l->scalar) {
        print_expr(p, l->scalar, 0);
        return;
    }
    text_add(&p->out, "[");
    for (unsigned i = 0; i < l->count; i++) {
        text_add(&p->out, i ? ", " : "");
        print_literal(p, &l->items[i]);
    }
    text_add(&p->out, "]");
}

static void print_settings(struct printer *p, const struct setting *settings, unsigned count)
{
    text_add(&p->out, "{");
    for (unsigned i = 0; i < count; i++) {
        text_add(&p->out, " %s = ", settings[i].name);
        print_literal(p, &settings[i].value);
        text_add(&p->out, ";");
    }
    text_add(&p->out, " }");
}

static void print_dataset(struct printer *p, const struct dataset *d)
{
    p->fun = d->names;
    text_add(&p->out, "dataset %s ", d->name);
    print_settings(p, d->settings, d->setting_count);
    if (d->expect_count) {
        text_add(&p->out, " expect ");
        print_settings(p, d->expects, d->expect_count);
    }
    text_add(&p->out, "\n");
}

char *program_print(const struct program *program)
{
    struct printer p = {{0}, NULL, 0};
    for (unsigned i = 0; i < program->code_count; i++) {
        text_add(&p.out, "code {");
        text_add_bytes(&p.out, program->codes[i].text, program->codes[i].length);
        text_add(&p.out, "}\n\n");
    }
    for (unsigned i = 0; i < program->fun_count; i++)
        print_fun(&p, &program->funs[i]);
    for (unsigned i = 0; i < program->dataset_count; i++)
        print_dataset(&p, &program->datasets[i]);
    return p.out.data;
}

/* The text that a person wrote has no annotations of passes: it is parsed again and digested. */
uint64_t program_digest(const struct fun *fun)
{
    const struct program *program = fun->program;
    struct program *written;
    uint64_t digest = 0;
    if (program_parse(program->path, program->text, strlen(program->text), &written, NULL))
        return 1; /* cannot happen: this text has been parsed before */
    for (unsigned i = 0; i < written->fun_count; i++) {
        if (strcmp(written->funs[i].name, fun->name) != 0)
            continue;
        struct program *alone = program_clone(&written->funs[i]);
        char *text = program_print(alone);
        digest = digest_bytes(0, text, strlen(text));
        free(text);
        program_free(alone);
    }
    program_free(written);
    return digest ? digest : 1;
}
