/* The program format: what is refused and how, round trips, and what annotation makes of a program.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "tests/base/golden.h"
#include "program/generate.h"
#include "program/program.h"

/* ---- refusals ------------------------------------------------------------------------------- */

/* A body of `fun f(n: i64, x: [n]i32, u: *[n]i32, g: [n][n]f32)`, and what is said of it. `at` is
 * the line (counted from 1 in the body) and column of the message. */
static const struct refusal {
    const char *body, *at, *message;
} refusals[] = {
    {"in y", "1:4", "there is no name 'y' here"},
    {"in replicate(1)", "1:4", "this does not say the type of what it makes: write 'let NAME"},
    {"in loop (i: i64 = 0) for j < n { in i }", "1:4", "'loop' needs names for what it makes"},
    {"let r: i64 = loop (s: i64 = 0) for i < n { in 1.5 }\nin r", "1:47",
     "the result must be of type i64, but this is a number with a fraction"},
    {"let a: [n]i32 = concat(x[0], x)\nin a", "1:24", "expected an array, but this is one element"},
    {"let a: [n]i32 = concat(replicate(0), x)\nin a", "1:24",
     "this does not say the type of what it makes"},
    {"let a: [n]i32 = concat(piece, x)\nin a", "1:24",
     "expected an array, but there is no name 'piece' here"},
    {"let a: [n][n]i32 = replicate(g)\nin a", "1:1", "'a' holds i32, but 'g' holds f32"},
    {"let a: [n][n]f32 = replicate(g)\nin a", "1:1",
     "'a' has 2 dimensions; replicate('g') needs 3 or more"},
    {"let a: [2][n]i32 = replicate(x[:])\nin a", "1:31",
     "expected ')' after the array: a part of one needs a name of its own"},
    {"let a: [n]i32 @ mem m = x\nin a", "1:5",
     "'a' lies in the block of 'x' and has none of its own that could be called 'm'"},
    {"let a: [n]i32 @ mem m = kernel k (i < n) with a <- u { a[i] = 0; }\nin a", "1:5",
     "'a' lies in the block of 'u' and has none of its own"},
    {"let a: [n]i32 @ mem x = copy x\nin a", "1:21", "'x' is already bound in line 1"},
    {"let a: [n]i32 @ mem 3 = copy x\nin a", "1:21",
     "expected the name that the array's own block gets, after '@ mem'"},
    {"let r: [n]i32 = loop (p: [n]i32 @ mem m = x) for i < n { in p }\n"
     "let b: [n]i32 @ m = copy r\nin b",
     "2:17", "expected the name of a memory block after '@', but there is no name 'm' here"},
    {"let w: i64 = n\nlet a: [n]i32 = kernel k (i < n) group l < w { each { a[i] = 0; } }\nin a",
     "2:44", "the size of a group must be a constant from 1 to 1024: a number, or a 'let' made of"},
    {"let w: i64 = 8 / 0\nlet a: [n]i32 = kernel k (i < n) group l < w { each { a[i] = 0; } }\n"
     "in a",
     "2:44", "the size of a group must be a constant"},
    {"let a: [n]i32 = kernel k (i < n) group l < 4 local s: [n]i32 { each { a[i] = 0; } }\nin a",
     "1:52", "the sizes of a local array must be constants from 1 to 65536"},
    {"let a: [n]i32 = kernel k (i < n) private p: [2]i32 group l < 4 { each { a[i] = 0; } }\n"
     "in a",
     "1:52", "'group' and its local arrays stand before 'private'"},
    {"let a: [n]i32 = kernel k (i < n) group l < 4 private p: [2]i32 {\n"
     "i32 v = p[0]; each { a[i] = v; } }\nin a",
     "2:9", "'p' is private: each item has its own, so it is read and written in 'each'"},
    {"let a: [n]i32 = copy y\nin a", "1:22",
     "expected an array after 'copy', but there is no name 'y'"},
    {"let x: i64 = 1\nin x", "1:5", "'x' is already bound in line 1"},
    {"let int: i64 = 1\nin int", "1:5", "'int' is a word of the language or of C"},
    {"let a: i64 = n +\nin a", "2:1", "there is no name 'in' here"},
    {"let a: i64 = n / 0.5\nin a", "1:18",
     "/ must be of type i64, but this is a number with a fraction"},
    {"let a: f32 = n\nin a", "1:14",
     "the value must be of type f32, but this is i64; write f32(...)"},
    {"let a: i64 = x\nin a", "1:1", "this gives an array, but 'a' is a scalar"},
    {"let a: i32 = x[0, 0]\nin a", "1:1", "'x' has 1 dimension where 2 are expected"},
    {"let a: [n]f32 = copy x\nin a", "1:1", "'a' and 'x' are not of the same type"},
    {"let a: [2][2]f32 = g{0 :+ 2 : 2, 2 : 1}\nin a", "1:1", "'g' has 2 dimensions where 1 are"},
    {"let a: [2][2]i32 = x{0 : 2, 2 : 1}\nin a", "1:24",
     "expected ':+' after the first element's number, found ':'"},
    {"let a: [2][2]i32 = x{0 :+ 2, 2 : 1}\nin a", "1:28",
     "expected ':' between a number of elements and their distance, found ','"},
    {"let a: [2]i32 = x{0 :+ 2 : 2, 2 : 1}\nin a", "1:1", "'a' has 1 dimension where 2 are"},
    {"let a: [n]i32 = rearrange (1) x\nin a", "1:28",
     "expected each of the 1 dimensions of 'x' once"},
    {"let a: [n]i32 = u with [0] <- 1\nlet b: [n]i32 = copy u\nin a, b", "2:1",
     "'u' was consumed in line 2 and cannot be used any more"},
    {"let v: [n]i32 = u\nlet a: [n]i32 = v with [0] <- 1\nin a, u", "3:1",
     "'u' was consumed in line 3"},
    {"let a: [n]i32 = x with [0] <- 1\nin a", "1:1", "'x' may not be consumed: mark the parameter"},
    {"let r: [n]i32 = loop (p: [n]i32 = x) for i < n {\nlet q: [n]i32 = p with [0] <- 1\nin q "
     "}\nin r",
     "2:1", "'p' may not be consumed"},
    {"let r: i64 = loop (s: i64 = 0) for i < n {\nlet q: [n]i32 = u with [0] <- 1\nin s }\nin r",
     "2:1", "'u' is from outside of this loop and would be consumed in every iteration"},
    {"let a: [n]i32 = if n > 0 {\nlet b: [n]i32 = u with [0] <- 1\nin b } else {\n"
     "let c: [n]i32 = loop (p: [n]i32 = u) for i < n { in p }\nin c }\nin a, u",
     "6:1", "'u' was consumed in line 3"},
    {"let z: [n]i32 = copy x\nlet r: [n]i32 = loop (p: [n]i32 = x) for i < n { in z }\n"
     "let y: [n]i32 = z with [0] <- 1\nin y, r",
     "3:1", "'z' may not be consumed"},
    {"let z: [n]i32 = copy x\nlet (r: [n]i32, s: [n]i32) = loop (p: *[n]i32 = z, q: [n]i32 = x) "
     "for i < n {\nlet y: [n]i32 = p with [0] <- 1\nin y, y }\nin r, s",
     "4:1", "'y' is the next value of a unique loop variable, but 'y', the next"},
    {"let a: [n]i32 = kernel k (i < n) { a[i] = y; x[i] = 1; }\nin a", "1:46",
     "'x' is not a result of this kernel and may only be read"},
    {"let a: [n]i32 = kernel k (i < n) { a[i] = x; }\nin a", "1:43",
     "the array 'x' is used without its indices"},
    {"let a: [n]i32 = kernel k (i < n) { a[i] = x[i, 0]; }\nin a", "1:43",
     "'x' has 1 dimension, but is given 2 indices here"},
    {"let a: [n]i32 = kernel k (i < n) {\n  if (i) return;\n  a[i] = 0; }\nin a", "2:10",
     "'return' is not allowed in a kernel"},
    {"let a: [n]i32 = kernel k (i < n) { a[0; }\nin a", "1:37",
     "this '[' after 'a' has no matching ']'"},
    {"let a: [n]i32 = kernel k (i < n) { f(&a[0]); }\nin a", "1:38",
     "the address of an element of 'a'"},
    {"let a: [n]i32 = kernel k (i < n) { i32 b = x[i]; }\nin a", "1:24",
     "the kernel never writes its result 'a'"},
    {"let a: [n]i32 = kernel k (i < n) group l < 4 { a[i] = 0; each { } }\nin a", "1:48",
     "'a' is written outside of 'each'"},
    {"let a: [n]i32 = kernel k on 8 (i < n) { a[i] = 0; }\nin a", "1:29",
     "the number of a device must be a constant from 0 to 7"},
    {"let a: [n]i32 = kernel k on n (i < n) { a[i] = 0; }\nin a", "1:29",
     "the number of a device must be a constant from 0 to 7"},
    {"let a: [n]i32 = kernel k on (i < n) { a[i] = 0; }\nin a", "1:30",
     "there is no name 'i' here"},
    {"let a: [n]i32 = kernel k (i < n) { if (i) { a[i] = 0;\nin a", "1:34",
     "this '{' of a C text has no matching '}'"},
    {"let a: [n]i32 = if n > 0 { in x } else { in g }\nin a", "1:42", "are not of the same type"},
    {"let t: [n][n]f32 = rearrange (1, 0) g\nlet a: [n * n]f32 = reshape t\nin a", "2:1",
     "'t' is not row-major, so an offset and strides cannot express this reshape"},
    {"let m: mem = alloc(4)\nlet a: [n]i32 @ m = x\nin a", "2:1", "it is a view of 'x'"},
    {"let m: mem pined = alloc(4)\nin x", "1:12",
     "expected 'pinned' after 'mem', or nothing for device memory, found 'pined'"},
    {"let m: mem device = alloc(4)\nin x", "1:12", "expected 'pinned' after 'mem'"},
    {"let m: mem pinned = alloc(4)\nlet (o: mem, s: i64) = loop (p: mem = m, t: i64 = n) for i < n "
     "{ in p, t }\nin s",
     "2:1",
     "'p' is device memory but gets 'm', which is pinned memory: a block stays in its space"},
    {"let m: mem pinned = alloc(4)\nlet o: mem pinned = loop (p: mem pinned = m) for i < n {\n"
     "let q: mem = alloc(4)\nin q }\nin x",
     "4:1", "'p' is pinned memory but gets 'q', which is device memory"},
    {"let m: mem pinned = alloc(4)\nlet o: mem = loop (p: mem pinned = m) for i < n { in p }\n"
     "in x",
     "2:1", "'o' is device memory but gets 'p', which is pinned memory"},
    {"let o: mem pinned = if n > 0 {\nlet a: mem pinned = alloc(4)\nin a } else {\n"
     "let b: mem = alloc(4)\nin b }\nin x",
     "5:1", "'o' is pinned memory but gets 'b', which is device memory"},
    {"let m: mem pinned = alloc(4 * n)\nlet a: [n]i32 @ m = copy x\n"
     "let b: [n]i32 = if n > 0 { in a } else { in x }\nin b",
     "3:42", "'b_mem' is pinned memory but gets 'x_mem', which is device memory"},
    {"let c: bool = true\nlet r: i64 = loop (k: i64 = 0) while c { in k }\nin r", "2:38",
     "the condition must be a loop variable of type bool"},
    {"let a: [n]i32 = kernel k (i < n) private p: [2]i32 { a[i] = p[0]; } in", "1:71",
     "expected the name of a result, found '}'"},
    {"let a: u8 = 256\nin a", "1:13", "this number does not fit in type u8"},
    {"let a: f32 = 1e39\nin a", "1:14", "this number does not fit in type f32"},
    {"let a: i64 = 1 @ 2\nin a", "1:16", "expected 'let' or 'assert' or 'in', found '@'"},
};

