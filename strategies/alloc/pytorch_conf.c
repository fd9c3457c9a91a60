/* Origin of the words and their bounds: pytorch/pytorch, c10/core/AllocatorConfig.cpp (065861f),
 * c10/core/AllocatorConfig.h (007b9bc) and c10/cuda/CUDAAllocatorConfig.h. */
#include "alloc/pytorch_conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SPLIT_MIB = 20 };

struct translation {
    const char *strategy; /* NULL: `conf` does not say */
    bool is_async;        /* the driver's pool: other words have no effect */
    struct text options;
    char threshold[32]; /* "": none */
    bool has_fraction;
    struct error *error;
};

static int word_error(struct translation *t, const char *word, const char *value,
                      const char *expected)
{
    return error_set(t->error, ERR_USAGE, "conf: %s is '%s', expected %s", word, value, expected);
}

static int is_true(struct translation *t, const char *word, const char *value, bool *truth)
{
    *truth = strcmp(value, "True") == 0;
    return *truth || strcmp(value, "False") == 0 ? 0 : word_error(t, word, value, "True or False");
}

static int set_mebibytes(struct translation *t, const char *word, const char *value)
{
    const char *option = strcmp(word, "max_split_size_mb") == 0 ? "max_split" : "rounding";
    uint64_t mib;
    if (!text_to_u64(value, &mib) || mib < LEAST_SPLIT_MIB || mib >> 40)
        return word_error(t, word, value, "MiB, at least 20");
    text_add(&t->options, ":%s=%lluMiB", option, (unsigned long long)mib);
    return 0;
}

static int set_divisions(struct translation *t, const char *word, const char *value)
{
    const size_t length = strlen(value);
    (void)word;
    if (*value == '[' && value[length - 1] == ']')
        text_add(&t->options, ":divisions={%.*s}", (int)length - 2, value + 1);
    else
        text_add(&t->options, ":divisions=%s", value);
    return 0;
}

static int set_threshold(struct translation *t, const char *word, const char *value)
{
    char *end;
    const double share = strtod(value, &end);
    if (end == value || *end || !(share > 0 && share < 1))
        return word_error(t, word, value, "a number between 0 and 1");
    snprintf(t->threshold, sizeof t->threshold, "%.31s", value);
    return 0;
}

static int set_expandable(struct translation *t, const char *word, const char *value)
{
    bool truth;
    TRY(is_true(t, word, value, &truth));
    t->strategy = truth ? "vmm" : "caching";
    return 0;
}

static int set_backend(struct translation *t, const char *word, const char *value)
{
    t->is_async = strcmp(value, "cudaMallocAsync") == 0;
    if (!t->is_async && strcmp(value, "native") != 0)
        return word_error(t, word, value, "native or cudaMallocAsync");
    return 0;
}

/* Has no effect on device memory. */
static int ignore(struct translation *t, const char *word, const char *value)
{
    (void)t, (void)word, (void)value;
    return 0;
}

static int set_fraction(struct translation *t, const char *word, const char *value)
{
    char *end;
    const double share = strtod(value, &end);
    t->has_fraction = true;
    if (end > value && !*end && share == 1)
        return 0;
    return error_set(t->error, ERR_USAGE,
                     "conf: %s needs the size of the device's memory: give its product with %s as "
                     "--mem-limit, of which the fraction is 1",
                     word, value);
}

static int set_large_segment(struct translation *t, const char *word, const char *value)
{
    if (strcmp(value, "20") == 0)
        return 0;
    return error_set(t->error, ERR_USAGE,
                     "conf: %s is %s; gamut knows how PyTorch works with 20 alone", word, value);
}

static const struct word {
    const char *name;
    int (*set)(struct translation *t, const char *word, const char *value);
} words[] = {
    {"expandable_segments", set_expandable},         {"max_split_size_mb", set_mebibytes},
    {"max_non_split_rounding_mb", set_mebibytes},    {"roundup_power2_divisions", set_divisions},
    {"garbage_collection_threshold", set_threshold}, {"backend", set_backend},
    {"per_process_memory_fraction", set_fraction},   {"large_segment_size_mb", set_large_segment},
    {"release_lock_on_cudamalloc", ignore},          {"release_lock_on_hipmalloc", ignore},
    {"pinned_use_cuda_host_register", ignore},       {"pinned_use_hip_host_register", ignore},
    {"pinned_num_register_threads", ignore},         {"pinned_use_background_threads", ignore},
    {"pinned_reserve_segment_size_mb", ignore},      {"graph_capture_record_stream_reuse", ignore},
};
enum { WORDS = sizeof words / sizeof *words };

TEXT_NAMES(word_at, WORDS, words[i].name)

/* `pair` is "word:value". */
static int set_word(struct translation *t, char *pair)
{
    char *value = strchr(pair, ':');
    if (!value)
        return error_set(t->error, ERR_USAGE, "conf: '%s' is no setting, expected word:value",
                         pair);
    *value++ = 0;
    for (size_t i = 0; i < WORDS; i++)
        if (strcmp(words[i].name, pair) == 0)
            return words[i].set(t, pair, value);
    return text_unknown(t->error, pair, word_at, NULL, "PYTORCH_CUDA_ALLOC_CONF has no word");
}

/* The bytes before the next comma that is in no list. */
static size_t pair_length(const char *text)
{
    size_t i = 0;
    for (bool in_list = false; text[i] && (in_list || text[i] != ','); i++)
        in_list = text[i] == '[' || (in_list && text[i] != ']');
    return i;
}

static int translate(struct translation *t, const char *conf)
{
    char plain[256], pair[sizeof plain];
    size_t count = 0;
    for (; *conf && count < sizeof plain - 1; conf++)
        if (*conf != ' ')
            plain[count++] = *conf;
    plain[count] = 0;
    if (*conf)
        return error_set(t->error, ERR_USAGE, "conf: expected at most %zu characters",
                         sizeof plain - 1);
    for (const char *at = plain; *at;) {
        const size_t length = pair_length(at);
        snprintf(pair, sizeof pair, "%.*s", (int)length, at);
        TRY(set_word(t, pair));
        at += length + (at[length] == ',');
    }
    return 0;
}

int pytorch_conf(const char *conf, const char **strategy, struct text *options, struct error *error)
{
    struct translation t = {.error = error};
    int code = translate(&t, conf);
    if (!code && t.is_async) {
        *strategy = "stream";
        text_add(options, ":threshold=max"); /* PyTorch lets the pool keep everything */
    } else if (!code) {
        *strategy = t.strategy ? t.strategy : *strategy;
        text_add(options, "%s", t.options.data ? t.options.data : "");
        /* PyTorch collects segments that were never split; expandable ones are. */
        const bool expands = strcmp(*strategy, "vmm") == 0;
        if (*t.threshold && !expands)
            text_add(options, ":gc=%s", t.threshold);
        if (t.has_fraction && expands)
            text_add(options, ":limit=fraction");
    }
    text_free(&t.options);
    return code;
}
