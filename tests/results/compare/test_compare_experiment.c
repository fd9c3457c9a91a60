/* Comparing the rows of experiments. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "tests/results/compare/compare_fixture.h"
#include "tests/base/golden.h"
#include "results/file/experiment_result.h"
#include "results/file/result.h"
#include "base/tree.h"

/* An experiment of two methods; "worst" is always the same, "heap" as this says. */
struct storm {
    unsigned rounds; /* 0: 10 */
    double frame_ns; /* 0: 1000 */
    double blocked_ns;
    double held_bytes; /* 0: 4096 */
    double filled_ratio;
    unsigned more_launches;
    bool varies; /* half as much is held in every other round */
    enum case_status status;
    bool lacks_heap, lacks_worst;
    unsigned frames;        /* an option; 0: 100 */
    const char *strategies; /* another; NULL: "raw" */
    const char *driver;     /* of the device; NULL: "1" */
};

static const struct experiment_parameter parameters[] = {{"method", false, UNIT_COUNT, "how"},
                                                         {NULL, false, UNIT_COUNT, NULL}};
static const struct counter_info metrics[] = {
    {"claim_ns", UNIT_NS, KIND_SAMPLED, BETTER_NEITHER, "not compared"},
    {"frame_ns", UNIT_NS, KIND_SAMPLED, BETTER_LOWER, "gated"},
    {"blocked_ns", UNIT_NS, KIND_SAMPLED, BETTER_LOWER, "told"},
    {"held_bytes", UNIT_BYTES, KIND_EXACT, BETTER_LOWER, "gated"},
    {"launch_count", UNIT_COUNT, KIND_EXACT, BETTER_LOWER, "as cases have it"},
    {"filled_ratio", UNIT_RATIO, KIND_EXACT, BETTER_HIGHER, "told"},
    {"spare_bytes", UNIT_BYTES, KIND_SAMPLED, BETTER_LOWER,
     "like no counter of a case: not compared"},
};

static void put_samples(json_t *samples, const char *metric, double value, unsigned round)
{
    json_t *values = tree_array();
    for (unsigned i = 0; i < 3; i++) /* rounds differ by a thousandth */
        tree_append(values, tree_number(value * (1 + 0.0001 * (round + i))));
    tree_put(samples, metric, values);
}

static void put_exact(json_t *samples, const char *metric, double value)
{
    tree_put(samples, metric, json_pack("[f]", value));
}

static void add_round(struct result *result, struct result_experiment *experiment,
                      const char *method, unsigned round, const struct storm *s)
{
    json_t *key = json_pack("{s:s}", "method", method), *samples = tree_object();
    json_t *json = experiment_round(round, 0, s->status, s->status ? "it could not" : NULL);
    const double held = s->held_bytes > 0 ? s->held_bytes : 4096;
    put_samples(samples, "claim_ns", s->frame_ns * 7, round);
    put_samples(samples, "frame_ns", s->frame_ns > 0 ? s->frame_ns : 1000, round);
    put_samples(samples, "blocked_ns", s->blocked_ns > 0 ? s->blocked_ns : 100, round);
    put_samples(samples, "spare_bytes", 64, round);
    put_exact(samples, "held_bytes", s->varies && round % 2 ? held / 2 : held);
    put_exact(samples, "launch_count", 8 + s->more_launches);
    put_exact(samples, "filled_ratio", s->filled_ratio > 0 ? s->filled_ratio : 0.5);
    tree_put(json, "samples", samples);
    experiment_add_round(result, experiment, experiment_expect_row(result, experiment, key), json);
    json_decref(key);
}

