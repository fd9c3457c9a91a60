/* A report: result files as one static page that a browser shows without a network, and the files
 * that the page refers to. It can be read with scripts off.
 *
 *   DIR/index.html   the page
 *   DIR/charts/      the charts that the page shows, their data and their scripts
 *   DIR/data/        copies of the result files
 *   DIR/views/       pages of a few programs in detail, as gamut view makes them
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct report_options {
    const char *const *files; /* result files, at least one */
    size_t file_count;
    const char *against; /* the base with which every file is compared, or NULL */
    const char *title;   /* NULL: the first file's devices or traces */
    const char *out;     /* the folder of the report */
    const char *scripts; /* the folder of gnuplot's scripts */
    bool force;          /* write even into a folder that holds other files */
};

/* Makes the report. `out` does not change before everything is done. If a chart cannot be drawn,
 * for example without gnuplot, the page says so. Returns the errors of result_open, and ERR_USAGE
 * and ERR_IO of report_folder_begin. */
int report_make(const struct report_options *options, struct error *error);
