/* An atlas as text for people. */
#ifndef GAMUT_RECORD_ATLAS_TABLE_H
#define GAMUT_RECORD_ATLAS_TABLE_H

#include <stdio.h>

#include "record/atlas.h"

/* Prints what each call costs at a few sizes, its fit and what it waits for; then commands, costs
 * by the number of live allocations, and what was left out and why. */
void atlas_print(const struct atlas *atlas, FILE *out);

/* "45.1 us + 812 GiB/s", "45.1 us" where size does not matter; "" without a fit. Returns `out`. */
char *atlas_fit_text(const struct atlas_curve *curve, char out[64]);

#endif
