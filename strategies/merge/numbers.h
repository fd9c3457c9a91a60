/* Values of a program's scalars and sizes of its blocks for given parameters. Only the scalars are
 * computed, nothing runs.
 *
 * Scalars that are read from arrays are not known, nor are scalars computed from them. A block that
 * a loop allocates with several sizes counts with the largest.
 */
#ifndef GAMUT_MERGE_NUMBERS_H
#define GAMUT_MERGE_NUMBERS_H

#include "merge/memory.h"

enum { UNKNOWN_BYTES = -1 };

struct numbers {
    struct arena arena;
    int64_t *bytes;       /* by memory name: the size of the block, or UNKNOWN_BYTES */
    union scalar *values; /* by scalar name, if known[]; in loops that of the last iteration */
    bool *known;
};

/* `values`: those of the scalar parameters, by name number; NULL: none is known. Free with
 * numbers_free, which takes NULL. */
struct numbers *numbers_new(const struct fun *fun, const union scalar *values);
/* The bytes of all elements of an array, or UNKNOWN_BYTES. */
int64_t numbers_array_bytes(const struct numbers *n, const struct fun *fun, int array);
void numbers_free(struct numbers *n);

/* The least memory that the packed program can need: the most bytes that are alive at once. Under a
 * veto, merges that raise it are refused. */
struct bound {
    unsigned count; /* positions */
    int64_t *live;  /* bytes alive at each; blocks of unknown size count nothing */
    int64_t *trial; /* the same after the changes of a trial */
    int64_t peak;   /* the largest of `live` */
};

/* Opens the bound of the program as `map` and `numbers` describe it; free with bound_close. */
void bound_open(struct bound *b, const struct memory_map *map, const struct numbers *numbers);
void bound_close(struct bound *b);

/* A trial: begin copies `live`, add changes the copy, and keep makes it the truth if its peak is no
 * higher; otherwise keep returns false and changes nothing. `bytes` may be negative. */
void bound_begin(struct bound *b);
void bound_add(struct bound *b, const struct spans *spans, int64_t bytes);
bool bound_keep(struct bound *b);

#endif
