/* Counters, statistics, and rounds on the wire. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "results/facts/case.h"
#include "results/statistics/statistics.h"
#include "base/tree.h"
#include "tests/base/cmocka.h"
#include "tests/results/file/record_fixture.h"

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void counters_come_in_order_and_named_by_unit(void **state)
{
    (void)state;
    static const char *const ends[] = {"_ns", "_bytes", "_count"};
    size_t count;
    const struct counter_info *list = counter_list(&count);
    bool exact_seen = false;
    for (size_t i = 0; i < count; i++) {
        assert_true(ends_in(list[i].name, ends[list[i].unit]));
        exact_seen |= list[i].kind == KIND_EXACT;
        assert_int_equal(list[i].kind == KIND_EXACT, exact_seen);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(list[i].name, list[j].name);
    }
    assert_string_equal(list[0].name, "wall_ns");
    assert_string_equal(list[count - 1].name, "elided_migration_bytes");
}

static void counters_are_the_fields_of_their_names(void **state)
{
    (void)state;
    struct case_round round = {.cold.hit_count = 1, .cold_sample.driver_free_ns = 4};
    round.cold.copy[COPY_layout].elided_count = 2;
    round.warm.copy[COPY_migration].bytes = 3;
    json_t *json = case_round_to_json(&round);
    const struct {
        const char *part, *name;
        int value;
    } cases[] = {{"cold", "hit_count", 1},
                 {"cold", "elided_layout_count", 2},
                 {"warm", "copy_migration_bytes", 3},
                 {"cold_sample", "driver_free_ns", 4},
                 {"warm", "hit_count", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(tree_get_number(json_object_get(json, cases[i].part), cases[i].name),
                         cases[i].value);
    /* Every counter of the list has its place in a round, in the list's order. */
    size_t count, i = 0;
    const struct counter_info *list = counter_list(&count);
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(json, "cold_sample"), name, value)
        assert_string_equal(name, list[i++].name);
    json_object_foreach(json_object_get(json, "cold"), name, value)
        assert_string_equal(name, list[i++].name);
    assert_int_equal(i, count);
    json_decref(json);
}

static bool near(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) < 1e-9;
}

/* Levels from the binomial distribution by hand: 1 - 2/2^6, 1 - 2(1 + 10)/2^10, … */
static void statistics_of_known_values(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        double median, ci_lo, ci_hi, level, mad;
    } cases[] = {
        {0, NAN, NAN, NAN, NAN, NAN},      {1, 5, NAN, NAN, NAN, 0},     {2, 3, NAN, NAN, NAN, 2},
        {5, 3, NAN, NAN, NAN, 1},          {6, 3.5, 1, 6, 0.96875, 1.5}, {9, 5, 2, 8, 0.9609375, 2},
        {10, 5.5, 2, 9, 0.978515625, 2.5},
    };
    static const double shuffled[] = {5, 1, 4, 2, 3, 6, 9, 7, 8, 10};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct statistics s = statistics_of(shuffled, cases[i].count);
        assert_int_equal(s.count, cases[i].count);
        assert_true(near(s.median, cases[i].median));
        assert_true(near(s.ci_lo, cases[i].ci_lo));
        assert_true(near(s.ci_hi, cases[i].ci_hi));
        assert_true(near(s.ci_level, cases[i].level));
        assert_true(near(s.mad, cases[i].mad));
    }
}

/* How often the interval holds the true median of a skewed distribution: at least as often as it
 * says. 4000 trials put three standard deviations at about one per cent. */
static void the_interval_covers_what_it_says(void **state)
{
    (void)state;
    struct random random = {7};
    for (size_t n = 6; n <= 20; n += 7) {
        unsigned held = 0;
        double level = 0, values[20];
        enum { TRIALS = 4000 };
        for (unsigned t = 0; t < TRIALS; t++) {
            for (size_t i = 0; i < n; i++)
                values[i] = exp(2 * random_unit(&random)); /* median e */
            struct statistics s = statistics_of(values, n);
            held += s.ci_lo <= exp(1) && exp(1) <= s.ci_hi;
            level = s.ci_level;
        }
        assert_true(level >= 0.95);
        assert_true(fabs((double)held / TRIALS - level) < 0.011);
    }
}

