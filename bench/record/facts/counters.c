#include "record/facts/counters.h"

#include <assert.h>
#include <string.h>

#include "base/tree.h"

#define INFO(name, unit, kind, better, help)                                                       \
    {#name, UNIT_##unit, KIND_##kind, BETTER_##better, help},
#define INFO_OF_COPY(name, help) COPY_COUNTER_LIST(INFO, name)
static const struct counter_info counters[] = {SAMPLE_LIST(INFO) EXACT_LIST(INFO)
                                                   COPY_KIND_LIST(INFO_OF_COPY)};

enum {
    COUNTERS = sizeof counters / sizeof *counters,
    SAMPLED = sizeof(struct sample) / sizeof(uint64_t),
};

/* Both structs are rows of 64-bit words in the order of the list: an index is a position. */
static_assert(sizeof(struct exact_counts) == (COUNTERS - SAMPLED) * sizeof(uint64_t),
              "exact_counts has the counters of the list and nothing else");

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
    json_t *json = tree_object();
    tree_put(json, "unit", tree_text(counter_unit_name(info->unit)));
    tree_put(json, "kind", tree_text(kinds[info->kind]));
    tree_put(json, "better", tree_text(betters[info->better]));
    tree_put(json, "help", tree_text(info->help));
    return json;
}

static uint64_t word(const void *words, size_t position)
{
    uint64_t value;
    memcpy(&value, (const char *)words + position * sizeof value, sizeof value);
    return value;
}

static void set_word(void *words, size_t position, uint64_t value)
{
    memcpy((char *)words + position * sizeof value, &value, sizeof value);
}

uint64_t counter_exact(const struct exact_counts *counts, size_t i)
{
    assert(i >= SAMPLED && i < COUNTERS);
    return word(counts, i - SAMPLED);
}

uint64_t counter_sample(const struct sample *sample, size_t i)
{
    assert(i < SAMPLED);
    return word(sample, i);
}

void counter_set_exact(struct exact_counts *counts, size_t i, uint64_t value)
{
    assert(i >= SAMPLED && i < COUNTERS);
    set_word(counts, i - SAMPLED, value);
}

void counter_set_sample(struct sample *sample, size_t i, uint64_t value)
{
    assert(i < SAMPLED);
    set_word(sample, i, value);
}
