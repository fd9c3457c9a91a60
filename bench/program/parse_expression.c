/* Scalar expressions, by precedence climbing over the operators of EXPR_OP_LIST; each is typed as
 * it is read. Also the types of names, whose sizes are such expressions. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "program/parser.h"

static bool element_from_word(const char *text, size_t length, enum element *element)
{
    for (int i = 0; i < ELEMENTS; i++)
        if (strlen(element_name((enum element)i)) == length &&
            memcmp(text, element_name((enum element)i), length) == 0) {
            *element = (enum element)i;
            return true;
        }
    return false;
}

static struct expr *new_at(struct parser *p, enum expr_op op, enum element type,
                           struct source_position at)
{
    struct expr *e = arena_alloc(&p->program->arena, sizeof *e);
    *e = (struct expr){.op = op, .type = type, .at = at};
    return e;
}

/* Makes a and b (NULL: none) the arguments of e. */
static struct expr *with_arguments(struct parser *p, struct expr *e, struct expr *a, struct expr *b)
{
    e->arg[0] = a;
    e->arg[1] = b;
    e->depth = 1 + (b && b->depth > a->depth ? b->depth : a->depth);
    if (e->depth > DEPTH_MAX)
        parser_fail(
            p, e->at,
            "this expression has more than %d operators in a row; give names to parts of it",
            DEPTH_MAX);
    return e;
}

static void expression_adopt(struct parser *p, struct expr *e, enum element type, const char *what)
{
    if (e->type == type)
        e->untyped = false;
    if (!e->untyped) {
        if (e->type != type)
            parser_fail(p, e->at,
                        "%s must be of type %s, but this is %s; write %s(...) to convert it", what,
                        element_name(type), element_name(e->type), element_name(type));
        return;
    }
    if (e->op == EXPR_CONSTANT) {
        if ((element_is_float(e->type) && !element_is_float(type)) || type == ELEMENT_bool)
            parser_fail(p, e->at, "%s must be of type %s, but this is a number%s", what,
                        element_name(type), element_is_float(e->type) ? " with a fraction" : "");
        if (!scalar_fits(e->value, e->type, type))
            parser_fail(p, e->at, "this number does not fit in type %s", element_name(type));
        e->value = scalar_convert(e->value, e->type, type);
    } else {
        expression_adopt(p, e->arg[0], type, what);
        if (e->arg[1])
            expression_adopt(p, e->arg[1], type, what);
    }
    e->type = type;
    e->untyped = false;
}

static struct expr *parse_number(struct parser *p)
{
    struct token t = p->token;
    char digits[64];
    if (t.length >= sizeof digits)
        parser_fail(p, t.at, "this number is too long");
    memcpy(digits, t.text, t.length);
    digits[t.length] = 0;
    parser_advance(p);
    bool real = t.kind == TOKEN_REAL;
    struct expr *e = new_at(p, EXPR_CONSTANT, real ? ELEMENT_f64 : ELEMENT_i64, t.at);
    e->untyped = true;
    errno = 0;
    if (real)
        e->value.f64 = strtod(digits, NULL);
    else
        e->value.i64 = strtoll(digits, NULL, 10);
    if (errno)
        parser_fail(p, t.at, "this number is out of range");
    return e;
}

static void require_number(struct parser *p, const struct expr *e, const char *operator)
{
    if (e->type == ELEMENT_bool)
        parser_fail(p, e->at, "%s needs a number, but this is a bool", operator);
}

static struct expr *make_binary(struct parser *p, enum expr_op op, struct source_position at,
                                struct expr *a, struct expr *b)
{
    const char *text = expr_operators[op].text;
    if (op == EXPR_AND || op == EXPR_OR) {
        expression_adopt(p, a, ELEMENT_bool, text);
        expression_adopt(p, b, ELEMENT_bool, text);
    } else if (a->untyped && b->untyped) {
        if (a->type != b->type) { /* 2 * 0.5 is a real number */
            expression_adopt(p, a, ELEMENT_f64, text);
            expression_adopt(p, b, ELEMENT_f64, text);
            a->untyped = b->untyped = true;
        }
    } else if (a->untyped) {
        expression_adopt(p, a, b->type, text);
    } else {
        expression_adopt(p, b, a->type, text);
    }
    bool compares = op >= EXPR_LT && op <= EXPR_NE;
    bool logical = op == EXPR_AND || op == EXPR_OR;
    if (!logical && op != EXPR_EQ && op != EXPR_NE) {
        require_number(p, a, text);
        require_number(p, b, text);
    }
    if (element_is_float(a->type) &&
        (op == EXPR_MOD || op == EXPR_SHL || op == EXPR_SHR || op == EXPR_BITAND))
        parser_fail(p, at, "%s needs whole numbers, but these are %s", text, element_name(a->type));
    struct expr *e = new_at(p, op, compares || logical ? ELEMENT_bool : a->type, at);
    e->untyped = !compares && !logical && a->untyped && b->untyped;
    return with_arguments(p, e, a, b);
}

