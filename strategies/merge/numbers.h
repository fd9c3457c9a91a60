/* What the scalars of a program are for given parameters: a run of its scalars alone.
 *
 * What is read from arrays is not known, nor is what follows from it. In loops the largest size is
 * kept of what varies.
 */
#ifndef GAMUT_MERGE_NUMBERS_H
#define GAMUT_MERGE_NUMBERS_H

#include "merge/memory.h"

enum { UNKNOWN_BYTES = -1 };

struct numbers {
    struct arena arena;
    int64_t *bytes;       /* by memory name: of its allocation or parameter, or UNKNOWN_BYTES */
    union scalar *values; /* by scalar name, where known[] says so; of loops the last iteration's */
    bool *known;
};

/* `values` are those of the scalar parameters, by name number. */
struct numbers *numbers_new(const struct fun *fun, const union scalar *values);
/* Bytes of all elements of an array, or UNKNOWN_BYTES. */
int64_t numbers_array_bytes(const struct numbers *n, const struct fun *fun, int array);
void numbers_free(struct numbers *n);

/* How much memory the packed program would need at least: the most bytes that are alive at once.
 * `best` refuses merges that raise it. */
struct bound {
    unsigned count; /* positions */
    int64_t *live;  /* bytes alive at each; blocks of unknown size count nothing */
    int64_t *trial;
    int64_t peak;
};

void bound_open(struct bound *b, const struct memory_map *map, const struct numbers *numbers);
void bound_close(struct bound *b);

/* A trial: changes are made to a copy, then kept if the peak is no higher for them. */
void bound_begin(struct bound *b);
void bound_add(struct bound *b, const struct spans *spans,
               int64_t bytes); /* negative: taken away */
bool bound_keep(struct bound *b);

#endif
