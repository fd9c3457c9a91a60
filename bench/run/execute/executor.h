/* Inside the executor: the state that its files share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "program/element.h"
#include "program/program.h"
#include "run/execute/execute.h"
#include "run/execute/run_log.h"

/* Where names of memories die: after which statement no other mentions the name or an array in
 * it. */
struct names_list {
    unsigned count;
    int *names;
};

struct scope;

/* A statement. `released`: the names whose last use it is. `moved` (only for a loop): those of them
 * that are only its initial values; the executor releases these as soon as the loop's variables
 * hold them. */
struct step {
    struct step *next;
    const struct stm *stm;
    struct names_list released, moved;
    struct scope *then, *otherwise; /* branches of an if; `then` is also the body of a loop */
    void *state;                    /* for the executor's use */
};

/* A body. `unused`: names dead on entry. On exit two kinds may still be held: `bound`, names that
 * the body defines, and `entrusted`, outer names whose last use is inside it (only in a branch). */
struct scope {
    const struct body *body;
    struct step *first;
    struct names_list unused, bound, entrusted;
};

/* Analyses the body of an annotated fun. The result is in `arena`. */
struct scope *liveness_analyse(const struct fun *fun, struct arena *arena);

/* The layout of an array at run time, its index function in numbers:
 * element [i, j] is at element offset + i * stride[0] + j * stride[1] of a memory. */
struct layout {
    unsigned rank;
    int64_t shape[RANK_MAX];
    int64_t offset;
    int64_t stride[RANK_MAX];
};

/* The number of elements. */
int64_t layout_count(const struct layout *l);
/* Do a and b have the same rank and extents? */
bool layout_same_shape(const struct layout *a, const struct layout *b);
/* Numbers of the first and last element in the memory; the layout must not be empty. */
void layout_range(const struct layout *l, int64_t *first, int64_t *last);
/* Are the elements one after the other in row-major order? */
bool layout_contiguous(const struct layout *l);
/* Do a and b, of the same shape, name the same elements in the same order? Compares normalised
 * layouts: dimensions of one element do not matter, nor how a run of elements is cut up. */
bool layout_equal(const struct layout *a, const struct layout *b);
/* Have a and b one shape, and name the same elements, if any, in the same order? */
bool layout_matches(const struct layout *a, const struct layout *b);
/* Might a and b, in the same memory and counted in the same elements, share an element? Exact for
 * all but pathological strides, for which the answer is yes. */
bool layout_overlap(const struct layout *a, const struct layout *b);
/* Might two elements of l lie in one place? Yes too where strides interleave. */
bool layout_overlaps_itself(const struct layout *l);

enum { NO_BLOCK = -1 };

/* An array that is bound to a name. */
struct array_state {
    uint64_t memory;
    struct layout layout; /* in elements from the start of the memory */
};

/* A block that names hold. */
struct held_block {
    struct block block;
    struct allocator *allocator; /* the allocator that gave it */
    uint64_t requested;          /* bytes */
    const char *tag;
    unsigned holders; /* references by the release policy: with the last one the block is freed */
    unsigned uses;    /* references by the last-use rule, whatever the policy */
    int next_free;    /* if the block is spare: the next spare one, or NO_BLOCK */
};

/* A value being passed between names: a loop's initial value or a body's result. */
struct passed {
    union scalar scalar;
    int lacks; /* for a scalar in a dry run: as in struct executor */
    struct array_state array;
    int block;
};

/* A step's data in addition to its statement; in the executor's arena. */
struct step_state {
    unsigned kernel; /* number of the kernel to launch, if the statement has one */
    unsigned argument_count;
    enum launch_arg_kind *kinds;
    union launch_value *arguments;
    struct launched_array *launched; /* the arrays of the statement's kernel */
    struct launch_array *used;       /* as many as `launched`; NULL unless on a device group */
    struct passed *passed;           /* for an if or a loop: a value for each result */
    bool passes_arrays;
};

/* An array as a kernel has it. */
struct launched_array {
    const struct array_state *state;
    unsigned element_bytes;
    unsigned thread_rank; /* the first dimensions of its layout, which are those of the threads */
    bool written;
    bool fresh; /* the kernel makes the array and does not see its previous elements */
};

struct executor {
    const struct fun *fun;
    const struct program *program;
    struct device *device;
    struct device_program *built;
    const struct kernels *kernels;
    bool has_variants; /* the device compiles variants of a kernel (enum kernel_variant) */
    bool adds_offsets; /* see device_info */
    bool is_device_group;
    enum release_policy policy;
    struct arena arena;
    struct scope *root;

