/* The rows over all cases of a configuration: what single cases don't show, and what must not
 * show. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "tests/base/cmocka.h"
#include "tests/results/compare/compare_fixture.h"
#include "tests/base/golden.h"
#include "results/facts/case.h"
#include "base/tree.h"

enum { WORKLOADS = 24 };

/* A result of many workloads under raw and pool, whose rounds differ by a quarter. */
struct made {
    unsigned rounds; /* 0: 10 */
    uint64_t seed;
    double raw, pool;       /* how much longer than otherwise, 0.05 for 5 % */
    unsigned workloads;     /* 0: WORKLOADS */
    unsigned slow_ones;     /* of the workloads, the first so many alone are longer; 0: all */
    const char *lacks;      /* this workload is missing */
    unsigned missing_round; /* of one case under pool; 0: none */
    unsigned slow_start;    /* so many rounds of pool, the first, take half as long again */
};

static void add_case(struct result_draft *result, const struct made *made, unsigned workload,
                     bool pool, unsigned round)
{
    char name[16];
    snprintf(name, sizeof name, "w%u", workload);
    struct random random = {random_split(made->seed + pool, round * 100 + workload)};
    if (made->lacks && strcmp(name, made->lacks) == 0)
        return;
    if (pool && made->missing_round && round == made->missing_round && workload == 1)
        return;
    const bool is_slow = !made->slow_ones || workload < made->slow_ones;
    double ns = 100000.0 * (workload + 1) * (1 + (is_slow ? pool ? made->pool : made->raw : 0));
    ns *= 1 + 0.004 * random_unit(&random);
    if (random_unit(&random) < 0.5)
        ns *= 1.2 + 0.1 * random_unit(&random);
    if (pool && round < made->slow_start)
        ns *= 1.5;
    compare_fixture_round(result, name, pool ? "pool" : "raw", round,
                          &(struct spec){.wall_ns = (uint64_t)ns});
}

static json_t *make(const struct made *made)
{
    static char *argv[] = {"gamut", "run"};
    const unsigned rounds = made->rounds ? made->rounds : 10;
    const struct result_command run = {.argc = 2, .argv = argv, .rounds = rounds};
    const struct record_device device = {.id = "cuda:0", .api = "cuda", .name = "A GPU"};
    struct result_draft result;
    assert_int_equal(draft_create(&result, &run, NULL), 0);
    draft_set_devices(&result, &device, 1);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned w = 0; w < (made->workloads ? made->workloads : WORKLOADS); w++)
            for (int pool = 0; pool < 2; pool++)
                add_case(&result, made, w, pool, r);
    draft_finish(&result, RUN_COMPLETE);
    return result_tree_of(&result).root;
}

static json_t *compare_made(const struct made *base, const struct made *candidate)
{
    const struct compare_options options = default_options();
    return compare_roots(make(base), make(candidate), &options);
}

/* The row over all cases of a strategy; NULL where there is none. */
static const json_t *row_over(const json_t *comparison, const char *strategy)
{
    const json_t *row;
    for (size_t i = 0; (row = json_array_get(json_object_get(comparison, "rows"), i)); i++)
        if (json_object_get(row, "cases") && strcmp(tree_get_text(row, "strategy"), strategy) == 0)
            return row;
    return NULL;
}

static const char *verdict_over(const json_t *comparison, const char *strategy)
{
    const json_t *row = row_over(comparison, strategy);
    return row ? tree_get_text(row, "verdict") : "none";
}

/* ---- verdicts ------------------------------------------------------------------------------- */

static void each_strategy_is_judged_alone(void **state)
{
    (void)state;
    static const struct {
        double raw, pool;
        const char *raw_verdict, *pool_verdict, *outcome;
    } table[] = {
        {0, 0, "same", "same", "unsure"}, /* single cases are */
        {0, 0.05, "same", "slower", "regression"},
        {0.05, 0, "slower", "same", "regression"},
        {-0.05, 0, "faster", "same",
         "unsure"}, /* the reference became faster, the rest no slower */
        {0.05, 0.05, "slower", "slower", "regression"},
        {0, 0.01, "same", "same", "unsure"}, /* within 2 % */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct made base = {.seed = 1};
        const struct made candidate = {.seed = 3, .raw = table[i].raw, .pool = table[i].pool};
        json_t *comparison = compare_made(&base, &candidate);
        const json_t *row = row_over(comparison, "pool");
        assert_string_equal(verdict_over(comparison, "raw"), table[i].raw_verdict);
        assert_string_equal(verdict_over(comparison, "pool"), table[i].pool_verdict);
        assert_string_equal(tree_get_text(comparison, "verdict"), table[i].outcome);
        assert_true(fabs(tree_get_number(row, "ratio") - 1 - table[i].pool) < 0.004);
        json_decref(comparison);
    }
}

