/* Which configuration wins on which machine, and what a wrong choice costs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "results/compare/machines.h"
#include "tests/base/cmocka.h"
#include "tests/base/golden.h"
#include "tests/results/compare/compare_fixture.h"

/* ---- made-up machines ------------------------------------------------------------------------ */

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
    json_t *root = compare_fixture(&(struct spec){.lacks_canny = true, .lacks_fft = true});
    struct result_draft result = result_tree_draft(root);
    for (size_t i = 0; i < count; i++)
        for (unsigned round = 0; round < (cells[i].rounds ? cells[i].rounds : 6); round++)
            compare_fixture_round(&result, cells[i].workload, cells[i].strategy, round,
                                  &(struct spec){.wall_ns = 1000 * (uint64_t)cells[i].us,
                                                 .spread = cells[i].spread,
                                                 .seed = cells[i].spread ? i + 1 : 0,
                                                 .status = cells[i].status,
                                                 .program_digest = cells[i].program_digest});
    result_tree_put(root, &result);
    tree_put(json_object_get(json_object_get(root, "context"), "host"), "machine_id",
             tree_text(id));
    return root;
}
#define CELL(name, of, ...)                                                                        \
    {                                                                                              \
        .workload = name, .strategy = of, __VA_ARGS__                                              \
    }
#define MACHINE(id, ...)                                                                           \
    machine(id, (const struct cell[]){__VA_ARGS__},                                                \
            sizeof((const struct cell[]){__VA_ARGS__}) / sizeof(struct cell))

/* A comparison and what it prints. */
struct compared {
    json_t *roots[2];
    struct machines *machines;
    char *csv, *text;
};

static char *printed(const struct machines *machines, enum table_format format,
                     enum compare_show show)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(machines_print(machines, format, show, out, NULL), 0);
    fclose(out);
    return text;
}

static struct compared compare_two(json_t *a, json_t *b)
{
    struct compared out = {.roots = {a, b}};
    const struct compare_file files[] = {{result_tree_read(a), "a.json"},
                                         {result_tree_read(b), "b.json"}};
    struct error error = {0};
    assert_int_equal(machines_compare(files, 2, &out.machines, &error), 0);
    out.csv = printed(out.machines, TABLE_CSV, COMPARE_SHOW_ALL);
    out.text = printed(out.machines, TABLE_TEXT, COMPARE_SHOW_ALL);
    return out;
}

static void drop(struct compared *compared)
{
    for (size_t i = 0; i < 2; i++)
        json_decref(compared->roots[i]);
    machines_free(compared->machines);
    free(compared->csv);
    free(compared->text);
}

/* Fails unless the tables or the CSV have these words, and in this order. */
#define assert_says(text, ...) check_says(text, (const char *const[]){__VA_ARGS__, NULL})
static void check_says(const char *text, const char *const *words)
{
    const char *at = text;
    for (size_t i = 0; words[i]; i++) {
        at = strstr(at, words[i]);
        if (!at)
            fail_msg("'%s' is not in its place in:\n%s", words[i], text);
    }
}

/* ---- who wins where -------------------------------------------------------------------------- */

/* lud has one winner, fft another on each machine, and canny too few rounds. */
static struct compared three_programs(void)
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
    struct compared all = three_programs();
    assert_says(all.csv, "fft,small,differs,cuda:0 aaaaaaaa,pool,ok,fastest,1000355,1,1,1,3.99999",
                "fft,small,differs,cuda:0 bbbbbbbb,raw,ok,fastest,", "canny,small,unsure,",
                "lud,small,same,", "lud,small,same,cuda:0 bbbbbbbb,tlsf,ok,within,");
    /* One choice for both: pool loses 1.3 on the second, tlsf 1.5 on the first, raw 4. */
    assert_says(all.text, "  fft ", "pool  1.30×  differs\n", "unsure\n", "same: pool\n",
                "3 programs on 2 machines: the same configuration is among the fastest everywhere "
                "in 1, none is in 1, 1 unsure");
    drop(&all);
}

/* pool is the fastest of more programs; tlsf never loses much. */
static void the_safest_has_the_least_worst_loss(void **state)
{
    (void)state;
    struct compared all = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 4000), CELL("lud", "pool", .us = 1000),
                CELL("lud", "tlsf", .us = 1200), CELL("fft", "raw", .us = 3000),
                CELL("fft", "pool", .us = 1000), CELL("fft", "tlsf", .us = 1100)),
        MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 4000), CELL("lud", "pool", .us = 1000),
                CELL("lud", "tlsf", .us = 1100), CELL("fft", "raw", .us = 3000),
                CELL("fft", "pool", .us = 2000), CELL("fft", "tlsf", .us = 1000)));
    /* Geometric means: the roots of 1.2 times 1.1, and of 1 times 2. */
    assert_says(all.text, "What a wrong choice costs", "\n  tlsf ", " 1.15×  1.20× lud ",
                " 1.20×  safest\n", "\n  pool ", " 1.00×", "2 of 2", " 1.41×  2.00× fft ", "1 of 2",
                " 2.00×\n", "\n  raw ", " 4.00×\n",
                "take tlsf everywhere: at most 1.20 times as long as the fastest "
                "(lud small on cuda:0 aaaaaaaa)",
                "; next: pool, at most 2.00",
                "tlsf on A GPU (cuda): 3.02 to 3.30 times as fast as raw in 2 runs of these "
                "programs: 3.02 [3.02, 3.02] on cuda:0 aaaaaaaa, 3.30 [3.30, 3.30] on cuda:0 ");
    assert_null(strstr(all.text, "not told apart from it"));
    drop(&all);
}

