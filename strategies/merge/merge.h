/* Merging: what a compiler does to a program's memory before it runs.
 *
 * A pass takes an annotated program and changes where its arrays live: which block, at which place
 * in it, how large the blocks are and where they are allocated. It never changes what is computed:
 * not one bit of any result, on any device, in any order of the threads. A merge set is a list of
 * passes in their order. Passes, conditions and their names follow Serup, Memory Block Merging in
 * Futhark (2017), chapters 5 to 9, except where that was found unsound.
 *
 * Everything here works on programs alone; nothing is executed.
 */
#ifndef GAMUT_MERGE_MERGE_H
#define GAMUT_MERGE_MERGE_H

#include "merge/pass.h"

struct merge_set {
    const char *name, *help;
    const struct merge_ops *const *passes; /* up to a NULL */
    unsigned extensions;
};
extern const struct merge_set merge_sets[];               /* up to a NULL name */
const struct merge_set *merge_set_find(const char *name); /* or NULL */

/* A set as it is written on a command line: "coalesce+reuse:with=views|disjoint". Gives the set by
 * the word before ':', and the extensions that `with` adds to its own (for
 * merge_options.extensions). ERR_USAGE with the nearest name and with what exists. */
int merge_parse(const char *text, const struct merge_set **set, unsigned *extensions,
                struct error *error);

/* Runs the passes of `set` over a copy of `fun`, which must be annotated and outlive the result.
 * After every pass the verifier looks at the program: ERR_INTERNAL names the pass that broke it.
 * The kernels, with their names and arguments, are those of `fun`: what was built for one runs the
 * other, unless memory is in a heap of the device in one alone (generate.h). Names keep their
 * numbers; new ones come after them. */
int merge_run(const struct fun *fun, const struct merge_set *set,
              const struct merge_options *options, struct merge **merged, struct error *error);
void merge_free(struct merge *merged);

#endif
