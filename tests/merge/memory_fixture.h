/* The memory log of a made-up run, the same everywhere. */
#ifndef GAMUT_TESTS_MERGE_MEMORY_FIXTURE_H
#define GAMUT_TESTS_MERGE_MEMORY_FIXTURE_H

#include "record/result/result.h"

/* The log in the format of a case. Two blocks are one after the other in the same memory or, if
 * `caches`, in two memories that are kept. A third memory has three arrays, two of which overlap. If
 * `caches`, calls are faster, and a warm run releases nothing. */
json_t *memory_fixture(bool caches);
/* Gives every ok case such a log; cases under raw do not cache. */
void memory_fixture_add(struct result_draft *result);

#endif