/* The caller owns it. */
static json_t *storm_root(const struct storm *s)
{
    json_t *root = compare_fixture(
        &(struct spec){.lacks_canny = true, .lacks_fft = true, .driver = s->driver});
    json_t *options = json_pack("{s:i, s:s}", "frames", s->frames ? (int)s->frames : 100,
                                "strategies", s->strategies ? s->strategies : "raw");
    struct result_draft draft = result_tree_draft(root);
    struct result_experiment *stall =
        experiment_add(&draft.result, "stall", "cuda:0", options, parameters, metrics,
                       sizeof metrics / sizeof *metrics);
    json_decref(options);
    for (unsigned r = 0; r < (s->rounds ? s->rounds : 10); r++) {
        if (!s->lacks_worst)
            add_round(&draft.result, stall, "worst", r, &(struct storm){0});
        if (!s->lacks_heap)
            add_round(&draft.result, stall, "heap", r, s);
    }
    result_tree_put(root, &draft);
    return root;
}

static json_t *compare(const struct storm *base, const struct storm *fresh, const char *gate,
                       bool force)
{
    struct compare_options options = default_options();
    struct error error = {0};
    options.force = force;
    if (gate)
        options.gates = (struct gates){0};
    if (gate && gates_add(&options.gates, gate, &error))
        fail_msg("%s", error.text);
    return compare_roots(storm_root(base), storm_root(fresh), &options);
}

/* NULL where there is none. */
static const json_t *row_of(const json_t *comparison, const char *method, const char *metric)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(comparison, "rows"), i, row)
    {
        if (strcmp(tree_get_text(row, "row"), method) == 0 &&
            strcmp(tree_get_text(row, "metric"), metric) == 0)
            return row;
    }
    return NULL;
}

static void verdicts_of_rows(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct storm base, fresh;
        const char *gate; /* NULL: the default ones */
        bool force;
        const char *metric, *verdict; /* of the heap's row; NULL: it has none */
        const char *outcome;
    } cases[] = {
        {"alike", {0}, {0}, NULL, false, "frame_ns", "same", "ok"},
        {"slower", {0}, {.frame_ns = 1100}, NULL, false, "frame_ns", "slower", "regression"},
        {"faster", {0}, {.frame_ns = 900}, NULL, false, "frame_ns", "faster", "ok"},
        {"the limit is that of wall_ns",
         {0},
         {.frame_ns = 1100},
         "wall_ns:20%",
         false,
         "frame_ns",
         "same",
         "ok"},
        {"nothing is gated", {0}, {.frame_ns = 1100}, "none", false, "frame_ns", "slower", "ok"},
        {"few rounds",
         {.rounds = 5},
         {.frame_ns = 1100},
         NULL,
         false,
         "frame_ns",
         "unsure",
         "unsure"},
        {"only the first time is gated",
         {0},
         {.blocked_ns = 200},
         NULL,
         false,
         "blocked_ns",
         "slower",
         "ok"},
        {"others have a row where they changed", {0}, {0}, NULL, false, "blocked_ns", NULL, "ok"},
        {"what is neither better nor worse is not compared",
         {0},
         {.frame_ns = 900},
         NULL,
         false,
         "claim_ns",
         NULL,
         "ok"},
        {"more is held",
         {0},
         {.held_bytes = 4097},
         NULL,
         false,
         "held_bytes",
         "larger",
         "regression"},
        {"more than it may",
         {0},
         {.held_bytes = 4105},
         "peak_requested_bytes:8",
         false,
         "held_bytes",
         "larger",
         "regression"},
        {"not more than it may",
         {0},
         {.held_bytes = 4104},
         "peak_requested_bytes:8",
         false,
         "held_bytes",
         "larger",
         "ok"},
        {"a counter that cases have",
         {0},
         {.more_launches = 3},
         "launch_count:3",
         false,
         "launch_count",
         "larger",
         "ok"},
        {"goes by its own gate",
         {0},
         {.more_launches = 4},
         "launch_count:3",
         false,
         "launch_count",
         "larger",
         "regression"},
        {"less is held", {0}, {.held_bytes = 4095}, NULL, false, "held_bytes", "smaller", "ok"},
        {"as much is held", {0}, {0}, NULL, false, "held_bytes", NULL, "ok"},
        {"it differs between rounds",
         {0},
         {.varies = true},
         NULL,
         false,
         "held_bytes",
         "unsure",
         "unsure"},
        {"ratios are told",
         {0},
         {.filled_ratio = 0.25},
         NULL,
         false,
         "filled_ratio",
         "smaller",
         "ok"},
        {"wrong", {0}, {.status = CASE_wrong}, NULL, false, "", "wrong", "failed"},
        {"wrong before", {.status = CASE_wrong}, {0}, NULL, false, "", "new", "ok"},
        {"gone", {0}, {.lacks_heap = true}, NULL, false, "", "gone", "failed"},
        {"new", {.lacks_heap = true}, {0}, NULL, false, "", "new", "ok"},
        {"nothing in common",
         {.lacks_heap = true},
         {.lacks_worst = true},
         NULL,
         false,
         "",
         NULL,
         "incomparable"},
        {"other options", {0}, {.frames = 7}, "none", false, "frame_ns", NULL, "incomparable"},
        {"other options, by force", {0}, {.frames = 7}, NULL, true, "frame_ns", "same", "ok"},
        {"other strategies are other rows",
         {0},
         {.strategies = "pool"},
         NULL,
         false,
         "frame_ns",
         "same",
         "ok"},
        {"another driver leaves times out",
         {0},
         {.driver = "2"},
         NULL,
         false,
         "frame_ns",
         NULL,
         "unsure"},
        {"which bytes do not depend on",
         {0},
         {.driver = "2", .held_bytes = 9},
         "exact:0",
         false,
         "held_bytes",
         "smaller",
         "ok"},
        {"and times are left out",
         {0},
         {.driver = "2", .frame_ns = 9},
         "exact:0",
         false,
         "frame_ns",
         NULL,
         "ok"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *comparison =
            compare(&cases[i].base, &cases[i].fresh, cases[i].gate, cases[i].force);
        const json_t *row = row_of(comparison, "method=heap", cases[i].metric);
        const char *verdict = row ? tree_get_text(row, "verdict") : "none";
        if (strcmp(verdict, cases[i].verdict ? cases[i].verdict : "none") != 0)
            fail_msg("%s: the row is %s", cases[i].name, verdict);
        if (strcmp(tree_get_text(comparison, "verdict"), cases[i].outcome) != 0)
            fail_msg("%s: %s", cases[i].name, tree_get_text(comparison, "verdict"));
        json_decref(comparison);
    }
}