static void test_refusals(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *r = &refusals[i];
        char text[1024], place[64];
        unsigned line, column;
        snprintf(text, sizeof text, "fun f(n: i64, x: [n]i32, u: *[n]i32, g: [n][n]f32) {\n%s}\n",
                 r->body);
        sscanf(r->at, "%u:%u", &line, &column);
        snprintf(place, sizeof place, "test.mem:%u:%u: ", line + 1, column);
        struct program *program;
        struct error error = {0};
        int code = program_read("test.mem", text, strlen(text), &program, &error);
        if (code != ERR_PARSE || strncmp(error.text, place, strlen(place)) != 0 ||
            !strstr(error.text, r->message)) {
            print_error("case %zu: %s\ngave %d: %s\nexpected %s%s\n\n", i, r->body, code,
                        error.text, place, r->message);
            failed++;
        }
        program_free(program);
    }
    assert_int_equal(failed, 0);
}

static void test_file_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t:1:1: the file has no 'fun'"},
        {"func f() { in a }", "t:1:1: expected 'fun', 'dataset' or 'code', found 'func'"},
        {"fun f(n: i64) { in n }\ndataset a { n = 1 }", "t:2:19: expected ';' after the value"},
        {"fun f(n: i64) { in n }\ndataset a { n = [1, [2]]; }", "t:2:21: a list holds either"},
        {"fun f(n: i64) { in n }\ndataset a { n = [[1], [2, 3]]; }",
         "t:2:23: this list has 2 items"},
        {"fun f(n: i64) { in n }\ndataset a { n = 1; }\ndataset a { n = 1; }",
         "t:3:9: there is already"},
        {"fun f(n: i64) { in n }\n fun g(n: i64) { in n }\nfun f(n: i64) { in n }",
         "t:3:5: there is already a fun 'f' in line 1"},
        {"fun f(m: mem) { in m }", "t:1:7: a memory parameter needs its size"},
        {"fun f(n: i64, m: mem pinned(4)) { in n }",
         "t:1:15: the parameter 'm' is pinned memory, but parameters are in device memory"},
        {"fun f(x: *i64) { in x }", "t:1:8: only arrays can be unique"},
        {"code { ' }", "t:1:6: this '{' of a C text has no matching '}'"},
        {"fun f(x: [1][1][1][1][1][1][1][1][1]u8) { in x }", "an array has at most 8 dimensions"},
        {"fun f(n: i64) { let a: i64 = 99999999999999999999\nin a }",
         "this number is out of range"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program *program;
        struct error error = {0};
        assert_int_equal(program_read("t", cases[i].text, strlen(cases[i].text), &program, &error),
                         ERR_PARSE);
        if (!strstr(error.text, cases[i].message))
            fail_msg("%s\ngave: %s\nexpected: %s", cases[i].text, error.text, cases[i].message);
    }
}

