#include "run/rounds/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/facts/case.h"

struct built {
    struct built *next;
    const struct program *program;
    const struct fun *written; /* of kernels for what merging made of it; NULL: the program's own */
    struct kept_kernels kernels;
};

struct prepared {
    struct prepared *next;
    const struct entry *entry;
    const struct dataset *dataset;
    uint64_t seed;
    struct kept_inputs inputs;
};

struct merged {
    struct merged *next;
    const struct kept_kernels *kernels; /* once somebody has asked */
    const struct entry *entry;
    const struct dataset *dataset;
    char set[sizeof((struct case_key *)NULL)->merge];
    struct kept_merge merge;
};

struct kept {
    struct device *device;
    struct built *built;
    struct merged *merged;
    struct prepared *prepared; /* last used first */
};

/* Inputs of other cases are kept as long as all together stay below this. */
static const size_t kept_input_bytes = (size_t)2 << 30;

struct kept *kept_open(struct device *device)
{
    struct kept *k = must_alloc(sizeof *k);
    k->device = device;
    return k;
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* Compilers name the line of the body; not all of them show it. */
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

/* `out` has the text. */
static void build(struct kept *k, const struct program *program, const struct builtin *builtin,
                  struct kept_kernels *out)
{
    const struct device_info *info = device_info(k->device);
    bool compiled_in = info->language == KERNEL_HOST_C && builtin &&
                       strcmp(builtin->host_text, out->kernels.text) == 0;
    struct kernel_source source = {.name = program->path,
                                   .text = out->kernels.text,
                                   .kernel_count = out->kernels.count,
                                   .kernel_names = out->kernels.names,
                                   .form = info->kind == DEVICE_GPU ? KERNEL_APART : KERNEL_ANY,
                                   .host_kernels = compiled_in ? builtin->host_kernels : NULL};
    out->status = k->device->ops->build(k->device, &source, &out->code, &out->error);
    if (out->status == ERR_BUILD)
        add_body_line(program, &out->error);
}

static void unbuild(struct kept *k, struct kept_kernels *kernels)
{
    if (kernels->code)
        k->device->ops->unbuild(k->device, kernels->code);
    kernels_free(&kernels->kernels);
}

const struct kept_kernels *kept_kernels(struct kept *k, const struct entry *entry)
{
    for (struct built *b = k->built; b; b = b->next)
        if (b->program == entry->program && !b->written)
            return &b->kernels;
    struct built *b = must_alloc(sizeof *b);
    *b = (struct built){.next = k->built, .program = entry->program};
    k->built = b;
    program_generate(entry->program, device_info(k->device)->language, &b->kernels.kernels);
    build(k, entry->program, entry->builtin, &b->kernels);
    return &b->kernels;
}

/* Kernels for what merging made of the entry's fun. Most sets make the same of it. */
static const struct kept_kernels *build_merged(struct kept *k, const struct entry *entry,
                                               const struct program *merged)
{
    struct kernels kernels;
    program_generate(merged, device_info(k->device)->language, &kernels);
    for (struct built *b = k->built; b; b = b->next)
        if (b->written == entry->fun && strcmp(b->kernels.kernels.text, kernels.text) == 0) {
            kernels_free(&kernels);
            return &b->kernels;
        }
    struct built *b = must_alloc(sizeof *b);
    *b = (struct built){.next = k->built,
                        .program = entry->program,
                        .written = entry->fun,
                        .kernels = {.kernels = kernels}};
    k->built = b;
    build(k, entry->program, entry->builtin, &b->kernels);
    return &b->kernels;
}

/* Does merging move what kernels have to find otherwise then? */
static bool moves_to_heap(const struct fun *merged, const struct fun *written)
{
    for (unsigned n = 0; n < merged->name_count; n++) {
        const bool was = n < written->name_count && written->names[n].space == SPACE_HEAP;
        if ((merged->names[n].space == SPACE_HEAP) != was)
            return true;
    }
    return false;
}

const struct kept_kernels *kept_merged_kernels(struct kept *k, const struct entry *entry,
                                               const struct kept_merge *merge)
{
    struct merged *m = (struct merged *)((char *)merge - offsetof(struct merged, merge));
    if (!moves_to_heap(merge->merge->fun, entry->fun))
        return kept_kernels(k, entry);
    if (!m->kernels)
        m->kernels = build_merged(k, entry, merge->merge->program);
    return m->kernels;
}

/* ---- inputs --------------------------------------------------------------------------------- */

static void free_prepared(struct prepared *p)
{
    inputs_free(&p->inputs.inputs);
    free(p->inputs.answers);
    free(p);
}

static void evict(struct kept *k, const struct prepared *keep)
{
    size_t bytes = 0;
    for (struct prepared **link = &k->prepared; *link;) {
        struct prepared *p = *link;
        bytes += p->inputs.inputs.bytes;
        if (p != keep && bytes > kept_input_bytes) {
            *link = p->next;
            free_prepared(p);
        } else {
            link = &p->next;
        }
    }
}

int kept_inputs(struct kept *k, const struct entry *entry, const struct dataset *dataset,
                uint64_t seed, const uint64_t *answers, size_t answer_count,
                struct kept_inputs **inputs, struct error *error)
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
        struct kept_inputs *i = &p->inputs;
        int code = inputs_make(entry, dataset, seed, &i->inputs, error);
        if (code) {
            free(p);
            return code;
        }
        i->program_digest = program_digest(entry->fun);
        i->inputs_digest = inputs_digest(entry->fun, &i->inputs);
        for (size_t a = 0; a < answer_count; a++)
            kept_note_answer(i, answers[a]);
    }
    p->next = k->prepared;
    k->prepared = p;
    evict(k, p);
    *inputs = &p->inputs;
    return 0;
}

bool kept_knows_answer(const struct kept_inputs *inputs, uint64_t digest)
{
    for (size_t i = 0; i < inputs->answer_count; i++)
        if (inputs->answers[i] == digest)
            return true;
    return false;
}

void kept_note_answer(struct kept_inputs *inputs, uint64_t digest)
{
    inputs->answers =
        must_realloc(inputs->answers, (inputs->answer_count + 1) * sizeof *inputs->answers);
    inputs->answers[inputs->answer_count++] = digest;
}

/* ---- merging -------------------------------------------------------------------------------- */

struct kept_merge *kept_merge(struct kept *k, const struct entry *entry,
                              const struct dataset *dataset, const char *set,
                              const struct kept_inputs *inputs)
{
    for (struct merged *m = k->merged; m; m = m->next)
        if (m->entry == entry && m->dataset == dataset && strcmp(m->set, set) == 0)
            return &m->merge;
    struct merged *m = must_alloc(sizeof *m);
    *m = (struct merged){.next = k->merged, .entry = entry, .dataset = dataset};
    k->merged = m;
    snprintf(m->set, sizeof m->set, "%s", set);
    m->merge.status = merging_run(entry->fun, set, &inputs->inputs.arguments, 0, &m->merge.merge,
                                  &m->merge.error);
    return &m->merge;
}

void kept_close(struct kept *k)
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
