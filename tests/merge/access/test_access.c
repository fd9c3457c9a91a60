/* What the text of a kernel tells about memory. Every row of the in-place table is checked twice:
 * what the analysis says, and what happens when the kernel is really run in place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "tests/merge/access/access_rows.h"
#include "tests/base/golden.h"
#include "tests/device/kernel_run.h"
#include "tests/merge/access/access_print.h"

/* ---- programs ------------------------------------------------------------------------------- */

/* What every fun of these tests begins with; y is the result. */
static const char parameters[] = "(n: i64, m: i64, a: i64, x: [n]i32, z: [n]i32, g: [n][m]i32, \n"
                                 " c: [n][n][n]i32, v: [n]f32, w: [n]i64, b: [n]u8, o: *[n]i32)";

static const char common_code[] = "code {\n"
                                  "  #define BUMP(name) name = name + 1\n"
                                  "  FN i32 twice(i32 value) { return 2 * value; }\n"
                                  "  FN i32 put(i32 *to, i32 value) { *to = value; return 0; }\n"
                                  "  typedef struct { i32 i; } pair;\n"
                                  "}\n";

/* Adds `fun rowN` with the statement; its kernel `k` becomes `kN`. */
static void add_fun(struct text *t, unsigned number, const char *statement)
{
    const char *k = strstr(statement, "kernel k ");
    assert_non_null(k);
    text_add(t, "fun row%u%s {\n", number, parameters);
    text_add_bytes(t, statement, (size_t)(k - statement));
    text_add(t, "kernel k%u %s\nin y }\n", number, k + 9);
}

static struct program *read_program(const char *text)
{
    struct program *program;
    struct error error;
    if (program_read("test", text, strlen(text), &program, &error))
        fail_msg("%s", error.text);
    return program;
}

static const struct stm *kernel_of(const struct fun *fun)
{
    const struct stm *s = fun->body.first;
    while (s->kind != STM_KERNEL)
        s = s->next;
    return s;
}

static int name_of(const struct fun *fun, const char *text)
{
    int name = fun_find(fun, text, strlen(text));
    if (name == NO_NAME)
        fail_msg("there is no '%s' in %s", text, fun->name);
    return name;
}

/* ---- in place ------------------------------------------------------------------------------- */

struct subject {
    struct program *program;
    struct arena arena;
};

/* A program of all rows, or of those that compile; fun i is that of the i-th one. */
static struct subject read_rows(bool compiled)
{
    struct text t = {0};
    text_add(&t, "%s", common_code);
    for (unsigned i = 0; i < ROWS; i++)
        if (!compiled || row_at(i)->truth != NO_C)
            add_fun(&t, i, row_at(i)->statement);
    struct subject s = {.program = read_program(t.data)};
    text_free(&t);
    return s;
}

static void close_subject(struct subject *s)
{
    arena_free(&s->arena);
    program_free(s->program);
}

static unsigned names_of(const struct fun *fun, const char *list, int names[8])
{
    unsigned count = 0;
    for (size_t length; *list; list += length + (list[length] == ' ')) {
        length = strcspn(list, " ");
        names[count] = fun_find(fun, list, length);
        assert_int_not_equal(names[count++], NO_NAME);
    }
    return count;
}

/* YES or the check that refuses. */
static int answer(struct subject *s, unsigned row, unsigned switches, struct access_refusal *r)
{
    const struct fun *fun = &s->program->funs[row];
    int killed[8];
    struct access_question question = {.out = name_of(fun, "y"),
                                       .killed = killed,
                                       .killed_count = names_of(fun, row_at(row)->killed, killed),
                                       .rows = row >= PLAIN_ROWS,
                                       .switches = switches,
                                       .same_place = access_spelt_same_place,
                                       .context = (void *)fun};
    const struct kernel_access *ka = access_analyse(s->program, fun, kernel_of(fun), &s->arena);
    return access_in_place(ka, &question, r) ? (int)YES : (int)r->check;
}

static const char *answer_name(int answer)
{
    return answer == YES ? "YES" : access_check_sentence((enum access_check)answer);
}

