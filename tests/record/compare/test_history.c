/* Histories of made-up results: what forms a series, in what order, where it steps, and the verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/tree.h"
#include "record/compare/history.h"
#include "tests/record/compare/compare_fixture.h"

/* One file: a result as the spec says, of this revision, run on this day of the month. */
struct entry {
    struct spec spec;
    const char *rev;
    int day;
    const char *machine; /* NULL: "00000001" */
    int64_t committed_at;
    bool dirty;
};

static const struct entry end = {.rev = NULL};

static json_t *result_of(const struct entry *entry)
{
    json_t *root = compare_fixture(&entry->spec), *context = json_object_get(root, "context");
    char text[64];
    snprintf(text, sizeof text, "2026-01-%02dT00:00:00Z", entry->day);
    tree_put(json_object_get(root, "run"), "started_at", tree_text(text));
    snprintf(text, sizeof text, "%016d", entry->day);
    tree_put(json_object_get(root, "run"), "id", tree_text(text));
    tree_put(json_object_get(context, "tool"), "git_rev", tree_text(entry->rev));
    tree_put(json_object_get(context, "tool"), "git_dirty", json_boolean(entry->dirty));
    tree_put(json_object_get(context, "host"), "machine_id",
             tree_text(entry->machine ? entry->machine : "00000001"));
    return root;
}

static struct history_options options_of(const char *metric)
{
    struct history_options options = {.compare = default_options()};
    bool chosen[GATES_MAX] = {false};
    assert_int_equal(gates_mark_metric(metric, chosen, NULL), 0);
    for (size_t i = 0; i < GATES_MAX; i++)
        options.compare.leave_out[i] = !chosen[i];
    return options;
}

static json_t *history_of(const struct entry *entries, const struct history_options *options)
{
    struct history *h = history_new(options);
    for (size_t i = 0; entries[i].rev; i++) {
        json_t *root = result_of(&entries[i]);
        char name[32];
        snprintf(name, sizeof name, "%zu.json", i);
        history_add(h, root, name, entries[i].committed_at - 1);
        json_decref(root);
    }
    json_t *tree = history_tree(h);
    history_free(h);
    return tree;
}

/* The n-th series of the workload. */
static const json_t *series_of(const json_t *history, const char *workload, size_t n)
{
    size_t i;
    json_t *series;
    json_array_foreach(json_object_get(history, "series"), i, series)
    {
        if (strcmp(tree_get_text(series, "workload"), workload) == 0 && n-- == 0)
            return series;
    }
    return NULL;
}

static const json_t *step_of(const json_t *series, size_t i)
{
    return json_array_get(json_object_get(series, "steps"), i);
}

static void check_outcome(json_t *history, enum compare_outcome expected)
{
    assert_int_equal(compare_outcome(history), expected);
    json_decref(history);
}

static void a_slower_revision_is_a_step(void **state)
{
    (void)state;
    const struct entry entries[] = {{.spec = {.wall_ns = 1000000}, .rev = "aaaaaaaaaaaa", .day = 1},
                                    {.spec = {.wall_ns = 1000000}, .rev = "bbbbbbbbbbbb", .day = 2},
                                    {.spec = {.wall_ns = 1100000}, .rev = "cccccccccccc", .day = 3},
                                    end};
    const struct history_options options = options_of("wall_ns");
    json_t *history = history_of(entries, &options);
    const json_t *step = step_of(series_of(history, "canny", 0), 0);
    assert_string_equal(tree_get_text(step, "verdict"), "slower");
    assert_int_equal(tree_get_number(step, "before"), 1);
    assert_int_equal(tree_get_number(step, "run"), 2);
    assert_true(tree_get_number(step, "ratio") > 1.09 && tree_get_number(step, "ratio") < 1.11);
    assert_true(json_is_true(json_object_get(step, "newest")));
    assert_null(step_of(series_of(history, "fft", 0), 0));
    check_outcome(history, COMPARE_regression);
}

