/* What a result looks like as a table, Markdown and CSV, on a made-up result that has a
 * case of each kind: good, out of memory, wrong, not deterministic, without a baseline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/base/cmocka.h"
#include "tests/base/golden.h"
#include "results/show/table.h"
#include "base/tree.h"
#include "tests/results/file/record_fixture.h"

static char *print_shown(const json_t *root, enum table_format format, enum table_show show)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    struct error error = {0};
    assert_int_equal(table_print(result_tree_read(root), format, show, out, &error), 0);
    fclose(out);
    return text;
}

static char *print(const json_t *root, enum table_format format)
{
    return print_shown(root, format, TABLE_CASES);
}

static char *print_fixture(unsigned rounds, enum table_format format)
{
    struct result_tree result = record_fixture(rounds);
    char *text = print(result.root, format);
    result_tree_free(&result);
    return text;
}

static void text_table(void **state)
{
    (void)state;
    char *text = print_fixture(6, TABLE_TEXT);
    golden_check("result.txt", text);
    free(text);
}

static void markdown_table(void **state)
{
    (void)state;
    char *text = print_fixture(6, TABLE_MARKDOWN);
    golden_check("result.md", text);
    free(text);
}

/* The fixture's pool case of the stencil becomes the one that others are compared with. */
static void over_best(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(result.root, "cases"), i, each)
    {
        json_t *key = json_object_get(each, "key"), *counters = json_object_get(each, "counters");
        if (strcmp(tree_get_text(key, "workload"), "stencil") != 0 ||
            strcmp(tree_get_text(key, "strategy"), "pool") != 0)
            continue;
        tree_put(key, "merge", tree_text("best"));
        tree_put(json_object_get(counters, "cold"), "peak_requested_bytes", tree_count(16 << 20));
        tree_put(json_object_get(counters, "warm"), "peak_requested_bytes", tree_count(16 << 20));
    }
    result_tree_summarise(result.root);
    char *text = print(result.root, TABLE_TEXT), *csv = print(result.root, TABLE_CSV);
    const char *host = strstr(text, "stencil small on host");
    const char *opencl = strstr(text, "stencil small on opencl:0");
    assert_non_null(strstr(text, "over best"));
    assert_true(host && strstr(host, "+25.0 %") && strstr(host, "+25.0 %") < opencl);
    assert_true(strstr(host, "+0.0 %") && strstr(host, "+0.0 %") < opencl);
    assert_null(strstr(opencl, "+25.0 %")); /* nothing there to compare with */
    assert_non_null(strstr(csv, ",tagged,host,,ok,peak_over_best,ratio,exact,1.25,,,\n"));
    assert_non_null(strstr(csv, ",raw,opencl:0,,ok,peak_over_best,ratio,exact,,,,\n"));
    free(text);
    free(csv);
    result_tree_free(&result);
}

/* Removes the cases of a strategy and computes all again. */
static void without(struct result_tree *result, const char *strategy)
{
    json_t *cases = json_object_get(result->root, "cases");
    for (size_t i = json_array_size(cases); i-- > 0;) {
        const json_t *key = json_object_get(json_array_get(cases, i), "key");
        if (strcmp(tree_get_text(key, "strategy"), strategy) == 0)
            json_array_remove(cases, i);
    }
    result_tree_summarise(result->root);
}

/* Means over the same cases stand in their order, and the last line is the answer. */
static void means_are_ranked(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    without(&result, "pool");
    char *text = print(result.root, TABLE_TEXT);
    const char *means = strstr(text, "geometric mean on host\n");
    assert_non_null(means);
    assert_true(strncmp(strchr(means, '\n') + 1, "  tagged ", 9) == 0);
    assert_non_null(strstr(means, "of 2"));
    assert_null(strstr(text, "missing"));
    assert_non_null(strstr(text, "\nvs raw: paired by round, "));
    assert_string_equal(
        strstr(text, "\nFastest"),
        "\nFastest on host: tagged, 1.27× raw [1.27, 1.27].\n"
        "Least memory: raw, 1.25× the lower bound; tagged, the fastest, holds 1.50×.\n"
        "2 cases, 6 rounds.\n");
    free(text);
    result_tree_free(&result);
}

