/* What every chart needs: its name, its caption, and gnuplot run on its data. */
#ifndef GAMUT_RECORD_GNUPLOT_H
#define GAMUT_RECORD_GNUPLOT_H

#include <jansson.h>

#include "base/error.h"
#include "base/text.h"

/* "<folder>/<chart>-<device>" and, unless NULL, "-<strategy>", as a file name has them. */
void gnuplot_name(const char *folder, const char *chart, const char *device, const char *strategy,
                  struct text *out);

/* Where the numbers come from, in a line below the chart: device, driver, revision, rounds, day. */
void gnuplot_caption(const json_t *root, const char *device, struct text *out);

/* Adds name='text'; with quotes doubled, as gnuplot reads them. */
void gnuplot_variable(struct text *out, const char *name, const char *text);

/* The folder of the scripts, whatever folder gamut is called from: plots/ in the tree for a binary
 * in its build folder, share/gamut/plots beside bin/ for one that was installed. */
void gnuplot_scripts(struct text *folder);

/* Runs a script after setting the variables. ERR_UNSUPPORTED without gnuplot, and what to do. */
int gnuplot_run(const char *variables, const char *script, const char *data, struct error *error);

#endif
