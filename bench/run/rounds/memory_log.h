/* What a program's memory does, over the events of runs made for that: how many bytes are held when
 * (a timeline), where blocks and arrays lie (an address map), and how long each call of the
 * allocator takes (histograms).
 *
 * It listens to the trace of an executor, and looks at the books of allocator and source after each
 * event; strategies know nothing of it. Its memory is allocated when it is opened and bounded,
 * however long a run is. The time of a call is between two readings of the clock, right around it;
 * what listening costs lies outside, but in the run: so no run that is listened to is a sample.
 */
#ifndef GAMUT_RUN_MEMORY_LOG_H
#define GAMUT_RUN_MEMORY_LOG_H

#include <jansson.h>

#include "run/execute/execute.h"

struct memory_log;

/* From now on every run of the executor is listened to; `spaces` may be opened later, and again.
 * Both outlive the log. */
struct spaces; /* spaces.h */
struct memory_log *memory_log_open(struct executor *executor, struct spaces *spaces);
void memory_log_close(struct memory_log *log);

/* Before each run. The first one, which should be on a fresh allocator, gives timeline, map and the
 * times of `cold` calls; the others those of `warm` ones. */
void memory_log_begin_run(struct memory_log *log);

/* {"timer_ns", "steps": events of the first run, "timeline": timeline.h, "map": address_map.h,
 *  "latency": {"cold": {"runs", "alloc", "free", "alloc_driver", "free_driver"}, "warm": {…}}}
 * with histograms as in latency.h: of the calls of the allocator in the run (without inputs), and
 * of the driver's part of those that asked the driver. */
json_t *memory_log_to_json(const struct memory_log *log);

#endif
