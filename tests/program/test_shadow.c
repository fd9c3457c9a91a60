/* The shadow machine: right answers for the programs of the tree, and every violation found in
 * programs made to have it, but not with the check turned off. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/base/cmocka.h"
#include "tests/program/generate_program.h"
#include "tests/merge/merge_check.h"
#include "run/select/catalogue.h"
#include "run/select/inputs.h"
#include "tests/program/shadow.h"

static const char *const orders[] = {"ascending", "descending", "shuffled"};

/* ---- programs of the tree ------------------------------------------------------------------- */

/* Runs a dataset in some orders; no violation but those allowed, and the expected answer. */
static void check_dataset(const struct entry *entry, const struct dataset *dataset, int first_order,
                          unsigned allowed)
{
    struct inputs inputs;
    struct error error;
    if (inputs_make(entry, dataset, 1, &inputs, &error))
        fail_msg("%s", error.text);
    for (int order = first_order; order <= SHADOW_SHUFFLED; order++) {
        struct shadow_options options = {.order = (enum shadow_order)order,
                                         .seed = 1,
                                         .unchecked = allowed,
                                         .most_steps = 100000000};
        struct shadow_outcome out;
        double worst;
        if (shadow_run(entry->fun, &inputs.arguments, &options, &out, &error))
            fail_msg("%s %s, %s: %s", entry->name, dataset->name, orders[order], error.text);
        if (out.violation_count)
            fail_msg("%s %s, %s: %s", entry->name, dataset->name, orders[order], out.texts[0]);
        if (inputs_can_check(entry, dataset) &&
            inputs_check(entry, dataset, &inputs, out.results, &worst, &error))
            fail_msg("%s %s, %s: %s", entry->name, dataset->name, orders[order], error.text);
        shadow_free(&out);
    }
    inputs_free(&inputs);
}

static void test_programs(void **state)
{
    (void)state;
    struct catalogue c = {0};
    struct error error;
    unsigned checked = 0;
    DIR *folder = opendir(GAMUT_ROOT "/tests/programs");
    assert_non_null(folder);
    for (struct dirent *d; (d = readdir(folder));) {
        char path[512];
        snprintf(path, sizeof path, "%s/tests/programs/%.200s", GAMUT_ROOT, d->d_name);
        if (strstr(d->d_name, ".mem") && catalogue_add_file(&c, path, &error))
            fail_msg("%s", error.text);
    }
    closedir(folder);
    for (size_t e = 0; e < c.entry_count; e++)
        for (unsigned d = 0; d < c.entries[e].program->dataset_count; d++, checked++)
            check_dataset(&c.entries[e], &c.entries[e].program->datasets[d], SHADOW_ASCENDING, 0);
    assert_true(checked >= 9);
    catalogue_close(&c);
}

/* The smallest dataset of every workload but those whose C has pointers. Where threads race by
 * design, only that is allowed. */
static void test_workloads(void **state)
{
    (void)state;
    struct catalogue c;
    struct error error;
    if (catalogue_open(&c, &error))
        fail_msg("%s", error.text);
    for (size_t e = 0; e < c.entry_count; e++) {
        /* canny in its hysteresis, bfs where two edges meet: their texts say why. */
        bool races =
            strcmp(c.entries[e].name, "canny") == 0 || strncmp(c.entries[e].name, "bfs", 3) == 0;
        /* Their kernels hold C that the interpreter does not know: pointers, and a switch. */
        if (strncmp(c.entries[e].name, "crypt", 5) != 0 &&
            strncmp(c.entries[e].name, "myocyte", 7) != 0)
            check_dataset(&c.entries[e], &c.entries[e].program->datasets[0], SHADOW_SHUFFLED,
                          races ? 1u << SHADOW_OWN_RACE : 0);
    }
    catalogue_close(&c);
}

/* ---- violations ----------------------------------------------------------------------------- */

/* The body of `fun f(n: i64, x_mem: mem(4 * n), x: [n]i32 @ x_mem, …)`, the one violation that it
 * has in that order, and how many copies are left out. n is 4. */
