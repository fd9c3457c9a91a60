/* Questions that a program around `planned` may ask (planned.c has the policy). */
#pragma once

#include "alloc/allocator.h"
#include "alloc/planned/offset_plan.h"

extern const struct allocator_ops allocator_planned;

/* The options. A plan of the trace (plans.h) is the `given` of struct option_values. */
enum planned_option { PLANNED_TRACE };

/* The digest of the trace that the plan of these options was made of. A run with the same digest is
 * served by an oracle. 0: they are of another strategy. */
uint64_t planned_digest(const struct allocator_ops *ops, const struct option_values *options);

/* X(name, help): how requests were served. */
#define PLANNED_LIST(X)                                                                            \
    X(hit, "from the plan")                                                                        \
    X(inserted, "not planned: the plan has no such request here")                                  \
    X(larger, "not planned: larger than the slot")                                                 \
    X(busy, "not planned: the slot's bytes were in use, or not aligned as asked")                  \
    X(left_out, "not planned: the block lives longer than the next round")                         \
    X(no_arena, "not planned: the driver had no memory for the arena")

struct planned_counts {
#define X(name, help) uint64_t name##_count, name##_bytes;
    PLANNED_LIST(X)
#undef X
    uint64_t guest_count, guest_bytes; /* of those not planned, from free ranges of the arena */
    uint64_t held_bytes;               /* now */
    uint64_t jump_count;               /* times that the sequence was taken up elsewhere */
};

/* Adds the counts of an instance of `planned`. */
void planned_count(const void *state, struct planned_counts *counts);
