/* The cost model: how long a case takes, without running it.
 *
 * The model replays the log of a run (run_log.h). Its requests go to a fresh instance of the
 * strategy, whose source is a dry device (dry.h) with the atlas of the real one.
 *
 * Nothing in the model is fitted to the case that it predicts. The times of kernels and of the
 * program's own work come from a log that was recorded under another strategy. Everything that
 * strategies differ in comes from the atlas and from the strategy itself. The model ignores that
 * memory in another place may be slower or faster for a kernel (caches, pages), and that other
 * programs and threads ask the same driver. How fast the host is at the moment is measured by lives
 * of memories that have nothing to do with the case (run/atlas/pace.h).
 */
#pragma once

#include "alloc/allocator.h"
#include "run/execute/run_log.h"
#include "run/predict/dry.h"

struct model {
    struct dry_device device;
    bool own_time;      /* time the strategy's own work; false: it costs nothing */
    double host_factor; /* as in struct player */
};

/* A model of a device, from its atlas and its device_info. The atlas must outlive the model. */
struct model model_of(const struct atlas *atlas, struct device *device, uint64_t capacity_bytes);

/* A device that times each of many short commands adds to their times. If the model's run under the
 * strategy of the trace is longer than plain_ns, the time of a run in which nothing was timed, each
 * command of the trace takes so much less that both are the same, or that the host hardly waits for
 * it. Errors as of model_predict. */
int model_fit(const struct model *model, struct run_log *trace,
              const struct allocator_ops *strategy, const struct option_values *options,
              uint64_t plain_ns, struct error *error);

/* Predicts a run like the sampled ones, in which the strategy has served the same run before. Times
 * are in nanoseconds. ERR_UNSUPPORTED where the atlas lacks a cost that the run needs; the message
 * names it. Other codes where the strategy fails within capacity_bytes. */
int model_predict(const struct model *model, const struct run_log *trace,
                  const struct allocator_ops *strategy, const struct option_values *options,
                  struct case_model *prediction, struct error *error);
