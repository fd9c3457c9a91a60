#include "run/rounds/case_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "results/facts/case.h"

struct built {
    struct built *next;
    const struct program *program;
    struct cached_kernels kernels;
};

struct prepared {
    struct prepared *next;
    const struct entry *entry;
    const struct dataset *dataset;
    uint64_t seed;
    struct cached_inputs inputs;
};

struct merged {
    struct merged *next;
    const struct entry *entry;
    const struct dataset *dataset;
    char set[sizeof((struct case_key *)NULL)->merge];
    enum release_policy policy;
    struct cached_merge merge;
};

struct case_cache {
    struct device *device;
    struct built *built;
    struct merged *merged;
    struct prepared *prepared; /* the last used first */
};

/* Limit of all inputs together; the current case's are kept even if they are larger. */
static const size_t cached_input_bytes = (size_t)2 << 30;

struct case_cache *case_cache_open(struct device *device)
{
    struct case_cache *k = must_alloc(sizeof *k);
    k->device = device;
    return k;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Adds the source line that a compiler's message names, since not all compilers show it. */
static void add_body_line(const struct program *program, struct error *error)
{
    char mark[256];
    snprintf(mark, sizeof mark, "%.200s:", program->path);
    size_t length = strlen(error->text);
    for (const char *at = error->text; (at = strstr(at, mark)); at++) {
        unsigned line = (unsigned)strtoul(at + strlen(mark), NULL, 10);
        const char *text = program_line(program, line);
        if (!text)
            continue;
        snprintf(error->text + length, sizeof error->text - length, "%s%s%u: %.*s",
                 length && error->text[length - 1] == '\n' ? "" : "\n", mark, line,
                 (int)strcspn(text, "\n"), text);
        return;
    }
}

/* Compiles out->kernels, which are generated already. */
static void build_kernels(struct case_cache *k, const struct program *program,
                          const struct builtin *builtin, struct cached_kernels *out)
{
    const struct device_info *info = k->device->info;
    bool compiled_in = info->language == KERNEL_HOST_C && builtin &&
                       strcmp(builtin->host_text, out->kernels.text) == 0;
    struct kernel_source source = {.name = program->path,
                                   .text = out->kernels.text,
                                   .kernel_count = out->kernels.count,
                                   .kernel_names = out->kernels.names,
                                   .variant = info->kind == DEVICE_GPU ? KERNEL_APART : KERNEL_ANY,
                                   .host_kernels = compiled_in ? builtin->host_kernels : NULL};
    out->status = k->device->ops->build(k->device, &source, &out->code, &out->error);
    if (out->status == ERR_BUILD)
        add_body_line(program, &out->error);
}

static void unbuild(struct case_cache *k, struct cached_kernels *kernels)
{
    if (kernels->code)
        k->device->ops->unbuild(k->device, kernels->code);
    kernels_free(&kernels->kernels);
}

const struct cached_kernels *case_cache_kernels(struct case_cache *k, const struct entry *entry)
{
    for (struct built *b = k->built; b; b = b->next)
        if (b->program == entry->program)
            return &b->kernels;
    struct built *b = must_alloc(sizeof *b);
    *b = (struct built){.next = k->built, .program = entry->program};
    k->built = b;
    program_generate(entry->program, k->device->info->language, &b->kernels.kernels);
    build_kernels(k, entry->program, entry->builtin, &b->kernels);
    return &b->kernels;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static void free_prepared(struct prepared *p)
{
    inputs_free(&p->inputs.inputs);
    readings_free(&p->inputs.readings);
    free(p->inputs.answers);
    free(p);
}

static void evict_inputs(struct case_cache *k, const struct prepared *keep)
{
    size_t bytes = 0;
    for (struct prepared **link = &k->prepared; *link;) {
        struct prepared *p = *link;
        bytes += p->inputs.inputs.bytes;
        if (p != keep && bytes > cached_input_bytes) {
            *link = p->next;
            free_prepared(p);
        } else {
            link = &p->next;
        }
    }
}

int case_cache_inputs(struct case_cache *k, const struct entry *entry,
                      const struct dataset *dataset, uint64_t seed, const uint64_t *answers,
                      size_t answer_count, struct cached_inputs **inputs, struct error *error)
{
    struct prepared **link = &k->prepared;
    while (*link &&
           ((*link)->entry != entry || (*link)->dataset != dataset || (*link)->seed != seed))
        link = &(*link)->next;
    struct prepared *p = *link;
    if (p) {
        *link = p->next;
    } else {
        p = must_alloc(sizeof *p);
        *p = (struct prepared){.entry = entry, .dataset = dataset, .seed = seed};
        struct cached_inputs *i = &p->inputs;
        int code = inputs_make(entry, dataset, seed, &i->inputs, error);
        if (code) {
            free(p);
            return code;
        }
        i->program_digest = program_digest(entry->fun);
        i->inputs_digest = inputs_digest(entry->fun, &i->inputs);
        for (size_t a = 0; a < answer_count; a++)
            cached_note_answer(i, answers[a]);
    }
    p->next = k->prepared;
    k->prepared = p;
    evict_inputs(k, p);
    *inputs = &p->inputs;
    return 0;
}

bool cached_answer_is_right(const struct cached_inputs *inputs, uint64_t digest)
{
    for (size_t i = 0; i < inputs->answer_count; i++)
        if (inputs->answers[i] == digest)
            return true;
    return false;
}

void cached_note_answer(struct cached_inputs *inputs, uint64_t digest)
{
    inputs->answers =
        must_realloc(inputs->answers, (inputs->answer_count + 1) * sizeof *inputs->answers);
    inputs->answers[inputs->answer_count++] = digest;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* The values by which the set merges: the inputs', and if it counts bytes that depend on values
 * that the program reads, those of one run on the device. If that run fails, they stay unknown. */
static const struct arguments *values_of(struct case_cache *k, const struct entry *entry,
                                         const char *set, struct cached_inputs *inputs)
{
    struct dry_run run;
    struct error ignored;
    if (!merging_counts(set))
        return &inputs->inputs.arguments;
    if (inputs->readings.arguments.fun)
        return &inputs->readings.arguments;
    inputs->readings.arguments = inputs->inputs.arguments;
    if (dry_run(entry->fun, &inputs->inputs.arguments, RELEASE_LAST_USE, &run, &ignored) == 0)
        return &inputs->readings.arguments;
    const struct cached_kernels *kernels = case_cache_kernels(k, entry);
    if (!kernels->status)
        readings_take(entry->fun, k->device, &kernels->kernels, kernels->code,
                      &inputs->inputs.arguments, &inputs->readings, &ignored);
    return &inputs->readings.arguments;
}

struct cached_merge *case_cache_merge(struct case_cache *k, const struct entry *entry,
                                      const struct dataset *dataset, const char *set,
                                      enum release_policy policy, struct cached_inputs *inputs)
{
    for (struct merged *m = k->merged; m; m = m->next)
        if (m->entry == entry && m->dataset == dataset && m->policy == policy &&
            strcmp(m->set, set) == 0)
            return &m->merge;
    struct merged *m = must_alloc(sizeof *m);
    *m = (struct merged){.next = k->merged, .entry = entry, .dataset = dataset, .policy = policy};
    k->merged = m;
    snprintf(m->set, sizeof m->set, "%s", set);
    m->merge.status = merging_run(entry->fun, set, values_of(k, entry, set, inputs), policy, 0,
                                  &m->merge.merge, &m->merge.error);
    return &m->merge;
}

void case_cache_close(struct case_cache *k)
{
    while (k->built) {
        struct built *next = k->built->next;
        unbuild(k, &k->built->kernels);
        free(k->built);
        k->built = next;
    }
    while (k->merged) {
        struct merged *next = k->merged->next;
        merge_free(k->merged->merge.merge);
        free(k->merged);
        k->merged = next;
    }
    while (k->prepared) {
        struct prepared *next = k->prepared->next;
        free_prepared(k->prepared);
        k->prepared = next;
    }
    free(k);
}
