#include "base/options.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

/* The two tables of a plug-in: its own options, and those that it shares. NULL: none. */
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

/* The i-th word of "a|b|c", in a buffer of the caller; NULL after the last. */
struct choices {
    const char *all;
    char word[64];
};

static const char *choice_at(void *context, size_t i)
{
    struct choices *choices = context;
    const char *at = choices->all;
    for (; i && at; i--)
        at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL;
    if (!at)
        return NULL;
    snprintf(choices->word, sizeof choices->word, "%.*s", (int)strcspn(at, "|"), at);
    return choices->word;
}

static int choice_value(const struct option_spec *spec, const char *where, const char *text,
                        uint64_t *value, struct error *error)
{
    struct choices choices = {.all = spec->choices};
    const char *word;
    for (*value = 0; (word = choice_at(&choices, *value)); ++*value)
        if (strcmp(word, text) == 0)
            return 0;
    const int nearest = text_nearest(text, choice_at, &choices);
    return error_set(error, ERR_USAGE, "%s is '%s'%s%s%s, expected one of %s", where, text,
                     nearest >= 0 ? " (did you mean " : "",
                     nearest >= 0 ? choice_at(&choices, (size_t)nearest) : "",
                     nearest >= 0 ? "?)" : "", spec->choices);
}

/* The one copy of a text. There are as many as a process has command-line words. */
static uint64_t keep_text(const char *text)
{
    static struct kept {
        struct kept *next;
        char text[];
    } * all;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    struct kept *kept = all;
    while (kept && strcmp(kept->text, text) != 0)
        kept = kept->next;
    if (!kept) {
        const size_t bytes = strlen(text) + 1;
        kept = must_alloc(sizeof *kept + bytes);
        memcpy(kept->text, text, bytes);
        kept->next = all;
        all = kept;
    }
    pthread_mutex_unlock(&lock);
    return (uint64_t)(uintptr_t)kept->text;
}

int option_value(const struct option_spec *spec, const char *where, const char *text,
                 uint64_t *value, struct error *error)
{
    static bool (*const parsers[])(const char *, uint64_t *) = {
        [OPTION_COUNT] = text_to_u64, [OPTION_BYTES] = text_to_bytes, [OPTION_TIME] = text_to_ns};
    static const char *const expected[] = {[OPTION_COUNT] = "a whole number",
                                           [OPTION_BYTES] = "a size such as 64MiB",
                                           [OPTION_TIME] =
                                               "a time with its unit, such as 150ms, 2s or 3m"};
    const char *unit = spec->type == OPTION_TIME ? " ns" : "";
    const bool has_max = spec->type == OPTION_BYTES && spec->most == UINT64_MAX;
    if (spec->type == OPTION_CHOICE)
        return choice_value(spec, where, text, value, error);
    if (spec->type == OPTION_OWN)
        return spec->parse(text, value) ? 0
                                        : error_set(error, ERR_USAGE, "%s is '%s', expected %s",
                                                    where, text, spec->expected);
    if (spec->type == OPTION_TEXT) {
        *value = keep_text(text);
        return 0;
    }
    if (has_max && strcmp(text, "max") == 0) {
        *value = UINT64_MAX;
        return 0;
    }
    if (!parsers[spec->type](text, value))
        return error_set(error, ERR_USAGE, "%s is '%s', expected %s%s", where, text,
                         expected[spec->type], has_max ? ", or max" : "");
    if (*value >= spec->least && (!spec->most || *value <= spec->most))
        return 0;
    if (spec->most)
        return error_set(error, ERR_USAGE, "%s is %s, expected a value from %llu to %llu%s", where,
                         text, (unsigned long long)spec->least, (unsigned long long)spec->most,
                         unit);
    return error_set(error, ERR_USAGE, "%s is %s, expected a value of at least %llu%s", where, text,
                     (unsigned long long)spec->least, unit);
}

static int set_option(const struct option_spec *spec, const char *owner, const char *text,
                      uint64_t *value, struct error *error)
{
    char where[128];
    snprintf(where, sizeof where, "%s: option %s", owner, spec->name);
    return option_value(spec, where, text, value, error);
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
    char *value = equals + 1, *end = value + strlen(value);
    if (*value == '{' && end[-1] == '}') {
        end[-1] = 0;
        value++;
    }
    return set_option(option(tables, i), owner, value, value_of(tables, values, i), error);
}

int options_parse_common(const struct option_spec *specs, const struct option_spec *common,
                         const char *owner, const char *text, struct option_values *values,
                         struct error *error)
{
    struct tables tables = {specs, common};
    *values = (struct option_values){0};
    for (size_t i = 0; option(&tables, i); i++) {
        const struct option_spec *spec = option(&tables, i);
        TRY(set_option(spec, owner, spec->fallback, value_of(&tables, values, i), error));
    }
    while (text && *text) {
        char pair[1024]; /* a text may be a path */
        size_t length = text_span(text, ":");
        if (length >= sizeof pair)
            return error_set(error, ERR_USAGE, "%s: the option '%.40s…' is too long", owner, text);
        memcpy(pair, text, length);
        pair[length] = 0;
        text += length + (text[length] == ':');
        TRY(set_pair(&tables, owner, pair, values, error));
    }
    return 0;
}

int options_parse(const struct option_spec *specs, const char *owner, const char *text,
                  struct option_values *values, struct error *error)
{
    return options_parse_common(specs, NULL, owner, text, values, error);
}

/* Adds the alternatives of a value ("v1|w*") of an option that has these choices, or NULL. */
static void expand_value(const char *choices, const char *value, size_t bytes, struct text *out)
{
    for (size_t at = 0; at <= bytes;) {
        const size_t length = text_span(value + at, "|:");
        char pattern[64];
        struct choices all = {choices, ""};
        size_t found = 0;
        snprintf(pattern, sizeof pattern, "%.*s", (int)length, value + at);
        const bool globs = choices && length < sizeof pattern && strpbrk(pattern, "*?");
        text_add(out, "%s", at ? "|" : "");
        for (size_t i = 0; globs && choice_at(&all, i); i++)
            if (text_glob(pattern, all.word))
                text_add(out, "%s%s", found++ ? "|" : "", all.word);
        if (!found)
            text_add_bytes(out, value + at, length);
        at += length + 1;
    }
}

void options_expand(const struct option_spec *specs, const struct option_spec *common,
                    const char *text, struct text *expanded)
{
    const struct tables tables = {specs, common};
    for (const char *pair = text; *pair;) {
        const size_t length = text_span(pair, ":"), key = strcspn(pair, "=:");
        size_t i = 0;
        while (option(&tables, i) && (strlen(option(&tables, i)->name) != key ||
                                      strncmp(option(&tables, i)->name, pair, key) != 0))
            i++;
        if (key < length && option(&tables, i)) {
            text_add_bytes(expanded, pair, key + 1);
            expand_value(option(&tables, i)->choices, pair + key + 1, length - key - 1, expanded);
        } else {
            text_add_bytes(expanded, pair, length);
        }
        text_add(expanded, "%s", pair[length] ? ":" : "");
        pair += length + (pair[length] == ':');
    }
}
