/* Rules of paths and tables of fields: what they let through, and what they say of the rest. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/json_rules.h"
#include "base/tree.h"
#include "tests/base/cmocka.h"

static const struct json_rule rules[] = {
    {"", RULE_OBJECT | RULE_CLOSED},
    {"name", RULE_TEXT | RULE_PRINTABLE},
    {"note", RULE_TEXT | RULE_ABSENT},
    {"sizes", RULE_ARRAY},
    {"sizes[]", RULE_COUNT | RULE_NULL},
    {"by", RULE_OBJECT | RULE_NULL | RULE_ABSENT},
    {"by{}", RULE_OBJECT},
    {"by{}.depth", RULE_INTEGER},
    {"by{}.rate", RULE_NUMBER | RULE_ABSENT},
    {"rows", RULE_ARRAY | RULE_ABSENT},
    {"rows[]", RULE_OBJECT | RULE_CLOSED},
    {"rows[].is_last", RULE_BOOLEAN},
    {"colour|red|green", RULE_TEXT | RULE_ABSENT},
    {"most", RULE_COUNT | RULE_ABSENT | RULE_SMALL},
    {"part", RULE_NUMBER | RULE_ABSENT | RULE_NOT_NEGATIVE},
    {NULL, 0},
};

static void paths_are_followed(void **state)
{
    (void)state;
    static const struct {
        const char *json, *message; /* NULL: everything holds */
    } cases[] = {
        {"{'name': 'a', 'sizes': []}", NULL},
        {"{'name': 'a', 'note': '', 'sizes': [0, null, 9007199254740991], 'by': null}", NULL},
        {"{'name': 'a', 'sizes': [], 'by': {'x': {'depth': -1, 'rate': 2}}}", NULL},
        {"{'name': 'a', 'sizes': [], 'rows': [{'is_last': true}]}", NULL},
        {"[]", "expected an object, found an array"},
        {"{'sizes': []}", "name: expected a text, found nothing"},
        {"{'name': '', 'sizes': []}", "name: the text is empty or has control characters"},
        {"{'name': 'a\\u001b[2J', 'sizes': []}", "name: the text is empty or has control"},
        {"{'name': 'a', 'sizes': {}}", "sizes: expected an array, found an object"},
        {"{'name': 'a', 'sizes': [1, -1]}",
         "sizes[1]: expected a count below 2^53 or null, found -1"},
        {"{'name': 'a', 'sizes': [9007199254740992]}", "found 9007199254740992"},
        {"{'name': 'a', 'sizes': [1.5]}",
         "sizes[0]: expected a count below 2^53 or null, found a n"},
        {"{'name': 'a', 'sizes': [], 'by': {'x': 3}}",
         "by.x: expected an object, found an integer"},
        {"{'name': 'a', 'sizes': [], 'by': {'x': {}}}",
         "by.x.depth: expected an integer, found nothing"},
        {"{'name': 'a', 'sizes': [], 'by': {'x': {'depth': 1, 'rate': true}}}",
         "by.x.rate: expected a number or nothing, found true or false"},
        {"{'name': 'a', 'sizes': [], 'size': []}", "there is no key 'size' (did you mean sizes?)"},
        {"{'name': 'a', 'sizes': [], '\\u001b': 1}", "there is no key '?'"},
        {"{'name': 'a', 'sizes': [], 'rows': [{'is_last': true}, {'is_lost': true}]}",
         "rows[1]: there is no key 'is_lost' (did you mean is_last?)"},
        {"{'name': 'a', 'sizes': [], 'is_last': true}", "there is no key 'is_last'"},
        {"{'name': 'a', 'sizes': [], 'colour': 'green', 'most': 1048575, 'part': 0}", NULL},
        {"{'name': 'a', 'sizes': [], 'colour': 'gree'}", "colour: \"gree\" is none of red, green"},
        {"{'name': 'a', 'sizes': [], 'colour': 3}", "colour: expected a text or nothing"},
        {"{'name': 'a', 'sizes': [], 'color': 'red'}", "no key 'color' (did you mean colour?)"},
        {"{'name': 'a', 'sizes': [], 'most': 1048576}", "most: expected a count below 2^20"},
        {"{'name': 'a', 'sizes': [], 'part': -0.5}",
         "part: expected a number from 0 up, found -0.5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        struct error error = {0};
        snprintf(text, sizeof text, "%s", cases[i].json);
        for (char *c = text; (c = strchr(c, '\''));)
            *c = '"';
        json_t *json = json_loads(text, 0, NULL);
        assert_non_null(json);
        const int code = json_check(json, rules, &error);
        if (code != (cases[i].message ? ERR_PARSE : 0) ||
            (code && !strstr(error.text, cases[i].message)))
            fail_msg("%s: %d, \"%s\"", cases[i].json, code, error.text);
        json_decref(json);
    }
}

