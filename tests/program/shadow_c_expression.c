/* Expressions of kernel texts: precedence, the usual conversions, names. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tests/program/shadow_c_parser.h"

struct c_node *c_node(struct c_parser *p, enum c_op op, enum c_type type)
{
    unsigned kids = op == CX_ELEMENT ? RANK_MAX : 3;
    struct c_node *n = arena_alloc(p->arena, sizeof *n + kids * sizeof *n->kid);
    n->op = op;
    n->type = type;
    n->line = p->line;
    return n;
}

struct c_node *c_converted(struct c_parser *p, struct c_node *n, enum c_type type)
{
    if (n->type == type)
        return n;
    if (n->op == CX_CONSTANT) {
        struct c_node *folded = c_node(p, CX_CONSTANT, type);
        folded->value = c_convert(n->value, n->type, type);
        return folded;
    }
    struct c_node *c = c_node(p, CX_CONVERT, type);
    c->kid[0] = n;
    return c;
}

static enum c_type promoted(enum c_type type)
{
    return type < C_i32 ? C_i32 : type;
}

/* The kernels' types are in the order of the usual conversions (i64 holds every u32). */
static enum c_type common(enum c_type a, enum c_type b)
{
    a = promoted(a);
    b = promoted(b);
    return a > b ? a : b;
}

static struct c_node *whole(struct c_parser *p, struct c_node *n)
{
    if (c_is_float(n->type))
        c_fail(p, "a whole number is needed here, this is a float");
    return n;
}

static struct c_node *binary(struct c_parser *p, enum c_op op, struct c_node *a, struct c_node *b)
{
    enum c_type type = common(a->type, b->type), result = type;
    if (op == CX_AND || op == CX_OR) {
        result = C_i32;
    } else if (op == CX_SHL || op == CX_SHR) {
        result = promoted(whole(p, a)->type);
        a = c_converted(p, a, result);
        b = c_converted(p, whole(p, b), result == C_u64 ? C_i64 : result);
    } else {
        if (op == CX_MOD || op == CX_BITAND || op == CX_XOR || op == CX_BITOR)
            type = common(whole(p, a)->type, whole(p, b)->type);
        a = c_converted(p, a, type);
        b = c_converted(p, b, type);
        result = op >= CX_LT && op <= CX_NE ? C_i32 : type;
    }
    struct c_node *n = c_node(p, op, result);
    n->kid[0] = a;
    n->kid[1] = b;
    return n;
}

static struct c_node *choose(struct c_parser *p, struct c_node *condition, struct c_node *a,
                             struct c_node *b)
{
    enum c_type type = common(a->type, b->type);
    struct c_node *n = c_node(p, CX_CHOOSE, type);
    n->kid[0] = condition;
    n->kid[1] = c_converted(p, a, type);
    n->kid[2] = c_converted(p, b, type);
    return n;
}

static struct c_node *assign(struct c_parser *p, struct c_node *to, struct c_node *value)
{
    if (to->op != CX_VARIABLE && to->op != CX_INDEXED && to->op != CX_ELEMENT)
        c_fail(p, "this cannot be assigned to");
    struct c_node *n = c_node(p, CX_ASSIGN, to->type);
    n->kid[0] = to;
    n->kid[1] = c_converted(p, value, to->type);
    return n;
}

/* ---- primaries ------------------------------------------------------------------------------ */

static struct c_node *number(struct c_parser *p)
{
    char text[64];
    if (p->length >= sizeof text)
        c_fail(p, "a number that long");
    memcpy(text, p->token, p->length);
    text[p->length] = 0;
    c_advance(p);
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *rest;
    struct c_node *n = c_node(p, CX_CONSTANT, C_i32);
    if (strpbrk(text, hex ? "." : ".eE")) {
        n->value.d = strtod(text, &rest);
        n->type = C_f64;
        if (*rest == 'f' || *rest == 'F') {
            n->value.f = strtof(text, &rest);
            n->type = C_f32;
            rest++;
        }
    } else {
        uint64_t u = strtoull(text, &rest, 0);
        bool is_unsigned = false, is_long = false;
        for (; *rest && strchr("uUlL", *rest); rest++) {
            is_unsigned |= tolower((unsigned char)*rest) == 'u';
            is_long |= tolower((unsigned char)*rest) == 'l';
        }
        n->value.i = (int64_t)u;
        if (u > INT64_MAX)
            n->type = C_u64;
        else if (is_long || u > UINT32_MAX || (u > INT32_MAX && !hex && !is_unsigned))
            n->type = is_unsigned ? C_u64 : C_i64;
        else if (is_unsigned || u > INT32_MAX)
            n->type = C_u32;
    }
    if (*rest)
        c_fail(p, "'%s' is not a number", text);
    return n;
}

