#include "run/select/readings.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "run/execute/execute.h"
#include "run/execute/spaces.h"
#include "run/select/merging.h"

static const struct {
    const char *name, *sentence;
} origins[READINGS_COUNT] = {READINGS_LIST(TEXT_BOTH)};

const char *readings_from_name(enum readings_from from)
{
    return origins[from].name;
}

const char *readings_from_sentence(enum readings_from from)
{
    return origins[from].sentence;
}

/* ---- a run that notes what it reads --------------------------------------------------------- */

enum { READS_MAX = 1000000 };

struct noting {
    const struct fun *fun;
    size_t count; /* reads beyond READS_MAX are only counted */
    unsigned capacity;
    struct named_value *values;
};

static void note_read(void *context, int name, union scalar value)
{
    struct noting *n = context;
    if (n->count++ >= READS_MAX)
        return;
    n->values = must_grow(n->values, (unsigned)n->count - 1, &n->capacity, sizeof *n->values);
    n->values[n->count - 1] = (struct named_value){.name = n->fun->names[name].text,
                                                   .scalar = value,
                                                   .array.element = n->fun->names[name].element};
}

static int run_executor(struct executor *e, const struct fun *fun, struct device *device,
                        const struct arguments *arguments, struct error *error)
{
    const struct allocator_ops *raw;
    struct option_values options;
    struct spaces spaces;
    TRY(allocator_parse("raw", &raw, &options, error));
    int code = spaces_open(&spaces, fun, device, raw, &options, 0, error);
    THEN(code, executor_begin(e, spaces.of, arguments, false, error));
    THEN(code, executor_run(e, error));
    THEN(code, device->ops->sync(device, error));
    executor_end(e);
    spaces_close(&spaces);
    return code;
}

/* What is read: the first values, and then those that have other names, so that the first win. */
static void join_values(struct readings *readings, const struct arguments *first,
                        const struct named_value *more, size_t more_count, enum readings_from from)
{
    size_t count = first->count;
    struct named_value *list =
        arena_alloc(&readings->arena, (count + more_count + 1) * sizeof *list);
    if (count)
        memcpy(list, first->values, count * sizeof *list);
    for (size_t i = 0; i < more_count; i++)
        if (!argument(first, more[i].name))
            list[count++] = more[i];
    readings->arguments = *first;
    readings->arguments.count = count;
    readings->arguments.values = list;
    readings->from = from;
}

int readings_take(const struct fun *fun, struct device *device, const struct kernels *kernels,
                  struct device_program *built, const struct arguments *arguments,
                  struct readings *readings, struct error *error)
{
    struct noting noting = {.fun = fun};
    const struct read_listener listener = {&noting, note_read};
    struct executor *executor = executor_open(fun, device, kernels, built, RELEASE_LAST_USE);
    *readings = (struct readings){.arguments = *arguments, .from = READINGS_unknown};
    executor_tell_reads(executor, &listener);
    int code = run_executor(executor, fun, device, arguments, error);
    executor_close(executor);
    THEN(code, noting.count > READS_MAX
                   ? error_set(error, ERR_HOST_MEMORY, "%s reads more than %d values from arrays",
                               fun->name, READS_MAX)
                   : 0);
    if (!code)
        join_values(readings, arguments, noting.values, noting.count, READINGS_run);
    free(noting.values);
    return code;
}

/* ---- finding what is lacking ---------------------------------------------------------------- */

static bool lacks_nothing(const struct entry *entry, const struct arguments *arguments,
                          struct error *lacking)
{
    struct dry_run run;
    return dry_run(entry->fun, arguments, RELEASE_LAST_USE, &run, lacking) == 0;
}

static int run_on_host(const struct entry *entry, struct readings *readings, struct error *error)
{
    struct readings taken;
    struct device *host;
    struct device_program *built;
    struct kernels kernels;
    TRY(device_open("host", &host, error));
    program_generate(entry->program, host->info->language, &kernels);
    const struct kernel_source source = {.name = entry->program->path,
                                         .text = kernels.text,
                                         .kernel_count = kernels.count,
                                         .kernel_names = kernels.names,
                                         .variant = KERNEL_ANY,
                                         .host_kernels = entry->builtin->host_kernels};
    int code = host->ops->build(host, &source, &built, error);
    if (!code) {
        code =
            readings_take(entry->fun, host, &kernels, built, &readings->arguments, &taken, error);
        host->ops->unbuild(host, built);
    }
    if (!code) {
        taken.inputs = readings->inputs;
        arena_free(&readings->arena);
        *readings = taken;
    }
    kernels_free(&kernels);
    host->ops->close(host);
    return code;
}

int readings_find(const struct entry *entry, const struct dataset *dataset,
                  const struct arguments *scalars, uint64_t seed, bool may_run,
                  struct readings *readings, struct error *lacking, struct error *error)
{
    *readings = (struct readings){.arguments = *scalars, .from = READINGS_given};
    if (lacks_nothing(entry, scalars, lacking))
        return 0;
    readings->from = READINGS_unknown;
    if (lacking->code != ERR_USAGE || !dataset)
        return 0;
    TRY(inputs_make_given(entry, dataset, scalars, seed, &readings->inputs, error));
    join_values(readings, scalars, readings->inputs.arguments.values,
                readings->inputs.arguments.count, READINGS_arrays);
    if (lacks_nothing(entry, &readings->arguments, lacking))
        return 0;
    readings->from = READINGS_unknown;
    int code = entry->builtin && may_run ? run_on_host(entry, readings, error) : 0;
    if (code)
        readings_free(readings);
    return code;
}

void readings_free(struct readings *readings)
{
    inputs_free(&readings->inputs);
    arena_free(&readings->arena);
    *readings = (struct readings){0};
}
