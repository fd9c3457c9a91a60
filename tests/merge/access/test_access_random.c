/* Random kernels: what the analysis allows in place is run in place. Random tokens: whatever the
 * parser accepts, the analysis ends. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "tests/base/cmocka.h"
#include "tests/device/kernel_run.h"
#include "tests/merge/access/access_print.h"

/* GAMUT_RANDOM_SEED=N tries other kernels than the usual ones. */
static uint64_t seed(void)
{
    const char *chosen = getenv("GAMUT_RANDOM_SEED");
    return chosen ? strtoull(chosen, NULL, 10) : 1;
}

static unsigned below(struct random *r, unsigned bound)
{
    return (unsigned)random_below(r, bound);
}

/* ---- kernels that run ----------------------------------------------------------------------- */

enum { KERNELS = 150, DEPTH_MAX = 4 };

/* A kernel being written: x is read, y and s are written, t is what has been seen so far. */
struct writer {
    struct random *random;
    struct text text;
    unsigned depth, counters; /* statements and loops around */
    bool aligned;             /* most accesses begin with the thread's index */
    bool written;             /* is there a write of y? */
};

static const char *const counter_names[] = {"k", "l", "i"}; /* the last one hides the thread's */

static void write_index(struct writer *w)
{
    unsigned kind = below(w->random, 20);
    if (kind < 9)
        text_add(&w->text, "i");
    else if (kind < 15 && w->counters)
        text_add(&w->text, "%s",
                 counter_names[below(w->random, w->counters < 3 ? w->counters : 3)]);
    else if (kind < 17)
        text_add(&w->text, "%u", below(w->random, 3));
    else if (kind < 18)
        text_add(&w->text, "a - %u", 6 + below(w->random, 3));
    else if (kind < 19)
        text_add(&w->text, "(i32)(t & 7)");
    else
        text_add(&w->text, "7 - i");
}

static void write_access(struct writer *w, const char *array)
{
    w->written |= *array == 'y';
    text_add(&w->text, "%s[", array);
    if (w->aligned && below(w->random, 30))
        text_add(&w->text, "i");
    else
        write_index(w);
    text_add(&w->text, ", ");
    write_index(w);
    text_add(&w->text, "]");
}

static void write_statement(struct writer *w);

static void write_loop(struct writer *w)
{
    const char *k = counter_names[w->counters];
    unsigned kind = below(w->random, 8);
    if (kind == 0) {
        text_add(&w->text, "{ i32 %s = 0; do { %s++; ", k, k);
    } else if (kind == 1) {
        text_add(&w->text, "{ i32 %s = 0; while (%s++ < 2) { ", k, k);
    } else if (kind == 2) {
        text_add(&w->text, "for (i32 %s = 0; %s < 8; %s += 2) ", k, k, k);
    } else {
        text_add(&w->text, "for (i32 %s = 0; %s < 8; %s++) ", k, k, k);
    }
    w->counters++;
    write_statement(w);
    w->counters--;
    if (kind == 0)
        text_add(&w->text, "} while (%s < 3); } ", k);
    if (kind == 1)
        text_add(&w->text, "} } ");
}

static void write_simple(struct writer *w)
{
    unsigned kind = below(w->random, 8);
    if (kind < 3) {
        text_add(&w->text, "t = t * 3u + (u32)");
        write_access(w, "x");
        text_add(&w->text, "; ");
    } else if (kind < 6) {
        write_access(w, "y");
        text_add(&w->text, " = (i32)(t + 1u");
        if (below(w->random, 2)) {
            text_add(&w->text, " + 5u * (u32)");
            write_access(w, "x");
        }
        text_add(&w->text, "); ");
    } else if (kind < 7) { /* nobody else's, so that it does not depend on the threads' order */
        text_add(&w->text, "s[i0, %u] = (i32)t; ", below(w->random, 8));
    } else {
        text_add(&w->text, "t += 1u, ");
        write_access(w, "y");
        text_add(&w->text, " = (i32)t, t += (u32)");
        write_access(w, "x");
        text_add(&w->text, "; ");
    }
}

static void write_statement(struct writer *w)
{
    unsigned kind = w->depth >= DEPTH_MAX ? 9 : below(w->random, 10);
    w->depth++;
    if (kind < 2) {
        text_add(&w->text, "{ ");
        for (unsigned n = 1 + below(w->random, 3); n; n--)
            write_statement(w);
        text_add(&w->text, "} ");
    } else if (kind < 4) {
        text_add(&w->text, "if (t & 1u) ");
        write_statement(w);
        if (below(w->random, 2)) {
            text_add(&w->text, "else ");
            write_statement(w);
        }
    } else if (kind < 6 && w->counters < 3) {
        write_loop(w);
    } else {
        write_simple(w);
    }
    w->depth--;
}

