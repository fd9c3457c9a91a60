/* Two-level segregated fit (TLSF) in one range of units: finds free units in constant time.
 *
 * The range is cut into nodes in the order of their addresses. The last one, the tail, was never
 * cut or has become free up to the end; its size may be 0. The other free nodes are in lists by
 * size: exact below 32 units, above in 32 steps between two powers of two. Two levels of bitmaps
 * find the next list that has any. No two free nodes are side by side.
 *
 * Nodes and lists lie outside the range, which may be memory that the host cannot reach. Where many
 * nodes are live, most lie outside the processor's cache, too. So a node in use says how many free
 * units its neighbours have: all that decides what comes next is in the freed node's own line of
 * the cache, and the neighbours are only linked, which the processor does not wait for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/slab.h"

enum {
    FIT_SECOND_BITS = 5,
    FIT_SECOND_LEVELS = 1 << FIT_SECOND_BITS,
    FIT_FIRST_LEVELS = 64 - FIT_SECOND_BITS + 1, /* for any number of units */
};

struct fit_node {
    struct fit_node *prev, *next; /* by address; none before the first or after the tail */
    union {
        struct { /* of a free node, not of the tail: in its list */
            struct fit_node *prev_free, *next_free; /* prev_free is not set in the head of a list */
        };
        struct { /* of a node in use: units of the node before and after it that are free, and not
                  * the tail's; 0: the neighbour is in use */
            uint64_t free_before, free_after;
        };
    };
    struct fit_range *range;
    uint64_t start, size; /* units */
    bool is_free;         /* for the check alone; always true of the tail */
};

struct fit_range {
    uint64_t size, free; /* units; the tail counts as free */
    uint64_t most;       /* neither a free node nor the tail has more units */
    struct fit_node *tail;
    struct slab *nodes;                      /* items: struct fit_node; outlives the range */
    uint64_t first_level;                    /* bit f: second_level[f] is not 0 */
    uint32_t second_level[FIT_FIRST_LEVELS]; /* bit s of [f]: lists[f][s] is not empty */
    struct fit_node *lists[FIT_FIRST_LEVELS][FIT_SECOND_LEVELS];
};

/* The order in which a request looks for a node. */
enum fit_order {
    FIT_QUICK, /* the first list all of whose nodes fit; then the tail; then the list of its own
                * size, which is walked */
    FIT_TIGHT, /* the list of its own size; then the tail; then the first list all of whose nodes
                * fit */
    FIT_NEXT, /* or-ed, VMA's: the first list is the one after its own, even if all nodes of its own
                * fit. FIT_TIGHT goes there before the tail, if its own list is empty */
};

/* Makes a wholly free range; its nodes come from `nodes`. */
void fit_open(struct fit_range *range, uint64_t size, struct slab *nodes);
/* Gives the tail's node back. The range must be wholly free. */
void fit_close(struct fit_range *range);

/* Takes `size` (> 0) units: the first ones of a free node or of the tail, whose rest stays free.
 * NULL if no node has as many. Takes constant time, except for the walk. */
struct fit_node *fit_take(struct fit_range *range, unsigned order, uint64_t size);
/* False if fit_take would find nothing: asked before it where there are many ranges. */
static inline bool fit_may_have(const struct fit_range *range, uint64_t size)
{
    return range->most >= size;
}

/* Frees a node from fit_take, and joins it with free neighbours. */
void fit_put_back(struct fit_node *node);

/* The number of broken invariants. */
unsigned fit_check(const struct fit_range *range);

static inline bool fit_is_empty(const struct fit_range *range)
{
    return range->free == range->size;
}
