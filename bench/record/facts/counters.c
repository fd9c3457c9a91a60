#include "record/facts/counters.h"

#include <assert.h>

#include "base/tree.h"

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

const char *counter_unit_name(enum counter_unit unit)
{
    static const char *const names[] = {
        [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes", [UNIT_COUNT] = "count", [UNIT_RATIO] = "ratio"};
    return names[unit];
}

json_t *counter_to_json(const struct counter_info *info)
{
    static const char *const kinds[] = {[KIND_SAMPLED] = "sampled", [KIND_EXACT] = "exact"};
    static const char *const betters[] = {
        [BETTER_LOWER] = "lower", [BETTER_HIGHER] = "higher", [BETTER_NEITHER] = "neither"};
    return tree_pack("{s:s, s:s, s:s, s:s}", "unit", counter_unit_name(info->unit), "kind",
                     kinds[info->kind], "better", betters[info->better], "help", info->help);
}