static void an_older_step_fails_nothing(void **state)
{
    (void)state;
    const struct entry entries[] = {{.spec = {.wall_ns = 1000000}, .rev = "aaaaaaaaaaaa", .day = 1},
                                    {.spec = {.wall_ns = 1100000}, .rev = "bbbbbbbbbbbb", .day = 2},
                                    {.spec = {.wall_ns = 1100000}, .rev = "cccccccccccc", .day = 3},
                                    end};
    const struct history_options options = options_of("wall_ns");
    json_t *history = history_of(entries, &options);
    assert_false(
        json_is_true(json_object_get(step_of(series_of(history, "canny", 0), 0), "newest")));
    check_outcome(history, COMPARE_ok);
}

static void runs_are_in_the_order_of_their_commits(void **state)
{
    (void)state;
    struct entry entries[] = {
        {.spec = {.wall_ns = 1000000}, .rev = "aaaaaaaaaaaa", .day = 1, .committed_at = 100},
        {.spec = {.wall_ns = 1200000}, .rev = "cccccccccccc", .day = 2, .committed_at = 300},
        {.spec = {.wall_ns = 1000000}, .rev = "bbbbbbbbbbbb", .day = 3, .committed_at = 200},
        end};
    const struct history_options options = options_of("wall_ns");
    json_t *history = history_of(entries, &options);
    const json_t *run = json_array_get(json_object_get(history, "runs"), 1);
    assert_string_equal(tree_get_text(history, "order"), "commits");
    assert_string_equal(tree_get_text(run, "git_rev"), "bbbbbbbbbbbb");
    check_outcome(history, COMPARE_regression);
    entries[1].committed_at = 0; /* one is unknown: no order of commits is known */
    history = history_of(entries, &options);
    assert_string_equal(tree_get_text(history, "order"), "runs");
    check_outcome(history, COMPARE_ok);
}

static void machines_are_series_of_their_own(void **state)
{
    (void)state;
    const struct entry entries[] = {
        {.spec = {.wall_ns = 1000000}, .rev = "aaaaaaaaaaaa", .day = 1, .machine = "00000001"},
        {.spec = {.wall_ns = 3000000}, .rev = "aaaaaaaaaaaa", .day = 2, .machine = "00000002"},
        {.spec = {.wall_ns = 1000000}, .rev = "bbbbbbbbbbbb", .day = 3, .machine = "00000001"},
        {.spec = {.wall_ns = 3300000}, .rev = "bbbbbbbbbbbb", .day = 4, .machine = "00000002"},
        end};
    struct history_options options = options_of("wall_ns");
    json_t *history = history_of(entries, &options);
    assert_null(step_of(series_of(history, "canny", 0), 0));
    assert_non_null(step_of(series_of(history, "canny", 1), 0));
    assert_null(series_of(history, "canny", 2));
    check_outcome(history, COMPARE_regression);
    /* Counters do not depend on the machine. */
    options = options_of("peak_reserved_bytes");
    history = history_of(entries, &options);
    assert_int_equal(json_array_size(json_object_get(series_of(history, "canny", 0), "machines")),
                     2);
    assert_null(series_of(history, "canny", 1));
    json_decref(history);
    options = options_of("wall_ns");
    options.compare.force = true;
    history = history_of(entries, &options);
    assert_null(series_of(history, "canny", 1));
    json_decref(history);
}

static void another_program_begins_anew(void **state)
{
    (void)state;
    const struct entry entries[] = {
        {.spec = {.program_digest = 1}, .rev = "aaaaaaaaaaaa", .day = 1},
        {.spec = {.program_digest = 1}, .rev = "bbbbbbbbbbbb", .day = 2},
        {.spec = {.program_digest = 7, .wall_ns = 2000000}, .rev = "cccccccccccc", .day = 3},
        {.spec = {.program_digest = 7, .wall_ns = 2000000}, .rev = "dddddddddddd", .day = 4},
        end};
    const struct history_options options = options_of("wall_ns");
    json_t *history = history_of(entries, &options);
    const json_t *before = series_of(history, "canny", 0), *now = series_of(history, "canny", 1);
    assert_true(json_is_null(json_object_get(before, "begins")));
    assert_string_equal(tree_get_text(now, "begins"), "another program");
    assert_int_equal(json_array_size(json_object_get(now, "points")), 2);
    assert_null(step_of(before, 0));
    assert_null(step_of(now, 0));
    check_outcome(history, COMPARE_ok);
}