static const char *const colours[] = {"red", "green", NULL};
enum colour { RED, GREEN };

struct thing {
    char name[8], note[8];
    unsigned small;
    uint64_t large, zero_is_null, unknown;
    double rate;
    bool is_new;
    uint64_t digest;
    enum colour colour;
};

static const struct json_field fields[] = {
    JSON_FIELD(TEXT, struct thing, name),
    JSON_FIELD(TEXT_OR_NULL, struct thing, note),
    JSON_FIELD_AS("few", COUNT, struct thing, small),
    JSON_FIELD(COUNT, struct thing, large),
    JSON_FIELD(COUNT_OR_NULL, struct thing, zero_is_null),
    JSON_FIELD(COUNT_OR_UNKNOWN, struct thing, unknown),
    JSON_FIELD(NUMBER, struct thing, rate),
    JSON_FIELD(BOOLEAN, struct thing, is_new),
    JSON_FIELD(DIGEST, struct thing, digest),
    JSON_WORD(struct thing, colour, colours),
    JSON_FIELDS_END,
};

static void a_struct_comes_back(void **state)
{
    (void)state;
    static const struct {
        struct thing thing;
        const char *json;
    } cases[] = {
        {{.name = "a",
          .note = "b",
          .small = 1,
          .large = 2,
          .zero_is_null = 3,
          .unknown = 4,
          .rate = 0.5,
          .is_new = true,
          .digest = 0x12,
          .colour = GREEN},
         "{\"name\":\"a\",\"note\":\"b\",\"few\":1,\"large\":2,\"zero_is_null\":3,\"unknown\":4,"
         "\"rate\":0.5,\"is_new\":true,\"digest\":\"0000000000000012\",\"colour\":\"green\"}"},
        {{.unknown = UINT64_MAX, .rate = NAN},
         "{\"name\":\"\",\"note\":null,\"few\":0,\"large\":0,\"zero_is_null\":null,"
         "\"unknown\":null,\"rate\":null,\"is_new\":false,\"digest\":null,\"colour\":\"red\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = tree_object(), *again = tree_object();
        struct thing thing;
        struct error error = {0};
        json_put_fields(json, fields, &cases[i].thing);
        char *text = json_dumps(json, JSON_COMPACT);
        assert_string_equal(text, cases[i].json);
        memset(&thing, 0x55, sizeof thing);
        assert_int_equal(json_get_fields(json, "", fields, &thing, &error), 0);
        json_put_fields(again, fields, &thing);
        assert_true(json_equal(json, again));
        assert_string_equal(thing.note, cases[i].thing.note);
        assert_true(thing.unknown == cases[i].thing.unknown);
        assert_int_equal(isnan(thing.rate), isnan(cases[i].thing.rate));
        free(text);
        json_decref(json);
        json_decref(again);
    }
}

static void a_wrong_member_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *message; /* value NULL: absent */
    } cases[] = {
        {"name", NULL, "at.name: expected a text, found nothing"},
        {"name", "\"12345678\"", "at.name: the text is longer than 7 bytes"},
        {"note", "1", "at.note: expected a text or null, found an integer"},
        {"few", "4294967296", "at.few: expected a count below 2^32"},
        {"few", "null", "at.few: expected a count below 2^53, found null"},
        {"large", "-1", "at.large: expected a count below 2^53, found -1"},
        {"unknown", "\"1\"", "at.unknown: expected a count below 2^53 or null, found a text"},
        {"rate", "-0.5", "at.rate: expected a number from 0 up, or null"},
        {"is_new", "1", "at.is_new: expected true or false, found an integer"},
        {"digest", "\"12\"", "at.digest: expected 16 hexadecimal digits"},
        {"digest", "\"00000000000000000\"", "at.digest: expected 16 hexadecimal digits"},
        {"digest", "\"0x00000000000012\"", "at.digest: expected 16 hexadecimal digits"},
        {"colour", "\"blue\"", "at.colour: \"blue\" is none of red, green"},
        {"colour", "0", "at.colour: expected a text, found an integer"},
    };
    const struct thing right = {.name = "a"};
    struct thing thing;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = tree_object();
        struct error error = {0};
        json_put_fields(json, fields, &right);
        if (cases[i].value)
            tree_put(json, cases[i].name, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(json, cases[i].name);
        assert_int_equal(json_get_fields(json, "at", fields, &thing, &error), ERR_PARSE);
        if (strcmp(error.text, cases[i].message) != 0)
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i].name, error.text, cases[i].message);
        json_decref(json);
    }
    struct error error = {0};
    assert_int_equal(json_get_fields(NULL, "at[3]", fields, &thing, &error), ERR_PARSE);
    assert_string_equal(error.text, "at[3]: expected an object, found nothing");
    assert_string_equal(thing.name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_followed),
        cmocka_unit_test(a_struct_comes_back),
        cmocka_unit_test(a_wrong_member_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
