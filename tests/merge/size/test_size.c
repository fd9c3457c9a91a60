/* Sizes: canonical forms, equalities, bounds; what is claimed is checked on numbers. */
#include <stdlib.h>
#include <string.h>

#include "merge/size/size.h"
#include "tests/base/cmocka.h"
#include "tests/merge/size/size_print.h"
#include "tests/merge/size/size_simulation.h"

#define HEADER "fun f(n: i64, m: i64, k: i64, c: i32, x: [n]i32, y: [m]i32) {\n"

static struct program *parse(const char *text)
{
    struct program *program;
    struct error error = {0};
    if (program_read("test", text, strlen(text), &program, &error))
        fail_msg("%s", error.text);
    return program;
}

static char *in_function(const char *body)
{
    struct text text = {0};
    text_add(&text, "%s%s\n in n\n}\n", HEADER, body);
    return text.data;
}

static int name_of(const struct fun *fun, const char *text)
{
    return fun_find(fun, text, strlen(text));
}

/* ---- canonical forms ------------------------------------------------------------------------ */

static const struct {
    const char *expression, *form;
} forms[] = {
    /* clang-format off */
    {"0", "0"},
    {"n + n", "2*n"},
    {"n * (m + 1) - n", "n*m"},
    {"(n + m) * (n - m)", "n*n - m*m"},
    {"-(n - 1)", "-n + 1"},
    {"n << 3", "8*n"},
    {"1 << 4", "16"},
    {"n << m", "<<(n, m)"},
    {"7 / 2", "3"},
    {"(0 - 7) / 2", "-3"},
    {"(0 - 7) % 2", "-1"},
    {"min(3, 4) + max(3, 4)", "7"},
    {"min(n, n + 1)", "n"},
    {"max(n, n + 1)", "n + 1"},
    {"min(m, n) - min(n, m)", "0"},
    {"4 * n / 4", "n"},
    {"n * m / m", "n"},
    {"n * m % n", "0"},
    {"n / 2 * 2", "2*/(n, 2)"},
    {"n / m", "/(n, m)"},
    {"n / 0", "/(n, 0)"},
    {"n / (0 - 1)", "-n"},
    {"i64(c / i32(0 - 1))", "i32:/(c, -1)"},  /* wraps at the smallest c */
    {"i64(c) + 1", "c + 1"},
    {"i64(c + c)", "i32:+(c, c)"},            /* wraps: not 2*c */
    {"i64(i32(n))", "i32(n)"},                /* cuts bits off: not n */
    {"i64(i32(7)) + i64(u8(256 + 3))", "10"},
    {"i64(c < 3) * i64(true)", "<(c, 3)"},
    {"i64(n == n)", "1"},
    {"(n & m) - (m & n)", "0"},
    {"9223372036854775807 + 0", "9223372036854775807"},
    {"9223372036854775807 * n + n", "+(9223372036854775807*n, n)"}, /* no coefficient overflows */
    {"n*n*n*n*n*n*n", "*(n, n*n*n*n*n*n)"},   /* degree 7 is too much */
    /* clang-format on */
};

static void test_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct text body = {0}, printed = {0};
        text_add(&body, "let q: i64 = %s", forms[i].expression);
        char *text = in_function(body.data);
        struct program *program = parse(text);
        struct sizes *s = sizes_open(program, program->funs, 0);
        const struct poly *p = sizes_of_name(s, name_of(program->funs, "q"));
        sizes_print(s, p, &printed);
        assert_string_equal(printed.data, forms[i].form);
        assert_ptr_equal(sizes_of(s, sizes_expr(s, p)), p); /* there and back */
        sizes_close(s);
        program_free(program);
        free(text);
        text_free(&body);
        text_free(&printed);
    }
}

/* ---- what is proved ------------------------------------------------------------------------- */