#define NONE SHADOW_VIOLATIONS
static const struct broken {
    const char *what, *body;
    enum shadow_violation expected;
    enum shadow_order order;
    uint64_t elided;
} broken[] = {
    {"two arrays that are both still needed, in one block",
     "let m: mem = alloc(4 * n)\n"
     "let a: [n]i32 @ m = kernel ka (i < n) { a[i] = x[i] + 1; }\n"
     "let b: [n]i32 @ m = kernel kb (i < n) { b[i] = 2 * x[i]; }\n"
     "let c: [n]i32 = kernel kc (i < n) { c[i] = a[i] + x[i]; }\nin c",
     SHADOW_STALE, SHADOW_ASCENDING, 0},
    {"the same where the first one is dead by then",
     "let m: mem = alloc(4 * n)\n"
     "let a: [n]i32 @ m = kernel ka (i < n) { a[i] = x[i] + 1; }\n"
     "let c: [n]i32 = kernel kc (i < n) { c[i] = a[i] + x[i]; }\n"
     "let b: [n]i32 @ m = kernel kb (i < n) { b[i] = 2 * x[i]; }\nin b, c",
     NONE, SHADOW_ASCENDING, 0},
    {"in place, element by element",
     "let m: mem = alloc(4 * n)\n"
     "let a: [n]i32 @ m = kernel ka (i < n) { a[i] = x[i] + 1; }\n"
     "let b: [n]i32 @ m = kernel kb (i < n) { b[i] = 2 * a[i]; }\nin b",
     NONE, SHADOW_SHUFFLED, 0},
    {"in place, but read after the write",
     "let m: mem = alloc(4 * n)\n"
     "let a: [n]i32 @ m = kernel ka (i < n) { a[i] = x[i] + 1; }\n"
     "let (b: [n]i32 @ m, c: [n]i32) = kernel kb (i < n) { b[i] = 2 * a[i]; c[i] = a[i]; }\n"
     "in b, c",
     SHADOW_STALE, SHADOW_ASCENDING, 0},
    {"an array read by the host, an element at a time",
     "let m: mem = alloc(4 * n)\n"
     "let a: [n]i32 @ m = copy x\nlet b: [n]i32 @ m = replicate(7)\nlet e: i32 = a[2]\nin e",
     SHADOW_STALE, SHADOW_ASCENDING, 0},
    {"bytes of another type",
     "let m: mem = alloc(8 * n)\nlet a: [n]i64 @ m = iota\nlet b: [1]i32 @ m(3: 1) = replicate(7)\n"
     "in a, b",
     SHADOW_STALE, SHADOW_ASCENDING, 0},
    {"the source of a copy is gone",
     "let m: mem = alloc(4 * n)\nlet a: [n]i32 @ m = copy x\nlet b: [n]i32 @ m = replicate(7)\n"
     "let c: [2 * n]i32 = concat(x, a)\nlet d: [n]i32 = c[0 :+ n]\nin b, d",
     SHADOW_STALE, SHADOW_ASCENDING, 0},
    /* Downwards, r[i, 0] is overwritten after all of row i have read it: only the race shows. */
    {"threads write where others read",
     "let r_mem: mem = alloc(4 * n * n)\n"
     "let r: [n][n]i32 @ r_mem = kernel kr (i < n, j < n) { r[i, j] = x[i] + j; }\n"
     "let s: [n][n]i32 @ r_mem = kernel ks (i < n, j < n) { s[i, j] = r[i, 0] + j; }\nin s",
     SHADOW_RACE, SHADOW_DESCENDING, 0},
    {"the private arrays of all threads in one place",
     "let m: mem = alloc(8)\n"
     "let a: [n]i32 = kernel ka (i < n) private p: [2]i32 @ m(0: 0, 1) {\n"
     "p[0] = x[i]; p[1] = i; a[i] = p[0] + p[1]; }\nin a",
     SHADOW_RACE, SHADOW_SHUFFLED, 0},
    {"two private arrays that follow each other, in one place",
     "let m: mem = alloc(4 * n)\n"
     "let a: [n]i32 = kernel ka (i < n) private p: [1]i32 @ m(0: 1, n), q: [1]i32 @ m(0: 1, n) {\n"
     "p[0] = x[i]; i32 t = p[0]; q[0] = t + i; a[i] = q[0]; }\nin a",
     NONE, SHADOW_SHUFFLED, 0},
    {"two private arrays that do not follow each other, in one place",
     "let m: mem = alloc(4 * n)\n"
     "let a: [n]i32 = kernel ka (i < n) private p: [1]i32 @ m(0: 1, n), q: [1]i32 @ m(0: 1, n) {\n"
     "p[0] = x[i]; q[0] = i; a[i] = p[0] + q[0]; }\nin a",
     SHADOW_STALE, SHADOW_ASCENDING, 0},
    {"all threads write one element", "let a: [1]i32 = kernel ka (i < n) { a[0] = x[i]; }\nin a",
     SHADOW_OWN_RACE, SHADOW_ASCENDING, 0},
    {"an item reads what another one wrote, without waiting",
     "let a: [n]i32 = kernel ka (i < 1) group l < 4 local s: [4]i32 {\n"
     "each { s[l] = x[l]; if (l > 0) a[l] = s[l - 1]; else a[l] = 0; }\n}\nin a",
     SHADOW_OWN_RACE, SHADOW_ASCENDING, 0},
    {"the same after waiting",
     "let a: [n]i32 = kernel ka (i < 1) group l < 4 local s: [4]i32 {\n"
     "each { s[l] = x[l]; }\neach { if (l > 0) a[l] = s[l - 1]; else a[l] = 0; }\n}\nin a",
     NONE, SHADOW_SHUFFLED, 0},
    {"an item writes what another one reads, after others read it in time",
     "let a: [n]i32 = kernel ka (i < 1) group l < 4 local s: [4]i32 {\n"
     "each { s[l] = x[l]; }\neach { if (l == 0) a[0] = s[3]; }\n"
     "each { if (l == 1) a[1] = s[3]; if (l == 2) s[3] = 7; if (l > 1) a[l] = 0; }\n}\nin a",
     SHADOW_OWN_RACE, SHADOW_ASCENDING, 0},
    {"what a group left in local memory",
     "let a: [2]i32 = kernel ka (i < 2) group l < 4 local s: [4]i32 {\n"
     "each { if (i == 0) s[l] = 1; }\neach { if (l == 0) a[i] = s[0]; }\n}\nin a",
     SHADOW_UNWRITTEN, SHADOW_ASCENDING, 0},
    {"a copy to a place that overlaps",
     "let m: mem = alloc(8 * n)\nlet a: [n]i32 @ m = copy x\nlet b: [n]i32 @ m(1: 1) = copy a\nin "
     "b",
     SHADOW_OVERLAP, SHADOW_DESCENDING, 0},
    {"a copy to the same place, by another spelling",
     "let m: mem = alloc(4 * n)\nlet a: [n]i32 @ m = copy x\n"
     "let b: [n]i32 @ m(n - n: 1) = copy a\nin b",
     NONE, SHADOW_ASCENDING, 1},
    {"a concatenation made in place",
     "let m: mem = alloc(8 * n)\nlet a: [n]i32 @ m = copy x\n"
     "let b: [n]i32 @ m(n: 1) = kernel kb (i < n) { b[i] = 3 * x[i]; }\n"
     "let c: [2 * n]i32 @ m = concat(a, b)\nin c",
     NONE, SHADOW_ASCENDING, 2},
    {"the first piece lies where the second one goes",
     "let m: mem = alloc(8 * n)\nlet a: [n]i32 @ m = copy x\n"
     "let b: [n]i32 = kernel kb (i < n) { b[i] = 3 * x[i]; }\n"
     "let c: [2 * n]i32 @ m = concat(b, a)\nlet d: [n]i32 = c[0 :+ n]\nin d",
     SHADOW_STALE, SHADOW_ASCENDING, 0},
    {"an update that is not in its place",
     "let m: mem = alloc(8 * n)\nlet a: [n]i32 @ m = copy x\n"
     "let b: [n]i32 @ m(1: 1) = a with [0] <- 5\nlet c: [n]i32 = copy x\nin c",
     SHADOW_MISPLACED, SHADOW_ASCENDING, 0},
    {"a view that is not in its place",
     "let m: mem = alloc(8 * n)\nlet a: [n]i32 @ m = copy x\nlet b: [2]i32 @ m(0: 1) = a[1 :+ 2]\n"
     "in a",
     SHADOW_MISPLACED, SHADOW_ASCENDING, 0},
    {"a branch's result that is not in its place",
     "let m: mem = alloc(8 * n)\n"
     "let a: [n]i32 @ m(n: 1) = if n > 0 { let b: [n]i32 @ m = copy x in b } else {\n"
     "let c: [n]i32 @ m(n: 1) = copy x in c }\nin x",
     SHADOW_MISPLACED, SHADOW_ASCENDING, 0},
    {"a result that takes over an array from another place",
     "let m: mem = alloc(8 * n)\nlet a: [n]i32 @ m = copy x\n"
     "let b: [n]i32 @ m(n: 1) = kernel kb (i < n) with b <- a { b[i] = x[i]; }\nin b",
     SHADOW_MISPLACED, SHADOW_ASCENDING, 0},
    {"an array beyond its block", "let m: mem = alloc(4 * n - 4)\nlet a: [n]i32 @ m = copy x\nin x",
     SHADOW_OUTSIDE, SHADOW_ASCENDING, 0},
    {"an index beyond its array", "let a: [n]i32 = kernel ka (i < n) { a[i] = x[i + 1]; }\nin a",
     SHADOW_OUTSIDE, SHADOW_ASCENDING, 0},
    {"elements that nobody wrote",
     "let a: [n]i32 = kernel ka (i < n) { if (i > 0) a[i] = x[i]; }\n"
     "let b: [n]i32 = copy a\nlet c: [n]i32 = kernel kc (i < n) { c[i] = b[i]; }\nin c",
     SHADOW_UNWRITTEN, SHADOW_ASCENDING, 0},
    {"elements that nobody wrote nor reads",
     "let a: [n]i32 = kernel ka (i < n) { if (i > 0) a[i] = x[i]; }\n"
     "let b: [n]i32 = copy a\nlet c: [n]i32 = kernel kc (i < n) { c[i] = b[MAX(i, 1)]; }\nin c",
     NONE, SHADOW_ASCENDING, 0},
    {"a result in the place of a parameter that may only be read",
     "let y: [n]i32 @ x_mem = kernel ky (i < n) { y[i] = x[i] + 1; }\nin y", SHADOW_INPUT,
     SHADOW_ASCENDING, 0},
    {"a result in the place of a unique parameter",
     "let y: [n]i32 @ u_mem = kernel ky (i < n) { y[i] = u[i] + 1; }\nin y", NONE, SHADOW_ASCENDING,
     0},
    {"a loop's old value that is still needed",
     "let m: mem = alloc(4 * n)\nlet a: [n]i32 @ m = copy x\n"
     "let r: [n]i32 @ m = loop (p: [n]i32 @ m = a) for t < 2 {\n"
     "let q: [n]i32 @ m = kernel kq (i < n) { q[i] = p[i] + x[i]; }\n"
     "let s: [n]i32 = copy p\nlet o: [n]i32 @ m = copy q in o }\nlet e: [n]i32 = copy x\nin e",
     SHADOW_STALE, SHADOW_ASCENDING, 2},
};