static void test_deep_nesting(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    char *text = malloc(DEEP + 64);
    strcpy(text, "fun f(n: i64) { let a: i64 = ");
    memset(text + strlen(text), '(', DEEP);
    strcpy(text + 29 + DEEP, "1");
    struct program *program;
    struct error error = {0};
    assert_int_equal(program_read("t", text, strlen(text), &program, &error), ERR_PARSE);
    assert_non_null(strstr(error.text, "nested more than 200 levels deep"));
    free(text);
}

/* ---- round trips and golden files ----------------------------------------------------------- */

static char *print_at(const char *path, const char *text, bool annotate)
{
    struct program *program;
    struct error error = {0};
    int code = program_parse(path, text, strlen(text), &program, &error);
    if (!code)
        code = program_verify(program, &error);
    if (!code && annotate) {
        code = program_annotate(program, &error);
        if (!code)
            code = program_verify(program, &error);
    }
    if (code)
        fail_msg("%s: %s", path, error.text);
    char *printed = program_print(program);
    program_free(program);
    return printed;
}

/* Printing and parsing again must give the same program, at both levels. */
static void check_round_trip(const char *path, const char *text)
{
    for (int annotate = 0; annotate < 2; annotate++) {
        char *once = print_at(path, text, annotate);
        char *twice = print_at(path, once, annotate);
        assert_string_equal(once, twice);
        char *again = print_at(path, once, true);
        char *direct = print_at(path, text, true);
        assert_string_equal(again, direct);
        free(once);
        free(twice);
        free(again);
        free(direct);
    }
}

