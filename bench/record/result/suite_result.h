/* A suite in a result: the ratio of two measured times for each published ratio. It is the member
 * `suite` of the tree; results/README.md describes it. */
#ifndef GAMUT_RECORD_RESULT_SUITE_RESULT_H
#define GAMUT_RECORD_RESULT_SUITE_RESULT_H

#include <jansson.h>

/* Adds the suite (its checked file, see run/select/suite.h) to a result. Copies it. */
void suite_result_set(json_t *root, const char *name, const json_t *suite);
/* Sets `measured` of each row: an entry for every pair of cases, from the rounds that both have.
 * Sets `means`: geometric means over rows. Does nothing if the result has no suite. */
void suite_result_summarise(json_t *root);

#endif
