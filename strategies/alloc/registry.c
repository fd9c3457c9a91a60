#include "alloc/registry.h"

#include <string.h>

#include "alloc/list.h"
#include "alloc/pytorch_conf.h"
#include "base/text.h"

#define ALLOCATOR(name) &allocator_##name,
static const struct allocator_ops *const strategies[] = {ALLOCATOR_LIST(ALLOCATOR)};
enum { STRATEGY_COUNT = sizeof strategies / sizeof *strategies };

const struct option_spec allocator_options[] = {
    [ALLOCATOR_KIND] = {"kind", OPTION_CHOICE, "device",
                        "device|pinned|coarse_svm|fine_svm|managed", 0, 0,
                        "where memory lives: on the device, on the host, or wherever it is used"},
    [ALLOCATOR_HANDLE] =
        {"handle", OPTION_CHOICE, "offset", "offset|sub_buffer", 0, 0,
         "how commands name a block: as an offset in a memory, or by a sub-buffer made for it"},
    {0},
};

const struct allocator_ops *const *allocator_list(size_t *count)
{
    *count = STRATEGY_COUNT;
    return strategies;
}

TEXT_NAMES(strategy_name, STRATEGY_COUNT, strategies[i]->name)

/* Strategies from outside of the list. */
static struct {
    const char *name;
    const struct allocator_ops *ops;
} added[16];
static size_t added_count;

int allocator_add(const char *name, const struct allocator_ops *ops, struct error *error)
{
    TRY(allocator_check_ops(ops, error));
    if (added_count == sizeof added / sizeof *added)
        return error_set(error, ERR_USAGE, "%s is one strategy too many from outside", name);
    added[added_count].name = name;
    added[added_count++].ops = ops;
    return 0;
}

int allocator_find(const char *name, const struct allocator_ops **ops, struct error *error)
{
    size_t i = 0;
    for (size_t a = 0; a < added_count; a++)
        if (strcmp(added[a].name, name) == 0) {
            *ops = added[a].ops;
            return 0;
        }
    while (i < STRATEGY_COUNT && strcmp(strategies[i]->name, name) != 0)
        i++;
    if (i == STRATEGY_COUNT)
        return text_unknown(error, name, strategy_name, NULL, "there is no strategy");
    *ops = strategies[i];
    return allocator_check_ops(*ops, error);
}

/* The begin of an option of a strategy that has `conf`; NULL: it is not there. */
static const char *find_option(const struct allocator_ops *ops, const char *text,
                               const char *option)
{
    if (!ops->options || strcmp(ops->options->name, "conf") != 0)
        return NULL;
    for (; *text; text += text_span(text, ":"), text += *text == ':')
        if (strncmp(text, option, strlen(option)) == 0)
            return text;
    return NULL;
}

/* Adds the words of "conf={…}", and returns what comes after it. */
static const char *add_words(struct text *words, const char *conf)
{
    const char *begin = conf + strlen("conf="), *rest = conf + text_span(conf, ":");
    const bool has_braces = *begin == '{' && rest[-1] == '}';
    text_add(words, "%.*s", (int)(rest - begin) - 2 * has_braces, begin + has_braces);
    return rest;
}

/* Parses options of which the first "conf={…}" is PyTorch's. What it says stands in its place, so
 * that options after it hold. */
static int parse_conf(const char *text, const char *conf, const struct allocator_ops **ops,
                      struct option_values *options, struct error *error)
{
    const char *name = (*ops)->name, *version = find_option(*ops, text, "version=");
    struct text inner = {0}, all = {0};
    const char *rest = add_words(&inner, conf);
    text_add(&all, "%.*s", (int)(conf > text ? conf - text - 1 : 0), text);
    int code = pytorch_conf(inner.data, version ? pytorch_version(version + strlen("version=")) : 0,
                            &name, &all, error);
    text_add(&all, "%s", rest);
    THEN(code, allocator_find(name, ops, error));
    THEN(code, options_parse_common((*ops)->options, allocator_options, name,
                                    all.data + (*all.data == ':'), options, error));
    text_free(&inner);
    text_free(&all);
    return code;
}

int allocator_parse(const char *spec, const struct allocator_ops **ops,
                    struct option_values *options, struct error *error)
{
    char name[128];
    size_t length = strcspn(spec, ":");
    if (length >= sizeof name)
        return error_set(error, ERR_USAGE, "the strategy name '%.40s...' is too long", spec);
    memcpy(name, spec, length);
    name[length] = 0;

    TRY(allocator_find(name, ops, error));
    const char *text = spec + length + (spec[length] == ':');
    const char *conf = find_option(*ops, text, "conf=");
    return conf ? parse_conf(text, conf, ops, options, error)
                : options_parse_common((*ops)->options, allocator_options, name, text, options,
                                       error);
}
