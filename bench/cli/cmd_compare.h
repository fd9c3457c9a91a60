/* What `gamut compare` shares with `gamut history`. */
#ifndef GAMUT_CLI_CMD_COMPARE_H
#define GAMUT_CLI_CMD_COMPARE_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/flags.h"
#include "record/compare/compare.h"

/* The exit code of a comparison or a history, from its verdict and --strict alone. */
enum exit_code compare_exit_code(const json_t *comparison, bool strict);

/* Reads --threshold and --alpha. ERR_USAGE. */
int compare_read_limits(const char *threshold, const char *alpha, struct compare_options *options,
                        struct error *error);
/* Leaves out all metrics but those of a comma list. ERR_USAGE. */
int compare_choose_metrics(const char *list, bool leave_out[GATES_MAX], struct error *error);

#endif
