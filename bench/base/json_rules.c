#include "base/json_rules.h"

#include <inttypes.h>
#include <math.h>
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

enum { NULL_TOO = RULE_NULL | RULE_ABSENT };
static const int field_types[] = {
    [FIELD_TEXT] = RULE_TEXT,
    [FIELD_TEXT_OR_NULL] = RULE_TEXT | NULL_TOO,
    [FIELD_STRING] = RULE_TEXT,
    [FIELD_STRING_OR_NULL] = RULE_TEXT | NULL_TOO,
    [FIELD_COUNT] = RULE_COUNT,
    [FIELD_COUNT_SMALL] = RULE_COUNT,
    [FIELD_COUNT_OR_NULL] = RULE_COUNT | NULL_TOO,
    [FIELD_COUNT_OR_UNKNOWN] = RULE_COUNT | NULL_TOO,
    [FIELD_NUMBER] = RULE_NUMBER | NULL_TOO,
    [FIELD_NUMBER_SIGNED] = RULE_NUMBER | NULL_TOO,
    [FIELD_BOOLEAN] = RULE_BOOLEAN,
    [FIELD_BOOLEAN_OR_NULL] = RULE_BOOLEAN | NULL_TOO,
    [FIELD_DIGEST] = RULE_TEXT | NULL_TOO,
    [FIELD_WORD] = RULE_TEXT,
    [FIELD_OBJECT] = RULE_OBJECT,
    [FIELD_OBJECT_OR_NULL] = RULE_OBJECT | NULL_TOO,
    [FIELD_POINTER] = RULE_OBJECT | NULL_TOO,
    [FIELD_LIST] = RULE_ARRAY,
    [FIELD_MAP] = RULE_OBJECT,
    [FIELD_MAP_OR_NULL] = RULE_OBJECT | NULL_TOO,
    [FIELD_STRINGS] = RULE_ARRAY,
    [FIELD_NUMBERS] = RULE_ARRAY,
    [FIELD_JSON] = ~RULE_CLOSED,
};

/* ---- writing ---- */

static uint64_t count_of(const struct json_field *field, const void *member)
{
    return field->size == sizeof(unsigned) ? *(const unsigned *)member : *(const uint64_t *)member;
}

static size_t number_of_items(const struct json_field *field, const void *from)
{
    return *(const size_t *)((const char *)from + field->count);
}

static json_t *struct_to_json(const struct json_struct *as, const void *from)
{
    if (!*as->fields->name)
        return json_field_value(as->fields, "", from);
    return json_of_fields(as->fields, from);
}

static json_t *list_to_json(const struct json_field *field, const void *from, const void *items)
{
    const size_t count = number_of_items(field, from);
    const bool is_map = field->type == FIELD_MAP || field->type == FIELD_MAP_OR_NULL;
    json_t *all = is_map ? tree_object() : tree_array();
    for (size_t i = 0; i < count; i++) {
        if (field->type == FIELD_STRINGS)
            tree_append(all, tree_text(((const char *const *)items)[i]));
        else if (field->type == FIELD_NUMBERS)
            tree_append(all, tree_number(((const double *)items)[i]));
        else {
            const void *item = (const char *)items + i * field->of->size;
            json_t *value = struct_to_json(field->of, item);
            if (is_map)
                tree_put(all, *(const char *const *)item, value);
            else
                tree_append(all, value);
        }
    }
    return all;
}

static json_t *field_to_json(const struct json_field *field, const void *from)
{
    const void *member = (const char *)from + field->offset;
    const void *target = field->type >= FIELD_POINTER || field->type == FIELD_STRING ||
                                 field->type == FIELD_STRING_OR_NULL
                             ? *(void *const *)member
                             : member;
    char digits[17];
    switch (field->type) {
    case FIELD_TEXT:
        return tree_text(member);
    case FIELD_TEXT_OR_NULL:
        return tree_text_or_null(member);
    case FIELD_STRING:
    case FIELD_STRING_OR_NULL:
        return target ? tree_text(target) : json_null();
    case FIELD_COUNT:
    case FIELD_COUNT_SMALL:
    case FIELD_COUNT_OR_UNKNOWN:
        return tree_count(count_of(field, member));
    case FIELD_COUNT_OR_NULL:
        return tree_count_or_null(count_of(field, member));
    case FIELD_NUMBER:
    case FIELD_NUMBER_SIGNED:
        return tree_number(*(const double *)member);
    case FIELD_BOOLEAN:
        return json_boolean(*(const bool *)member);
    case FIELD_BOOLEAN_OR_NULL:
        return *(const int *)member < 0 ? json_null() : json_boolean(*(const int *)member);
    case FIELD_DIGEST:
        snprintf(digits, sizeof digits, "%016" PRIx64, *(const uint64_t *)member);
        return tree_text_or_null(*(const uint64_t *)member ? digits : NULL);
    case FIELD_WORD:
        return tree_text(field->words[*(const unsigned *)member]);
    case FIELD_OBJECT_OR_NULL: {
        json_t *first = field_to_json(field->of->fields, member);
        const bool is_unknown =
            json_is_null(first) || (json_is_integer(first) && json_integer_value(first) == 0);
        json_decref(first);
        return is_unknown ? json_null() : struct_to_json(field->of, member);
    }
    case FIELD_OBJECT:
    case FIELD_POINTER:
        return target ? struct_to_json(field->of, target) : json_null();
    case FIELD_MAP_OR_NULL:
        return number_of_items(field, from) ? list_to_json(field, from, target) : json_null();
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_STRINGS:
    case FIELD_NUMBERS:
        return list_to_json(field, from, target);
    case FIELD_JSON:
        break;
    }
    return target ? json_incref((json_t *)target) : json_null();
}

