/* Inside the executor: the state that its files share. Not for others. */
#ifndef GAMUT_RUN_EXECUTOR_H
#define GAMUT_RUN_EXECUTOR_H

#include "run/execute/deferred.h"
#include "run/execute/execute.h"
#include "run/execute/array_layout.h"
#include "run/execute/liveness.h"
#include "run/execute/trace.h"

enum { NO_BLOCK = -1 };

/* An array that is bound: its layout counts elements from the start of the memory. */
struct array_state {
    uint64_t memory;
    struct layout layout;
    struct heap_array heap;
};

/* A block and how many hold it. `uses` counts the holders by the last-use rule, whatever the
 * policy. */
struct held_block {
    struct block block;
    struct allocator *allocator; /* that it is from */
    uint64_t requested;
    const char *tag;
    unsigned holders, uses;
    int next_free;
    bool in_heap; /* the device's heap: `block` then has a memory, and an offset once located */
    struct heap_block heap;
};

/* A value on its way from one name to another: an initial value, a result. */
struct passed {
    union scalar scalar;
    struct linear_size linear; /* of a scalar that is not known yet */
    int lacks;
    struct array_state array;
    int block;
};

/* What a step needs besides its statement; in the executor's arena. */
struct step_state {
    unsigned kernel; /* number of the kernel to launch, where the statement has one */
    unsigned argument_count;
    enum launch_arg_kind *kinds;
    union launch_value *arguments;
    struct launched_array *launched; /* the arrays of the statement's kernel */
    bool uses_heap;                  /* some of them are in a heap of the device */
    struct launch_array *used;       /* the same for a group of devices; NULL: it is none */
    struct passed *passed;           /* of an if or a loop: a value for each result */
    bool passes_arrays;
};

/* An array as a kernel has it. */
struct launched_array {
    const struct array_state *state;
    unsigned element_bytes;
    unsigned thread_rank; /* dimensions of its layout that are those of the threads */
    bool written;
    bool fresh;   /* what its elements were before means nothing */
    bool in_heap; /* the kernel finds it by its slot */
};

struct executor {
    const struct fun *fun;
    const struct program *program;
    struct device *device;
    struct device_program *built;
    const struct kernels *kernels;
    bool has_variants;    /* the device compiles kernels for what a launch takes for granted */
    bool adds_offsets;    /* see device_info */
    bool is_device_group; /* of devices */
    enum release_policy policy;
    struct arena arena;
    struct scope *root;

    /* by name */
    union scalar *values;
    struct array_state *arrays;
    int *block_of, *use_of;
    unsigned char *kinds;  /* enum name_kind, close together: names themselves are large */
    unsigned char *spaces; /* enum space, of memories */
    bool *has_arrays;      /* of a memory: is some array in it by this name? */
    /* Of a dry run: the scalar without a value that this one follows from, or NO_NAME. NULL: this
     * is no dry run. */
    int *lacks;
    unsigned *reads; /* of a dry run: how often a scalar has been read from an array */
    unsigned dry_iterations;
    const struct arguments *arguments;

    struct held_block *blocks;
    int free_block;
    unsigned block_capacity;

    struct allocator *allocators[SPACES];
    bool poison;
    uint64_t block_alignment;
    struct executor_counts counts;
    struct deferred *deferred; /* NULL: the run defers nothing */
    struct trace *trace;       /* NULL: the run is not recorded */
    struct error *error;
};

