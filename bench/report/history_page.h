/* A history as a static page: its verdict, its steps, charts, runs and all series.
 *
 *   DIR/index.html   the page
 *   DIR/charts/      the charts, their data and their scripts
 *   DIR/data/        history.json, from which all of it is made
 */
#ifndef GAMUT_REPORT_HISTORY_PAGE_H
#define GAMUT_REPORT_HISTORY_PAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

struct history_page_options {
    json_t *history;     /* record/compare/history.h; borrowed */
    const char *out;     /* the folder of the page */
    const char *scripts; /* the folder of gnuplot's scripts */
    bool force;          /* write even into a folder that holds other files */
};

/* Makes the page. `out` does not change before everything is done. Without gnuplot the page has no
 * charts and says so. ERR_USAGE and ERR_IO of report_folder_begin. */
int history_page_make(const struct history_page_options *options, struct error *error);

#endif
