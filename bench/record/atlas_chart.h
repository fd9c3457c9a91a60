/* The chart of an atlas: cost against size, a panel a call, a line a way. */
#ifndef GAMUT_RECORD_ATLAS_CHART_H
#define GAMUT_RECORD_ATLAS_CHART_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "record/atlas.h"

/* The data: for each panel (alloc, first use, free) and each way one block, separated by two blank
 * lines: bytes, then median, p10 and p90 in ns. A way without such a call has one line of NaN. */
void atlas_chart_write(const struct atlas *atlas, FILE *out);

/* Writes <folder>/atlas-<device>.dat and has gnuplot make .svg and .png beside it with
 * <scripts>/atlas.gp; adds their common name to `made` (may be NULL). Makes the folder.
 * ERR_NOT_FOUND: the result has no atlas of the device. ERR_UNSUPPORTED: no gnuplot. */
int atlas_chart_draw(const json_t *root, const char *device, const char *scripts,
                     const char *folder, struct text *made, struct error *error);

#endif
