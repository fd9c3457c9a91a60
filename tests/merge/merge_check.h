/* Checks on the shadow machine that a merge set does not change what one program computes. */
#pragma once

#include "tests/program/shadow.h"

/* Applies a set to an annotated program, which it may change, and sets *text to the text of the
 * result, which the caller owns. */
typedef int merge_transform(const char *set, struct program *program,
                            const struct arguments *arguments, char **text, struct error *error);

enum merge_outcome {
    MERGE_OK,
    MERGE_INVALID,   /* program_read refuses the program */
    MERGE_BROKEN,    /* the program has a violation or fails before it is merged */
    MERGE_FAILED,    /* the transformation failed, or its output could not be read or run */
    MERGE_VIOLATION, /* the merged program has a violation */
    MERGE_WRONG,     /* the merged program has other output bits */
};

struct merge_verdict {
    enum merge_outcome outcome;
    char text[1000]; /* what and where; "" for MERGE_OK */
    int violation;   /* enum shadow_violation of the most frequent one, or -1 */
    uint64_t statements, launches, allocs_before, allocs_after, elided_before, elided_after;
};

/* Checks a program under each set; `sets` ends with NULL. The program runs with its first dataset,
 * in three orders of the threads. */
void merge_check(const char *text, const char *const *sets, merge_transform *transform,
                 uint64_t seed, struct merge_verdict *verdict);

/* Changes nothing, so that merge_check checks annotation, printing and parsing alone. */
int merge_identity(const char *set, struct program *program, const struct arguments *arguments,
                   char **text, struct error *error);

/* A shorter program with the same outcome: statements and results are removed while the outcome
 * stays the same. The caller owns the text. */
char *merge_shrink(const char *text, const char *const *sets, merge_transform *transform,
                   uint64_t seed);
