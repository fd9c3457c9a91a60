/* The sizes of blocks with values that the program reads: those of a dry run. No merged program
 * depends on them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/merge.h"
#include "merge/numbers.h"
#include "tests/base/cmocka.h"

/* The body of f(n: i64, x: [4]i64), with x = [5, 7, 0, 9] and n = 2 or what is given as values of
 * c, and the bytes of the block in which `a` is. */
enum { NO_ARRAY = 1 };
static const struct {
    const char *body;
    int64_t given[4]; /* up to the first 0 */
    unsigned how;
    int64_t bytes;
} cases[] = {
    {"let c: i64 = x[1]\nlet a: [c]i32 = iota\nin a", {0}, 0, 28},
    {"let c: i64 = x[1]\nlet a: [c]i32 = iota\nin a", {0}, NO_ARRAY, UNKNOWN_BYTES},
    {"let c: i64 = x[1]\nlet a: [c]i32 = iota\nin a", {3}, 0, 12},
    {"let c: i64 = x[n + 1]\nlet d: i64 = c + 1\nlet a: [d]u8 = replicate(0)\nin a", {0}, 0, 10},
    {"let c: i64 = x[n + 2]\nlet a: [c]i32 = iota\nin a", {0}, 0, UNKNOWN_BYTES},
    /* the second read takes the second value; the last serves all further reads */
    {"let s: i64 = loop (t: i64 = 0) for k < 4 {\nlet c: i64 = x[k]\nlet u: i64 = t + c\nin u }\n"
     "let a: [s]u8 = replicate(0)\nin a",
     {0},
     0,
     21},
    {"let s: i64 = loop (t: i64 = 0) for k < 4 {\nlet c: i64 = x[k]\nlet u: i64 = t + c\nin u }\n"
     "let a: [s]u8 = replicate(0)\nin a",
     {1, 10},
     NO_ARRAY,
     31},
    /* it is not known how often a loop reads that ends by an unknown value */
    {"let y: [4]i64 = copy x\n"
     "let (g: bool, s: i64) = loop (go: bool = true, t: i64 = 0) while go {\n"
     "let e: i64 = y[0]\nlet more: bool = e > 0\nlet c: i64 = x[0]\nlet u: i64 = t + c\n"
     "in more, u }\nlet a: [s]u8 = replicate(0)\nin a",
     {1, 10},
     0,
     UNKNOWN_BYTES},
};

static struct program *read_case(size_t i)
{
    char text[1024];
    struct program *program;
    struct error error;
    snprintf(text, sizeof text, "fun f(n: i64, x: [4]i64) {\n%s }\n", cases[i].body);
    if (program_read("test.mem", text, strlen(text), &program, &error))
        fail_msg("%s: %s", cases[i].body, error.text);
    return program;
}

static void read_values_give_sizes(void **state)
{
    (void)state;
    static int64_t data[] = {5, 7, 0, 9};
    unsigned failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program *program = read_case(i);
        const struct fun *fun = &program->funs[0];
        struct named_value list[5] = {
            {.name = "x",
             .array = {.element = ELEMENT_i64, .rank = 1, .shape = {4}, .count = 4, .data = data}}};
        struct arguments readings = {.values = list, .count = cases[i].how & NO_ARRAY ? 0 : 1};
        for (unsigned g = 0; g < 4 && cases[i].given[g]; g++)
            list[readings.count++] =
                (struct named_value){.name = "c", .scalar.i64 = cases[i].given[g]};
        union scalar *values = must_alloc(fun->name_count * sizeof *values);
        values[fun->params[0]].i64 = 2;
        struct numbers *numbers = numbers_new(fun, values, &readings);
        const int64_t bytes = numbers->bytes[fun->names[fun_find(fun, "a", 1)].memory];
        if (bytes != cases[i].bytes) {
            print_error("%s\nhas %lld bytes instead of %lld\n\n", cases[i].body, (long long)bytes,
                        (long long)cases[i].bytes);
            failed++;
        }
        numbers_free(numbers);
        free(values);
        program_free(program);
    }
    assert_int_equal(failed, 0);
}

/* `plan` leaves a block out whose size is read, although merging knows this run's value. */
static void no_arena_depends_on_them(void **state)
{
    (void)state;
    struct program *program = read_case(0);
    const struct fun *fun = &program->funs[0];
    const struct named_value c = {.name = "c", .scalar.i64 = 3};
    const struct arguments readings = {.count = 1, .values = &c};
    union scalar *values = must_alloc(fun->name_count * sizeof *values);
    const struct merge_options options = {.values = values, .readings = &readings};
    struct merge *m;
    struct error error;
    assert_int_equal(merge_run(fun, merge_set_find("plan"), &options, &m, &error), 0);
    assert_false(m->packed);
    assert_int_equal(m->event_count, 1);
    assert_int_equal(m->events[0].refused, CONDITION_unknown_size);
    merge_free(m);
    free(values);
    program_free(program);
}

/* ---- values that nothing knows --------------------------------------------------------------- */

static const char picked[] =
    "fun picked(n: i64, xs: [n]i32) {\n"
    "  let counts: [2]i64 = kernel k_count (i < 2) { counts[i] = xs[i] & 7; }\n"
    "  let c: i64 = counts[0]\n"
    "  let d: i64 = counts[1]\n"
    "  assert c >= 0 && c <= n && d >= 0\n"
    "  let a: [n]i32 = kernel k_a (i < n) { a[i] = xs[n - 1 - i]; }\n"
    "  let some: [c]i32 = kernel k_s (i < c) { some[i] = a[c - 1 - i]; }\n"
    "  let rest: [d]i32 = kernel k_r (i < d) { rest[i] = 3; }\n"
    "  let b: [n]i32 = kernel k_b (i < n) { b[i] = a[i] + some[0] + rest[0]; }\n"
    "  in b }\n";

/* `c` elements are counted as the `n` that they are at most; of `d` no bound is known. The choice
 * says so. */
static void bounds_stand_in_for_sizes(void **state)
{
    (void)state;
    struct program *program;
    struct merge *m;
    struct error error;
    assert_int_equal(program_read("test.mem", picked, strlen(picked), &program, &error), 0);
    const struct fun *fun = &program->funs[0];
    union scalar *values = must_alloc(fun->name_count * sizeof *values);
    values[fun->params[0]].i64 = 100;
    const struct merge_options options = {.values = values};
    assert_int_equal(merge_run(fun, merge_set_find("best"), &options, &m, &error), 0);
    assert_true(m->estimated);
    assert_string_equal(m->uncounted, "some_mem (at most 400 B), rest_mem");
    merge_free(m);
    free(values);
    program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_values_give_sizes),
        cmocka_unit_test(no_arena_depends_on_them),
        cmocka_unit_test(bounds_stand_in_for_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
