/* When blocks are alive, with the branches that are taken.
 *
 * If a branch makes its result in one block and the other branch in another, only one of the two
 * blocks holds the result after the if. A *moment* is a position together with a choice of a branch
 * for each if whose result may still be in one block or another there. Two blocks are alive at once
 * only if both are alive at one moment; the bytes of a moment are those of one possible execution.
 * Branches of different ifs are taken to be independent of each other. A loop may pass on what an
 * earlier iteration chose, so a choice made inside a loop is forgotten where its variables get it.
 */
#pragma once

#include "merge/memory.h"

struct moments {
    unsigned count;   /* as many as positions, if no block depends on a branch */
    unsigned names;   /* the names that the fun had when this was made */
    struct spans *of; /* by memory name, for actual blocks: spans of moments */
    bool exact; /* false: so many choices meet that some count as if both branches were taken */
};

/* Free with moments_free, which takes NULL. */
struct moments *moments_new(const struct memory_map *map);
void moments_free(struct moments *moments);
