/* Allocators from outside of the tree: shared objects that a command line names by a path. They are
 * code, so only what a user names with -s is loaded, and never what a result file names. */
#pragma once

#include "base/error.h"

/* Loads the strategy that the shared object `path` exports as `const struct allocator_ops *const
 * gamut_strategy`, and adds it under the name `path`, here and in the workers of this process. A
 * second load does nothing. ERR_USAGE: the file cannot be loaded, exports no strategy, or was
 * compiled for another version of the interface. */
int strategy_file_load(const char *path, struct error *error);

/* In a worker: loads what the process that started it has loaded. */
int strategy_files_of_parent(struct error *error);
