/* Checks JSON values, and converts objects to and from structs, by tables.
 *
 * A table of rules has the types that may stand at each path of a value; code that reads a checked
 * value needs no checks of its own. A table of fields ties the members of an object to those of a
 * struct; the same table writes the object and reads it. Messages name the path:
 * "cases[3].key.merge: expected a text, found nothing".
 */
#ifndef GAMUT_BASE_JSON_RULES_H
#define GAMUT_BASE_JSON_RULES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

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

enum json_field_type {
    FIELD_TEXT,             /* char[] */
    FIELD_TEXT_OR_NULL,     /* char[]: "" is null, and may be absent */
    FIELD_COUNT,            /* unsigned or uint64_t, below 2^53 */
    FIELD_COUNT_OR_NULL,    /* the same: 0 is null */
    FIELD_COUNT_OR_UNKNOWN, /* uint64_t: UINT64_MAX is null */
    FIELD_NUMBER,           /* double, 0 or more: NaN is null */
    FIELD_BOOLEAN,          /* bool */
    FIELD_DIGEST,           /* uint64_t: 16 hexadecimal digits, 0 is null */
    FIELD_WORD,             /* an enum: the word at its place in `words` */
};

struct json_field {
    const char *name; /* NULL ends a table: JSON_FIELDS_END */
    enum json_field_type type;
    size_t offset, size;
    const char *const *words; /* the words of a FIELD_WORD, then NULL; else NULL */
};
#define JSON_FIELD_AS(name, type, of, member)                                                      \
    {                                                                                              \
        name, FIELD_##type, offsetof(of, member), sizeof((of *)0)->member, NULL                    \
    }
#define JSON_FIELD(type, of, member) JSON_FIELD_AS(#member, type, of, member)
#define JSON_WORD(of, member, words)                                                               \
    {                                                                                              \
#member, FIELD_WORD, offsetof(of, member), sizeof((of *)0)->member, words                  \
    }
#define JSON_FIELDS_END                                                                            \
    {                                                                                              \
        NULL, FIELD_TEXT, 0, 0, NULL                                                               \
    }

/* Adds the fields of the struct at `from` to an object, in the order of the table. */
void json_put_fields(json_t *object, const struct json_field *fields, const void *from);
/* Fills in the fields of the struct at `to`; fields that could not be read are 0 or "". ERR_PARSE
 * names the first member that is missing or wrong. Other members of the object are ignored. `path`
 * is the object's path, for messages; "" for the root. */
int json_get_fields(const json_t *object, const char *path, const struct json_field *fields,
                    void *to, struct error *error);

#endif
