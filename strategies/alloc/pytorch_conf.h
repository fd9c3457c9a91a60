/* The words of PYTORCH_CUDA_ALLOC_CONF, as options of `caching`, `vmm` and `stream`. */
#pragma once

#include "base/error.h"
#include "base/options.h"
#include "base/text.h"

/* The option `conf`, which the registry translates before it parses the others. */
static inline bool pytorch_conf_default(const char *text, uint64_t *value)
{
    (void)text;
    *value = 0;
    return true;
}
#define PYTORCH_CONF_OPTION                                                                        \
    {                                                                                              \
        .name = "conf", .type = OPTION_OWN, .fallback = "{}", .parse = pytorch_conf_default,       \
        .help = "words of PYTORCH_CUDA_ALLOC_CONF, such as {expandable_segments:True}: they "      \
                "choose between caching, vmm and stream, and set options"                          \
    }

/* The sources of the options that `caching` and `vmm` share: two of their struct
 * allocator_origin. */
#define PYTORCH_OPTION_ORIGINS                                                                     \
    {.what = "the option rounding: max_non_split_rounding_mb, pull request 136174",                \
     .repository = "pytorch/pytorch",                                                              \
     .file = "c10/cuda/CUDACachingAllocator.cpp",                                                  \
     .year = 2024},                                                                                \
    {                                                                                              \
        .what = "the words of conf, and their bounds", .repository = "pytorch/pytorch",            \
        .file = "c10/core/AllocatorConfig.cpp", .commit = "065861fba759"                           \
    }

/* Translates "expandable_segments:True,max_split_size_mb:64". *strategy: the name of the strategy
 * that works so; unchanged if `conf` does not say. `options`: ":max_split=64MiB" is added.
 * ERR_USAGE for words that do not exist, and for those whose effect no strategy has. */
int pytorch_conf(const char *conf, const char **strategy, struct text *options,
                 struct error *error);
