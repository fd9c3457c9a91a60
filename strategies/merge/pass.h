/* What a pass of merging is, and what it works on: the conditions, the program under the passes,
 * and the list of decisions. Passes need this header and no other of the run over a set (merge.h).
 */
#ifndef GAMUT_MERGE_PASS_H
#define GAMUT_MERGE_PASS_H

#include "program/program.h"

enum { MERGE_VERSION = 1 };

/* Why two places may not become one. Tests turn a condition off by its name, to see that it is
 * needed. X(name, label, sentence) */
#define MERGE_CONDITION_LIST(X)                                                                    \
    X(last_use, "C1", "the source is used again after this statement")                             \
    X(allocation, "C2", "the destination is allocated, or filled, after the source is made")       \
    X(untouched, "C3", "the destination is used between the making of the source and here")        \
    X(whole, "C4", "the source cannot move alone: it is a part or a view of something else")       \
    X(in_scope, "C5", "the destination's place is not known yet where the source is made")         \
    X(branches, "C6", "what the other branch gives cannot move, or nothing is made in a branch")   \
    X(elsewhere, "C7", "the part of the destination that is used may be the source's")             \
    X(interference, "R1", "both hold values at the same time")                                     \
    X(same_index, "R2", "a kernel reads it at other places than it writes")                        \
    X(dies_here, "R3", "what the kernel overwrites is read again later")                           \
    X(threads, "R4", "the threads' own arrays lie differently, so that one would reach another's") \
    X(size, "R5", "the sizes differ, and the larger is not known where the block is allocated")    \
    X(escapes, "R6", "several of the loop's blocks of this name are alive at once")                \
    X(foreign, "R7", "the block belongs to the caller")                                            \
    X(space, "R8", "the blocks are in different memory spaces")                                    \
    X(too_large, "P1", "it is larger than what is worth moving")                                   \
    X(shared, "P2", "it may be the same block as one that cannot move")                            \
    X(uncounted, "P3", "its size is not so many times 4 bytes as the device has computed")         \
    X(asked, "P4", "what is no kernel uses it, and would wait to learn where it is")               \
    X(needed, "P5", "the host needs the size before anything else is launched")                    \
    X(unwritten, "P6", "a kernel that uses it also makes another array, but nothing without it")   \
    X(no_gain, "V1", "packed, the program would need more memory with it")                         \
    X(unknown_size, "V2", "its size is not known before the program runs")

enum merge_condition {
    MERGE_ALLOWED,
#define X(name, label, sentence) CONDITION_##name,
    MERGE_CONDITION_LIST(X)
#undef X
        CONDITION_COUNT
};

/* What goes beyond the thesis, each to be had alone. X(name, sentence) */
#define MERGE_BEYOND_LIST(X)                                                                       \
    X(views, "coalescing through reshape and rearrange")                                           \
    X(index_params, "index functions as loop variables: a loop's result moves into an offset")     \
    X(across, "index analysis across iterations: an elementwise loop runs in one block")           \
    X(source,                                                                                      \
      "the destination may be read by the very kernel that makes the source, at its place")        \
    X(by_branch, "last uses that depend on the branch taken")                                      \
    X(disjoint, "the destination may be used where that is proved to be another part of it")       \
    X(by_bytes, "the largest copies are removed first, not the topmost")

/* Which memories go to another space, in the pass `spaces`: done only where asked for by name. */
#define MERGE_SPACE_LIST(X)                                                                        \
    X(pinned, "what the host reads element by element lies in memory of the host")                 \
    X(late, "blocks whose size the device computes come from a heap that it runs: no wait for it")

#define MERGE_EXTENSION_LIST(X) MERGE_BEYOND_LIST(X) MERGE_SPACE_LIST(X)

enum merge_extension {
#define X(name, sentence) EXTENSION_##name,
    MERGE_EXTENSION_LIST(X)
#undef X
        EXTENSION_COUNT
};

/* All that goes beyond the thesis; spaces stay. */
#define X(name, sentence) | 1u << EXTENSION_##name
enum { MERGE_ALL_EXTENSIONS = 0 MERGE_BEYOND_LIST(X) };
#undef X

enum merge_action { MERGE_HOISTED, MERGE_COALESCED, MERGE_REUSED, MERGE_PLACED, MERGE_MOVED };

/* One decision. Names are numbers in the merged fun. */
struct merge_event {
    const char *pass;
    enum merge_action action;
    enum merge_condition refused; /* MERGE_ALLOWED: it was done */
    struct place at;
    int array;        /* the one that moves, or whose allocation moves; NO_NAME: the block itself */
    int from, into;   /* blocks; NO_NAME where there is none */
    enum space space; /* of MERGE_MOVED: where to */
    const char *detail; /* more about the reason, or NULL */
};

/* How a program is to be merged. {0} and a set is what `gamut run` does for sizes not known. */
struct merge_options {
    unsigned extensions; /* bits of enum merge_extension beside the set's own */
    unsigned unchecked;  /* bits of enum merge_condition that are not checked: for tests only */
    /* The values of the program's scalar parameters, by name number, for the passes that need
     * numbers; NULL: they do nothing. */
    const union scalar *values;
    int64_t time_limit_ns; /* of the exact planner; 0: a second */
    /* The most bytes that a run of this fun holds at once, freed at last use; -1: not known.
     * Whoever can run programs may give it, for `best` to choose by; NULL: it estimates. */
    int64_t (*peak_bytes)(void *context, const struct fun *fun);
    void *peak_context;
    bool veto; /* merge only where the packed program needs no more for it */
};

/* A program under the hands of the passes. */
struct merge {
    struct program *program; /* a copy: passes may do with it what they like */
    struct fun *fun;
    struct merge_options options;
    const char *pass; /* the one that runs */
    unsigned event_count, event_capacity;
    struct merge_event *events;
    /* Of the passes that pack: */
    bool packed, proven; /* is there an arena; has it been proved to be as small as can be? */
    int64_t arena_bytes, arena_lower_bound;
    const char *chosen; /* by `best`: the way it went */
};

/* A pass. `run` changes m->fun and notes what it did and what it refused; ERR_INTERNAL for what
 * must not happen. It must leave a valid annotated program whatever it returns. */
struct merge_ops {
    unsigned version;
    const char *name, *help;
    int (*run)(struct merge *m, struct error *error);
};

const char *merge_condition_label(enum merge_condition c);
const char *merge_condition_sentence(enum merge_condition c);
const char *merge_condition_name(enum merge_condition c);

/* By number; "" for the sentence of one that does not exist, NULL for its name. */
const char *merge_extension_name(unsigned extension);
const char *merge_extension_sentence(unsigned extension);

void merge_note(struct merge *m, const struct merge_event *event);
/* Is this condition to be checked? */
bool merge_checks(const struct merge *m, enum merge_condition c);
bool merge_extends(const struct merge *m, enum merge_extension e);
/* Every mention of a memory name becomes one of what `into` leads to (a forest; into[n] == n for
 * those that stay), and the allocations of those that went are removed. */
void merge_replace_blocks(struct merge *m, const int *into);

#endif
