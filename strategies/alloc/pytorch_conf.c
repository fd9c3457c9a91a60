/* Origin of the words and their bounds: pytorch/pytorch, c10/core/AllocatorConfig.cpp (0ac7166),
 * c10/core/AllocatorConfig.h (b42fb11), c10/cuda/CUDAAllocatorConfig.h and
 * c10/cuda/CUDACachingAllocator.cpp. The versions are of the first wheel whose libraries have the
 * word; the parsers of the wheels 2.9.1, 2.10.0, 2.11.0 and 2.15.0 take and refuse the same values.
 */
#include "alloc/pytorch_conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/divisions.h"

enum { LARGE_MIB = 20, LEAST_LARGE_MIB = 11 };

struct translation {
    const char *strategy; /* NULL: `conf` does not say */
    bool is_async;        /* the driver's pool: other words have no effect */
    unsigned version;
    uint64_t large_mib; /* read before the other words, as PyTorch does: */
    bool has_large_mib;
    struct text options;
    char threshold[32], reserve[32]; /* "": none */
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
    if (!text_to_u64(value, &mib) || mib < t->large_mib || mib >> 40)
        return error_set(t->error, ERR_USAGE,
                         "conf: %s is '%s', expected MiB, at least %llu as large_segment_size_mb",
                         word, value, (unsigned long long)t->large_mib);
    text_add(&t->options, ":%s=%lluMiB", option, (unsigned long long)mib);
    return 0;
}

static int set_large_segment(struct translation *t, const char *word, const char *value)
{
    uint64_t mib;
    if (!text_to_u64(value, &mib) || mib < LEAST_LARGE_MIB || mib >> 20)
        return word_error(t, word, value, "MiB, more than 10");
    t->large_mib = t->has_large_mib ? t->large_mib : mib;
    return 0;
}

static int set_divisions(struct translation *t, const char *word, const char *value)
{
    const size_t length = strlen(value);
    const bool is_list = *value == '[' && value[length - 1] == ']';
    char list[256];
    uint64_t ignored;
    snprintf(list, sizeof list, "%.*s", (int)(length - 2 * is_list), value + is_list);
    if (!divisions_parse(list, &ignored))
        return word_error(t, word, value, "a power of two, or a list such as [256:1,512:2,>:8]");
    text_add(&t->options, ":divisions={%s}", list);
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

/* PyTorch warns of another value, and works without it. */
static int set_reserve(struct translation *t, const char *word, const char *value)
{
    (void)word;
    if (pytorch_reserve_parse(value, &(uint64_t){0}))
        snprintf(t->reserve, sizeof t->reserve, "%.31s", value);
    return 0;
}

static int set_backend(struct translation *t, const char *word, const char *value)
{
    t->is_async = strcmp(value, "cudaMallocAsync") == 0;
    if (!t->is_async && strcmp(value, "native") != 0)
        return word_error(t, word, value, "native or cudaMallocAsync");
    return 0;
}

static int set_nothing(struct translation *t, const char *word, const char *value)
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

#define OF_PINNED  "nothing: it is about pinned memory of the host"
#define OF_THREADS "nothing: it is about threads that wait for each other"

/* In the order of a reader's interest. */
static const struct conf_word {
    struct pytorch_word word;
    int (*set)(struct translation *t, const char *word, const char *value);
} words[] = {
    {{"expandable_segments", 0, true, "the strategy: vmm if True, else caching"}, set_expandable},
    {{"max_split_size_mb", 0, true, "max_split of caching and vmm"}, set_mebibytes},
    {{"max_non_split_rounding_mb", 0, true, "rounding of caching and vmm"}, set_mebibytes},
    {{"roundup_power2_divisions", 0, true, "divisions of caching and vmm"}, set_divisions},
    {{"garbage_collection_threshold", 0, true, "gc of caching; nothing in vmm"}, set_threshold},
    {{"large_segment_size_mb", 11, true, "large_segment of caching, large_chunk of vmm"},
     set_large_segment},
    {{"per_process_memory_fraction", 10, false, "limit of vmm; --mem-limit says the bytes"},
     set_fraction},
    {{"expandable_segments_reserve", 15, false, "reserve of vmm"}, set_reserve},
    {{"expandable_segments_reserve_by_class", 15, false,
      "nothing: no file says which class a stream has"},
     set_nothing},
    {{"throw_on_cudamalloc_oom", 12, false,
      "nothing: it is about what exceeds the device's whole memory"},
     set_nothing},
    {{"graph_capture_record_stream_reuse", 9, false,
      "nothing: blocks of a capture are free when the recording has it"},
     set_nothing},
    {{"backend", 0, false, "the strategy: stream if cudaMallocAsync"}, set_backend},
    {{"release_lock_on_cudamalloc", 0, false, OF_THREADS}, set_nothing},
    {{"release_lock_on_hipmalloc", 0, false, OF_THREADS}, set_nothing},
    {{"pinned_use_cuda_host_register", 0, false, OF_PINNED}, set_nothing},
    {{"pinned_use_hip_host_register", 0, false, OF_PINNED}, set_nothing},
    {{"pinned_num_register_threads", 0, false, OF_PINNED}, set_nothing},
    {{"pinned_use_background_threads", 0, false, OF_PINNED}, set_nothing},
    {{"pinned_reserve_segment_size_mb", 10, false, OF_PINNED}, set_nothing},
    {{"pinned_free_catch_all", 12, false, OF_PINNED}, set_nothing},
    {{"pinned_max_round_threshold_mb", 13, false, OF_PINNED}, set_nothing},
    {{"pinned_max_cached_size_mb", 13, false, OF_PINNED}, set_nothing},
};
enum { WORDS = sizeof words / sizeof *words };

TEXT_NAMES(word_at, WORDS, words[i].word.name)

const struct pytorch_word *pytorch_word(size_t i)
{
    return i < WORDS ? &words[i].word : NULL;
}

static const struct conf_word *find_word(const char *name)
{
    for (size_t i = 0; i < WORDS; i++)
        if (strcmp(words[i].word.name, name) == 0)
            return &words[i];
    return NULL;
}

/* `pair` is "word:value". */
static int set_word(struct translation *t, char *pair)
{
    char *value = strchr(pair, ':');
    if (!value)
        return error_set(t->error, ERR_USAGE, "conf: '%s' is no setting, expected word:value",
                         pair);
    *value++ = 0;
    const struct conf_word *w = find_word(pair);
    if (!w)
        return text_unknown(t->error, pair, word_at, NULL, "PYTORCH_CUDA_ALLOC_CONF has no word");
    if (t->version && w->word.since > t->version)
        return error_set(t->error, ERR_USAGE,
                         "conf: %s is new in PyTorch 2.%u, and version is 2.%u", pair,
                         w->word.since, t->version);
    return w->set(t, pair, value);
}

/* The pairs of a conf without its spaces, in turn: *at is on the next one. False after the last. */
typedef char conf_text[256];

static bool next_pair(const char **at, conf_text pair)
{
    size_t i = 0;
    for (bool in_list = false; (*at)[i] && (in_list || (*at)[i] != ','); i++)
        in_list = (*at)[i] == '[' || (in_list && (*at)[i] != ']');
    snprintf(pair, sizeof(conf_text), "%.*s", (int)i, *at);
    const bool is_one = **at;
    *at += i + ((*at)[i] == ',');
    return is_one;
}

/* Leaves spaces out, and reads the words that bound the values of others. */
static int begin(struct translation *t, const char *conf, conf_text plain)
{
    size_t count = 0;
    conf_text pair;
    for (; *conf && count < sizeof(conf_text) - 1; conf++)
        if (*conf != ' ')
            plain[count++] = *conf;
    plain[count] = 0;
    if (*conf)
        return error_set(t->error, ERR_USAGE, "conf: expected at most %zu characters",
                         sizeof(conf_text) - 1);
    t->large_mib = LARGE_MIB;
    int code = 0;
    for (const char *at = plain; next_pair(&at, pair);)
        if (strncmp(pair, "large_segment_size_mb:", strlen("large_segment_size_mb:")) == 0)
            ALSO(code, set_word(t, pair));
    t->has_large_mib = true;
    return code;
}

static int translate(struct translation *t, const char *conf)
{
    conf_text plain, pair;
    TRY(begin(t, conf, plain));
    for (const char *at = plain; next_pair(&at, pair);)
        TRY(set_word(t, pair));
    return 0;
}

int pytorch_conf(const char *conf, unsigned version, const char **strategy, struct text *options,
                 struct error *error)
{
    struct translation t = {.version = version, .error = error};
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
        if (t.large_mib != LARGE_MIB)
            text_add(options, ":large_%s=%lluMiB", expands ? "chunk" : "segment",
                     (unsigned long long)t.large_mib);
        if (t.has_fraction && expands)
            text_add(options, ":limit=fraction");
        if (*t.reserve && expands)
            text_add(options, ":reserve=%s", t.reserve);
    }
    text_free(&t.options);
    return code;
}

