/* A workload's part in C: the inputs of its program, and a reference for its answer.
 *
 * A workload is a folder W with W.mem (one or more `fun`s that share kernels and datasets, each a
 * workload of its own by its name), W.c and a README. W.c defines `const struct workload
 * workload_W`; the build finds it by the folder's name, so adding one touches no list.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/random.h"
#include "program/arguments.h"

struct workload {
    /* Required if the program has array parameters that its datasets do not spell out. Fills
     * `array` (shape set, data allocated) for the parameter `name`. `arguments` has all scalars and
     * no arrays. The same seed gives the same contents on every machine. */
    int (*fill)(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error);
    /* Required. Compares the results of one run with a reference that shares no code with the
     * program. `arguments` holds the inputs as they were before the run, arrays too. 0 if right;
     * ERR_WRONG with the position, the value and the expected value; *worst_error receives the
     * largest relative error seen (0 where the comparison is exact). */
    int (*check)(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error);
};
