/* `gamut plan --published`: published peaks next to those of gamut's own programs. */
#ifndef GAMUT_CLI_PLAN_PUBLISHED_H
#define GAMUT_CLI_PLAN_PUBLISHED_H

#include <stdint.h>

#include "base/error.h"

enum plan_format { PLAN_AS_TABLE, PLAN_AS_JSON, PLAN_AS_CSV };

/* Prints the table of the file at `path` to stdout. On an error, of published_read or of
 * published_count, it prints nothing. */
int plan_published(const char *path, enum plan_format format, int64_t time_limit_ns,
                   struct error *error);

#endif
