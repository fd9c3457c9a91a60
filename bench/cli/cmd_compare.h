/* The exit code of a comparison: a function of its verdict and of --strict, of nothing else. */
#ifndef GAMUT_CLI_CMD_COMPARE_H
#define GAMUT_CLI_CMD_COMPARE_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/flags.h"

enum exit_code compare_exit_code(const json_t *comparison, bool strict);

#endif
