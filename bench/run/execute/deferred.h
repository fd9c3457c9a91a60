/* Hooks for work that a run may defer: values that the device has computed and the host does not
 * know yet, and blocks of such sizes in a heap that the device runs. Without hooks the executor
 * reads each value at once, and refuses memory in such a heap. The caller of executor_open passes
 * an implementation in.
 */
#ifndef GAMUT_RUN_EXECUTE_DEFERRED_H
#define GAMUT_RUN_EXECUTE_DEFERRED_H

#include <stdbool.h>
#include <stdint.h>

#include "program/program.h"

struct executor;
struct step;
struct held_block;
struct array_state;

/* scale * value + add, for a value that the host does not know yet; `serial` is the value's number
 * in the run, from 1. {0}: nothing is unknown. */
struct linear_size {
    uint64_t serial;
    int64_t scale, add;
};

/* The place of an array in the device's heap; zero for all other arrays. */
struct heap_array {
    uint32_t slot; /* number of the slot with the block's address */
    int64_t base;  /* the block's part of the layout's offset, in elements; 0 until located */
    struct linear_size rows; /* shape[0] if the host does not know it; shape[0] is then 0 */
};

/* A block in the device's heap; zero for all others. */
struct heap_block {
    uint32_t slot;
    bool located;             /* the host knows the block's offset */
    unsigned unit;            /* the granted bytes are a multiple of this */
    struct linear_size bytes; /* the requested bytes; held_block.requested is 0 while unknown */
};

/* Two memories of the device by which kernels find blocks of the heap (generate.h). */
struct heap_view {
    uint64_t slots, index;
    uint64_t bytes; /* size of the heap */
};

/* All hooks are required. Those that return an int return 0 or an error code, with the text in the
 * executor's error, and may wait for the device. */
struct deferred_ops {
    /* ---- a run ---- */
    /* The run's parameters are bound. */
    int (*begin)(struct executor *e);
    /* executor_end is about to return; called also after failures. */
    void (*end)(struct executor *e);

    /* ---- values ---- */
    /* The host needs every scalar in `expr` as a number. */
    int (*need)(struct executor *e, const struct expr *expr);
    /* May `expr` stay unknown to the host? If so, *linear receives its linear size. */
    bool (*defer)(struct executor *e, const struct expr *expr, struct linear_size *linear);
    /* `name` has received its entry of executor.values from another name. `linear` is the linear
     * size that the other name had then. Sets the value of `name`, or its linear size. */
    int (*receive)(struct executor *e, int name, struct linear_size linear);
    /* `stm` reads an element, by its number in a memory. *deferred: the hook takes the value later;
     * otherwise the executor reads it. */
    int (*read)(struct executor *e, const struct stm *stm, uint64_t memory, int64_t element,
                bool *deferred);

    /* ---- statements ---- */
    /* Before any statement: locates the operands that the statement reads without a kernel. */
    int (*operands)(struct executor *e, const struct stm *stm);
    /* Before a launch, with its arrays bound: sees to it that its scalars and extents are known and
     * the blocks of its arrays allocated. */
    int (*launch)(struct executor *e, const struct step *step);

    /* ---- blocks in the device's heap ---- */
    /* `name = alloc(size)`: fills in `block`. */
    int (*alloc)(struct executor *e, int name, struct held_block *block, const struct expr *size,
                 struct source_position at);
    /* The last use of the block has passed. */
    int (*end_use)(struct executor *e, const struct held_block *block);
    /* The last reference to the block is gone: frees it. */
    int (*free)(struct executor *e, struct held_block *block);
    /* Binds an array in the heap; `locate`: the host also needs its place and its shape. */
    int (*bind)(struct executor *e, int name, bool locate);
    /* Are the array `name` and `b`, in the heap or not, the same elements in the same order? Brings
     * `b`, perhaps a copy of an array's state, up to date. */
    int (*same_place)(struct executor *e, int name, struct array_state *b, bool *same);
};

/* The head of an implementation's own struct. */
struct deferred {
    const struct deferred_ops *ops;
    struct linear_size *linear; /* by name number of a scalar; the executor sets them too */
    struct heap_view heap;      /* set by begin */
};

#endif
