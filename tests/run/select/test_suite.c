/* Suite files: what they select, what is refused and where, and the table that comes of one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "tests/base/cmocka.h"
#include "tests/base/golden.h"
#include "results/file/result.h"
#include "results/show/table.h"
#include "base/tree.h"
#include "tests/results/file/record_fixture.h"
#include "run/select/suite.h"

static struct catalogue catalogue;

static int open_catalogue(void **state)
{
    struct error error;
    (void)state;
    return catalogue_open(&catalogue, &error);
}

static int close_catalogue(void **state)
{
    (void)state;
    catalogue_close(&catalogue);
    return 0;
}

static int read(const char *text, struct suite *suite, struct error *error)
{
    *error = (struct error){0};
    return suite_read("my/s.json", text, strlen(text), &catalogue, suite, error);
}

/* "workload/dataset merge release strategy" of all cases, in lines. */
static char *cases_of(struct suite *suite)
{
    static const struct device_info host = {.id = "host", .kind = DEVICE_CPU};
    struct selection s;
    struct error error;
    struct text text = {0};
    assert_int_equal(suite_cases(suite, &host, 1, &s, &error), 0);
    for (size_t i = 0; i < s.case_count; i++)
        text_add(&text, "%s/%s %s %s %s\n", s.cases[i].workload, s.cases[i].dataset,
                 s.cases[i].merge, s.cases[i].release, s.cases[i].strategy);
    select_free(&s);
    return text.data;
}

#define HEAD        "{\"format\": \"gamut.suite/1\", \"title\": \"t\", \"source\": \"s\", "
#define BY_STRATEGY "\"compare\": {\"strategy\": [\"raw\", \"pool\"]}, "
#define ROW         "{\"name\": \"a\", \"workload\": \"lud\", \"dataset\": \"small\"}"

