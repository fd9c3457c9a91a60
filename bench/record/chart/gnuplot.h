/* What every chart needs of gnuplot: variables, a caption, a script that stands alone, a run. */
#ifndef GAMUT_RECORD_GNUPLOT_H
#define GAMUT_RECORD_GNUPLOT_H

#include <jansson.h>

#include "base/error.h"
#include "base/text.h"

/* Where the numbers come from, in a line below the chart: device, driver, revision, rounds, day. */
void gnuplot_caption(const json_t *root, const char *device, struct text *out);

/* Adds the line name='text', with quotes doubled, as gnuplot reads them; later ones win. */
void gnuplot_variable(struct text *out, const char *name, const char *text);
/* The same for a number. */
void gnuplot_number(struct text *out, const char *name, double value);

/* The folder of the scripts, whatever folder gamut is called from: plots/ in the tree for a binary
 * in its build folder, share/gamut/plots beside bin/ for one that was installed. */
void gnuplot_scripts(struct text *folder);

/* Adds a script that needs no other file but its data: the variables, then <folder>/<chart>.gp, in
 * which each line `load "NAME.gp"` is replaced by <folder>/NAME.gp. ERR_IO, or ERR_NOT_FOUND where
 * there is no such script. */
int gnuplot_script(const char *folder, const char *chart, const char *variables, struct text *out,
                   struct error *error);

/* Runs <name>.gp within its folder for the terminals, "svg png dumb" or fewer of them; `columns` is
 * the width of dumb. ERR_UNSUPPORTED without gnuplot, and what to do. */
int gnuplot_run(const char *folder, const char *name, const char *terminals, unsigned columns,
                struct error *error);

#endif