static struct expr *parse_call(struct parser *p, enum expr_op op, struct source_position at)
{
    parser_expect(p, "(", "after the name of a function");
    struct expr *a = parse_expression(p);
    if (expr_operators[op].arity == 2) {
        parser_expect(p, ",", "between the two arguments");
        struct expr *b = parse_expression(p);
        parser_expect(p, ")", "after the arguments");
        return make_binary(p, op, at, a, b);
    }
    parser_expect(p, ")", "after the argument");
    if (a->untyped)
        expression_adopt(p, a, ELEMENT_f64, expr_operators[op].text);
    if (!element_is_float(a->type))
        parser_fail(p, a->at, "%s needs f32 or f64, but this is %s", expr_operators[op].text,
                    element_name(a->type));
    return with_arguments(p, new_at(p, op, a->type, at), a, NULL);
}

static struct expr *parse_word(struct parser *p)
{
    struct token t = p->token;
    enum element type;
    if (parser_at(p, "true") || parser_at(p, "false")) {
        struct expr *e = new_at(p, EXPR_CONSTANT, ELEMENT_bool, t.at);
        e->value.u8 = parser_at(p, "true");
        parser_advance(p);
        return e;
    }
    if (element_from_word(t.text, t.length, &type)) {
        parser_advance(p);
        parser_expect(p, "(", "after the type, as in 'i64(n)'");
        struct expr *e = new_at(p, EXPR_CONVERT, type, t.at);
        struct expr *a = parse_expression(p);
        a->untyped = false;
        parser_expect(p, ")", "after the value");
        return with_arguments(p, e, a, NULL);
    }
    for (int op = 0; op < EXPR_OPS; op++)
        if (expr_operators[op].arity && isalpha((unsigned char)expr_operators[op].text[0]) &&
            parser_take(p, expr_operators[op].text))
            return parse_call(p, (enum expr_op)op, t.at);
    int name = parse_use(p, &t);
    if (name == NO_NAME)
        parser_fail(p, t.at, "there is no name '%.*s' here", (int)t.length, t.text);
    if (p->fun->names[name].kind != NAME_SCALAR)
        parser_fail(p, t.at, "expected a scalar, but '%.*s' is %s", (int)t.length, t.text,
                    p->fun->names[name].kind == NAME_ARRAY ? "an array" : "a memory block");
    parser_advance(p);
    struct expr *e = new_at(p, EXPR_NAME, p->fun->names[name].element, t.at);
    e->name = name;
    return e;
}

static struct expr *parse_primary(struct parser *p)
{
    struct source_position at = p->token.at;
    if (p->token.kind == TOKEN_INTEGER || p->token.kind == TOKEN_REAL)
        return parse_number(p);
    if (parser_take(p, "(")) {
        parse_nest(p);
        struct expr *e = parse_expression(p);
        p->nesting--;
        parser_expect(p, ")", "to close '('");
        return e;
    }
    bool negative = parser_at(p, "-");
    if (negative || parser_at(p, "!")) {
        parser_advance(p);
        parse_nest(p);
        struct expr *a = parse_primary(p);
        p->nesting--;
        if (negative)
            require_number(p, a, "-");
        else
            expression_adopt(p, a, ELEMENT_bool, "!");
        struct expr *e = new_at(p, negative ? EXPR_NEG : EXPR_NOT, a->type, at);
        e->untyped = a->untyped;
        return with_arguments(p, e, a, NULL);
    }
    if (p->token.kind == TOKEN_WORD) {
        parse_nest(p);
        struct expr *e = parse_word(p);
        p->nesting--;
        return e;
    }
    parser_unexpected(p, "a scalar expression");
}

static enum expr_op operator_at(const struct parser *p)
{
    for (int op = 0; op < EXPR_OPS; op++)
        if (expr_operators[op].arity == 2 && !isalpha((unsigned char)expr_operators[op].text[0]) &&
            parser_at(p, expr_operators[op].text))
            return (enum expr_op)op;
    return EXPR_OPS;
}

static struct expr *parse_binary(struct parser *p, unsigned least)
{
    struct expr *a = parse_primary(p);
    for (;;) {
        enum expr_op op = operator_at(p);
        if (op == EXPR_OPS || expr_binding(op) < least)
            return a;
        struct source_position at = p->token.at;
        parser_advance(p);
        a = make_binary(p, op, at, a, parse_binary(p, expr_binding(op) + 1));
    }
}

