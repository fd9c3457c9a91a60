/* A report: result files as one static page that a browser shows without scripts and without a
 * network, and the files that the page refers to.
 *
 *   DIR/index.html   the page
 *   DIR/charts/      the charts that the page shows, their data and their scripts
 *   DIR/data/        copies of the result files
 */
#ifndef GAMUT_REPORT_REPORT_H
#define GAMUT_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct report_options {
    const char *const *files; /* result files, at least one */
    size_t file_count;
    const char *against; /* a result file that all are compared with, or NULL */
    const char *title;   /* NULL: made of the files' devices */
    const char *out;     /* the folder */
    const char *scripts; /* gnuplot's; see gnuplot_scripts */
    bool force;          /* put it into a folder that holds other things, too */
};

/* Makes the report. Nothing is in `out` before everything is done. What could not be drawn (no
 * gnuplot) is said in the page. An error of result_load, or ERR_USAGE or ERR_IO of
 * report_folder_begin. */
int report_make(const struct report_options *options, struct error *error);

#endif
