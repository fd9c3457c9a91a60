/* Inside the generator: what its files share. Not for others. */
#ifndef GAMUT_PROGRAM_GENERATE_PARTS_H
#define GAMUT_PROGRAM_GENERATE_PARTS_H

#include "base/text.h"
#include "program/generate.h"

struct generator {
    const struct program *program;
    enum kernel_language language;
    struct text out;
    struct arena *arena;
    const char **names;
    unsigned *batches; /* as many as names */
    unsigned name_count, name_capacity;
};

/* A kernel and the names it uses. */
struct source {
    const struct fun *fun;
    const struct kernel *kernel;
};

/* generate.c */
const char *c_type(enum element element);
unsigned strides_of(const struct name *array);
const struct name *name_at(const struct source *s, int name);
/* Is the array's block found by its slot? */
bool is_in_heap(const struct source *s, const struct name *array);
void emit_body(struct generator *g, const struct source *s);
void emit_parameters(struct generator *g, const struct source *s);
void emit_locals(struct generator *g, const struct source *s);
/* Declares the indices of dimensions [0, count) from their flat number gamut_q, last one fastest.
 */
void emit_indices(struct generator *g, const struct source *s, unsigned count);

/* generate_gpu.c */
void emit_gpu_kernel(struct generator *g, const struct source *s);
unsigned gpu_batch(const struct kernel *k); /* see kernels.batches */
/* Is the scalar also an extent, from which the kernel takes it, and not from its parameter? */
bool gpu_is_extent(const struct kernel *k, int scalar);

#endif
