/* A chart as a part of a page. */
#ifndef GAMUT_REPORT_SVG_H
#define GAMUT_REPORT_SVG_H

#include <stdio.h>

#include "base/error.h"

/* Writes an SVG document (gnuplot's) as an element of a page: only what draws is kept, so nothing
 * in it can run, load or link to anything; `prefix` goes before every id, so that several charts
 * can stand in one page. `label` says what it shows to those who can't see it. ERR_PARSE, and
 * where, if it is not well-formed; something is written even then, so write to a buffer. */
int svg_inline(const char *svg, const char *prefix, const char *label, FILE *out,
               struct error *error);

#endif
