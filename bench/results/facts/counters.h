/* The one list of the counters of a case. The struct, the JSON, the CSV, the table and the help
 * come from it.
 *
 * X(name, unit, kind, better, help)
 *   unit    NS BYTES COUNT; the unit is also the end of the name
 *   kind    SAMPLED: varies from run to run, one value a sample; EXACT: the same every time
 *   better  LOWER HIGHER NEITHER
 *
 * EXACT counters are taken in two runs of each round: the first one on a fresh allocator ("cold")
 * and the one after it ("warm"). Peaks include the program's inputs; counts are of the run itself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/json_rules.h"

#define SAMPLE_LIST(X)                                                                             \
    X(wall_ns, NS, SAMPLED, LOWER,                                                                 \
      "host time of one run, from its start until the device is idle")                             \
    X(device_ns, NS, SAMPLED, LOWER,                                                               \
      "the same run on the device's own clock; on the host device "                                \
      "the time inside kernels and copies")                                                        \
    X(driver_alloc_ns, NS, SAMPLED, LOWER, "time in the driver's allocation calls")                \
    X(driver_touch_ns, NS, SAMPLED, LOWER, "time in making memory resident, if asked for")         \
    X(driver_free_ns, NS, SAMPLED, LOWER,                                                          \
      "time in the driver's release and unmapping calls, and "                                     \
      "in the waits before them")

/* Counted for each memory space of a program, and for all of them together. */
#define PEAK_LIST(X)                                                                               \
    X(peak_requested_bytes, BYTES, EXACT, LOWER, "most bytes the program had asked for at once")   \
    X(peak_granted_bytes, BYTES, EXACT, LOWER, "most bytes of the blocks handed out at once")      \
    X(peak_reserved_bytes, BYTES, EXACT, LOWER, "most bytes held from the driver at once")

#define MEMORY_CALL_LIST(X)                                                                        \
    X(alloc_count, COUNT, EXACT, LOWER, "blocks asked for")                                        \
    X(free_count, COUNT, EXACT, NEITHER, "blocks given back")                                      \
    X(hit_count, COUNT, EXACT, HIGHER, "requests served without asking the driver")                \
    X(miss_count, COUNT, EXACT, LOWER, "requests for which the driver was asked")                  \
    X(driver_alloc_count, COUNT, EXACT, LOWER, "allocation calls to the driver")                   \
    X(driver_touch_count, COUNT, EXACT, LOWER, "times memory was made resident ahead of its use")  \
    X(driver_free_count, COUNT, EXACT, LOWER, "release calls to the driver")                       \
    X(driver_map_count, COUNT, EXACT, LOWER,                                                       \
      "calls that reserve addresses, map memory there or make "                                    \
      "sub-buffers")                                                                               \
    X(driver_unmap_count, COUNT, EXACT, LOWER,                                                     \
      "calls that unmap memory, give addresses back or release "                                   \
      "sub-buffers")                                                                               \
    X(driver_sync_count, COUNT, EXACT, LOWER,                                                      \
      "waits for the device before memory went back, or "                                          \
      "to learn where it is")                                                                      \
    X(driver_refused_count, COUNT, EXACT, LOWER, "allocations that were refused and then retried")

#define EXACT_LIST(X)                                                                              \
    PEAK_LIST(X)                                                                                   \
    X(live_lower_bound_bytes, BYTES, EXACT, LOWER,                                                 \
      "most requested bytes still to be used at once: "                                            \
      "what no allocator can go below")                                                            \
    MEMORY_CALL_LIST(X)                                                                            \
    X(launch_count, COUNT, EXACT, LOWER, "kernels launched, those of copies included")             \
    X(readback_count, COUNT, EXACT, LOWER, "times the host waited for a value from the device")

/* X(name, help): the copy kinds; each has four EXACT counters, see COPY_COUNTER_LIST. */
#define COPY_KIND_LIST(X)                                                                          \
    X(loop_carried, "the result of an iteration copied into the loop's own buffer")                \
    X(concat, "a piece copied into a concatenation")                                               \
    X(in_place, "a value copied into a part of an array")                                          \
    X(defensive, "a copy so that one of the two can be overwritten")                               \
    X(layout, "a copy that changes the order of the elements")                                     \
    X(host_device, "between host and device while the program runs")                               \
    X(migration, "between devices")

/* X(name, unit, kind, better, help) for one copy kind. */
#define COPY_COUNTER_LIST(X, copy)                                                                 \
    X(copy_##copy##_count, COUNT, EXACT, LOWER, "copies made: " #copy)                             \
    X(copy_##copy##_bytes, BYTES, EXACT, LOWER, "bytes of the copies made: " #copy)                \
    X(elided_##copy##_count, COUNT, EXACT, HIGHER,                                                 \
      "copies not made, source and destination being "                                             \
      "the same bytes: " #copy)                                                                    \
    X(elided_##copy##_bytes, BYTES, EXACT, HIGHER, "bytes of the copies not made: " #copy)

#define COPY_KIND(name, ...) COPY_##name,
enum copy_kind { COPY_KIND_LIST(COPY_KIND) COPY_KINDS };

struct copy_counts {
    uint64_t count, bytes, elided_count, elided_bytes;
};

#define COUNTER(name, ...) uint64_t name;
struct memory_counts {
    PEAK_LIST(COUNTER)
    MEMORY_CALL_LIST(COUNTER)
};

struct exact_counts {
    EXACT_LIST(COUNTER)
    struct copy_counts copy[COPY_KINDS];
};

/* One timed run. Unknown is UINT64_MAX here and null in a file. */
struct sample {
    SAMPLE_LIST(COUNTER)
};
#define UNKNOWN_NS UINT64_MAX

/* A ratio is a number without a unit; no counter of a case is one. */
enum counter_unit { UNIT_NS, UNIT_BYTES, UNIT_COUNT, UNIT_RATIO };
enum counter_kind { KIND_SAMPLED, KIND_EXACT };
enum counter_better { BETTER_LOWER, BETTER_HIGHER, BETTER_NEITHER };

/* A counter of the list, as data. */
struct counter_info {
    const char *name;
    enum counter_unit unit;
    enum counter_kind kind;
    enum counter_better better;
    const char *help;
};
/* Returns all counters: samples, then exact counters, then those of each copy kind. */
const struct counter_info *counter_list(size_t *count);
/* {"unit", "kind", "better", "help"}, as files have it. */
extern const struct json_struct counter_info_struct;
/* The value of an exact counter by its index in counter_list, and by its name; NaN if it is
 * unknown, or `counts` NULL. */
double counter_at(const struct exact_counts *counts, size_t index);
double counter_value(const struct exact_counts *counts, const char *name);
/* "ns", "bytes", "count", "ratio". */
const char *counter_unit_name(enum counter_unit unit);
/* The unit with this name; UNIT_RATIO for any other. */
enum counter_unit counter_unit_of(const char *name);
