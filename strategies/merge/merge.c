/* Runs the passes of a set, and has the verifier check the program after each. */
#include "merge/merge.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "merge/list.h"

#define X(name, help) const struct merge_ops merge_##name = {#name, help, merge_run_##name};
MERGE_PASS_LIST(X)
#undef X

#define X(text, extensions, help, ...)                                                             \
    {text, help, (const struct merge_ops *const[]){__VA_ARGS__, NULL}, extensions},
const struct merge_set merge_sets[] = {MERGE_SET_LIST(X){NULL, NULL, NULL, 0}};
#undef X

/* ---- sets ----------------------------------------------------------------------------------- */

const struct merge_set *merge_set_find(const char *name)
{
    for (const struct merge_set *s = merge_sets; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

static const char *set_at(void *context, size_t i)
{
    return merge_sets[i].name; /* NULL after the last */
}

static const char *extension_at(void *context, size_t i)
{
    return merge_extension_name((unsigned)i);
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
            return text_unknown(error, word, extension_at, NULL,
                                "there is no extension of merging");
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
        return text_unknown(error, name, set_at, NULL, "there is no merge set");
    const char *option = text + length;
    if (!*option)
        return 0;
    if (strncmp(option, ":with=", 6) != 0)
        return error_set(
            error, ERR_USAGE,
            "merge set '%s': '%s' is no option; the only option is with=EXTENSION|..., "
            "such as %s:with=%s|%s; gamut list merges says which extensions there are",
            name, option + 1, name, merge_extension_name(0), merge_extension_name(1));
    return parse_extensions(option + 6, extensions, error);
}

/* ---- running one ---------------------------------------------------------------------------- */

int merge_run(const struct fun *fun, const struct merge_set *set,
              const struct merge_options *options, struct merge **merged, struct error *error)
{
    struct merge *m = must_alloc(sizeof *m);
    m->program = program_clone(fun);
    m->fun = &m->program->funs[0];
    m->options = *options;
    m->options.extensions |= set->extensions;
    int code = 0;
    for (const struct merge_ops *const *pass = set->passes; *pass && !code; pass++)
        code = merge_run_pass(m, *pass, error);
    if (code) {
        merge_free(m);
        m = NULL;
    }
    *merged = m;
    return code;
}
