/* The executor: runs a program on a device, with memory from allocators.
 *
 * It walks the annotated program and counts references on blocks. A name holds one reference on its
 * block. The release policy says when the name drops it:
 *   last-use  after the last statement that mentions the name or an array in it
 *   scope     at the end of the body that binds the name, in a loop once an iteration (as the
 *             thesis's compiler did)
 * Live bytes, those that are still to be used, follow the last-use rule under either policy.
 */
#pragma once

#include "alloc/allocator.h"
#include "device/device.h"
#include "program/generate.h"
#include "results/facts/counters.h"
#include "workload.h"

/* Iterations after which a dry run gives up: without a device, a loop that waits for a result of
 * the device may never end. */
enum { DRY_ITERATIONS_MAX = 4000000 };

enum release_policy { RELEASE_LAST_USE, RELEASE_SCOPE };

/* A fun made ready to run: its statements with the names that each releases, and all host memory
 * that a run needs, so that a run allocates none. */
struct executor;

/* `built` are the kernels of the fun's program for `device`, and `kernels` names them. All
 * arguments must outlive the executor.
 *
 * With `kernels` and `built` NULL each run is a dry run: nothing is launched, and arrays have no
 * contents. Scalars may be unknown. A scalar read from an array is unknown unless the arguments
 * supply values for it, or contain the array. Successive reads consume successive values; the last
 * value is used for all further reads. A run that needs the value of an unknown scalar ends with
 * ERR_USAGE and names the scalar. */
struct executor *executor_open(const struct fun *fun, struct device *device,
                               const struct kernels *kernels, struct device_program *built,
                               enum release_policy policy);
/* Frees the executor, which may be NULL. The caller has ended the last run. */
void executor_close(struct executor *executor);

/* The executor's own counts of a run; allocators and sources count the rest. */
struct executor_counts {
    uint64_t live_bytes, peak_live_bytes;
    uint64_t launch_count, readback_count;
    struct copy_counts copy[COPY_KINDS];
};

/* Allocates and uploads the inputs, which `arguments` has by parameter name, and sets the counts to
 * zero. This is not part of the timed run. `allocators` has one for each memory space, by enum
 * space. If one is NULL, a run that asks for such memory ends with ERR_UNSUPPORTED. With `poison`
 * every block is filled with 0xff bytes before the program sees it, so that a program that reads
 * unwritten bytes gives a wrong answer. */
int executor_begin(struct executor *executor, struct allocator *const allocators[SPACES],
                   const struct arguments *arguments, bool poison, struct error *error);
/* Runs the body. Returns before the device is idle. */
int executor_run(struct executor *executor, struct error *error);
struct run_log; /* trace.h */
/* Records all runs that follow in a trace with room for executor_block_capacity blocks; NULL ends
 * that. */
void executor_record(struct executor *executor, struct run_log *trace);
/* Called after each element that a run reads from an array: `name` is the scalar that it binds. */
struct read_listener {
    void *context;
    void (*read)(void *context, int name, union scalar value);
};
/* Tells the listener, which must outlive the executor, what all runs that follow read. */
void executor_tell_reads(struct executor *executor, const struct read_listener *listener);
/* The most blocks that a run holds at a time. */
unsigned executor_block_capacity(const struct executor *executor);
/* After executor_run: reads the results, in the order of `in`, into `results`, which has room for
 * them. The caller frees the data of each. */
int executor_results(struct executor *executor, struct host_array *results, struct error *error);
/* Frees all blocks that the run still holds, also after a failure. */
void executor_end(struct executor *executor);

/* The counts since executor_begin; the executor owns them. */
const struct executor_counts *executor_counts(const struct executor *executor);
