/* A coalescing that is being tried: which arrays move where. Shared by coalesce*.c. */
#ifndef GAMUT_MERGE_COALESCE_H
#define GAMUT_MERGE_COALESCE_H

#include "merge/analysis.h"

/* A copy of a part: `stm` copies its source to a part of its destination. */
struct candidate {
    struct stm *stm;
    unsigned piece; /* of a concat */
    int source, destination;
    unsigned number; /* from the top of the program */
    int64_t bytes;   /* of the source, or UNKNOWN_BYTES */
};

/* An array that is created in full, with the others in its block moving along. */
struct root {
    int array;
    unsigned position, scope;
};

/* What a loop passes on begins elsewhere from its first iteration on. */
struct varying {
    struct stm *next; /* the scalar with the byte at which it begins, at the end of the body */
    struct expr *place;
    int init; /* the array it begins with, which stays */
    int param_memory, out_memory;
};

struct coalescer {
    struct analysis a;
    /* by memory name: the block it has become part of, and the next of its parts */
    int *into, *next_part;
    /* by array name: the place it would get; valid where tried[array] == attempt */
    struct index_function *place;
    unsigned *tried, attempt;
    unsigned moved_count, root_count, block_count;
    int *moved, *blocks;
    struct root *roots;
    /* of loops whose results move into an offset: where their variables say what that is */
    unsigned varying_count;
    struct varying *varying;
    /* by destination array: coalesced candidates, linked */
    struct linked_candidate **done;
    struct arena arena;
    const char *detail;
};

struct linked_candidate {
    struct candidate candidate;
    struct linked_candidate *next;
};

int coalesce_block(const struct coalescer *c, int memory); /* what the block has become part of */

/* The place of a candidate's part of its destination, given that array's. */
void coalesce_part(struct coalescer *c, const struct candidate *k, const struct name *destination,
                   struct index_function *index);

/* coalesce_move.c: follows the source back to where it is created and gives everything in its
 * blocks a place that fits. MERGE_ALLOWED or what forbids it; fills moved, roots and blocks. */
enum merge_condition coalesce_move(struct coalescer *c, const struct candidate *k);

#endif
