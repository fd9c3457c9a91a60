/* Sorting of numbers. */
#ifndef GAMUT_BASE_SORT_H
#define GAMUT_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Puts the values into ascending order. */
void sort_u64(uint64_t *values, size_t count);

#endif
