/* A produced result file against the committed JSON Schema. The checker below knows the part of
 * draft 2020-12 that the schema uses, and fails on a keyword that it does not know, so it can't
 * pass by looking away. Where Python has the module jsonschema, that has to agree. */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/base/golden.h"
#include "base/tree.h"
#include "record/result/suite_result.h"
#include "tests/record/result/record_fixture.h"
#include "run/rounds/measure.h"
#include "run/select/select.h"

static const char schema_path[] = "results/schema/gamut-result-1.schema.json";

static bool is_valid(const json_t *root, const json_t *schema, const json_t *value);

static bool has_type(const json_t *value, const char *type)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return strcmp(type, "object") == 0;
    case JSON_ARRAY:
        return strcmp(type, "array") == 0;
    case JSON_STRING:
        return strcmp(type, "string") == 0;
    case JSON_INTEGER:
        return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
    case JSON_REAL:
        return strcmp(type, "number") == 0;
    case JSON_TRUE:
    case JSON_FALSE:
        return strcmp(type, "boolean") == 0;
    case JSON_NULL:
        break;
    }
    return strcmp(type, "null") == 0;
}

static bool check_type(const json_t *types, const json_t *value)
{
    if (json_is_string(types))
        return has_type(value, json_string_value(types));
    bool any = false;
    for (size_t i = 0; i < json_array_size(types); i++)
        any |= has_type(value, json_string_value(json_array_get(types, i)));
    return any;
}

static bool check_pattern(const json_t *pattern, const char *text)
{
    regex_t regex;
    assert_int_equal(regcomp(&regex, json_string_value(pattern), REG_EXTENDED | REG_NOSUB), 0);
    bool matches = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return matches;
}

static bool check_enum(const json_t *allowed, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(allowed); i++)
        if (json_equal(json_array_get(allowed, i), value))
            return true;
    return false;
}

static bool check_required(const json_t *names, const json_t *value)
{
    for (size_t i = 0; json_is_object(value) && i < json_array_size(names); i++)
        if (!json_object_get(value, json_string_value(json_array_get(names, i))))
            return false;
    return true;
}

/* `properties` and `additionalProperties` together: each member by the rule that is for it. */
static bool check_members(const json_t *root, const json_t *schema, const json_t *value)
{
    const json_t *known = json_object_get(schema, "properties");
    const json_t *rest = json_object_get(schema, "additionalProperties");
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)value, name, member)
    {
        const json_t *rule = json_object_get(known, name);
        if (!rule)
            rule = rest;
        if (rule && !is_valid(root, rule, member))
            return false;
    }
    return true;
}

static bool check_names(const json_t *root, const json_t *rule, const json_t *value)
{
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)value, name, member)
    {
        json_t *text = json_string(name);
        bool valid = is_valid(root, rule, text);
        json_decref(text);
        if (!valid)
            return false;
    }
    return true;
}

static bool check_items(const json_t *root, const json_t *rule, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!is_valid(root, rule, json_array_get(value, i)))
            return false;
    return true;
}

static size_t count_valid(const json_t *root, const json_t *rules, const json_t *value)
{
    size_t valid = 0;
    for (size_t i = 0; i < json_array_size(rules); i++)
        valid += is_valid(root, json_array_get(rules, i), value);
    return valid;
}

