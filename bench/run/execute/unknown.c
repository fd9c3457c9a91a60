/* Scalars of a dry run that have no value: what is read from arrays, what was not given, and what
 * follows from either. They may be passed on and handed to kernels; what decides where memory is
 * and how much must be known. */
#include <string.h>

#include "run/execute/executor.h"

const struct expr *unknown_in(const struct executor *e, const struct expr *expr)
{
    if (expr->op == EXPR_CONSTANT)
        return NULL;
    if (expr->op == EXPR_NAME)
        return e->lacks[expr->name] == NO_NAME ? NULL : expr;
    const struct expr *found = unknown_in(e, expr->arg[0]);
    return found || !expr->arg[1] ? found : unknown_in(e, expr->arg[1]);
}

bool unknown_scalar(struct executor *e, int name, const struct expr *expr)
{
    const struct expr *unknown = unknown_in(e, expr);
    e->lacks[name] = unknown ? e->lacks[unknown->name] : NO_NAME;
    return unknown;
}

/* What is read at the n-th time, from 0: the n-th of the values given for it, or the last. */
static const struct named_value *nth_value(const struct arguments *arguments, const char *name,
                                           unsigned n)
{
    const struct named_value *last = NULL;
    for (size_t i = 0; i < arguments->count; i++)
        if (strcmp(arguments->values[i].name, name) == 0) {
            last = &arguments->values[i];
            if (n-- == 0)
                break;
        }
    return last;
}

void unknown_read(struct executor *e, int name)
{
    const struct named_value *given =
        nth_value(e->arguments, e->fun->names[name].text, e->reads[name]++);
    e->lacks[name] = given ? NO_NAME : name;
    if (given)
        e->values[name] = given->scalar;
}

int unknown_refuse(struct executor *e, int name, struct place at)
{
    int lacking = e->lacks[name];
    const struct name *n = &e->fun->names[lacking];
    bool is_parameter = false;
    for (unsigned i = 0; i < e->fun->param_count; i++)
        is_parameter |= e->fun->params[i] == lacking;
    return program_error(e->program, e->error, ERR_USAGE, n->at,
                         "'%s' %s, and line %u needs it: give it as %s=VALUE", n->text,
                         is_parameter ? "has no value" : "is read while the program runs", at.line,
                         n->text);
}

int unknown_iteration(struct executor *e, const struct stm *loop)
{
    int condition = loop->loop->condition;
    if (condition != NO_NAME && e->lacks[condition] != NO_NAME)
        return unknown_refuse(e, condition, loop->at);
    if (++e->dry_iterations <= DRY_ITERATIONS_MAX)
        return 0;
    return program_error(e->program, e->error, ERR_USAGE, loop->at,
                         "a dry run ends after %d iterations, and this loop goes on%s",
                         DRY_ITERATIONS_MAX, condition != NO_NAME ? " with these values" : "");
}