static unsigned arguments(struct c_parser *p, struct c_node **list, unsigned most)
{
    unsigned count = 0;
    c_expect(p, "(");
    while (!c_at(p, ")")) {
        if (count == most)
            c_fail(p, "more than %u arguments", most);
        list[count++] = c_assignment(p);
        if (!c_take(p, ","))
            break;
    }
    c_expect(p, ")");
    return count;
}

/* A function of `code`, of C, MIN or MAX; NULL where there is none of that name. */
static struct c_node *call(struct c_parser *p, const char *name, size_t length)
{
    static const struct {
        const char *name;
        unsigned arity;
    } maths[] = {
#define X(function, arity) {#function, arity},
        C_MATH_LIST(X)
#undef X
    };
    struct c_node *list[C_PARAMETERS];
    for (const struct c_function *f = p->functions; f; f = f->next) {
        if (f->length != length || memcmp(f->name, name, length) != 0)
            continue;
        struct c_node *n = c_node(p, CX_CALL, f->type), **link = &n->kid[0];
        n->function = f;
        if (arguments(p, list, C_PARAMETERS) != f->parameter_count)
            c_fail(p, "'%.*s' takes %u arguments", (int)length, name, f->parameter_count);
        for (unsigned i = 0; i < f->parameter_count; i++, link = &(*link)->next)
            *link = c_converted(p, list[i], f->parameters[i]);
        return n;
    }
    bool least = length == 3 && memcmp(name, "MIN", 3) == 0;
    if (least || (length == 3 && memcmp(name, "MAX", 3) == 0)) {
        if (arguments(p, list, 2) != 2)
            c_fail(p, "MIN and MAX take two arguments");
        return choose(p, binary(p, least ? CX_LT : CX_GT, list[0], list[1]), list[0], list[1]);
    }
    for (int m = 0; m < MATHS; m++) {
        size_t base = strlen(maths[m].name);
        bool single = length == base + 1 && name[base] == 'f';
        if (memcmp(name, maths[m].name, base < length ? base : length) != 0 ||
            (length != base && !single))
            continue;
        struct c_node *n = c_node(p, CX_MATH, single ? C_f32 : C_f64);
        n->math = m;
        if (arguments(p, list, 3) != maths[m].arity)
            c_fail(p, "'%.*s' takes %u arguments", (int)length, name, maths[m].arity);
        for (unsigned i = 0; i < maths[m].arity; i++)
            n->kid[i] = c_converted(p, list[i], n->type);
        return n;
    }
    return NULL;
}

static struct c_node *element(struct c_parser *p, int slot)
{
    const struct name *n = &p->fun->names[p->compiled->arrays[slot]];
    struct c_node *e = c_node(p, CX_ELEMENT, c_type_of(n->element));
    e->slot = slot;
    c_expect(p, "[");
    do {
        if (e->count == n->rank)
            c_fail(p, "'%s' has %u dimensions", n->text, n->rank);
        e->kid[e->count++] = c_converted(p, whole(p, c_assignment(p)), C_i64);
    } while (c_take(p, ","));
    c_expect(p, "]");
    return e;
}

static struct c_node *named(struct c_parser *p)
{
    const char *name = p->token;
    size_t length = p->length;
    c_advance(p);
    for (unsigned i = p->variable_count; i-- > 0;) {
        const struct c_variable *v = &p->variables[i];
        if (v->length != length || *v->name != *name || memcmp(v->name, name, length) != 0)
            continue;
        struct c_node *n = c_node(p, v->count ? CX_INDEXED : CX_VARIABLE, v->type);
        n->slot = v->slot;
        n->count = v->count;
        if (v->count) {
            c_expect(p, "[");
            n->kid[0] = c_converted(p, whole(p, c_expression(p)), C_i64);
            c_expect(p, "]");
        }
        return n;
    }
    for (unsigned i = 0; p->compiled && i < p->compiled->array_count; i++) {
        const char *text = p->fun->names[p->compiled->arrays[i]].text;
        if (*text == *name && strlen(text) == length && memcmp(text, name, length) == 0)
            return element(p, (int)i);
    }
    struct c_node *n = c_at(p, "(") ? call(p, name, length) : NULL;
    if (!n && ((length == 4 && memcmp(name, "true", 4) == 0) ||
               (length == 5 && memcmp(name, "false", 5) == 0))) {
        n = c_node(p, CX_CONSTANT, C_i32);
        n->value.i = length == 4;
    }
    if (!n)
        c_fail(p, "there is no '%.*s' here", (int)length, name);
    return n;
}

/* ---- operators ------------------------------------------------------------------------------ */

static struct c_node *unary(struct c_parser *p);

static struct c_node *changed(struct c_parser *p, struct c_node *to, enum c_op op)
{
    struct c_node *one = c_node(p, CX_CONSTANT, C_i32);
    one->value.i = 1;
    return assign(p, to, binary(p, op, to, one));
}