static bool check_keyword(const json_t *root, const json_t *schema, const char *keyword,
                          const json_t *rule, const json_t *value)
{
    static const char *const silent[] = {"$schema", "$id", "$defs", "title", "description"};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (strcmp(keyword, silent[i]) == 0)
            return true;
    if (strcmp(keyword, "$ref") == 0) {
        const char *name = json_string_value(rule);
        assert_memory_equal(name, "#/$defs/", 8);
        const json_t *target = json_object_get(json_object_get(root, "$defs"), name + 8);
        assert_non_null(target);
        return is_valid(root, target, value);
    }
    if (strcmp(keyword, "type") == 0)
        return check_type(rule, value);
    if (strcmp(keyword, "enum") == 0)
        return check_enum(rule, value);
    if (strcmp(keyword, "const") == 0)
        return json_equal(rule, value);
    if (strcmp(keyword, "minimum") == 0)
        return !json_is_number(value) || json_number_value(value) >= json_number_value(rule);
    if (strcmp(keyword, "maximum") == 0)
        return !json_is_number(value) || json_number_value(value) <= json_number_value(rule);
    if (strcmp(keyword, "minLength") == 0)
        return !json_is_string(value) ||
               json_string_length(value) >= (size_t)json_integer_value(rule);
    if (strcmp(keyword, "pattern") == 0)
        return !json_is_string(value) || check_pattern(rule, json_string_value(value));
    if (strcmp(keyword, "required") == 0)
        return check_required(rule, value);
    if (strcmp(keyword, "properties") == 0 || strcmp(keyword, "additionalProperties") == 0)
        return check_members(root, schema, value);
    if (strcmp(keyword, "propertyNames") == 0)
        return check_names(root, rule, value);
    if (strcmp(keyword, "items") == 0)
        return check_items(root, rule, value);
    if (strcmp(keyword, "allOf") == 0)
        return count_valid(root, rule, value) == json_array_size(rule);
    if (strcmp(keyword, "anyOf") == 0)
        return count_valid(root, rule, value) > 0;
    fail_msg("this test does not know the schema keyword \"%s\"", keyword);
    return false;
}

static bool is_valid(const json_t *root, const json_t *schema, const json_t *value)
{
    const char *keyword;
    json_t *rule;
    json_object_foreach((json_t *)schema, keyword, rule)
    {
        if (!check_keyword(root, schema, keyword, rule, value))
            return false;
    }
    return true;
}