static void what_a_suite_runs(void **state)
{
    static const struct {
        const char *text, *cases;
    } suites[] = {
        {HEAD BY_STRATEGY "\"rows\": [" ROW "]}",
         "lud/small none last-use raw\nlud/small none last-use pool\n"},
        {HEAD BY_STRATEGY "\"rows\": [" ROW ", {\"name\": \"gone\", \"published\": 2, "
                          "\"missing\": \"no such program\"}]}",
         "lud/small none last-use raw\nlud/small none last-use pool\n"},
        {HEAD BY_STRATEGY "\"merges\": \"none,best\", \"releases\": \"scope\", \"rows\": [" ROW
                          "]}",
         "lud/small none scope raw\nlud/small none scope pool\n"
         "lud/small best scope raw\nlud/small best scope pool\n"},
        {HEAD "\"compare\": {\"workload\": [\"stencil_hoisted\", \"stencil\"]}, \"strategies\": "
              "\"po*,raw\", \"rows\": [{\"name\": \"a\", \"dataset\": \"large\"}]}",
         "stencil_hoisted/large none last-use pool\nstencil_hoisted/large none last-use raw\n"
         "stencil/large none last-use pool\nstencil/large none last-use raw\n"},
        {HEAD "\"compare\": {\"dataset\": [\"small\", \"large\"]}, \"strategies\": \"raw\", "
              "\"rows\": [{\"name\": \"a\", \"workload\": \"lud\"}]}",
         "lud/small none last-use raw\nlud/large none last-use raw\n"},
        /* the same pair under two names is run once */
        {HEAD BY_STRATEGY "\"rows\": [" ROW ", {\"name\": \"b\", \"workload\": \"lud\", "
                          "\"dataset\": \"small\", \"published\": 1.5}]}",
         "lud/small none last-use raw\nlud/small none last-use pool\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        struct suite suite;
        struct error error;
        if (read(suites[i].text, &suite, &error))
            fail_msg("%s", error.text);
        assert_string_equal(suite.name, "s");
        char *cases = cases_of(&suite);
        assert_string_equal(cases, suites[i].cases);
        free(cases);
        suite_close(&suite);
    }
}

static void what_is_no_suite(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *message;
    } bad[] = {
        {"", ERR_PARSE, "my/s.json:1:0: "},
        {"{\n \"format\": ]", ERR_PARSE, "my/s.json:2:"},
        {"{\"format\": 1, \"format\": 1}", ERR_PARSE, "duplicate"},
        {"[]", ERR_PARSE, "my/s.json: expected an object"},
        {"{}", ERR_PARSE, "my/s.json: format: expected a text, found nothing"},
        {"{\"format\": \"gamut.suite/2\", \"title\": \"t\", \"source\": \"s\", " BY_STRATEGY
         "\"rows\": [" ROW "]}",
         ERR_PARSE, "format: expected \"gamut.suite/1\""},
        {HEAD BY_STRATEGY "\"row\": [" ROW "]}", ERR_PARSE,
         "there is no key 'row' (did you mean rows?)"},
        {HEAD BY_STRATEGY "\"rows\": " ROW "}", ERR_PARSE, "rows: expected an array"},
        {HEAD BY_STRATEGY "\"rows\": []}", ERR_PARSE, "rows: there are none"},
        {HEAD BY_STRATEGY "\"merges\": 3, \"rows\": [" ROW "]}", ERR_PARSE,
         "merges: expected a text"},
        {HEAD BY_STRATEGY "\"merges\": \"\", \"rows\": [" ROW "]}", ERR_PARSE,
         "merges: the text is"},
        {HEAD BY_STRATEGY "\"merges\": \"none\\u001b[2J\", \"rows\": [" ROW "]}", ERR_PARSE,
         "merges: the text is"},
        {HEAD BY_STRATEGY "\"merges\": \"nonne\", \"rows\": [" ROW "]}", ERR_USAGE,
         "my/s.json: rows[0]: there is no merge set 'nonne' (did you mean none?)"},
        {HEAD BY_STRATEGY "\"strategies\": \"raw\", \"rows\": [" ROW "]}", ERR_PARSE,
         "strategies: strategy is compared"},
        {HEAD "\"compare\": {}, \"rows\": [" ROW "]}", ERR_PARSE, "compare: expected one of"},
        {HEAD "\"compare\": {\"device\": [\"a\", \"b\"]}, \"rows\": [" ROW "]}", ERR_PARSE,
         "compare: expected one of"},
        {HEAD "\"compare\": {\"strategy\": [\"raw\"]}, \"rows\": [" ROW "]}", ERR_PARSE,
         "compare.strategy: expected two"},
        {HEAD "\"compare\": {\"strategy\": [\"raw\", \"raw\"]}, \"rows\": [" ROW "]}", ERR_PARSE,
         "compare.strategy: expected two different"},
        {HEAD "\"compare\": {\"strategy\": [\"raw\", \"p*\"]}, \"rows\": [" ROW "]}", ERR_PARSE,
         "compare.strategy: expected two"},
        {HEAD "\"compare\": {\"strategy\": [\"raw\", \"pol\"]}, \"rows\": [" ROW "]}", ERR_USAGE,
         "rows[0]: there is no strategy 'pol' (did you mean pool?)"},
        {HEAD BY_STRATEGY "\"rows\": [3]}", ERR_PARSE, "rows[0]: expected an object"},
        {HEAD BY_STRATEGY "\"rows\": [" ROW ", {\"workload\": \"lud\"}]}", ERR_PARSE,
         "rows[1].name: expected a text, found nothing"},
        {HEAD BY_STRATEGY "\"rows\": [" ROW ", " ROW "]}", ERR_PARSE,
         "rows[1].name: rows[0] has the same"},
        {HEAD BY_STRATEGY "\"rows\": [{\"name\": \"a\", \"workload\": \"lud\"}]}", ERR_PARSE,
         "rows[0].dataset: is missing"},
        {HEAD BY_STRATEGY "\"rows\": [{\"name\": \"a\", \"workload\": \"lud\", \"dataset\": "
                          "\"small\", \"puplished\": 2}]}",
         ERR_PARSE, "rows[0]: there is no key 'puplished' (did you mean published?)"},
        {HEAD BY_STRATEGY "\"rows\": [{\"name\": \"a\", \"workload\": \"lud\", \"dataset\": "
                          "\"small\", \"published\": \"2x\"}]}",
         ERR_PARSE, "rows[0].published: expected a number"},
        {HEAD BY_STRATEGY "\"rows\": [{\"name\": \"a\", \"workload\": \"lud\", \"dataset\": "
                          "\"small\", \"published\": 0}]}",
         ERR_PARSE, "rows[0].published: expected a ratio above 0"},
        {HEAD BY_STRATEGY "\"rows\": [{\"name\": \"a\", \"workload\": \"lux\", \"dataset\": "
                          "\"small\"}]}",
         ERR_USAGE, "my/s.json: rows[0]: there is no workload 'lux' (did you mean lud?)"},
        {HEAD BY_STRATEGY "\"rows\": [{\"name\": \"a\", \"workload\": \"lud\", \"dataset\": "
                          "\"smal\"}]}",
         ERR_USAGE, "my/s.json: rows[0]: there is no dataset 'smal' (did you mean small?)"},
        {HEAD BY_STRATEGY "\"rows\": [{\"name\": \"a\", \"workload\": \"l*\", \"dataset\": "
                          "\"small\"}]}",
         ERR_PARSE, "rows[0].workload: expected one name"},
        {HEAD BY_STRATEGY "\"rows\": [{\"name\": \"a\", \"workload\": \"x.mem\", \"dataset\": "
                          "\"small\"}]}",
         ERR_PARSE, "rows[0].workload: program files cannot"},
        {HEAD BY_STRATEGY
         "\"rows\": [{\"name\": \"a\", \"workload\": \"lud\", \"missing\": \"x\"}]}",
         ERR_PARSE, "rows[0].workload: a row with `missing` has none"},
        {HEAD "\"compare\": {\"workload\": [\"lud\", \"srad\"]}, \"rows\": [" ROW "]}", ERR_PARSE,
         "rows[0].workload: is compared"},
        {HEAD "\"compare\": {\"workload\": [\"lud\", \"bfs\"]}, \"rows\": [{\"name\": \"a\", "
              "\"dataset\": \"thesis\"}]}",
         ERR_PARSE, "rows[0].dataset: bfs has no dataset 'thesis'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct suite suite;
        struct error error;
        int code = read(bad[i].text, &suite, &error);
        if (code != bad[i].code || !strstr(error.text, bad[i].message))
            fail_msg("%zu: %d, %s", i, code, error.text);
    }
}

static void suites_are_found(void **state)
{
    struct suite suite;
    struct error error;
    (void)state;
    assert_true(builtin_suites[0].name != NULL);
    for (const struct builtin_suite *b = builtin_suites; b->name; b++) {
        if (suite_open(b->name, &catalogue, &suite, &error))
            fail_msg("%s", error.text);
        suite_close(&suite);
    }
    assert_int_equal(suite_open(GAMUT_ROOT "/suites/hotspot-loop.json", &catalogue, &suite, &error),
                     0);
    assert_string_equal(suite.name, "hotspot-loop");
    assert_int_equal(suite_narrow(&suite, NULL, "medium", &error), 0);
    assert_int_equal(json_array_size(json_object_get(suite.json, "rows")), 1);
    assert_int_equal(suite_narrow(&suite, "stencil*", "l*", &error), ERR_USAGE);
    assert_non_null(strstr(error.text, "no row of the suite hotspot-loop has the workload stencil* "
                                       "and the dataset l*"));
    suite_close(&suite);
    assert_int_equal(suite_open("hotspot-lop", &catalogue, &suite, &error), ERR_USAGE);
    assert_non_null(strstr(error.text, "did you mean hotspot-loop?"));
    assert_int_equal(suite_open("no/such.json", &catalogue, &suite, &error), ERR_IO);
}

/* A narrowed suite keeps the rows and their cases together. */
static void narrowing_keeps_rows_whole(void **state)
{
    struct suite suite;
    struct error error;
    (void)state;
    assert_int_equal(suite_open("seed-impact", &catalogue, &suite, &error), 0);
    assert_int_equal(suite_narrow(&suite, "lud,canny", NULL, &error), 0);
    json_t *rows = json_object_get(suite.json, "rows");
    assert_int_equal(json_array_size(rows), suite.row_count);
    assert_int_equal(suite.row_count, 5);
    for (size_t i = 0; i < suite.row_count; i++) {
        assert_int_equal(suite.rows[i].entry_count, 1);
        assert_string_equal(suite.rows[i].entries[0]->name,
                            tree_get_text(json_array_get(rows, i), "workload"));
    }
    suite_close(&suite);
}

/* Built-in suites with some bytes changed: read, or refused with a message that says where. */
static void damaged_files_are_refused(void **state)
{
    struct random random = {7};
    unsigned refused = 0;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        const char *original = builtin_suites[i % 2].text;
        size_t length = strlen(original);
        char *text = malloc(length + 1);
        memcpy(text, original, length + 1);
        for (uint64_t changes = 1 + random_below(&random, 3); changes > 0; changes--) {
            static const char likely[] = "{}[]\",:0123456789.-e\\ \n*?au";
            size_t at = (size_t)random_below(&random, length);
            if (random_below(&random, 4) == 0)
                length = at + 1; /* cut */
            text[at] = random_below(&random, 2) ? likely[random_below(&random, sizeof likely - 1)]
                                                : (char)random_below(&random, 256);
        }
        struct suite suite;
        struct error error = {0};
        int code = suite_read("my/s.json", text, length, &catalogue, &suite, &error);
        if (code == 0)
            suite_close(&suite);
        else if (strncmp(error.text, "my/s.json:", 10) != 0)
            fail_msg("change %d: no place in '%s'", i, error.text);
        refused += code != 0;
        free(text);
    }
    assert_true(refused > 2000 && refused < 4000);
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Of the made-up result: what it shows, what went wrong, what it lacks. */
static const char fixture_suite[] =
    "{\"format\": \"gamut.suite/1\", \"title\": \"A title\", \"source\": \"a paper\","
    " \"compare\": {\"strategy\": [\"raw\", \"%s\"]}, \"rows\": ["
    " {\"name\": \"slower than claimed\", \"workload\": \"stencil\", \"dataset\": \"small\","
    "  \"published\": 9},"
    " {\"name\": \"faster\", \"workload\": \"stencil\", \"dataset\": \"small\", \"published\": "
    "1.5},"
    " {\"name\": \"as claimed\", \"workload\": \"stencil\", \"dataset\": \"small\","
    "  \"published\": %s, \"note\": \"a note\"},"
    " {\"name\": \"not claimed\", \"workload\": \"stencil\", \"dataset\": \"small\"},"
    " {\"name\": \"gone wrong\", \"workload\": \"canny\", \"dataset\": \"small\","
    "  \"published\": 2},"
    " {\"name\": \"not run\", \"workload\": \"fft\", \"dataset\": \"small\", \"published\": 2},"
    " {\"name\": \"no program\", \"published\": 1.3, \"missing\": \"nobody wrote it | yet\"}]}";

static struct result_tree with_suite(unsigned rounds, const char *second, const char *as_claimed)
{
    struct result_tree result = record_fixture(rounds);
    char text[2000];
    snprintf(text, sizeof text, fixture_suite, second, as_claimed);
    json_t *suite = json_loads(text, 0, NULL);
    assert_non_null(suite);
    struct result_draft draft = result_tree_draft(result.root);
    suite_result_set(&draft.result, "mine", suite);
    json_decref(suite);
    result_tree_put(result.root, &draft);
    return result;
}

static char *print(const struct result_tree *result, enum table_format format)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    suite_table_print(result_tree_read(result->root), format, out);
    fclose(out);
    return text;
}

