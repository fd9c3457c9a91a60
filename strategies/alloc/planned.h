/* What a program around `planned` may set, ask and tell (planned.c has the policy). */
#ifndef GAMUT_ALLOC_PLANNED_H
#define GAMUT_ALLOC_PLANNED_H

#include "alloc/allocator.h"
#include "alloc/offset_plan.h"

extern const struct allocator_ops allocator_planned;

/* Makes a plan of a file that is no plan, such as a trace. Unset, `planned` reads plan files only. */
typedef int planned_plan_maker(const char *path, struct offset_plan *plan, struct error *error);
/* Finds the strategy that serves what the plan does not. Unset, such requests go to the driver. */
typedef int planned_strategy_finder(const char *spec, const struct allocator_ops **ops,
                                    struct option_values *options, struct error *error);

/* Both are for the whole process; NULL leaves one as it is. */
void planned_use(planned_plan_maker *maker, planned_strategy_finder *finder);

/* The digest of the trace that the plan of these options was made of; 0: there is none. A run with the
 * same digest is served by an oracle. */
uint64_t planned_digest(const struct option_values *options);

/* X(name, help): how requests were served. */
#define PLANNED_LIST(X)                                                                            \
    X(hit, "from the plan")                                                                        \
    X(inserted, "by the fallback: the plan has no such request here")                              \
    X(larger, "by the fallback: larger than planned")                                              \
    X(busy, "by the fallback: the planned bytes were in use, or not aligned as asked")             \
    X(left_out, "by the fallback, as planned: the block's lifetime has no end in the loop")        \
    X(no_arena, "by the fallback: the driver had no memory for the arena")

struct planned_counts {
#define X(name, help) uint64_t name##_count, name##_bytes;
    PLANNED_LIST(X)
#undef X
    uint64_t arena_bytes, fallback_bytes; /* held now */
    uint64_t jump_count;                  /* times that the sequence was taken up elsewhere */
};

/* Adds the counts of an instance of `planned`. */
void planned_count(const void *state, struct planned_counts *counts);

#endif
