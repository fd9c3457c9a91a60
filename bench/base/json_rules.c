#include "base/json_rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"

static const json_int_t first_inexact = (json_int_t)1 << 53;

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

/* Adds what was found: a number that has the wrong size by its value, all else by its type. */
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

/* The member of `parent` that a rule names: its name begins at *name. */
static bool names_member(const struct json_rule *rule, const struct json_rule *parent,
                         const char **name, size_t *length)
{
    const size_t above = strlen(parent->path);
    if (strncmp(rule->path, parent->path, above) != 0 || rule == parent)
        return false;
    *name = rule->path + above + (above && rule->path[above] == '.');
    *length = strcspn(*name, ".[{");
    return *length && (!above || rule->path[above] == '.');
}

struct members {
    const struct json_rule *rules, *parent;
    char name[64];
};

static const char *member_name(void *context, size_t i)
{
    struct members *members = context;
    const char *name;
    size_t length;
    for (const struct json_rule *rule = members->rules; rule->path; rule++)
        if (names_member(rule, members->parent, &name, &length) && i-- == 0) {
            snprintf(members->name, sizeof members->name, "%.*s", (int)length, name);
            return members->name;
        }
    return NULL;
}

static int check_closed(const json_t *object, const struct json_rule *rules,
                        const struct json_rule *parent, const struct step *step,
                        struct error *error)
{
    const char *key, *known;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        struct members members = {.rules = rules, .parent = parent};
        size_t i = 0;
        while ((known = member_name(&members, i)) && strcmp(known, key) != 0)
            i++;
        if (known)
            continue;
        const int near = text_nearest(key, member_name, &members);
        struct text what = {0};
        text_add(&what, "there is no key '%.60s'", is_printable(key) ? key : "?");
        if (near >= 0)
            text_add(&what, " (did you mean %s?)", member_name(&members, (size_t)near));
        const int code = refuse(step, what.data, error);
        text_free(&what);
        return code;
    }
    return 0;
}

static int check_value(const json_t *value, const struct json_rule *rules,
                       const struct json_rule *rule, const struct step *step, struct error *error)
{
    if (!(types_of(value) & rule->types))
        return mismatch(rule->types, value, step, error);
    const char *text = json_string_value(value);
    if (text && rule->types & RULE_PRINTABLE && (!*text || !is_printable(text)))
        return refuse(step, "the text is empty or has control characters", error);
    return rule->types & RULE_CLOSED ? check_closed(value, rules, rule, step, error) : 0;
}

/* Follows the rest of a rule's path from `value`, whose own path is `step`. */
static int follow(const struct json_rule *rules, const struct json_rule *rule, const char *rest,
                  json_t *value, const struct step *step, struct error *error)
{
    struct step next = {.parent = step};
    json_t *each;
    int code = 0;
    if (!*rest)
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
    next.length = strcspn(next.member, ".[{");
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

static int read_text(const struct json_field *field, const json_t *value, char *out,
                     struct step *step, struct error *error)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    char what[96];
    if (strlen(text) >= field->size) {
        snprintf(what, sizeof what, "the text is too long: it has %zu bytes, %zu are allowed",
                 strlen(text), field->size - 1);
        return refuse(step, what, error);
    }
    strcpy(out, text);
    return 0;
}

static int read_count(const struct json_field *field, const json_t *value, void *out,
                      struct step *step, struct error *error)
{
    const uint64_t null = field->type == FIELD_COUNT_OR_UNKNOWN ? UINT64_MAX : 0;
    const uint64_t n = json_is_null(value) ? null : (uint64_t)json_integer_value(value);
    if (field->size != sizeof(unsigned)) {
        *(uint64_t *)out = n;
        return 0;
    }
    *(unsigned *)out = (unsigned)n;
    return n > UINT32_MAX ? refuse(step, "expected a count below 2^32", error) : 0;
}

static int read_digest(const json_t *value, uint64_t *out, struct step *step, struct error *error)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "0000000000000000";
    *out = strspn(text, "0123456789abcdef") == 16 ? strtoull(text, NULL, 16) : 0;
    return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16
               ? 0
               : refuse(step, "expected 16 hexadecimal digits", error);
}

static int read_word(const struct json_field *field, const json_t *value, unsigned *out,
                     struct step *step, struct error *error)
{
    struct text what = {0};
    const char *word = json_string_value(value);
    text_add(&what, "\"%.60s\" is none of ", word);
    for (*out = 0; field->words[*out]; ++*out) {
        text_add(&what, "%s%s", *out ? ", " : "", field->words[*out]);
        if (strcmp(word, field->words[*out]) == 0)
            break;
    }
    int code = 0;
    if (!field->words[*out]) {
        *out = 0;
        code = refuse(step, what.data, error);
    }
    text_free(&what);
    return code;
}

static int read_number(const json_t *value, double *out, struct step *step, struct error *error)
{
    *out = tree_to_number(value);
    return *out < 0 ? refuse(step, "expected a number from 0 up, or null", error) : 0;
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
        struct step step = {.parent = parent, .member = f->name, .length = strlen(f->name)};
        void *out = (char *)to + f->offset;
        if (!(types_of(value) & types[f->type]))
            code = mismatch(types[f->type], value, &step, error);
        else if (f->type == FIELD_TEXT || f->type == FIELD_TEXT_OR_NULL)
            code = read_text(f, value, out, &step, error);
        else if (f->type == FIELD_NUMBER)
            code = read_number(value, out, &step, error);
        else if (f->type == FIELD_BOOLEAN)
            *(bool *)out = json_is_true(value);
        else if (f->type == FIELD_DIGEST)
            code = read_digest(value, out, &step, error);
        else if (f->type == FIELD_WORD)
            code = read_word(f, value, out, &step, error);
        else
            code = read_count(f, value, out, &step, error);
    }
    return code;
}