static void tables_of_a_suite(void **state)
{
    (void)state;
    struct result_tree result = with_suite(6, "pool", "3");
    char *text = print(&result, TABLE_TEXT), *markdown = print(&result, TABLE_MARKDOWN);
    char *csv = print(&result, TABLE_CSV);
    golden_check("suite.txt", text);
    golden_check("suite.md", markdown);
    assert_string_equal(csv, "");
    free(text);
    free(markdown);
    free(csv);
    result_tree_free(&result);
}

static const json_t *entry_of(const struct result_tree *result, size_t row)
{
    const json_t *rows = json_object_get(json_object_get(result->root, "suite"), "rows");
    return json_array_get(json_object_get(json_array_get(rows, row), "measured"), 0);
}

static void verdicts_need_intervals(void **state)
{
    static const char *const with[] = {"less", "more", "as much", ""};
    (void)state;
    struct result_tree six = with_suite(6, "pool", "3"), five = with_suite(5, "pool", "3");
    for (size_t row = 0; row < 4; row++) {
        assert_string_equal(tree_get_text(entry_of(&six, row), "than_published"), with[row]);
        assert_string_equal(tree_get_text(entry_of(&five, row), "than_published"), "");
        assert_int_equal(tree_get_number(json_object_get(entry_of(&five, row), "ratio"), "rounds"),
                         5);
    }
    result_tree_free(&six);
    result_tree_free(&five);
}

