/* Which configuration wins on which machine, and what a wrong choice costs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/tree.h"
#include "record/compare/machines.h"
#include "tests/base/golden.h"
#include "tests/record/compare/compare_fixture.h"

/* ---- made-up machines -------------------------------------------------------------------------- */

/* A case: its time in µs. */
struct cell {
    const char *workload, *strategy;
    unsigned us;
    enum case_status status;
    unsigned rounds;         /* 0: 6 */
    unsigned spread;         /* as in struct spec */
    uint64_t program_digest; /* 0: 1 */
};

/* The result of a machine with this id. */
static json_t *machine(const char *id, const struct cell *cells, size_t count)
{
    struct result_draft result = {
        .root = compare_fixture(&(struct spec){.lacks_canny = true, .lacks_fft = true})};
    for (size_t i = 0; i < count; i++)
        for (unsigned round = 0; round < (cells[i].rounds ? cells[i].rounds : 6); round++)
            compare_fixture_round(&result, cells[i].workload, cells[i].strategy, round,
                                  &(struct spec){.wall_ns = 1000 * (uint64_t)cells[i].us,
                                                 .spread = cells[i].spread,
                                                 .seed = cells[i].spread ? i + 1 : 0,
                                                 .status = cells[i].status,
                                                 .program_digest = cells[i].program_digest});
    tree_put(json_object_get(json_object_get(result.root, "context"), "host"), "machine_id",
             tree_text(id));
    result_summarise(result.root);
    return result.root;
}
#define CELL(name, of, ...)                                                                        \
    {                                                                                              \
        .workload = name, .strategy = of, __VA_ARGS__                                              \
    }
#define MACHINE(id, ...)                                                                           \
    machine(id, (const struct cell[]){__VA_ARGS__},                                                \
            sizeof((const struct cell[]){__VA_ARGS__}) / sizeof(struct cell))

/* Compares files, whose references it drops. */
static json_t *compare_machines(json_t **roots, size_t count)
{
    static const char *const names[] = {"a.json", "b.json", "c.json"};
    struct compare_file files[3] = {{NULL, NULL}};
    struct error error = {0};
    json_t *tree = NULL;
    for (size_t i = 0; i < count; i++)
        files[i] = (struct compare_file){roots[i], names[i]};
    assert_int_equal(machines_compare(files, count, &tree, &error), 0);
    for (size_t i = 0; i < count; i++)
        json_decref(roots[i]);
    return tree;
}

static json_t *compare_two(json_t *a, json_t *b)
{
    return compare_machines((json_t *[]){a, b}, 2);
}

static const json_t *at(const json_t *tree, const char *member, size_t index)
{
    const json_t *found = json_array_get(json_object_get(tree, member), index);
    assert_non_null(found);
    return found;
}

static const json_t *named(const json_t *array, const char *name)
{
    const json_t *each;
    for (size_t i = 0; (each = json_array_get(array, i)); i++)
        if (strcmp(tree_get_text(each, "name"), name) == 0)
            return each;
    fail_msg("there is no %s", name);
    return NULL;
}

/* A program's place on a machine. */
static const json_t *place(const json_t *program, size_t machine_index, const char *name)
{
    return named(at(program, "machines", machine_index), name);
}

static void assert_number(double expected, const json_t *object, const char *member)
{
    const double is = tree_get_number(object, member);
    if (!(fabs(is - expected) <= 5e-3 * fabs(expected) + 1e-9))
        fail_msg("%s is %g, expected %g", member, is, expected);
}

static void assert_text(const char *expected, const json_t *object, const char *member)
{
    assert_string_equal(tree_get_text(object, member), expected);
}

static bool says(const json_t *tree, const char *member, const char *words)
{
    const json_t *each;
    for (size_t i = 0; (each = json_array_get(json_object_get(tree, member), i)); i++)
        if (strstr(json_is_string(each) ? json_string_value(each) : tree_get_text(each, "reason"),
                   words))
            return true;
    return false;
}

/* ---- who wins where ---------------------------------------------------------------------------- */

/* lud has one winner, fft another on each machine, and canny too few rounds. */
static json_t *three_programs(void)
{
    return compare_two(MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 3000),
                               CELL("lud", "pool", .us = 1000), CELL("lud", "tlsf", .us = 2000),
                               CELL("fft", "raw", .us = 4000), CELL("fft", "pool", .us = 1000),
                               CELL("fft", "tlsf", .us = 1500),
                               CELL("canny", "raw", .us = 900, .rounds = 3),
                               CELL("canny", "pool", .us = 300, .rounds = 3),
                               CELL("canny", "tlsf", .us = 310, .rounds = 3)),
                       MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 3000),
                               CELL("lud", "pool", .us = 1000), CELL("lud", "tlsf", .us = 1010),
                               CELL("fft", "raw", .us = 1000), CELL("fft", "pool", .us = 1300),
                               CELL("fft", "tlsf", .us = 1200), CELL("canny", "raw", .us = 800),
                               CELL("canny", "pool", .us = 400), CELL("canny", "tlsf", .us = 300)));
}

