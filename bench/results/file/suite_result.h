/* A suite in a result: the ratio of two measured times for each published ratio.
 */
#pragma once

#include "results/file/result.h"

/* Adds the suite (its checked file, see run/select/suite.h) to a result. Copies it. */
void suite_result_set(struct result *result, const char *name, const json_t *suite);
/* Sets `measured` of each row: an entry for every pair of cases, from the rounds that both have.
 * And the means. */
void suite_result_summarise(struct result *result);