static void run_broken(const struct broken *b, unsigned unchecked, struct shadow_outcome *out)
{
    static int32_t numbers[] = {10, 20, 30, 40};
    const struct host_array array = {ELEMENT_i32, 1, {4}, 4, numbers};
    const struct named_value values[] = {{.name = "n", .scalar = {.i64 = 4}},
                                         {.name = "x", .array = array},
                                         {.name = "u", .array = array}};
    const struct arguments arguments = {.count = 3, .values = values};
    struct shadow_options options = {.order = b->order, .seed = 3, .unchecked = unchecked};
    struct program *program;
    struct error error;
    char text[2000];
    snprintf(text, sizeof text,
             "fun f(n: i64, x_mem: mem(4 * n), x: [n]i32 @ x_mem,\n"
             "u_mem: mem(4 * n), u: *[n]i32 @ u_mem) {\n%s }\n",
             b->body);
    if (program_read("broken.mem", text, strlen(text), &program, &error))
        fail_msg("%s: %s", b->what, error.text);
    if (shadow_run(&program->funs[0], &arguments, &options, out, &error))
        fail_msg("%s: %s", b->what, error.text);
    program_free(program);
}

static void test_violations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        const struct broken *b = &broken[i];
        struct shadow_outcome out;
        run_broken(b, 0, &out);
        for (int v = 0; v < SHADOW_VIOLATIONS; v++)
            if ((out.violations[v] > 0) != (v == (int)b->expected))
                fail_msg("%s: %u times %s; first: %s", b->what, out.violations[v],
                         shadow_violation_name((enum shadow_violation)v),
                         out.violation_count ? out.texts[0] : "nothing");
        if (out.elided_count != b->elided)
            fail_msg("%s: %u copies left out, expected %u", b->what, (unsigned)out.elided_count,
                     (unsigned)b->elided);
        shadow_free(&out);
        run_broken(b, 1u << b->expected, &out); /* nothing else would have found it */
        if (out.violation_count)
            fail_msg("%s, unchecked: %s", b->what, out.texts[0]);
        shadow_free(&out);
    }
}