static void programs_that_differ_come_first(void **state)
{
    (void)state;
    json_t *tree = three_programs();
    const json_t *fft = at(tree, "programs", 0), *canny = at(tree, "programs", 1),
                 *lud = at(tree, "programs", 2);
    assert_text("fft", fft, "workload");
    assert_text("differs", fft, "agreement");
    assert_text("fastest", place(fft, 0, "pool"), "verdict");
    assert_text("fastest", place(fft, 1, "raw"), "verdict");
    assert_number(4, json_object_get(place(fft, 0, "pool"), "speedup"), "median");
    assert_int_equal(json_array_size(json_object_get(fft, "fastest_on_all")), 0);
    /* One choice for both: pool loses 1.3 on the second, tlsf 1.5 on the first, raw 4. */
    assert_text("pool", fft, "choice");
    assert_number(1.3, fft, "choice_loss");
    assert_text("canny", canny, "workload");
    assert_text("unsure", canny, "agreement");
    assert_text("lud", lud, "workload");
    assert_text("same", lud, "agreement");
    assert_int_equal(json_array_size(json_object_get(lud, "fastest_on_all")), 1);
    assert_text("within", place(lud, 1, "tlsf"), "verdict");
    assert_number(1, json_object_get(tree, "agreement"), "differs");
    assert_number(1, json_object_get(tree, "agreement"), "unsure");
    assert_number(1, json_object_get(tree, "agreement"), "same");
    assert_true(says(tree, "sentences",
                     "3 programs on 2 machines: the same configuration is among "
                     "the fastest everywhere in 1, in 1 none is, 1 unsure"));
    json_decref(tree);
}

/* pool is the fastest of more programs; tlsf never loses much. */
static void the_safest_has_the_least_worst_loss(void **state)
{
    (void)state;
    json_t *tree = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 4000), CELL("lud", "pool", .us = 1000),
                CELL("lud", "tlsf", .us = 1200), CELL("fft", "raw", .us = 3000),
                CELL("fft", "pool", .us = 1000), CELL("fft", "tlsf", .us = 1100)),
        MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 4000), CELL("lud", "pool", .us = 1000),
                CELL("lud", "tlsf", .us = 1100), CELL("fft", "raw", .us = 3000),
                CELL("fft", "pool", .us = 2000), CELL("fft", "tlsf", .us = 1000)));
    const json_t *all = json_object_get(tree, "configurations");
    const json_t *pool = named(all, "pool"), *tlsf = named(all, "tlsf"), *raw = named(all, "raw");
    assert_number(1.2, tlsf, "worst_loss");
    assert_number(2, pool, "worst_loss");
    assert_number(4, raw, "worst_loss");
    assert_true(json_is_true(json_object_get(tlsf, "is_safest")));
    assert_false(json_is_true(json_object_get(pool, "is_safest")));
    assert_ptr_equal(json_array_get(all, 0), tlsf);
    assert_ptr_equal(json_array_get(all, 2), raw);
    assert_number(sqrt(2), at(pool, "machines", 1), "mean_loss");
    assert_number(1, at(pool, "machines", 0), "mean_loss");
    assert_number(2, at(pool, "machines", 0), "fastest");
    assert_number(1, at(pool, "machines", 1), "fastest");
    assert_number(sqrt(1.2 * 1.1), at(tlsf, "machines", 0), "mean_loss");
    assert_text("fft", json_object_get(at(pool, "machines", 1), "worst"), "workload");
    assert_true(says(tree, "sentences",
                     "safest: tlsf, at most 1.20 times as long as the fastest "
                     "(lud small on cuda:0 aaaaaaaa)"));
    assert_true(says(tree, "sentences", "; next: pool, at most 2.00"));
    assert_false(says(tree, "sentences", "not told apart"));
    json_decref(tree);
}

/* Where rounds vary by half, no order is established, and both are among the fastest. */
static void what_noise_hides_does_not_differ(void **state)
{
    (void)state;
    json_t *tree = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 1000, .spread = 500),
                CELL("lud", "pool", .us = 980, .spread = 500)),
        MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 1000), CELL("lud", "pool", .us = 1500)));
    const json_t *lud = at(tree, "programs", 0);
    assert_true(json_is_true(json_object_get(place(lud, 0, "raw"), "is_fastest")));
    assert_true(json_is_true(json_object_get(place(lud, 0, "pool"), "is_fastest")));
    assert_text("same", lud, "agreement");
    json_decref(tree);
    /* A loss within the noise is called so. */
    tree = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 1100, .spread = 500),
                CELL("lud", "pool", .us = 1000, .spread = 500)),
        MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 1000), CELL("lud", "pool", .us = 1500)));
    const json_t *raw = place(at(tree, "programs", 0), 0, "raw");
    assert_text("unsure", raw, "verdict");
    assert_true(says(tree, "sentences", "(lud small on cuda:0 aaaaaaaa, not told apart from it)"));
    json_decref(tree);
}

