/* How `gamut plan -m` tells what merge sets do. */
#ifndef GAMUT_CLI_PLAN_OUTPUT_H
#define GAMUT_CLI_PLAN_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "cli/plan/plan_values.h"
#include "run/select/merging.h"

/* A table of the sets, then what each of them did and what it refused. */
void plan_print_table(const struct merge_report *report, FILE *out);

/* The decisions about one array or block, in sentences. ERR_USAGE if the fun has no such name. */
int plan_print_why(const struct merge_report *report, const char *name, FILE *out,
                   struct error *error);

/* The same as data: what `gamut plan --help` describes. The caller's reference. */
json_t *plan_json(const struct merge_report *report, const struct plan_values *values);

/* Copies over all kinds. */
struct copy_counts plan_copies(const struct dry_run *run);

/* "hoisted", … */
const char *plan_action(enum merge_action action);

#endif