static void test_in_place(void **state)
{
    (void)state;
    struct subject s = read_rows(false);
    unsigned failed = 0;
    for (unsigned i = 0; i < ROWS; i++) {
        struct access_refusal r = {0};
        int got = answer(&s, i, 0, &r);
        if (got == row_at(i)->expected)
            continue;
        print_error("row %u: %s\nover %s is %s, expected %s\n", i, row_at(i)->statement,
                    row_at(i)->killed, answer_name(got), answer_name(row_at(i)->expected));
        failed++;
    }
    close_subject(&s);
    assert_int_equal(failed, 0);
}

/* Without the condition that refuses, the row is refused for another reason or not at all; and
 * every condition is the only thing between some row and a yes. */
static void test_every_check_matters(void **state)
{
    (void)state;
    struct subject s = read_rows(false);
    unsigned decides[ACCESS_CHECKS] = {0};
    for (unsigned i = 0; i < ROWS; i++) {
        struct access_refusal r = {0};
        if (row_at(i)->expected == YES)
            continue;
        int got = answer(&s, i, 1u << row_at(i)->expected, &r);
        assert_int_not_equal(got, row_at(i)->expected);
        decides[row_at(i)->expected] += got == YES;
    }
    close_subject(&s);
    for (int c = 0; c < ACCESS_CHECKS; c++)
        if (!decides[c] && c != ACCESS_CHECK_OUT) /* a mistake of the caller's, tested below */
            fail_msg("no row depends on %s alone", access_check_sentence((enum access_check)c));
}

/* The kernels are run: what is allowed gives the same answer in every order of the threads, and
 * what is said to harm really gives another one. */
static void test_in_place_runs(void **state)
{
    (void)state;
    struct subject s = read_rows(true);
    struct error error;
    struct kernel_run *run = kernel_run_open(s.program, &error);
    if (!run) {
        close_subject(&s);
        if (error.code != ERR_UNSUPPORTED)
            fail_msg("%s", error.text);
        skip();
    }
    unsigned failed = 0, fun_number = 0;
    for (unsigned i = 0; i < ROWS; i++) {
        if (row_at(i)->truth == NO_C)
            continue;
        const struct fun *fun = &s.program->funs[fun_number++];
        int killed[8];
        names_of(fun, row_at(i)->killed, killed);
        bool differs = kernel_run_differs(run, fun, kernel_of(fun), name_of(fun, "y"), killed[0]);
        if (row_at(i)->truth == CAUTION || differs == (row_at(i)->truth == HARMS))
            continue;
        print_error("row %u: %s\nover %s gives %s answer\n", i, row_at(i)->statement,
                    row_at(i)->killed, differs ? "another" : "the same");
        failed++;
    }
    kernel_run_close(run);
    close_subject(&s);
    assert_int_equal(failed, 0);
}

/* ---- the caller's part ---------------------------------------------------------------------- */

static bool never(void *context, int out, int killed)
{
    (void)out;
    (void)killed;
    ++*(int *)context;
    return false;
}

static bool always(void *context, int out, int killed)
{
    return !never(context, out, killed);
}

