/* The exit code of `gamut compare`. */
#ifndef GAMUT_CLI_CMD_COMPARE_H
#define GAMUT_CLI_CMD_COMPARE_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/flags.h"

/* The exit code of a comparison, from its verdict and --strict alone. */
enum exit_code compare_exit_code(const json_t *comparison, bool strict);

#endif
