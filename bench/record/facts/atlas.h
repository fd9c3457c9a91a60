/* The atlas of a device: what each method of getting memory costs there, by size, and what the
 * calls wait for. Measured by `gamut atlas`, kept in a file, drawn by `gamut plot`, and what the
 * cost model reads. Of names and numbers alone, like the rest of record/.
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
/* By class, then NULL. */
extern const char *const atlas_wait_names[];
const char *atlas_wait_name(enum atlas_wait wait);

/* The distribution of one call at one size; nanoseconds of host time unless the call says
 * otherwise. */
struct atlas_point {
    uint64_t bytes;      /* of the call; 0 for calls that have no size */
    uint64_t live_count; /* other live allocations of the same method meanwhile */
    unsigned sample_count;
    uint64_t min_ns, p10_ns, p50_ns, p90_ns, p99_ns, max_ns;
    char skipped[256]; /* "" or why there is no sample */
};

/* What a call of this size waits for: its median time on an idle device, with `spin_ns` of work in
 * the queue that the call belongs to, and with the same work in another queue alone. NaN: not
 * measured. */
struct atlas_probe {
    uint64_t bytes;
    double idle_ns, own_queue_ns, other_queue_ns, spin_ns;
    enum atlas_wait waits; /* what atlas_classify makes of them */
};

/* A straight line through medians, a + b * bytes, neither below 0, for memories of from_bytes and
 * more. */
struct atlas_line {
    uint64_t from_bytes;
    double a_ns, b_ns_per_byte;
};

/* One call of one method, over sizes. Points are sorted by live_count, then bytes; probes by bytes.
 * A method that the device does not offer has the curve "alloc" alone, with one point that says
 * why. */
struct atlas_curve {
    char
        method[64]; /* "raw", "stream:threshold=max", "vmm", …; "command" for launches and copies */
    char call[32]; /* "alloc", "first_use", "second_use", "free", "realloc", "launch", … */
    enum atlas_wait waits; /* the most that any of the probes waits for */
    size_t probe_count;
    struct atlas_probe *probes;
    size_t point_count;
    struct atlas_point *points;
    /* Least squares of relative errors of the medians at live_count 0. Where a driver changes its
     * method at a size, one line fits badly: then there are two, cut where they fit best together.
     * Too few points: none. fit_error is the largest relative error: 0.5 is half too much or too
     * little at some size; NaN without a line. */
    unsigned line_count;
    struct atlas_line lines[2]; /* by from_bytes; the first begins at 0 */
    double fit_error;
};

struct atlas {
    char device[96], name[128], driver[64]; /* as in struct device_info */
    double timer_ns; /* what reading the clock twice takes; contained in every point */
    size_t curve_count;
    struct atlas_curve *curves;
};

/* The class of a probe. A call counts as waiting if the work in the way made it take at least half
 * as long as that work, and as not waiting if it made it take at most a quarter of it: between
 * them, and where a median is missing, it is unknown. */
enum atlas_wait atlas_classify(const struct atlas_probe *probe);
/* The class at a size: of the probe that is nearest to it in size. */
enum atlas_wait atlas_waits(const struct atlas *atlas, const char *method, const char *call,
                            uint64_t bytes);

/* Fills in a point from samples, which it sorts. */
void atlas_summarise(struct atlas_point *point, uint64_t *samples_ns, size_t count);
/* Fills in what follows from points and probes: lines, fit_error, waits. */
void atlas_finish_curve(struct atlas_curve *curve);

/* The curve of a method and call, made at its first mention; valid until the next call. */
struct atlas_curve *atlas_curve_of(struct atlas *atlas, const char *method, const char *call);
/* The order of points: by live_count, then by bytes. */
bool atlas_point_before(const struct atlas_point *a, const struct atlas_point *b);
/* Adds a point or probe where it belongs by its order. */
void atlas_add_point(struct atlas_curve *curve, const struct atlas_point *point);
void atlas_add_probe(struct atlas_curve *curve, const struct atlas_probe *probe);

/* The median of a call at a size with no other live allocations: between measured sizes on a
 * straight line in both logarithms, outside them by the fit, scaled to meet the outermost point.
 * false: the atlas does not know this call. */
bool atlas_cost_ns(const struct atlas *atlas, const char *method, const char *call, uint64_t bytes,
                   double *ns);
/* The least size from which on a call costs at least three times what it costs at any smaller one
 * (medians, no other live allocations): where a driver gets memory of a different kind. 0: at no
 * size, or not known. */
uint64_t atlas_step_bytes(const struct atlas *atlas, const char *method, const char *call);
/* NULL: no such curve. */
const struct atlas_curve *atlas_find(const struct atlas *atlas, const char *method,
                                     const char *call);

/* The caller owns the result; never NULL. */
json_t *atlas_to_json(const struct atlas *atlas);
/* ERR_PARSE, and where in the file, if it is no atlas; *atlas is then empty. The caller frees what
 * it holds. */
int atlas_from_json(const json_t *json, struct atlas *atlas, struct error *error);
void atlas_free(struct atlas *atlas);

/* The element of an array of atlases, a result file's member `atlas`, that is of this device; NULL
 * where there is none. */
const json_t *atlas_json_find(const json_t *atlases, const char *device);

/* The atlas of a device in a result file (its member `atlas`, one element a device). `device` may
 * be NULL for the only one. ERR_NOT_FOUND: the file has none, or not of this device. */
int atlas_of_result(const json_t *root, const char *device, struct atlas *atlas,
                    struct error *error);

#endif
