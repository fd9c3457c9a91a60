#include "merge/parse.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct {
    const char *name, *sentence;
} extension_list[EXTENSION_COUNT] = {
#define X(name, sentence) {#name, sentence},
    MERGE_EXTENSION_LIST(X)
#undef X
};

const char *merge_extension_name(unsigned extension)
{
    return extension < EXTENSION_COUNT ? extension_list[extension].name : NULL;
}

const char *merge_extension_sentence(unsigned extension)
{
    return extension < EXTENSION_COUNT ? extension_list[extension].sentence : "";
}

static const char *set_at(void *context, size_t i)
{
    (void)context;
    return merge_sets[i].name; /* the one behind the last is NULL */
}

static const char *extension_at(void *context, size_t i)
{
    (void)context;
    return merge_extension_name((unsigned)i);
}

static int unknown(const char *what, const char *word, const char *(*name)(void *, size_t),
                   struct error *error)
{
    struct text known = {0};
    for (size_t i = 0; name(NULL, i); i++)
        text_add(&known, "%s%s", i ? ", " : "", name(NULL, i));
    int nearest = text_nearest(word, name, NULL);
    int code = error_set(error, ERR_USAGE, "there is no %s '%s'%s%s%s; there are: %s", what, word,
                         nearest >= 0 ? " (did you mean " : "",
                         nearest >= 0 ? name(NULL, (size_t)nearest) : "", nearest >= 0 ? "?)" : "",
                         known.data);
    text_free(&known);
    return code;
}

/* "views|disjoint" */
static int parse_extensions(const char *list, unsigned *extensions, struct error *error)
{
    char word[64];
    for (;; list++) {
        size_t length = strcspn(list, "|");
        unsigned e = 0;
        snprintf(word, sizeof word, "%.*s", (int)length, list);
        while (e < EXTENSION_COUNT && strcmp(merge_extension_name(e), word) != 0)
            e++;
        if (e == EXTENSION_COUNT)
            return unknown("extension of merging", word, extension_at, error);
        *extensions |= 1u << e;
        list += length;
        if (!*list)
            return 0;
    }
}

int merge_parse(const char *text, const struct merge_set **set, unsigned *extensions,
                struct error *error)
{
    char name[64];
    size_t length = strcspn(text, ":");
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    *extensions = 0;
    *set = merge_set_find(name);
    if (!*set)
        return unknown("merge set", name, set_at, error);
    const char *option = text + length;
    if (!*option)
        return 0;
    if (strncmp(option, ":with=", 6) != 0)
        return error_set(error, ERR_USAGE,
                         "merge set '%s': '%s' is no option; there is one: %s:with=%s|%s", name,
                         option + 1, name, merge_extension_name(0), merge_extension_name(1));
    return parse_extensions(option + 6, extensions, error);
}