static void test_messages(void **state)
{
    (void)state;
    struct shadow_outcome out;
    run_broken(&broken[0], 0, &out);
    assert_int_equal(out.text_count, 1);
    assert_string_equal(
        out.texts[0], "broken.mem:6: kernel 'kc': stale read: a[0] was given to 'a' in line 4, but "
                      "byte 0 of block 'm' holds what was given to 'b' in line 5");
    shadow_free(&out);
}

/* ---- the C of kernels ----------------------------------------------------------------------- */

typedef int8_t i8;
typedef uint8_t u8;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Each expression is computed by the compiler of this file and by the interpreter. */
#define EXPRESSIONS(X)                                                                             \
    X(7 - 2 * 3 + (1 << 4) / 3 % 4)                                                                \
    X(-7 / 2 * 100 + -7 % 4)                                                                       \
    X(a - b - c)                                                                                   \
    X((u32)a - 8u)                                                                                 \
    X((u32)a * 4000000000u)                                                                        \
    X((u64)u *u)                                                                                   \
    X((u64)-1 / 3)                                                                                 \
    X((u64)-1 > 1 ? 5 : 6)                                                                         \
    X((u32)b > 5u)                                                                                 \
    X((u8)300 + (i8)200)                                                                           \
    X((u8)(a * 99) >> 1)                                                                           \
    X((i32)u / 2)                                                                                  \
    X((u32)(i32)u + (i8)a)                                                                         \
    X(b >> 1)                                                                                      \
    X(u >> 4)                                                                                      \
    X(~a & 0xff | 0x100 ^ 3)                                                                       \
    X(a < c == b < c)                                                                              \
    X(a > 3 && b || !c)                                                                            \
    X(!f + !0.0)                                                                                   \
    X(a ? b ? 1 : 2 : 3)                                                                           \
    X(MIN(a, b) * MAX(u, 3u))                                                                      \
    X(f * 3.0f + 0.7f)                                                                             \
    X(f * 3.0 + 0.7)                                                                               \
    X((f32)(g / 3))                                                                                \
    X(a / 2 * f)                                                                                   \
    X((i32)(f * 1e3f))                                                                             \
    X((f32)16777217)                                                                               \
    X((f64)(f32)u)                                                                                 \
    X(sqrtf(f) + fabsf(-f) + fminf(f, 2.0f) * floorf(7.9f))                                        \
    X(fma(g, g, -1.0) + pow(g, 0.5) + ceil(g))                                                     \
    X(1.5e-3f + .5f + 1e2f)                                                                        \
    X(2147483648 + 0x7fffffff)                                                                     \
    X((bool)0.5 + (bool)256)

