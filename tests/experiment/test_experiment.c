/* Experiments in a result: what follows from rounds, answers that must agree, tables, bad files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "experiment/experiment.h"
#include "tests/record/result/experiment_fixture.h"
#include "tests/base/golden.h"
#include "record/result/case_tree.h"
#include "record/result/experiment_result.h"
#include "record/table/experiment_table.h"
#include "base/tree.h"
#include "tests/record/result/record_fixture.h"

static struct result_draft fixture(void)
{
    struct result_draft result = record_fixture(1);
    experiment_fixture_add(&result, "host");
    return result;
}

static json_t *row_at(const struct result_draft *result, const char *name, size_t i)
{
    return json_array_get(json_object_get(experiment_find(result->root, name, "host"), "rows"), i);
}

static void what_follows_from_rounds(void **state)
{
    struct result_draft result = fixture();
    const json_t *pool = row_at(&result, "isosurface", 0);
    (void)state;
    assert_true(case_is_ok(pool));
    assert_true(case_stat(pool, "frame_ns", "median") == 1500002.5); /* of 1500002 and 1500003 */
    assert_true(case_stat(pool, "frame_ns", "max") == 1500005);
    assert_true(case_stat(pool, "empty_ratio", "median") == 0.625);
    const json_t *skipped = row_at(&result, "isosurface", 2);
    assert_true(case_is_skipped(skipped));
    assert_string_equal(tree_get_text(skipped, "reason"), "it could not");
    assert_int_equal(json_object_size(json_object_get(skipped, "stats")), 0);
    assert_int_equal(json_array_size(json_object_get(pool, "warnings")), 0);
    result_free(&result);
}

static void a_row_that_never_came(void **state)
{
    struct result_draft result = fixture();
    json_t *e = experiment_find(result.root, "stall", "host");
    json_t *key = json_pack("{s:s, s:s, s:i, s:i}", "method", "heap", "strategy", "-", "spin_ns", 7,
                            "host_work_ns", 7);
    (void)state;
    const json_t *row = experiment_expect_row(e, key);
    assert_ptr_equal(experiment_expect_row(e, key), row);
    experiment_summarise(e);
    assert_true(case_is_skipped(row));
    assert_non_null(strstr(tree_get_text(row, "reason"), "not measured"));
    assert_int_equal(result_validate(result.root, NULL), 0);
    json_decref(key);
    result_free(&result);
}

/* The answer is the first one's, whatever the device; other options have other answers. */
static void answers_agree(void **state)
{
    struct result_draft result = fixture();
    json_t *e = experiment_find(result.root, "isosurface", "host");
    json_t *other = json_deep_copy(e),
           *heap = json_pack("{s:s, s:s}", "method", "heap", "strategy", "-");
    (void)state;
    json_array_clear(json_object_get(other, "rows"));
    tree_put(other, "device", tree_text("opencl:0"));
    result_set_experiment(&result, other);
    experiment_add_round(result.root, other, heap,
                         experiment_fixture_round("ok", 0, "00ff", "frame_ns", 5));
    experiment_add_round(result.root, other, heap,
                         experiment_fixture_round("ok", 1, "00fe", "frame_ns", 5));
    experiment_summarise(other);
    const json_t *row = json_array_get(json_object_get(other, "rows"), 0);
    assert_string_equal(tree_get_text(row, "status"), "wrong");
    assert_string_equal(
        tree_get_text(row, "reason"),
        "the answer 00fe differs from 00ff, that of method=readback strategy=pool on "
        "host");
    assert_int_equal(json_object_size(json_object_get(row, "stats")), 0);

    json_array_clear(json_object_get(other, "rows"));
    tree_put(json_object_get(other, "options"), "cells", tree_count(9));
    experiment_add_round(result.root, other, heap,
                         experiment_fixture_round("ok", 0, "00fe", "frame_ns", 5));
    experiment_summarise(other);
    assert_true(case_is_ok(json_array_get(json_object_get(other, "rows"), 0)));
    json_decref(heap);
    result_free(&result);
}