static void quantiles_and_means(void **state)
{
    (void)state;
    const double sorted[] = {1, 2, 4, 8};
    assert_true(near(statistics_quantile(sorted, 4, 0), 1));
    assert_true(near(statistics_quantile(sorted, 4, 0.5), 3));
    assert_true(near(statistics_quantile(sorted, 4, 1), 8));
    assert_true(isnan(statistics_quantile(sorted, 0, 0.5)));
    assert_true(near(statistics_geometric_mean(sorted, 4), sqrt(8)));
    assert_true(isnan(statistics_geometric_mean((double[]){1, 0}, 2)));
    assert_true(isnan(statistics_geometric_mean(sorted, 0)));
}

static void a_round_survives_the_wire(void **state)
{
    (void)state;
    for (size_t samples = 0; samples <= 3; samples++) {
        struct case_round sent = record_fixture_round(samples), got;
        struct error error = {0};
        if (samples == 0)
            sent.worst_error = sent.traffic_bytes = NAN;
        if (samples == 1)
            sent.model = (struct case_model){.asked = false};
        json_t *json = case_round_to_json(&sent);
        assert_int_equal(case_round_from_json(json, &got, &error), 0);
        assert_memory_equal(&got.key, &sent.key, sizeof got.key);
        assert_int_equal(got.round, sent.round);
        assert_int_equal(got.slot, sent.slot);
        assert_int_equal(got.status, sent.status);
        assert_string_equal(got.reason, sent.reason);
        assert_int_equal(got.check, sent.check);
        assert_true(got.digest == sent.digest);
        assert_true(got.program_digest == sent.program_digest);
        assert_true(got.inputs_digest == sent.inputs_digest);
        assert_true(samples == 0 ? isnan(got.worst_error) : got.worst_error == sent.worst_error);
        assert_true(samples == 0 ? isnan(got.traffic_bytes)
                                 : got.traffic_bytes == sent.traffic_bytes);
        assert_memory_equal(&got.cold, &sent.cold, sizeof got.cold);
        assert_memory_equal(&got.warm, &sent.warm, sizeof got.warm);
        assert_memory_equal(&got.cold_sample, &sent.cold_sample, sizeof got.cold_sample);
        assert_int_equal(got.sample_count, samples);
        if (samples)
            assert_memory_equal(got.samples, sent.samples, samples * sizeof *sent.samples);
        assert_int_equal(got.model.asked, sent.model.asked);
        assert_string_equal(got.model.why_not, sent.model.why_not);
#define X(name, help) assert_true(got.model.name == sent.model.name);
        MODEL_LIST(X)
#undef X
        json_decref(json);
        case_round_free(&sent);
        case_round_free(&got);
    }
}

