/* What a merge set must not change, checked on the shadow machine: one program, before and after.
 */
#ifndef GAMUT_TESTS_MERGE_CHECK_H
#define GAMUT_TESTS_MERGE_CHECK_H

#include "tests/program/shadow.h"

/* The text of what a set makes of an annotated program, which it may change. Owned by the caller.
 */
typedef int merge_transform(const char *set, struct program *program,
                            const struct arguments *arguments, char **text, struct error *error);

enum merge_outcome {
    MERGE_OK,
    MERGE_INVALID, /* the program is not one that program_read takes */
    MERGE_BROKEN,  /* it has a violation, or fails, before anything was merged */
    MERGE_FAILED,  /* the transformation, or reading what it printed, or running that */
    MERGE_VIOLATION,
    MERGE_WRONG, /* other output bits */
};

struct merge_verdict {
    enum merge_outcome outcome;
    char text[1000]; /* what and where; "" for MERGE_OK */
    int violation;   /* enum shadow_violation of the most frequent one, or -1 */
    uint64_t statements, launches, allocs_before, allocs_after, elided_before, elided_after;
};

/* `sets` ends with NULL. The program is run with its first dataset, in three orders of the threads.
 */
void merge_check(const char *text, const char *const *sets, merge_transform *transform,
                 uint64_t seed, struct merge_verdict *verdict);

/* No change: what is checked is annotation, printing and parsing. */
int merge_identity(const char *set, struct program *program, const struct arguments *arguments,
                   char **text, struct error *error);

/* A shorter program with the same outcome: statements and results are left out as long as it stays.
 * Owned by the caller. */
char *merge_shrink(const char *text, const char *const *sets, merge_transform *transform,
                   uint64_t seed);

#endif
