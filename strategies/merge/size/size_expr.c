/* Expressions become polynomials. */
#include <inttypes.h>
#include <string.h>

#include "merge/size/size_state.h"

/* ---- atoms ---------------------------------------------------------------------------------- */

struct size_name *sizes_name(struct sizes *s, int name)
{
    if ((unsigned)name >= s->name_capacity) {
        unsigned old = s->name_capacity;
        s->name_capacity = s->fun->name_count + s->fun->name_count / 2 + 1;
        s->names = must_realloc(s->names, s->name_capacity * sizeof *s->names);
        memset(s->names + old, 0, (s->name_capacity - old) * sizeof *s->names);
    }
    return &s->names[name];
}

static const struct poly *opaque(struct sizes *s, enum expr_op op, enum element type,
                                 const struct poly *a, const struct poly *b)
{
    struct atom atom = {.op = op, .type = type, .arg = {a, b}};
    return poly_atom(&s->polys, poly_intern_atom(&s->polys, &atom));
}

const struct poly *sizes_constant(struct sizes *s, int64_t value)
{
    return poly_constant(&s->polys, value);
}

const struct poly *sizes_of_name(struct sizes *s, int name)
{
    struct size_name *n = sizes_name(s, name);
    if (!n->value) {
        uint64_t bound_at = n->bound ? n->bound_at : UINT32_MAX;
        struct atom atom = {.op = EXPR_NAME,
                            .type = s->fun->names[name].element,
                            .number = name,
                            .order = bound_at << 32 | (uint32_t)name << 8};
        n->value = poly_atom(&s->polys, poly_intern_atom(&s->polys, &atom));
    }
    return n->value;
}

const struct poly *sizes_divide(struct sizes *s, const struct poly *a, const struct poly *b)
{
    const struct poly *rest, *quotient = b->count ? poly_divide(&s->polys, a, b, &rest) : NULL;
    return quotient && rest->count == 0 ? quotient : NULL;
}

/* ---- from expressions ----------------------------------------------------------------------- */

static bool is_integer(enum element type)
{
    return !element_is_float(type);
}

static enum element result_type(enum expr_op op, enum element type)
{
    switch (op) {
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_GT:
    case EXPR_GE:
    case EXPR_EQ:
    case EXPR_NE:
    case EXPR_AND:
    case EXPR_OR:
    case EXPR_NOT:
        return ELEMENT_bool;
    default:
        return type;
    }
}

/* The operation on constants, by expr_evaluate; NULL: it would stop the run. */
static const struct poly *fold(struct sizes *s, enum expr_op op, enum element type,
                               const struct poly *a, const struct poly *b)
{
    int64_t va, vb = 0;
    if (!is_integer(type) || !poly_is_constant(a, &va) || (b && !poly_is_constant(b, &vb)))
        return NULL;
    enum element from = op == EXPR_CONVERT ? ELEMENT_i64 : type;
    union scalar wide_a = {.i64 = va}, wide_b = {.i64 = vb}, result;
    struct expr left = {.op = EXPR_CONSTANT, .type = from}, right = left;
    struct expr both = {.op = op, .type = result_type(op, type), .arg = {&left, b ? &right : NULL}};
    left.value = scalar_convert(wide_a, ELEMENT_i64, from);
    right.value = scalar_convert(wide_b, ELEMENT_i64, from);
    struct error ignored = {0};
    if (expr_evaluate(s->program, &both, NULL, &result, &ignored))
        return NULL;
    return sizes_constant(s, scalar_convert(result, both.type, ELEMENT_i64).i64);
}

/* The answer that the sign of a constant difference a - b decides. */
static const struct poly *decide(struct sizes *s, enum expr_op op, const struct poly *a,
                                 const struct poly *b)
{
    int64_t d;
    const struct poly *difference = poly_add(&s->polys, a, -1, b);
    if (!difference || !poly_is_constant(difference, &d))
        return NULL;
    /* clang-format off */
    switch (op) {
    case EXPR_MIN: return d <= 0 ? a : b;
    case EXPR_MAX: return d >= 0 ? a : b;
    case EXPR_LT: return sizes_constant(s, d < 0);
    case EXPR_LE: return sizes_constant(s, d <= 0);
    case EXPR_GT: return sizes_constant(s, d > 0);
    case EXPR_GE: return sizes_constant(s, d >= 0);
    case EXPR_EQ: return sizes_constant(s, d == 0);
    case EXPR_NE: return sizes_constant(s, d != 0);
    default: return NULL;
    }
    /* clang-format on */
}

/* An operation on integers that is no sum or product; NULL: nothing simpler than itself. Division
 * by zero stops the run, so x * q / x is q wherever it has a value. */
static const struct poly *simplify(struct sizes *s, enum expr_op op, enum element type,
                                   const struct poly *a, const struct poly *b)
{
    const struct poly *exact = NULL;
    if ((op == EXPR_DIV || op == EXPR_MOD) && type == ELEMENT_i64)
        exact = sizes_divide(s, a, b);
    if (exact)
        return op == EXPR_DIV ? exact : sizes_constant(s, 0);
    return b ? decide(s, op, a, b) : NULL;
}

static bool commutes(enum expr_op op)
{
    return op == EXPR_MIN || op == EXPR_MAX || op == EXPR_EQ || op == EXPR_NE ||
           op == EXPR_BITAND || op == EXPR_ADD || op == EXPR_MUL;
}

/* Any order will do as long as it is the same in every run. */
static bool comes_first(const struct poly *a, const struct poly *b)
{
    if (a->count != b->count)
        return a->count < b->count;
    return a->hash < b->hash;
}

