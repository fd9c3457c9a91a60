/* Gates: what is understood, what is refused and how that is said, and any text at all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "base/text.h"
#include "tests/base/cmocka.h"
#include "tests/base/golden.h"
#include "results/compare/gates.h"
#include "base/tree.h"

static const struct gate *gate_of(const struct gates *gates, const char *name)
{
    size_t count, i = 0;
    const struct counter_info *list = counter_list(&count);
    while (i < count && strcmp(list[i].name, name) != 0)
        i++;
    assert_true(i < count);
    return &gates->gate[i];
}

static void rules_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *metric;
        double part;
        uint64_t amount;
    } table[] = {
        {"wall_ns:2%", "wall_ns", 0.02, 0},
        {"wall_ns:0.5 %", "wall_ns", 0.005, 0},
        {"wall_ns:0", "wall_ns", 0, 0},
        {"peak_reserved_bytes:4KiB", "peak_reserved_bytes", 0, 4096},
        {"peak_reserved_bytes:10%", "peak_reserved_bytes", 0.1, 0},
        {"peak_*:1MB", "peak_granted_bytes", 0, 1000000},
        {"alloc_count:3", "alloc_count", 0, 3},
        {"exact:0", "copy_layout_bytes", 0, 0},
        {"exact:0", "hit_count", 0, 0},
        {"sampled:3%", "driver_free_ns", 0.03, 0},
        {"*:5%", "miss_count", 0.05, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gates gates = {0};
        assert_int_equal(gates_add(&gates, table[i].rule, NULL), 0);
        const struct gate *gate = gate_of(&gates, table[i].metric);
        assert_true(gate->is_set && fabs(gate->part - table[i].part) < 1e-15);
        assert_true(gate->amount == table[i].amount);
    }
}

static void rules_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *message;
    } table[] = {
        {"", "is not METRIC:LIMIT such as wall_ns:2%"},
        {"wall_ns", "is not METRIC:LIMIT"},
        {":2%", "is not METRIC:LIMIT"},
        {"wall:2%", "no metric 'wall' (did you mean wall_ns?); 'gamut list metrics'"},
        {"zz*:2%", "no metric 'zz*'; "},
        {"wall_ns:", "the limit '', expected a percentage such as 2%"},
        {"wall_ns:2", "as times are compared as ratios"},
        {"wall_ns:2ms", "as times are compared as ratios"},
        {"wall_ns:-2%", "expected a percentage"},
        {"wall_ns:nan%", "expected a percentage"},
        {"wall_ns:inf%", "expected a percentage"},
        {"wall_ns:0x2%", "expected a percentage"},
        {"wall_ns:1e3%", "expected a percentage"},
        {"wall_ns:1000%", "below 1000 %"},
        {"wall_ns:2%%", "expected a percentage"},
        {"peak_reserved_bytes:many", "expected 0, a size such as 4KiB, or a percentage"},
        {"peak_reserved_bytes:-1", "expected 0, a size"},
        {"alloc_count:1.5", "expected 0, a whole number"},
        {"alloc_count:4KiB", "expected 0, a whole number"},
        {"exact:4KiB", "the gate alloc_count has the limit '4KiB'"},
        {"free_count:0", "free_count can't be gated: neither more nor less of it is better"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gates gates = {0};
        struct error error = {0};
        assert_int_equal(gates_add(&gates, table[i].rule, &error), ERR_USAGE);
        if (!strstr(error.text, table[i].message))
            fail_msg("%s: %s", table[i].rule, error.text);
    }
}

/* Without a gate of one's own: time at the threshold, what is better lower at 0, no other. */
static void default_gates(void **state)
{
    (void)state;
    const struct gates gates = gates_default(0.03);
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        const bool is_wall = strcmp(list[i].name, "wall_ns") == 0;
        const bool is_set =
            is_wall || (list[i].kind == KIND_EXACT && list[i].better == BETTER_LOWER);
        assert_int_equal(gates.gate[i].is_set, is_set);
        assert_true(gates.gate[i].part == (is_wall ? 0.03 : 0) && gates.gate[i].amount == 0);
    }
}

static void later_rules_replace_earlier_ones(void **state)
{
    (void)state;
    struct gates gates = gates_default(0.02);
    assert_int_equal(gates_add(&gates, "none", NULL), 0);
    assert_int_equal(gates_add(&gates, "exact:5", NULL), 0);
    assert_int_equal(gates_add(&gates, "peak_*:7", NULL), 0);
    assert_false(gate_of(&gates, "wall_ns")->is_set);
    assert_false(gate_of(&gates, "free_count")->is_set); /* a pattern passes it over */
    assert_true(gate_of(&gates, "alloc_count")->amount == 5);
    assert_true(gate_of(&gates, "peak_reserved_bytes")->amount == 7);
}

/* What is printed is read as the same gates. */
static void gates_survive_printing(void **state)
{
    (void)state;
    struct gates gates = gates_default(0.0123), again = {0};
    assert_int_equal(gates_add(&gates, "peak_reserved_bytes:4KiB", NULL), 0);
    json_t *json = gates_to_json(&gates), *limit;
    const char *metric;
    json_object_foreach(json, metric, limit)
    {
        char rule[128];
        snprintf(rule, sizeof rule, "%s:%s", metric, json_string_value(limit));
        assert_int_equal(gates_add(&again, rule, NULL), 0);
    }
    for (size_t i = 0; i < GATES_MAX; i++) {
        assert_int_equal(gates.gate[i].is_set, again.gate[i].is_set);
        assert_true(gates.gate[i].amount == again.gate[i].amount);
        assert_true(fabs(gates.gate[i].part - again.gate[i].part) < 1e-12);
    }
    json_decref(json);
}