static struct c_node *postfix(struct c_parser *p)
{
    struct c_node *n;
    if (c_take(p, "(")) {
        n = c_expression(p);
        c_expect(p, ")");
    } else {
        n = p->kind == TOKEN_NUMBER ? number(p) : p->kind == TOKEN_WORD ? named(p) : NULL;
    }
    if (!n)
        c_fail(p, "expected a value, found '%.*s'", (int)p->length, p->token);
    while (c_at(p, "++") || c_at(p, "--")) {
        struct c_node *post = c_node(p, CX_POST, n->type);
        post->kid[0] = n;
        post->kid[1] = changed(p, n, c_at(p, "++") ? CX_ADD : CX_SUB);
        c_advance(p);
        n = post;
    }
    return n;
}

/* `(type) value`; the parser has no types in parentheses anywhere else. */
static struct c_node *cast(struct c_parser *p)
{
    const char *open = p->token;
    unsigned line = p->line;
    enum c_type type;
    c_advance(p);
    if (c_take_type(p, &type)) {
        c_expect(p, ")");
        return c_converted(p, unary(p), type);
    }
    p->at = open; /* back to the parenthesis */
    p->line = line;
    c_advance(p);
    return postfix(p);
}

static struct c_node *unary(struct c_parser *p)
{
    static const struct {
        const char *text;
        enum c_op op;
    } ops[] = {{"-", CX_NEGATE}, {"~", CX_COMPLEMENT}, {"!", CX_NOT}};
    if (c_take(p, "+"))
        return unary(p);
    if (c_take(p, "++"))
        return changed(p, unary(p), CX_ADD);
    if (c_take(p, "--"))
        return changed(p, unary(p), CX_SUB);
    for (unsigned i = 0; i < 3; i++)
        if (c_take(p, ops[i].text)) {
            struct c_node *kid = unary(p);
            if (ops[i].op == CX_COMPLEMENT)
                whole(p, kid);
            enum c_type type = ops[i].op == CX_NOT ? C_i32 : promoted(kid->type);
            struct c_node *n = c_node(p, ops[i].op, type);
            n->kid[0] = ops[i].op == CX_NOT ? kid : c_converted(p, kid, type);
            return n;
        }
    return c_at(p, "(") ? cast(p) : postfix(p);
}

static const struct {
    char text[3];
    enum c_op op;
    unsigned binding; /* loosest first */
} infix[] = {
    {"||", CX_OR, 1},  {"&&", CX_AND, 2}, {"|", CX_BITOR, 3}, {"^", CX_XOR, 4}, {"&", CX_BITAND, 5},
    {"==", CX_EQ, 6},  {"!=", CX_NE, 6},  {"<", CX_LT, 7},    {">", CX_GT, 7},  {"<=", CX_LE, 7},
    {">=", CX_GE, 7},  {"<<", CX_SHL, 8}, {">>", CX_SHR, 8},  {"+", CX_ADD, 9}, {"-", CX_SUB, 9},
    {"*", CX_MUL, 10}, {"/", CX_DIV, 10}, {"%", CX_MOD, 10},
};
enum { INFIX = sizeof infix / sizeof *infix };

static struct c_node *climb(struct c_parser *p, unsigned binding)
{
    struct c_node *left = unary(p);
    for (;;) {
        unsigned i = 0;
        if (p->kind == TOKEN_MARK)
            while (i < INFIX && !(infix[i].binding >= binding && c_at(p, infix[i].text)))
                i++;
        if (p->kind != TOKEN_MARK || i == INFIX)
            return left;
        c_advance(p);
        left = binary(p, infix[i].op, left, climb(p, infix[i].binding + 1));
    }
}

static struct c_node *ternary(struct c_parser *p)
{
    struct c_node *condition = climb(p, 1);
    if (!c_take(p, "?"))
        return condition;
    struct c_node *a = c_expression(p);
    c_expect(p, ":");
    return choose(p, condition, a, ternary(p));
}

struct c_node *c_assignment(struct c_parser *p)
{
    struct c_node *to = ternary(p);
    if (c_take(p, "="))
        return assign(p, to, c_assignment(p));
    if (p->kind != TOKEN_MARK || p->length < 2 || p->token[p->length - 1] != '=')
        return to;
    for (unsigned i = 0; i < INFIX; i++)
        if (strlen(infix[i].text) == p->length - 1 &&
            memcmp(infix[i].text, p->token, p->length - 1) == 0) {
            c_advance(p);
            return assign(p, to, binary(p, infix[i].op, to, c_assignment(p)));
        }
    return to;
}

struct c_node *c_expression(struct c_parser *p)
{
    struct c_node *n = c_assignment(p);
    while (c_take(p, ",")) {
        struct c_node *right = c_assignment(p), *both = c_node(p, CX_COMMA, right->type);
        both->kid[0] = n;
        both->kid[1] = right;
        n = both;
    }
    return n;
}
