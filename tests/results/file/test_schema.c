/* Result files and comparisons against the committed JSON Schemas. The judge is Python's module
 * jsonschema, in a process of its own that answers one question after the other. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/base/cmocka.h"
#include "tests/base/golden.h"
#include "base/tree.h"
#include "results/file/result.h"
#include "tests/results/file/record_fixture.h"
#include "run/rounds/measure.h"
#include "run/select/select.h"

#define SCHEMAS GAMUT_ROOT "/results/schema/"
static const char result_schema[] = SCHEMAS "gamut-result-2.schema.json";
static const char compare_schema[] = SCHEMAS "gamut-compare-1.schema.json";

/* ---- the judge ------------------------------------------------------------------------------- */

static struct {
    pid_t process;
    FILE *ask, *answers;
} judge;

static int open_judge(void **state)
{
    (void)state;
    int ends[2];
    signal(SIGPIPE, SIG_IGN); /* a judge that does not start is told of by is_valid */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    judge.process = fork();
    if (judge.process == 0) {
        dup2(ends[1], 0);
        dup2(ends[1], 1);
        /* The first python3 may be one of an environment that lacks the system's modules. */
        execl("/bin/sh", "sh", "-c",
              "for python in python3 /usr/bin/python3; do "
              "\"$python\" -c 'import jsonschema' 2>/dev/null && exec \"$python\" \"$0\"; done",
              GAMUT_ROOT "/tests/results/file/check_schema.py", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    judge.ask = fdopen(ends[0], "w");
    judge.answers = fdopen(dup(ends[0]), "r");
    return judge.process > 0 && judge.ask && judge.answers ? 0 : -1;
}

static int close_judge(void **state)
{
    (void)state;
    shutdown(fileno(judge.ask), SHUT_RDWR);
    fclose(judge.ask);
    fclose(judge.answers);
    return waitpid(judge.process, NULL, 0) == judge.process ? 0 : -1;
}

static bool is_valid(const char *schema, const json_t *value)
{
    json_t *question = json_pack("{s:s, s:O}", "schema", schema, "value", (json_t *)value);
    char answer[16] = "";
    json_dumpf(question, judge.ask, JSON_COMPACT);
    json_decref(question);
    fputc('\n', judge.ask);
    fflush(judge.ask);
    if (!fgets(answer, sizeof answer, judge.answers))
        fail_msg("python3 or its module jsonschema does not work: `make setup-dev` installs it "
                 "(python3-jsonschema)");
    assert_true(strcmp(answer, "valid\n") == 0 || strcmp(answer, "invalid\n") == 0);
    return strcmp(answer, "valid\n") == 0;
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

static void produced_files_are_valid(void **state)
{
    (void)state;
    for (unsigned rounds = 0; rounds <= 6; rounds += 3) {
        struct result_tree result = record_fixture(rounds);
        assert_true(is_valid(result_schema, result.root));
        result_tree_free(&result);
    }
}

/* The answer has ranked, skipped, wrong and left-out cases in one file. */
static void answers_are_valid(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    json_t *host = json_array_get(json_object_get(result.root, "answer"), 0);
    assert_true(json_array_size(json_object_get(host, "ranking")) > 1);
    assert_int_equal(json_array_size(json_object_get(host, "left_out")), 1);
    assert_int_equal(json_array_size(json_object_get(host, "not_ranked")), 1);
    json_t *second = json_array_get(json_object_get(host, "ranking"), 1);
    tree_put(second, "verdict", tree_text("faster"));
    assert_false(is_valid(result_schema, result.root));
    result_tree_summarise(result.root);
    assert_true(is_valid(result_schema, result.root));
    tree_put(json_object_get(result.root, "run"), "options",
             json_pack("{s:s}", "baseline", "tagged"));
    result_tree_summarise(result.root);
    assert_true(is_valid(result_schema, result.root));
    json_t *one_case = json_array_get(json_object_get(result.root, "cases"), 0);
    tree_put(one_case, "speedup", json_pack("{s:i}", "rounds", 1));
    assert_false(is_valid(result_schema, result.root));
    result_tree_free(&result);
}

/* A result with a suite, and what a row may not say. */
static void suites_are_valid(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    json_t *suite = json_pack("{s:s, s:s, s:s, s:{s:[s, s]}, s:[{s:s, s:s, s:s, s:f}]}", "format",
                              "gamut.suite/1", "title", "t", "source", "s", "compare", "strategy",
                              "raw", "pool", "rows", "name", "a", "workload", "stencil", "dataset",
                              "small", "published", 1.5);
    struct result_draft draft = result_tree_draft(result.root);
    suite_result_set(&draft.result, "mine", suite);
    json_decref(suite);
    result_tree_put(result.root, &draft);
    assert_true(is_valid(result_schema, result.root));
    suite = json_object_get(result.root, "suite");
    json_t *row = json_array_get(json_object_get(suite, "rows"), 0);
    json_t *pair = json_array_get(json_object_get(row, "measured"), 0);
    tree_put(pair, "than_published", tree_text("equal"));
    assert_false(is_valid(result_schema, result.root));
    result_tree_summarise(result.root);
    assert_true(is_valid(result_schema, result.root));
    json_object_del(json_object_get(result.root, "suite"), "source");
    assert_false(is_valid(result_schema, result.root));
    result_tree_free(&result);
}

/* Adds a case to the result that is measured here, on the host. */
static void add_measured(struct result_tree *result, const struct case_key *key,
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
    struct result_draft draft = result_tree_draft(result->root);
    draft_add_round(&draft, &round);
    result_tree_put(result->root, &draft);
    case_round_free(&round);
    measure_close(m);
    device->ops->close(device);
    catalogue_close(&c);
}

/* What is unknown of an origin is null, and what it is of is always said. */
static void origins_are_valid(void **state)
{
    (void)state;
    static const char *const breaks[] = {"{\"what\": \"\"}", "{\"repository\": \"pyopencl\"}",
                                         "{\"commit\": \"newest\"}", "{\"year\": 0}"};
    struct result_tree result = record_fixture(1);
    json_t *origins = json_pack("{s:[{s:s, s:s, s:n, s:s, s:i}]}", "pool", "what", "a pool",
                                "repository", "a/b", "file", "commit", "26c8ab98", "year", 2026);
    tree_put(result.root, "origins", origins);
    assert_true(is_valid(result_schema, result.root));
    json_t *origin = json_array_get(json_object_get(origins, "pool"), 0);
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        json_t *right = json_deep_copy(origin), *change = json_loads(breaks[i], 0, NULL);
        json_object_update(origin, change);
        assert_false(is_valid(result_schema, result.root));
        json_object_update(origin, right);
        json_decref(change);
        json_decref(right);
    }
    json_object_del(origin, "what");
    assert_false(is_valid(result_schema, result.root));
    struct error error;
    assert_int_equal(result_tree_check(result.root, &error), ERR_PARSE);
    result_tree_free(&result);
}

/* A case with memory in two spaces, and what may not be said of them. */
static void spaces_are_valid(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(1);
    struct error error;
    const struct measure_options options = {.least_samples = 1, .most_samples = 1, .seed = 1};
    add_measured(
        &result,
        &(struct case_key){"bfs", "smoke", "none:with=pinned", "last-use", "pool", "host", ""},
        &options);
    assert_true(is_valid(result_schema, result.root));
    assert_int_equal(result_tree_check(result.root, &error), 0);
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
    assert_false(is_valid(result_schema, result.root));
    assert_int_equal(result_tree_check(result.root, &error), ERR_PARSE);
    assert_non_null(strstr(error.text, "spaces.warm.pinned.alloc_count: expected a count"));
    tree_put(spaces, "warm", json_incref(cold));
    assert_true(is_valid(result_schema, result.root));
    json_object_del(spaces, "warm");
    assert_false(is_valid(result_schema, result.root));
    result_tree_free(&result);
}

/* Each break is an object whose members replace those of the file, or of the first item of its list
 * where the second string is not empty; the schema has to notice. */
static void check_breaks(const char *schema, const json_t *right, const char *list,
                         const char *const (*breaks)[2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *root = json_deep_copy(right), *change = json_loads(breaks[i][0], 0, NULL);
        json_t *target = *breaks[i][1] ? json_array_get(json_object_get(root, list), 0) : root;
        assert_non_null(change);
        assert_int_equal(json_object_update(target, change), 0);
        if (is_valid(schema, root))
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
    json_t *right = read_json("tests/golden/compare.json");
    json_t *over_cases = read_json("tests/golden/compare_configuration.json");
    assert_true(is_valid(compare_schema, right));
    assert_true(is_valid(compare_schema, over_cases));
    json_t *experiment = read_json("tests/golden/compare_experiment.json");
    assert_true(is_valid(compare_schema, experiment));
    json_object_del(json_array_get(json_object_get(experiment, "rows"), 0), "row");
    assert_false(is_valid(compare_schema, experiment));
    json_decref(experiment);
    assert_true(json_array_size(json_object_get(right, "rows")) > 3);
    json_decref(over_cases);
    check_breaks(compare_schema, right, "rows", breaks, sizeof breaks / sizeof *breaks);
    json_decref(right);
}

static void broken_files_are_not(void **state)
{
    (void)state;
    static const char *const breaks[][2] = {
        {"{\"schema\": {\"name\": \"gamut.result\", \"version\": \"1.10.0\"}}", ""},
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
    struct result_tree result = record_fixture(6);
    check_breaks(result_schema, result.root, "cases", breaks, sizeof breaks / sizeof *breaks);
    result_tree_free(&result);
}

/* The schema names no counters, so this is what says that the file has all of them. */
static void every_counter_is_in_the_file(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(1);
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
    result_tree_free(&result);
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
    for (size_t i = 0; i <= sizeof wrongs / sizeof *wrongs; i++) {
        struct result_tree result = record_fixture(1);
        struct atlas atlas = atlas_fixture();
        struct error error = {0};
        struct result_draft draft = result_tree_draft(result.root);
        draft_set_atlas(&draft, &atlas);
        draft_set_atlas(&draft, &atlas); /* again: in the place of the first */
        result_tree_put(result.root, &draft);
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
        assert_int_equal(is_valid(result_schema, result.root), right);
        assert_int_equal(result_tree_check(result.root, &error), right ? 0 : ERR_PARSE);
        if (!right)
            assert_non_null(strstr(error.text, "atlas[0]: "));
        result_tree_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(produced_files_are_valid), cmocka_unit_test(answers_are_valid),
        cmocka_unit_test(suites_are_valid),         cmocka_unit_test(origins_are_valid),
        cmocka_unit_test(spaces_are_valid),         cmocka_unit_test(comparisons_are_valid),
        cmocka_unit_test(broken_files_are_not),     cmocka_unit_test(every_counter_is_in_the_file),
        cmocka_unit_test(atlases_are_of_the_file),
    };
    return cmocka_run_group_tests(tests, open_judge, close_judge);
}
