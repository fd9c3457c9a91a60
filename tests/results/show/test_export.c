/* The formats of other tools, on a made-up result that has a case of each kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "results/show/table.h"
#include "tests/base/cmocka.h"
#include "tests/results/file/record_fixture.h"

static char *print(const json_t *root, enum table_format format)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(table_print(result_tree_read(root), format, TABLE_CASES, out, NULL), 0);
    fclose(out);
    return text;
}

static json_t *printed(const json_t *root, enum table_format format)
{
    char *text = print(root, format);
    json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(tree);
    free(text);
    return tree;
}

static size_t cases_that_are_ok(const json_t *root)
{
    size_t i, count = 0;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), i, one_case) count +=
        strcmp(tree_get_text(one_case, "status"), "ok") == 0;
    return count;
}

/* The schema of bencher.dev/bmf.json: benchmarks, of measures, of numbers. */
static void bmf_has_the_shape_that_bencher_reads(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    json_t *bmf = printed(result.root, TABLE_BMF), *measures, *metric, *value;
    const char *name, *measure, *member;
    json_object_foreach(bmf, name, measures)
    {
        assert_true(json_object_size(measures) > 0);
        assert_non_null(json_object_get(measures, "latency"));
        json_object_foreach(measures, measure, metric)
        {
            assert_true(strlen(measure) <= 64);
            assert_true(json_is_number(json_object_get(metric, "value")));
            json_object_foreach(metric, member, value)
            {
                assert_true(strcmp(member, "value") == 0 || strcmp(member, "lower_value") == 0 ||
                            strcmp(member, "upper_value") == 0);
                assert_true(json_is_number(value));
            }
        }
        metric = json_object_get(measures, "latency");
        assert_true(tree_get_number(metric, "lower_value") <= tree_get_number(metric, "value"));
        assert_true(tree_get_number(metric, "value") <= tree_get_number(metric, "upper_value"));
    }
    assert_int_equal(json_object_size(bmf), cases_that_are_ok(result.root));
    json_decref(bmf);
    result_tree_free(&result);
}

static void a_few_rounds_have_no_interval(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(2);
    json_t *bmf = printed(result.root, TABLE_BMF), *measures;
    const char *name;
    json_object_foreach(bmf, name, measures)
    {
        const json_t *latency = json_object_get(measures, "latency");
        assert_null(json_object_get(latency, "lower_value"));
    }
    json_decref(bmf);
    result_tree_free(&result);
}

/* What compare.py reads of every entry. */
static void check_entry(const json_t *entry)
{
    assert_true(*tree_get_text(entry, "name"));
    assert_true(json_is_real(json_object_get(entry, "real_time")));
    assert_true(json_is_real(json_object_get(entry, "cpu_time")));
    assert_true(json_is_integer(json_object_get(entry, "iterations")));
    assert_string_equal(tree_get_text(entry, "time_unit"), "ns");
}

static void google_benchmark_has_a_repetition_a_round(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    json_t *tree = printed(result.root, TABLE_GOOGLE_BENCHMARK), *entry;
    size_t i, iterations = 0, medians = 0;
    json_array_foreach(json_object_get(tree, "benchmarks"), i, entry)
    {
        const char *type = tree_get_text(entry, "run_type");
        check_entry(entry);
        if (strcmp(type, "iteration") == 0) {
            assert_int_equal(tree_get_number(entry, "repetition_index"), iterations % 6);
            assert_true(json_is_number(json_object_get(entry, "peak_reserved_bytes")));
            iterations++;
        } else {
            assert_string_equal(type, "aggregate");
            const char *kind = tree_get_text(entry, "aggregate_name");
            const char *name = tree_get_text(entry, "name");
            assert_string_equal(name + strlen(name) - strlen(kind), kind);
            medians += strcmp(kind, "median") == 0;
        }
    }
    assert_int_equal(iterations, 6 * cases_that_are_ok(result.root));
    assert_int_equal(medians, cases_that_are_ok(result.root));
    const json_t *context = json_object_get(tree, "context");
    assert_int_equal(json_object_size(json_object_get(context, "without_time")),
                     json_array_size(json_object_get(result.root, "cases")) -
                         cases_that_are_ok(result.root));
    assert_int_equal(tree_get_number(context, "json_schema_version"), 1);
    json_decref(tree);
    result_tree_free(&result);
}