struct expr *parse_expression(struct parser *p)
{
    return parse_binary(p, 1);
}

struct expr *parse_typed(struct parser *p, enum element type, const char *what)
{
    struct expr *e = parse_expression(p);
    expression_adopt(p, e, type, what);
    return e;
}

/* ---- constants ----------------------------------------------------------------------------- */

static bool is_constant(const struct parser *p, const struct expr *e)
{
    if (e->op == EXPR_CONSTANT)
        return true;
    if (e->op == EXPR_NAME)
        return (unsigned)e->name < p->constant_capacity && p->constant[e->name];
    return is_constant(p, e->arg[0]) && (!e->arg[1] || is_constant(p, e->arg[1]));
}

bool parse_constant(struct parser *p, const struct expr *e, union scalar *value)
{
    struct error ignored; /* a division by zero is found when the program runs */
    return is_constant(p, e) && expr_evaluate(p->program, e, p->values, value, &ignored) == 0;
}

void parse_note_constant(struct parser *p, int name, const struct expr *e)
{
    union scalar value;
    if (!parse_constant(p, e, &value))
        return;
    p->values = must_reach(p->values, (unsigned)name, &p->values_capacity, sizeof *p->values);
    p->constant =
        must_reach(p->constant, (unsigned)name, &p->constant_capacity, sizeof *p->constant);
    p->values[name] = value;
    p->constant[name] = true;
}

/* ---- types --------------------------------------------------------------------------------- */

struct expr *parse_size(struct parser *p)
{
    return parse_typed(p, ELEMENT_i64, "a size");
}

/* Parses `@ mem m`, `@ m` or `@ m(offset: s0, s1)`. A private array's index function begins with
 * `extra` more strides. */
static void parse_place(struct parser *p, struct name *n, unsigned extra)
{
    if (parser_take(p, "mem")) {
        struct source_position at = p->token.at;
        struct name block = {.kind = NAME_MEMORY, .memory = NO_NAME};
        n->block = parse_new_name(p, "the name that the array's own block gets, after '@ mem'");
        parse_bind(p, n->block, at, &block);
        return;
    }
    n->memory = parse_take_use(p, NAME_MEMORY, "the name of a memory block after '@'");
    if (!parser_take(p, "("))
        return;
    n->index.offset = parse_size(p);
    unsigned count = 0, rank = n->rank + extra;
    if (rank > RANK_MAX)
        parser_fail(p, n->at, "an index function has at most %d dimensions", RANK_MAX);
    if (rank)
        parser_expect(p, ":", "between the offset and the strides");
    do {
        if (count == rank)
            break;
        n->index.stride[count++] = parse_size(p);
    } while (parser_take(p, ","));
    if (count != rank)
        parser_fail(p, p->token.at, "expected %u strides, one a dimension", rank);
    parser_expect(p, ")", "after the strides");
}

static void parse_array_type(struct parser *p, struct name *n)
{
    while (parser_take(p, "[")) {
        if (n->rank == RANK_MAX)
            parser_fail(p, p->token.at, "an array has at most %d dimensions", RANK_MAX);
        n->shape[n->rank++] = parse_size(p);
        parser_expect(p, "]", "after the size of a dimension");
    }
    if (!element_from_word(p->token.text, p->token.length, &n->element))
        parser_unexpected(p, "an element type (bool u8 i32 u32 i64 f32 f64)");
    parser_advance(p);
    n->kind = n->rank ? NAME_ARRAY : NAME_SCALAR;
}

/* Parses the word of a space after `mem`; no word is device memory. */
static enum space parse_space(struct parser *p)
{
    for (int s = SPACE_DEVICE + 1; s < SPACES; s++)
        if (parser_take(p, space_name((enum space)s)))
            return (enum space)s;
    if (p->token.kind == TOKEN_WORD)
        parser_unexpected(p, "'pinned' after 'mem', or nothing for device memory");
    return SPACE_DEVICE;
}

/* Parses `: type` after a name that is not bound yet. */
struct name parse_type(struct parser *p, unsigned thread_rank)
{
    struct name n = {.memory = NO_NAME, .thread_rank = thread_rank, .at = p->token.at};
    parser_expect(p, ":", "before a type, after the name");
    if (parser_take(p, "mem")) {
        n.kind = NAME_MEMORY;
        n.space = parse_space(p);
        if (parser_take(p, "(")) {
            n.bytes = parse_size(p);
            parser_expect(p, ")", "after the size in bytes");
        }
        return n;
    }
    n.unique = parser_take(p, "*");
    parse_array_type(p, &n);
    if (n.unique && !n.rank)
        parser_fail(p, n.at, "only arrays can be unique");
    if (n.rank && parser_take(p, "@"))
        parse_place(p, &n, thread_rank);
    return n;
}
