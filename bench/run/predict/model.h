/* The cost model: how long a case takes, without running it.
 *
 * The model replays the trace of a run (trace.h) with two clocks, the host's and that of the
 * device's queue. The requests of the trace go to a fresh instance of the strategy. The instance's
 * source is not the driver but the atlas of the device: a call takes the time that the atlas has
 * for its size. If the atlas says that the call waits, the host's clock first advances to the
 * device's. A command begins once it has been given and the device is done with the commands before
 * it.
 *
 * Nothing in the model is fitted to the case that it predicts. The times of kernels and of the
 * program's own work come from a trace that was recorded under another strategy. Everything that
 * strategies differ in comes from the atlas and from the strategy itself. The model ignores that
 * memory in another place may be slower or faster for a kernel (caches, pages), and that a driver
 * has other work.
 *
 * A driver's pool gives back its spare memory when the host waits; this makes the wait longer, and
 * does not count as `driver_ns`. Where the atlas has a step in the cost of memory, the model
 * assumes that smaller memories are cut from pages of that size. The first memory in a page pays
 * for the page, and the last one that is freed pays for giving it back.
 */
#ifndef GAMUT_RUN_PREDICT_MODEL_H
#define GAMUT_RUN_PREDICT_MODEL_H

#include "alloc/allocator.h"
#include "record/facts/atlas.h"
#include "record/facts/case.h"
#include "run/execute/run_log.h"

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
    uint64_t memory_bytes;   /* the memory of the device */
    uint64_t alignment;      /* memories begin at multiples of this many bytes */
    uint64_t capacity_bytes; /* as in struct source */
    bool own_time;           /* time the strategy's own work; false: it costs nothing */
};

/* A model of a device, from its atlas and its device_info. The atlas must outlive the model. */
struct model model_of(const struct atlas *atlas, struct device *device, uint64_t capacity_bytes);

/* Predicts a run like the sampled ones, in which the strategy has served the same run before. Times
 * are in nanoseconds. ERR_UNSUPPORTED where the atlas lacks a cost that the run needs; the message
 * names it. Other codes where the strategy fails within capacity_bytes. */
int model_predict(const struct model *model, const struct run_log *trace,
                  const struct allocator_ops *strategy, const struct option_values *options,
                  struct case_model *prediction, struct error *error);

#endif