static void a_line_is_a_case(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    char *text = print(result.root, TABLE_JSON_LINES);
    size_t lines = 0;
    for (char *line = text; *line; lines++) {
        char *end = strchr(line, '\n');
        *end = 0;
        json_t *tree = json_loads(line, 0, NULL), *value;
        const char *name;
        assert_non_null(tree);
        const bool is_ok = strcmp(tree_get_text(tree, "status"), "ok") == 0;
        assert_int_equal(json_is_number(json_object_get(tree, "wall_ns")), is_ok);
        assert_int_equal(json_is_number(json_object_get(tree, "cold_alloc_count")), is_ok);
        json_object_foreach(tree, name, value)
            assert_false(json_is_object(value) || json_is_array(value));
        json_decref(tree);
        line = end + 1;
    }
    assert_int_equal(lines, json_array_size(json_object_get(result.root, "cases")));
    free(text);
    result_tree_free(&result);
}

/* A metric of a result, or NULL. */
static const json_t *metric_of(const json_t *result, const char *name)
{
    const json_t *metrics = json_object_get(result, "metrics"), *each;
    for (size_t i = 0; (each = json_array_get(metrics, i)); i++)
        if (strcmp(tree_get_text(each, "name"), name) == 0)
            return each;
    return NULL;
}

static void put_fact(json_t *root, const char *object, const char *member, json_t *value)
{
    json_t *context = json_object_get(root, "context");
    tree_put(json_object_get(context, object), member, value);
}

/* Otava's importer refuses a history whose results have other metrics than one another. */
static void a_history_has_every_metric_in_every_result(void **state)
{
    (void)state;
    static const char count[] = "stencil/small/none/last-use/pool/host/peak_reserved_bytes";
    static const char here[] = "stencil/small/none/last-use/pool/host/wall_ns@aaaaaaaa";
    static const char there[] = "stencil/small/none/last-use/pool/host/wall_ns@bbbbbbbb";
    struct result_tree first = record_fixture(6), empty = record_fixture(6),
                       second = record_fixture(6);
    char *text;
    size_t length;
    put_fact(first.root, "host", "machine_id", tree_text("aaaaaaaa"));
    put_fact(second.root, "host", "machine_id", tree_text("bbbbbbbb"));
    put_fact(first.root, "tool", "git_rev", tree_text("0123456789ab"));
    put_fact(first.root, "tool", "git_dirty", json_false());
    put_fact(second.root, "tool", "git_dirty", json_true());
    tree_put(json_object_get(first.root, "run"), "started_at", tree_text("2026-01-02T00:00:01Z"));
    json_array_clear(json_object_get(empty.root, "cases"));
    FILE *out = open_memstream(&text, &length);
    const struct result all[] = {*result_tree_read(first.root), *result_tree_read(empty.root),
                                 *result_tree_read(second.root)};
    assert_int_equal(table_print_history(all, 3, out, NULL), 0);
    fclose(out);
    json_t *history = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *a = json_array_get(history, 0), *b = json_array_get(history, 1);
    assert_int_equal(json_array_size(history), 2);
    assert_int_equal(json_array_size(json_object_get(a, "metrics")),
                     json_array_size(json_object_get(b, "metrics")));
    assert_int_equal(tree_get_number(a, "timestamp"), 1767312001);
    assert_string_equal(tree_get_text(json_object_get(a, "attributes"), "commit"), "0123456789ab");
    assert_non_null(strstr(tree_get_text(json_object_get(b, "attributes"), "commit"), "-dirty"));
    assert_true(tree_get_number(metric_of(a, count), "value") ==
                tree_get_number(metric_of(b, count), "value"));
    assert_true(json_is_number(json_object_get(metric_of(a, here), "value")));
    assert_true(json_is_null(json_object_get(metric_of(b, here), "value")));
    assert_true(json_is_number(json_object_get(metric_of(b, there), "value")));
    json_decref(history);
    free(text);
    result_tree_free(&first);
    result_tree_free(&empty);
    result_tree_free(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bmf_has_the_shape_that_bencher_reads),
        cmocka_unit_test(a_few_rounds_have_no_interval),
        cmocka_unit_test(google_benchmark_has_a_repetition_a_round),
        cmocka_unit_test(a_line_is_a_case),
        cmocka_unit_test(a_history_has_every_metric_in_every_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
