/* The words of PYTORCH_CUDA_ALLOC_CONF, as options of `caching`, `vmm` and `stream`. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
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

/* PyTorch's minor version whose words `conf` has; 0: all that gamut knows. */
static inline unsigned pytorch_version(const char *text)
{
    text += *text == '{';
    return strncmp(text, "2.", 2) == 0 ? (unsigned)strtoul(text + 2, NULL, 10) : 0;
}
#define PYTORCH_VERSION_OPTION                                                                     \
    {                                                                                              \
        .name = "version", .type = OPTION_CHOICE, .fallback = "newest",                            \
        .choices = "newest|2.9|2.10|2.11|2.12|2.13|2.14|2.15",                                     \
        .help = "the PyTorch whose words conf has; no difference between their rules is known"     \
    }

/* An option for changes of PyTorch's allocator that are proposed: pull requests by number. */
#define PYTORCH_PROPOSAL_OPTION(NUMBERS, HELP)                                                     \
    {                                                                                              \
        .name = "proposal", .type = OPTION_CHOICE, .fallback = "none", .choices = "none|" NUMBERS, \
        .help = "a pending change of pytorch/pytorch; " HELP                                       \
    }

/* Requests of up to so many bytes are of the small pool, and its segments have so many. */
#define PYTORCH_SMALL_MOST_BYTES    (UINT64_C(1) << 20)
#define PYTORCH_SMALL_SEGMENT_BYTES (UINT64_C(2) << 20)

/* The bytes of the segment that PyTorch asks the driver for, if no block serves `size`. `small`,
 * `large`: the bytes of its two kinds; requests of 10 MiB and more get one of their own. A large
 * segment that is no larger, which PyTorch refuses, serves requests below half of it. */
static inline uint64_t pytorch_segment_bytes(uint64_t size, uint64_t small, uint64_t large)
{
    const uint64_t most = UINT64_C(10) << 20;
    if (size <= small / 2)
        return small;
    return size < (large > most ? most : large / 2) ? large : (size + small - 1) / small * small;
}

/* An option that is a share has so many parts of a whole. */
enum { PYTORCH_SHARE_PARTS = 1000000000 };

/* expandable_segments_reserve: "0.5" of the device's memory, or "40G"; "0": as without it. Bytes
 * have the bit PYTORCH_RESERVE_IS_BYTES. */
#define PYTORCH_RESERVE_IS_BYTES (UINT64_C(1) << 63)
static inline bool pytorch_reserve_parse(const char *text, uint64_t *value)
{
    char *end;
    const double number = strtod(text, &end);
    if (end == text || !(number >= 0 && number < 1e6))
        return false;
    *value = *end ? (uint64_t)(number * (double)(UINT64_C(1) << 30)) | PYTORCH_RESERVE_IS_BYTES
                  : (uint64_t)(number * PYTORCH_SHARE_PARTS + 0.5);
    return !*end || ((*end == 'G' || *end == 'g') && !end[1]);
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
        .file = "c10/core/AllocatorConfig.cpp", .commit = "0ac716637f32"                           \
    }

/* A word, and what gamut does with it. */
struct pytorch_word {
    const char *name;
    unsigned since;     /* PyTorch 2.x has it from x on; 0: from before 2.9 */
    bool is_verified;   /* replays were held against runs of PyTorch with it */
    const char *effect; /* "max_split of caching and vmm" */
};
/* The i-th word; NULL after the last. */
const struct pytorch_word *pytorch_word(size_t i);

/* Translates "expandable_segments:True,max_split_size_mb:64". *strategy: the name of the strategy
 * that works so; unchanged if `conf` does not say. `options`: ":max_split=64MiB" is added.
 * ERR_USAGE for words that PyTorch's `version` (0: any) does not have, and for values that it
 * refuses or whose effect no strategy has. */
int pytorch_conf(const char *conf, unsigned version, const char **strategy, struct text *options,
                 struct error *error);

/* The strategy that a trace has as the recorded one, "caching:conf={…}", as one that can be parsed:
 * without the words that pytorch_conf does not take. `notes` gets a line for each of them, and for
 * each word that changes nothing. */
void pytorch_recorded(const char *recorded, struct text *spec, struct text *notes);
