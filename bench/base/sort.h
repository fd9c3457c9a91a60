/* Sorting of numbers, and finding in what is sorted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Puts the values into ascending order. */
void sort_u64(uint64_t *values, size_t count);

/* Sets the variable `at` to the first of the places 0 to `count` - 1 for which `before`, which is an
 * expression of `at` and true up to some place, is false; to `count` if there is none. */
#define FIND_PLACE(at, count, before)                                                              \
    do {                                                                                           \
        size_t find_first = 0, find_end = (count);                                                 \
        while (find_first < find_end) {                                                            \
            (at) = find_first + (find_end - find_first) / 2;                                       \
            if (before)                                                                            \
                find_first = (at) + 1;                                                             \
            else                                                                                   \
                find_end = (at);                                                                   \
        }                                                                                          \
        (at) = find_first;                                                                         \
    } while (0)
