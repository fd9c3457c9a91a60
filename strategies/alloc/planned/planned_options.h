/* What the options of `planned` stand for: a plan that is read once a file, and another strategy with
 * its own options. Both stay until the process ends.
 */
#ifndef GAMUT_ALLOC_PLANNED_PLANNED_OPTIONS_H
#define GAMUT_ALLOC_PLANNED_PLANNED_OPTIONS_H

#include "alloc/planned/planned.h"

/* The strategy of `else`. */
struct planned_other {
    struct planned_other *next;
    const char *spec; /* kept by the options */
    const struct allocator_ops *ops;
    struct option_values options;
};

extern const struct option_spec planned_options[];

/* The hook of struct allocator_ops: reads or makes the plan, and finds the other strategy. */
int planned_prepare(struct option_values *options, const struct allocator_makers *makers,
                    struct error *error);
/* The hook of struct allocator_ops: a plan has common device memory alone. */
const struct allocator_ops *planned_apart(const struct option_values *options,
                                          struct option_values *values);

/* The plan of options; for those that were not prepared, one without slots. */
const struct offset_plan *planned_plan(const struct option_values *options);
/* The strategy of `else`; NULL: the driver. */
const struct planned_other *planned_else(const struct option_values *options);

#endif
