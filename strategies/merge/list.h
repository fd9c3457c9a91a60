/* The passes, a file each, and the sets made of them. */
#ifndef GAMUT_MERGE_LIST_H
#define GAMUT_MERGE_LIST_H

#include "merge/pass.h"

/* X(name): struct merge_ops merge_NAME */
#define MERGE_PASS_LIST(X)                                                                         \
    X(hoist)                                                                                       \
    X(inplace)                                                                                     \
    X(coalesce)                                                                                    \
    X(spaces_early)                                                                                \
    X(hoist_sizes)                                                                                 \
    X(reuse)                                                                                       \
    X(sink)                                                                                        \
    X(plan)                                                                                        \
    X(best)                                                                                        \
    X(spaces)

/* X(text, extensions, help, passes...); `spaces` is the last of each. */
/* clang-format off */
#define MERGE_SET_LIST(X)                                                                          \
    X("none", 0, "the program as it is written",                                                   \
      &merge_spaces)                                                                               \
    X("inplace", 0, "kernels write their results where these would be copied to",                  \
      &merge_inplace, &merge_spaces)                                                               \
    X("coalesce", 0, "the source of a copy is made where it would be copied to",                   \
      &merge_hoist, &merge_coalesce, &merge_sink, &merge_spaces)                                   \
    X("reuse", 0, "arrays take the blocks of dead arrays",                                         \
      &merge_spaces_early, &merge_hoist_sizes, &merge_reuse, &merge_spaces)                        \
    X("coalesce+reuse", 0, "coalesce and reuse, as in the thesis",                                 \
      &merge_hoist, &merge_coalesce, &merge_spaces_early, &merge_hoist_sizes, &merge_reuse,        \
      &merge_sink, &merge_spaces)                                                                  \
    X("extended", MERGE_ALL_EXTENSIONS, "coalesce and reuse, with all extensions beyond the thesis",\
      &merge_hoist, &merge_coalesce, &merge_spaces_early, &merge_hoist_sizes, &merge_reuse,        \
      &merge_sink, &merge_spaces)                                                                  \
    X("plan", 1u << EXTENSION_by_branch, "all blocks of known size lie at offsets of one block",   \
      &merge_spaces_early, &merge_plan, &merge_sink, &merge_spaces)                                \
    X("best", MERGE_ALL_EXTENSIONS, "merged where that saves memory, then packed",                 \
      &merge_best, &merge_spaces)
/* clang-format on */

#define X(name) extern const struct merge_ops merge_##name;
MERGE_PASS_LIST(X)
#undef X

#endif
