/* gamut plan --lifetimes: offsets for the buffers of a CSV file. */
#ifndef GAMUT_CLI_PLAN_LIFETIMES_H
#define GAMUT_CLI_PLAN_LIFETIMES_H

#include <stdint.h>

#include "base/error.h"

/* Writes the file's rows with an offset each to stdout, and to stderr how high the plan is and
 * whether that is proved to be the least. With a capacity (-1: none) it is content with any plan
 * within it; if there is none, or none was found in time, that is ERR_OOM and nothing is written.
 * Otherwise 0 or an error of pack_read_file. */
int plan_lifetimes(const char *path, int64_t capacity, double time_limit_s, struct error *error);

#endif
