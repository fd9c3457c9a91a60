/* Checks JSON values, and converts objects to and from structs, by tables.
 *
 * A table of rules has the types that may stand at each path of a value; code that reads a checked
 * value needs no checks of its own. A table of fields ties the members of an object to those of a
 * struct; the same table writes the object and reads it. Messages name the path:
 * "cases[3].key.merge: expected a text, found nothing".
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/* ---- rules ----------------------------------------------------------------------------------- */

/* The types that may stand at a path: one of these, or several with `|`. */
enum json_rule_type {
    RULE_TEXT = 1,
    RULE_COUNT = 2, /* an integer from 0 to below 2^53 */
    RULE_INTEGER = 4,
    RULE_NUMBER = 8, /* integers too */
    RULE_BOOLEAN = 16,
    RULE_OBJECT = 32,
    RULE_ARRAY = 64,
    RULE_NULL = 128,
    RULE_ABSENT = 256,
    /* Further conditions on a value of the right type. */
    RULE_PRINTABLE = 512,     /* a text is not empty and has no control characters */
    RULE_CLOSED = 1024,       /* an object has only members that the table names */
    RULE_NOT_NEGATIVE = 2048, /* a number is 0 or more */
    RULE_SMALL = 4096,        /* an integer is below 2^20: readers may count up to it */
};

/* In a path, "[]" is every element of an array and "{}" every member of an object; "" is the value
 * itself. "|red|green" at its end lists the texts that may stand there. In the table a parent comes
 * before its members. If the parent is missing or null, rules for its members hold. */
struct json_rule {
    const char *path; /* NULL ends a table */
    int types;
};

/* Checks a value. ERR_PARSE names the first rule that does not hold, and the path. */
int json_check(const json_t *root, const struct json_rule *rules, struct error *error);

/* ---- fields ---------------------------------------------------------------------------------- */

/* A null may be absent too. Texts are borrowed from the JSON value that was read. */
enum json_field_type {
    FIELD_TEXT,             /* char[] */
    FIELD_TEXT_OR_NULL,     /* char[]: "" is null */
    FIELD_STRING,           /* const char * */
    FIELD_STRING_OR_NULL,   /* const char *: NULL is null */
    FIELD_COUNT,            /* unsigned or uint64_t, below 2^53 */
    FIELD_COUNT_SMALL,      /* the same below 2^20: readers may count up to it */
    FIELD_COUNT_OR_NULL,    /* 0 is null */
    FIELD_COUNT_OR_UNKNOWN, /* uint64_t: UINT64_MAX is null */
    FIELD_NUMBER,           /* double, 0 or more: NaN is null */
    FIELD_NUMBER_SIGNED,    /* double: NaN is null */
    FIELD_BOOLEAN,          /* bool */
    FIELD_BOOLEAN_OR_NULL,  /* int: below 0 is null */
    FIELD_DIGEST,           /* uint64_t: 16 hexadecimal digits, 0 is null */
    FIELD_WORD,             /* an enum: the word at its place in `words` */
    FIELD_OBJECT,           /* a struct by the table `of` */
    FIELD_OBJECT_OR_NULL,   /* null if the first member of `of` is unknown */
    FIELD_POINTER,          /* a pointer to a struct: NULL is null */
    FIELD_LIST,             /* an array: a pointer to structs, and how many */
    FIELD_MAP,              /* an object: the same; a struct begins with its name, a const char * */
    FIELD_MAP_OR_NULL,      /* no structs are null */
    FIELD_STRINGS,          /* an array of texts: a pointer to const char *, and how many */
    FIELD_NUMBERS,          /* an array of numbers from 0 up: a pointer to double, and how many */
    FIELD_JSON,             /* json_t *, borrowed from the value that was read: NULL is absent */
};

/* The fields of the structs that a FIELD_OBJECT and the types after it hold. A table whose only
 * field is called "" stands for a value that is no object. */
struct json_struct {
    const struct json_field *fields;
    size_t size;
};

enum json_presence {
    JSON_REQUIRED,
    JSON_MAY_LACK, /* may be absent */
    JSON_LEFT_OUT, /* may be absent, and is not written if it is null or empty */
};

struct json_field {
    const char *name; /* NULL ends a table: JSON_FIELDS_END */
    enum json_field_type type;
    size_t offset, size;
    const char *const *words; /* the words of a FIELD_WORD, then NULL; else NULL */
    const struct json_struct *of;
    size_t count; /* offset of the size_t that says how many there are */
    enum json_presence presence;
};
#define JSON_ANY(name, type, type_of, member, words, table, count, presence)                       \
    {                                                                                              \
        name, FIELD_##type, offsetof(type_of, member), sizeof((type_of *)0)->member, words, table, \
            count, presence                                                                        \
    }
#define JSON_FIELD_AS(name, type, type_of, member)                                                 \
    JSON_ANY(name, type, type_of, member, NULL, NULL, 0, JSON_REQUIRED)