/* Adds those words that can be played to `known`. */
static void take_recorded(const char *conf, struct text *known, struct text *notes)
{
    struct error error = {0};
    struct translation t = {.error = &error};
    conf_text plain, pair, name;
    begin(&t, conf, plain); /* a value that it refuses is refused below */
    for (const char *at = plain; next_pair(&at, pair);) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(pair, ":"), pair);
        const struct conf_word *w = find_word(name);
        const char *separator = known->length ? "," : "";
        if (!w)
            text_add(notes,
                     "gamut does not know '%s' of PYTORCH_CUDA_ALLOC_CONF: replays are without it, "
                     "and hold something else if it changes device memory\n",
                     name);
        else if (w->set == set_nothing)
            text_add(notes, "%s changes %s\n", name, w->word.effect);
        conf_text copy;
        memcpy(copy, pair, sizeof copy);
        if (w && set_word(&t, copy) == 0)
            text_add(known, "%s%s", separator, pair);
        else if (w && w->set == set_fraction) { /* a limit is of requests all the same */
            text_add(notes, "%s\n", error.text);
            text_add(known, "%s%s:1", separator, name);
        } else if (w) {
            text_add(notes, "%s; replays are without it\n", error.text);
        }
    }
    text_free(&t.options);
}

void pytorch_recorded(const char *recorded, struct text *spec, struct text *notes)
{
    static const char begin[] = "caching:conf={";
    struct text conf = {0}, known = {0};
    const size_t name = strlen("caching:"), from = strlen(begin);
    size_t end = 0;
    if (strncmp(recorded, begin, from) == 0)
        end = name + text_span(recorded + name, ":");
    if (end <= from) {
        text_add(spec, "%s", recorded);
        return;
    }
    text_add(&conf, "%.*s", (int)(end - from), recorded + from);
    conf.data[end - from - (recorded[end - 1] == '}')] = 0;
    take_recorded(conf.data, &known, notes);
    text_add(spec, "caching%s%s%s%s", known.length ? ":conf={" : "", known.length ? known.data : "",
             known.length ? "}" : "", recorded + end);
    text_free(&conf);
    text_free(&known);
}