static void a_row_says_what_it_is_about(void **state)
{
    (void)state;
    json_t *comparison = compare_made(&(struct made){.seed = 1}, &(struct made){.seed = 3});
    const json_t *row = row_over(comparison, "pool");
    struct case_key key = {"*", "*", "none", "last-use", "pool", "cuda:0", .residency = ""};
    char id[13];
    case_id(&key, id);
    assert_true(row == json_array_get(json_object_get(comparison, "rows"), 1)); /* before cases */
    assert_string_equal(tree_get_text(row, "id"), id);
    assert_string_equal(tree_get_text(row, "workload"), "*");
    assert_string_equal(tree_get_text(row, "metric"), "wall_ns");
    assert_true(tree_get_number(row, "cases") == WORKLOADS);
    assert_true(json_is_null(json_object_get(row, "base")));
    assert_true(json_is_array(json_object_get(row, "ci")));
    assert_true(tree_get_number(comparison, "gated_tests") == 2 * WORKLOADS);
    assert_true(tree_get_number(comparison, "gated_tests_over_cases") == 2);
    json_decref(comparison);
}

static void swapping_mirrors_the_row(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        const struct made base = {.seed = seed, .rounds = 6 + (unsigned)seed};
        const struct made candidate = {.seed = 99, .rounds = 10, .pool = 0.05};
        json_t *there = compare_made(&base, &candidate), *back = compare_made(&candidate, &base);
        const json_t *a = row_over(there, "pool"), *b = row_over(back, "pool");
        const json_t *ci = json_object_get(a, "ci"), *other = json_object_get(b, "ci");
        assert_true(tree_get_number(a, "ratio") > 1.04);
        assert_true(tree_get_number(b, "ratio") == 1 / tree_get_number(a, "ratio"));
        assert_true(tree_get_number(a, "p") == tree_get_number(b, "p"));
        assert_true(tree_get_number(a, "p_adj") == tree_get_number(b, "p_adj"));
        assert_true(tree_to_number(json_array_get(other, 0)) ==
                    1 / tree_to_number(json_array_get(ci, 1)));
        assert_int_equal(strcmp(tree_get_text(a, "verdict"), "slower") == 0,
                         strcmp(tree_get_text(b, "verdict"), "faster") == 0);
        json_decref(there);
        json_decref(back);
    }
}

/* Half of the cases and one more are enough, fewer than half are not: they have rows of their own.
 */
static void most_cases_decide(void **state)
{
    (void)state;
    const struct made base = {.seed = 1};
    for (unsigned slow = 8; slow <= 16; slow += 8) {
        json_t *comparison =
            compare_made(&base, &(struct made){.seed = 3, .pool = 0.05, .slow_ones = slow});
        assert_string_equal(verdict_over(comparison, "pool"), slow == 16 ? "slower" : "same");
        json_decref(comparison);
    }
}

/* ---- what is missing ------------------------------------------------------------------------ */

static void what_both_files_have_is_compared(void **state)
{
    (void)state;
    const struct made base = {.seed = 1};
    const struct {
        struct made candidate;
        double cases, rounds;
    } table[] = {
        {{.seed = 3, .pool = 0.05}, WORKLOADS, 10},
        {{.seed = 3, .pool = 0.05, .lacks = "w5"}, WORKLOADS - 1, 10},
        {{.seed = 3, .pool = 0.05, .missing_round = 4}, WORKLOADS, 9},
        {{.seed = 3, .pool = 0.05, .rounds = 25}, WORKLOADS, 10},
        {{.seed = 3, .pool = 0.05, .rounds = 25, .slow_start = 11}, WORKLOADS, 10},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        json_t *comparison = compare_made(&base, &table[i].candidate);
        const json_t *row = row_over(comparison, "pool");
        const json_t *rounds = json_object_get(row, "rounds");
        assert_string_equal(tree_get_text(row, "verdict"), "slower");
        assert_true(tree_get_number(row, "cases") == table[i].cases);
        for (size_t side = 0; side < 2; side++)
            assert_true(tree_to_number(json_array_get(rounds, side)) == table[i].rounds);
        assert_true(fabs(tree_get_number(row, "ratio") - 1.05) < 0.004);
        json_decref(comparison);
    }
}

/* Rows move when there are more than there was room for: with 128 workloads that is between the two
 * rows over all cases. */
