/* Comparing and sorting numbers, and finding in what is sorted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Puts the values into ascending order. */
void sort_u64(uint64_t *values, size_t count);

/* Defines an order for qsort: by a member of `type`, from the least to the most. */
#define ORDER_BY(name, type, member)                                                               \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *a = left, *b = right;                                                          \
        return (a->member > b->member) - (a->member < b->member);                                  \
    }

/* By two members: from the least to the most of the first, and where that is equal of the
 * second. */
#define ORDER_BY_BOTH(name, type, first, second)                                                   \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *a = left, *b = right;                                                          \
        const int order = (a->first > b->first) - (a->first < b->first);                           \
        return order ? order : (a->second > b->second) - (a->second < b->second);                  \
    }

/* By two members: from the most to the least of the first. */
#define ORDER_FROM_MOST(name, type, first, second)                                                 \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *a = left, *b = right;                                                          \
        const int order = (a->first < b->first) - (a->first > b->first);                           \
        return order ? order : (a->second > b->second) - (a->second < b->second);                  \
    }

/* A step of a function for qsort with several: it returns the order of two numbers that differ. */
#define ORDER_STEP(x, y)                                                                           \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

/* Sets the variable `at` to the first of the places 0 to `count` - 1 for which `before`, which is
 * an expression of `at` and true up to some place, is false; to `count` if there is none. */
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
