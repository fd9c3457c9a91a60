/* Late values: what a program marks with the word `late`, and its memory in a heap of the device.
 * The hooks of run/execute/deferred.h. */
#ifndef GAMUT_RUN_LATE_H
#define GAMUT_RUN_LATE_H

#include "alloc/allocator.h"
#include "device/device.h"
#include "program/generate.h"
#include "run/execute/deferred.h"

/* Does `fun` read elements late, or have memory in a heap? */
bool late_wanted(const struct fun *fun);

/* The hooks for executors of `fun` on `device`, or NULL where the fun does not want them or the
 * device is a group, on which the word `late` means nothing. `kernels` names the kernels of the
 * fun's program and outlives the hooks. The caller closes them after the executor. In all that
 * follow `late` may be NULL: they then do nothing. */
int late_open(const struct fun *fun, struct device *device, const struct kernels *kernels,
              struct deferred **late, struct error *error);
void late_close(struct deferred *late);
/* Before a run: where memory comes from, the counts of the heap's blocks, and the counts of the
 * blocks of all spaces, to which the heap's are added. All outlive the runs. */
void late_use(struct deferred *late, struct source *source, struct allocator_counts *own,
              struct allocator_counts *all);
/* After a run and before executor_end: waits for what the host did not need to know, and completes
 * the peaks in the counts of late_use and of the executor. The wait is counted nowhere. ERR_OOM if
 * the heap has refused a block. */
int late_finish(struct deferred *late, struct error *error);

#endif