static json_t *read_json(const char *path)
{
    char *text = golden_read(path);
    if (!text)
        fail_msg("%s can't be read below %s", path, GAMUT_ROOT);
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

static json_t *read_schema(void)
{
    return read_json(schema_path);
}

static void produced_files_are_valid(void **state)
{
    (void)state;
    json_t *schema = read_schema();
    for (unsigned rounds = 0; rounds <= 6; rounds += 3) {
        struct result result = record_fixture(rounds);
        assert_true(is_valid(schema, schema, result.root));
        result_free(&result);
    }
    json_decref(schema);
}

/* A result with a suite, and what a row may not say. */
static void suites_are_valid(void **state)
{
    (void)state;
    json_t *schema = read_schema();
    struct result result = record_fixture(6);
    json_t *suite = json_pack("{s:s, s:s, s:s, s:{s:[s, s]}, s:[{s:s, s:s, s:s, s:f}]}", "format",
                              "gamut.suite/1", "title", "t", "source", "s", "compare", "strategy",
                              "raw", "pool", "rows", "name", "a", "workload", "stencil", "dataset",
                              "small", "published", 1.5);
    suite_result_set(result.root, "mine", suite);
    json_decref(suite);
    result_summarise(result.root);
    assert_true(is_valid(schema, schema, result.root));
    suite = json_object_get(result.root, "suite");
    json_t *row = json_array_get(json_object_get(suite, "rows"), 0);
    json_t *pair = json_array_get(json_object_get(row, "measured"), 0);
    tree_put(pair, "than_published", tree_text("equal"));
    assert_false(is_valid(schema, schema, result.root));
    result_summarise(result.root);
    assert_true(is_valid(schema, schema, result.root));
    json_object_del(suite, "source");
    assert_false(is_valid(schema, schema, result.root));
    result_free(&result);
    json_decref(schema);
}

/* Adds a case to the result that is measured here, on the host. */
static void add_measured(struct result *result, const struct case_key *key,
                         const struct measure_options *options)
{
    struct case_round round = {.key = *key};
    struct catalogue c;
    struct device *device;
    struct error error;
    assert_int_equal(catalogue_open(&c, &error), 0);
    assert_int_equal(device_open("host", &device, &error), 0);
    struct measure *m = measure_open(device);
    const struct entry *entry = select_entry(&c, key->workload);
    assert_int_equal(measure_case(m, entry, select_dataset(entry, key->dataset), options, &round),
                     0);
    assert_int_equal(round.status, CASE_ok);
    result_add_round(result, &round);
    case_round_free(&round);
    measure_close(m);
    device->ops->close(device);
    catalogue_close(&c);
    result_summarise(result->root);
}

/* A case with memory in two spaces, and what may not be said of them. */
static void spaces_are_valid(void **state)
{
    (void)state;
    json_t *schema = read_schema();
    struct result result = record_fixture(1);
    struct error error;
    const struct measure_options options = {.least_samples = 1, .most_samples = 1, .seed = 1};
    add_measured(
        &result,
        &(struct case_key){"bfs", "smoke", "none:with=pinned", "last-use", "pool", "host", ""},
        &options);
    assert_true(is_valid(schema, schema, result.root));
    assert_int_equal(result_validate(result.root, &error), 0);
    size_t i;
    json_t *one_case, *spaces = NULL;
    json_array_foreach(json_object_get(result.root, "cases"), i, one_case)
    {
        json_t *has = json_object_get(one_case, "spaces");
        assert_true(!has || !spaces);
        spaces = has ? has : spaces;
    }
    json_t *cold = json_object_get(spaces, "cold"), *warm = json_object_get(spaces, "warm");
    assert_int_equal(json_object_size(warm), 2);
    tree_put(json_object_get(warm, "pinned"), "alloc_count", tree_text("many"));
    assert_false(is_valid(schema, schema, result.root));
    assert_int_equal(result_validate(result.root, &error), ERR_PARSE);
    assert_non_null(strstr(error.text, "spaces.warm.pinned.alloc_count: expected an integer"));
    tree_put(spaces, "warm", json_incref(cold));
    assert_true(is_valid(schema, schema, result.root));
    json_object_del(spaces, "warm");
    assert_false(is_valid(schema, schema, result.root));
    result_free(&result);
    json_decref(schema);
}

/* A case that was looked at, and what its memory may not say. */
static void memory_is_valid(void **state)
{
    (void)state;
    json_t *schema = read_schema();
    struct result result = record_fixture(1);
    struct error error;
    const struct measure_options options = {
        .least_samples = 1, .most_samples = 1, .seed = 1, .log_memory = true};
    add_measured(&result,
                 &(struct case_key){"srad", "smoke", "best", "last-use", "pool", "host", ""},
                 &options);
    assert_true(is_valid(schema, schema, result.root));
    assert_int_equal(result_validate(result.root, &error), 0);

    size_t i, looked_at = 0;
    json_t *one_case, *found = NULL;
    json_array_foreach(json_object_get(result.root, "cases"), i, one_case)
    {
        json_t *memory = json_object_get(one_case, "memory");
        looked_at += memory != NULL;
        found = memory ? memory : found;
    }
    assert_int_equal(looked_at, 1);
    static const char *const needed[] = {"timer_ns", "steps", "timeline", "map", "latency"};
    for (size_t n = 0; n < sizeof needed / sizeof *needed; n++) {
        json_t *kept = tree_share(found, needed[n]);
        json_object_del(found, needed[n]);
        assert_false(is_valid(schema, schema, result.root));
        assert_int_equal(result_validate(result.root, &error), ERR_PARSE);
        tree_put(found, needed[n], kept);
    }
    tree_append(json_object_get(json_object_get(found, "timeline"), "live_bytes"),
                json_integer(-1));
    assert_false(is_valid(schema, schema, result.root));
    result_free(&result);
    json_decref(schema);
}

/* Each break is an object whose members replace those of the file, or of the first item of its list
 * where the second string is not empty; the schema has to notice. */
static void check_breaks(const json_t *schema, const json_t *right, const char *list,
                         const char *const (*breaks)[2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *root = json_deep_copy(right), *change = json_loads(breaks[i][0], 0, NULL);
        json_t *target = *breaks[i][1] ? json_array_get(json_object_get(root, list), 0) : root;
        assert_non_null(change);
        assert_int_equal(json_object_update(target, change), 0);
        if (is_valid(schema, schema, root))
            fail_msg("the schema allows %s", breaks[i][0]);
        json_decref(change);
        json_decref(root);
    }
}

/* The comparisons that test_compare and test_compare_way print, and what may not stand in one. */
static void comparisons_are_valid(void **state)
{
    (void)state;
    static const char *const breaks[][2] = {
        {"{\"verdict\": \"fine\"}", ""},
        {"{\"schema\": \"gamut.compare/2\"}", ""},
        {"{\"rows\": {}}", ""},
        {"{\"gates\": {\"wall_ns\": 2}}", ""},
        {"{\"verdicts\": {\"better\": 1}}", ""},
        {"{\"verdict\": \"better\"}", "row"},
        {"{\"gated\": null}", "row"},
        {"{\"ci\": [null, 1]}", "row"},
        {"{\"p_adj\": \"exact\"}", "row"},
        {"{\"id\": \"1\"}", "row"},
        {"{\"cases\": 2}", "row"},
    };
    json_t *schema = read_json("results/schema/gamut-compare-1.schema.json");
    json_t *right = read_json("tests/golden/compare.json");
    json_t *over_cases = read_json("tests/golden/compare_way.json");
    assert_true(is_valid(schema, schema, right));
    assert_true(is_valid(schema, schema, over_cases));
    json_t *experiment = read_json("tests/golden/compare_experiment.json");
    assert_true(is_valid(schema, schema, experiment));
    json_object_del(json_array_get(json_object_get(experiment, "rows"), 0), "row");
    assert_false(is_valid(schema, schema, experiment));
    json_decref(experiment);
    assert_true(json_array_size(json_object_get(right, "rows")) > 3);
    json_decref(over_cases);
    check_breaks(schema, right, "rows", breaks, sizeof breaks / sizeof *breaks);
    json_decref(right);
    json_decref(schema);
}

static void broken_files_are_not(void **state)
{
    (void)state;
    static const char *const breaks[][2] = {
        {"{\"schema\": {\"name\": \"gamut.result\", \"version\": \"2.0.0\"}}", ""},
        {"{\"run\": {}}", ""},
        {"{\"cases\": {}}", ""},
        {"{\"status\": \"fine\"}", "case"},
        {"{\"id\": \"xyz\"}", "case"},
        {"{\"counters\": {\"cold\": {}}}", "case"},
        {"{\"counters\": {\"cold\": {\"hits\": 1}, \"warm\": {}}}", "case"},
        {"{\"counters\": {\"cold\": {\"hit_count\": -1}, \"warm\": {}}}", "case"},
        {"{\"speedup_over_raw\": {\"rounds\": 1}}", "case"},
        {"{\"stats\": {\"wall_ns\": {\"median\": 1}}}", "case"},
        {"{\"key\": {\"workload\": \"\"}}", "case"},
        {"{\"rounds\": [{}]}", "case"},
        {"{\"digest\": 12}", "case"},
    };
    json_t *schema = read_schema();
    struct result result = record_fixture(6);
    check_breaks(schema, result.root, "cases", breaks, sizeof breaks / sizeof *breaks);
    result_free(&result);
    json_decref(schema);
}

/* The schema names no counters, so this is what says that the file has all of them. */
static void every_counter_is_in_the_file(void **state)
{
    (void)state;
    struct result result = record_fixture(1);
    const json_t *one_case = json_array_get(json_object_get(result.root, "cases"), 0);
    const json_t *counters = json_object_get(one_case, "counters");
    const json_t *round = json_array_get(json_object_get(one_case, "rounds"), 0);
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        const char *name = list[i].name;
        assert_non_null(json_object_get(json_object_get(result.root, "metrics"), name));
        if (list[i].kind == KIND_EXACT) {
            assert_non_null(json_object_get(json_object_get(counters, "cold"), name));
            assert_non_null(json_object_get(json_object_get(counters, "warm"), name));
        } else {
            assert_non_null(json_object_get(json_object_get(round, "samples"), name));
            assert_non_null(json_object_get(json_object_get(round, "cold_sample"), name));
        }
    }
    result_free(&result);
}

