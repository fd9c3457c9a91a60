#include "alloc/planned/plans.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/planned/planned.h"
#include "alloc/registry.h"

/* A plan by the texts of the options: equal texts have equal addresses. */
struct known_plan {
    struct known_plan *next;
    const char *path;
    struct planned_given given;
    struct offset_plan *plan; /* NULL: another entry has it */
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

/* Takes the plan of another entry with the same file, or reads it. */
static int find_plan(const struct allocator_plans *plans, struct known_plan *entry,
                     struct error *error)
{
    const struct known_plan *same = plans->known;
    while (same && same->path != entry->path)
        same = same->next;
    if (same) {
        entry->given.plan = same->given.plan;
        return 0;
    }
    entry->plan = must_alloc(sizeof *entry->plan);
    entry->given.plan = entry->plan;
    int code = load_plan(plans, entry->path, entry->plan, error);
    if (!code)
        return 0;
    error_prefix(error, "planned: ");
    free(entry->plan);
    return code;
}

static int add_entry(struct allocator_plans *plans, const char *path,
                     const struct planned_given **given, struct error *error)
{
    struct known_plan *entry = must_alloc(sizeof *entry);
    *entry = (struct known_plan){.next = plans->known, .path = path};
    int code = find_plan(plans, entry, error);
    if (code) {
        free(entry);
        return code;
    }
    plans->known = entry;
    *given = &entry->given;
    return 0;
}

static int find_given(struct allocator_plans *plans, const struct option_values *options,
                      const struct planned_given **given, struct error *error)
{
    const char *path = option_text(options->value[PLANNED_TRACE]);
    if (!*path)
        return error_set(error, ERR_USAGE,
                         "planned needs a trace: planned:trace=FILE, where FILE is a trace or the "
                         "plan that gamut trace plan made of it");
    const struct known_plan *known = plans->known;
    while (known && known->path != path)
        known = known->next;
    if (!known)
        return add_entry(plans, path, given, error);
    *given = &known->given;
    return 0;
}

int allocator_parse_planned(struct allocator_plans *plans, const char *spec,
                            const struct allocator_ops **ops, struct option_values *options,
                            struct error *error)
{
    const struct planned_given *given = NULL;
    TRY(allocator_parse(spec, ops, options, error));
    if (*ops == &allocator_planned)
        TRY(find_given(plans, options, &given, error));
    options->given = given;
    return 0;
}

void allocator_plans_free(struct allocator_plans *plans)
{
    while (plans->known) {
        struct known_plan *entry = plans->known;
        plans->known = entry->next;
        if (entry->plan)
            plan_free(entry->plan);
        free(entry->plan);
        free(entry);
    }
}
