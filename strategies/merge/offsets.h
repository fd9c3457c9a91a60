/* Blocks become parts of another block, each at an offset. An existential block that may be one of
 * them becomes that block and a scalar that says where in it the existential begins. */
#pragma once

#include "merge/memory.h"
#include "merge/pass.h"

enum { NO_OFFSET = -1 };

/* Moves every array by the offset of its block, offset[memory], in bytes; NO_OFFSET: the block
 * stays. An existential block that may be a moved one gets a scalar: the byte at which the block
 * begins. Loops and branches pass the scalar on with the block. Memory names do not change. */
void offsets_pass_on(struct merge *m, const struct outline *o, const struct memory_map *map,
                     const int64_t *offset);

/* Adds only the scalars, all of them 0, for the existential blocks that are `wanted` (by memory
 * name), so that a later pass can move a loop's result. */
void offsets_make_variable(struct merge *m, const struct outline *o, const struct memory_map *map,
                           const bool *wanted);
/* For a loop's variable in such a block: the statement at the end of the loop's body that computes
 * where the next block begins. NULL if the block always begins at the same place. */
struct stm *offsets_next(const struct fun *fun, const struct outline *o, const struct stm *loop,
                         int param);