/* What gamut refuses to read, the schema refuses too, and the other way round. */
static void atlases_are_of_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *place, *key, *value;
    } wrongs[] = {
        {"curve", "waits", "\"everybody\""},
        {"curve", "points", "null"},
        {"curve", "fit_error", "-1"},
        {"point", "bytes", "-1"},
        {"point", "p50_ns", "\"fast\""},
        {"probe", "idle_ns", "[]"},
        {"probe", "waits", "7"},
        {"atlas", "device", "\"\""},
        {"atlas", "curves", "{}"},
    };
    json_t *schema = read_schema();
    for (size_t i = 0; i <= sizeof wrongs / sizeof *wrongs; i++) {
        struct result result = record_fixture(1);
        struct atlas atlas = atlas_fixture();
        struct error error = {0};
        result_set_atlas(&result, &atlas);
        result_set_atlas(&result, &atlas); /* again: in the place of the first */
        atlas_free(&atlas);
        json_t *all = json_object_get(result.root, "atlas");
        assert_int_equal(json_array_size(all), 1);
        json_t *one = json_array_get(all, 0);
        json_t *curve = json_array_get(json_object_get(one, "curves"), 0);
        json_t *point = json_array_get(json_object_get(curve, "points"), 0);
        json_t *probe = json_array_get(json_object_get(curve, "probes"), 0);
        bool right = i == sizeof wrongs / sizeof *wrongs;
        if (!right) {
            json_t *places[] = {one, curve, point, probe};
            static const char *const names[] = {"atlas", "curve", "point", "probe"};
            for (size_t p = 0; p < 4; p++)
                if (strcmp(wrongs[i].place, names[p]) == 0)
                    json_object_set_new(places[p], wrongs[i].key,
                                        json_loads(wrongs[i].value, JSON_DECODE_ANY, NULL));
        }
        assert_int_equal(is_valid(schema, schema, result.root), right);
        assert_int_equal(result_validate(result.root, &error), right ? 0 : ERR_PARSE);
        if (!right)
            assert_non_null(strstr(error.text, "atlas[0]: "));
        result_free(&result);
    }
    json_decref(schema);
}

