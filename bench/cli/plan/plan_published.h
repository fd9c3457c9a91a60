/* `gamut plan --published`: a table of published peaks beside those of our programs. */
#ifndef GAMUT_CLI_PLAN_PUBLISHED_H
#define GAMUT_CLI_PLAN_PUBLISHED_H

#include <stdint.h>

#include "base/error.h"

enum plan_format { PLAN_AS_TABLE, PLAN_AS_JSON, PLAN_AS_CSV };

/* Prints it to stdout, or nothing on an error: those of published_read and published_count. */
int plan_published(const char *path, enum plan_format format, int64_t time_limit_ns,
                   struct error *error);

#endif