static bool is_empty(const json_t *value)
{
    return json_is_null(value) || (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

void json_put_fields(json_t *object, const struct json_field *fields, const void *from)
{
    for (const struct json_field *f = fields; f->name; f++) {
        json_t *value = field_to_json(f, from);
        if (f->presence == JSON_LEFT_OUT && is_empty(value))
            json_decref(value);
        else
            tree_put(object, f->name, value);
    }
}

json_t *json_of_fields(const struct json_field *fields, const void *from)
{
    json_t *object = tree_object();
    json_put_fields(object, fields, from);
    return object;
}

json_t *json_field_value(const struct json_field *fields, const char *name, const void *from)
{
    for (const struct json_field *f = fields; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return field_to_json(f, from);
    return NULL;
}

/* ---- reading ---- */

static int read_struct(struct arena *arena, const json_t *object, const struct json_struct *as,
                       const struct step *parent, void *to, struct error *error);

static void set_unknown(const struct json_field *field, void *to)
{
    char *out = (char *)to + field->offset;
    memset(out, 0, field->size);
    if (field->type == FIELD_NUMBER || field->type == FIELD_NUMBER_SIGNED)
        *(double *)out = NAN;
    else if (field->type == FIELD_COUNT_OR_UNKNOWN)
        *(uint64_t *)out = UINT64_MAX;
    else if (field->type == FIELD_BOOLEAN_OR_NULL)
        *(int *)out = -1;
    else if (field->type == FIELD_OBJECT || field->type == FIELD_OBJECT_OR_NULL)
        for (const struct json_field *f = field->of->fields; f->name; f++)
            set_unknown(f, out);
    else if (field->type >= FIELD_LIST && field->type <= FIELD_NUMBERS)
        *(size_t *)((char *)to + field->count) = 0;
}

static int read_word(const struct json_field *field, const char *text, unsigned *out,
                     const struct step *step, struct error *error)
{
    struct text words = {0};
    int code = 0;
    text_add(&words, "\"%.60s\" is none of ", text);
    unsigned i = 0;
    for (; field->words[i] && strcmp(text, field->words[i]) != 0; i++)
        text_add(&words, "%s%s", i ? ", " : "", field->words[i]);
    if (field->words[i])
        *out = i;
    else
        code = refuse(step, words.data, error);
    text_free(&words);
    return code;
}

static int read_text(const struct json_field *field, const char *text, char *out,
                     const struct step *step, struct error *error)
{
    char what[64];
    snprintf(what, sizeof what, "the text is longer than %zu bytes", field->size - 1);
    if (strlen(text) >= field->size)
        return refuse(step, what, error);
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

static int read_count(const struct json_field *field, uint64_t count, void *out,
                      const struct step *step, struct error *error)
{
    if (field->type == FIELD_COUNT_SMALL && count >= (uint64_t)first_large) {
        char what[80];
        snprintf(what, sizeof what, "expected a count below 2^20, found %" PRIu64, count);
        return refuse(step, what, error);
    }
    if (field->size == sizeof(uint64_t))
        *(uint64_t *)out = count;
    else if (count <= UINT32_MAX)
        *(unsigned *)out = (unsigned)count;
    else
        return refuse(step, "expected a count below 2^32", error);
    return 0;
}

static int read_items(struct arena *arena, const struct json_field *field, json_t *value, void *to,
                      const struct step *parent, struct error *error)
{
    const bool is_map = json_is_object(value), is_text = field->type == FIELD_STRINGS;
    const size_t count = is_map ? json_object_size(value) : json_array_size(value);
    const size_t size = is_text                        ? sizeof(char *)
                        : field->type == FIELD_NUMBERS ? sizeof(double)
                                                       : field->of->size;
    char *items = arena_alloc(arena, (count + 1) * size);
    void *member = is_map ? json_object_iter(value) : NULL;
    *(void **)((char *)to + field->offset) = items;
    *(size_t *)((char *)to + field->count) = count;
    for (size_t i = 0; i < count; i++) {
        struct step step = {.parent = parent, .element = i};
        void *item = items + i * size;
        const json_t *each = is_map ? json_object_iter_value(member) : json_array_get(value, i);
        if (is_map) {
            step.member = json_object_iter_key(member);
            step.length = strlen(step.member);
            *(const char **)item = step.member;
            member = json_object_iter_next(value, member);
        }
        if (field->type != FIELD_STRINGS && field->type != FIELD_NUMBERS) {
            TRY(read_struct(arena, each, field->of, &step, item, error));
        } else if (is_text) {
            if (!(*(const char **)item = json_string_value(each)))
                return mismatch(RULE_TEXT, each, &step, error);
        } else {
            *(double *)item = tree_to_number(each);
            if (!(types_of(each) & (RULE_NUMBER | RULE_NULL)))
                return mismatch(RULE_NUMBER | RULE_NULL, each, &step, error);
            TRY(check_number(each, RULE_NOT_NEGATIVE, &step, error));
        }
    }
    return 0;
}

/* Reads a value that has the right type. */
static int read_field(struct arena *arena, const struct json_field *field, json_t *value, void *to,
                      const struct step *step, struct error *error)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    void *out = (char *)to + field->offset;
    switch (field->type) {
    case FIELD_TEXT:
    case FIELD_TEXT_OR_NULL:
        return read_text(field, text, out, step, error);
    case FIELD_STRING:
    case FIELD_STRING_OR_NULL:
        *(const char **)out = text;
        return 0;
    case FIELD_COUNT:
    case FIELD_COUNT_SMALL:
    case FIELD_COUNT_OR_NULL:
    case FIELD_COUNT_OR_UNKNOWN:
        return read_count(field, (uint64_t)json_integer_value(value), out, step, error);
    case FIELD_NUMBER:
    case FIELD_NUMBER_SIGNED:
        *(double *)out = json_number_value(value);
        return field->type == FIELD_NUMBER && *(double *)out < 0
                   ? refuse(step, "expected a number from 0 up, or null", error)
                   : 0;
    case FIELD_BOOLEAN:
        *(bool *)out = json_is_true(value);
        return 0;
    case FIELD_BOOLEAN_OR_NULL:
        *(int *)out = json_is_true(value);
        return 0;
    case FIELD_DIGEST:
        if (*text && (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16))
            return refuse(step, "expected 16 hexadecimal digits", error);
        *(uint64_t *)out = strtoull(text, NULL, 16);
        return 0;
    case FIELD_WORD:
        return read_word(field, text, out, step, error);
    case FIELD_POINTER:
        out = *(void **)out = arena_alloc(arena, field->of->size);
        return read_struct(arena, value, field->of, step, out, error);
    case FIELD_OBJECT:
    case FIELD_OBJECT_OR_NULL:
        return read_struct(arena, value, field->of, step, out, error);
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_MAP_OR_NULL:
    case FIELD_STRINGS:
    case FIELD_NUMBERS:
        return read_items(arena, field, value, to, step, error);
    case FIELD_JSON:
        break;
    }
    *(json_t **)out = value;
    return 0;
}

static int read_struct(struct arena *arena, const json_t *object, const struct json_struct *as,
                       const struct step *parent, void *to, struct error *error)
{
    int code = 0;
    for (const struct json_field *f = as->fields; f->name; f++)
        set_unknown(f, to);
    if (*as->fields->name && !json_is_object(object))
        return mismatch(RULE_OBJECT, object, parent, error);
    for (const struct json_field *f = as->fields; f->name && !code; f++) {
        json_t *value = *f->name ? json_object_get(object, f->name) : (json_t *)object;
        const struct step own = {.parent = parent, .member = f->name, .length = strlen(f->name)};
        const struct step *step = *f->name ? &own : parent;
        const int types = types_of(value), wanted = field_types[f->type];
        if (!(types & wanted) && !(f->presence && types & NULL_TOO))
            code = mismatch(wanted & ~RULE_ABSENT, value, step, error);
        else if (!(types & NULL_TOO) || (f->type == FIELD_JSON && value))
            code = read_field(arena, f, value, to, step, error);
    }
    return code;
}

int json_get_fields_in(struct arena *arena, const json_t *object, const char *path,
                       const struct json_field *fields, void *to, struct error *error)
{
    const struct step root = {.member = path, .length = strlen(path)};
    const struct json_struct as = {fields, 0};
    return read_struct(arena, object, &as, *path ? &root : NULL, to, error);
}

int json_get_fields(const json_t *object, const char *path, const struct json_field *fields,
                    void *to, struct error *error)
{
    return json_get_fields_in(NULL, object, path, fields, to, error);
}
