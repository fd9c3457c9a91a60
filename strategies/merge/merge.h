/* Merging: what a compiler does to a program's memory before the program runs.
 *
 * A pass takes an annotated program and changes where its arrays lie: in which block, at which
 * offset, how large the blocks are and where they are allocated. It never changes what the program
 * computes: not one bit of any result, on any device, in any order of the threads. A merge set is a
 * list of passes in order. Passes, conditions and their names follow Serup, Memory Block Merging in
 * Futhark (2017), chapters 5 to 9, except where the thesis was found unsound.
 *
 * Nothing in this folder executes a program.
 */
#pragma once

#include "merge/pass.h"

struct merge_set {
    const char *name, *help;
    const struct merge_ops *const *passes; /* ends with NULL */
    unsigned extensions;                   /* bits of enum merge_extension */
};
extern const struct merge_set merge_sets[];               /* ends with a NULL name */
const struct merge_set *merge_set_find(const char *name); /* NULL if there is none */

/* Parses a set as the command line has it: "coalesce+reuse:with=views|disjoint". *set is the set
 * named before ':'; *extensions are the bits of those after `with=`, for merge_options.extensions.
 * ERR_USAGE suggests the nearest name and lists all. */
int merge_parse(const char *text, const struct merge_set **set, unsigned *extensions,
                struct error *error);

/* Runs the passes of `set` over a copy of `fun`, which must be annotated and outlive the result.
 * The verifier checks the program after every pass: ERR_INTERNAL names the pass that broke it.
 * The copy has the kernels of `fun`, with their names and arguments, so kernels that were built for
 * one program run the other, unless only one has memory in a device heap (generate.h). Names keep
 * their numbers; new names come after them. Free *merged with merge_free, which takes NULL. */
int merge_run(const struct fun *fun, const struct merge_set *set,
              const struct merge_options *options, struct merge **merged, struct error *error);
