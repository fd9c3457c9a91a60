/* What gnuplot cannot write into an SVG by itself: texts that a browser shows under the pointer. */
#ifndef GAMUT_RECORD_CHART_SVG_H
#define GAMUT_RECORD_CHART_SVG_H

#include "base/error.h"

/* The beginning of the group of texts, the last element of a finished picture that has any. In it is a path for
 * each text: an invisible round dot or horizontal bar, with the text, escaped for XML, as its title. */
#define SVG_VALUES "<g class=\"values\""

/* Finishes an SVG that gnuplot 5.4 or later wrote. gnuplot leaves a hypertext (plots/terminal.gp) to a script of its own
 * and names every element "gnuplot_plot_1"; a finished picture shows the hypertexts without a script, and no such
 * names. Two hypertexts of one text and height are the ends of a bar. ERR_IO with the path. */
int svg_finish(const char *path, struct error *error);

#endif