static void for_each_program(void (*visit)(const char *path, const char *name, const char *text))
{
    DIR *folder = opendir(GAMUT_ROOT "/tests/programs");
    assert_non_null(folder);
    unsigned seen = 0;
    for (struct dirent *d; (d = readdir(folder));) {
        size_t length = strlen(d->d_name);
        if (length < 5 || strcmp(d->d_name + length - 4, ".mem") != 0)
            continue;
        char path[512];
        snprintf(path, sizeof path, "tests/programs/%.200s", d->d_name);
        char *text = golden_read(path);
        assert_non_null(text);
        d->d_name[length - 4] = 0;
        visit(path, d->d_name, text);
        free(text);
        seen++;
    }
    closedir(folder);
    assert_true(seen >= 7);
}

static void visit_round_trip(const char *path, const char *name, const char *text)
{
    (void)name;
    check_round_trip(path, text);
}

static void visit_golden(const char *path, const char *name, const char *text)
{
    char golden[256];
    snprintf(golden, sizeof golden, "plan_%s.mem", name);
    char *printed = print_at(path, text, true);
    golden_check(golden, printed);
    free(printed);
}

static void test_round_trips(void **state)
{
    (void)state;
    for_each_program(visit_round_trip);
    static const char *const workloads[] = {"stencil", "canny",    "fft", "option_pricing",
                                            "churn",   "backprop", "lud", "radix_sort",
                                            "srad",    "bfs"};
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        char path[128];
        snprintf(path, sizeof path, "workloads/%s/%s.mem", workloads[i], workloads[i]);
        char *text = golden_read(path);
        assert_non_null(text);
        check_round_trip(path, text);
        free(text);
    }
}

