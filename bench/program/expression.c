/* Scalar expressions: making, comparing, evaluating. */
#include <math.h>
#include <string.h>

#include "program/program.h"

static struct expr *new_expr(struct program *program, enum expr_op op, enum element type)
{
    struct expr *e = arena_alloc(&program->arena, sizeof *e);
    e->op = op;
    e->type = type;
    return e;
}

struct expr *expr_constant(struct program *program, int64_t value)
{
    struct expr *e = new_expr(program, EXPR_CONSTANT, ELEMENT_i64);
    e->value.i64 = value;
    return e;
}

struct expr *expr_name(struct program *program, enum element type, int name)
{
    struct expr *e = new_expr(program, EXPR_NAME, type);
    e->name = name;
    return e;
}

#define OPERATOR(name, text, arity) [EXPR_##name] = {text, arity},
const struct expr_operator expr_operators[EXPR_OPS] = {EXPR_OP_LIST(OPERATOR)};

/* clang-format off */
unsigned expr_binding(enum expr_op op)
{
    switch (op) {
    case EXPR_OR: return 1;
    case EXPR_AND: return 2;
    case EXPR_BITAND: return 3;
    case EXPR_EQ: case EXPR_NE: return 4;
    case EXPR_LT: case EXPR_LE: case EXPR_GT: case EXPR_GE: return 5;
    case EXPR_SHL: case EXPR_SHR: return 6;
    case EXPR_ADD: case EXPR_SUB: return 7;
    case EXPR_MUL: case EXPR_DIV: case EXPR_MOD: return 8;
    default: return 9;
    }
}
/* clang-format on */

static bool is_constant(const struct expr *e, int64_t value)
{
    return e->op == EXPR_CONSTANT && e->type == ELEMENT_i64 && e->value.i64 == value;
}

struct expr *expr_binary(struct program *program, enum expr_op op, struct expr *a, struct expr *b)
{
    if (a->op == EXPR_CONSTANT && b->op == EXPR_CONSTANT && a->type == ELEMENT_i64) {
        int64_t folded;
        if ((op == EXPR_ADD && !__builtin_add_overflow(a->value.i64, b->value.i64, &folded)) ||
            (op == EXPR_MUL && !__builtin_mul_overflow(a->value.i64, b->value.i64, &folded)))
            return expr_constant(program, folded);
    }
    if (op == EXPR_ADD && is_constant(a, 0))
        return b;
    if ((op == EXPR_ADD || op == EXPR_SUB) && is_constant(b, 0))
        return a;
    if (op == EXPR_MUL && (is_constant(a, 1) || is_constant(b, 0)))
        return b;
    if (op == EXPR_MUL && (is_constant(b, 1) || is_constant(a, 0)))
        return a;
    struct expr *e = new_expr(program, op, a->type);
    e->arg[0] = a;
    e->arg[1] = b;
    return e;
}

bool expr_equal(const struct expr *a, const struct expr *b)
{
    if (a == b)
        return true;
    if (a->op != b->op || a->type != b->type)
        return false;
    switch (a->op) {
    case EXPR_CONSTANT:
        return memcmp(&a->value, &b->value, element_bytes(a->type)) == 0;
    case EXPR_NAME:
        return a->name == b->name;
    default:
        return expr_equal(a->arg[0], b->arg[0]) && (!a->arg[1] || expr_equal(a->arg[1], b->arg[1]));
    }
}

struct expr *index_offset(struct program *program, const struct name *array)
{
    return array->index.offset ? array->index.offset : expr_constant(program, 0);
}

struct expr *index_stride(struct program *program, const struct name *array, unsigned dim)
{
    if (array->index.offset)
        return array->index.stride[dim];
    struct expr *stride = expr_constant(program, 1);
    for (unsigned d = array->rank; d-- > dim + 1;)
        stride = expr_binary(program, EXPR_MUL, array->shape[d], stride);
    return stride;
}

struct expr *array_bytes(struct program *program, const struct name *array)
{
    struct expr *bytes = expr_constant(program, (int64_t)element_bytes(array->element));
    for (unsigned d = 0; d < array->rank; d++)
        bytes = expr_binary(program, EXPR_MUL, bytes, array->shape[d]);
    return bytes;
}