static const struct expression {
    const char *text;
    double expected;
} * compiled_expressions(unsigned *count)
{
    static struct expression all[64];
    const i32 a = 7, b = -3, c = 100;
    const u32 u = 4000000000u;
    const f32 f = 0.1f;
    const f64 g = 1.1;
    *count = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wextra"
#define X(e) all[(*count)++] = (struct expression){#e, (double)(e)};
    EXPRESSIONS(X)
#undef X
#pragma GCC diagnostic pop
    return all;
}

/* Bodies with what they must leave in r. */
static const struct expression bodies[] = {
    {"i32 s = 0; for (i32 q = 0; q < 10; q++) { if (q == 3) continue; if (q == 6) break; s += q; } "
     "r = s;",
     12},
    {"i32 s = 1; while (s < 100) s *= 3; r = s;", 243},
    {"i32 s = 9; do { s--; if (s % 2) continue; r += s; } while (s > 0);", 20},
    {"i32 p = 3, q = p++ + ++p; r = p * 100 + q;", 508},
    {"f32 v[3] = {1.0f, 2.5f}; v[2] = v[0]; v[2] += v[1]; r = v[2];", 3.5},
    {"i32 s = 0; for (i32 p = 0, q = 9; p < q; p++, q--) s += q - p; r = s;", 25},
    {"i32 s = 1; { i32 s = 2; s++; } r = s; /* c; */ // d\n", 1},
    {"u8 s = 250; s += 10; r = s;", 4},
    {"i32 s = 5; s <<= 2; s |= 3; s ^= 1; s %= 15; r = s;", 7},
    {"if (a > 0) if (b > 0) r = 1; else r = 2;", 2},
    {"r = twice(twice(3)) + sum(twice(1), twice(2));", 18},
};