static void test_annotation_golden(void **state)
{
    (void)state;
    for_each_program(visit_golden);
}

/* Expressions keep their meaning: the printer writes only the parentheses that are needed. */
static void test_expressions_print(void **state)
{
    (void)state;
    static const struct {
        const char *written, *printed;
    } cases[] = {
        {"(a + b) * 2", "(a + b) * 2"},
        {"a + (b * 2)", "a + b * 2"},
        {"a - (b - 2)", "a - (b - 2)"},
        {"(a - b) - 2", "a - b - 2"},
        {"-(-a)", "-(-a)"},
        {"a - -b", "a - -b"},
        {"min(a, max(b, 1))", "min(a, max(b, 1))"},
        {"i64(f32(a) * 0.1)", "i64(f32(a) * 0.1)"},
        {"a << 2 & 3", "a << 2 & 3"},
        {"(a & 3) << 2", "(a & 3) << 2"},
        {"a % (b / 2)", "a % (b / 2)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256], expected[128];
        snprintf(text, sizeof text, "fun f(a: i64, b: i64) {\nlet c: i64 = %s\nin c }",
                 cases[i].written);
        snprintf(expected, sizeof expected, "let c: i64 = %s\n", cases[i].printed);
        char *printed = print_at("t", text, false);
        if (!strstr(printed, expected))
            fail_msg("%s printed as %s", cases[i].written, printed);
        free(printed);
    }
}

/* ---- generated source ----------------------------------------------------------------------- */

static void test_generated(void **state)
{
    (void)state;
    static const char text[] = "fun f(n: i64, x: [n][n]i32, s: i32) {\n"
                               "  let y: [n]i32 = kernel k (i < n) { y[i] = x[x[0, i], 1] + s; }\n"
                               "  in y\n}\n";
    static const struct {
        enum kernel_language language;
        const char *expected;
    } cases[] = {
        {KERNEL_OPENCL_C,
         "GAMUT_KERNEL(256) void k(GAMUT_GLOBAL i32 *GAMUT_RESTRICT gamut_p_y, const i64 "
         "gamut_o_y, "
         "const i64 gamut_s0_y, GAMUT_GLOBAL i32 *GAMUT_RESTRICT gamut_p_x, const i64 gamut_o_x, "
         "const i64 gamut_s0_x, const i64 gamut_s1_x, const i32 s, const i64 gamut_e0)"},
        {KERNEL_CUDA_C,
         "gamut_p_y[GAMUT_FROM(gamut_o_y) + (GAMUT_INT)(i) * (GAMUT_INT)gamut_s0_y] = "
         "gamut_p_x[GAMUT_FROM(gamut_o_x) + "
         "(GAMUT_INT)(gamut_p_x[GAMUT_FROM(gamut_o_x) + (GAMUT_INT)(0) * (GAMUT_INT)gamut_s0_x + "
         "(GAMUT_INT)( i) * (GAMUT_INT)gamut_s1_x]) * (GAMUT_INT)gamut_s0_x + "
         "(GAMUT_INT)( 1) * (GAMUT_INT)gamut_s1_x] + s;"},
        {KERNEL_HOST_C,
         "GAMUT_ENTRY void gamut_host_k(const union launch_value *a, int64_t begin, int64_t end)"},
        {KERNEL_HOST_C, "#line 2 \"t.mem\""},
    };
    struct program *program;
    struct error error;
    assert_int_equal(program_read("t.mem", text, strlen(text), &program, &error), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kernels kernels;
        program_generate(program, cases[i].language, &kernels);
        if (!strstr(kernels.text, cases[i].expected))
            fail_msg("expected %s in\n%s", cases[i].expected, kernels.text);
        assert_int_equal(kernels.count, 1);
        kernels_free(&kernels);
    }
    program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),          cmocka_unit_test(test_file_refusals),
        cmocka_unit_test(test_deep_nesting),      cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_annotation_golden), cmocka_unit_test(test_expressions_print),
        cmocka_unit_test(test_generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