static void test_question(void **state)
{
    (void)state;
    struct text t = {0};
    add_fun(&t, 0,
            "let t: [n]i32 = g[:, 1]\n"
            "let (y: [n]i32, s: [n]i32) = kernel k (i < n) {\n  s[i] = 3;\n  y[i] = t[i];\n}");
    struct subject s = {.program = read_program(t.data)};
    text_free(&t);
    const struct fun *fun = &s.program->funs[0];
    const struct kernel_access *ka = access_analyse(s.program, fun, kernel_of(fun), &s.arena);
    int killed = name_of(fun, "t"), calls = 0;
    struct access_refusal r = {0};
    struct access_question q = {.out = name_of(fun, "y"),
                                .killed = &killed,
                                .killed_count = 1,
                                .same_place = access_spelt_same_place,
                                .context = (void *)fun};

    /* Where the arrays will lie is the caller's to know. */
    assert_false(access_in_place(ka, &q, &r));
    assert_int_equal(r.check, ACCESS_CHECK_PLACE);
    assert_int_equal(r.killed, killed);
    q.same_place = always;
    q.context = &calls;
    assert_true(access_in_place(ka, &q, NULL));
    q.same_place = never;
    assert_false(access_in_place(ka, &q, NULL));
    assert_int_equal(calls, 2);

    /* The line is that of the access. */
    q.same_place = always;
    q.context = &calls;
    q.out = name_of(fun, "s");
    assert_false(access_in_place(ka, &q, &r));
    assert_int_equal(r.check, ACCESS_CHECK_ORDER);
    assert_int_equal(r.line, 6);

    /* What the kernel does not write is none of its results. */
    q.out = name_of(fun, "x");
    assert_false(access_in_place(ka, &q, &r));
    assert_int_equal(r.check, ACCESS_CHECK_OUT);
    q.switches = ACCESS_WITHOUT(OUT);
    assert_true(access_in_place(ka, &q, &r));
    for (int c = 0; c < ACCESS_CHECKS; c++)
        assert_true(strlen(access_check_sentence((enum access_check)c)) > 10);
    close_subject(&s);
}

/* ---- private arrays ------------------------------------------------------------------------- */

static const struct private_row {
    const char *body;
    enum access_order expected;
    unsigned matters; /* the condition whose absence changes the answer */
} private_rows[] = {
    {"p[0] = x[i]; y[i] = p[0]; r[0] = 2; y[i] += r[0];", ACCESS_BEFORE, 0},
    {"r[0] = x[i]; y[i] = r[0]; p[0] = 2; y[i] += p[0];", ACCESS_AFTER, 0},
    {"for (i32 k = 0; k < 4; k++) p[k] = x[i]; i32 s = 0; for (i32 k = 0; k < 4; k++) s += p[k];\n"
     "for (i32 k = 0; k < 4; k++) r[k] = s; y[i] = r[1];",
     ACCESS_BEFORE, 0},
    {"p[0] = x[i]; if (p[0]) r[0] = 2; y[i] = 1;", ACCESS_BEFORE, 0},
    {"p[0] = x[i]; r[0] = p[0]; y[i] = r[0];", ACCESS_OVERLAP, ACCESS_WITHOUT(ORDER)},
    {"p[0] = x[i]; r[0] = 1; y[i] = p[0];", ACCESS_OVERLAP, ACCESS_WITHOUT(ORDER)},
    {"p[0] = x[i]; r[p[0]] = 1; y[i] = 0;", ACCESS_OVERLAP, ACCESS_WITHOUT(ORDER)},
    {"p[0] = 1; for (i32 k = 0; k < p[0]; k++) r[k] = k; y[i] = 0;", ACCESS_OVERLAP,
     ACCESS_WITHOUT(LOOP)},
    {"for (i32 k = 0; k < 4; k++) { p[0] = k; y[i] = p[0]; r[0] = k; y[i] += r[0]; }",
     ACCESS_OVERLAP, ACCESS_WITHOUT(LOOP)},
    {"i32 k = 0; while (k < 3) { p[0] = k++; r[0] = k; } y[i] = k;", ACCESS_OVERLAP,
     ACCESS_WITHOUT(LOOP)},
    {"i32 k = 0; do { p[0] = k; r[0] = k; } while (k++ < 3); y[i] = k;", ACCESS_OVERLAP,
     ACCESS_WITHOUT(LOOP)},
    {"do p[0] = 1; while (p[0] < 1); r[0] = 2; y[i] = 0;", ACCESS_BEFORE, 0},
    {"p[0] = 1; BUMP(p[0]); r[0] = 1; y[i] = 0;", ACCESS_OVERLAP, ACCESS_WITHOUT(TEXT)},
    {"p[0] = 1; y[i] = p[0]; real[0] = 1.0f;", ACCESS_OVERLAP, ACCESS_WITHOUT(TYPE)},
    {"p[0] = 1; y[i] = p[0]; wide[0] = 1;", ACCESS_OVERLAP, ACCESS_WITHOUT(TYPE)},
    {"p[0] = 1; y[i] = p[0]; bytes[0] = 1;", ACCESS_BEFORE, 0},
};

