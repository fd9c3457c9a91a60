#include "alloc/planned/planned_options.h"

#include <pthread.h>
#include <stdlib.h>

enum { OPTION_TRACE, OPTION_ELSE, VALUE_PLAN, VALUE_OTHER };
const struct option_spec planned_options[] = {
    [OPTION_TRACE] = {.name = "trace",
                      .type = OPTION_TEXT,
                      .fallback = "",
                      .help = "file of a trace, or of the plan that gamut trace plan made of it"},
    [OPTION_ELSE] = {.name = "else",
                     .type = OPTION_TEXT,
                     .fallback = "caching",
                     .help = "strategy for requests that the plan does not have"},
    {0},
};

/* A plan by its file. */
struct known_plan {
    struct known_plan *next;
    const char *path; /* kept by the options */
    struct offset_plan plan;
};

/* One of each, as of the texts of options: they stay until the process ends, and the values of
 * options refer to them. */
static struct known_plan *known_plans;
static struct planned_other *known_others;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static int load_plan(const char *path, const struct allocator_makers *makers,
                     struct offset_plan *plan, struct error *error)
{
    if (!makers->make_plan || plan_is_file(path))
        return plan_read(path, plan, error);
    TRY(makers->make_plan(path, plan, error));
    int code = plan_verify(plan, error);
    if (code)
        plan_free(plan);
    return code;
}

/* Equal texts of options have equal addresses. */
static int find_plan(const char *path, const struct allocator_makers *makers, uint64_t *value,
                     struct error *error)
{
    int code = 0;
    pthread_mutex_lock(&known_lock);
    struct known_plan *known = known_plans;
    while (known && known->path != path)
        known = known->next;
    if (!known) {
        known = must_alloc(sizeof *known);
        known->path = path;
        code = load_plan(path, makers, &known->plan, error);
        if (code) {
            free(known);
        } else {
            known->next = known_plans;
            known_plans = known;
        }
    }
    pthread_mutex_unlock(&known_lock);
    *value = code ? 0 : (uint64_t)(uintptr_t)&known->plan;
    return code;
}

static int find_other(const char *spec, const struct allocator_makers *makers, uint64_t *value,
                      struct error *error)
{
    struct planned_other found = {.spec = spec};
    *value = 0;
    if (!*spec)
        return 0;
    int code = makers->parse(spec, makers, &found.ops, &found.options, error);
    if (code) {
        error_prefix(error, "planned: option else: ");
        return code;
    }
    if (found.ops == &allocator_planned || found.ops->harness_only || found.ops->opens_pool)
        return error_set(error, ERR_USAGE,
                         "planned: option else is '%s', which cannot share a source: expected "
                         "another strategy, such as caching, pool or tlsf",
                         spec);
    pthread_mutex_lock(&known_lock);
    struct planned_other *known = known_others;
    while (known && known->spec != spec)
        known = known->next;
    if (!known) {
        known = must_alloc(sizeof *known);
        *known = found;
        known->next = known_others;
        known_others = known;
    }
    pthread_mutex_unlock(&known_lock);
    *value = (uint64_t)(uintptr_t)known;
    return 0;
}

int planned_prepare(struct option_values *options, const struct allocator_makers *makers,
                    struct error *error)
{
    const char *path = option_text(options->value[OPTION_TRACE]);
    if (!*path)
        return error_set(error, ERR_USAGE,
                         "planned needs a trace: planned:trace=FILE, where FILE is a trace or the "
                         "plan that gamut trace plan made of it");
    TRY(find_other(option_text(options->value[OPTION_ELSE]), makers, &options->value[VALUE_OTHER],
                   error));
    int code = find_plan(path, makers, &options->value[VALUE_PLAN], error);
    if (code)
        error_prefix(error, "planned: ");
    return code;
}

const struct offset_plan *planned_plan(const struct option_values *options)
{
    static const struct offset_plan none = {.unit = 1, .mark = ""};
    const void *plan = (const void *)(uintptr_t)options->value[VALUE_PLAN];
    return plan ? plan : &none;
}

const struct planned_other *planned_else(const struct option_values *options)
{
    return (const struct planned_other *)(uintptr_t)options->value[VALUE_OTHER];
}

uint64_t planned_digest(const struct option_values *options)
{
    return planned_plan(options)->digest;
}

const struct allocator_ops *planned_apart(const struct option_values *options,
                                          struct option_values *values)
{
    const struct planned_other *other = planned_else(options);
    if (other)
        *values = other->options;
    return other ? other->ops : NULL;
}
