/* The one host clock: monotonic, nanoseconds. */
#ifndef GAMUT_BASE_CLOCK_H
#define GAMUT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What one reading takes, the median of a thousand; *step_ns (or NULL) is the least difference that
 * two readings had. */
uint64_t clock_reading_ns(uint64_t *step_ns);

#endif