static void test_private_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof private_rows / sizeof *private_rows; i++) {
        const struct private_row *row = &private_rows[i];
        struct text t = {0}, statement = {0};
        text_add(&statement,
                 "let y: [n]i32 = kernel k (i < n) private p: [4]i32, r: [4]i32,\n"
                 "real: [4]f32, wide: [4]i64, bytes: [4]u8 {%s}",
                 row->body);
        text_add(&t, "%s", common_code);
        add_fun(&t, 0, statement.data);
        struct subject s = {.program = read_program(t.data)};
        text_free(&t);
        text_free(&statement);
        const struct fun *fun = &s.program->funs[0];
        const struct stm *stm = kernel_of(fun);
        const struct kernel_access *ka = access_analyse(s.program, fun, stm, &s.arena);
        const struct kernel *k = stm->kernel;
        int p = k->privates[0], r = NO_NAME;
        for (unsigned a = 1; a < k->private_count; a++)
            for (unsigned f = 0; f < ka->count; f++)
                if (ka->facts[f].access->array == k->privates[a])
                    r = k->privates[a];
        enum access_order expected = row->expected;
        if (access_private_order(ka, p, r, 0) != expected)
            fail_msg("private row %zu: %s", i, row->body);
        enum access_order back = expected == ACCESS_BEFORE  ? ACCESS_AFTER
                                 : expected == ACCESS_AFTER ? ACCESS_BEFORE
                                                            : ACCESS_OVERLAP;
        assert_int_equal(access_private_order(ka, r, p, 0), back);
        if (row->matters)
            assert_int_not_equal(access_private_order(ka, p, r, row->matters), expected);
        assert_int_equal(access_private_order(ka, p, p, 0), ACCESS_OVERLAP);
        assert_int_equal(access_private_order(ka, p, name_of(fun, "x"), 0), ACCESS_OVERLAP);
        close_subject(&s);
    }
}

/* ---- regions -------------------------------------------------------------------------------- */

struct access_regions {
    unsigned count;
    struct access_region *items;
};

static bool same_index(const struct access_index *a, const struct access_index *b)
{
    return a->kind == b->kind && a->number == b->number && a->name == b->name &&
           a->constant == b->constant && a->kind != ACCESS_SUM;
}

/* ACCESS_ANY counts as equal to itself here. */
static bool same_region(const struct access_region *a, const struct access_region *b)
{
    bool same = a->rank == b->rank;
    for (unsigned d = 0; same && d < a->rank; d++)
        same = a->dim[d].kind == b->dim[d].kind &&
               (a->dim[d].kind == ACCESS_ANY || same_index(&a->dim[d], &b->dim[d]));
    return same;
}

static struct access_regions regions(const struct kernel_access *ka, int array, bool written,
                                     struct arena *arena)
{
    struct access_regions all = {0, arena_alloc(arena, (ka->count + 1) * sizeof *all.items)};
    for (unsigned i = 0; i < ka->count; i++) {
        const struct access_fact *f = &ka->facts[i];
        if (f->access->array != array || !(access_unclear(ka) || (written ? f->written : f->read)))
            continue;
        struct access_region region = access_region_of(ka, f);
        bool known = false;
        for (unsigned r = 0; r < all.count && !known; r++)
            known = same_region(&all.items[r], &region);
        if (!known)
            all.items[all.count++] = region;
    }
    return all;
}

/* Sums and products of constants and names. */
static void add_expr(struct text *t, const struct fun *fun, const struct expr *e)
{
    if (e->op == EXPR_CONSTANT) {
        text_add(t, "%lld", (long long)e->value.i64);
    } else if (e->op == EXPR_NAME) {
        text_add(t, "%s", fun->names[e->name].text);
    } else {
        text_add(t, "(");
        add_expr(t, fun, e->arg[0]);
        text_add(t, "%s", expr_operators[e->op].text);
        add_expr(t, fun, e->arg[1]);
        text_add(t, ")");
    }
}

