/* What a result looks like as a table, Markdown, CSV and chart data, on a made-up result that has a
 * case of each kind: good, out of memory, wrong, not deterministic, without a baseline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "golden.h"
#include "record/chart.h"
#include "record/table.h"
#include "record/tree.h"
#include "record_fixture.h"

static char *print(const json_t *root, enum table_format format)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    struct error error = {0};
    assert_int_equal(table_print(root, format, out, &error), 0);
    fclose(out);
    return text;
}

static char *print_fixture(unsigned rounds, enum table_format format)
{
    struct result result = record_fixture(rounds);
    char *text = print(result.root, format);
    result_free(&result);
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
    struct result result = record_fixture(6);
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
    result_summarise(result.root);
    char *text = print(result.root, TABLE_TEXT), *csv = print(result.root, TABLE_CSV);
    const char *host = strstr(text, "stencil small on host");
    const char *opencl = strstr(text, "stencil small on opencl:0");
    assert_non_null(strstr(text, "over best"));
    assert_true(host && strstr(host, "+25.0 %") && strstr(host, "+25.0 %") < opencl);
    assert_true(strstr(host, "+0.0 %") && strstr(host, "+0.0 %") < opencl);
    assert_null(strstr(opencl, "+25.0 %")); /* nothing there to compare with */
    assert_non_null(strstr(csv, ",tagged,host,ok,peak_over_best,ratio,exact,1.25,,,\n"));
    assert_non_null(strstr(csv, ",raw,opencl:0,ok,peak_over_best,ratio,exact,,,,\n"));
    free(text);
    free(csv);
    result_free(&result);
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
        assert_int_equal(commas, 15);
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
    struct result result = record_fixture(1);
    json_t *key = json_object_get(json_array_get(json_object_get(result.root, "cases"), 0), "key");
    tree_put(key, "workload", tree_text("a \"b\", c"));
    char *text = print(result.root, TABLE_CSV);
    assert_non_null(strstr(text, ",\"a \"\"b\"\", c\",small,"));
    free(text);
    result_free(&result);
}

/* The wrong case ran in 1 us, all others in 500 us and more: no format may let that out. */
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
            assert_non_null(strstr(line, f == TABLE_CSV ? ",wrong,,,,,,," : "WRONG"));
            assert_null(strstr(line, "1.00 us"));
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
    struct result result = record_fixture(0);
    for (int f = 0; f < TABLE_FORMATS; f++) {
        char *text = print(result.root, (enum table_format)f);
        assert_true(strlen(text) > 0);
        free(text);
    }
    result_free(&result);
}

static void formats_by_name(void **state)
{
    (void)state;
    struct error error;
    enum table_format format;
    for (int f = 0; f < TABLE_FORMATS; f++) {
        const char *name = table_format_name((enum table_format)f);
        assert_int_equal(table_format_parse(name, &format, &error), 0);
        assert_int_equal(format, f);
    }
    assert_int_equal(table_format_parse("xml", &format, &error), ERR_USAGE);
    assert_non_null(strstr(error.text, "csv"));
}

static char *chart_data(const json_t *root, const char *chart, const char *device,
                        const char *strategy)
{
    char *text;
    size_t length;
    struct error error = {0};
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(chart_write(root, chart, device, strategy, out, &error), 0);
    fclose(out);
    return text;
}

/* The fixture as if all were run under pool: tagged stands for no merging, raw and pool for two
 * sets. */
static struct result merged_fixture(void)
{
    struct result result = record_fixture(6);
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(result.root, "cases"), i, each)
    {
        json_t *key = json_object_get(each, "key");
        const char *strategy = tree_get_text(key, "strategy");
        const char *merge = strcmp(strategy, "pool") == 0     ? "best"
                            : strcmp(strategy, "raw") == 0    ? "reuse"
                            : strcmp(strategy, "tagged") == 0 ? "none"
                                                              : NULL;
        json_t *warm = json_object_get(json_object_get(each, "counters"), "warm");
        json_t *cold = json_object_get(json_object_get(each, "counters"), "cold");
        if (!merge || strcmp(tree_get_text(key, "device"), "host") != 0)
            continue;
        if (strcmp(merge, "best") == 0 && cold) {
            tree_put(warm, "peak_requested_bytes", tree_count(15 << 20));
            tree_put(cold, "peak_requested_bytes", tree_count(10 << 20));
        }
        tree_put(key, "merge", tree_text(merge));
        tree_put(key, "strategy", tree_text("pool"));
    }
    result_summarise(result.root);
    return result;
}

static void merging_charts_show_one_strategy(void **state)
{
    (void)state;
    struct result result = merged_fixture(), plain = record_fixture(6);
    char *text = chart_data(result.root, "merging", "host", "pool");
    golden_check("merging.dat", text);
    free(text);
    assert_true(chart_is_of_one_strategy("merging") && !chart_is_of_one_strategy("speedup"));
    assert_string_equal(chart_strategy(plain.root, "host", 0), "raw");
    assert_string_equal(chart_strategy(plain.root, "opencl:0", 0), "raw");
    assert_null(chart_strategy(plain.root, "opencl:0", 1));
    struct error error = {0};
    assert_int_equal(chart_write(plain.root, "merging", "host", "pool", stdout, &error),
                     ERR_NOT_FOUND);
    result_free(&result);
    result_free(&plain);
}

