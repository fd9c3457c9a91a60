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
    const char *against; /* a result file to compare all with, or NULL */
    const char *title;   /* NULL: the names of the first file's devices */
    const char *out;     /* the folder of the report */
    const char *scripts; /* the folder of gnuplot's scripts, see gnuplot_scripts */
    bool force;          /* the folder may hold other files */
};

/* Makes the report. `out` does not change before everything is done. Where a chart cannot be drawn,
 * for want of gnuplot for one, the page says so. The errors of result_load, and ERR_USAGE and
 * ERR_IO of report_folder_begin. */
int report_make(const struct report_options *options, struct error *error);

#endif
