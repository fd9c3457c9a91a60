/* An atlas as text for people. */
#pragma once

#include <stdio.h>

#include "base/text.h"
#include "results/facts/atlas.h"

/* Prints what each call costs at a few sizes, its fit and what it waits for. Then prints the costs
 * of commands, and what was left out and why. */
void atlas_print(const struct atlas *atlas, FILE *out);

/* Adds a curve's fit: "45.1 µs + 812 GiB/s", "3 µs; from 2.00 MiB 45.1 µs + 17 TiB/s", or "45.1 µs"
 * if the size does not matter. Adds nothing if the curve has no line. */
void atlas_fit_text(const struct atlas_curve *curve, struct text *out);
