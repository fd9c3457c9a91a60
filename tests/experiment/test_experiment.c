/* Experiments in a result: what follows from rounds, answers that must agree, tables, bad files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/experiment.h"
#include "tests/base/cmocka.h"
#include "tests/results/file/experiment_fixture.h"
#include "tests/base/golden.h"
#include "results/file/experiment_result.h"
#include "results/file/measured.h"
#include "results/show/table.h"
#include "base/tree.h"
#include "tests/results/file/record_fixture.h"

static struct result_tree fixture(void)
{
    struct result_tree result = record_fixture(1);
    experiment_fixture_add(&result, "host");
    return result;
}

static struct result_experiment *experiment_at(struct result *result, const char *name)
{
    return (struct result_experiment *)result_experiment_of(result, name, "host");
}

static void what_follows_from_rounds(void **state)
{
    struct result_tree tree = fixture();
    const struct result *result = result_tree_read(tree.root);
    const struct result_experiment *e = result_experiment_of(result, "isosurface", "host");
    const struct result_case *pool = &e->rows[0], *skipped = &e->rows[2];
    (void)state;
    assert_int_equal(pool->status, CASE_ok);
    assert_true(measured_stat(pool, "frame_ns")->over.median ==
                1500002.5); /* of 1500002 and 1500003 */
    assert_true(measured_stat(pool, "frame_ns")->max == 1500005);
    assert_true(measured_stat(pool, "empty_ratio")->over.median == 0.625);
    assert_int_equal(skipped->status, CASE_skipped);
    assert_string_equal(skipped->reason, "it could not");
    assert_int_equal(skipped->stat_count, 0);
    assert_int_equal(pool->warning_count, 0);
    result_tree_free(&tree);
}

static void a_row_that_never_came(void **state)
{
    struct result_tree tree = fixture();
    struct result_draft draft = result_tree_draft(tree.root);
    struct result *result = &draft.result;
    struct result_experiment *e = experiment_at(result, "stall");
    json_t *key = json_pack("{s:s, s:s, s:i, s:i}", "method", "heap", "strategy", "-", "spin_ns", 7,
                            "host_work_ns", 7);
    (void)state;
    const size_t row = experiment_expect_row(result, e, key);
    assert_int_equal(experiment_expect_row(result, e, key), row);
    experiment_summarise(result, e);
    assert_int_equal(e->rows[row].status, CASE_skipped);
    assert_non_null(strstr(e->rows[row].reason, "not measured"));
    result_tree_put(tree.root, &draft);
    assert_int_equal(result_tree_check(tree.root, NULL), 0);
    json_decref(key);
    result_tree_free(&tree);
}

static void add_round(struct result *result, struct result_experiment *e, json_t *key,
                      json_t *round)
{
    experiment_add_round(result, e, experiment_expect_row(result, e, key), round);
}

/* An isosurface experiment of another device, with the options of the first. */
static struct result_experiment *other_device(struct result *result, const json_t *options)
{
    static const struct experiment_parameter parameters[] = {
        {"method", false, UNIT_COUNT, "how"},
        {"strategy", false, UNIT_COUNT, "the allocator"},
        {NULL, false, UNIT_COUNT, NULL},
    };
    static const struct counter_info metrics[] = {
        {"frame_ns", UNIT_NS, KIND_SAMPLED, BETTER_LOWER, "time of a frame"}};
    return experiment_add(result, "isosurface", "opencl:0", options, parameters, metrics, 1);
}

/* The answer is the first one's, whatever the device; other options have other answers. */
static void answers_agree(void **state)
{
    struct result_tree tree = fixture();
    struct result_draft draft = result_tree_draft(tree.root);
    struct result *result = &draft.result;
    json_t *heap = json_pack("{s:s, s:s}", "method", "heap", "strategy", "-");
    json_t *options = json_deep_copy(experiment_at(result, "isosurface")->options);
    struct result_experiment *other = other_device(result, options);
    (void)state;
    add_round(result, other, heap, experiment_fixture_round("ok", 0, "00ff", "frame_ns", 5));
    add_round(result, other, heap, experiment_fixture_round("ok", 1, "00fe", "frame_ns", 5));
    experiment_summarise(result, other);
    assert_int_equal(other->rows[0].status, CASE_wrong);
    assert_string_equal(
        other->rows[0].reason,
        "the answer 00fe differs from 00ff, that of method=readback strategy=pool on "
        "host");
    assert_int_equal(other->rows[0].stat_count, 0);

    tree_put(options, "cells", tree_count(9));
    other = other_device(result, options);
    add_round(result, other, heap, experiment_fixture_round("ok", 0, "00fe", "frame_ns", 5));
    experiment_summarise(result, other);
    assert_int_equal(other->rows[0].status, CASE_ok);
    json_decref(options);
    json_decref(heap);
    draft_free(&draft);
    result_tree_free(&tree);
}

static void what_should_be_the_same(void **state)
{
    struct result_tree tree = fixture();
    struct result_draft draft = result_tree_draft(tree.root);
    struct result_experiment *e = experiment_at(&draft.result, "isosurface");
    json_t *key = json_pack("{s:s, s:s}", "method", "worst", "strategy", "-");
    (void)state;
    for (unsigned round = 0; round < 3; round++)
        add_round(&draft.result, e, key,
                  experiment_fixture_round("ok", round, "00ff", "peak_reserved_bytes", 64 + round));
    assert_int_equal(e->rows[3].warning_count, 1);
    assert_string_equal(e->rows[3].warnings[0].code, "not-deterministic");
    assert_string_equal(e->rows[3].warnings[0].subject, "peak_reserved_bytes");
    json_decref(key);
    draft_free(&draft);
    result_tree_free(&tree);
}

static void tables(void **state)
{
    static const struct {
        enum table_format format;
        const char *golden;
    } cases[] = {{TABLE_TEXT, "experiment.txt"},
                 {TABLE_MARKDOWN, "experiment.md"},
                 {TABLE_CSV, "experiment.csv"}};
    struct result_tree result = fixture();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        experiment_tables_print(result_tree_read(result.root), cases[i].format, out);
        fclose(out);
        golden_check(cases[i].golden, text);
        free(text);
    }
    result_tree_free(&result);
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
        {"\"samples\":{\"frame_ns\":[", "\"samples\":{\"frame_ns\":[\"1\",", "expected a number"},
    };
    struct result_tree result = fixture();
    char *good = json_dumps(json_object_get(result.root, "experiments"), JSON_COMPACT);
    (void)state;
    assert_int_equal(result_tree_check(result.root, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text bad = {0};
        struct error error = {0};
        const char *at = strstr(good, cases[i].from);
        assert_non_null(at);
        text_add(&bad, "%.*s%s%s", (int)(at - good), good, cases[i].to, at + strlen(cases[i].from));
        tree_put(result.root, "experiments", json_loads(bad.data, 0, NULL));
        assert_int_equal(result_tree_check(result.root, &error), ERR_PARSE);
        if (!strstr(error.text, cases[i].message))
            fail_msg("'%s' lacks '%s'", error.text, cases[i].message);
        text_free(&bad);
    }
    free(good);
    result_tree_free(&result);
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
