/* The sections of a page, in their order. Only report.c walks the lists. A section prints nothing
 * if it has nothing to show. */
#ifndef GAMUT_REPORT_SECTIONS_H
#define GAMUT_REPORT_SECTIONS_H

#include "report/page.h"

/* The sections of all files together: are there errors, and what changed from the base? */
#define PAGE_SECTION_LIST(X)                                                                       \
    X(banner)                                                                                      \
    X(comparison)

/* The sections of one file. */
#define FILE_SECTION_LIST(X)                                                                       \
    X(tiles)                                                                                       \
    X(machine)                                                                                     \
    X(matrix)                                                                                      \
    X(charts)                                                                                      \
    X(plans)                                                                                       \
    X(stability)                                                                                   \
    X(failures)                                                                                    \
    X(table)                                                                                       \
    X(suite)                                                                                       \
    X(experiments)                                                                                 \
    X(reproduce)

/* Prints the section. */
#define X(name) void section_##name(const struct page *page);
PAGE_SECTION_LIST(X)
#undef X
/* Prints the section of `file`. */
#define X(name) void section_##name(const struct page *page, const struct page_file *file);
FILE_SECTION_LIST(X)
#undef X

#endif
