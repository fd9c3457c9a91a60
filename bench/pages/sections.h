/* The sections of a page, in their order. Only report.c walks the lists. A section prints nothing
 * if it has nothing to show. */
#pragma once

#include "pages/page.h"

/* The sections of one file, from what is general to what is particular. */
#define FILE_SECTION_LIST(X)                                                                       \
    X(ranking)                                                                                     \
    X(machines)                                                                                    \
    X(matrix)                                                                                      \
    X(charts)                                                                                      \
    X(plans)                                                                                       \
    X(stability)                                                                                   \
    X(failures)                                                                                    \
    X(suite)                                                                                       \
    X(experiments)                                                                                 \
    X(details)                                                                                     \
    X(table)                                                                                       \
    X(machine)                                                                                     \
    X(reproduce)

/* The verdict on all files together; it is above the contents and in no list. */
void section_banner(const struct page *page);
/* Beside the verdict: the picture of time against memory. It is of the first device that has both,
 * and the page notes which one that is, so that its section does not draw the picture again. */
void section_picture(struct page *page);
/* The changes from the base, if there is one. */
void section_comparison(const struct page *page);
/* Prints the section of `file`. That of machines is about all files: it stands after the ranking of
 * a single one, and before the sections of several, whose file is NULL. */
#define X(name) void section_##name(const struct page *page, const struct page_file *file);
FILE_SECTION_LIST(X)
#undef X