#define JSON_FIELD(type, type_of, member) JSON_FIELD_AS(#member, type, type_of, member)
#define JSON_WORD(type_of, member, words)                                                          \
    JSON_ANY(#member, WORD, type_of, member, words, NULL, 0, JSON_REQUIRED)
#define JSON_NESTED(type, type_of, member, table)                                                  \
    JSON_ANY(#member, type, type_of, member, NULL, table, 0, JSON_REQUIRED)
/* `many`: LIST, MAP, STRINGS or NUMBERS. */
#define JSON_MANY_AS(name, many, type_of, member, count, table)                                    \
    JSON_ANY(name, many, type_of, member, NULL, table, offsetof(type_of, count), JSON_REQUIRED)
#define JSON_MANY(many, type_of, member, count, table)                                             \
    JSON_MANY_AS(#member, many, type_of, member, count, table)
/* The same for optional members. */
#define JSON_OPTIONAL_AS(name, type, type_of, member)                                              \
    JSON_ANY(name, type, type_of, member, NULL, NULL, 0, JSON_LEFT_OUT)
#define JSON_OPTIONAL(type, type_of, member) JSON_OPTIONAL_AS(#member, type, type_of, member)
#define JSON_OPTIONAL_WORD(type_of, member, words)                                                 \
    JSON_ANY(#member, WORD, type_of, member, words, NULL, 0, JSON_LEFT_OUT)
#define JSON_OPTIONAL_NESTED(type, type_of, member, table)                                         \
    JSON_ANY(#member, type, type_of, member, NULL, table, 0, JSON_LEFT_OUT)
#define JSON_OPTIONAL_MANY(many, type_of, member, count, table)                                    \
    JSON_ANY(#member, many, type_of, member, NULL, table, offsetof(type_of, count), JSON_LEFT_OUT)
/* Several of one type, two to eight: JSON_FIELDS(COUNT, struct point, x, y). */
#define JSON_EACH2(of, t, s, m, ...)                   of(t, s, m), of(t, s, __VA_ARGS__)
#define JSON_EACH3(of, t, s, m, ...)                   of(t, s, m), JSON_EACH2(of, t, s, __VA_ARGS__)
#define JSON_EACH4(of, t, s, m, ...)                   of(t, s, m), JSON_EACH3(of, t, s, __VA_ARGS__)
#define JSON_EACH5(of, t, s, m, ...)                   of(t, s, m), JSON_EACH4(of, t, s, __VA_ARGS__)
#define JSON_EACH6(of, t, s, m, ...)                   of(t, s, m), JSON_EACH5(of, t, s, __VA_ARGS__)
#define JSON_EACH7(of, t, s, m, ...)                   of(t, s, m), JSON_EACH6(of, t, s, __VA_ARGS__)
#define JSON_EACH8(of, t, s, m, ...)                   of(t, s, m), JSON_EACH7(of, t, s, __VA_ARGS__)
#define JSON_NINTH(a, b, c, d, e, f, g, h, ninth, ...) ninth
#define JSON_EACH(of, type, type_of, ...)                                                          \
    JSON_NINTH(__VA_ARGS__, JSON_EACH8, JSON_EACH7, JSON_EACH6, JSON_EACH5, JSON_EACH4,            \
               JSON_EACH3, JSON_EACH2, 0)                                                          \
    (of, type, type_of, __VA_ARGS__)
#define JSON_FIELDS(type, type_of, ...)    JSON_EACH(JSON_FIELD, type, type_of, __VA_ARGS__)
#define JSON_OPTIONALS(type, type_of, ...) JSON_EACH(JSON_OPTIONAL, type, type_of, __VA_ARGS__)
#define JSON_FIELDS_END                                                                            \
    {                                                                                              \
        NULL, FIELD_TEXT, 0, 0, NULL, NULL, 0, JSON_REQUIRED                                       \
    }

/* Defines a table of fields and what stands for it: JSON_STRUCT(static, point, struct point, …)
 * defines point_fields and point_struct. `scope` may be empty. */
#define JSON_STRUCT(scope, name, type, ...)                                                        \
    static const struct json_field name##_fields[] = {__VA_ARGS__, JSON_FIELDS_END};               \
    scope const struct json_struct name##_struct = {name##_fields, sizeof(type)}

/* Adds the fields of the struct at `from` to an object, in the order of the table. */
void json_put_fields(json_t *object, const struct json_field *fields, const void *from);
/* The same as an object; the caller owns it. */
json_t *json_of_fields(const struct json_field *fields, const void *from);
/* The value of the field with this name; NULL if the table has none. The caller owns it. */
json_t *json_field_value(const struct json_field *fields, const char *name, const void *from);
/* Fills in the fields of the struct at `to`; fields that could not be read are unknown. ERR_PARSE
 * names the first member that is missing or wrong. Other members of the object are ignored. `path`
 * is the object's path, for messages; "" for the root. The arena owns arrays and what pointers
 * point to; NULL if the table has none. */
int json_get_fields_in(struct arena *arena, const json_t *object, const char *path,
                       const struct json_field *fields, void *to, struct error *error);
/* The same without an arena. */
int json_get_fields(const json_t *object, const char *path, const struct json_field *fields,
                    void *to, struct error *error);