static double interpret(const char *body)
{
    struct program *program;
    struct error error;
    struct shadow_outcome out;
    struct text text = {0};
    text_add(
        &text,
        "code { FN i32 twice(i32 v) { return 2 * v; }\n"
        "FN i32 sum(i32 v, i32 w) { i32 s = 0; for (i32 i = 0; i < 2; i++) { if (i) return s + "
        "w; s += v; } return s; } }\n"
        "fun f(n: i64) { let y: [1]f64 = kernel k (i < 1) {\n"
        "const i32 a = 7, b = -3, c = 100; const u32 u = 4000000000u; const f32 f = 0.1f;\n"
        "const f64 g = 1.1; f64 r = 0.0;\n%s\ny[i] = r; } in y }",
        body);
    if (program_read("c.mem", text.data, text.length, &program, &error))
        fail_msg("%s: %s", body, error.text);
    const struct named_value n = {.name = "n", .scalar = {.i64 = 1}};
    const struct arguments arguments = {.count = 1, .values = &n};
    const struct shadow_options options = {.seed = 1};
    if (shadow_run(&program->funs[0], &arguments, &options, &out, &error))
        fail_msg("%s: %s", body, error.text);
    double result = *(const double *)out.results[0].data;
    shadow_free(&out);
    program_free(program);
    text_free(&text);
    return result;
}

static void test_interpreter(void **state)
{
    (void)state;
    unsigned count;
    const struct expression *expressions = compiled_expressions(&count);
    for (unsigned i = 0; i < count; i++) {
        char body[200];
        snprintf(body, sizeof body, "r = (f64)(%s);", expressions[i].text);
        double got = interpret(body);
        if (got != expressions[i].expected)
            fail_msg("%s is %.17g, expected %.17g", expressions[i].text, got,
                     expressions[i].expected);
    }
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        double got = interpret(bodies[i].text);
        if (got != bodies[i].expected)
            fail_msg("%s leaves %.17g, expected %.17g", bodies[i].text, got, bodies[i].expected);
    }
}

