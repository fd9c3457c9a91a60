/* Plans of traces, for the strategy `planned`.
 *
 * Each queue has a plan of its own, because another queue's blocks may be in use at any time. The
 * plan has the requests of the common device memory, in their order; a block is free again at
 * `done`, or at `free` where the trace knows no more. Private pools and other memory are not planned.
 *
 * The loop is the part of a queue's sequence that repeats exactly, by sizes and call sites, if that
 * is at least half of what follows its first round. The plan goes from the trace's beginning to the
 * end of the loop's second round, and begins at a mark where one is in the loop. It goes to the end of
 * the third round, and has two of them as its loop, where a block lives until after its counterpart of
 * the next round is made. A block of the loop ends when the latest of its counterparts in all rounds
 * did. If that is later than the loop is long, or never, it is left to the fallback. Without a loop the
 * plan has the whole trace.
 */
#ifndef GAMUT_RUN_REPLAY_PLAN_H
#define GAMUT_RUN_REPLAY_PLAN_H

#include "alloc/offset_plan.h"

enum { PLAN_UNIT_BYTES = 512 };

/* Plans the trace in a file; the planner has 5 s a queue. ERR_IO, ERR_PARSE as trace_next; ERR_USAGE
 * for a trace without frees or without requests of the common device memory. Free with plan_free. */
int plan_of_trace(const char *path, struct offset_plan *plan, struct error *error);
/* The same with another limit for the planner, as pack_solve has it. */
int plan_of_trace_within(const char *path, int64_t time_limit_ns, struct offset_plan *plan,
                         struct error *error);

#endif
