#include "base/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* The options of a plug-in: its own, then those it shares; each ends its table. */
struct tables {
    const struct option_spec *own, *common;
};

static size_t length_of(const struct option_spec *specs)
{
    size_t n = 0;
    while (specs && specs[n].name)
        n++;
    return n;
}

static const struct option_spec *option(const struct tables *tables, size_t i)
{
    const size_t own = length_of(tables->own);
    if (i < own)
        return &tables->own[i];
    return i < own + length_of(tables->common) ? &tables->common[i - own] : NULL;
}

static const char *option_name(void *tables, size_t i)
{
    const struct option_spec *spec = option(tables, i);
    return spec ? spec->name : NULL;
}

static uint64_t *value_of(const struct tables *tables, struct option_values *values, size_t i)
{
    const size_t own = length_of(tables->own);
    return i < own ? &values->value[i] : &values->common[i - own];
}

/* The position of `value` in "a|b|c", or -1. */
static int choice_index(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (int i = 0; choices; i++) {
        const char *end = strchr(choices, '|');
        size_t n = end ? (size_t)(end - choices) : strlen(choices);
        if (n == length && strncmp(choices, value, n) == 0)
            return i;
        choices = end ? end + 1 : NULL;
    }
    return -1;
}

static int set(const struct option_spec *spec, const char *owner, const char *text, uint64_t *value,
               struct error *error)
{
    if (spec->type == OPTION_CHOICE) {
        int index = choice_index(spec->choices, text);
        if (index < 0)
            return error_set(error, ERR_USAGE, "%s: option %s is '%s', expected one of %s", owner,
                             spec->name, text, spec->choices);
        *value = (uint64_t)index;
        return 0;
    }
    bool bytes = spec->type == OPTION_BYTES;
    if (bytes && spec->most == UINT64_MAX && strcmp(text, "max") == 0) {
        *value = UINT64_MAX;
        return 0;
    }
    if (!(bytes ? text_to_bytes(text, value) : text_to_u64(text, value))) {
        const char *expected = !bytes                     ? "a whole number"
                               : spec->most == UINT64_MAX ? "a size such as 64MiB, or max"
                                                          : "a size such as 64MiB";
        return error_set(error, ERR_USAGE, "%s: option %s is '%s', expected %s", owner, spec->name,
                         text, expected);
    }
    if (*value < spec->least || (spec->most && *value > spec->most)) {
        char range[64];
        if (spec->most)
            snprintf(range, sizeof range, "from %llu to %llu", (unsigned long long)spec->least,
                     (unsigned long long)spec->most);
        else
            snprintf(range, sizeof range, "of at least %llu", (unsigned long long)spec->least);
        return error_set(error, ERR_USAGE, "%s: option %s is %s, expected a value %s", owner,
                         spec->name, text, range);
    }
    return 0;
}

static int unknown_key(struct tables *tables, const char *owner, const char *key,
                       struct error *error)
{
    if (!option(tables, 0))
        return error_set(error, ERR_USAGE, "%s has no options, so '%s' cannot be set", owner, key);
    return text_unknown(error, key, option_name, tables, "%s has no option", owner);
}

/* `pair` is key=value. */
static int set_pair(struct tables *tables, const char *owner, char *pair,
                    struct option_values *values, struct error *error)
{
    char *equals = strchr(pair, '=');
    if (!equals)
        return error_set(error, ERR_USAGE, "%s: '%s' is not an option, expected key=value", owner,
                         pair);
    *equals = 0;
    size_t i = 0;
    while (option(tables, i) && strcmp(option(tables, i)->name, pair) != 0)
        i++;
    if (!option(tables, i))
        return unknown_key(tables, owner, pair, error);
    return set(option(tables, i), owner, equals + 1, value_of(tables, values, i), error);
}

int options_parse_common(const struct option_spec *specs, const struct option_spec *common,
                         const char *owner, const char *text, struct option_values *values,
                         struct error *error)
{
    struct tables tables = {specs, common};
    *values = (struct option_values){{0}, {0}};
    for (size_t i = 0; option(&tables, i); i++) {
        const struct option_spec *spec = option(&tables, i);
        int code = set(spec, owner, spec->fallback, value_of(&tables, values, i), error);
        if (code)
            return code;
    }
    while (text && *text) {
        char pair[128];
        size_t length = strcspn(text, ":");
        if (length >= sizeof pair)
            return error_set(error, ERR_USAGE, "%s: the option '%.40s…' is too long", owner, text);
        memcpy(pair, text, length);
        pair[length] = 0;
        text += length + (text[length] == ':');
        int code = set_pair(&tables, owner, pair, values, error);
        if (code)
            return code;
    }
    return 0;
}

int options_parse(const struct option_spec *specs, const char *owner, const char *text,
                  struct option_values *values, struct error *error)
{
    return options_parse_common(specs, NULL, owner, text, values, error);
}
