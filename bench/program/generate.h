/* Kernel source: one body becomes OpenCL C, CUDA C or host C.
 *
 * A generated kernel has these parameters, in this order:
 *
 *   1. For each array of kernel->arrays: its memory, its offset (i64) and its strides (i64; those
 *      of a private array begin with the thread's dimensions).
 *   2. kernel->scalars, of their own types.
 *   3. The extents (i64), outermost first.
 *
 * Statements that move data (copy, concat, with, replicate, iota) run kernels as well. They are
 * generated for the ranks and types that a program uses:
 *
 *   gamut_copy_<rank>_<bytes>   arrays to, from; extents
 *   gamut_fill_<type>_<rank>    array to; scalar value; extents
 *   gamut_iota_<type>           array to; extent
 *
 * A GPU's compiler sees the text once for each variant of the kernel (enum kernel_variant): the
 * device defines GAMUT_VARIANT as its number. In every variant a thread computes what the body says
 * for its index, in the order that the body says. The variants differ in what they assume of a
 * launch:
 *
 *   KERNEL_ANY     nothing: indices have 64 bits, and a thread may stride over y and z
 *   KERNEL_NEAR    indices, and sums of index * stride in an array, fit 31 bits; the grid covers
 *                  all
 *   KERNEL_APART   as KERNEL_NEAR, and no written array shares memory with another array of the
 *                  launch
 */
#pragma once

#include "base/kernel_language.h"
#include "program/program.h"

struct kernels {
    struct arena arena;
    const char *text;
    unsigned count;
    const char **names;
    /* By kernel: how many neighbours in y (in x, if the rank is 1) one thread computes, one after
     * the other, in the variant KERNEL_APART. 1: only its own item. */
    unsigned *batches;
};

/* Generates all kernels that the funs of the program launch. Free with kernels_free. */
void program_generate(const struct program *program, enum kernel_language language,
                      struct kernels *kernels);
void kernels_free(struct kernels *kernels); /* frees the arena and all in it */
/* The number of the kernel with this name; kernels->count: there is none. */
unsigned kernels_find(const struct kernels *kernels, const char *name);

/* The name of the kernel that moves data for a statement of the fun; false: it needs none. */
enum { KERNEL_NAME_MAX = 64 };
bool kernel_mover_name(char name[KERNEL_NAME_MAX], const struct fun *fun, const struct stm *s);
