/* What the charts of programs and configurations put first, what their axes show, and what they
 * call noise: rows of dots, and time against memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "results/show/chart.h"
#include "results/file/result.h"
#include "tests/base/cmocka.h"
#include "tests/results/file/record_fixture.h"

/* A result of cases that are made of words: "program strategy speedup lo hi held_MiB". The baseline
 * of each program is the strategy raw, and the lower bound is 1 MiB. */
static json_t *result_of(const char *const lines[])
{
    json_t *root = json_pack("{s:{s:[{s:s, s:s}]}, s:{s:i}, s:[], s:[]}", "context", "devices",
                             "id", "host", "name", "CPU", "run", "rounds", 6, "cases", "summary");
    for (size_t i = 0; lines[i]; i++) {
        char program[32], strategy[32], id[80], baseline[80];
        double speedup, lo, hi, held;
        assert_int_equal(sscanf(lines[i], "%31s %31s %lf %lf %lf %lf", program, strategy, &speedup,
                                &lo, &hi, &held),
                         6);
        snprintf(id, sizeof id, "%s %s", program, strategy);
        snprintf(baseline, sizeof baseline, "%s raw", program);
        const long long bytes = (long long)(held * (1 << 20));
        tree_append(json_object_get(root, "cases"),
                    json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s, s:s},"
                              " s:{s:s, s:f, s:f, s:f}, s:{s:{s:f}}, s:{s:{s:I, s:I}}}",
                              "id", id, "status", "ok", "key", "workload", program, "dataset",
                              "small", "device", "host", "strategy", strategy, "merge", "none",
                              "release", "last-use", "speedup_over_raw", "baseline", baseline,
                              "median", speedup, "ci_lo", lo, "ci_hi", hi, "stats", "wall_ns",
                              "median", 1e6 / speedup, "counters", "cold", "peak_reserved_bytes",
                              (json_int_t)bytes, "live_lower_bound_bytes", (json_int_t)(1 << 20)));
    }
    return root;
}

/* The variables and the data of a chart. */
static char *printed(const char *name, const json_t *root)
{
    const struct chart_subject of = {.result = result_tree_read(root), .device = "host"};
    const struct chart *chart;
    struct text variables = {0};
    struct error error = {0};
    char *text, *all;
    size_t length;
    assert_int_equal(chart_find(name, &chart, NULL), 0);
    FILE *out = open_memstream(&text, &length);
    if (chart_write(chart, &of, out, &variables, &error))
        fail_msg("%s", error.text);
    fclose(out);
    assert_true(asprintf(&all, "%s\n%s", variables.data, text) > 0);
    text_free(&variables);
    free(text);
    return all;
}

/* Do these parts stand in the text, one after the other? */
static void check_in_order(const char *text, const char *const parts[])
{
    const char *at = text;
    for (size_t i = 0; parts[i]; i++) {
        const char *found = strstr(at, parts[i]);
        if (!found)
            fail_msg("no '%s' here: %s", parts[i], at);
        at = found + strlen(parts[i]);
    }
}

static double variable(const char *text, const char *name)
{
    char line[64];
    snprintf(line, sizeof line, "\n%s = ", name);
    const char *at = strstr(text, line);
    assert_non_null(at);
    return strtod(at + strlen(line), NULL);
}

static const char *const two_programs[] = {
    "a raw 1 1 1 1",
    "a slow 0.8 0.7 1.1 2",
    "a fast 2 1.9 2.1 4",
    "b raw 1 1 1 1",
    "b slow 2 1.9 2.1 2",
    "b fast 8 7 9 4",
    NULL,
};

/* The program with the largest gain is the first row, the best configuration the first mean. */
static void rows_stand_by_gain(void **state)
{
    json_t *root = result_of(two_programs);
    char *text = printed("speedup", root);
    (void)state;
    check_in_order(text, (const char *const[]){"series = '\"fast\" \"slow\"'", "1 \"b\"", "2 \"a\"",
                                               "# means", "1 \"fast\" 4 ", "\"4.00×\"",
                                               "2 \"slow\" 1.26", NULL});
    assert_null(strstr(text, "\"geometric mean\"")); /* no row of a program */
    free(text);
    text = printed("peak_memory", root);
    check_in_order(text, (const char *const[]){"series = '\"raw\" \"slow\" \"fast\"'",
                                               "1 \"a\" \"1.00 MiB\"", "# means", "1 \"raw\" 1 ",
                                               "3 \"fast\" 4 ", NULL});
    free(text);
    json_decref(root);
}

/* A mean over fewer programs is no better than one over all. */
static void incomplete_means_stand_last(void **state)
{
    static const char *const lines[] = {"a raw 1 1 1 1", "b raw 1 1 1 1", "a x 2 2 2 1",
                                        "b x 2 2 2 1",   "b y 9 9 9 1",   NULL};
    json_t *root = result_of(lines);
    char *text = printed("speedup", root);
    (void)state;
    check_in_order(text, (const char *const[]){"1 \"x\" 2 ", "2 \"y\" 9 ", "\"9.00× of 1\"", NULL});
    free(text);
    json_decref(root);
}

/* One program far from all others does not squeeze them: its row says its value. */
static void a_value_far_off_is_words(void **state)
{
    const char *lines[43] = {0};
    char names[42][80];
    for (int i = 0; i < 40; i += 2) {
        snprintf(names[i], sizeof names[i], "p%02d raw 1 1 1 1", i);
        snprintf(names[i + 1], sizeof names[i + 1], "p%02d x %g 1 1 %d", i, 1 + i * 0.05,
                 1 + i / 10);
        lines[i] = names[i];
        lines[i + 1] = names[i + 1];
    }
    lines[40] = "tiny raw 1 1 1 1";
    lines[41] = "tiny x 1 1 1 65536";
    json_t *root = result_of(lines);
    char *text = printed("peak_memory", root);
    (void)state;
    check_in_order(text, (const char *const[]){"1 \"tiny\"", "\"x 65536×\"", NULL});
    assert_true(variable(text, "high_1") < 5);
    free(text);
    text = printed("speedup", root);
    assert_true(fabs(variable(text, "high_1") - log2(1 + 38 * 0.05)) < 0.01);
    assert_true(variable(text, "low_1") == 0);
    free(text);
    json_decref(root);
}

