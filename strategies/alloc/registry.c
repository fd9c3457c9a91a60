#include "alloc/registry.h"

#include <string.h>

#include "alloc/list.h"
#include "base/text.h"

static const struct allocator_ops *const strategies[] = {
#define X(name) &allocator_##name,
    ALLOCATOR_LIST(X)
#undef X
};
enum { STRATEGY_COUNT = sizeof strategies / sizeof *strategies };

const struct option_spec allocator_options[] = {
    [ALLOCATOR_KIND] = {.name = "kind",
                        .type = OPTION_CHOICE,
                        .fallback = "device",
                        .choices = "device|pinned|coarse_svm|fine_svm|managed",
                        .help = "where memory lives: on the device, on the host, or wherever it is "
                                "used"},
    [ALLOCATOR_HANDLE] = {.name = "handle",
                          .type = OPTION_CHOICE,
                          .fallback = "offset",
                          .choices = "offset|sub_buffer",
                          .help = "how commands name a block: as an offset in a memory, or by a "
                                  "sub-buffer made for it"},
    {0},
};

const struct allocator_ops *const *allocator_list(size_t *count)
{
    *count = STRATEGY_COUNT;
    return strategies;
}

static const char *strategy_name(void *context, size_t i)
{
    (void)context;
    return i < STRATEGY_COUNT ? strategies[i]->name : NULL;
}

int allocator_parse(const char *spec, const struct allocator_ops **ops,
                    struct option_values *options, struct error *error)
{
    char name[64];
    size_t length = strcspn(spec, ":");
    if (length >= sizeof name)
        return error_set(error, ERR_USAGE, "the strategy name '%.40s...' is too long", spec);
    memcpy(name, spec, length);
    name[length] = 0;

    size_t i = 0;
    while (i < STRATEGY_COUNT && strcmp(strategies[i]->name, name) != 0)
        i++;
    if (i == STRATEGY_COUNT)
        return text_unknown(error, name, strategy_name, NULL, "there is no strategy");
    *ops = strategies[i];
    TRY(allocator_check_ops(*ops, error));
    return options_parse_common((*ops)->options, allocator_options, name,
                                spec + length + (spec[length] == ':'), options, error);
}