static void what_should_be_the_same(void **state)
{
    struct result_draft result = fixture();
    json_t *e = experiment_find(result.root, "isosurface", "host");
    json_t *key = json_pack("{s:s, s:s}", "method", "worst", "strategy", "-");
    (void)state;
    for (unsigned round = 0; round < 3; round++)
        experiment_add_round(
            result.root, e, key,
            experiment_fixture_round("ok", round, "00ff", "peak_reserved_bytes", 64 + round));
    const json_t *warnings =
        json_object_get(json_array_get(json_object_get(e, "rows"), 3), "warnings");
    assert_int_equal(json_array_size(warnings), 1);
    assert_string_equal(tree_get_text(json_array_get(warnings, 0), "code"), "not-deterministic");
    assert_string_equal(tree_get_text(json_array_get(warnings, 0), "subject"),
                        "peak_reserved_bytes");
    json_decref(key);
    result_free(&result);
}

static void tables(void **state)
{
    static const struct {
        enum table_format format;
        const char *golden;
    } cases[] = {{TABLE_TEXT, "experiment.txt"},
                 {TABLE_MARKDOWN, "experiment.md"},
                 {TABLE_CSV, "experiment.csv"}};
    struct result_draft result = fixture();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        experiment_tables_print(result.root, cases[i].format, out);
        fclose(out);
        golden_check(cases[i].golden, text);
        free(text);
    }
    result_free(&result);
}

/* Each fault alone, in a file that is right but for it. */
static void bad_files(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"\"method\":\"heap\"", "\"method\":3", "rows[1].key.method: expected a text"},
        {"\"spin_ns\":5000", "\"spin_ns\":\"5000\"", "key.spin_ns: expected an integer"},
        {"\"status\":\"skipped\"", "\"status\":\"tired\"", "\"tired\" is none of ok, skipped"},
        {"\"name\":\"stall\"", "\"name\":\"isosurface\"", "has the same name and device"},
        {"\"strategy\":\"stream\"", "\"strategy\":\"pool\"", "rows[2].key: rows[0] has the same"},
        {"\"rows\":[", "\"rows\":7,\"old\":[", "rows: expected an array"},
        {"\"samples\":{\"frame_ns\":[", "\"samples\":{\"frame_ns\":[null,", "expected a number"},
    };
    struct result_draft result = fixture();
    char *good = json_dumps(json_object_get(result.root, "experiments"), JSON_COMPACT);
    (void)state;
    assert_int_equal(result_validate(result.root, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text bad = {0};
        struct error error = {0};
        const char *at = strstr(good, cases[i].from);
        assert_non_null(at);
        text_add(&bad, "%.*s%s%s", (int)(at - good), good, cases[i].to, at + strlen(cases[i].from));
        tree_put(result.root, "experiments", json_loads(bad.data, 0, NULL));
        assert_int_equal(result_validate(result.root, &error), ERR_PARSE);
        if (!strstr(error.text, cases[i].message))
            fail_msg("'%s' lacks '%s'", error.text, cases[i].message);
        text_free(&bad);
    }
    free(good);
    result_free(&result);
}

/* Every experiment has what the harness relies on, and rows that differ. */
static void experiments_of_the_list(void **state)
{
    size_t count;
    const struct experiment *const *all = experiment_list(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct experiment *e;
        struct experiment_settings settings = {.strategies = "raw,pool"};
        struct experiment_plan plan = {0};
        struct error error = {0};
        size_t parameters = 0;
        assert_int_equal(experiment_parse(all[i]->name, &e, &settings.options, &error), 0);
        assert_ptr_equal(e, all[i]);
        while (e->parameters[parameters].name)
            parameters++;
        assert_in_range(parameters, 1, EXPERIMENT_PARAMETERS_MAX);
        assert_in_range(e->metric_count, 1, EXPERIMENT_METRICS_MAX);
        assert_int_equal(e->plan(&settings, &plan, &error), 0);
        assert_true(plan.count > 0);
        for (size_t a = 0; a < plan.count; a++)
            for (size_t b = 0; b < a; b++) {
                json_t *x = experiment_key_to_json(e, &plan.rows[a]);
                json_t *y = experiment_key_to_json(e, &plan.rows[b]);
                assert_false(json_equal(x, y));
                json_decref(x);
                json_decref(y);
            }
        experiment_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_from_rounds),
        cmocka_unit_test(a_row_that_never_came),
        cmocka_unit_test(answers_agree),
        cmocka_unit_test(what_should_be_the_same),
        cmocka_unit_test(tables),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(experiments_of_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
