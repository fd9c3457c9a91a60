/* Implements the hooks of run/execute/deferred.h: late values, which a program marks with the word
 * `late`, and its memory in a heap of the device. */
#ifndef GAMUT_RUN_LATE_LATE_H
#define GAMUT_RUN_LATE_LATE_H

#include "alloc/allocator.h"
#include "device/device.h"
#include "program/generate.h"
#include "run/execute/deferred.h"

/* Does `fun` read elements late, or have memory in a heap? */
bool late_wanted(const struct fun *fun);

/* Makes the hooks for executors of `fun` on `device`. *late is NULL if the fun does not need them
 * or the device is a group, which ignores the word `late`. `kernels` names the kernels of the fun's
 * program and must outlive the hooks. The caller closes the hooks after the executor. All functions
 * below do nothing if `late` is NULL. */
int late_open(const struct fun *fun, struct device *device, const struct kernels *kernels,
              struct deferred **late, struct error *error);
/* Frees the hooks. */
void late_close(struct deferred *late);
/* Call before a run. `source` gives the memory; `own` receives the counts of the heap's blocks,
 * which are also added to `all`, the counts of all spaces. The three must outlive the runs. */
void late_use(struct deferred *late, struct source *source, struct allocator_counts *own,
              struct allocator_counts *all);
/* Call after a run and before executor_end. Waits for the values that the host did not need, and
 * completes the peaks in the counts of late_use and of the executor. No count includes this wait.
 * ERR_OOM if the heap has refused a block. */
int late_finish(struct deferred *late, struct error *error);

#endif
