/* Kernel source: one body, three languages.
 *
 * The parameters of a generated kernel are, in this order: for each array of kernel->arrays its
 * memory, its offset (i64) and its strides (i64; thread dimensions of a private array first); then
 * kernel->scalars, of their own types; then the extents (i64), outermost first. Of an array in a
 * heap that the device runs itself the memory is the heap's arena and the offset one in the array's
 * block; behind its strides come the address buffer, the number of the first word of its slot (i64)
 * and the heap's index. Once the heap has failed such a kernel does nothing. The statements that
 * move data (copy, concat, with, replicate, iota) are kernels as well, made here for the ranks and
 * types that a program uses:
 *
 *   gamut_copy_<rank>_<bytes>   arrays to, from; extents; rank 1 also for late elements
 *   gamut_fill_<type>_<rank>    array to; scalar value; extents
 *   gamut_iota_<type>           array to; extent
 *
 * The text of a GPU language means something else for each enum kernel_form: the device defines
 * GAMUT_FORM as its number when it compiles. In all of them a thread computes what the body says
 * for its index, in the order that the body says; they differ in what is taken for granted:
 *
 *   KERNEL_ANY     nothing: 64-bit indices, and a thread may stride over y and z
 *   KERNEL_NEAR    indices, and sums of index * stride in an array, fit 31 bits; the grid covers
 * all KERNEL_APART   and no array that is written shares memory with another array of the launch
 */
#ifndef GAMUT_PROGRAM_GENERATE_H
#define GAMUT_PROGRAM_GENERATE_H

#include "base/kernel_language.h"
#include "program/program.h"

/* What the kernels know of a heap (its heap_layout.h has all of it): the words of a slot that say where
 * the block is, (index * stride) words into the arena, and the bits of the index's first word that
 * say that something was refused. */
enum {
    KERNEL_SLOT_INDEX = 1,
    KERNEL_SLOT_STRIDE = 3,
    KERNEL_SLOT_WORDS = 4,
    KERNEL_HEAP_FAILURES = 31,
    KERNEL_SLOT_ARGUMENTS = 3
};

struct kernels {
    struct arena arena;
    const char *text;
    unsigned count;
    const char *const *names;
    /* How many neighbours in y (in x, if rank 1) a thread of the kernel computes in turn where it
     * is launched as KERNEL_APART; 1: just its own. */
    const unsigned *batches;
};

/* Everything that the funs of the program launch, for one language. Free with kernels_free. */
void program_generate(const struct program *program, enum kernel_language language,
                      struct kernels *kernels);
void kernels_free(struct kernels *kernels);
/* The number of a kernel by name; it must exist. */
unsigned kernels_find(const struct kernels *kernels, const char *name);

/* The names of the data-moving kernels, in a buffer of the caller. */
enum { KERNEL_NAME_MAX = 64 };
const char *kernel_copy_name(char name[KERNEL_NAME_MAX], unsigned rank, size_t element_bytes);
const char *kernel_fill_name(char name[KERNEL_NAME_MAX], enum element element, unsigned rank);
const char *kernel_iota_name(char name[KERNEL_NAME_MAX], enum element element);

#endif
