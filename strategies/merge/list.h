/* The passes, a file each, and the sets made of them. */
#pragma once

#include "merge/pass.h"

/* X(name, help): the pass is the function merge_run_NAME of a file of its own. */
/* clang-format off */
#define MERGE_PASS_LIST(X)                                                                         \
    X(hoist, "allocates the destinations of copies early")                                         \
    X(inplace, "makes the value of an update directly in the updated array")                       \
    X(coalesce, "makes the source of a copy where it would be copied to")                          \
    X(short_circuit, "coalesces from the last copy of the program up")                             \
    X(spaces_early, "moves memories to other spaces before reuse and plan, if asked for")   \
    X(hoist_sizes, "computes the sizes of blocks early")                                           \
    X(reuse, "puts arrays into the blocks of dead arrays")                                         \
    X(reuse_private, "puts arrays of a kernel's threads into the blocks of dead ones")             \
    X(sink, "allocates as late as possible")                                                       \
    X(plan, "puts all blocks of known size at offsets of one block")                               \
    X(extended, "coalesces and reuses with all extensions, unless that needs more memory")  \
    X(best, "tries several methods and takes the one that needs the least memory")                 \
    X(spaces, "moves memories to other spaces, where an extension asks for that")

/* What the set short_circuit proves beyond the thesis. */
enum {
    SHORT_CIRCUIT_EXTENSIONS = 1u << EXTENSION_views | 1u << EXTENSION_index_params |
                               1u << EXTENSION_source | 1u << EXTENSION_disjoint | 1u << EXTENSION_across |
                               1u << EXTENSION_elided
};
#define MERGE_SHORT_CIRCUIT &merge_hoist, &merge_short_circuit, &merge_sink
#define MERGE_BOTH                                                                                 \
    MERGE_SHORT_CIRCUIT, &merge_spaces_early, &merge_hoist_sizes, &merge_reuse_private

/* X(text, extensions, help, passes...); `spaces` is the last pass of each set. */
#define MERGE_SET_LIST(X)                                                                          \
    X("none", 0, "the program as it is written",                                                   \
      &merge_spaces)                                                                               \
    X("inplace", 0, "kernels write their results where these would be copied to",                  \
      &merge_inplace, &merge_spaces)                                                               \
    X("coalesce", 0, "the source of a copy is made where it would be copied to",                   \
      &merge_hoist, &merge_coalesce, &merge_sink, &merge_spaces)                                   \
    X("reuse", 0, "arrays take the blocks of dead arrays",                                         \
      &merge_spaces_early, &merge_hoist_sizes, &merge_reuse, &merge_spaces)                        \
    X("reuse_private", 0, "a thread's arrays take the blocks of its dead ones, as in the artefact of 2022", \
      &merge_spaces_early, &merge_hoist_sizes, &merge_reuse_private, &merge_spaces)                \
    X("coalesce+reuse", 0, "coalesce and reuse, as in the thesis",                                 \
      &merge_hoist, &merge_coalesce, &merge_spaces_early, &merge_hoist_sizes, &merge_reuse,        \
      &merge_sink, &merge_spaces)                                                                  \
    X("short_circuit", SHORT_CIRCUIT_EXTENSIONS,                                                   \
      "arrays are made where they will be copied to, as in the paper of 2022",                     \
      MERGE_SHORT_CIRCUIT, &merge_spaces)                                                          \
    X("both", SHORT_CIRCUIT_EXTENSIONS, "short_circuit, then reuse_private",                               \
      MERGE_BOTH, &merge_spaces)                                                                   \
    X("extended", MERGE_ALL_EXTENSIONS, "coalesce and reuse with all extensions beyond the thesis", \
      &merge_extended, &merge_spaces)                                                              \
    X("plan", 1u << EXTENSION_by_branch, "all blocks of known size lie at offsets of one block",   \
      &merge_spaces_early, &merge_plan, &merge_sink, &merge_spaces)                                \
    X("best", MERGE_ALL_EXTENSIONS, "merged where that saves memory, then packed",                 \
      &merge_best, &merge_spaces)
/* clang-format on */

/* Each pass returns 0, or ERR_INTERNAL for what must not happen. */
#define X(name, help)                                                                              \
    int merge_run_##name(struct merge *m);                                                         \
    extern const struct merge_ops merge_##name;
MERGE_PASS_LIST(X)
#undef X
