#include "base/clock.h"

#include <stddef.h>

#include "base/sort.h"

uint64_t clock_reading_ns(uint64_t *step_ns)
{
    enum { READINGS = 1001 };
    uint64_t ns[READINGS];
    for (size_t i = 0; i < READINGS; i++) {
        uint64_t start = clock_ns();
        ns[i] = clock_ns() - start;
    }
    sort_u64(ns, READINGS);
    if (step_ns) {
        size_t i = 0;
        while (i < READINGS - 1 && ns[i] == 0)
            i++;
        *step_ns = ns[i];
    }
    return ns[READINGS / 2];
}
