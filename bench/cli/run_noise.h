/* The noise floor of a run: measured by it, or known from an earlier one. */
#ifndef GAMUT_CLI_RUN_NOISE_H
#define GAMUT_CLI_RUN_NOISE_H

#include "record/result/result.h"

/* Takes into the result the newest floor of each of its devices from the files below `results`, and
 * says on stderr what it is and when it was measured. */
void run_noise_known(struct result *result, const char *results);

/* Measures the floor from the rounds of a finished A/A run and says what it is, or why there is
 * none: that the cases failed is the result's own matter. */
void run_noise_measured(struct result *result);

#endif
