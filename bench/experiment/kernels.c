#include "experiment/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "program/prelude.h"

/* A parameter in "u32 *x, i64 n". */
struct parameter {
    char type[8], name[32];
    enum launch_arg_kind kind;
};

/* Reads the next parameter; NULL after the last. */
static const char *next_parameter(const char *at, struct parameter *p)
{
    at += strspn(at, ", ");
    if (!*at)
        return NULL;
    const size_t type = strcspn(at, " ");
    snprintf(p->type, sizeof p->type, "%.*s", (int)type, at);
    at += type + strspn(at + type, " ");
    const bool is_memory = *at == '*';
    at += is_memory;
    const size_t name = strcspn(at, ",");
    snprintf(p->name, sizeof p->name, "%.*s", (int)name, at);
    p->kind = is_memory                     ? ARG_MEMORY
              : strcmp(p->type, "i64") == 0 ? ARG_I64
              : strcmp(p->type, "u32") == 0 ? ARG_U32
                                            : ARG_I32;
    return at + name;
}

/* The kernel of a GPU's language around the function of one item. */
static void add_kernel(const struct source_kernel *kernel, struct text *out)
{
    struct parameter p;
    text_add(out, "GAMUT_KERNEL(256) void %s(", kernel->name);
    for (const char *at = kernel->parameters; (at = next_parameter(at, &p));)
        text_add(out, "%s%s %s%s, ", p.kind == ARG_MEMORY ? "GAMUT_GLOBAL " : "", p.type,
                 p.kind == ARG_MEMORY ? "*" : "", p.name);
    text_add(out, "i64 items) { i64 item = GAMUT_X; if (item < items) %s_item(item", kernel->name);
    for (const char *at = kernel->parameters; (at = next_parameter(at, &p));)
        text_add(out, ", %s", p.name);
    text_add(out, "); }\n");
}

static int note_kernel(const struct source_kernel *kernel, size_t i, struct kernels_built *built,
                       struct error *error)
{
    struct parameter p;
    size_t count = 0;
    built->names[i] = kernel->name;
    built->host[i] = (struct host_kernel){kernel->name, kernel->host};
    for (const char *at = kernel->parameters; (at = next_parameter(at, &p));) {
        if (count + 1 >= KERNEL_PARAMETERS_MAX)
            return error_set(error, ERR_INTERNAL, "kernel %s has too many parameters",
                             kernel->name);
        built->kinds[i][count++] = p.kind;
    }
    built->kinds[i][count++] = ARG_I64;
    built->argument_count[i] = count;
    return 0;
}

int kernels_build(struct device *device, const char *name, const char *functions,
                  const struct source_kernel *kernels, size_t count, struct kernels_built *built,
                  struct error *error)
{
    const enum kernel_language language = device->info->language;
    const bool is_host = language == KERNEL_HOST_C;
    struct text text = {0};
    *built = (struct kernels_built){.device = device, .count = count};
    if (count > SOURCE_KERNELS_MAX)
        return error_set(error, ERR_INTERNAL, "%s has more than %d kernels", name,
                         SOURCE_KERNELS_MAX);
    text_add(&text, "%s%s\n", is_host ? "" : prelude_text(language), is_host ? "" : functions);
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        code = note_kernel(&kernels[i], i, built, error);
        if (!is_host)
            add_kernel(&kernels[i], &text);
    }
    built->text = text.data;
    const struct kernel_source source = {.name = name,
                                         .text = text.data,
                                         .kernel_count = count,
                                         .kernel_names = built->names,
                                         .host_kernels = is_host ? built->host : NULL};
    THEN(code, device->ops->build(device, &source, &built->program, error));
    if (code)
        kernels_unbuild(built);
    return code;
}

void kernels_unbuild(struct kernels_built *built)
{
    if (built->program)
        built->device->ops->unbuild(built->device, built->program);
    free(built->text);
    *built = (struct kernels_built){0};
}

int kernels_launch(struct kernels_built *built, size_t kernel, int64_t items,
                   const union launch_value *arguments, struct error *error)
{
    const size_t count = built->argument_count[kernel];
    const struct launch launch = {.extent = {items, 1, 1}, .rank = 1};
    union launch_value values[KERNEL_PARAMETERS_MAX];
    if (items == 0)
        return 0;
    memcpy(values, arguments, (count - 1) * sizeof *values);
    values[count - 1].i64 = items;
    return built->device->ops->launch(built->device, built->program, kernel, &launch, count,
                                      built->kinds[kernel], values, error);
}
