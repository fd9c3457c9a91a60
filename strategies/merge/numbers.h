/* The values of a program's scalars, and the sizes of its blocks, for given parameters. Only
 * scalars are computed; no kernel runs.
 *
 * A scalar that is read from an array is unknown unless readings are given, and so is every scalar
 * computed from it. If a loop allocates a block with several sizes, the largest counts.
 */
#pragma once

#include "merge/memory.h"
#include "merge/pass.h"
#include "merge/size/size.h"
#include "program/arguments.h"

/* When blocks are alive, with the branches that are taken.
 *
 * If a branch makes its result in one block and the other branch in another, only one of the two
 * blocks holds the result after the if. A *moment* is a position together with a choice of a branch
 * for each if whose result may still be in one block or another there. Two blocks are alive at once
 * only if both are alive at one moment; the bytes of a moment are those of one possible execution.
 * Branches of different ifs are taken to be independent of each other. A loop may pass on what an
 * earlier iteration chose, so a choice made inside a loop is forgotten where its variables get it.
 */
struct moments {
    unsigned count;   /* as many as positions, if no block depends on a branch */
    unsigned names;   /* the names that the fun had when this was made */
    struct spans *of; /* by memory name, for actual blocks: spans of moments */
    bool exact; /* false: so many choices meet that some count as if both branches were taken */
};

/* Free with moments_free, which takes NULL. */
struct moments *moments_new(const struct memory_map *map);
void moments_free(struct moments *moments);

enum { UNKNOWN_BYTES = -1 };

/* Do runs allocate a block? REACHED_MAYBE: an unknown value decides. */
enum reached { REACHED_NEVER, REACHED_MAYBE, REACHED_ALWAYS };

struct numbers {
    struct arena arena;
    int64_t *bytes;       /* by memory name: the size of the block, or UNKNOWN_BYTES */
    bool *bounded;        /* by memory name: `bytes` is only proved to be no less than the size */
    union scalar *values; /* by scalar name, if known[]; in a loop, the last iteration's */
    bool *known;
    enum reached *reached; /* by memory name */
};

/* `values`: the scalar parameters' values, by name number; NULL: none is known. `readings` has the
 * values that are read from arrays, as for merge_options (pass.h); NULL: none is known. Free with
 * numbers_free, which takes NULL. */
struct numbers *numbers_new(const struct fun *fun, const union scalar *values,
                            const struct arguments *readings);
/* Gives each block of unknown size the least of the known sizes that are proved to be no less. */
void numbers_bound(struct numbers *n, const struct memory_map *map, struct sizes *sizes);
/* The bytes of all elements of an array, or UNKNOWN_BYTES. */
int64_t numbers_array_bytes(const struct numbers *n, const struct fun *fun, int array);
void numbers_free(struct numbers *n);

/* The least memory that the packed program can need: the most bytes that are alive at once. Under a
 * veto, merges that raise it are refused. Or the bytes that are held at once. */
struct bound {
    struct moments *moments;  /* NULL: every moment is a position, as for the bytes held */
    unsigned count;           /* moments */
    int64_t peak;             /* the most bytes alive at a moment; blocks of unknown size count 0 */
    unsigned width;           /* a power of two that is at least `count` */
    struct bound_node *nodes; /* a tree over the moments: numbers.c */
    unsigned change_count, change_capacity;
    struct bound_change *changes; /* the trial's */
};

/* Opens the bound of the program as `map` and `numbers` describe it; free with bound_close. */
void bound_open(struct bound *b, const struct memory_map *map, const struct numbers *numbers);
/* Opens the bytes held by blocks that are freed by `hold`. The peak is that of the blocks which
 * every run allocates: a merge that bound_keep accepts raises the peak of no run. */
void bound_open_held(struct bound *b, const struct memory_map *map, const struct numbers *numbers,
                     enum merge_hold hold);
void bound_close(struct bound *b);
/* When a block is held if it is allocated in `scope`, its own or one around that: from its first
 * use to its last, or to the end of that scope, or of the scopes that it is passed on to. */
struct span held_span(const struct memory_map *map, int block, unsigned scope,
                      enum merge_hold hold);

/* The most bytes that runs of m->fun hold at once, as far as sizes or their bounds are known. */
struct held_peak {
    int64_t most;    /* by all blocks */
    int64_t certain; /* by those that every run allocates */
};
struct held_peak held_peak(const struct merge *m, enum merge_hold hold);

/* The most bytes alive, or held, at any moment. */
int64_t bound_most(const struct bound *b);

/* A trial. bound_begin forgets the changes of the one before. bound_add is a change of it: `bytes`,
 * which may be negative, at all moments of `spans`. bound_keep makes the changes if they raise no
 * moment above the peak; otherwise it returns false and changes nothing. Each change takes a time
 * that grows with the logarithm of the moments. */
void bound_begin(struct bound *b);
void bound_add(struct bound *b, const struct spans *spans, int64_t bytes);
void bound_add_span(struct bound *b, struct span span, int64_t bytes);
bool bound_keep(struct bound *b);
bool bound_fits(struct bound *b); /* would bound_keep return true? */
