/* What the memory of a made-up run did, the same everywhere. */
#ifndef GAMUT_TESTS_MEMORY_FIXTURE_H
#define GAMUT_TESTS_MEMORY_FIXTURE_H

#include "record/result/result.h"

/* As a case has it: two blocks, one after the other in the same memory, or, if it `caches`, in two
 * that are kept; in a third one three arrays, two of which overlap. A caching allocator's calls are
 * faster, and once it is warm it makes none that releases. */
json_t *memory_fixture(bool caches);
/* Gives every case that is ok one; those under raw do not cache. */
void memory_fixture_add(struct result *result);

#endif
