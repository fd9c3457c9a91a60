#include "cli/words.h"

#include <ctype.h>
#include <string.h>

#include "alloc/allocator.h"
#include "device/device.h"
#include "merge/list.h"
#include "merge/merge.h"
#include "run/catalogue.h"
#include "run/select.h"
#include "run/suite.h"

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

static int add_suites(struct text *words, struct error *error)
{
    (void)error;
    for (const struct builtin_suite *b = builtin_suites; b->name; b++)
        add_word(words, b->name);
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

static const struct {
    const char *one; /* a flag's name, or an argument's in capitals */
    int (*add)(struct text *words, struct error *error);
} lists[] = {
    {"workload", add_workloads}, {"dataset", add_datasets}, {"strategy", add_strategies},
    {"merge", add_merges},       {"release", add_releases}, {"suite", add_suites},
    {"device", add_devices},
};
enum { LISTS = sizeof lists / sizeof *lists };

/* Adds the list that `name` is one of; false in *found where there is none. */
static int add_list(const char *name, size_t length, bool *found, struct text *words,
                    struct error *error)
{
    *found = false;
    for (size_t i = 0; i < LISTS; i++)
        if (strlen(lists[i].one) == length && strncasecmp(lists[i].one, name, length) == 0) {
            *found = true;
            return lists[i].add(words, error);
        }
    return 0;
}

/* ---- flags and arguments --------------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words) != 0)
        words++;
    return *words;
}

static enum word_kind kind_of_text(const char *value)
{
    static const char *const folders[] = {"DIR", "RESULTS", NULL};
    static const char *const files[] = {"FILE", "RESULT", "BASE", NULL};
    char first[32]; /* of "FILE.csv" */
    snprintf(first, sizeof first, "%.*s", (int)strcspn(value, ".[ "), value);
    return is_one_of(first, folders) ? WORDS_FOLDER
           : is_one_of(first, files) ? WORDS_FILE
                                     : WORDS_NONE;
}

int words_of_flag(const struct flag *flag, enum word_kind *kind, struct text *words,
                  struct error *error)
{
    bool has_list = false;
    int code = 0;
    *kind = WORDS_NONE;
    if (flag->type == FLAG_CHOICE) {
        *kind = WORDS_ONE_OF;
        text_add(words, "%s", flag->choices);
        for (char *c = words->data; *c; c++)
            *c = *c == '|' ? ' ' : *c;
    } else if (flag->type == FLAG_TEXT || flag->type == FLAG_LIST) {
        code = add_list(flag->name, strlen(flag->name), &has_list, words, error);
        *kind = !has_list                 ? kind_of_text(flag->value)
                : flag->type == FLAG_LIST ? WORDS_LIST_OF
                                          : WORDS_ONE_OF;
        if (!code && *kind == WORDS_LIST_OF && !has_word(words, "all"))
            add_word(words, "all");
    }
    return code;
}

int words_of_arguments(const struct command *command, enum word_kind *kind, struct text *words,
                       struct error *error)
{
    const char *at = command->arguments;
    int code = 0;
    *kind = WORDS_NONE;
    while (*at && !code) {
        const size_t length = strcspn(at, "[]| ");
        bool has_list = false;
        if (memchr(at, '=', length)) {
            /* "size=value": whoever writes it knows the size's name */
        } else if (length && islower((unsigned char)*at)) {
            text_add(words, "%s%.*s", words->length ? " " : "", (int)length, at);
        } else if (length) {
            code = add_list(at, length, &has_list, words, error);
            if (!has_list && *kind != WORDS_FILE)
                *kind = WORDS_FILE; /* FILE, BASE, NEW: results and programs are files */
        }
        at += length;
        at += strspn(at, "[]| ");
    }
    if (!code && *kind == WORDS_NONE && words->length)
        *kind = WORDS_ONE_OF;
    return code;
}
