/* What many readers of a result want to know of one of its cases. */
#ifndef GAMUT_RECORD_CASE_TREE_H
#define GAMUT_RECORD_CASE_TREE_H

#include <jansson.h>
#include <stdbool.h>

/* Is the status of a case (or of a round) this one? */
bool case_is_ok(const json_t *one_case);
bool case_is_skipped(const json_t *one_case);

/* The most of the cold and the warm run of a counter; NaN where it is not known. */
double case_peak(const json_t *one_case, const char *name);

/* A number of stats.<metric>: "median", "ci_lo", …; NaN where it is not known. */
double case_stat(const json_t *one_case, const char *metric, const char *name);

/* Do two cases of the device differ in this member of their keys? */
bool case_keys_differ(const json_t *root, const char *device, const char *member);

/* The case's key as words: "canny medium cuda:0 none last-use pool". Returns `out`. */
char *case_words(char out[512], const json_t *one_case);

#endif
