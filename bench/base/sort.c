#include "base/sort.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void sort_u64(uint64_t *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof *values, ascending);
}
