/* Numbers in ascending order. */
#ifndef GAMUT_BASE_SORT_H
#define GAMUT_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

void sort_u64(uint64_t *values, size_t count);

#endif