/* ---- random programs ------------------------------------------------------------------------ */

static const char *const identity[] = {"none", NULL};

static void test_random_programs(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    unsigned invalid = 0;
    for (uint64_t seed = 0; seed < COUNT; seed++) {
        struct merge_verdict v;
        char *text = generate_program_text(seed, 0);
        merge_check(text, identity, merge_identity, seed, &v);
        if (v.outcome != MERGE_OK && v.outcome != MERGE_INVALID)
            fail_msg("seed %u: %s\n%s", (unsigned)seed, v.text, text);
        invalid += v.outcome == MERGE_INVALID;
        free(text);
    }
    assert_true(invalid * 100 <= COUNT);
}

static void move_names(int *list, unsigned count, int from, int to)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] == from)
            list[i] = to;
}

static void move_in_body(struct body *body, int from, int to)
{
    move_names(body->results, body->result_count, from, to);
    for (struct stm *s = body->first; s; s = s->next) {
        if (s->kind == STM_IF) {
            move_in_body(s->then, from, to);
            move_in_body(s->otherwise, from, to);
        } else if (s->kind == STM_LOOP) {
            move_names(s->loop->init_names, s->loop->param_count, from, to);
            move_in_body(&s->loop->body, from, to);
        }
    }
}

/* A merge pass that asks nobody: the set's number says which block goes into the one before it. */
static int sabotage(const char *set, struct program *program, const struct arguments *arguments,
                    char **text, struct error *error)
{
    struct fun *fun = &program->funs[0];
    struct stm *allocs[400], *before = NULL;
    unsigned count = 0;
    for (struct stm *s = fun->body.first; s && count < 400; s = s->next)
        if (s->kind == STM_ALLOC)
            allocs[count++] = s;
    if (count < 2)
        return merge_identity(set, program, arguments, text, error);
    struct random r = {random_split((uint64_t)atoi(set), count)};
    unsigned second = 1 + (unsigned)random_below(&r, count - 1);
    unsigned first = (unsigned)random_below(&r, second);
    for (struct stm *s = fun->body.first; s != allocs[second]; s = s->next)
        before = s;
    before->next = allocs[second]->next;
    allocs[first]->expr = expr_constant(program, 4096); /* for whatever comes */
    int from = allocs[second]->outs[0], to = allocs[first]->outs[0];
    for (unsigned n = 0; n < fun->name_count; n++)
        if (fun->names[n].memory == from)
            fun->names[n].memory = to;
    move_in_body(&fun->body, from, to);
    return merge_identity(set, program, arguments, text, error);
}

/* Blocks thrown together at random: often that is wrong, sometimes it is not. What the machine
 * lets pass must give the right bits in every order of the threads. */
static void test_sabotage(void **state)
{
    (void)state;
    static const char *const sets[][2] = {{"1", NULL}, {"2", NULL}, {"3", NULL}};
    unsigned outcomes[MERGE_WRONG + 1] = {0}, saved = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct merge_verdict v;
        char *text = generate_program_text(seed, 12);
        merge_check(text, sets[seed % 3], sabotage, seed, &v);
        outcomes[v.outcome]++;
        saved += v.outcome == MERGE_OK && v.allocs_after < v.allocs_before;
        if (v.outcome == MERGE_WRONG || v.outcome == MERGE_FAILED)
            fail_msg("seed %u: %s\n%s", (unsigned)seed, v.text, text);
        free(text);
    }
    assert_true(outcomes[MERGE_VIOLATION] > 50);
    assert_true(saved > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),    cmocka_unit_test(test_workloads),
        cmocka_unit_test(test_violations),  cmocka_unit_test(test_messages),
        cmocka_unit_test(test_interpreter), cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_sabotage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
