#include "results/facts/counters.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define INFO(name, unit, kind, better, help)                                                       \
    {#name, UNIT_##unit, KIND_##kind, BETTER_##better, help},
#define INFO_OF_COPY(name, help) COPY_COUNTER_LIST(INFO, name)
static const struct counter_info counters[] = {SAMPLE_LIST(INFO) EXACT_LIST(INFO)
                                                   COPY_KIND_LIST(INFO_OF_COPY)};

enum { COUNTERS = sizeof counters / sizeof *counters };

static_assert(sizeof(struct exact_counts) + sizeof(struct sample) == COUNTERS * sizeof(uint64_t),
              "the structs have the counters of the list and nothing else");

const struct counter_info *counter_list(size_t *count)
{
    *count = COUNTERS;
    return counters;
}

static const char *const unit_names[] = {
    [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes", [UNIT_COUNT] = "count", [UNIT_RATIO] = "ratio", NULL};
static const char *const kind_names[] = {[KIND_SAMPLED] = "sampled", [KIND_EXACT] = "exact", NULL};
static const char *const better_names[] = {
    [BETTER_LOWER] = "lower", [BETTER_HIGHER] = "higher", [BETTER_NEITHER] = "neither", NULL};

const char *counter_unit_name(enum counter_unit unit)
{
    return unit_names[unit];
}

enum counter_unit counter_unit_of(const char *name)
{
    int unit = UNIT_RATIO;
    while (unit > 0 && strcmp(unit_names[unit], name) != 0)
        unit--;
    return (enum counter_unit)unit;
}

JSON_STRUCT(, counter_info, struct counter_info, JSON_WORD(struct counter_info, unit, unit_names),
            JSON_WORD(struct counter_info, kind, kind_names),
            JSON_WORD(struct counter_info, better, better_names),
            JSON_FIELD(STRING_OR_NULL, struct counter_info, help));

double counter_at(const struct exact_counts *counts, size_t index)
{
    enum { SAMPLED = sizeof(struct sample) / sizeof(uint64_t) };
    const uint64_t value =
        counts && index >= SAMPLED ? ((const uint64_t *)counts)[index - SAMPLED] : UINT64_MAX;
    return value == UINT64_MAX ? NAN : (double)value;
}

double counter_value(const struct exact_counts *counts, const char *name)
{
    size_t i = 0;
    while (i < COUNTERS && strcmp(counters[i].name, name) != 0)
        i++;
    return i < COUNTERS ? counter_at(counts, i) : NAN;
}
