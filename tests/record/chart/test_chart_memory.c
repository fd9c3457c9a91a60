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
    struct result result = record_fixture(1);
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
    struct result result = record_fixture(1);
    for (size_t i = 0; i < NAMES; i++) {
        char *text;
        struct error error;
        assert_int_equal(print(names[i], result.root, &text, &error), ERR_NOT_FOUND);
        assert_non_null(strstr(error.text, "gamut run --timeline on"));
        free(text);
    }
    result_free(&result);
}

static void a_wrong_case_has_no_panel(void **state)
{
    (void)state;
    struct result result = record_fixture(1);
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
    };
    for (size_t b = 0; b < sizeof broken / sizeof *broken; b++) {
        struct result result = record_fixture(1);
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
        cmocka_unit_test(a_wrong_case_has_no_panel),
        cmocka_unit_test(uneven_columns_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
