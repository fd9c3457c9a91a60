/* Histograms of the time of calls, in fixed buckets: bounded memory whatever is counted.
 *
 * A power of two has LATENCY_PER_OCTAVE buckets of equal width, as in HdrHistogram (Tene): a time
 * is known to an eighth of itself. Below 2 * LATENCY_PER_OCTAVE ns each nanosecond has a bucket.
 */
#ifndef GAMUT_RECORD_LATENCY_H
#define GAMUT_RECORD_LATENCY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LATENCY_PER_OCTAVE = 8,
    LATENCY_OCTAVES = 37, /* the last bucket takes all from 2^40 ns, 18 minutes, on */
    LATENCY_BUCKETS = (LATENCY_OCTAVES + 1) * LATENCY_PER_OCTAVE + 1,
};

/* All zeros: no call. */
struct latency {
    uint64_t count, total_ns, least_ns, most_ns;
    uint64_t bucket[LATENCY_BUCKETS];
};

void latency_add(struct latency *latency, uint64_t ns);

/* The bucket of a time, and the least time in a bucket. */
size_t latency_bucket(uint64_t ns);
uint64_t latency_bucket_ns(size_t bucket);

/* {"count", "total_ns", "least_ns", "most_ns", "from_ns": [...], "calls": [...]}: the buckets that
 * are not empty, by the least time in them. Null where there was no call. */
json_t *latency_to_json(const struct latency *latency);

/* Of such a tree: the time that the part `p` of the calls (0 < p <= 1) does not exceed, that is,
 * the upper end of the bucket in which that call lies, or most_ns where that is less; ns. NaN for
 * null. */
double latency_quantile(const json_t *latency, double p);

#endif