/* evaluate.c: the lowest file of the executor */
/* Sets the error to ERR_PROGRAM with the message and the position `at`, and returns it. */
int execute_fail(struct executor *e, struct place at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The value of an expression. ERR_USAGE where a dry run has no value for a scalar in it. */
int execute_evaluate(struct executor *e, const struct expr *expr, union scalar *value);
/* The same for an expression of i64. */
int execute_size(struct executor *e, const struct expr *expr, int64_t *size);
/* Waits, if need be, until the host knows the scalar `name`. */
int execute_need(struct executor *e, int name);
/* The size of a block for `name`, which may not be negative. */
int execute_block_bytes(struct executor *e, int name, const struct expr *size, struct place at,
                        int64_t *bytes);
/* Scalars of a dry run; not called in any other run. */
/* The first mention in `expr` of a scalar without a value, or NULL. */
const struct expr *dry_scalar_in(const struct executor *e, const struct expr *expr);
/* Does the scalar `name`, bound to `expr`, have no value because one in `expr` has none? Notes it. */
bool dry_scalar_follows(struct executor *e, int name, const struct expr *expr);
/* The scalar `name` is read from an array: takes the value that the caller gave for this read. */
void dry_scalar_read(struct executor *e, int name);
/* Before an iteration of a loop. ERR_USAGE if its condition has no value, or after too many
 * iterations. */
int dry_iteration(struct executor *e, const struct stm *loop);

/* bind.c */
/* Binds an array that the host will use: computes its layout from its type and checks that it stays
 * in its block. */
int execute_bind_array(struct executor *e, int name);
/* Binds an array that only kernels will use; in the device's heap perhaps without its location. */
int execute_bind_passed(struct executor *e, int name);
/* The same for an array in a block whose offset and size are as known as they need to be. */
int execute_bind_plain(struct executor *e, int name);
/* Shape and index function of a name, in numbers; with `but_rows` shape[0] stays 0. */
int execute_layout(struct executor *e, const struct name *name, bool but_rows,
                   struct layout *layout);
/* Are the two the same elements in the same order? `b`, perhaps a copy, is brought up to date. */
int execute_same_place(struct executor *e, const struct array_state *a, struct array_state *b,
                       bool *same);

/* blocks.c: references on blocks */
int blocks_alloc(struct executor *e, int name, const struct expr *bytes, struct place at);
void blocks_hold(struct executor *e, int name, int block); /* takes over one reference */
void blocks_add_reference(struct executor *e, int block);
/* Is the name's memory in a heap that the device runs? Never in a dry run. */
static inline bool blocks_in_heap(const struct executor *e, int memory)
{
    return e->deferred && memory != NO_NAME && e->fun->names[memory].space == SPACE_HEAP;
}
int blocks_last_use(struct executor *e, int name); /* the policy decides what that means */
int blocks_let_go(struct executor *e, int name);   /* whatever the policy */
void blocks_free_all(struct executor *e);
int blocks_trim(struct executor *e); /* of all spaces: gives back what is spare */

/* The program has waited for bytes of the device. */
static inline void execute_count_readback(struct executor *e, uint64_t bytes)
{
    e->counts.readback_count++;
    e->counts.copy[COPY_host_device].count++;
    e->counts.copy[COPY_host_device].bytes += bytes;
}

static inline unsigned execute_find_kernel(const struct executor *e, const char *name)
{
    return e->kernels ? kernels_find(e->kernels, name) : 0;
}

/* Names mostly hold nothing when they are told to let go: found out without a call. */
static inline bool blocks_holds(const struct executor *e, int name)
{
    return e->block_of[name] != NO_BLOCK || e->use_of[name] != NO_BLOCK;
}

/* array_log.c: tells the listener of the trace which arrays a statement has used and filled */
void array_log_statement(struct executor *e, const struct stm *stm);
void array_log_one(struct executor *e, int name, bool fresh);
void array_log_results(struct executor *e); /* somebody will read them */

/* move.c: statements that move data */
unsigned move_find_kernel(const struct executor *e, const struct stm *s);
/* The part of `whole` that the slice of a statement names. */
int move_slice_layout(struct executor *e, const struct stm *stm, const struct layout *whole,
                      struct layout *part);
/* Launches a kernel that moves data (generate.h) over to's shape; `element` is to's type. `from`
 * and `value` (of that type) may be NULL. */
int move_launch(struct executor *e, unsigned kernel, enum element element,
                const struct array_state *to, const struct array_state *from,
                const union scalar *value, struct place at);
int move_copy(struct executor *e, const struct step *s);
int move_concat(struct executor *e, const struct step *s);
int move_update(struct executor *e, const struct step *s);
int move_fill(struct executor *e, const struct step *s);
int move_iota(struct executor *e, const struct step *s);
int move_element(struct executor *e, const struct step *s);

/* launch.c */
/* The fastest variant of the kernel that a launch of these arrays can have. `launch` has the extents
 * of the device's index space, `extents` those of the kernel, outermost first. */
enum kernel_form launch_variant(const struct executor *e, const struct launch *launch,
                                const int64_t *extents, const struct launched_array *arrays,
                                unsigned count);
void launch_prepare(struct executor *e, struct step *s);
int launch_kernel(struct executor *e, const struct step *s);
/* A kernel about to be launched. */
struct kernel_call {
    unsigned kernel; /* its number */
    unsigned rank, group_items;
    int64_t extents[RANK_MAX]; /* outermost first */
    unsigned array_count;
    const struct launched_array *arrays;
    struct launch_array *used; /* room for as many, or NULL */
    int member;                /* as in struct launch */
    unsigned argument_count;
    const enum launch_arg_kind *kinds;
    const union launch_value *arguments;
    struct place at;
};
/* Launches it; nothing if an extent is 0. */
int launch_call(struct executor *e, const struct kernel_call *call);
/* Writes memory, offset and strides of an array behind the arguments there are. */
void launch_add_array(const struct executor *e, enum launch_arg_kind *kinds,
                      union launch_value *arguments, unsigned *count,
                      const struct launched_array *array);
void launch_add_scalar(enum launch_arg_kind *kinds, union launch_value *arguments, unsigned *count,
                       enum element element, union scalar value);

#endif