    /* by name */
    union scalar *values;
    struct array_state *arrays;
    int *block_of, *use_of;
    unsigned char *kinds;  /* enum name_kind, close together: names themselves are large */
    unsigned char *spaces; /* enum space of a memory */
    bool *has_arrays;      /* does a memory have an array in it? */
    /* For a scalar in a dry run: the scalar without a value that it follows from, or NO_NAME. The
     * table is NULL unless this is a dry run. */
    int *lacks;
    size_t
        *reads; /* in a dry run, of a scalar read from an array: the argument after its last one */
    unsigned dry_iterations;
    const struct arguments *arguments;

    struct held_block *blocks;
    int free_block; /* the first spare one */
    unsigned block_capacity;

    struct allocator *allocators[SPACES];
    bool poison;
    uint64_t block_alignment;
    struct executor_counts counts;
    struct run_log *trace;                     /* NULL: the run is not recorded */
    const struct read_listener *read_listener; /* NULL: no one is told what is read */
    struct error *error;
};

/* ---- evaluate.c: expressions; the lowest file of the executor ---- */

/* Sets the error to ERR_PROGRAM with the message and the position `at`, and returns it. */
int execute_fail(struct executor *e, struct source_position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The value of an expression. ERR_USAGE if a dry run has no value for a scalar in it. */
int execute_evaluate(struct executor *e, const struct expr *expr, union scalar *value);
/* The same for an expression of i64. */
int execute_size(struct executor *e, const struct expr *expr, int64_t *size);
/* The size of a block for `name`, which may not be negative. */
int execute_block_bytes(struct executor *e, int name, const struct expr *size,
                        struct source_position at, int64_t *bytes);
/* The next four are for dry runs. */
/* The first mention in `expr` of a scalar without a value, or NULL. */
const struct expr *dry_scalar_in(const struct executor *e, const struct expr *expr);
/* Does the scalar `name`, bound to `expr`, have no value because one in `expr` has none? Notes
 * it. */
bool dry_scalar_follows(struct executor *e, int name, const struct expr *expr);
/* The scalar `name` is read from an array: takes the value that the caller gave for this read, or
 * the last of them. False if the caller gave none. */
bool dry_scalar_read(struct executor *e, int name);
/* Called before an iteration of a loop. ERR_USAGE if its condition has no value, or after too many
 * iterations. */
int dry_iteration(struct executor *e, const struct stm *loop);

/* ---- blocks.c: references on blocks ---- */

/* `name = alloc(size)`: the name gets a fresh block, and drops its reference on the old one. */
int blocks_alloc(struct executor *e, int name, const struct expr *size, struct source_position at);
/* The name holds the block, and takes over one reference from the caller. */
void blocks_hold(struct executor *e, int name, int block);
/* Adds one reference to a block. */
void blocks_add_reference(struct executor *e, int block);
/* The last statement that uses the name has run. The policy decides whether it drops its
 * reference. */
int blocks_last_use(struct executor *e, int name);
/* The name drops its reference on its block, whatever the policy. */
int blocks_release(struct executor *e, int name);
/* Frees all blocks, and clears what names hold. */
void blocks_free_all(struct executor *e);
/* Lets the allocators of all spaces give spare memory back. Returns the first error. */
int blocks_trim(struct executor *e);
/* Does the name hold a block? Inline, because most names hold none when they are to drop it. */
static inline bool blocks_holds(const struct executor *e, int name)
{
    return e->block_of[name] != NO_BLOCK || e->use_of[name] != NO_BLOCK;
}

/* ---- bind.c: arrays in their blocks ---- */

/* Binds an array: computes its layout from its type and checks that it stays in its block. */
int execute_bind_array(struct executor *e, int name);
/* Computes the part of `whole` that the slice of a statement names. */
int execute_slice(struct executor *e, const struct stm *stm, const struct layout *whole,
                  struct layout *part);
/* Are both arrays the same elements in the same order? */
bool array_same_place(const struct array_state *a, const struct array_state *b);

/* ---- launch.c: kernels, and statements that move data ---- */

/* Called when the executor is opened: allocates what the step needs to run. */
void launch_prepare(struct executor *e, struct step *s);
/* Runs a statement that launches, moves or reads. */
int launch_statement(struct executor *e, const struct step *s);
/* The fastest variant of the kernel that a launch of these arrays can have. `launch` has the
 * extents of the device's index space, `extents` those of the kernel, outermost first. */
enum kernel_variant launch_variant(const struct executor *e, const struct launch *launch,
                                   const int64_t *extents, const struct launched_array *arrays,
                                   unsigned count);
