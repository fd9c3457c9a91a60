/* Finds strategies by name and parses their options. No strategy calls this file. */
#pragma once

#include <stddef.h>

#include "alloc/allocator.h"
#include "base/options.h"

/* The table of the options that every strategy has, in the order of enum allocator_option. */
extern const struct option_spec allocator_options[];

/* The strategies in the order of list.h; *count receives their number. */
const struct allocator_ops *const *allocator_list(size_t *count);

/* Adds a strategy that is not in the list, under a name of the caller's, which stays the caller's
 * and must outlive all calls. Not while another thread finds strategies. ERR_INTERNAL: the ops are
 * of another version or lack a hook. */
int allocator_add(const char *name, const struct allocator_ops *ops, struct error *error);

/* The strategy of this name, added or listed, with its ops checked. ERR_USAGE names the nearest. */
int allocator_find(const char *name, const struct allocator_ops **ops, struct error *error);

/* Finds a strategy by the word before the first ':' of `spec`, checks its ops, and parses the
 * options after the word: the strategy's own and those that all have. ERR_USAGE names the nearest
 * strategy or option. */
int allocator_parse(const char *spec, const struct allocator_ops **ops,
                    struct option_values *options, struct error *error);