static void add_sum(struct text *t, const struct fun *fun, const struct access_sum *sum)
{
    add_expr(t, fun, sum->start);
    for (unsigned i = 0; i < sum->count; i++) {
        const struct access_term *term = &sum->terms[i];
        text_add(t, " + ");
        add_expr(t, fun, term->factor);
        text_add(t, " * %s %u", term->index.kind == ACCESS_THREAD ? "thread" : "loop",
                 term->index.number);
    }
}

static void add_regions(struct text *t, const struct fun *fun, struct access_regions regions)
{
    for (unsigned i = 0; i < regions.count; i++) {
        text_add(t, i ? " [" : "[");
        for (unsigned d = 0; d < regions.items[i].rank; d++) {
            const struct access_index *x = &regions.items[i].dim[d];
            text_add(t, d ? ", " : "");
            if (x->kind == ACCESS_ANY)
                text_add(t, "any");
            else if (x->kind == ACCESS_SUM)
                add_sum(t, fun, x->sum);
            else if (x->kind == ACCESS_CONSTANT)
                text_add(t, "%lld", (long long)x->constant);
            else if (x->kind == ACCESS_THREAD)
                text_add(t, "thread %u%+lld", x->number, (long long)x->constant);
            else if (x->kind == ACCESS_COUNTER)
                text_add(t, "loop %u of %lld%+lld", x->number,
                         x->count->op == EXPR_CONSTANT ? (long long)x->count->value.i64 : -1LL,
                         (long long)x->constant);
            else
                text_add(t, "%s%+lld", fun->names[x->name].text, (long long)x->constant);
        }
        text_add(t, "]");
    }
}

static const struct region_row {
    const char *statement, *array;
    bool written;
    const char *expected;
} region_rows[] = {
    {"let y: [n]i32 = kernel k (i < n) { y[i] = g[i, 3] + g[n, i]; }", "g", false,
     "[thread 0+0, 3] [n+0, thread 0+0]"},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = g[i + 1, i - 2] + g[2 + i, -1]; }", "g", false,
     "[thread 0+1, thread 0-2] [thread 0+2, -1]"},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = g[i, a] + g[i, a]; }", "g", false,
     "[thread 0+0, a+0]"},
    {"let y: [n]i32 = kernel k (i < n) { for (i32 k = 0; k < 3; k++) y[i] = g[i, k] + g[i, k + 1]; "
     "}",
     "g", false, "[thread 0+0, loop 0 of 3+0] [thread 0+0, loop 0 of 3+1]"},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[2 - i] + x[i * 1] + x[i + a] + x[010] + x[i + "
     "0x1];"
     "}",
     "x", false, "[2 + (0-1) * thread 0] [0 + 1 * thread 0] [a + 1 * thread 0] [any]"},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[(a - i) * n + (i64)i * 3] + x[0 * i + i]; }", "x",
     false, "[(a*n) + (((0-1)*n)+3) * thread 0] [0 + 1 * thread 0]"},
    {"let y: [n]i32 = kernel k (i < n) { for (i32 k = 0; k < n; k++) y[i] = x[-(n * k) + k * (2)]; "
     "}",
     "x", false, "[0 + ((0-n)+2) * loop 0]"},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i * i] + x[i / 2] + x[f(i) + 1] + x[(i32)n - i]; "
     "}",
     "x", false, "[any]"},
    {"let y: [n]i32 = kernel k (i < n) { i32 s = 2; y[i] = x[s * i] + x[2u * i] + x[i * 2 +]; }",
     "x", false, "[any]"},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[12345678901]; }", "x", false, "[any]"},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[5]; }", "x", true, ""},
    {"let y: [n][m]i32 = kernel k (i < n, j < m) { y[j, i] = 1; y[i, 0] += 2; }", "y", true,
     "[thread 1+0, thread 0+0] [thread 0+0, 0]"},
    {"let y: [n][m]i32 = kernel k (i < n, j < m) { y[j, i] = 1; y[i, 0] += 2; }", "y", false,
     "[thread 0+0, 0]"},
    {"let y: [n][m]i32 = kernel k (i < n) group l < 8 { each { y[i, l] = 1; } }", "y", true,
     "[thread 0+0, thread 1+0]"},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i]; BUMP(y[0]); }", "y", true, "[any]"},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i]; BUMP(y[0]); }", "x", true, "[any]"},
    {"let y: [n]i32 = kernel k (i < n) { i32 n = 2, m; y[i] = g[n, m] + g[a, i]; }", "g", false,
     "[any, any] [a+0, thread 0+0]"},
    {"let y: [n]i32 = kernel k (i < n) { f32 t[2], *a = t; y[i] = x[a]; }", "x", false, "[any]"},
    {"let y: [n]i32 = kernel k (i < n) { for (i32 k = 0, a = 1; k < 3; k++) y[i] = x[a]; }", "x",
     false, "[any]"},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[n * 1] + n * a; }", "x", false, "[n]"},
};

