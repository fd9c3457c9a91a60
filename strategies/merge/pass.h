/* Passes of merging: the conditions that they check, the program that they change, and the
 * decisions that they note. A pass includes this header, and not merge.h, which runs sets of
 * passes. */
#pragma once

#include "program/program.h"

/* Why two blocks may not become one. Tests turn a condition off by its name, to see that it is
 * needed. X(name, label, sentence) */
/* clang-format off */
#define MERGE_CONDITION_LIST(X)                                                                    \
    X(last_use, "C1", "the source is used again after this statement")                             \
    X(allocation, "C2",                                                                            \
      "the destination's block is allocated, or filled, after the source is made")                 \
    X(untouched, "C3",                                                                             \
      "the destination's block is used after the source is made and before this statement")        \
    X(whole, "C4", "the source cannot move alone: it is a part or a view of another array")        \
    X(in_scope, "C5",                                                                              \
      "the destination's offset or strides are not known yet where the source is made")            \
    X(branches, "C6",                                                                              \
      "results of two branches would overlap, or the source is made outside this branch or loop")  \
    X(elsewhere, "C7", "the part of the destination that is used may overlap the source's place")  \
    X(limit, "C8", "the original of 2022 makes no kernel's result with dimensions in another order")                                              \
    X(interference, "R1", "both blocks hold values that are needed at the same time")              \
    X(same_index, "R2", "a kernel reads other elements of the block than it writes")               \
    X(dies_here, "R3", "the kernel would overwrite values that are read again later")              \
    X(threads, "R4",                                                                               \
      "the private arrays are laid out differently, so threads would share elements")              \
    X(size, "R5",                                                                                  \
      "the block is too small, and the larger size is not known where it is allocated")            \
    X(escapes, "R6",                                                                               \
      "a loop allocates the block anew while the one of an earlier iteration is in use")           \
    X(foreign, "R7", "the block belongs to the caller")                                            \
    X(space, "R8", "the blocks are in different memory spaces")                                    \
    X(too_large, "P1", "the block is too large to be worth moving")                                \
    X(shared, "P2", "the block may be the same one as a block that cannot move")                   \
    X(no_gain, "V1", "the program would need more memory if this were merged")              \
    X(unknown_size, "V2", "the block's size is not known before the program runs")               \
    X(untaken, "V3", "with these values no run allocates the block: its branch or loop is not run")
/* clang-format on */

enum merge_condition {
    MERGE_ALLOWED,
#define X(name, label, sentence) CONDITION_##name,
    MERGE_CONDITION_LIST(X)
#undef X
        CONDITION_COUNT
};

/* Extensions beyond the thesis. Each can be switched on alone. X(name, sentence) */
/* clang-format off */
#define MERGE_BEYOND_LIST(X)                                                                       \
    X(views, "coalescing through reshape and rearrange")                                           \
    X(index_params,                                                                                \
      "offsets as loop variables: a loop's result can be made at an offset of another block")      \
    X(across, "index analysis across iterations: an elementwise loop runs in one block")           \
    X(source,                                                                                      \
      "the kernel that makes the source may read the destination, where it writes the source")     \
    X(by_branch, "last uses depend on the branch that is taken")                                   \
    X(disjoint, "the destination may be used, if the part used is proved to be another one")       \
    X(elided, "a copy of an array that lies in its place already is no use of the block")          \
    X(by_bytes, "the largest copies are removed first, not the topmost")

/* Extensions of the pass `spaces`: it moves memories only if a set names one. X(name, sentence) */
#define MERGE_SPACE_LIST(X)                                                                        \
    X(pinned, "arrays that the host reads element by element go to pinned host memory")
/* clang-format on */

/* Limits, which take away. They belong to no set. X(name, sentence) */
#define MERGE_LIMIT_LIST(X)                                                                        \
    X(original, "short-circuiting refuses what the original of 2022 refuses, though it is safe")

#define MERGE_EXTENSION_LIST(X) MERGE_BEYOND_LIST(X) MERGE_SPACE_LIST(X) MERGE_LIMIT_LIST(X)

#define MERGE_EXTENSION(name, ...) EXTENSION_##name,
enum merge_extension { MERGE_EXTENSION_LIST(MERGE_EXTENSION) EXTENSION_COUNT };

/* The extensions beyond the thesis, without those that move memories to other spaces. */
#define X(name, sentence) | 1u << EXTENSION_##name
enum { MERGE_ALL_EXTENSIONS = 0 MERGE_BEYOND_LIST(X) };
#undef X

enum merge_action { MERGE_HOISTED, MERGE_COALESCED, MERGE_REUSED, MERGE_PACKED, MERGE_MOVED };