static void rows_may_move_meanwhile(void **state)
{
    (void)state;
    struct compare_options options = default_options();
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        options.leave_out[i] = strcmp(list[i].name, "wall_ns") != 0;
    for (unsigned workloads = 127; workloads <= 129; workloads++) {
        json_t *comparison = compare_roots(
            make(&(struct made){.seed = 1, .workloads = workloads}),
            make(&(struct made){.seed = 3, .workloads = workloads, .pool = 0.05}), &options);
        assert_string_equal(verdict_over(comparison, "raw"), "same");
        assert_string_equal(verdict_over(comparison, "pool"), "slower");
        assert_string_equal(tree_get_text(row_over(comparison, "pool"), "metric"), "wall_ns");
        json_decref(comparison);
    }
}

/* A case that was run and has no times in one file says nothing of the others. */
static void what_was_not_measured_is_left_out(void **state)
{
    (void)state;
    const struct compare_options options = default_options();
    json_t *candidate = make(&(struct made){.seed = 3, .pool = 0.05}), *round;
    size_t i;
    const json_t *one = json_array_get(json_object_get(candidate, "cases"), 1);
    assert_string_equal(tree_get_text(json_object_get(one, "key"), "strategy"), "pool");
    json_array_foreach(json_object_get(one, "rounds"), i, round)
        json_object_del(json_object_get(round, "samples"), "wall_ns");
    json_t *comparison = compare_roots(make(&(struct made){.seed = 1}), candidate, &options);
    assert_string_equal(verdict_over(comparison, "pool"), "slower");
    assert_true(tree_get_number(row_over(comparison, "pool"), "cases") == WORKLOADS - 1);
    json_decref(comparison);
}

static void too_little_is_no_row_or_unsure(void **state)
{
    (void)state;
    json_t *comparison = compare_made(&(struct made){.seed = 1, .workloads = 2},
                                      &(struct made){.seed = 3, .workloads = 2});
    assert_null(row_over(comparison, "pool"));
    assert_true(tree_get_number(comparison, "gated_tests_over_cases") == 0);
    json_decref(comparison);
    comparison = compare_made(&(struct made){.seed = 1, .rounds = 5},
                              &(struct made){.seed = 3, .rounds = 5, .pool = 0.05});
    const json_t *row = row_over(comparison, "pool");
    assert_string_equal(tree_get_text(row, "reason"), "needs 6 rounds, has 5");
    assert_true(json_is_null(json_object_get(row, "ci")));
    assert_true(fabs(tree_get_number(row, "ratio") - 1.05) < 0.1);
    json_decref(comparison);
}

static void only_what_is_gated_has_the_row(void **state)
{
    (void)state;
    struct compare_options options = default_options();
    options.gates = (struct gates){0};
    json_t *comparison =
        compare_roots(make(&(struct made){.seed = 1}), make(&(struct made){.seed = 3}), &options);
    assert_null(row_over(comparison, "pool"));
    json_decref(comparison);
    assert_int_equal(gates_add(&options.gates, "wall_ns:10%", NULL), 0);
    comparison = compare_roots(make(&(struct made){.seed = 1}),
                               make(&(struct made){.seed = 3, .pool = 0.05}), &options);
    assert_string_equal(verdict_over(comparison, "pool"), "same"); /* the gate's limit is its own */
    json_decref(comparison);
}

/* Within one file: of all cases, how much faster one strategy is than another. */
static void within_a_file_it_is_over_all_counterparts(void **state)
{
    (void)state;
    const struct compare_options options = {.threshold = 0.02};
    json_t *root = make(&(struct made){.seed = 1, .pool = -0.08}), *comparison;
    const struct compare_file file = {result_tree_read(root), "a.json"};
    assert_int_equal(compare_within(&file, "strategy=raw", &options, &comparison, NULL), 0);
    const json_t *row = row_over(comparison, "pool");
    assert_string_equal(tree_get_text(row, "verdict"), "faster");
    assert_true(json_is_false(json_object_get(row, "gated")));
    assert_true(fabs(tree_get_number(row, "ratio") - 0.92) < 0.004);
    json_decref(comparison);
    assert_int_equal(compare_within(&file, "workload=w1", &options, &comparison, NULL), 0);
    assert_null(row_over(comparison, "pool")); /* other workloads, not another configuration */
    json_decref(comparison);
    json_decref(root);
}

