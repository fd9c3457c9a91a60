#include "cli/words.h"

#include <ctype.h>
#include <string.h>

#include "alloc/registry.h"
#include "device/device.h"
#include "experiment/experiment.h"
#include "merge/list.h"
#include "merge/merge.h"
#include "record/facts/counters.h"
#include "residency/residency.h"
#include "run/select/catalogue.h"
#include "run/select/select.h"
#include "run/select/suite.h"

/* ---- what there is --------------------------------------------------------------------------- */

static void add_word(struct text *words, const char *word)
{
    text_add(words, "%s%s", words->length ? " " : "", word);
}

static bool has_word(const struct text *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words->length ? words->data : ""; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (n == length && strncmp(at, word, n) == 0)
            return true;
        at += n;
    }
    return false;
}

static int add_workloads(struct text *words, struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    if (code)
        return code;
    for (size_t i = 0; i < catalogue.entry_count; i++)
        add_word(words, catalogue.entries[i].name);
    catalogue_close(&catalogue);
    return 0;
}

static int add_datasets(struct text *words, struct error *error)
{
    struct catalogue catalogue;
    int code = catalogue_open(&catalogue, error);
    if (code)
        return code;
    for (size_t i = 0; i < catalogue.program_count; i++)
        for (unsigned d = 0; d < catalogue.programs[i]->dataset_count; d++)
            if (!has_word(words, catalogue.programs[i]->datasets[d].name))
                add_word(words, catalogue.programs[i]->datasets[d].name);
    catalogue_close(&catalogue);
    return 0;
}

static int add_strategies(struct text *words, struct error *error)
{
    size_t count;
    const struct allocator_ops *const *ops = allocator_list(&count);
    (void)error;
    for (size_t i = 0; i < count; i++)
        add_word(words, ops[i]->name);
    return 0;
}

static int add_merges(struct text *words, struct error *error)
{
    (void)error;
    for (const struct merge_set *s = merge_sets; s->name; s++)
        add_word(words, s->name);
    return 0;
}

static int add_releases(struct text *words, struct error *error)
{
    (void)error;
    for (const struct named_help *r = release_policies; r->name; r++)
        add_word(words, r->name);
    return 0;
}

static int add_residencies(struct text *words, struct error *error)
{
    size_t count;
    const struct residency_strategy *list = residency_list(&count);
    (void)error;
    for (size_t i = 0; i < count; i++)
        add_word(words, list[i].name);
    return 0;
}

static int add_suites(struct text *words, struct error *error)
{
    (void)error;
    for (const struct builtin_suite *b = builtin_suites; b->name; b++)
        add_word(words, b->name);
    return 0;
}

static int add_experiments(struct text *words, struct error *error)
{
    size_t count;
    const struct experiment *const *all = experiment_list(&count);
    (void)error;
    for (size_t i = 0; i < count; i++)
        add_word(words, all[i]->name);
    return 0;
}

/* Devices are not looked for: a driver takes longer to start than a person waits for a word. */
static int add_devices(struct text *words, struct error *error)
{
    size_t count;
    const struct device_ops *const *apis = device_api_list(&count);
    (void)error;
    add_word(words, "best");
    for (size_t i = 0; i < count; i++)
        add_word(words, apis[i]->name);
    return 0;
}

static int add_metrics(struct text *words, struct error *error)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    (void)error;
    for (size_t i = 0; i < count; i++)
        add_word(words, list[i].name);
    return 0;
}

static const struct {
    const char *one; /* a flag's name; or an argument's or value's, in capitals */
    bool has_all;    /* "all" stands for each of them */
    int (*add)(struct text *words, struct error *error);
} lists[] = {
    {"workload", true, add_workloads},      {"dataset", true, add_datasets},
    {"strategy", true, add_strategies},     {"merge", true, add_merges},
    {"release", true, add_releases},        {"residency", true, add_residencies},
    {"suite", false, add_suites},           {"device", true, add_devices},
    {"experiment", false, add_experiments}, {"metric", false, add_metrics},
};
enum { LISTS = sizeof lists / sizeof *lists };

/* The list that `name` is one of, or -1. */
static int find_list(const char *name, size_t length)
{
    for (int i = 0; i < LISTS; i++)
        if (strlen(lists[i].one) == length && strncasecmp(lists[i].one, name, length) == 0)
            return i;
    return -1;
}

/* ---- flags and arguments --------------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words) != 0)
        words++;
    return *words;
}

/* The length of "FILE" in "FILE.csv", of "METRIC" in "METRIC:LIMIT". */
static size_t first_part(const char *value)
{
    return strcspn(value, ".:=[ ");
}

static enum word_kind kind_of_text(const char *value)
{
    static const char *const folders[] = {"DIR", "RESULTS", NULL};
    static const char *const files[] = {"FILE", "RESULT", "BASE", NULL};
    char first[32];
    snprintf(first, sizeof first, "%.*s", (int)first_part(value), value);
    return is_one_of(first, folders) ? WORDS_FOLDER
           : is_one_of(first, files) ? WORDS_FILE
                                     : WORDS_NONE;
}

int words_of_flag(const struct flag *flag, enum word_kind *kind, struct text *words,
                  struct error *error)
{
    *kind = WORDS_NONE;
    if (flag->type == FLAG_CHOICE) {
        *kind = WORDS_ONE_OF;
        text_add(words, "%s", flag->choices);
        for (char *c = words->data; *c; c++)
            *c = *c == '|' ? ' ' : *c;
        return 0;
    }
    if (flag->type != FLAG_TEXT && flag->type != FLAG_LIST)
        return 0;
    int list = find_list(flag->name, strlen(flag->name));
    if (list < 0)
        list = find_list(flag->value, first_part(flag->value));
    if (list < 0) {
        *kind = kind_of_text(flag->value);
        return 0;
    }
    *kind = flag->type == FLAG_LIST ? WORDS_LIST_OF : WORDS_ONE_OF;
    int code = lists[list].add(words, error);
    if (!code && lists[list].has_all && *kind == WORDS_LIST_OF)
        add_word(words, "all");
    return code;
}

int words_of_arguments(const struct command *command, enum word_kind *kind, struct text *words,
                       struct error *error)
{
    const char *at = command->arguments;
    int code = 0;
    *kind = WORDS_NONE;
    while (*at && !code) {
        const size_t length = strcspn(at, "[]|. ");
        const int list = find_list(at, length);
        if (memchr(at, '=', length) || *at == '-') {
            /* "size=value": whoever writes it knows the size's name; "--by": a flag */
        } else if (length && islower((unsigned char)*at)) {
            text_add(words, "%s%.*s", words->length ? " " : "", (int)length, at);
        } else if (list >= 0) {
            code = lists[list].add(words, error);
        } else if (length) {
            *kind = WORDS_FILE; /* FILE, BASE, NEW: results and programs are files */
        }
        at += length;
        at += strspn(at, "[]|. ");
    }
    if (!code && *kind == WORDS_NONE && words->length)
        *kind = WORDS_ONE_OF;
    return code;
}