/* The i64 operation `op` on polynomials, or NULL if the result is none. */
static const struct poly *arithmetic(struct sizes *s, enum expr_op op, const struct poly *a,
                                     const struct poly *b)
{
    int64_t bits;
    switch (op) {
    case EXPR_NEG:
        return poly_add(&s->polys, sizes_constant(s, 0), -1, a);
    case EXPR_ADD:
        return poly_add(&s->polys, a, 1, b);
    case EXPR_SUB:
        return poly_add(&s->polys, a, -1, b);
    case EXPR_MUL:
        return poly_multiply(&s->polys, a, b);
    case EXPR_SHL: /* stops the run if it would lose bits */
        if (!poly_is_constant(b, &bits) || bits < 0 || bits > 62)
            return NULL;
        return poly_multiply(&s->polys, a, sizes_constant(s, (int64_t)1 << bits));
    default:
        return NULL;
    }
}

/* Operations that give the same number whatever integers their operands are. */
static bool never_wraps(enum expr_op op)
{
    return op == EXPR_MIN || op == EXPR_MAX || op == EXPR_MOD || op == EXPR_BITAND ||
           (op >= EXPR_LT && op <= EXPR_NE);
}

const struct poly *sizes_operation(struct sizes *s, enum expr_op op, enum element type,
                                   const struct poly *a, const struct poly *b)
{
    const struct poly *result = fold(s, op, type, a, b);
    if (is_integer(type) && never_wraps(op))
        type = ELEMENT_i64;
    if (!result && type == ELEMENT_i64)
        result = arithmetic(s, op, a, b);
    if (!result && is_integer(type))
        result = simplify(s, op, type, a, b);
    if (result)
        return result;
    if (is_integer(type) && commutes(op) && comes_first(b, a))
        return opaque(s, op, type, b, a);
    return opaque(s, op, type, a, b);
}

const struct poly *sizes_add(struct sizes *s, const struct poly *a, const struct poly *b)
{
    return sizes_operation(s, EXPR_ADD, ELEMENT_i64, a, b);
}

const struct poly *sizes_subtract(struct sizes *s, const struct poly *a, const struct poly *b)
{
    return sizes_operation(s, EXPR_SUB, ELEMENT_i64, a, b);
}

const struct poly *sizes_multiply(struct sizes *s, const struct poly *a, const struct poly *b)
{
    return sizes_operation(s, EXPR_MUL, ELEMENT_i64, a, b);
}

static const struct poly *of_constant(struct sizes *s, const struct expr *e)
{
    if (is_integer(e->type))
        return sizes_constant(s, scalar_convert(e->value, e->type, ELEMENT_i64).i64);
    struct atom atom = {.op = EXPR_CONSTANT, .type = e->type};
    memcpy(&atom.number, &e->value, element_bytes(e->type));
    return poly_atom(&s->polys, poly_intern_atom(&s->polys, &atom));
}

const struct poly *sizes_of(struct sizes *s, const struct expr *e)
{
    if (e->op == EXPR_CONSTANT)
        return of_constant(s, e);
    if (e->op == EXPR_NAME)
        return sizes_of_name(s, e->name);
    enum element type = e->arg[0]->type;
    const struct poly *a = sizes_of(s, e->arg[0]), *b = e->arg[1] ? sizes_of(s, e->arg[1]) : NULL;
    if (e->op != EXPR_CONVERT)
        return sizes_operation(s, e->op, type, a, b);
    /* Every integer is the same number as i64. */
    if (is_integer(type) && (e->type == ELEMENT_i64 || e->type == type))
        return a;
    return is_integer(type) ? sizes_operation(s, EXPR_CONVERT, e->type, a, NULL)
                            : opaque(s, EXPR_CONVERT, e->type, a, NULL);
}

/* ---- as text -------------------------------------------------------------------------------- */

static void print_atom(const struct sizes *s, const struct atom *a, struct text *text)
{
    if (a->op == EXPR_NAME) {
        text_add(text, "%s", s->fun->names[a->number].text);
    } else if (a->op == EXPR_CONSTANT) {
        text_add(text, "%s:%" PRIx64, element_name(a->type), (uint64_t)a->number);
    } else {
        if (a->op != EXPR_CONVERT && a->type != ELEMENT_i64)
            text_add(text, "%s:", element_name(a->type));
        text_add(text, "%s(",
                 a->op == EXPR_CONVERT ? element_name(a->type) : expr_operators[a->op].text);
        sizes_print(s, a->arg[0], text);
        if (a->arg[1]) {
            text_add(text, ", ");
            sizes_print(s, a->arg[1], text);
        }
        text_add(text, ")");
    }
}

void sizes_print(const struct sizes *s, const struct poly *p, struct text *text)
{
    if (p->count == 0)
        text_add(text, "0");
    for (unsigned t = 0; t < p->count; t++) {
        const struct term *term = &p->terms[t];
        int64_t c = term->coefficient;
        uint64_t size = c < 0 ? -(uint64_t)c : (uint64_t)c;
        text_add(text, "%s", t == 0 ? (c < 0 ? "-" : "") : c < 0 ? " - " : " + ");
        if (size != 1 || term->degree == 0)
            text_add(text, "%" PRIu64 "%s", size, term->degree ? "*" : "");
        for (unsigned i = 0; i < term->degree; i++) {
            text_add(text, "%s", i ? "*" : "");
            print_atom(s, &s->polys.atoms[term->atoms[i]], text);
        }
    }
}