static void test_regions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof region_rows / sizeof *region_rows; i++) {
        const struct region_row *row = &region_rows[i];
        struct text t = {0}, got = {0};
        text_add(&t, "%s", common_code);
        add_fun(&t, 0, row->statement);
        struct subject s = {.program = read_program(t.data)};
        const struct fun *fun = &s.program->funs[0];
        const struct kernel_access *ka = access_analyse(s.program, fun, kernel_of(fun), &s.arena);
        int array = name_of(fun, row->array);
        text_add(&got, "%s", "");
        add_regions(&got, fun, regions(ka, array, row->written, &s.arena));
        if (strcmp(got.data, row->expected) != 0)
            fail_msg("region row %zu: %s\ngave %s\nexpected %s", i, row->statement, got.data,
                     row->expected);
        text_free(&t);
        text_free(&got);
        close_subject(&s);
    }
}

/* ---- the program's own code ----------------------------------------------------------------- */

static void test_macros(void **state)
{
    (void)state;
    static const struct {
        const char *code, *unclear;
    } cases[] = {
        {"FN i32 f(i32 a) { return a; } /* #define x */ // #include\n", NULL},
        {"#define OTHER(v) (v)\n#ifdef OTHER\n#endif\n", NULL},
        {"static const char s[] = \"#include\";", NULL},
        {"#define i 3", "a macro of the program"},
        {"# /* so */ define\tt(v) v\n", "a macro of the program"},
        {"%:define u32 i32\n", "a macro of the program"},
        {"#include <math.h>\n", "a line of the preprocessor in the program's code"},
        {"#def\\\nine i 3\n", "a line of the preprocessor in the program's code"},
        {"#define ab\\\nc 3\n", "a macro of the program whose name is not clear"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text t = {0};
        text_add(&t, "code { %s }\n", cases[i].code);
        add_fun(&t, 0, "let y: [n]i32 = kernel k (i < n) { u32 t = 1; y[i] = x[i] + (i32)t; }");
        struct subject s = {.program = read_program(t.data)};
        text_free(&t);
        const struct fun *fun = &s.program->funs[0];
        const char *unclear =
            access_unclear(access_analyse(s.program, fun, kernel_of(fun), &s.arena));
        if (!unclear != !cases[i].unclear || (unclear && strcmp(unclear, cases[i].unclear) != 0))
            fail_msg("%s: %s", cases[i].code, unclear ? unclear : "clear");
        close_subject(&s);
    }
}

/* ---- printing ------------------------------------------------------------------------------- */

static void test_print(void **state)
{
    (void)state;
    char *text = golden_read("tests/golden/access.mem");
    assert_non_null(text);
    struct subject s = {.program = read_program(text)};
    free(text);
    struct text out = {0};
    for (unsigned f = 0; f < s.program->fun_count; f++)
        for (const struct stm *m = s.program->funs[f].body.first; m; m = m->next)
            if (m->kind == STM_KERNEL)
                access_print(access_analyse(s.program, &s.program->funs[f], m, &s.arena), &out);
    golden_check("access.txt", out.data);
    text_free(&out);
    close_subject(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_place),      cmocka_unit_test(test_every_check_matters),
        cmocka_unit_test(test_in_place_runs), cmocka_unit_test(test_question),
        cmocka_unit_test(test_private_order), cmocka_unit_test(test_regions),
        cmocka_unit_test(test_macros),        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
