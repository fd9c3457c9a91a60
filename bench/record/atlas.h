/* The atlas of a device: what each way of getting memory costs there, by size, and what the calls
 * wait for. Measured by `gamut atlas`, kept in a file, drawn by `gamut plot`, and what the cost
 * model reads. Of names and numbers alone, like the rest of record/.
 *
 * The idea of such an atlas is that of two measuring programs in Elsman and Henriksen's account of
 * Futhark's GPU free list: the cost of an allocation by its size, alone and in a loop.
 */
#ifndef GAMUT_RECORD_ATLAS_H
#define GAMUT_RECORD_ATLAS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What a call waits for before it returns, found with a kernel of known length in the way. */
#define ATLAS_WAIT_LIST(X)                                                                         \
    X(unknown, "not measured")                                                                     \
    X(nothing, "returns at once, whatever runs")                                                   \
    X(own_queue, "returns when the commands before it in its queue are done")                      \
    X(device, "returns when all queues of the device are done")

enum atlas_wait {
#define X(name, help) ATLAS_WAITS_##name,
    ATLAS_WAIT_LIST(X)
#undef X
};
const char *atlas_wait_name(enum atlas_wait wait);

/* The distribution of one call at one size; nanoseconds of host time unless the call says
 * otherwise. */
struct atlas_point {
    uint64_t bytes;      /* of the call; 0 for calls that have no size */
    uint64_t live_count; /* other live allocations of the same way meanwhile */
    unsigned sample_count;
    uint64_t min_ns, p10_ns, p50_ns, p90_ns, p99_ns, max_ns;
    char skipped[256]; /* "" or why there is no sample */
};

/* One call of one way, over sizes. Points are sorted by live_count, then bytes. */
struct atlas_curve {
    char way[64];  /* "raw", "stream:threshold=max", "vmm", …; "command" for launches and copies */
    char call[32]; /* "alloc", "first_use", "second_use", "free", "realloc", "launch", … */
    enum atlas_wait waits;
    size_t point_count;
    struct atlas_point *points;
    /* Least squares of relative errors of the medians at live_count 0: a + b * bytes. NaN: no fit. */
    double fit_a_ns, fit_b_ns_per_byte;
};

struct atlas {
    char device[96], name[128], driver[64]; /* as in struct device_info */
    size_t curve_count;
    struct atlas_curve *curves;
};

/* The median of a call at a size: between measured sizes on a straight line in both logarithms,
 * outside them by the fit. false: the atlas does not know this call. */
bool atlas_cost_ns(const struct atlas *atlas, const char *way, const char *call, uint64_t bytes,
                   double *ns);
/* NULL: no such curve. */
const struct atlas_curve *atlas_find(const struct atlas *atlas, const char *way, const char *call);

/* The caller owns the result; never NULL. */
json_t *atlas_to_json(const struct atlas *atlas);
/* ERR_PARSE, and where in the file, if it is no atlas. The caller frees what it holds. */
int atlas_from_json(const json_t *json, struct atlas *atlas, struct error *error);
void atlas_free(struct atlas *atlas);

#endif
