/* The folder of a report. The report is made in a folder next to it and moved there when it is
 * finished. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

/* The tag in the head of index.html by which a folder is known as a report. */
#define REPORT_MARK "<meta name=\"generator\" content=\"gamut report\""

/* The folders that a report has in addition to index.html. X(name, what it holds) */
#define REPORT_FOLDER_LIST(X)                                                                      \
    X(charts, "charts, their data and the scripts that draw them")                                 \
    X(data, "the result files")                                                                    \
    X(views, "pages of programs in detail")

/* Makes a new, empty folder next to `out`, in which the report is made, and adds its path to *work.
 * Makes missing parents of `out`. ERR_USAGE unless `out` is missing, empty or a report, or `force`
 * is set; ERR_IO. */
int report_folder_begin(const char *out, bool force, struct text *work, struct error *error);
/* Moves the finished report to `out`: with one rename if `out` is missing or empty, else
 * folder by folder, index.html last. Removes nothing but an older report. ERR_IO. */
int report_folder_finish(const char *work, const char *out, struct error *error);
/* Removes a folder and everything in it, after a report that could not be finished. */
void report_folder_remove(const char *work);
