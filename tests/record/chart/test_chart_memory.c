/* The data of the charts that show what the memory of a case does. That gnuplot draws them is in
 * test_chart.c, as for all charts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/base/golden.h"
#include "tests/merge/memory_fixture.h"
#include "record/chart/chart.h"
#include "base/tree.h"
#include "tests/record/result/record_fixture.h"

static const char *const names[] = {"memory_timeline", "fragmentation", "address_map", "latency"};
enum { NAMES = 4 };

/* The script's variables and the data, or the error; the caller frees *text. */
static int print(const char *name, const json_t *root, char **text, struct error *error)
{
    const struct chart *chart;
    const struct chart_subject of = {
        .root = root, .device = "host", .workload = "canny", .dataset = "small"};
    struct text variables = {0};
    char *data;
    size_t length;
    assert_int_equal(chart_find(name, &chart, error), 0);
    assert_int_equal(chart->scope, CHART_OF_WORKLOAD);
    FILE *out = open_memstream(&data, &length);
    int code = chart_write(chart, &of, out, &variables, error);
    fclose(out);
    assert_true(asprintf(text, "%s\n%s", variables.data, data) > 0);
    free(data);
    text_free(&variables);
    return code;
}

static void data_is_as_reviewed(void **state)
{
    (void)state;
    struct result_draft result = record_fixture(1);
    memory_fixture_add(&result);
    for (size_t i = 0; i < NAMES; i++) {
        char *text, file[64];
        struct error error;
        assert_int_equal(print(names[i], result.root, &text, &error), 0);
        snprintf(file, sizeof file, "chart_%s.dat", names[i]);
        golden_check(file, text);
        free(text);
    }
    result_free(&result);
}

static void who_was_not_looked_at_has_no_chart(void **state)
{
    (void)state;
    struct result_draft result = record_fixture(1);
    for (size_t i = 0; i < NAMES; i++) {
        char *text;
        struct error error;
        assert_int_equal(print(names[i], result.root, &text, &error), ERR_NOT_FOUND);
        assert_non_null(strstr(error.text, "gamut run --timeline on"));
        free(text);
    }
    result_free(&result);
}

/* A map that leaves blocks out has cells for all of them; an older one says where it has none. */
static void what_is_left_out_is_not_free(void **state)
{
    (void)state;
    const char *cover =
        "{\"map\": {\"blocks_left_out\": 40, \"left_out_from\": 7, \"cover\": {\"stride\": 4,"
        "\"row_bytes\": 1024, \"least\": [\"0f0\", \"000\"], \"most\": [\"7ff\", \"0f0\"],"
        "\"held\": [\"fff\", \"0f0\"]}}}";
    for (int is_old = 0; is_old < 2; is_old++) {
        struct result_draft result = record_fixture(1);
        memory_fixture_add(&result);
        json_t *patch = json_loads(cover, 0, NULL), *each;
        size_t i;
        if (is_old)
            json_object_del(json_object_get(patch, "map"), "cover");
        json_array_foreach(json_object_get(result.root, "cases"), i, each)
        {
            const char *strategy = tree_get_text(json_object_get(each, "key"), "strategy");
            if (strcmp(strategy, "pool") == 0 && json_object_get(each, "memory"))
                json_object_update_recursive(json_object_get(each, "memory"), patch);
        }
        char *text;
        struct error error;
        assert_int_equal(print("address_map", result.root, &text, &error), 0);
        if (is_old) {
            assert_non_null(strstr(text,
                                   "# pool: where blocks are missing\n# born died from to "
                                   "colour label\n-2 -1 -2 -1 1 \"\"\n7 12 0 204800 0 \"\"\n"));
            assert_non_null(strstr(text, "0 to 40 blocks left out of a panel"));
        } else {
            assert_non_null(strstr(text, "1 \"pool\" 12 2048 4 1024\n"));
            assert_non_null(strstr(text, "# column row held most least\n"
                                         "0.5 0.5 1 0.5 0\n1.5 0.5 1 1 1\n2.5 0.5 1 1 0\n"
                                         "0.5 1.5 0 0 0\n1.5 1.5 1 1 0\n2.5 1.5 0 0 0\n"));
            assert_non_null(strstr(text, "dark: in blocks all the time of a cell"));
        }
        free(text);
        json_decref(patch);
        result_free(&result);
    }
}

static void a_wrong_case_has_no_panel(void **state)
{
    (void)state;
    struct result_draft result = record_fixture(1);
    memory_fixture_add(&result);
    size_t c;
    json_t *one_case;
    json_array_foreach(json_object_get(result.root, "cases"), c, one_case)
    {
        if (strcmp(tree_get_text(json_object_get(one_case, "key"), "strategy"), "tagged") == 0)
            tree_put(one_case, "status", tree_text("wrong"));
    }
    for (size_t i = 0; i < NAMES; i++) {
        char *text;
        struct error error;
        assert_int_equal(print(names[i], result.root, &text, &error), 0);
        assert_non_null(strstr(text, "pool"));
        assert_null(strstr(text, "tagged"));
        free(text);
    }
    result_free(&result);
}

/* Files are edited and truncated by hand: columns of different lengths, numbers out of range. What
 * is drawn then is nobody's concern, but nothing is read that is not there. */
static void uneven_columns_do_no_harm(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "{\"timeline\": {\"step\": [1, 2, 3], \"reserved_bytes\": []}}",
        "{\"map\": {\"blocks\": {\"memory\": [100000000, 3, 0], \"tag\": [77]}}}",
        "{\"map\": {\"arrays\": {\"block\": [100000000, 3, 0], \"name\": [-1]}, \"names\": []}}",
        "{\"map\": {\"memories\": {\"died\": []}}}",
        "{\"latency\": {\"cold\": {\"alloc\": {\"from_ns\": [4611686018427387904, 1],"
        " \"calls\": []}}}}",
        "{\"steps\": 0, \"timer_ns\": 0}",
        "{\"map\": {\"cover\": {\"most\": [\"ff\", \"f\"], \"least\": [3], \"held\": null, "
        "\"stride\": 0}}}",
    };
    for (size_t b = 0; b < sizeof broken / sizeof *broken; b++) {
        struct result_draft result = record_fixture(1);
        memory_fixture_add(&result);
        json_t *patch = json_loads(broken[b], 0, NULL), *each;
        assert_non_null(patch);
        size_t i;
        json_array_foreach(json_object_get(result.root, "cases"), i, each)
        {
            json_t *memory = json_object_get(each, "memory");
            if (memory)
                json_object_update_recursive(memory, patch);
        }
        for (size_t n = 0; n < NAMES; n++) {
            char *text;
            struct error error;
            assert_int_equal(print(names[n], result.root, &text, &error), 0);
            free(text);
        }
        json_decref(patch);
        result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_as_reviewed),
        cmocka_unit_test(who_was_not_looked_at_has_no_chart),
        cmocka_unit_test(what_is_left_out_is_not_free),
        cmocka_unit_test(a_wrong_case_has_no_panel),
        cmocka_unit_test(uneven_columns_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
