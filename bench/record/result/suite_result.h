/* What a suite's rows say of a result: beside each published ratio, the ratio of the two times that
 * were measured. It lives in the tree, as `suite`; results/README.md describes it. */
#ifndef GAMUT_RECORD_SUITE_RESULT_H
#define GAMUT_RECORD_SUITE_RESULT_H

#include <jansson.h>

/* Adds the suite (its checked file, see run/select/suite.h) to a result. Copies it. */
void suite_result_set(json_t *root, const char *name, const json_t *suite);
/* Gives each row its `measured`: an entry for every pair of cases, from the rounds that both have.
 * And `means`: geometric means over rows. Nothing where the result has no suite. */
void suite_result_summarise(json_t *root);

#endif
