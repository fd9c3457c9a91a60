/* Plans of traces, for the strategy `planned`.
 *
 * Each queue has a plan of its own, because another queue's blocks may be in use at any time. The
 * plan has the requests of the common device memory, in their order; a block is free again at
 * `done`, or at `free` where the trace knows no more. Private pools and other memory are not
 * planned.
 *
 * Iterations go from one mark to the next. If most of them come again, and hardly any block
 * outlives the iteration after its own, each kind of iteration is a round of the plan; the first
 * few, which make what stays, are served once. Otherwise the round is the part of the queue's
 * sequence that repeats exactly, by sizes and call sites, if that is at least half of what follows
 * its first time. A block of a round ends when the latest of its counterparts did. If that is later
 * than the end of the next round, or never, it is not planned. What lives until after its
 * counterpart of the next round is made needs two places: the rounds then have two turns. Without
 * rounds the plan has the whole trace.
 */
#pragma once

#include "alloc/planned/offset_plan.h"

enum { PLAN_UNIT_BYTES = 512 };

/* Plans the trace in a file. The planner's work is bounded by steps, so the plan is the same on
 * every machine. ERR_IO, ERR_PARSE as trace_next; ERR_USAGE for a trace without frees or without
 * requests of the common device memory. Free with plan_free. */
int plan_of_trace(const char *path, struct offset_plan *plan, struct error *error);
/* The same with another limit for the planner, as pack_solve has it. */
int plan_of_trace_within(const char *path, uint64_t step_limit, struct offset_plan *plan,
                         struct error *error);
