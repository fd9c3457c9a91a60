/* Evaluates expressions, and keeps track of the scalars that a dry run has no value for: elements
 * of arrays, arguments that were not given, and scalars that follow from either. A dry run passes
 * such scalars on and hands them to kernels. It ends with an error if one decides the size or the
 * place of memory. This file is the lowest of the executor: all others may use it. */
#include <stdarg.h>
#include <stdio.h>

#include "run/execute/executor.h"

int execute_fail(struct executor *e, struct source_position at, const char *format, ...)
{
    char message[500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return program_error(e->program, e->error, ERR_PROGRAM, at, "%s", message);
}

/* ---- scalars of a dry run ------------------------------------------------------------------- */

const struct expr *dry_scalar_in(const struct executor *e, const struct expr *expr)
{
    if (expr->op == EXPR_CONSTANT)
        return NULL;
    if (expr->op == EXPR_NAME)
        return e->lacks[expr->name] == NO_NAME ? NULL : expr;
    const struct expr *found = dry_scalar_in(e, expr->arg[0]);
    return found || !expr->arg[1] ? found : dry_scalar_in(e, expr->arg[1]);
}

bool dry_scalar_follows(struct executor *e, int name, const struct expr *expr)
{
    const struct expr *unknown = dry_scalar_in(e, expr);
    e->lacks[name] = unknown ? e->lacks[unknown->name] : NO_NAME;
    return unknown;
}

bool dry_scalar_read(struct executor *e, int name)
{
    const struct named_value *value =
        argument_next(e->arguments, e->fun->names[name].text, &e->reads[name]);
    e->lacks[name] = value ? NO_NAME : name;
    if (value)
        e->values[name] = value->scalar;
    return value;
}

static int refuse(struct executor *e, int name, struct source_position at)
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

int dry_iteration(struct executor *e, const struct stm *loop)
{
    int condition = loop->loop->condition;
    if (condition != NO_NAME && e->lacks[condition] != NO_NAME)
        return refuse(e, condition, loop->at);
    if (++e->dry_iterations <= DRY_ITERATIONS_MAX)
        return 0;
    return program_error(e->program, e->error, ERR_USAGE, loop->at,
                         "a dry run ends after %d iterations, and this loop goes on%s",
                         DRY_ITERATIONS_MAX, condition != NO_NAME ? " with these values" : "");
}

/* ---- expressions ---------------------------------------------------------------------------- */

int execute_evaluate(struct executor *e, const struct expr *expr, union scalar *value)
{
    const struct expr *unknown = e->lacks ? dry_scalar_in(e, expr) : NULL;
    if (unknown)
        return refuse(e, unknown->name, unknown->at);
    if (expr->op == EXPR_NAME) {
        *value = e->values[expr->name];
        return 0;
    }
    return expr_evaluate(e->program, expr, e->values, value, e->error);
}

int execute_size(struct executor *e, const struct expr *expr, int64_t *size)
{
    union scalar value;
    TRY(execute_evaluate(e, expr, &value));
    *size = value.i64;
    return 0;
}

int execute_block_bytes(struct executor *e, int name, const struct expr *size,
                        struct source_position at, int64_t *bytes)
{
    TRY(execute_size(e, size, bytes));
    return *bytes < 0 ? execute_fail(e, at, "'%s' would have %lld bytes", e->fun->names[name].text,
                                     (long long)*bytes)
                      : 0;
}