/* ---- evaluation ---------------------------------------------------------------------------- */

static double as_f64(union scalar v, enum element type)
{
    switch (type) {
#define X(name, ctype, bytes, field)                                                               \
    case ELEMENT_##name:                                                                           \
        return (double)v.field;
        ELEMENT_LIST(X)
#undef X
    default:
        return 0;
    }
}

static int64_t as_i64(union scalar v, enum element type)
{
    switch (type) {
    case ELEMENT_f32:
    case ELEMENT_f64: {
        /* Out of range is undefined in C; the nearest value is as good as any and always the same.
         */
        double d = as_f64(v, type);
        return d >= 0x1p63 ? INT64_MAX : d < -0x1p63 ? INT64_MIN : d == d ? (int64_t)d : 0;
    }
#define X(name, ctype, bytes, field)                                                               \
    case ELEMENT_##name:                                                                           \
        return (int64_t)v.field;
        X(bool, , , u8)
        X(u8, , , u8)
        X(i32, , , i32)
        X(u32, , , u32)
        X(i64, , , i64)
#undef X
    default:
        return 0;
    }
}

static union scalar from_i64(int64_t i, enum element type)
{
    union scalar v = {.i64 = 0};
    switch (type) {
    case ELEMENT_bool:
        v.u8 = i != 0;
        break;
    case ELEMENT_u8:
        v.u8 = (uint8_t)i;
        break;
    case ELEMENT_i32:
        v.i32 = (int32_t)(uint32_t)(uint64_t)i;
        break;
    case ELEMENT_u32:
        v.u32 = (uint32_t)i;
        break;
    case ELEMENT_f32:
        v.f32 = (float)i;
        break;
    case ELEMENT_f64:
        v.f64 = (double)i;
        break;
    default:
        v.i64 = i;
    }
    return v;
}

static union scalar from_f64(double d, enum element type)
{
    union scalar v = {.i64 = 0};
    if (type == ELEMENT_f64)
        v.f64 = d;
    else if (type == ELEMENT_f32)
        v.f32 = (float)d;
    return v;
}

union scalar scalar_convert(union scalar value, enum element from, enum element to)
{
    if (from == to)
        return value;
    if (element_is_float(to))
        return element_is_float(from) ? from_f64(as_f64(value, from), to)
                                      : from_i64(as_i64(value, from), to);
    if (to == ELEMENT_bool && element_is_float(from))
        return from_i64(as_f64(value, from) != 0, to);
    return from_i64(as_i64(value, from), to);
}

bool scalar_fits(union scalar value, enum element from, enum element to)
{
    const union scalar converted = scalar_convert(value, from, to);
    if (element_is_float(to))
        return !isinf(as_f64(converted, to)) || isinf(as_f64(value, from));
    return element_is_float(from) ? as_f64(converted, to) == as_f64(value, from)
                                  : as_i64(converted, to) == as_i64(value, from);
}

/* clang-format off */
static int float_operation(enum expr_op op, double a, double b, double *r)
{
    switch (op) {
    case EXPR_NEG: *r = -a; break;
    case EXPR_SQRT: *r = sqrt(a); break;
    case EXPR_EXP: *r = exp(a); break;
    case EXPR_LOG: *r = log(a); break;
    case EXPR_SIN: *r = sin(a); break;
    case EXPR_COS: *r = cos(a); break;
    case EXPR_MIN: *r = fmin(a, b); break;
    case EXPR_MAX: *r = fmax(a, b); break;
    case EXPR_MUL: *r = a * b; break;
    case EXPR_DIV: *r = a / b; break;
    case EXPR_ADD: *r = a + b; break;
    case EXPR_SUB: *r = a - b; break;
    case EXPR_LT: *r = a < b; break;
    case EXPR_LE: *r = a <= b; break;
    case EXPR_GT: *r = a > b; break;
    case EXPR_GE: *r = a >= b; break;
    case EXPR_EQ: *r = a == b; break;
    case EXPR_NE: *r = a != b; break;
    default: return ERR_INTERNAL;
    }
    return 0;
}