static void a_strategy_that_cannot_run_somewhere_is_named(void **state)
{
    (void)state;
    json_t *tree = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 4000), CELL("lud", "pool", .us = 2000),
                CELL("lud", "stream", .us = 1000)),
        MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 4000), CELL("lud", "pool", .us = 2000),
                CELL("lud", "stream", .status = CASE_skipped)));
    const json_t *lud = at(tree, "programs", 0);
    assert_text("differs", lud, "agreement");
    assert_text("stream skipped on cuda:0 bbbbbbbb", lud, "reason");
    assert_text("pool", lud, "choice");
    assert_number(2, lud, "choice_loss");
    const json_t *all = json_object_get(tree, "configurations");
    assert_true(json_is_null(json_object_get(named(all, "stream"), "worst_loss")));
    assert_true(json_is_true(json_object_get(named(all, "pool"), "is_safest")));
    json_decref(tree);
}

/* ---- which machines ---------------------------------------------------------------------------- */

static void files_of_one_machine_are_put_together(void **state)
{
    (void)state;
    json_t *tree = compare_machines(
        (json_t *[]){
            MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 5000), CELL("lud", "pool", .us = 1000)),
            MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 5000), CELL("fft", "raw", .us = 1000)),
            MACHINE("bbbbbbbb", CELL("lud", "pool", .us = 1000), CELL("fft", "pool", .us = 1000))},
        3);
    assert_int_equal(json_array_size(json_object_get(tree, "machines")), 2);
    assert_int_equal(json_array_size(json_object_get(at(tree, "machines", 1), "files")), 2);
    assert_text("cuda:0 bbbbbbbb", at(tree, "machines", 1), "name");
    assert_int_equal(json_array_size(json_object_get(tree, "programs")), 1);
    assert_int_equal(json_array_size(json_object_get(tree, "left_out")), 1);
    assert_text("not run on every machine with the same configurations", at(tree, "left_out", 0),
                "reason");
    json_decref(tree);
    /* Two runs of the same cases are not mixed: another machine of the kind, or another day. */
    tree = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 5000), CELL("lud", "pool", .us = 1000)),
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 5000), CELL("lud", "pool", .us = 1000)));
    assert_text("cuda:0 #1", at(tree, "machines", 0), "name");
    assert_text("cuda:0 #2", at(tree, "machines", 1), "name");
    json_decref(tree);
}

static void what_cannot_be_compared_is_left_out(void **state)
{
    (void)state;
    json_t *tree = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 5000), CELL("fft", "raw", .us = 5000),
                CELL("canny", "raw", .us = 1000), CELL("lud", "tlsf", .us = 1000)),
        MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 5000, .program_digest = 7),
                CELL("fft", "raw", .us = 5000, .status = CASE_wrong),
                CELL("canny", "raw", .us = 1000)));
    assert_int_equal(json_array_size(json_object_get(tree, "programs")), 1);
    assert_text("canny", at(tree, "programs", 0), "workload");
    assert_true(says(tree, "left_out", "another program on the machines"));
    assert_true(says(tree, "left_out", "no right answer on cuda:0 bbbbbbbb"));
    assert_true(says(tree, "notes", "not every machine ran a program with them: tlsf"));
    json_decref(tree);
}

static void one_machine_alone_is_a_mistake(void **state)
{
    (void)state;
    json_t *root = MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 5000)), *tree = NULL;
    struct error error = {0};
    assert_int_equal(machines_compare(&(struct compare_file){root, "a.json"}, 1, &tree, &error),
                     ERR_USAGE);
    assert_non_null(strstr(error.text, "give files of several machines"));
    assert_null(tree);
    json_decref(root);
}

/* ---- what is printed --------------------------------------------------------------------------- */

static void check_golden(const json_t *tree, enum table_format format, enum compare_show show,
                         const char *golden)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(machines_print(tree, format, show, out, NULL), 0);
    fclose(out);
    golden_check(golden, text);
    free(text);
}

static void tables_are_as_before(void **state)
{
    (void)state;
    json_t *tree = three_programs();
    check_golden(tree, TABLE_TEXT, COMPARE_SHOW_WORST, "machines.txt");
    check_golden(tree, TABLE_MARKDOWN, COMPARE_SHOW_ALL, "machines.md");
    check_golden(tree, TABLE_CSV, COMPARE_SHOW_ALL, "machines.csv");
    check_golden(tree, TABLE_JSON, COMPARE_SHOW_ALL, "machines.json");
    json_decref(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_that_differ_come_first),
        cmocka_unit_test(the_safest_has_the_least_worst_loss),
        cmocka_unit_test(what_noise_hides_does_not_differ),
        cmocka_unit_test(a_strategy_that_cannot_run_somewhere_is_named),
        cmocka_unit_test(files_of_one_machine_are_put_together),
        cmocka_unit_test(what_cannot_be_compared_is_left_out),
        cmocka_unit_test(one_machine_alone_is_a_mistake),
        cmocka_unit_test(tables_are_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
