/* The cost model: how long a case takes, without running it.
 *
 * The trace of a run (trace.h) is replayed with two clocks, the host's and that of the device's
 * queue. Its requests go to a fresh instance of the strategy. The instance's source is not the
 * driver but the atlas of the device: a call costs what the atlas says for its size, and where the
 * atlas says that it waits, the host's clock first advances to the device's. A command begins once
 * it has been given and the device is done with those before it.
 *
 * Nothing in the model is fitted to the case that it predicts. Kernels and the program's own work
 * come from a trace that was recorded under another strategy. Everything that strategies differ in
 * comes from the atlas and from the strategy itself. The model leaves out that memory in another
 * place may be slower or faster for a kernel (caches, pages), and that a driver has other work.
 *
 * A driver's pool gives back its spare memory when the host waits; this makes the wait longer, and
 * does not count as `driver_ns`. Where the atlas has a step in the cost of memory, the model takes
 * smaller memories to be cut from pages of that size: the first memory in a page pays for the page,
 * and the last one that is freed pays for giving it back.
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

/* A model of a device, from its atlas and its device_info. Does not own the atlas. */
struct model model_of(const struct atlas *atlas, struct device *device, uint64_t capacity_bytes);

/* Predicts a run like the sampled ones: after the strategy has served the same run before. Times
 * are in nanoseconds. ERR_UNSUPPORTED and the missing cost where the atlas lacks one that the run
 * needs; other codes where the strategy fails within capacity_bytes. */
int model_predict(const struct model *model, const struct trace *trace,
                  const struct allocator_ops *strategy, const struct option_values *options,
                  struct case_model *prediction, struct error *error);

#endif
