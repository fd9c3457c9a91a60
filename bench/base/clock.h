/* The host's clocks.
 *
 * clock_ns is monotonic time, in order with what the thread did before it reads the clock. A *span*
 * is the time that one thread spends in a few calls. Spans are read from the processor's counter of
 * ticks, if that is fit for it, because that takes half as long: where the calls are cheap, reading
 * the clock is most of what is measured. The counter is refused unless
 *
 *   1. the processor says that it ticks at one rate in all states (x86: cpuid leaf 0x80000007, bit
 *      8 of EDX; on ARM every counter does);
 *   2. the kernel keeps time by the same counter. It stops doing so where the counters of two cores
 *      differ, or where they stand still or start anew in sleep;
 *   3. two measurements of its rate against clock_ns agree to a thousandth;
 *   4. a reading takes less time than clock_ns. It does not where a virtual machine traps it.
 *
 * Then spans are read from clock_ns. A reading of the counter does not wait for the instructions
 * before it: a span may miss a few ns at its ends, and is never below 0. The kernel's own reading
 * waits, and that is most of its cost. A span during which the machine sleeps means nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Nanoseconds since an arbitrary moment. */
static inline uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The time that one reading of clock_ns takes, in ns: the median of a thousand. */
uint64_t clock_reading_ns(void);

/* ---- spans ---- */

/* The source of spans. The first span of a process chooses it, which takes 2 ms; no span may be
 * open then in another thread. */
enum clock_kind { CLOCK_UNKNOWN, CLOCK_SYSTEM, CLOCK_COUNTER };
extern enum clock_kind clock_spans; /* written once; read and written atomically */
extern uint64_t clock_tick_scale;   /* CLOCK_COUNTER: ns of a tick, times 2^32 */

/* Chooses it at once, so that no timed region contains the choice. */
enum clock_kind clock_prepare(void);

/* The processor's counter; 0 where this build knows none. */
static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    return ticks;
#else
    return 0;
#endif
}

/* Begins a span; the result is for clock_since alone, in the same thread. */
static inline uint64_t clock_start(void)
{
    enum clock_kind kind = __atomic_load_n(&clock_spans, __ATOMIC_ACQUIRE);
    if (kind == CLOCK_UNKNOWN)
        kind = clock_prepare();
    return kind == CLOCK_COUNTER ? clock_ticks() : clock_ns();
}

/* The ns of a span so far. */
static inline uint64_t clock_since(uint64_t start)
{
    __extension__ typedef unsigned __int128 wide;
    if (__atomic_load_n(&clock_spans, __ATOMIC_ACQUIRE) != CLOCK_COUNTER)
        return clock_ns() - start;
    const uint64_t now = clock_ticks();
    return now > start ? (uint64_t)((wide)(now - start) * clock_tick_scale >> 32) : 0;
}

/* The cost of the harness's own reading of the clock. */
struct clock_cost {
    const char *counter;   /* "tsc" or "cntvct"; NULL: spans are read from clock_ns */
    const char *why_not;   /* a clause that says why there is none; NULL if there is one */
    double span_ns;        /* a span around nothing takes this long */
    double system_span_ns; /* two readings of clock_ns */
};
void clock_measure_cost(struct clock_cost *cost);
/* Prints it in a line, for programs that print costs. */
void clock_print_cost(FILE *out);

/* Facts about a counter, and the rule on it: NULL, or a clause that says why it is refused. */
struct clock_facts {
    bool exists, is_invariant;
    const char *counter_source;     /* the kernel's name for the counter */
    const char *kernel_source;      /* the clock source that the kernel uses; "": unknown */
    double first_rate, second_rate; /* ns a tick, in two measurements */
    double counter_ns, system_ns;   /* a reading takes this long */
};
const char *clock_refusal(const struct clock_facts *facts);