static void chart_data_of_each_chart(void **state)
{
    (void)state;
    struct result result = record_fixture(6);
    const char *chart;
    for (size_t i = 0; (chart = chart_name(i)); i++) {
        if (chart_is_of_one_strategy(chart))
            continue; /* above */
        char name[64], *text = chart_data(result.root, chart, "host", NULL);
        snprintf(name, sizeof name, "%s.dat", chart);
        golden_check(name, text);
        free(text);
    }
    result_free(&result);
}

/* What a device cannot run at all is no series of bars that are missing. */
static void what_is_skipped_everywhere_is_no_series(void **state)
{
    (void)state;
    for (size_t kept = 0; kept < 2; kept++) {
        struct result result = record_fixture(6);
        size_t i, seen = 0;
        json_t *one_case;
        json_array_foreach(json_object_get(result.root, "cases"), i, one_case)
        {
            const json_t *key = json_object_get(one_case, "key");
            if (strcmp(tree_get_text(key, "strategy"), "pool") == 0 &&
                strcmp(tree_get_text(key, "device"), "host") == 0 && seen++ >= kept)
                tree_put(one_case, "status", tree_text("skipped"));
        }
        assert_true(seen > 1);
        char *text = chart_data(result.root, "speedup", "host", NULL);
        assert_int_equal(strstr(text, "# pool\n") != NULL, kept > 0);
        assert_non_null(strstr(text, "# tagged"));
        free(text);
        result_free(&result);
    }
}

static void chart_errors(void **state)
{
    (void)state;
    static const struct {
        const char *chart, *device, *message;
    } cases[] = {
        {"pie", "host", "there are speedup, peak_memory, merging"},
        {"speedup", "cuda:0", "no case on cuda:0"},
        {"speedup", "opencl:0", "no case on opencl:0"}, /* only the baseline was run there */
    };
    struct result result = record_fixture(6);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        assert_int_equal(
            chart_write(result.root, cases[i].chart, cases[i].device, NULL, stdout, &error),
            ERR_NOT_FOUND);
        assert_non_null(strstr(error.text, cases[i].message));
    }
    result_free(&result);
}

static bool starts_with(const char *path, const char *bytes, size_t length)
{
    char start[16] = {0};
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(start, 1, length, file) : 0;
    if (file)
        fclose(file);
    return got == length && memcmp(start, bytes, length) == 0;
}

/* Where there is gnuplot, both files come out; where there is none, the error says so. */
static void charts_are_drawn(void **state)
{
    (void)state;
    struct result result = merged_fixture();
    char folder[] = "/tmp/gamut-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    bool has_gnuplot = system("command -v gnuplot >/dev/null 2>&1") == 0;
    const char *chart;
    for (size_t i = 0; (chart = chart_name(i)); i++) {
        static const char *const endings[] = {".dat", ".svg", ".png"};
        static const char *const starts[] = {"# gamut", "<?xml", "\x89PNG"};
        struct text made = {0};
        struct error error = {0};
        const char *strategy = chart_is_of_one_strategy(chart) ? "pool" : NULL;
        int rc = chart_draw(result.root, chart, "host", strategy, GAMUT_ROOT "/plots", folder,
                            &made, &error);
        if (has_gnuplot && rc)
            fail_msg("%s", error.text);
        if (!has_gnuplot) {
            assert_int_equal(rc, ERR_UNSUPPORTED);
            assert_non_null(strstr(error.text, "install"));
            snprintf(error.text, sizeof error.text, "%s/%s-host%s.dat", folder, chart,
                     strategy ? "-pool" : "");
            unlink(error.text);
            continue;
        }
        for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
            char path[512];
            snprintf(path, sizeof path, "%s%s", made.data, endings[e]);
            assert_true(starts_with(path, starts[e], strlen(starts[e])));
            unlink(path);
        }
        text_free(&made);
    }
    assert_int_equal(rmdir(folder), 0);
    result_free(&result);
}

static void gnuplot_is_missing(void **state)
{
    (void)state;
    struct result result = record_fixture(6);
    struct error error = {0};
    char folder[] = "/tmp/gamut-test-XXXXXX", data[512];
    const char *before = getenv("PATH");
    char *path = strdup(before ? before : "");
    assert_non_null(mkdtemp(folder));
    setenv("PATH", folder, 1);
    int rc = chart_draw(result.root, "speedup", "host", NULL, "plots", folder, NULL, &error);
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(rc, ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "gnuplot is not installed"));
    snprintf(data, sizeof data, "%s/speedup-host.dat", folder);
    assert_int_equal(unlink(data), 0);
    rmdir(folder);
    result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_table),
        cmocka_unit_test(markdown_table),
        cmocka_unit_test(over_best),
        cmocka_unit_test(csv),
        cmocka_unit_test(csv_quotes_what_has_to_be_quoted),
        cmocka_unit_test(no_time_for_a_wrong_answer),
        cmocka_unit_test(few_rounds_give_no_interval),
        cmocka_unit_test(no_cases_is_still_a_table),
        cmocka_unit_test(formats_by_name),
        cmocka_unit_test(chart_data_of_each_chart),
        cmocka_unit_test(merging_charts_show_one_strategy),
        cmocka_unit_test(what_is_skipped_everywhere_is_no_series),
        cmocka_unit_test(chart_errors),
        cmocka_unit_test(charts_are_drawn),
        cmocka_unit_test(gnuplot_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
