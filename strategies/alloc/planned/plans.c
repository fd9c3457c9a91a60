#include "alloc/planned/plans.h"

#include <stdlib.h>

#include "alloc/planned/planned.h"
#include "alloc/registry.h"

/* A plan by the text of the option: equal texts have equal addresses. */
struct known_plan {
    struct known_plan *next;
    const char *path;
    struct offset_plan plan;
};

static int load_plan(const struct allocator_plans *plans, const char *path,
                     struct offset_plan *plan, struct error *error)
{
    if (!plans->make || plan_is_file(path))
        return plan_read(path, plan, error);
    TRY(plans->make(path, plan, error));
    int code = plan_verify(plan, error);
    if (code)
        plan_free(plan);
    return code;
}

/* The plan of a path, which is read if it is not known. */
static int find_plan(struct allocator_plans *plans, const char *path,
                     const struct offset_plan **plan, struct error *error)
{
    if (!*path)
        return error_set(error, ERR_USAGE,
                         "planned needs a trace: planned:trace=FILE, where FILE is a trace or the "
                         "plan that gamut trace plan made of it");
    struct known_plan *known = plans->known;
    while (known && known->path != path)
        known = known->next;
    if (!known) {
        known = must_alloc(sizeof *known);
        int code = load_plan(plans, path, &known->plan, error);
        if (code) {
            error_prefix(error, "planned: ");
            free(known);
            return code;
        }
        known->path = path;
        known->next = plans->known;
        plans->known = known;
    }
    *plan = &known->plan;
    return 0;
}

int allocator_parse_planned(struct allocator_plans *plans, const char *spec,
                            const struct allocator_ops **ops, struct option_values *options,
                            struct error *error)
{
    const struct offset_plan *plan = NULL;
    TRY(allocator_parse(spec, ops, options, error));
    if (*ops == &allocator_planned)
        TRY(find_plan(plans, option_text(options->value[PLANNED_TRACE]), &plan, error));
    options->given = plan;
    return 0;
}

void allocator_plans_free(struct allocator_plans *plans)
{
    while (plans->known) {
        struct known_plan *entry = plans->known;
        plans->known = entry->next;
        plan_free(&entry->plan);
        free(entry);
    }
}