/* Rounds that differ make an interval, here from 2 to 3; a figure inside of it is met. */
static void a_figure_in_the_interval_is_met(void **state)
{
    static const struct {
        const char *published, *verdict;
    } figures[] = {{"1.99", "more"}, {"2.01", "as much"}, {"2.99", "as much"}, {"3.02", "less"}};
    (void)state;
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
        struct result_tree result = with_suite(6, "pool", figures[f].published);
        size_t i, r, s;
        json_t *each, *round, *sample;
        json_array_foreach(json_object_get(result.root, "cases"), i, each)
        {
            if (strcmp(tree_get_text(json_object_get(each, "key"), "strategy"), "pool") != 0)
                continue;
            json_array_foreach(json_object_get(each, "rounds"), r, round) json_array_foreach(
                json_object_get(json_object_get(round, "samples"), "wall_ns"), s, sample)
                json_integer_set(sample, (json_int_t)(2000000 + 200000 * r));
        }
        result_tree_summarise(result.root);
        assert_string_equal(tree_get_text(entry_of(&result, 2), "than_published"),
                            figures[f].verdict);
        result_tree_free(&result);
    }
}

/* Gives all rounds of a strategy a prediction, or takes it away (ns 0). */
static void predict(struct result_tree *result, const char *strategy, uint64_t ns)
{
    size_t i, r;
    json_t *each, *round;
    json_array_foreach(json_object_get(result->root, "cases"), i, each)
    {
        if (strcmp(tree_get_text(json_object_get(each, "key"), "strategy"), strategy) != 0)
            continue;
        json_array_foreach(json_object_get(each, "rounds"), r, round)
        {
            json_t *model = ns ? tree_object() : json_null();
            if (ns)
                tree_put(model, "predicted_ns", tree_count(ns));
            tree_put(round, "model", model);
        }
    }
    result_tree_summarise(result->root);
}

