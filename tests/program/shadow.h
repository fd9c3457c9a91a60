/* The shadow machine: runs a program on tiny inputs and checks where its arrays lie in memory.
 *
 * It judges the passes that move arrays, and is independent of them: it shares no code with them,
 * with the executor or with the generator of kernels, and needs no compiler.
 *
 * Logical state: every array has contents of its own, as in a language without memory. An element
 * holds the number of the write that made it; copies, views, updates, branches and loops pass the
 * numbers on. Physical state: every block has bytes, and for each byte the number of the write that
 * put it there. A read goes through the index function to the bytes and compares the numbers. If
 * they differ, another array's data lie where the array should be. Values are those of the bytes,
 * as on a machine, so a stale read shows in the results too. If no numbers differ, every value is
 * right.
 */
#pragma once

#include "program/program.h"
#include "workload.h"

/* X(name, text) */
/* clang-format off */
#define SHADOW_VIOLATION_LIST(X)                                                                   \
    X(STALE, "stale read")            /* the bytes hold another write than the array does */       \
    X(UNWRITTEN, "unwritten read")    /* the element never got a value */                          \
    X(RACE, "race")                   /* a thread writes bytes that another one uses */            \
    X(OWN_RACE, "race on one array")  /* likewise through one array: the program's own race */     \
    X(OVERLAP, "overlapping copy")    /* source and destination share bytes, but not in order */   \
    X(MISPLACED, "misplaced")         /* a view, update or passed array lies elsewhere than it must */\
    X(OUTSIDE, "outside")             /* outside of the block or the array's shape */              \
    X(INPUT, "input overwritten")     /* a parameter that is not unique has changed */
/* clang-format on */

enum shadow_violation {
#define X(name, text) SHADOW_##name,
    SHADOW_VIOLATION_LIST(X)
#undef X
        SHADOW_VIOLATIONS
};

/* The order of the threads of a launch, the items of a group and the elements of a copy. */
enum shadow_order { SHADOW_ASCENDING, SHADOW_DESCENDING, SHADOW_SHUFFLED };

struct shadow_options {
    enum shadow_order order;
    uint64_t seed;       /* seed of the shuffles and of the contents of unwritten memory */
    unsigned unchecked;  /* 1 << violation: do not look for it */
    uint64_t most_steps; /* iterations of all loops and threads together; 0: a million */
};

enum { SHADOW_TEXTS = 8 };
struct shadow_outcome {
    unsigned result_count;
    struct host_array *results; /* physical; a scalar has rank 0 and one element */
    unsigned violation_count, violations[SHADOW_VIOLATIONS];
    char *texts[SHADOW_TEXTS]; /* texts of the first violations, one for each line and array */
    unsigned text_count;
    uint64_t alloc_count, alloc_bytes, launch_count;
    uint64_t copy_count, copy_bytes, elided_count, elided_bytes;
    struct arena arena; /* owns all of it */
};

/* Runs an annotated fun. Violations do not end a run. ERR_PROGRAM for what the executor refuses
 * too (assertions, shapes, division by zero); ERR_UNSUPPORTED for a kernel text beyond the C subset
 * of shadow_c.h. Free `outcome` with shadow_free in either case. */
int shadow_run(const struct fun *fun, const struct arguments *arguments,
               const struct shadow_options *options, struct shadow_outcome *outcome,
               struct error *error);
void shadow_free(struct shadow_outcome *outcome);

/* The text of a violation: "stale read". */
const char *shadow_violation_name(enum shadow_violation violation);
