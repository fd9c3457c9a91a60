/* Records the memory of a program in extra runs: how many bytes are held over time (a timeline),
 * where blocks and arrays lie (an address map), and how long each call of the allocator takes
 * (histograms).
 *
 * The log listens to the trace of an executor and reads the counts of allocator and source after
 * each event; strategies know nothing of it. Its memory is allocated when it is opened, and bounded
 * for runs of any length. A call is timed right around it, without the cost of listening. The run
 * itself has that cost, so a recorded run is never a sample.
 */
#ifndef GAMUT_RUN_ROUNDS_MEMORY_LOG_H
#define GAMUT_RUN_ROUNDS_MEMORY_LOG_H

#include <jansson.h>

#include "run/execute/execute.h"

struct memory_log;

struct spaces; /* spaces.h */
/* Records every run of the executor until memory_log_close. `spaces` is open, and stays open until
 * then. Both must outlive the log. Cannot fail. */
struct memory_log *memory_log_open(struct executor *executor, struct spaces *spaces);
/* Stops recording and frees the log, which may be NULL. */
void memory_log_close(struct memory_log *log);

/* Call before each run. The first run, which should be on a fresh allocator, records timeline, map
 * and the times of `cold` calls; the others record the times of `warm` calls. */
void memory_log_begin_run(struct memory_log *log);

/* {"timer_ns", "steps": events of the first run, "timeline": timeline.h, "map": address_map.h,
 *  "latency": {"cold": {"runs", "alloc", "free", "alloc_driver", "free_driver"}, "warm": {…}}}
 * The histograms (latency.h) have the times of the allocator's calls in the run, inputs left out,
 * and of the driver's part in those that called the driver. The caller owns the result. */
json_t *memory_log_to_json(struct memory_log *log);

#endif