/* Where rounds vary by half, no order is established, and both are among the fastest. */
static void what_noise_hides_does_not_differ(void **state)
{
    (void)state;
    struct compared all = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 1000, .spread = 500),
                CELL("lud", "pool", .us = 980, .spread = 500)),
        MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 1000), CELL("lud", "pool", .us = 1500)));
    assert_says(all.text, "pool, +1 ", "same: raw\n");
    drop(&all);
    /* A loss within the noise is called so. */
    all = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 1100, .spread = 500),
                CELL("lud", "pool", .us = 1000, .spread = 500)),
        MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 1000), CELL("lud", "pool", .us = 1500)));
    assert_says(all.csv, "cuda:0 aaaaaaaa,raw,ok,unsure,");
    assert_says(all.text, "(lud small on cuda:0 aaaaaaaa, not told apart from it)");
    drop(&all);
}

static void a_strategy_that_cannot_run_somewhere_is_named(void **state)
{
    (void)state;
    struct compared all = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 4000), CELL("lud", "pool", .us = 2000),
                CELL("lud", "stream", .us = 1000)),
        MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 4000), CELL("lud", "pool", .us = 2000),
                CELL("lud", "stream", .status = CASE_skipped)));
    assert_says(all.text, "pool  2.00×  differs: stream skipped on cuda:0 bbbbbbbb\n", "\n  pool ",
                " 2.00×  safest\n", "\n  stream ", "1 of 1", " -  ", " -\n");
    drop(&all);
}

/* ---- which machines -------------------------------------------------------------------------- */

/* Rounds of two runs are not mixed, and a program that one file lacks is left out. */
static void each_file_is_a_machine(void **state)
{
    (void)state;
    struct compared all = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 5000), CELL("fft", "raw", .us = 1000)),
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 5000), CELL("fft", "pool", .us = 1000)));
    assert_says(all.text, "cuda:0 #1: ", ", a.json\n", "cuda:0 #2: ", ", b.json\n",
                "! fft small is left out: not run on every machine with the same configurations\n",
                "1 program on 2 machines: ");
    assert_null(strstr(all.csv, "fft"));
    drop(&all);
}

static void what_cannot_be_compared_is_left_out(void **state)
{
    (void)state;
    struct compared all = compare_two(
        MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 5000), CELL("fft", "raw", .us = 5000),
                CELL("canny", "raw", .us = 1000), CELL("lud", "tlsf", .us = 1000)),
        MACHINE("bbbbbbbb", CELL("lud", "raw", .us = 5000, .program_digest = 7),
                CELL("fft", "raw", .us = 5000, .status = CASE_wrong),
                CELL("canny", "raw", .us = 1000)));
    assert_says(all.text, "! fft small is left out: no right answer on cuda:0 bbbbbbbb\n",
                "! lud small is left out: another program on the machines\n",
                "! left out, because not every machine ran a program with them: tlsf\n",
                "1 program on 2 machines");
    assert_says(all.csv, "\ncanny,small,");
    drop(&all);
}

static void one_machine_alone_is_a_mistake(void **state)
{
    (void)state;
    json_t *root = MACHINE("aaaaaaaa", CELL("lud", "raw", .us = 5000));
    struct machines *machines;
    struct error error = {0};
    assert_int_equal(machines_compare(&(struct compare_file){result_tree_read(root), "a.json"}, 1,
                                      &machines, &error),
                     ERR_USAGE);
    assert_non_null(strstr(error.text, "give files of several machines"));
    assert_null(machines);
    json_decref(root);
}

static void tables_are_as_before(void **state)
{
    (void)state;
    struct compared all = three_programs();
    char *markdown = printed(all.machines, TABLE_MARKDOWN, COMPARE_SHOW_CHANGED);
    char *worst = printed(all.machines, TABLE_TEXT, COMPARE_SHOW_WORST);
    golden_check("machines.txt", worst);
    golden_check("machines.md", markdown);
    golden_check("machines.csv", all.csv);
    free(markdown);
    free(worst);
    drop(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_that_differ_come_first),
        cmocka_unit_test(the_safest_has_the_least_worst_loss),
        cmocka_unit_test(what_noise_hides_does_not_differ),
        cmocka_unit_test(a_strategy_that_cannot_run_somewhere_is_named),
        cmocka_unit_test(each_file_is_a_machine),
        cmocka_unit_test(what_cannot_be_compared_is_left_out),
        cmocka_unit_test(one_machine_alone_is_a_mistake),
        cmocka_unit_test(tables_are_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
