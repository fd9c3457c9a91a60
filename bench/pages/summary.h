/* Bytes over the moments of a trace, at several resolutions.
 *
 * A bucket stands for `stride` moments. It has the moment at which most was requested, and these
 * bytes: a picture with a column for each bucket that shows this moment loses no peak, and shows
 * nothing that was not. Each level above has half as many buckets, down to SUMMARY_TOP at most.
 */
#pragma once

#include <stdint.h>

enum { SUMMARY_BASE = 1 << 18, SUMMARY_TOP = 2048, SUMMARY_LEVELS = 12 };

struct view_bucket {
    uint64_t requested; /* the most */
    uint64_t time_ns;   /* of its first moment */
    uint32_t at;        /* the first moment with so many */
};

struct view_level {
    uint32_t stride, count;
    struct view_bucket *buckets;
};

struct view_summary {
    uint32_t first, last; /* moments */
    unsigned level_count;
    struct view_level levels[SUMMARY_LEVELS]; /* the finest first */
};

/* The most that a strategy granted and reserved, by level and bucket. */
struct view_strategy_summary {
    uint64_t *granted[SUMMARY_LEVELS], *reserved[SUMMARY_LEVELS];
};

/* Makes room for the moments first to last. The finest level has the least power of two as stride
 * with which there are SUMMARY_BASE buckets at most. */
void summary_open(struct view_summary *summary, uint32_t first, uint32_t last);
/* The bytes at a moment, none of which may be left out. */
void summary_add(struct view_summary *summary, uint32_t moment, uint64_t time_ns,
                 uint64_t requested);
/* Makes the other levels of the finest. */
void summary_finish(struct view_summary *summary);
void summary_free(struct view_summary *summary);

/* The same for a strategy. */
void strategy_summary_open(struct view_strategy_summary *of, const struct view_summary *summary);
void strategy_summary_add(struct view_strategy_summary *of, const struct view_summary *summary,
                          uint32_t moment, uint64_t granted, uint64_t reserved);
void strategy_summary_finish(struct view_strategy_summary *of, const struct view_summary *summary);
void strategy_summary_free(struct view_strategy_summary *of);
