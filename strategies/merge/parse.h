/* Merge sets as they are written on a command line: "coalesce+reuse:with=views|disjoint". */
#ifndef GAMUT_MERGE_PARSE_H
#define GAMUT_MERGE_PARSE_H

#include "merge/merge.h"

/* The set by the word before ':', and the extensions that `with` adds to its own (for
 * merge_options.extensions). ERR_USAGE with the nearest name and with what exists. */
int merge_parse(const char *text, const struct merge_set **set, unsigned *extensions,
                struct error *error);

/* By number; "" for the sentence of one that does not exist, NULL for its name. */
const char *merge_extension_name(unsigned extension);
const char *merge_extension_sentence(unsigned extension);

#endif
