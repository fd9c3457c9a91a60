/* The experiments, in the order in which `gamut list` shows them.
 *
 * X(name): a file in this folder defines `const struct experiment experiment_NAME`.
 */
#pragma once

#include "experiment/experiment.h"

/* clang-format off */
#define EXPERIMENT_LIST(X)                                                                         \
    X(isosurface)
/* clang-format on */

#define X(name) extern const struct experiment experiment_##name;
EXPERIMENT_LIST(X)
#undef X