/* The row that is always the same never has another verdict, and is never in the way. */
static void rows_are_found_by_their_key(void **state)
{
    (void)state;
    json_t *comparison =
        compare(&(struct storm){0}, &(struct storm){.frame_ns = 1100}, NULL, false);
    const json_t *worst = row_of(comparison, "method=worst", "frame_ns");
    const json_t *heap = row_of(comparison, "method=heap", "frame_ns");
    assert_string_equal(tree_get_text(worst, "verdict"), "same");
    assert_string_equal(tree_get_text(heap, "experiment"), "stall");
    assert_string_equal(tree_get_text(heap, "device"), "cuda:0");
    assert_true(strcmp(tree_get_text(heap, "id"), tree_get_text(worst, "id")) != 0);
    assert_true(fabs(tree_get_number(heap, "ratio") - 1.1) < 0.001);
    assert_int_equal(tree_get_number(comparison, "pairs"), 2);
    json_decref(comparison);
}

static void prints_as_reviewed(void **state)
{
    (void)state;
    static const struct {
        enum table_format format;
        const char *golden;
    } formats[] = {{TABLE_TEXT, "compare_experiment.txt"},
                   {TABLE_CSV, "compare_experiment.csv"},
                   {TABLE_JSON, "compare_experiment.json"}};
    json_t *comparison = compare(
        &(struct storm){0},
        &(struct storm){.frame_ns = 1100, .held_bytes = 9000, .filled_ratio = 0.25}, NULL, false);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        assert_int_equal(
            compare_print(comparison, formats[f].format, COMPARE_SHOW_CHANGED, out, NULL), 0);
        fclose(out);
        golden_check(formats[f].golden, text);
        free(text);
    }
    json_decref(comparison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_of_rows),
        cmocka_unit_test(rows_are_found_by_their_key),
        cmocka_unit_test(prints_as_reviewed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