/* Of qa and qb, where qb is bound. `without`: a switch that takes the proof away. */
enum claim { NOTHING, EQUAL, AT_LEAST };
static const struct {
    enum claim claim;
    unsigned without;
    const char *body;
} claims[] = {
    /* clang-format off */
    {EQUAL, 0, "let qa: i64 = n * (m + 1) let qb: i64 = n + m * n"},
    {EQUAL, 0, "let s: i64 = n + 1 let t: i64 = s * 2 let qa: i64 = t * t let qb: i64 = 4 * s * s"},
    {NOTHING, 0, "let qa: i64 = n let qb: i64 = m"},
    {NOTHING, 0, "let qa: i64 = n / 2 let qb: i64 = n - n / 2"},
    {EQUAL, 0, "let qa: i64 = min(n, m + m) let qb: i64 = min(2 * m, n)"},
    /* assertions */
    {EQUAL, SIZES_ASSERTS, "assert n == m let qa: i64 = n let qb: i64 = m"},
    {EQUAL, SIZES_ASSERTS, "assert n == m assert m == k let qa: i64 = n let qb: i64 = k"},
    {EQUAL, SIZES_ASSERTS, "assert m == k assert n == m let qa: i64 = n * k let qb: i64 = m * m"},
    {EQUAL, SIZES_ASSERTS, "assert n == m && k == m let qa: i64 = n let qb: i64 = k"},
    {EQUAL, SIZES_ASSERTS, "assert !(n != 5) let qa: i64 = n / 2 let qb: i64 = 2"},
    {EQUAL, SIZES_ASSERTS, "assert n * m == k let qa: i64 = k + n let qb: i64 = n * (m + 1)"},
    {EQUAL, SIZES_ASSERTS, "assert 2 * m == n let qa: i64 = n * n let qb: i64 = 4 * m * m"},
    {EQUAL, SIZES_ASSERTS, "assert n == m let qa: i64 = n / 2 let qb: i64 = m / 2"},
    {EQUAL, SIZES_ASSERTS, "let b: bool = n == m assert b let qa: i64 = n let qb: i64 = m"},
    {EQUAL, SIZES_ASSERTS, "assert k / 2 == n assert n == m / 2 assert m == k let qa: i64 = n let qb: i64 = m / 2"},
    {NOTHING, 0, "assert n == m || n == k let qa: i64 = n let qb: i64 = m"},
    {NOTHING, 0, "assert !(n == m) let qa: i64 = n let qb: i64 = m"},
    {NOTHING, 0, "let qa: i64 = n let qb: i64 = m assert n == m"}, /* too late */
    {NOTHING, 0, "assert c == 3 let qa: i64 = i64(c + c) let qb: i64 = n"},
    {EQUAL, SIZES_ASSERTS, "assert c == 3 let qa: i64 = i64(c + c) let qb: i64 = 6"},
    /* branches: a condition holds inside; an assertion inside holds inside */
    {EQUAL, SIZES_ASSERTS, "let r: i64 = if n == m { let qa: i64 = n let qb: i64 = m in qb } else { in n }"},
    {EQUAL, SIZES_ASSERTS, "let r: i64 = if n != m { in n } else { let qa: i64 = n let qb: i64 = m in qb }"},
    {NOTHING, 0, "let r: i64 = if n == m { in n } else { let qa: i64 = n let qb: i64 = m in qb }"},
    {NOTHING, 0, "let r: i64 = if n == m { in n } else { in k } let qa: i64 = n let qb: i64 = m"},
    {NOTHING, 0, "let r: i64 = if n == k { assert n == m in n } else { in k } let qa: i64 = n let qb: i64 = m"},
    {NOTHING, 0, "let r: i64 = if n == k { assert n == m in n } else { let qa: i64 = n let qb: i64 = m in qb }"},
    {EQUAL, SIZES_ASSERTS, "let r: i64 = if n == k { assert n == m let qa: i64 = k let qb: i64 = m in qb } else { in k }"},
    {EQUAL, 0, "let qa: i64 = if n == m { let s: i64 = 2 * k in s } else { let t: i64 = k + k in t } let qb: i64 = k * 2"},
    {NOTHING, 0, "let qa: i64 = if n == m { in n } else { in m } let qb: i64 = m"},
    /* loops */
    {EQUAL, 0, "let (qa: i64, u: i64) = loop (p: i64 = n, q: i64 = 0) for i < m { let q2: i64 = q + p in p, q2 } let qb: i64 = n"},
    {EQUAL, 0, "let r: i64 = loop (p: i64 = n + 1) for i < m { let qa: i64 = p - 1 let qb: i64 = n in p }"},
    {NOTHING, 0, "let qa: i64 = loop (p: i64 = n) for i < m { let q: i64 = p + 1 in q } let qb: i64 = n"},
    {NOTHING, 0, "let (r: i64, u: i64) = loop (p: i64 = n, q: i64 = n) for i < m { let qa: i64 = p let qb: i64 = q in q, p }"},
    {AT_LEAST, SIZES_BOUNDS, "let r: i64 = loop (p: i64 = 0) for i < m { let qa: i64 = m let qb: i64 = i + 1 in p }"},
    {AT_LEAST, SIZES_BOUNDS, "let r: i64 = loop (p: i64 = 0) for i < m { let qa: i64 = m * n let qb: i64 = i * n + n in p }"},
    {AT_LEAST, SIZES_BOUNDS, "let r: i64 = loop (p: i64 = 0) for i < m { let qa: i64 = m let qb: i64 = 1 in p }"},
    {NOTHING, 0, "let r: i64 = loop (p: i64 = 0) for i < m { let qa: i64 = m let qb: i64 = i + 2 in p }"},
    {NOTHING, 0, "let r: i64 = loop (p: i64 = 0) for i < m { in p } let qa: i64 = m let qb: i64 = 1"},
    {AT_LEAST, SIZES_BOUNDS, "let r: i64 = loop (p: i64 = 0) for i < n { let s: i64 = loop (o: i64 = 0) for j < i + 1 { let qa: i64 = n let qb: i64 = j + 1 in o } in p }"},
    /* bounds */
    {AT_LEAST, SIZES_BOUNDS, "let qa: i64 = n + m let qb: i64 = n"},
    {NOTHING, 0, "let qa: i64 = n + k let qb: i64 = n"}, /* k is no size */
    {AT_LEAST, SIZES_BOUNDS, "let z: [k]i32 = iota let qa: i64 = n + k let qb: i64 = n"},
    {NOTHING, 0, "let qa: i64 = n + k let qb: i64 = n let z: [k]i32 = iota"}, /* too late */
    {AT_LEAST, SIZES_BOUNDS, "let z: [k - 3]i32 = iota let qa: i64 = k let qb: i64 = 3"},
    {AT_LEAST, SIZES_BOUNDS, "let z: [k - 3]i32 = iota let qa: i64 = k * k let qb: i64 = 3 * k"},
    {AT_LEAST, SIZES_BOUNDS, "let qa: i64 = n * m let qb: i64 = 0"},
    {AT_LEAST, 0, "let qa: i64 = n let qb: i64 = min(n, k)"},
    {AT_LEAST, 0, "let qa: i64 = max(n, k) let qb: i64 = k"},
    {AT_LEAST, 0, "let qa: i64 = max(n, k) let qb: i64 = min(n, k)"},
    {AT_LEAST, SIZES_BOUNDS, "let qa: i64 = n let qb: i64 = 2 * (n / 2)"},
    {AT_LEAST, SIZES_BOUNDS, "let qa: i64 = n let qb: i64 = n / m * m"},
    {AT_LEAST, SIZES_BOUNDS, "let qa: i64 = 2 * (n / 2) + 1 let qb: i64 = n"},
    {AT_LEAST, SIZES_BOUNDS, "let qa: i64 = m let qb: i64 = n % m + 1"},
    {AT_LEAST, SIZES_BOUNDS, "let qa: i64 = n % m let qb: i64 = 0"},
    {NOTHING, 0, "let qa: i64 = k % 2 let qb: i64 = 0"},
    {NOTHING, 0, "let qa: i64 = k let qb: i64 = k / 2 * 2"},
    {AT_LEAST, SIZES_ASSERTS, "assert k >= n let qa: i64 = k let qb: i64 = n"},
    {AT_LEAST, SIZES_ASSERTS, "assert k > n && m > k let qa: i64 = m let qb: i64 = n + 2"},
    {AT_LEAST, SIZES_ASSERTS, "assert !(k < n) let qa: i64 = k let qb: i64 = n"},
    {AT_LEAST, SIZES_ASSERTS, "assert k == n let qa: i64 = k let qb: i64 = 0"},
    {AT_LEAST, SIZES_ASSERTS, "let e: i32 = x[0] let z: [i64(e)]i32 = iota assert i64(e) == k let qa: i64 = k let qb: i64 = 0"},
    {AT_LEAST, SIZES_ASSERTS, "let r: i64 = if k < 4 { in n } else { let qa: i64 = k let qb: i64 = 4 in qb }"},
    {NOTHING, 0, "let r: i64 = if k < 4 { let qa: i64 = k let qb: i64 = 0 in qb } else { in n }"},
    {AT_LEAST, 0, "let qa: i64 = i64(u8(k)) let qb: i64 = 0"},
    {NOTHING, 0, "let qa: i64 = i64(i32(n)) let qb: i64 = 0"}, /* may wrap */
    {NOTHING, 0, "let qa: i64 = n - m let qb: i64 = 0"},
    /* clang-format on */
};