static void a_broken_round_names_what_is_broken(void **state)
{
    (void)state;
    static const struct {
        const char *path[3], *value, *message;
    } cases[] = {
        {{"key"}, NULL, "a case round: key: expected an object, found nothing"},
        {{"key", "device"}, NULL, "key.device: expected a text, found nothing"},
        {{"key", "dataset"},
         "\"0123456789012345678901234567890123456789\"",
         "key.dataset: the text is longer than 31 bytes"},
        {{"slot"}, "-1", "slot: expected a count below 2^53, found -1"},
        {{"slot"}, "4294967296", "slot: expected a count below 2^32"},
        {{"round"}, "null", "round: expected a count below 2^53, found null"},
        {{"status"}, "\"fine\"", "status: \"fine\" is none of ok, skipped"},
        {{"check"}, "7", "check: expected a text, found an integer"},
        {{"digest"}, "\"12\"", "digest: expected 16 hexadecimal digits"},
        {{"digest"}, "\"000000000000000g\"", "digest: expected 16 hexadecimal digits"},
        {{"worst_error"}, "\"small\"", "worst_error: expected a number or null, found a text"},
        {{"worst_error"}, "-0.5", "worst_error: expected a number from 0 up, or null"},
        {{"cold"}, "[]", "cold: expected an object, found an array"},
        {{"cold", "hit_count"}, "-1", "cold.hit_count: expected a count below 2^53 or null"},
        {{"warm", "hit_count"}, "1.5", "warm.hit_count: expected a count below 2^53 or null, f"},
        {{"warm", "copy_layout_bytes"}, "{}", "warm.copy_layout_bytes: expected"},
        {{"model", "predicted_ns"}, "\"\"", "model.predicted_ns: expected"},
        {{"model", "driver_ns"}, "-2", "model.driver_ns: expected"},
        {{"model", "why_not"}, "[]", "model.why_not: expected a text or null"},
        {{"cold_sample"}, "null", "cold_sample: expected an object, found null"},
        {{"samples"}, NULL, "samples: expected an array, found nothing"},
        {{"samples"}, "[1]", "samples[0]: expected an object, found an integer"},
        {{"samples"}, "[{\"wall_ns\": -3}]", "samples[0].wall_ns: expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct case_round round = record_fixture_round(3);
        struct error error = {0};
        json_t *json = case_round_to_json(&round), *parent = json;
        case_round_free(&round);
        const char *last = cases[i].path[0];
        if (cases[i].path[1]) {
            parent = json_object_get(json, last);
            last = cases[i].path[1];
        }
        if (cases[i].value)
            tree_put(parent, last, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(parent, last);
        assert_int_equal(case_round_from_json(json, &round, &error), ERR_PARSE);
        assert_null(round.samples);
        if (!strstr(error.text, cases[i].message))
            fail_msg("case %zu: \"%s\" does not contain %s", i, error.text, cases[i].message);
        json_decref(json);
    }
}

static void texts_that_are_not_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *clean;
    } cases[] = {
        {"plain", "plain"},      {"\xc2\xb5s", "\xc2\xb5s"},
        {"cut \xc2", "cut ?"},   {"\xff\xfe x \xe2\x82\xac", "?? x \xe2\x82\xac"},
        {"\xed\xa0\x80", "???"}, /* half of a surrogate pair */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *text = tree_text(cases[i].raw);
        assert_string_equal(json_string_value(text), cases[i].clean);
        json_decref(text);
    }
}

static void numbers_that_json_cannot_hold(void **state)
{
    (void)state;
    static const struct {
        double value;
        json_type type;
    } cases[] = {{NAN, JSON_NULL},   {INFINITY, JSON_NULL}, {3, JSON_INTEGER},
                 {-2, JSON_INTEGER}, {0.5, JSON_REAL},      {0x1p60, JSON_REAL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *number = tree_number(cases[i].value);
        assert_int_equal(json_typeof(number), cases[i].type);
        json_decref(number);
    }
    json_t *largest = tree_count(((uint64_t)1 << 53) - 1), *unknown = tree_count(UNKNOWN_NS);
    assert_true(json_integer_value(largest) == ((json_int_t)1 << 53) - 1);
    assert_true(json_is_null(unknown));
    json_decref(largest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_come_in_order_and_named_by_unit),
        cmocka_unit_test(counters_are_the_fields_of_their_names),
        cmocka_unit_test(statistics_of_known_values),
        cmocka_unit_test(the_interval_covers_what_it_says),
        cmocka_unit_test(quantiles_and_means),
        cmocka_unit_test(a_round_survives_the_wire),
        cmocka_unit_test(a_broken_round_names_what_is_broken),
        cmocka_unit_test(texts_that_are_not_utf8),
        cmocka_unit_test(numbers_that_json_cannot_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
