#include "base/clock.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t clock_reading_ns(uint64_t *step_ns)
{
    enum { READINGS = 1001 };
    uint64_t ns[READINGS];
    for (size_t i = 0; i < READINGS; i++) {
        uint64_t start = clock_ns();
        ns[i] = clock_ns() - start;
    }
    qsort(ns, READINGS, sizeof *ns, by_value);
    if (step_ns) {
        size_t i = 0;
        while (i < READINGS - 1 && ns[i] == 0)
            i++;
        *step_ns = ns[i];
    }
    return ns[READINGS / 2];
}
