/* Blocks by levels of detail, so that a picture of any window of moments needs few of them.
 *
 * The moments are halved again and again, down to LEVELS_LEAF of them. A node of this binary tree
 * has the LEVELS_TOP blocks of the largest area (bytes times moments) of those that lie within it
 * and that no node above has, and all blocks that lie within it and across its middle. A leaf has
 * all that are left. So each block is in one node, and a window overlaps one or two nodes a level,
 * until the nodes are smaller than the window: from the root down, these have the largest blocks
 * first. The picture of a window of any size is made of the levels that fit into a number of
 * blocks.
 *
 * Nodes that follow one another on a level are joined to chunks, of LEVELS_CHUNK blocks or more,
 * that a page reads one at a time. The tree is that of a segment tree's intervals, with the most
 * significant ones moved up as in a priority search tree (McCreight 1985).
 */
#pragma once

#include "pages/history.h"

enum { LEVELS_TOP = 1024, LEVELS_LEAF = 2048, LEVELS_CHUNK = 2048 };

struct view_chunk {
    unsigned level;        /* 0: the root */
    uint32_t first, last;  /* its blocks exist in these moments, and in no other of the window */
    unsigned begin, count; /* its blocks, in `order` */
};

struct view_levels {
    unsigned level_count, chunk_count, chunk_capacity;
    struct view_chunk *chunks; /* by level, then by moment */
    unsigned block_count;      /* that exist within the window */
    uint32_t *order;           /* indices of blocks: by chunk, node, birth */
};

/* Makes the levels of the blocks that exist in moments `first` to `last`. */
void levels_make(struct view_levels *levels, const struct view_blocks *blocks, uint32_t first,
                 uint32_t last);
void levels_free(struct view_levels *levels);
