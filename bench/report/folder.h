/* The folder of a report: nothing half-made is ever in it. */
#ifndef GAMUT_REPORT_FOLDER_H
#define GAMUT_REPORT_FOLDER_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

/* What says in the head of index.html that a folder is a report. */
#define REPORT_MARK "<meta name=\"generator\" content=\"gamut report\""

/* What a report has beside index.html: folders. X(name, what is in it) */
#define REPORT_FOLDER_LIST(X)                                                                      \
    X(charts, "charts, their data and the scripts that draw them")                                 \
    X(data, "the result files")

/* A new, empty folder beside `out` in which the report is made; its path goes to *work. ERR_USAGE
 * where `out` is something else than a report or an empty or missing folder, unless `force`;
 * ERR_IO. Missing parents are made. */
int report_folder_begin(const char *out, bool force, struct text *work, struct error *error);
/* Puts the finished report in its place: where `out` is missing or empty by one renaming, else part
 * by part, index.html last. Nothing is removed that is not a report's. ERR_IO. */
int report_folder_finish(const char *work, const char *out, struct error *error);
/* Removes what was made, where it could not be finished. */
void report_folder_remove(const char *work);

#endif