static struct program *random_kernels(struct random *random)
{
    struct writer w = {.random = random};
    for (unsigned f = 0; f < KERNELS; f++) {
        text_add(&w.text,
                 "fun random%u(n: i64, a: i64, x: [n][n]i32) {\n"
                 "let (y: [n][n]i32, s: [n][n]i32) = kernel k%u (i < n) {\n"
                 "const i32 i0 = i; u32 t = (u32)i0; ",
                 f, f);
        w.aligned = below(random, 4) > 0;
        w.written = false;
        for (unsigned n = 1 + below(random, 3); n; n--)
            write_statement(&w);
        if (!w.written) {
            write_access(&w, "y");
            text_add(&w.text, " = (i32)t; ");
        }
        text_add(&w.text, "s[i0, 0] = (i32)t;\n}\nin y, s }\n");
    }
    struct program *program;
    struct error error;
    if (program_read("random", w.text.data, w.text.length, &program, &error))
        fail_msg("%s", error.text);
    text_free(&w.text);
    return program;
}

static bool in_place(struct program *program, const struct fun *fun, unsigned switches,
                     struct arena *arena)
{
    const struct stm *stm = fun->body.first;
    while (stm->kind != STM_KERNEL)
        stm = stm->next;
    int x = fun_find(fun, "x", 1);
    struct access_question question = {.out = stm->outs[0],
                                       .killed = &x,
                                       .killed_count = 1,
                                       .rows = true,
                                       .switches = switches,
                                       .same_place = access_spelt_same_place,
                                       .context = (void *)fun};
    const struct kernel_access *ka = access_analyse(program, fun, stm, arena);
    bool rows = access_in_place(ka, &question, NULL);
    question.rows = false;
    if (access_in_place(ka, &question, NULL) && !rows)
        fail_msg("%s: what holds for elements holds for rows", fun->name);
    return rows;
}

static bool differs(struct kernel_run *run, const struct fun *fun)
{
    const struct stm *stm = fun->body.first;
    while (stm->kind != STM_KERNEL)
        stm = stm->next;
    return kernel_run_differs(run, fun, stm, stm->outs[0], fun_find(fun, "x", 1));
}

/* What is allowed does no harm; with one of these conditions left out, something harmful is. */
static void test_random_in_place(void **state)
{
    (void)state;
    static const enum access_check needed[] = {ACCESS_CHECK_WRITE_THREADS, ACCESS_CHECK_READ_INDEX,
                                               ACCESS_CHECK_LOOP, ACCESS_CHECK_ORDER};
    enum { NEEDED = sizeof needed / sizeof *needed };
    struct random random = {seed()};
    struct program *program = random_kernels(&random);
    struct error error;
    struct kernel_run *run = kernel_run_open(program, &error);
    if (!run) {
        program_free(program);
        if (error.code != ERR_UNSUPPORTED)
            fail_msg("%s", error.text);
        skip();
    }
    struct arena arena = {0};
    unsigned allowed = 0, harmful = 0, caught[NEEDED] = {0};
    for (unsigned f = 0; f < KERNELS; f++) {
        const struct fun *fun = &program->funs[f];
        const struct kernel *k = fun->kernels;
        bool yes = in_place(program, fun, 0, &arena), harms = differs(run, fun);
        if (yes && harms)
            fail_msg("%s is allowed and does harm:\n%s", fun->name, k->text);
        allowed += yes && k->array_count > 2; /* x is read */
        harmful += harms;
        for (unsigned c = 0; c < NEEDED; c++)
            caught[c] += harms && in_place(program, fun, 1u << needed[c], &arena);
    }
    print_message("%u of %u kernels are allowed to overwrite what they read, %u would do harm; "
                  "left to one condition:",
                  allowed, KERNELS, harmful);
    for (unsigned c = 0; c < NEEDED; c++)
        print_message(" (%s) %u", access_check_sentence(needed[c]), caught[c]);
    print_message("\n");
    assert_true(allowed > KERNELS / 20);
    for (unsigned c = 0; c < NEEDED && !getenv("GAMUT_RANDOM_SEED"); c++)
        assert_true(caught[c] > 0);
    arena_free(&arena);
    kernel_run_close(run);
    program_free(program);
}