/* One decision. Names are numbers in the merged fun. */
struct merge_event {
    const char *pass;
    enum merge_action action;
    enum merge_condition refused; /* why it was not done; MERGE_ALLOWED: it was done */
    struct source_position at;
    int array;          /* the array that moves; NO_NAME: the decision is about a block */
    int from, into;     /* blocks, or NO_NAME */
    enum space space;   /* MERGE_MOVED: the space that the block moves to */
    const char *detail; /* more about the reason, or NULL */
    const char *proof;  /* lines: the parts that were compared, and what was proved; or NULL */
    bool further;       /* one of several refusals of a block, not the one that came nearest */
};

#define PLAN_TIME_LIMIT_NS INT64_C(1000000000)

/* When a run frees a block: after its last use, or at the end of its scope. */
enum merge_hold { MERGE_HELD_TO_LAST_USE, MERGE_HELD_TO_SCOPE_END };

struct merge_needs {
    int64_t peak_bytes; /* the most that are held at once */
    int64_t copy_count, copied_bytes, alloc_count;
};

/* Options of a merge. `gamut run` uses {0} if it does not know the sizes. */
struct merge_options {
    unsigned extensions; /* bits of enum merge_extension, in addition to the set's own */
    unsigned unchecked;  /* bits of enum merge_condition that are not checked: for tests only */
    /* The values of the program's scalar parameters, by name number. NULL: passes that need numbers
     * do nothing. */
    const union scalar *values;
    /* Optional: values that the program reads from arrays, by the names of the scalars that it
     * reads into, or the arrays of these names. Successive reads consume successive values; the
     * last is used for all further reads. Bytes are counted with them, but no merged program
     * depends on them: `plan` and `spaces` know only what is known before a run. */
    const struct arguments *readings;
    enum merge_hold hold;  /* the peaks that `best` and `extended` compare */
    int64_t time_limit_ns; /* how long the planner may search in all; 0: PLAN_TIME_LIMIT_NS */
    /* Optional: counts what a run of a candidate of `best` or `extended` needs if blocks are held
     * by `hold`. Returns false if it cannot tell. NULL: these two estimate. */
    bool (*count)(void *context, const struct fun *fun, enum merge_hold hold,
                  struct merge_needs *needs);
    void *count_context;
    bool veto; /* refuse merges after which the packed program would need more memory */
};

/* A program that passes change, and their decisions. */
struct merge {
    struct program *program; /* a copy that passes may change freely */
    struct fun *fun;
    struct merge_options options;
    const char *pass;    /* the name of the running pass */
    struct error *error; /* the running pass may set it; or NULL */
    unsigned event_count, event_capacity;
    struct merge_event *events;
    bool packed; /* `plan` has made an arena; the next three fields describe it */
    bool proven; /* no smaller arena is possible */
    int64_t arena_bytes, arena_lower_bound;
    const char *chosen; /* the method that `best` took, or NULL */
    bool estimated;     /* it was chosen by an estimate, because not all bytes could be counted */
    /* If estimated: the blocks that are not counted, or are counted by a bound; or NULL. */
    const char *uncounted;
};

/* A pass. `run` changes m->fun, and notes what it did and what it refused. Whatever it returns, it
 * leaves a valid annotated program. */
struct merge_ops {
    const char *name, *help;
    int (*run)(struct merge *m);
};

/* Runs the pass and has the verifier check the program: ERR_INTERNAL names the pass that broke
 * it. */
int merge_run_pass(struct merge *m, const struct merge_ops *pass, struct error *error);
/* A copy of the program and of the decisions, for other passes to go on with. The copy shares the
 * expressions of `from`, which must outlive it. Free it with merge_free. */
struct merge *merge_copy(const struct merge *from);
void merge_free(struct merge *m); /* takes NULL */

const char *merge_condition_name(enum merge_condition c);     /* "last_use"; "ok": none */
const char *merge_condition_label(enum merge_condition c);    /* "C1" */
const char *merge_condition_sentence(enum merge_condition c); /* what a user reads */

/* The extension with this number; if there is none, the name is NULL and the sentence "". */
const char *merge_extension_name(unsigned extension);
const char *merge_extension_sentence(unsigned extension); /* the sentence of the list */

/* Appends a copy of `event`, with the name of the running pass. */
void merge_note(struct merge *m, const struct merge_event *event);
/* Must the pass check this condition? (Tests turn conditions off.) */
bool merge_checks(const struct merge *m, enum merge_condition c);
/* Is this extension on? */
bool merge_extends(const struct merge *m, enum merge_extension e);
/* Replaces memory names: `into`, by name number, is a forest whose roots stay (into[n] == n). Every
 * mention of a name becomes one of its root, and the allocations of all others are removed. */
void merge_replace_blocks(struct merge *m, const int *into);
