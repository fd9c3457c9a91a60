/* The output of `gamut plan -m`: tables, sentences and JSON about merge sets. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "cli/plan/plan_values.h"
#include "run/select/merging.h"

/* Prints a table of the sets, then what each set merged and what it refused. */
void plan_print_table(const struct merge_report *report, FILE *out);

/* Prints as sentences what each set decided about the array or block `name`. ERR_USAGE if the
 * function has no such name. */
int plan_print_why(const struct merge_report *report, const char *name, FILE *out,
                   struct error *error);

/* The report as JSON, in the format that `gamut plan --help` describes. The caller owns it. */
json_t *plan_json(const struct merge_report *report, const struct plan_values *values);
