#include "base/json_rules.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"

static const json_int_t first_inexact = (json_int_t)1 << 53;
static const double first_large = 1 << 20;

/* ---- rules ----------------------------------------------------------------------------------- */

static int types_of(const json_t *value)
{
    if (!value)
        return RULE_ABSENT;
    switch (json_typeof(value)) {
    case JSON_STRING:
        return RULE_TEXT;
    case JSON_INTEGER: {
        const json_int_t n = json_integer_value(value);
        return RULE_INTEGER | RULE_NUMBER | (n >= 0 && n < first_inexact ? RULE_COUNT : 0);
    }
    case JSON_REAL:
        return RULE_NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return RULE_BOOLEAN;
    case JSON_OBJECT:
        return RULE_OBJECT;
    case JSON_ARRAY:
        return RULE_ARRAY;
    case JSON_NULL:
        break;
    }
    return RULE_NULL;
}

/* Adds "an integer or null". */
static void describe_types(int types, struct text *out)
{
    static const char *const names[] = {
        "a text",    "a count below 2^53", "an integer", "a number", "true or false",
        "an object", "an array",           "null",       "nothing"};
    if (types & RULE_INTEGER)
        types &= ~RULE_NUMBER;
    const char *before = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (types & 1 << i) {
            text_add(out, "%s%s", before, names[i]);
            before = " or ";
        }
}

/* Adds a description of the value: its value if it is a number of the wrong size, else its type. */
static void describe_value(const json_t *value, int wanted, struct text *out)
{
    if (json_is_integer(value) && wanted & RULE_COUNT)
        text_add(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        describe_types(types_of(value) & ~RULE_COUNT, out);
}

/* The path of a value: written out only for a message, because most files are right. */
struct step {
    const struct step *parent;
    const char *member; /* NULL: an element of an array */
    size_t length;      /* bytes of the member's name */
    size_t element;
};

static void describe_path(const struct step *step, struct text *out)
{
    if (!step)
        return;
    describe_path(step->parent, out);
    if (step->member)
        text_add(out, "%s%.*s", step->parent ? "." : "", (int)step->length, step->member);
    else
        text_add(out, "[%zu]", step->element);
}

static int refuse(const struct step *step, const char *what, struct error *error)
{
    struct text path = {0};
    describe_path(step, &path);
    const int code =
        error_set(error, ERR_PARSE, "%s%s%s", step ? path.data : "", step ? ": " : "", what);
    text_free(&path);
    return code;
}

static int mismatch(int wanted, const json_t *value, const struct step *step, struct error *error)
{
    struct text what = {0};
    text_add(&what, "expected ");
    describe_types(wanted, &what);
    text_add(&what, ", found ");
    describe_value(value, wanted, &what);
    const int code = refuse(step, what.data, error);
    text_free(&what);
    return code;
}

/* Texts end up in a terminal. */
static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            return false;
    return true;
}

/* The members of an object that have rules of their own: the path of its rule, and a name. */
struct members {
    const struct json_rule *rules;
    const char *parent;
    char name[64]; /* the last that was asked for */
};

static const char *member_name(void *context, size_t i)
{
    struct members *members = context;
    const size_t above = strlen(members->parent);
    for (const struct json_rule *rule = members->rules; rule->path; rule++) {
        const char *name = rule->path + above + (above > 0);
        if (strncmp(rule->path, members->parent, above) == 0 && strlen(rule->path) > above &&
            (!above || name[-1] == '.') && !strpbrk(name, ".[{") && i-- == 0) {
            snprintf(members->name, sizeof members->name, "%.*s", (int)strcspn(name, "|"), name);
            return members->name;
        }
    }
    return NULL;
}

static int check_closed(const json_t *object, const struct json_rule *rules, const char *path,
                        const struct step *step, struct error *error)
{
    struct members members = {.rules = rules, .parent = path};
    const char *key, *known;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while ((known = member_name(&members, i)) && strcmp(known, key) != 0)
            i++;
        if (known)
            continue;
        const int near = text_nearest(key, member_name, &members);
        char what[200];
        snprintf(what, sizeof what, "there is no key '%.60s'%s%s%s", is_printable(key) ? key : "?",
                 near >= 0 ? " (did you mean " : "",
                 near >= 0 ? member_name(&members, (size_t)near) : "", near >= 0 ? "?)" : "");
        return refuse(step, what, error);
    }
    return 0;
}

