/* Plans for `planned`: what its callers read and hand in. */
#pragma once

#include "alloc/allocator.h"

struct offset_plan;

/* The plans that a caller has read, each once. A struct of zeros has none. */
struct allocator_plans {
    /* (optional) Makes a plan of a file that is no plan, such as a trace. */
    int (*make)(const char *path, struct offset_plan *plan, struct error *error);
    struct known_plan *known;
};

/* allocator_parse (registry.h), where the strategy may be `planned`: its options then have the
 * plan, which stays until allocator_plans_free. Plans are read, or made, at the first parse of a
 * spec; several threads may parse specs that were parsed before. ERR_USAGE, ERR_IO or ERR_PARSE
 * says what is wrong with the files. */
int allocator_parse_planned(struct allocator_plans *plans, const char *spec,
                            const struct allocator_ops **ops, struct option_values *options,
                            struct error *error);
/* Frees all plans; no options that have one are used afterwards. */
void allocator_plans_free(struct allocator_plans *plans);