static void python_agrees(void **state)
{
    (void)state;
    if (system("python3 -c 'import jsonschema' >/dev/null 2>&1") != 0)
        skip();
    struct result result = record_fixture(6);
    struct atlas atlas = atlas_fixture();
    struct error error = {0};
    char path[] = "/tmp/gamut-test-XXXXXX", command[1024];
    result_set_atlas(&result, &atlas);
    atlas_free(&atlas);
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    assert_int_equal(result_write(&result, path, &error), 0);
    snprintf(command, sizeof command,
             "python3 -c 'import json, sys, jsonschema\n"
             "schema = json.load(open(sys.argv[1]))\n"
             "jsonschema.Draft202012Validator.check_schema(schema)\n"
             "jsonschema.Draft202012Validator(schema).validate(json.load(open(sys.argv[2])))' "
             "'%s/%s' %s",
             GAMUT_ROOT, schema_path, path);
    int status = system(command);
    unlink(path);
    result_free(&result);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(produced_files_are_valid),
        cmocka_unit_test(suites_are_valid),
        cmocka_unit_test(spaces_are_valid),
        cmocka_unit_test(memory_is_valid),
        cmocka_unit_test(comparisons_are_valid),
        cmocka_unit_test(broken_files_are_not),
        cmocka_unit_test(every_counter_is_in_the_file),
        cmocka_unit_test(atlases_are_of_the_file),
        cmocka_unit_test(python_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
