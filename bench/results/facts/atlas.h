/* The atlas of a device: the cost of each method of getting memory, by size, and what its calls
 * wait for. `gamut atlas` measures it, a result file keeps it, `gamut plot` draws it, and the
 * cost model reads it.
 *
 * The idea is that of two measuring programs in Elsman and Henriksen's account of Futhark's GPU
 * free list: the cost of an allocation by its size, alone and in a loop.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Classes of calls by what they wait for before they return. A kernel of known length shows it. */
#define ATLAS_WAIT_LIST(X)                                                                         \
    X(unknown, "not measured")                                                                     \
    X(nothing, "returns at once, whatever runs")                                                   \
    X(own_queue, "returns when the commands before it in its queue are done")                      \
    X(device, "returns when all queues of the device are done")

#define ATLAS_WAIT(name, ...) ATLAS_WAITS_##name,
enum atlas_wait { ATLAS_WAIT_LIST(ATLAS_WAIT) };
/* The word for a class, as in files. */
const char *atlas_wait_name(enum atlas_wait wait);

/* The distribution of one call at one size; nanoseconds of host time unless the call says
 * otherwise. */
struct atlas_point {
    uint64_t bytes;      /* size of the call; 0 for calls without a size */
    uint64_t live_count; /* other live allocations of the same method; 0 but in older files */
    unsigned sample_count;
    uint64_t min_ns, p10_ns, p50_ns, p90_ns, p99_ns, max_ns; /* UINT64_MAX without samples */
    /* Median of the samples, each over the host's pace when it was taken (run/atlas/pace.h): the
     * price at the pace of a life's own paced_ns. 0: unknown. */
    uint64_t paced_ns;
    char skipped[256]; /* why there is no sample, or no more; "" if all were taken */
};

/* Shows what a call of this size waits for, by its median times: on an idle device, with `spin_ns`
 * of work in the call's own queue, and with that work in another queue alone. NaN: not measured. */
struct atlas_probe {
    uint64_t bytes;
    double idle_ns, own_queue_ns, other_queue_ns, spin_ns;
    enum atlas_wait waits; /* from atlas_classify */
};

/* A straight line through medians, a + b * bytes, for memories of at least from_bytes. Neither a
 * nor b is negative. */
struct atlas_line {
    uint64_t from_bytes;
    double a_ns, b_ns_per_byte;
};

/* One call of one method, over sizes. Points are sorted by live_count, then bytes; probes by bytes.
 * A method that the device does not offer has the curve "alloc" alone, with one point that says
 * why. */
struct atlas_curve {
    char method[64]; /* "raw", "stream:threshold=max", "vmm", …; "command": launches and copies */
    char call[32];   /* "alloc", "first_use", "second_use", "free", "realloc", "launch", … */
    enum atlas_wait waits; /* the highest class of any probe */
    size_t probe_count;
    struct atlas_probe *probes;
    size_t point_count;
    struct atlas_point *points;
    /* Fitted to the medians at live_count 0, by least squares of relative errors. If a driver
     * changes its method at a size, one line fits badly: then there are two, cut where they fit
     * best together. Too few points have no line. fit_error is the largest relative error: 0.5 is
     * half too much or too little at some size; NaN without a line. */
    size_t line_count;
    struct atlas_line *lines; /* by from_bytes; the first begins at 0 */
    double fit_error;
};

struct atlas {
    char device[96], name[128], driver[64]; /* as in struct device_info */
    double timer_ns; /* time of reading the clock twice; contained in every point */
    size_t curve_count;
    struct atlas_curve *curves;
};

/* The class of a probe. The call waits for work in a queue if that work makes it at least half of
 * the work's length longer. It does not wait if it becomes at most a quarter longer. Between them,
 * or if a median is missing, the class is unknown. */
enum atlas_wait atlas_classify(const struct atlas_probe *probe);
/* The class at a size: that of the probe with the nearest size. */
enum atlas_wait atlas_waits(const struct atlas *atlas, const char *method, const char *call,
                            uint64_t bytes);

/* Sets sample_count and quantiles of a point from samples. Sorts the samples. */
void atlas_summarise(struct atlas_point *point, uint64_t *samples_ns, size_t count);
/* Computes lines, fit_error and waits from points and probes. */
void atlas_finish_curve(struct atlas_curve *curve);

/* Returns the curve of a method and call; adds it if there is none. Valid until the next call. */
struct atlas_curve *atlas_curve_of(struct atlas *atlas, const char *method, const char *call);
/* Adds a copy of a point; points stay in their order. */
void atlas_add_point(struct atlas_curve *curve, const struct atlas_point *point);
/* Adds a copy of a probe; probes stay in their order. */
void atlas_add_probe(struct atlas_curve *curve, const struct atlas_probe *probe);

/* The median time of a call at a size, without other live allocations. Between two measured sizes
 * it lies on a straight line in both logarithms; outside of them on the fit, scaled to meet the
 * outermost point. false: the atlas does not know this call. */
bool atlas_cost_ns(const struct atlas *atlas, const char *method, const char *call, uint64_t bytes,
                   double *ns);
/* The same by paced_ns where it is known. */
bool atlas_paced_cost_ns(const struct atlas *atlas, const char *method, const char *call,
                         uint64_t bytes, double *ns);
/* The least size from which on a call costs at least three times as much as at any smaller size
 * (medians, no other live allocations): there the driver starts to get another kind of memory. 0:
 * there is no such size, or it is unknown. */
uint64_t atlas_step_bytes(const struct atlas *atlas, const char *method, const char *call);
/* The curve of a method and call; NULL if there is none. */
const struct atlas_curve *atlas_find(const struct atlas *atlas, const char *method,
                                     const char *call);

/* Was the device idle in all of its prices, though its calls can return before it is? Atlases of
 * older files are such: the cost model takes these prices for those of a busy device. */
bool atlas_is_idle(const struct atlas *atlas);

/* The atlas as JSON; the caller owns it. Never NULL. */
json_t *atlas_to_json(const struct atlas *atlas);
/* Reads an atlas; the caller calls atlas_free. ERR_PARSE, with the path of the wrong value, if it
 * is no atlas; *atlas is then empty. */
int atlas_from_json(const json_t *json, struct atlas *atlas, struct error *error);
/* Frees the curves; the atlas is empty afterwards. */
void atlas_free(struct atlas *atlas);

/* The atlas of this device in an array, a result file's member `atlas`; NULL if there is none. */
const json_t *atlas_json_find(const json_t *atlases, const char *device);

/* Reads the atlas of a device from an array, a result's member `atlas`. `device` NULL: the only
 * one. ERR_NOT_FOUND: there is no atlas, or none of this device. */
int atlas_from_list(const json_t *atlases, const char *device, struct atlas *atlas,
                    struct error *error);
