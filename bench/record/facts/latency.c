#include "record/facts/latency.h"

#include <math.h>

#include "base/tree.h"

size_t latency_bucket(uint64_t ns)
{
    if (ns < 2 * LATENCY_PER_OCTAVE)
        return (size_t)ns;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns), first = 4; /* 2^4 = 2 * PER_OCTAVE */
    size_t within = (size_t)(ns >> (octave - first + 1)) - LATENCY_PER_OCTAVE;
    size_t bucket = (size_t)(octave - first + 2) * LATENCY_PER_OCTAVE + within;
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

uint64_t latency_bucket_ns(size_t bucket)
{
    if (bucket < 2 * LATENCY_PER_OCTAVE)
        return bucket;
    size_t octave = bucket / LATENCY_PER_OCTAVE - 1;
    return (uint64_t)(LATENCY_PER_OCTAVE + bucket % LATENCY_PER_OCTAVE) << octave;
}

_Static_assert(LATENCY_PER_OCTAVE == 8, "latency_bucket takes 2 * LATENCY_PER_OCTAVE for 2^4");

void latency_add(struct latency *l, uint64_t ns)
{
    if (l->count == 0 || ns < l->least_ns)
        l->least_ns = ns;
    if (ns > l->most_ns)
        l->most_ns = ns;
    l->count++;
    l->total_ns += ns;
    l->bucket[latency_bucket(ns)]++;
}

json_t *latency_to_json(const struct latency *l)
{
    if (l->count == 0)
        return json_null();
    json_t *from = tree_array(), *calls = tree_array();
    for (size_t i = 0; i < LATENCY_BUCKETS; i++)
        if (l->bucket[i]) {
            tree_append(from, tree_count(latency_bucket_ns(i)));
            tree_append(calls, tree_count(l->bucket[i]));
        }
    return tree_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "count", tree_count(l->count), "total_ns",
                     tree_count(l->total_ns), "least_ns", tree_count(l->least_ns), "most_ns",
                     tree_count(l->most_ns), "from_ns", from, "calls", calls);
}

double latency_quantile(const json_t *latency, double p)
{
    const json_t *from = json_object_get(latency, "from_ns");
    const json_t *calls = json_object_get(latency, "calls");
    const double most_ns = tree_get_number(latency, "most_ns");
    double left = ceil(p * tree_get_number(latency, "count"));
    for (size_t i = 0; i < json_array_size(from); i++) {
        left -= tree_to_number(json_array_get(calls, i));
        if (left > 0)
            continue;
        size_t next = latency_bucket((uint64_t)json_integer_value(json_array_get(from, i))) + 1;
        double end_ns = next < LATENCY_BUCKETS ? (double)latency_bucket_ns(next) - 1 : INFINITY;
        return end_ns < most_ns ? end_ns : most_ns;
    }
    return NAN;
}