/* The model's ratio is that of what it says of both cases; of one alone there is none. */
static void predictions_are_taken_from_the_cases(void **state)
{
    (void)state;
    struct result_tree result = with_suite(6, "pool", "3");
    predict(&result, "raw", 500);
    predict(&result, "pool", 200);
    assert_true(tree_get_number(entry_of(&result, 0), "predicted_ratio") == 2.5);
    predict(&result, "pool", 0);
    assert_true(json_is_null(json_object_get(entry_of(&result, 0), "predicted_ratio")));
    result_tree_free(&result);
}

/* Files with a suite are read back; `not_under` takes the claim away. */
static void a_claim_has_its_strategies(void **state)
{
    (void)state;
    struct result_tree result = record_fixture(6);
    json_t *suite = json_loads(
        "{\"format\": \"gamut.suite/1\", \"title\": \"t\", \"source\": \"s\", \"compare\": "
        "{\"workload\": [\"stencil\", \"canny\"]}, \"rows\": [{\"name\": \"a\", \"dataset\": "
        "\"small\", \"published\": 2, \"not_under\": \"x,ra*\"}]}",
        0, NULL);
    struct result_draft draft = result_tree_draft(result.root);
    suite_result_set(&draft.result, "mine", suite);
    json_decref(suite);
    result_tree_put(result.root, &draft);
    struct error error = {0};
    assert_int_equal(result_tree_check(result.root, &error), 0);
    const json_t *rows = json_object_get(json_object_get(result.root, "suite"), "rows");
    const json_t *measured = json_object_get(json_array_get(rows, 0), "measured");
    size_t i, claimed = 0;
    json_t *entry;
    json_array_foreach(measured, i, entry)
    {
        const bool is_raw = strcmp(tree_get_text(entry, "strategy"), "raw") == 0;
        assert_true(json_is_null(json_object_get(entry, "published")) == is_raw);
        claimed += !is_raw;
    }
    assert_true(i > claimed && claimed > 0);
    result_tree_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_suite_runs),
        cmocka_unit_test(what_is_no_suite),
        cmocka_unit_test(suites_are_found),
        cmocka_unit_test(narrowing_keeps_rows_whole),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(tables_of_a_suite),
        cmocka_unit_test(verdicts_need_intervals),
        cmocka_unit_test(a_figure_in_the_interval_is_met),
        cmocka_unit_test(predictions_are_taken_from_the_cases),
        cmocka_unit_test(a_claim_has_its_strategies),
    };
    return cmocka_run_group_tests(tests, open_catalogue, close_catalogue);
}
