/* The state of reuse, shared by reuse*.c. */
#ifndef GAMUT_MERGE_REUSE_H
#define GAMUT_MERGE_REUSE_H

#include "merge/analysis.h"

struct block_class {
    int block; /* whose allocation all use */
    struct spans spans;
    struct expr *bytes;
    bool resized;
    int64_t known_bytes; /* or UNKNOWN_BYTES */
    unsigned member_count, member_capacity;
    int *members; /* `block` is the first */
};

struct reuser {
    struct analysis a;
    int *into; /* by memory name */
    struct block_class *classes;
    unsigned class_count;
    const char *detail;
};

/* reuse_meet.c: may the block be alive where the class is? At the positions at which both are, the
 * one must be written just where, and after, the other is read for the last time. */
enum merge_condition reuse_meetings(struct reuser *r, const struct block_class *k, int block);

#endif