static enum claim claimed(const char *body, unsigned without)
{
    char *text = in_function(body);
    struct program *program = parse(text);
    const struct fun *fun = program->funs;
    struct sizes *s = sizes_open(program, fun, without);
    int qb = name_of(fun, "qb");
    unsigned position = simulation_find(&fun->body, qb)->size_position;
    const struct poly *a = sizes_of_name(s, name_of(fun, "qa")), *b = sizes_of_name(s, qb);
    assert_true(position > 0);
    enum claim claim = sizes_equal(s, a, b, position)      ? EQUAL
                       : sizes_at_least(s, a, b, position) ? AT_LEAST
                                                           : NOTHING;
    if (claim == EQUAL)
        assert_true(sizes_at_least(s, a, b, position) && sizes_at_least(s, b, a, position));
    sizes_close(s);
    program_free(program);
    free(text);
    return claim;
}

static void test_claims(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        enum claim is = claimed(claims[i].body, 0);
        if (is != claims[i].claim)
            fail_msg("%s: %d instead of %d", claims[i].body, (int)is, (int)claims[i].claim);
        if (claims[i].without && claimed(claims[i].body, claims[i].without) == is)
            fail_msg("%s: the switch changes nothing", claims[i].body);
    }
}

static void test_divide(void **state)
{
    static const struct {
        const char *a, *b, *quotient; /* quotient NULL: there is none */
    } rows[] = {
        {"n * m + n", "m + 1", "n"},
        {"n * m", "n", "m"},
        {"6 * n", "4", NULL},
        {"n * m + 1", "n", NULL},
        {"n * n - 1", "n - 1", "n + 1"},
        {"0", "n", "0"},
        {"n * m * k - 2 * m", "m", "n * k - 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text body = {0};
        text_add(&body, "let a: i64 = %s let b: i64 = %s let q: i64 = %s", rows[i].a, rows[i].b,
                 rows[i].quotient ? rows[i].quotient : "0");
        char *text = in_function(body.data);
        struct program *program = parse(text);
        struct sizes *s = sizes_open(program, program->funs, 0);
        const struct poly *q = sizes_divide(s, sizes_of_name(s, name_of(program->funs, "a")),
                                            sizes_of_name(s, name_of(program->funs, "b")));
        const struct poly *expected = sizes_of_name(s, name_of(program->funs, "q"));
        assert_ptr_equal(q, rows[i].quotient ? expected : NULL);
        assert_null(sizes_divide(s, expected, sizes_constant(s, 0)));
        sizes_close(s);
        program_free(program);
        free(text);
        text_free(&body);
    }
}

/* Names that a pass adds afterwards are opaque. */
static void test_new_names(void **state)
{
    (void)state;
    char *text = in_function("let s: i64 = n + m");
    struct program *program = parse(text);
    struct fun *fun = program->funs;
    struct sizes *s = sizes_open(program, fun, 0);
    int last = NO_NAME;
    for (int i = 0; i < 100; i++) {
        struct name n = {.kind = NAME_SCALAR, .element = ELEMENT_i64, .memory = NO_NAME};
        last = fun_add_name(program, fun, "new", &n);
    }
    const struct poly *opaque = sizes_of_name(s, last);
    assert_false(sizes_equal(s, opaque, sizes_of_name(s, name_of(fun, "s")), ~0u));
    sizes_close(s);
    program_free(program);
    free(text);
}

/* ---- random programs ------------------------------------------------------------------------ */

struct writer {
    struct text text;
    struct random random;
    unsigned count;     /* of q names */
    unsigned scope[64]; /* those in scope */
    unsigned scope_count;
};

static unsigned pick(struct writer *w, unsigned bound)
{
    return (unsigned)random_below(&w->random, bound);
}

static void write_name(struct writer *w)
{
    static const char *const params[] = {"n", "m", "k", "i64(c)"};
    if (w->scope_count == 0 || pick(w, 2) == 0)
        text_add(&w->text, "%s", params[pick(w, 4)]);
    else
        text_add(&w->text, "q%u", w->scope[pick(w, w->scope_count)]);
}

static void write_expr(struct writer *w, unsigned depth)
{
    static const char *const infix[] = {"+", "+", "-", "-", "*", "*", "/", "%", "<<", "&"};
    unsigned choice = pick(w, 16);
    if (depth == 0 || choice < 4) {
        if (pick(w, 3) == 0)
            text_add(&w->text, "%u", pick(w, 4));
        else
            write_name(w);
    } else if (choice < 13) {
        text_add(&w->text, "(");
        write_expr(w, depth - 1);
        text_add(&w->text, " %s ", infix[pick(w, 10)]);
        write_expr(w, depth - 1);
        text_add(&w->text, ")");
    } else if (choice < 15) {
        text_add(&w->text, pick(w, 2) ? "min(" : "max(");
        write_expr(w, depth - 1);
        text_add(&w->text, ", ");
        write_expr(w, depth - 1);
        text_add(&w->text, ")");
    } else {
        text_add(&w->text, pick(w, 2) ? "i64(u8(" : "i64(i32(");
        write_expr(w, depth - 1);
        text_add(&w->text, "))");
    }
}

static void write_condition(struct writer *w)
{
    static const char *const compare[] = {"==", "==", "==", "<", "<=", ">", ">=", "!="};
    bool negated = pick(w, 4) == 0;
    text_add(&w->text, negated ? "!(" : "");
    write_name(w);
    text_add(&w->text, " %s ", compare[pick(w, 8)]);
    write_expr(w, 1);
    text_add(&w->text, negated ? ")" : "");
    if (pick(w, 4) == 0) {
        text_add(&w->text, pick(w, 2) ? " && " : " || ");
        write_name(w);
        text_add(&w->text, " == ");
        write_name(w);
    }
}

static void write_let(struct writer *w)
{
    text_add(&w->text, "let q%u: i64 = ", w->count);
    write_expr(w, 2);
    text_add(&w->text, "\n");
    w->scope[w->scope_count++] = w->count++;
}

static void write_body(struct writer *w, unsigned depth, unsigned length);

static void write_nested(struct writer *w, unsigned depth, bool loop)
{
    unsigned out = w->count++, scope_count = w->scope_count;
    text_add(&w->text, "let q%u: i64 = ", out);
    if (loop) {
        unsigned param = w->count++, counter = w->count++;
        text_add(&w->text, "loop (q%u: i64 = ", param);
        write_name(w);
        text_add(&w->text, ") for q%u < ", counter);
        write_name(w);
        w->scope[w->scope_count++] = param;
        w->scope[w->scope_count++] = counter;
    } else {
        text_add(&w->text, "if ");
        write_condition(w);
    }
    for (int branch = 0; branch < (loop ? 1 : 2); branch++) {
        text_add(&w->text, branch ? " else {\n" : " {\n");
        write_body(w, depth - 1, 3);
        text_add(&w->text, "in q%u\n}", w->scope[pick(w, w->scope_count)]);
        if (!loop)
            w->scope_count = scope_count;
    }
    text_add(&w->text, "\n");
    w->scope_count = scope_count;
    w->scope[w->scope_count++] = out;
}

static void write_body(struct writer *w, unsigned depth, unsigned length)
{
    write_let(w);
    for (unsigned i = 0; i < length; i++) {
        unsigned choice = pick(w, 10);
        if (choice < 3) {
            text_add(&w->text, "assert ");
            write_condition(w);
            text_add(&w->text, "\n");
        } else if (choice < 4) {
            text_add(&w->text, "let a%u: [", w->count++);
            write_expr(w, 1);
            text_add(&w->text, "]i32 = scratch\n");
        } else if (choice < 6 && depth > 0 && w->scope_count < 40) {
            write_nested(w, depth, choice == 4);
        } else if (w->scope_count < 40) {
            write_let(w);
        }
    }
}

/* What is claimed of two names at a statement. */
struct random_claim {
    const struct stm *stm;
    int a, b;
    bool equal;
};
struct checker {
    struct random_claim claims[4096];
    unsigned count;
    uint64_t checked;
    const char *text;
};

static void check_claims(struct simulation *sim, const struct stm *stm)
{
    struct checker *c = sim->context;
    for (unsigned i = 0; i < c->count; i++) {
        const struct random_claim *claim = &c->claims[i];
        if (claim->stm != stm)
            continue;
        int64_t a = sim->values[claim->a].i64, b = claim->b < 0 ? 0 : sim->values[claim->b].i64;
        c->checked++;
        if (claim->equal ? a != b : a < b)
            fail_msg("%s\n%s = %lld is not %s %s = %lld", c->text, sim->fun->names[claim->a].text,
                     (long long)a, claim->equal ? "equal to" : "at least",
                     claim->b < 0 ? "0" : sim->fun->names[claim->b].text, (long long)b);
    }
}

static void claim(struct checker *c, const struct stm *stm, int a, int b, bool equal)
{
    if (c->count < sizeof c->claims / sizeof *c->claims)
        c->claims[c->count++] = (struct random_claim){stm, a, b, equal};
}

/* Claims of every new scalar and those in scope before it. */
static void collect(struct checker *c, struct sizes *s, const struct fun *fun,
                    const struct body *body, int scope[], unsigned count)
{
    for (const struct stm *stm = body->first; stm; stm = stm->next) {
        unsigned position = stm->size_position, inside = count;
        if (stm->kind == STM_SCALAR) {
            int a = stm->outs[0];
            if (sizes_nonnegative(s, sizes_of_name(s, a), position))
                claim(c, stm, a, -1, false);
            for (unsigned i = 0; i < count; i++) {
                const struct poly *pa = sizes_of_name(s, a), *pb = sizes_of_name(s, scope[i]);
                if (sizes_equal(s, pa, pb, position))
                    claim(c, stm, a, scope[i], true);
                if (sizes_at_least(s, pa, pb, position))
                    claim(c, stm, a, scope[i], false);
                if (sizes_at_least(s, pb, pa, position))
                    claim(c, stm, scope[i], a, false);
            }
        }
        if (stm->kind == STM_LOOP) {
            scope[inside++] = stm->loop->counter;
            scope[inside++] = stm->loop->params[0];
            collect(c, s, fun, &stm->loop->body, scope, inside);
        } else if (stm->kind == STM_IF) {
            collect(c, s, fun, stm->then, scope, count);
            collect(c, s, fun, stm->otherwise, scope, count);
        }
        for (unsigned o = 0; o < stm->out_count; o++)
            if (fun->names[stm->outs[o]].kind == NAME_SCALAR)
                scope[count++] = stm->outs[o];
    }
}

static void test_random(void **state)
{
    (void)state;
    struct checker *c = calloc(1, sizeof *c);
    unsigned claimed_count = 0;
    for (unsigned seed = 0; seed < 500; seed++) {
        struct writer w = {.random = {random_split(11, seed)}};
        text_add(&w.text, "%s", HEADER);
        write_body(&w, 2, 8);
        text_add(&w.text, "in n\n}\n");
        struct program *program = parse(w.text.data);
        const struct fun *fun = program->funs;
        struct sizes *s = sizes_open(program, fun, 0);
        int scope[256] = {name_of(fun, "n"), name_of(fun, "m"), name_of(fun, "k")};
        c->count = 0;
        c->text = w.text.data;
        collect(c, s, fun, &fun->body, scope, 3);
        claimed_count += c->count;
        struct simulation sim = {.program = program,
                                 .fun = fun,
                                 .random = {seed},
                                 .visit = check_claims,
                                 .context = c,
                                 .values = calloc(fun->name_count, sizeof(union scalar))};
        for (unsigned run = 0; run < 60; run++)
            simulate(&sim, 5);
        free(sim.values);
        sizes_close(s);
        program_free(program);
        text_free(&w.text);
    }
    print_message("%u claims, checked %llu times\n", claimed_count, (unsigned long long)c->checked);
    assert_true(claimed_count > 5000 && c->checked > 50000);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),  cmocka_unit_test(test_claims),
        cmocka_unit_test(test_divide), cmocka_unit_test(test_new_names),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