/* ---- tokens that need not make sense -------------------------------------------------------- */

static void write_soup(struct random *r, struct text *t)
{
    static const char *const tokens[] = {
        "if",     "else",    "for",     "while", "do",
        "switch", "case",    "default", "break", "(",
        ")",      "(",       ")",       "[",     "]",
        "{",      "}",       ";",       ";",     ",",
        "=",      "+=",      "++",      "--",    "&",
        "*",      ".",       "->",      "?",     ":",
        "<",      "<=",      "+",       "-",     "i",
        "k",      "n",       "7",       "010",   "1e",
        "i32",    "const",   "'a'",     "\"s\"", "/* c */",
        "// c\n", "\\",      "#",       "%:",    "<:",
        "y[i]",   "x[i]",    "p[0]",    "x[k]",  "y[i] =",
        "&x[i]",  "(x[i])",  "struct",  "f(",    "i32 k",
        "MIN",    "each {}", "'",       "\"",    "for (i32 k = 0; k < 9; k++)"};
    for (unsigned n = below(r, 60); n; n--)
        text_add(t, "%s ", tokens[below(r, sizeof tokens / sizeof *tokens)]);
}

static void ask_everything(struct program *program)
{
    struct arena arena = {0};
    struct text printed = {0};
    const struct fun *fun = &program->funs[0];
    const struct stm *stm = fun->body.first;
    while (stm->kind != STM_KERNEL)
        stm = stm->next;
    const struct kernel_access *ka = access_analyse(program, fun, stm, &arena);
    const struct kernel *k = stm->kernel;
    int x = fun_find(fun, "x", 1);
    for (unsigned switches = 0; switches < 1u << ACCESS_CHECKS; switches += 1 + switches / 3) {
        struct access_question question = {.out = stm->outs[0],
                                           .killed = &x,
                                           .killed_count = 1,
                                           .rows = switches & 1,
                                           .switches = switches,
                                           .same_place = access_spelt_same_place,
                                           .context = (void *)fun};
        access_in_place(ka, &question, NULL);
        if (k->private_count)
            access_private_order(ka, k->privates[0], k->privates[1], switches);
    }
    for (unsigned f = 0; f < ka->count; f++)
        access_region_of(ka, &ka->facts[f]);
    access_print(ka, &printed);
    text_free(&printed);
    arena_free(&arena);
}

static void test_soup(void **state)
{
    (void)state;
    struct random random = {seed()};
    unsigned accepted = 0;
    for (unsigned round = 0; round < 5000; round++) {
        struct text t = {0};
        bool code = below(&random, 4) == 0, group = below(&random, 4) == 0;
        if (code) {
            text_add(&t, "code { ");
            write_soup(&random, &t);
            text_add(&t, "}\n");
        }
        text_add(&t, "fun f(n: i64, x: [n]i32) { let y: [n]i32 = kernel k (i < n) %s { ",
                 group ? "group l < 4" : "private p: [1]i32, q: [1]i32");
        text_add(&t, group ? "each { y[l] = 1; " : "y[i] = 1; ");
        write_soup(&random, &t);
        text_add(&t, group ? "} } in y }" : "} in y }");
        struct program *program;
        struct error error;
        if (!program_read("soup", t.data, t.length, &program, &error)) {
            ask_everything(program);
            program_free(program);
            accepted++;
        }
        text_free(&t);
    }
    print_message("%u texts were accepted\n", accepted);
    assert_true(accepted > 200);
}

/* Deeper than any recursion should go. */
static void test_deep(void **state)
{
    (void)state;
    static const char *const levels[] = {"{", "if (x[i]) ", "do ",      "for (;;) ",
                                         "(", "else ",      "y[i] = x["};
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        struct text t = {0};
        text_add(&t, "fun f(n: i64, x: [n]i32) { let y: [n]i32 = kernel k (i < n) { y[i] = 1; ");
        for (unsigned n = 0; n < 5000; n++)
            text_add(&t, "%s", levels[l]);
        for (unsigned n = 0; n < 5000 && *levels[l] == '{'; n++)
            text_add(&t, "}");
        text_add(&t, "} in y }");
        struct program *program;
        struct error error;
        if (!program_read("deep", t.data, t.length, &program, &error)) {
            ask_everything(program);
            program_free(program);
        }
        text_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_in_place),
        cmocka_unit_test(test_soup),
        cmocka_unit_test(test_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
