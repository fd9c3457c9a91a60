/* The shadow machine: runs a program on tiny inputs and judges where its memory lies.
 *
 * It is the independent judge of whoever moves arrays: it shares no code with them, with the
 * executor or with the generator of kernels, and needs no compiler.
 *
 * Logical state: every array has contents of its own, as in a language without memory. What an
 * element holds is the number of the write that made it; copies, views, updates, branches and loops
 * pass the numbers on. Physical state: every block has bytes, and for each byte the number of the
 * write that put it there. A read goes through the index function to the bytes and compares the
 * numbers: where they differ, something else lies where the array should be. Values are those of
 * the bytes, as on a machine, so a stale read shows in the results too; and where no number ever
 * differed, every value is the right one.
 */
#ifndef GAMUT_TESTS_SHADOW_H
#define GAMUT_TESTS_SHADOW_H

#include "program/program.h"
#include "workload.h"

/* X(name, text) */
/* clang-format off */
#define SHADOW_VIOLATION_LIST(X)                                                                   \
    X(STALE, "stale read")            /* the bytes hold another write than the array does */       \
    X(UNWRITTEN, "unwritten read")    /* nobody ever gave the element a value */                   \
    X(RACE, "race")                   /* a thread writes bytes that another one uses */            \
    X(OWN_RACE, "race on one array")  /* likewise through the same array: the program's own doing */ \
    X(OVERLAP, "overlapping copy")    /* source and destination share bytes, but not in order */   \
    X(MISPLACED, "misplaced")         /* a view, update or passed array not where it must lie */   \
    X(OUTSIDE, "outside")             /* of the block, or of the array's shape */                  \
    X(INPUT, "input overwritten")     /* a parameter that is not unique has changed */
/* clang-format on */

enum shadow_violation {
#define X(name, text) SHADOW_##name,
    SHADOW_VIOLATION_LIST(X)
#undef X
        SHADOW_VIOLATIONS
};

/* In which order the threads of a launch, the items of a group and the elements of a copy go. */
enum shadow_order { SHADOW_ASCENDING, SHADOW_DESCENDING, SHADOW_SHUFFLED };

struct shadow_options {
    enum shadow_order order;
    uint64_t seed;       /* of the shuffles and of what unwritten memory holds */
    unsigned unchecked;  /* 1 << violation: do not look for it */
    uint64_t most_steps; /* iterations of all loops and threads together; 0: a million */
};

enum { SHADOW_TEXTS = 8 };
struct shadow_outcome {
    unsigned result_count;
    struct host_array *results; /* physical; a scalar has rank 0 and one element */
    unsigned violation_count, violations[SHADOW_VIOLATIONS];
    char *texts[SHADOW_TEXTS]; /* of the first ones, each once a line and array */
    unsigned text_count;
    uint64_t alloc_count, alloc_bytes, launch_count;
    uint64_t copy_count, copy_bytes, elided_count, elided_bytes;
    struct arena arena; /* of all of it */
};

/* Runs an annotated fun. Violations do not end a run. ERR_PROGRAM for what the executor refuses as
 * well (assertions, shapes, division by zero), ERR_UNSUPPORTED for a kernel text beyond the C
 * subset of shadow_c.h. `outcome` is to be freed in either case. */
int shadow_run(const struct fun *fun, const struct arguments *arguments,
               const struct shadow_options *options, struct shadow_outcome *outcome,
               struct error *error);
void shadow_free(struct shadow_outcome *outcome);

const char *shadow_violation_name(enum shadow_violation violation);

#endif