/* Reads a gate file of these contents. */
static int read_file(const char *contents, size_t length, struct gates *gates, struct error *error)
{
    char path[] = "/tmp/gamut_gates_XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_true(write(descriptor, contents, length) == (ssize_t)length);
    close(descriptor);
    *gates = (struct gates){0};
    int code = gates_add_file(gates, path, error);
    unlink(path);
    return code;
}

static void files_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *contents, *message; /* NULL: it is right */
    } table[] = {
        {"{\"schema\": \"gamut.gates/1\", \"gates\": {\"wall_ns\": \"2%\"}}", NULL},
        {"{\"schema\": \"gamut.gates/1\", \"gates\": {}}", NULL},
        {"{\"schema\": \"gamut.gates/1\", \"gates\": {\"wall_ns\": \"2%\"}, \"alpha\": 1}",
         "there is no key \"alpha\"; there are: schema, gates"},
        {"{\"schema\": \"gamut.gates/1\", \"gates\": {\"wall\": \"2%\"}}", "did you mean wall_ns?"},
        {"{\"schema\": \"gamut.gates/1\", \"gates\": {\"wall_ns\": 2}}",
         "gates.wall_ns: expected a text such as \"2%\""},
        {"{\"schema\": \"gamut.gates/1\", \"gates\": [\"wall_ns:2%\"]}", "gates: expected an obj"},
        {"{\"schema\": \"gamut.gates/1\", \"gates\": {\"wall_ns\": \"2%\", \"wall_ns\": \"3%\"}}",
         "duplicate object key"},
        {"{\"schema\": \"gamut.gates/2\", \"gates\": {}}", "schema: expected \"gamut.gates/1\""},
        {"{\"gates\": {}}", "schema: expected"},
        {"[]", "schema: expected"},
        {"{\"schema\": \"gamut.gates/1\",\n \"gates\": {", ":2:"},
        {"", ":1:"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gates gates;
        struct error error = {0};
        int code = read_file(table[i].contents, strlen(table[i].contents), &gates, &error);
        assert_int_equal(code != 0, table[i].message != NULL);
        if (table[i].message && !strstr(error.text, table[i].message))
            fail_msg("%s: %s", table[i].contents, error.text);
    }
    struct gates gates;
    struct error error = {0};
    assert_int_equal(gates_add_file(&gates, "/there/is/none", &error), ERR_IO);
    assert_non_null(strstr(error.text, "/there/is/none"));
}

/* Pieces of rules and any bytes: either a gate that prints and reads back, or a message. */
static void any_text_ends_in_gates_or_in_a_message(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "wall_ns", "peak_*", "exact", "sampled", "none",
        ":",       "%",      "2",     "0",       ".",
        "*",       "?",      "KiB",   "count",   "-",
        "1e9",     "\n",     "\"",    "nan",     "99999999999999999999",
    };
    enum { PIECES = sizeof pieces / sizeof *pieces };
    struct random random = {29};
    unsigned accepted = 0;
    for (unsigned trial = 0; trial < 20000; trial++) {
        struct text rule = {0};
        struct gates gates = {0};
        struct error error = {0};
        text_add(&rule, "%s", "");
        for (size_t n = random_below(&random, 6); n > 0; n--) {
            const char byte = (char)(1 + random_below(&random, 255));
            if (random_below(&random, 10) == 0)
                text_add_bytes(&rule, &byte, 1);
            else
                text_add(&rule, "%s", pieces[random_below(&random, PIECES)]);
        }
        const int code = gates_add(&gates, rule.data, &error);
        assert_true(code == 0 ? !*error.text : *error.text && code == ERR_USAGE);
        for (size_t i = 0; code == 0 && i < GATES_MAX; i++) {
            assert_true(gates.gate[i].part >= 0 && gates.gate[i].part < 10);
            assert_true(gates.gate[i].part == 0 || gates.gate[i].amount == 0);
        }
        accepted += code == 0;
        text_free(&rule);
    }
    assert_true(accepted > 20);
}

/* A right file with bytes changed, left out or cut off. */
static void any_file_ends_in_gates_or_in_a_message(void **state)
{
    (void)state;
    static const char right[] =
        "{\"schema\": \"gamut.gates/1\", \"gates\": {\"wall_ns\": \"2%\", \"exact\": \"0\"}}";
    struct random random = {31};
    for (unsigned trial = 0; trial < 2000; trial++) {
        char changed[sizeof right];
        size_t length = sizeof right - 1;
        memcpy(changed, right, sizeof right);
        for (unsigned n = 1 + (unsigned)random_below(&random, 3); n > 0; n--)
            changed[random_below(&random, length)] = (char)random_below(&random, 256);
        if (random_below(&random, 3) == 0)
            length = random_below(&random, length);
        struct gates gates;
        struct error error = {0};
        const int code = read_file(changed, length, &gates, &error);
        assert_true(code == 0 ? !*error.text : *error.text != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_understood),
        cmocka_unit_test(rules_that_make_no_sense_are_refused),
        cmocka_unit_test(default_gates),
        cmocka_unit_test(later_rules_replace_earlier_ones),
        cmocka_unit_test(gates_survive_printing),
        cmocka_unit_test(files_are_read_strictly),
        cmocka_unit_test(any_text_ends_in_gates_or_in_a_message),
        cmocka_unit_test(any_file_ends_in_gates_or_in_a_message),
    };
    return cmocka_run_group_tests_name("gates", tests, NULL, NULL);
}
