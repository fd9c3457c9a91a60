/* Offset planning ("dynamic storage allocation"): gives each buffer an offset in one memory, so
 * that buffers that are alive at the same time do not overlap and the memory is as small as
 * possible.
 *
 * Finding the least height is NP-hard. pack_solve first tries greedy orders, which usually reach
 * the lower bound on ordinary programs. Then it looks for better orders, and searches, until it has
 * a proof or runs out of time. This folder needs bench/base alone. If the host runs out of memory
 * the process ends, as everywhere in gamut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Half-open: alive from `lower` up to but not at `upper`. Empty if these are equal. */
struct pack_interval {
    int64_t lower, upper;
};

struct pack_buffer {
    int64_t lower, upper; /* the lifetime, if `intervals` is NULL */
    int64_t size;         /* bytes, 0 or more */
    int64_t alignment;    /* the offset is a multiple of it; 0 stands for 1 */
    /* The lives of a buffer that is alive several times at one offset: disjoint, ascending, owned
     * by the caller. If not NULL, `lower` and `upper` are not read. */
    const struct pack_interval *intervals;
    size_t interval_count;
};

/* The most that sizes and alignments may add up to, so that no sum of two offsets overflows. */
#define PACK_HEIGHT_MOST (INT64_MAX / 4)

struct pack_options {
    int64_t time_limit_ns; /* 0: only the first greedy order */
    uint64_t step_limit;   /* not 0: stop after this work, whatever time it takes. A step takes
                            * about a nanosecond, and time_limit_ns is not read */
    int64_t capacity;      /* stop at a plan that is no higher than this; 0: look for the lowest */
};

struct pack_result {
    int64_t *offset; /* one a buffer; free with pack_result_free */
    int64_t height;  /* the largest offset + size of a buffer that is ever alive */
    /* No plan is lower than this: at least the most bytes that are alive at once, more where the
     * search has proved it. */
    int64_t lower_bound;
    bool optimal;       /* height == lower_bound: proved */
    const char *method; /* the order or the search that found the plan; a constant text */
    uint64_t nodes;     /* buffers placed by the search */
    int64_t elapsed_ns;
};

/* Checks the buffers. ERR_USAGE names the first that is wrong: an end before its start, a negative
 * size or alignment, intervals out of order, or sizes and alignments that add up to more than
 * PACK_HEIGHT_MOST. */
int pack_verify(const struct pack_buffer *buffers, size_t count, struct error *error);

/* Greedy orders, then exact searches where at most 4096 buffers depend on each other, and better
 * orders until the plan is proved or the time limit is over. If that is so within the first order,
 * buffers are placed in the order of time, but of a full memory the order goes on. Memory grows
 * with the buffers; the searches' tables grow with the pairs that are alive at once. The same
 * buffers give the same plan on every machine unless the time runs out; with a limit of steps
 * always. Returns 0 or an error of pack_verify, and then `result` is empty. */
int pack_solve(const struct pack_buffer *buffers, size_t count, const struct pack_options *options,
               struct pack_result *result, struct error *error);

/* Static planners of other projects; pack_planners.c has their rules and origins. */
struct pack_planner;
/* The planner of number i; NULL after the last one. */
const struct pack_planner *pack_planner_at(size_t i);
const char *pack_planner_name(const struct pack_planner *planner);
/* Plans verified buffers. `offset` has room for one number a buffer; those of buffers that are
 * never alive stay as they are. Returns false if the time ended before there was a plan. Hill
 * climbing that the time ends returns the plan that it has. */
bool pack_planner_run(const struct pack_planner *planner, const struct pack_buffer *buffers,
                      size_t count, uint64_t deadline_ns, int64_t *offset);

/* The judgement of a plan from elsewhere. */
struct pack_judgement {
    enum { PACK_VALID, PACK_OVERLAP, PACK_MISPLACED } verdict;
    int64_t height; /* if the plan is valid */
    /* PACK_OVERLAP: two buffers that overlap and are both alive from `time` on. PACK_MISPLACED:
     * `first` has an offset that is negative, not aligned or too large. */
    size_t first, second;
    int64_t time;
};

/* Judges `offset`, one a buffer, of verified buffers. Names the overlap that comes first in
 * time. */
struct pack_judgement pack_judge(const struct pack_buffer *buffers, size_t count,
                                 const int64_t *offset);

/* Frees the offsets and empties `result`. */
void pack_result_free(struct pack_result *result);