/* Bars that look the same share a row, and the program with the largest gain is first. */
static void same_bars_share_a_row(void **state)
{
    static const char *const lines[] = {
        "a raw 1 1 1 1", "a x 1.5 1 1 1",  "b raw 1 1 1 1", "b x 4 1 1 1",
        "b y 4.1 1 1 1", "b z 4.05 1 1 1", "b w 5 1 1 1",   NULL};
    json_t *root = result_of(lines);
    char *text = printed("time", root);
    (void)state;
    check_in_order(text, (const char *const[]){"0 \"b\" \"\" -1", "1 \"raw\" \"1.00 ms\" 1",
                                               "2 \"x, z, y\" \"244 µs to 250 µs\" 0.25",
                                               "3 \"w\" \"200 µs\" 0.2", "4 \"a\"", "5 \"raw\"",
                                               "6 \"x\"", NULL});
    free(text);
    json_decref(root);
}

/* Each part has a median of its own, so that all of them may be more than the whole: the case still
 * has a time. */
static void parts_may_be_more_than_the_whole(void **state)
{
    static const char *const lines[] = {"a raw 1 1 1 1", NULL};
    json_t *root = result_of(lines);
    json_t *stats = json_object_get(json_array_get(json_object_get(root, "cases"), 0), "stats");
    json_t *freed = json_deep_copy(json_object_get(stats, "wall_ns"));
    (void)state;
    tree_put(freed, "median", tree_number(2e6));
    tree_put(stats, "driver_free_ns", freed);
    char *text = printed("time", root);
    check_in_order(text, (const char *const[]){"0 \"a\"", "1 \"raw\" \"1.00 ms\"", "# driver free",
                                               " 2000000", NULL});
    free(text);
    json_decref(root);
}

/* One panel of means: every configuration once, with a name of its own place. */
static void pareto_has_a_point_a_configuration(void **state)
{
    struct result_tree result = record_fixture(6);
    char *text = printed("pareto", result.root);
    (void)state;
    check_in_order(
        text, (const char *const[]){
                  "heading = 'pool takes the least time, and holds 2.00× the lower bound'\n",
                  "below = 'raw holds the least, 1.25×, and takes 3.00× as long'\n",
                  "1 \"pool\" 1 1 1 2 1 0", "2 \"tagged\" 1.5", "3 \"raw\" 3", "# the front",
                  "1 2\n1.5 1.5\n3 1.25\n", "# names", "\"pool\"", "\"tagged\"", "\"raw\"", NULL});
    assert_null(strstr(text, "stencil"));
    free(text);
    result_tree_free(&result);
}

/* Names of points that are close to each other do not cover each other. */
static void names_have_places(void **state)
{
    struct result_tree result = record_fixture(6);
    json_t *cases = json_object_get(result.root, "cases");
    const size_t count = json_array_size(cases);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        const json_t *key = json_object_get(json_array_get(cases, i), "key");
        if (strcmp(tree_get_text(key, "strategy"), "pool") != 0)
            continue;
        for (char c = 'a'; c < 'i'; c++) { /* the same numbers under other names */
            json_t *copy = json_deep_copy(json_array_get(cases, i));
            tree_put(json_object_get(copy, "key"), "strategy", tree_text((char[]){'s', c, 0}));
            tree_append(cases, copy);
        }
    }
    char *text = printed("pareto", result.root);
    const char *at = strstr(text, "# names");
    double left[16], middle[16];
    size_t named = 0;
    const double octave_x = 480 / (variable(text, "high_x") - variable(text, "low_x"));
    const double octave_y = 280 / (variable(text, "high_y") - variable(text, "low_y"));
    while ((at = strchr(at, '\n')) && named < 16 &&
           sscanf(at, "%*f %*f %lf %lf", &left[named], &middle[named]) == 2) {
        for (size_t j = 0; j < named; j++)
            assert_true(fabs(left[j] - left[named]) * octave_x > 14 ||
                        fabs(middle[j] - middle[named]) * octave_y > 13);
        named++;
        at++;
    }
    assert_int_equal(named, 3 + 8);
    free(text);
    result_tree_free(&result);
}

/* A caption names the data set, or how many there are. */
static void captions_name_the_data_set(void **state)
{
    json_t *root = result_of(two_programs);
    json_t *cases = json_object_get(root, "cases");
    char *text = printed("speedup", root);
    (void)state;
    assert_non_null(strstr(text, ", data set small, rev"));
    free(text);
    for (size_t i = 0; i < 3; i++)
        tree_put(json_object_get(json_array_get(cases, i), "key"), "dataset", tree_text("large"));
    text = printed("speedup", root);
    assert_non_null(strstr(text, ", data sets large, small, rev"));
    free(text);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stand_by_gain),
        cmocka_unit_test(incomplete_means_stand_last),
        cmocka_unit_test(a_value_far_off_is_words),
        cmocka_unit_test(same_bars_share_a_row),
        cmocka_unit_test(parts_may_be_more_than_the_whole),
        cmocka_unit_test(pareto_has_a_point_a_configuration),
        cmocka_unit_test(names_have_places),
        cmocka_unit_test(captions_name_the_data_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