static int integer_operation(enum expr_op op, int64_t a, int64_t b, int64_t *r, const char **why)
{
    bool overflow = false;
    switch (op) {
    case EXPR_NEG: overflow = __builtin_sub_overflow(0, a, r); break;
    case EXPR_NOT: *r = !a; break;
    case EXPR_MIN: *r = a < b ? a : b; break;
    case EXPR_MAX: *r = a > b ? a : b; break;
    case EXPR_MUL: overflow = __builtin_mul_overflow(a, b, r); break;
    case EXPR_ADD: overflow = __builtin_add_overflow(a, b, r); break;
    case EXPR_SUB: overflow = __builtin_sub_overflow(a, b, r); break;
    case EXPR_DIV:
    case EXPR_MOD:
        if (b == 0) {
            *why = "division by zero";
            return ERR_PROGRAM;
        }
        overflow = b == -1 && a == INT64_MIN;
        if (!overflow)
            *r = op == EXPR_DIV ? a / b : a % b;
        break;
    case EXPR_SHL:
    case EXPR_SHR:
        if (b < 0 || b > 62) {
            *why = "the shift is by less than 0 or more than 62 bits";
            return ERR_PROGRAM;
        }
        *r = op == EXPR_SHL ? (int64_t)((uint64_t)a << b) : a >> b;
        overflow = op == EXPR_SHL && *r >> b != a;
        break;
    case EXPR_BITAND: *r = a & b; break;
    case EXPR_LT: *r = a < b; break;
    case EXPR_LE: *r = a <= b; break;
    case EXPR_GT: *r = a > b; break;
    case EXPR_GE: *r = a >= b; break;
    case EXPR_EQ: *r = a == b; break;
    case EXPR_NE: *r = a != b; break;
    default: return ERR_INTERNAL;
    }
    if (overflow)
        *why = "the value does not fit in 64 bits";
    return overflow ? ERR_PROGRAM : 0;
}
/* clang-format on */

static inline bool evaluate_leaf(const struct expr *e, const union scalar *values,
                                 union scalar *result)
{
    if (e->op == EXPR_NAME)
        *result = values[e->name];
    else if (e->op == EXPR_CONSTANT)
        *result = e->value;
    else
        return false;
    return true;
}

int expr_evaluate(const struct program *program, const struct expr *e, const union scalar *values,
                  union scalar *result, struct error *error)
{
    union scalar a, b = {.i64 = 0};
    if (evaluate_leaf(e, values, result))
        return 0;
    if (!evaluate_leaf(e->arg[0], values, &a))
        TRY(expr_evaluate(program, e->arg[0], values, &a, error));
    enum element type = e->arg[0]->type;
    /* Sizes are sums and products of leaves: these few lines are most of what is ever evaluated. */
    if (type == ELEMENT_i64 && (e->op == EXPR_ADD || e->op == EXPR_MUL) &&
        evaluate_leaf(e->arg[1], values, &b) &&
        !(e->op == EXPR_ADD ? __builtin_add_overflow(a.i64, b.i64, &result->i64)
                            : __builtin_mul_overflow(a.i64, b.i64, &result->i64)))
        return 0;
    if (e->op == EXPR_CONVERT) {
        *result = scalar_convert(a, type, e->type);
        return 0;
    }
    if ((e->op == EXPR_AND && !a.u8) || (e->op == EXPR_OR && a.u8)) {
        *result = a;
        return 0;
    }
    if (e->arg[1])
        TRY(expr_evaluate(program, e->arg[1], values, &b, error));
    if (e->op == EXPR_AND || e->op == EXPR_OR) {
        *result = b;
        return 0;
    }
    const char *why = "an operation that does not exist";
    int code;
    if (element_is_float(type)) {
        double r;
        code = float_operation(e->op, as_f64(a, type), as_f64(b, type), &r);
        if (!code)
            *result = e->type == ELEMENT_bool ? from_i64((int64_t)r, e->type) : from_f64(r, type);
    } else {
        int64_t r;
        code = integer_operation(e->op, as_i64(a, type), as_i64(b, type), &r, &why);
        if (!code)
            *result = from_i64(r, e->type);
    }
    if (code)
        return program_error(program, error, code, e->at, "%s", why);
    return 0;
}