/* A device without means, and what failed, keep their rows. */
static void means_alone(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    without(&result, "pool");
    char *text = print_shown(result.root, TABLE_TEXT, TABLE_MEANS);
    const char *means = strstr(text, "geometric mean on host\n");
    assert_non_null(means);
    assert_non_null(strstr(means, "of 2                                 1.27× [1.27, 1.27]         "
                                  "                  1.50×\n"));
    assert_null(strstr(text, "canny small on host"));
    assert_non_null(strstr(text, "\nstencil small on host\n  bufalloc  WRONG  "));
    assert_null(strstr(text, "992 µs"));
    assert_non_null(strstr(text, "stencil small on opencl:0"));
    free(text);
    result_tree_free(&result);
}

/* Without raw there are ratios all the same, and all that names them says over what. */
static void ratios_without_raw(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    without(&result, "raw");
    char *text = print(result.root, TABLE_TEXT), *csv = print(result.root, TABLE_CSV);
    assert_non_null(strstr(text, "  vs pool  "));
    assert_non_null(strstr(text, "0.67× [0.67, 0.67]"));
    assert_non_null(strstr(text, "\nvs pool: paired by round, "));
    assert_non_null(strstr(text, "\nFastest on host: pool; next is tagged, 0.67× [0.67, 0.67].\n"
                                 "Least memory: tagged, "));
    assert_non_null(strstr(csv, ",tagged,host,,ok,speedup,ratio,sampled,0.66"));
    free(text);
    free(csv);
    result_tree_free(&result);
}

/* A few metrics of each case stand for all: the others differ in name and number only. */
static void csv(void **state)
{
    (void)state;
    struct text kept = {0};
    char *text = print_fixture(6, TABLE_CSV), *rest = text, *line;
    while ((line = strtok_r(rest, "\n", &rest))) {
        size_t commas = 0;
        for (const char *c = line; *c; c++)
            commas += *c == ',';
        assert_int_equal(commas, 16);
        if (strstr(line, ",metric,") || strstr(line, ",wall_ns,") || strstr(line, ",hit_count,") ||
            strstr(line, ",device_ns,") || strstr(line, "_over_") || strstr(line, ",,,,,,"))
            text_add(&kept, "%s\n", line);
    }
    golden_check("result.csv", kept.data);
    text_free(&kept);
    free(text);
}

static void csv_quotes_what_has_to_be_quoted(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(1);
    json_t *key = json_object_get(json_array_get(json_object_get(result.root, "cases"), 0), "key");
    tree_put(key, "workload", tree_text("a \"b\", c"));
    char *text = print(result.root, TABLE_CSV);
    assert_non_null(strstr(text, ",\"a \"\"b\"\", c\",small,"));
    free(text);
    result_tree_free(&result);
}

/* The wrong case ran in 1 µs, all others in 500 µs and more: no format may let that out. */
static void no_time_for_a_wrong_answer(void **state)
{
    (void)state;
    for (int f = TABLE_TEXT; f <= TABLE_CSV; f++) {
        char *text = print_fixture(6, (enum table_format)f);
        bool found = false;
        for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
            if (!strstr(line, "bufalloc"))
                continue;
            found = true;
            if (!strstr(line, "not ranked on host: bufalloc (wrong)"))
                assert_non_null(strstr(line, f == TABLE_CSV ? ",wrong,,,,,,," : "WRONG"));
            assert_null(strstr(line, "1.00 µs"));
        }
        assert_true(found);
        free(text);
    }
}

static void few_rounds_give_no_interval(void **state)
{
    (void)state;
    char *text = print_fixture(5, TABLE_TEXT);
    assert_null(strstr(text, "±"));
    assert_non_null(strstr(text, "No intervals: they need at least 6 rounds."));
    free(text);
}

static void no_cases_is_still_a_table(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(0);
    for (int f = 0; f < TABLE_FORMATS; f++) {
        char *text = print(result.root, (enum table_format)f);
        assert_int_equal(strlen(text) > 0, f != TABLE_JSON_LINES); /* which has a line a case */
        free(text);
    }
    result_tree_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_table),
        cmocka_unit_test(markdown_table),
        cmocka_unit_test(over_best),
        cmocka_unit_test(means_are_ranked),
        cmocka_unit_test(means_alone),
        cmocka_unit_test(ratios_without_raw),
        cmocka_unit_test(csv),
        cmocka_unit_test(csv_quotes_what_has_to_be_quoted),
        cmocka_unit_test(no_time_for_a_wrong_answer),
        cmocka_unit_test(few_rounds_give_no_interval),
        cmocka_unit_test(no_cases_is_still_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
