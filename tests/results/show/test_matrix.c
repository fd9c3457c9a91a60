/* The matrix of cases: which rows and columns it has, what stands in a cell, and what is left
 * out. */
#include <string.h>

#include "base/tree.h"
#include "results/show/matrix.h"
#include "tests/base/cmocka.h"
#include "tests/results/file/result_tree.h"

static const struct {
    const char *workload, *dataset, *strategy, *merge, *status;
} cases[] = {
    {"canny", "small", "raw", "none", "ok"},         {"canny", "small", "pool", "none", "ok"},
    {"canny", "small", "raw", "best", "wrong"},      {"canny", "small", "pool", "best", "ok"},
    {"canny", "small", "tlsf", "best", "ok"},        {"fft", "small", "raw", "none", "ok"},
    {"fft", "small", "pool", "none", "wrong"},       {"fft", "small", "stream", "none", "skipped"},
    {"canny", "small", "stream", "none", "skipped"},
};

static json_t *make_key(size_t i)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "device", "host", "workload",
                     cases[i].workload, "dataset", cases[i].dataset, "strategy", cases[i].strategy,
                     "merge", cases[i].merge, "release", "last-use");
}

/* A result of these cases, and of one of another device that shall not be seen. */
static json_t *make_result(void)
{
    json_t *root =
        json_pack("{s:[], s:[{s:s, s:s, s:s, s:s, s:f}]}", "cases", "summary", "device", "host",
                  "strategy", "pool", "merge", "none", "release", "last-use", "median", 2.5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tree_append(json_object_get(root, "cases"),
                    json_pack("{s:o, s:s}", "key", make_key(i), "status", cases[i].status));
    json_t *other = json_pack("{s:o, s:s}", "key", make_key(0), "status", "ok");
    tree_put(json_object_get(other, "key"), "device", tree_text("cuda:0"));
    tree_put(json_object_get(other, "key"), "dataset", tree_text("large"));
    tree_append(json_object_get(root, "cases"), other);
    return root;
}

static void assert_labels(const struct labels *labels, const char *expected)
{
    struct text all = {0};
    for (size_t i = 0; i < labels->count; i++)
        text_add(&all, "%s%s", i ? ", " : "", labels->name[i]);
    assert_string_equal(all.data ? all.data : "", expected);
    text_free(&all);
}

static void names_say_what_differs_and_cells_are_cases(void **state)
{
    (void)state;
    json_t *root = make_result();
    const struct chart_subject host = {.result = result_tree_read(root), .device = "host"};
    struct matrix m;
    assert_int_equal(matrix_make("matrix", &host, &(struct matrix_rules){0}, &m, NULL), 0);
    assert_labels(&m.rows, "canny, fft"); /* one dataset, one release policy: not named */
    assert_labels(&m.columns, "raw none, pool none, raw best, pool best, tlsf best");
    assert_labels(&m.skipped, "stream none");
    assert_ptr_equal(matrix_cell(&m, 0, 3), &host.result->cases[3]);
    assert_ptr_equal(matrix_cell(&m, 1, 1), &host.result->cases[6]);
    assert_null(matrix_cell(&m, 1, 2));
    assert_int_equal(matrix_row_count(&m), 2);
    matrix_free(&m);
    json_decref(root);
}

static void a_page_shows_means(void **state)
{
    (void)state;
    static const struct matrix_rules rules = {.has_mean = true};
    json_t *root = make_result();
    const struct chart_subject host = {.result = result_tree_read(root), .device = "host"};
    struct matrix m;
    assert_int_equal(matrix_make("matrix", &host, &rules, &m, NULL), 0);
    assert_labels(&m.rows, "canny, fft, geometric mean");
    assert_labels(&m.columns, "raw none, pool none, raw best, pool best, tlsf best");
    assert_int_equal(matrix_row_count(&m), 2);
    assert_true(m.mean[1]->over.median == 2.5);
    assert_null(m.mean[0]);
    matrix_free(&m);
    json_decref(root);
}

static void nothing_and_too_much_are_errors(void **state)
{
    (void)state;
    json_t *root = make_result();
    const struct chart_subject host = {.result = result_tree_read(root), .device = "host"};
    const struct chart_subject none = {.result = result_tree_read(root), .device = "opencl:0"};
    struct matrix m;
    struct error error = {0};
    assert_int_equal(matrix_make("bars", &none, &(struct matrix_rules){0}, &m, &error),
                     ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, "no case on opencl:0 for the chart bars"));
    assert_int_equal(
        matrix_make("bars", &host, &(struct matrix_rules){.columns_most = 2}, &m, &error),
        ERR_USAGE);
    assert_non_null(strstr(error.text, "5 bars a workload"));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_say_what_differs_and_cells_are_cases),
        cmocka_unit_test(a_page_shows_means),
        cmocka_unit_test(nothing_and_too_much_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
