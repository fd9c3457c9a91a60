/* Options of a plug-in: a table of names, defaults and help, and the text that sets them.
 *
 * A strategy is written `name:key=value:key=value`. The text after the name is parsed here against
 * the plug-in's own table, so that help, defaults and error messages come from one place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum option_type {
    OPTION_COUNT,
    OPTION_BYTES,
    OPTION_TIME,
    OPTION_CHOICE,
    OPTION_OWN,
    OPTION_TEXT
};

struct option_spec {
    const char *name; /* NULL ends a table */
    enum option_type type;
    const char *fallback; /* the default, written as a user would write it */
    const char *choices;  /* OPTION_CHOICE: "a|b|c", the value is the position. OPTION_OWN: usual
                           * values, or NULL. Else NULL */
    /* Bounds of OPTION_COUNT and OPTION_BYTES. `most` 0: no upper bound. `most` UINT64_MAX: no
     * upper bound, and the word "max" stands for UINT64_MAX. */
    uint64_t least, most;
    const char *help; /* one line */
    /* OPTION_OWN: reads the value; false: it is none, and `expected` says what is. */
    const char *expected;
    bool (*parse)(const char *text, uint64_t *value);
};

/* Parses a value: a number, bytes, nanoseconds, the position of a choice, or a text. `where` names
 * the value in messages: "--rounds". ERR_USAGE says what is expected. The value of a text is its
 * address as a number: option_text. */
int option_value(const struct option_spec *spec, const char *where, const char *text,
                 uint64_t *value, struct error *error);

enum { OPTIONS_MAX = 12, OPTIONS_COMMON_MAX = 2 };
struct option_values {
    uint64_t value[OPTIONS_MAX];         /* in the order of the table */
    uint64_t common[OPTIONS_COMMON_MAX]; /* in the order of the table that the plug-ins share */
    const void *given;                   /* what a caller hands the plug-in in addition, or NULL */
};

/* The text of an OPTION_TEXT; NULL for the value 0. Texts stay until the process ends, one of each:
 * values may be copied freely, and equal texts have equal values. */
static inline const char *option_text(uint64_t value)
{
    return (const char *)(uintptr_t)value;
}

/* Sets every option to its default and then applies `text` ("k=v:k=v", NULL or "" for none). Braces
 * around a value keep what is in them together and do not belong to it: "k={a:1}:k=v".
 * ERR_USAGE for an unknown key or a bad value: the message has the nearest key and all that exist,
 * and calls the plug-in `owner`. `specs` may be NULL (no options). */
int options_parse(const struct option_spec *specs, const char *owner, const char *text,
                  struct option_values *values, struct error *error);
/* The same for plug-ins that have the options `common` in addition to their own. */
int options_parse_common(const struct option_spec *specs, const struct option_spec *common,
                         const char *owner, const char *text, struct option_values *values,
                         struct error *error);

/* Adds `text` ("k=v:k=v") with patterns (* and ?) replaced by the choices that they match:
 * "policy=v*" becomes "policy=v1|v2". A pattern that matches none stays as it is. Either table may
 * be NULL. */
void options_expand(const struct option_spec *specs, const struct option_spec *common,
                    const char *text, struct text *expanded);