static void prints_as_reviewed(void **state)
{
    (void)state;
    static const struct {
        enum table_format format;
        const char *name;
    } printed[] = {{TABLE_TEXT, "compare_configuration.txt"},
                   {TABLE_JSON, "compare_configuration.json"}};
    const struct made base = {.seed = 1, .workloads = 4};
    const struct made candidate = {.seed = 3, .workloads = 4, .pool = 0.2};
    json_t *roots[] = {make(&base), make(&candidate)}, *comparison;
    for (int i = 0; i < 2; i++)
        compare_fixture_settle(roots[i]);
    const struct compare_options options = default_options();
    comparison = compare_roots(roots[0], roots[1], &options);
    for (size_t f = 0; f < sizeof printed / sizeof *printed; f++) {
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        assert_int_equal(
            compare_print(comparison, printed[f].format, COMPARE_SHOW_CHANGED, out, NULL), 0);
        fclose(out);
        golden_check(printed[f].name, text);
        free(text);
    }
    json_decref(comparison);
}

/* ---- the sentences -------------------------------------------------------------------------- */

/* Of six workloads under raw and pool, the first five hold 3 to 7 times as much under pool, and the
 * last one holds `last` times as much under both. What holds more is granted twice as much. */
static json_t *make_held(unsigned changed, unsigned last)
{
    static char *argv[] = {"gamut", "run"};
    const struct result_command run = {.argc = 2, .argv = argv, .rounds = 1};
    const struct record_device device = {.id = "cuda:0", .api = "cuda", .name = "A GPU"};
    struct result_draft result;
    assert_int_equal(draft_create(&result, &run, NULL), 0);
    draft_set_devices(&result, &device, 1);
    for (unsigned w = 0; w < 6; w++)
        for (int pool = 0; pool < 2; pool++) {
            const unsigned times = w == 5 ? last : pool && w < changed ? 3 + w : 1;
            compare_fixture_round(&result, (char[]){'w', (char)('0' + w), 0}, pool ? "pool" : "raw",
                                  0, &(struct spec){.reserved_bytes = (uint64_t)times << 26});
        }
    draft_finish(&result, RUN_COMPLETE);
    json_t *root = result_tree_of(&result).root, *one;
    for (size_t i = 0; (one = json_array_get(json_object_get(root, "cases"), i)); i++) {
        json_t *counters = json_object_get(one, "counters");
        json_t *warm = json_object_get(counters, "warm"), *cold = json_object_get(counters, "cold");
        const double reserved = tree_get_number(warm, "peak_reserved_bytes");
        tree_put(cold, "peak_reserved_bytes", tree_number(reserved));
        tree_put(warm, "peak_granted_bytes", tree_number(reserved > 1 << 26 ? 2 << 26 : 1 << 26));
    }
    return root;
}

static void changes_are_told_by_configuration(void **state)
{
    (void)state;
    static const struct {
        unsigned changed, last;
        const char *sentence, *second;
    } table[] = {
        {5, 1,
         "pool holds 3.00 to 7.00 times as much in 5 of 6 cases (w4 small: 64.0 MiB before, "
         "448 MiB now)",
         NULL},
        {1, 1, "pool holds 3.00 times as much in w0 small (64.0 MiB before, 192 MiB now)", NULL},
        /* One cause for two configurations is one line. */
        {0, 2, "raw, pool: holds 2.00 times as much in w5 small (64.0 MiB before, 128 MiB now)",
         NULL},
        {1, 2,
         "pool holds 2.00 to 3.00 times as much in 2 of 6 cases (w0 small: 64.0 MiB before, "
         "192 MiB now)",
         "raw holds 2.00 times as much in w5 small (64.0 MiB before, 128 MiB now)"},
        {0, 1, "no gated metric is worse", NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct compare_options options = default_options();
        options.gates = gates_default(0.02);
        options.gates.gate[0].is_set = false; /* one round has no time to judge */
        json_t *comparison =
            compare_roots(make_held(0, 1), make_held(table[i].changed, table[i].last), &options);
        const char *second = compare_finding(comparison, 0);
        assert_string_equal(tree_get_text(comparison, "sentence"), table[i].sentence);
        assert_int_equal(second != NULL, table[i].second != NULL);
        if (second)
            assert_string_equal(second, table[i].second);
        json_decref(comparison);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_strategy_is_judged_alone),
        cmocka_unit_test(a_row_says_what_it_is_about),
        cmocka_unit_test(swapping_mirrors_the_row),
        cmocka_unit_test(most_cases_decide),
        cmocka_unit_test(what_both_files_have_is_compared),
        cmocka_unit_test(rows_may_move_meanwhile),
        cmocka_unit_test(what_was_not_measured_is_left_out),
        cmocka_unit_test(too_little_is_no_row_or_unsure),
        cmocka_unit_test(only_what_is_gated_has_the_row),
        cmocka_unit_test(within_a_file_it_is_over_all_counterparts),
        cmocka_unit_test(prints_as_reviewed),
        cmocka_unit_test(changes_are_told_by_configuration),
    };
    return cmocka_run_group_tests_name("compare_configuration", tests, NULL, NULL);
}
