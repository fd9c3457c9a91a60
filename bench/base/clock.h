/* The one host clock: monotonic, nanoseconds. */
#ifndef GAMUT_BASE_CLOCK_H
#define GAMUT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since an arbitrary moment. */
static inline uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The time that one reading takes, in ns: the median of a thousand. *step_ns, unless it is NULL,
 * receives the least difference above 0 between two readings. */
uint64_t clock_reading_ns(uint64_t *step_ns);

#endif
