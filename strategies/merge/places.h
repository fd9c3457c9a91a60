/* Blocks that become parts of another: what was an existential block becomes that block and a place
 * in it. */
#ifndef GAMUT_MERGE_PLACES_H
#define GAMUT_MERGE_PLACES_H

#include "merge/memory.h"
#include "merge/pass.h"

enum { NOT_PLACED = -1 };

/* Moves every array whose block has an offset in bytes (by memory name; NOT_PLACED: it stays) by as
 * much. An existential block that may be one of them gets a scalar beside it, which loops and
 * branches pass on with it: the byte at which the block begins. Memory names themselves stay. */
void places_pass_on(struct merge *m, const struct outline *o, const struct memory_map *map,
                    const int64_t *offset);

/* Only the scalars, for the existential blocks that are `wanted` (by memory name): so that what a
 * loop gives can later be moved. All of them are 0. */
void places_make_variable(struct merge *m, const struct outline *o, const struct memory_map *map,
                          const bool *wanted);
/* For a loop's variable in such a block: the statement at the end of the loop's body that says
 * where the next block begins. NULL if its place is not variable. */
struct stm *places_next(const struct fun *fun, const struct outline *o, const struct stm *loop,
                        int param);

#endif