/* `words` is the end of a path, "|red|green". */
static int check_word(const char *text, const char *words, const struct step *step,
                      struct error *error)
{
    const size_t length = strlen(text);
    struct text what = {0};
    text_add(&what, "\"%.60s\" is none of ", text);
    for (const char *word = words; *word;) {
        const size_t end = strcspn(++word, "|");
        if (end == length && memcmp(word, text, length) == 0) {
            text_free(&what);
            return 0;
        }
        text_add(&what, "%s%.*s", word - words > 1 ? ", " : "", (int)end, word);
        word += end;
    }
    const int code = refuse(step, what.data, error);
    text_free(&what);
    return code;
}

/* Refuses a number that is negative or too large to count up to. */
static int check_number(const json_t *value, int types, const struct step *step,
                        struct error *error)
{
    const double number = json_number_value(value);
    char what[80];
    if (types & RULE_NOT_NEGATIVE && number < 0)
        snprintf(what, sizeof what, "expected a number from 0 up, found %.12g", number);
    else if (types & RULE_SMALL && number >= first_large)
        snprintf(what, sizeof what, "expected a count below 2^20, found %.12g", number);
    else
        return 0;
    return refuse(step, what, error);
}

static int check_value(const json_t *value, const struct json_rule *rules,
                       const struct json_rule *rule, const struct step *step, struct error *error)
{
    if (!(types_of(value) & rule->types))
        return mismatch(rule->types, value, step, error);
    const char *text = json_string_value(value);
    if (text && rule->types & RULE_PRINTABLE && (!*text || !is_printable(text)))
        return refuse(step, "the text is empty or has control characters", error);
    const char *words = strchr(rule->path, '|');
    if (text && words)
        return check_word(text, words, step, error);
    if (json_is_number(value))
        TRY(check_number(value, rule->types, step, error));
    return rule->types & RULE_CLOSED ? check_closed(value, rules, rule->path, step, error) : 0;
}

/* Follows the rest of a rule's path from `value`, whose own path is `step`. */
static int follow(const struct json_rule *rules, const struct json_rule *rule, const char *rest,
                  json_t *value, const struct step *step, struct error *error)
{
    struct step next = {.parent = step};
    json_t *each;
    int code = 0;
    if (!*rest || *rest == '|')
        return check_value(value, rules, rule, step, error);
    if (strncmp(rest, "[]", 2) == 0) {
        for (; !code && next.element < json_array_size(value); next.element++)
            code = follow(rules, rule, rest + 2, json_array_get(value, next.element), &next, error);
        return code;
    }
    if (strncmp(rest, "{}", 2) == 0) {
        json_object_foreach(value, next.member, each)
        {
            next.length = strlen(next.member);
            if ((code = follow(rules, rule, rest + 2, each, &next, error)) != 0)
                return code;
        }
        return 0;
    }
    if (!json_is_object(value))
        return 0;
    next.member = rest + (*rest == '.');
    next.length = strcspn(next.member, ".[{|");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)next.length, next.member);
    each = json_object_get(value, name);
    return follow(rules, rule, next.member + next.length, each, &next, error);
}