static void what_failed_or_lacks_is_a_gap(void **state)
{
    (void)state;
    struct entry entries[] = {{.spec = {.wall_ns = 1000000}, .rev = "aaaaaaaaaaaa", .day = 1},
                              {.spec = {.status = CASE_wrong}, .rev = "bbbbbbbbbbbb", .day = 2},
                              {.spec = {.lacks_canny = true}, .rev = "cccccccccccc", .day = 3},
                              {.spec = {.wall_ns = 1000000}, .rev = "dddddddddddd", .day = 4},
                              end};
    const struct history_options options = options_of("wall_ns");
    json_t *history = history_of(entries, &options);
    const json_t *series = series_of(history, "canny", 0);
    const json_t *point = json_array_get(json_object_get(series, "points"), 1);
    assert_string_equal(tree_get_text(point, "status"), "wrong");
    assert_true(json_is_null(json_object_get(point, "value")));
    assert_int_equal(tree_get_number(series, "missing"), 1);
    assert_int_equal(tree_get_number(series, "known"), 2);
    check_outcome(history, COMPARE_ok);
    entries[3].spec = (struct spec){.status = CASE_wrong};
    check_outcome(history_of(entries, &options), COMPARE_failed);
}

static void a_counter_steps_wherever_it_changes(void **state)
{
    (void)state;
    const struct entry entries[] = {
        {.spec = {.reserved_bytes = 64 << 20}, .rev = "aaaaaaaaaaaa", .day = 1},
        {.spec = {.reserved_bytes = (64 << 20) + 1}, .rev = "bbbbbbbbbbbb", .day = 2},
        {.spec = {.reserved_bytes = 64 << 20}, .rev = "cccccccccccc", .day = 3},
        end};
    const struct history_options options = options_of("peak_reserved_bytes");
    json_t *history = history_of(entries, &options);
    const json_t *series = series_of(history, "canny", 0);
    assert_string_equal(tree_get_text(step_of(series, 0), "verdict"), "larger");
    assert_string_equal(tree_get_text(step_of(series, 1), "effect"), "better");
    check_outcome(history, COMPARE_ok);
}

static void one_result_is_no_history(void **state)
{
    (void)state;
    const struct entry entries[] = {{.spec = {.rounds = 6}, .rev = "aaaaaaaaaaaa", .day = 1}, end};
    const struct history_options options = options_of("wall_ns");
    check_outcome(history_of(entries, &options), COMPARE_incomparable);
}

static void a_run_counts_once(void **state)
{
    (void)state;
    const struct entry entries[] = {{.spec = {.rounds = 6}, .rev = "aaaaaaaaaaaa", .day = 1},
                                    {.spec = {.rounds = 6}, .rev = "aaaaaaaaaaaa", .day = 1},
                                    {.spec = {.rounds = 6}, .rev = "bbbbbbbbbbbb", .day = 2},
                                    end};
    const struct history_options options = options_of("wall_ns");
    json_t *history = history_of(entries, &options);
    assert_int_equal(json_array_size(json_object_get(history, "runs")), 2);
    const json_t *left_out = json_array_get(json_object_get(history, "left_out"), 0);
    assert_string_equal(tree_get_text(left_out, "name"), "1.json");
    check_outcome(history, COMPARE_unsure);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slower_revision_is_a_step),
        cmocka_unit_test(an_older_step_fails_nothing),
        cmocka_unit_test(runs_are_in_the_order_of_their_commits),
        cmocka_unit_test(machines_are_series_of_their_own),
        cmocka_unit_test(another_program_begins_anew),
        cmocka_unit_test(what_failed_or_lacks_is_a_gap),
        cmocka_unit_test(a_counter_steps_wherever_it_changes),
        cmocka_unit_test(one_result_is_no_history),
        cmocka_unit_test(a_run_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
