/* Which arrays may share elements, and which of them are consumed: the verifier's knowledge of
 * uniqueness.
 *
 * Arrays that may share elements are in one *family* (union-find). Consuming an array ends the
 * family. A family remembers how many loops deep it began, since what is consumed in a loop must
 * begin there, and whether it is somebody else's, who did not allow that it is consumed.
 */
#ifndef GAMUT_PROGRAM_FAMILIES_H
#define GAMUT_PROGRAM_FAMILIES_H

#include <stdbool.h>

#include "program/program.h"

struct family {
    int parent;
    unsigned depth;        /* loops around its beginning */
    bool foreign;          /* a parameter or loop variable that is not unique is in it */
    struct place consumed; /* line 0: not yet */
};

/* What was known of a family before it was consumed. */
struct family_change {
    int family;
    struct place before;
};

struct families {
    int *of; /* by name, for arrays */
    struct family *items;
    unsigned count, capacity;
    struct family_change *changes; /* all so far, so that a branch can be taken back */
    unsigned change_count, change_capacity;
};

void families_open(struct families *f, unsigned name_count);
void families_close(struct families *f);

/* The array begins a family, `depth` loops deep. */
void families_begin(struct families *f, int array, unsigned depth, bool foreign);
/* The array, which has no family yet, is a view of `whole`. */
void families_add(struct families *f, int array, int whole);
void families_join(struct families *f, int a, int b);
/* What an if gives shares its elements with what a branch gave, unless the other branch consumed
 * that: then nobody else is left who could use it. */
void families_join_if_alive(struct families *f, int out, int result);
void families_consume(struct families *f, int array, struct place at);

/* Valid until the next change. */
const struct family *families_get(struct families *f, int array);
bool families_same(struct families *f, int a, int b);

/* What one branch consumes is still there in the other, and gone after both: remember change_count
 * before the first branch, take back what it consumed, and repeat that after the second.
 * families_repeat frees what families_take_back gave. */
struct family_change *families_take_back(struct families *f, unsigned from, unsigned *count);
void families_repeat(struct families *f, struct family_change *taken, unsigned count);

#endif