int json_check(const json_t *root, const struct json_rule *rules, struct error *error)
{
    int code = 0;
    for (const struct json_rule *rule = rules; rule->path && !code; rule++)
        code = follow(rules, rule, rule->path, (json_t *)root, NULL, error);
    return code;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static uint64_t count_of(const struct json_field *field, const void *member)
{
    return field->size == sizeof(unsigned) ? *(const unsigned *)member : *(const uint64_t *)member;
}

static json_t *field_to_json(const struct json_field *field, const void *member)
{
    char digits[17];
    switch (field->type) {
    case FIELD_TEXT:
        return tree_text(member);
    case FIELD_TEXT_OR_NULL:
        return tree_text_or_null(member);
    case FIELD_COUNT:
    case FIELD_COUNT_OR_UNKNOWN:
        return tree_count(count_of(field, member));
    case FIELD_COUNT_OR_NULL:
        return tree_count_or_null(count_of(field, member));
    case FIELD_NUMBER:
        return tree_number(*(const double *)member);
    case FIELD_BOOLEAN:
        return json_boolean(*(const bool *)member);
    case FIELD_DIGEST:
        snprintf(digits, sizeof digits, "%016" PRIx64, *(const uint64_t *)member);
        return tree_text_or_null(*(const uint64_t *)member ? digits : NULL);
    case FIELD_WORD:
        break;
    }
    return tree_text(field->words[*(const unsigned *)member]);
}

void json_put_fields(json_t *object, const struct json_field *fields, const void *from)
{
    for (const struct json_field *f = fields; f->name; f++)
        tree_put(object, f->name, field_to_json(f, (const char *)from + f->offset));
}

/* Reads a value that has the right type. */
static int read_field(const struct json_field *field, const json_t *value, void *out,
                      const struct step *step, struct error *error)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    const uint64_t count = (uint64_t)json_integer_value(value);
    struct text words = {0};
    char what[64];
    int code = 0;
    switch (field->type) {
    case FIELD_TEXT:
    case FIELD_TEXT_OR_NULL:
        snprintf(what, sizeof what, "the text is longer than %zu bytes", field->size - 1);
        if (strlen(text) >= field->size)
            return refuse(step, what, error);
        memcpy(out, text, strlen(text) + 1);
        return 0;
    case FIELD_COUNT:
    case FIELD_COUNT_OR_NULL:
    case FIELD_COUNT_OR_UNKNOWN:
        if (field->size == sizeof(uint64_t))
            *(uint64_t *)out =
                json_is_null(value) && field->type == FIELD_COUNT_OR_UNKNOWN ? UINT64_MAX : count;
        else if (count <= UINT32_MAX)
            *(unsigned *)out = (unsigned)count;
        else
            return refuse(step, "expected a count below 2^32", error);
        return 0;
    case FIELD_NUMBER:
        *(double *)out = tree_to_number(value);
        return *(double *)out < 0 ? refuse(step, "expected a number from 0 up, or null", error) : 0;
    case FIELD_BOOLEAN:
        *(bool *)out = json_is_true(value);
        return 0;
    case FIELD_DIGEST:
        if (*text && (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16))
            return refuse(step, "expected 16 hexadecimal digits", error);
        *(uint64_t *)out = strtoull(text, NULL, 16);
        return 0;
    case FIELD_WORD:
        break;
    }
    text_add(&words, "\"%.60s\" is none of ", text);
    unsigned i = 0;
    for (; field->words[i] && strcmp(text, field->words[i]) != 0; i++)
        text_add(&words, "%s%s", i ? ", " : "", field->words[i]);
    *(unsigned *)out = field->words[i] ? i : 0;
    if (!field->words[i])
        code = refuse(step, words.data, error);
    text_free(&words);
    return code;
}

int json_get_fields(const json_t *object, const char *path, const struct json_field *fields,
                    void *to, struct error *error)
{
    static const int types[] = {
        [FIELD_TEXT] = RULE_TEXT,
        [FIELD_TEXT_OR_NULL] = RULE_TEXT | RULE_NULL | RULE_ABSENT,
        [FIELD_COUNT] = RULE_COUNT,
        [FIELD_COUNT_OR_NULL] = RULE_COUNT | RULE_NULL,
        [FIELD_COUNT_OR_UNKNOWN] = RULE_COUNT | RULE_NULL,
        [FIELD_NUMBER] = RULE_NUMBER | RULE_NULL,
        [FIELD_BOOLEAN] = RULE_BOOLEAN,
        [FIELD_DIGEST] = RULE_TEXT | RULE_NULL,
        [FIELD_WORD] = RULE_TEXT,
    };
    const struct step root = {.member = path, .length = strlen(path)};
    const struct step *parent = *path ? &root : NULL;
    int code = json_is_object(object) ? 0 : mismatch(RULE_OBJECT, object, parent, error);
    for (const struct json_field *f = fields; f->name; f++)
        memset((char *)to + f->offset, 0, f->size);
    for (const struct json_field *f = fields; f->name && !code; f++) {
        const json_t *value = json_object_get(object, f->name);
        const struct step step = {.parent = parent, .member = f->name, .length = strlen(f->name)};
        code = types_of(value) & types[f->type]
                   ? read_field(f, value, (char *)to + f->offset, &step, error)
                   : mismatch(types[f->type], value, &step, error);
    }
    return code;
}
