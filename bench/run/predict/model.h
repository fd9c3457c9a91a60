/* The cost model: how long a case takes, without running it.
 *
 * The trace of a run (trace.h) is replayed with two clocks, the host's and that of the device's
 * queue. Its requests go to a fresh instance of the strategy, over a source that is not the driver
 * but the atlas of the device: a call costs what it costs there at that size, and where the atlas
 * says that it waits, the host's clock first goes on to where the device's is. Commands begin when
 * they have been given and the device is done with those before.
 *
 * Nothing in it is fitted to the case that it predicts: kernels and the program's own work come
 * from a trace that was recorded under another strategy, everything that strategies differ in from
 * the atlas and from the strategy itself. What it leaves out: that memory which lies elsewhere may
 * be slower or faster for a kernel (caches, pages), and that a driver has other things to do as
 * well. A driver's pool gives back what is spare when somebody waits, which makes that wait longer
 * and is no time of `driver_ns`. Where the atlas has a step in what memory costs, smaller memories
 * are taken to be cut from pages as large as that step: the first in a page pays for the page, and
 * the last one that goes for giving it back.
 */
#ifndef GAMUT_RUN_MODEL_H
#define GAMUT_RUN_MODEL_H

#include "alloc/allocator.h"
#include "record/facts/atlas.h"
#include "record/facts/case.h"
#include "run/execute/trace.h"

struct model {
    const struct atlas *atlas;
    bool synchronous;    /* commands are done when their calls return, as on the host */
    bool lazy_on_device; /* the device makes memory usable at its first use; false: the host */
    bool can_touch;      /* memory can be made resident ahead of its use */
    bool can_split;      /* as in struct source */
    bool has_pool;       /* the device has a stream-ordered pool */
    uint64_t vm_granularity_bytes; /* 0: the device has no virtual memory */
    uint64_t page_bytes;     /* smaller memories are cut from pages of this size; 0: none are */
    bool pages_at_use;       /* ... when they are first used; false: when they are allocated */
    uint64_t memory_bytes;   /* of the device */
    uint64_t alignment;      /* of memories, in bytes */
    uint64_t capacity_bytes; /* as in struct source */
    bool own_time;           /* time the strategy's own work; false: it costs nothing */
};

/* What the atlas of a device, and what the device says of itself, make of a model. */
struct model model_of(const struct atlas *atlas, struct device *device, uint64_t capacity_bytes);

/* Predicts a run like those that are sampled: after the strategy has served the same run before.
 * ERR_UNSUPPORTED and what is missing where the atlas lacks a cost that the run needs; other codes
 * where the strategy fails over a source that has `capacity_bytes`. */
int model_predict(const struct model *model, const struct trace *trace,
                  const struct allocator_ops *strategy, const struct option_values *options,
                  struct case_model *prediction, struct error *error);

#endif
