/* What each strategy costs over many programs, from the fits of a result (`gamut fit`).
 *
 * A program is a trace, and counts once. A strategy is ranked if it served all programs that any
 * strategy served and whose optimum is known; so all numbers are over the same programs.
 *
 * Ratios to the optimum and times are those of a typical program: the median of the geometric means
 * of all pairs of programs (Hodges and Lehmann; statistics/ranks.h), with its 95 % interval over
 * programs. One program with a ratio of 500 does not move it much; the worst one is named. Shares
 * are plain means.
 *
 * The front are the strategies that no other is at least as good as in regret and in time and
 * better in one.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/arena.h"
#include "results/statistics/statistics.h"

struct standing {
    const char *strategy; /* borrowed from the fits, like all texts here */
    /* Of a typical program: `median` and its interval; NaN if unknown. */
    struct statistics regret;     /* reserved without a limit over the optimum */
    struct statistics capacity;   /* the least capacity over the optimum */
    struct statistics request_ns; /* predicted time in the driver's calls, per request */
    double worst_regret;
    const char *worst; /* the program of it */
    double hit_share;  /* requests that were served without the driver */
    double
        idle_share; /* of what is reserved at its peak: bytes that the program has not asked for */
    double driver_calls; /* in all programs together */
    bool on_front;
};

struct standings {
    size_t count;
    struct standing *each; /* the least regret first */
    size_t program_count;
    size_t left_out_count; /* strategies that did not serve all programs */
    const char **left_out;
    bool has_times;
};

/* Of the fits whose member `kind` is `kind`; NULL: of all. The arena owns the result. */
struct standings standings_of(const json_t *fits, const char *kind, struct arena *arena);
/* The kinds of programs that fits have, each once, in their order; `count` receives how many. */
const char **standings_kinds(const json_t *fits, size_t *count, struct arena *arena);
