/* Histograms of the time of calls, in fixed buckets: the memory is bounded.
 *
 * As in HdrHistogram (Tene), each power of two has LATENCY_PER_OCTAVE buckets of equal width: a
 * time is known to an eighth of itself. Below 2 * LATENCY_PER_OCTAVE ns each nanosecond has a
 * bucket.
 */
#ifndef GAMUT_RECORD_FACTS_LATENCY_H
#define GAMUT_RECORD_FACTS_LATENCY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LATENCY_PER_OCTAVE = 8,
    LATENCY_OCTAVES = 37, /* the last bucket takes all times from 2^40 ns, 18 minutes, on */
    LATENCY_BUCKETS = (LATENCY_OCTAVES + 1) * LATENCY_PER_OCTAVE + 1,
};

/* All zeros: no call. */
struct latency {
    uint64_t count, total_ns, least_ns, most_ns;
    uint64_t bucket[LATENCY_BUCKETS];
};

/* Counts a call. */
void latency_add(struct latency *latency, uint64_t ns);

/* The bucket of a time. */
size_t latency_bucket(uint64_t ns);
/* The least time in a bucket; ns. */
uint64_t latency_bucket_ns(size_t bucket);

/* {"count", "total_ns", "least_ns", "most_ns", "from_ns": [...], "calls": [...]}: the buckets that
 * are not empty, by the least time in them. null if there was no call. The caller owns it. */
json_t *latency_to_json(const struct latency *latency);

/* A quantile of such a tree, in ns: the fraction `p` of the calls (0 < p <= 1) takes no longer. It
 * is the upper end of that call's bucket, or most_ns if that is less. NaN for null. */
double latency_quantile(const json_t *latency, double p);

#endif
