/* Inside the executor: values that the device has and the host does not know yet, and the blocks in
 * a heap of the device whose sizes they are. Not for others.
 *
 * `late x[i]` copies the element into a buffer of late values, in the order of the queue, and
 * nobody waits: the block of x may be given back at once. Such a scalar, and what follows from it
 * by sums and products with numbers, is known to the host as scale * value + add. Whoever needs a
 * number waits, and then all values that were captured become known: one wait and one read for all
 * of them. So a program computes the same with and without the word.
 *
 * `let m: mem heap = alloc(E)` is a command to the heap that the device runs (device_heap.h). Where
 * E is such a multiple of a value, the command takes the value from the buffer. Kernels find the
 * block by its slot (generate.h); all others ask where it is, and wait for that.
 *
 * What a block takes is only known when its value is. Until then allocations and frees are noted
 * with what the other spaces held at most in between, and the peaks of all together are worked out
 * when sizes are known, at the latest after the run (executor_settle).
 */
#ifndef GAMUT_RUN_LATE_H
#define GAMUT_RUN_LATE_H

#include <stdbool.h>
#include <stdint.h>

#include "program/program.h"

struct executor;
struct held_block;
struct array_state;
struct step;

/* scale * value + add; `serial` is the value's number, from 1 on in the run. 0: just `add`. */
struct late_form {
    uint64_t serial;
    int64_t scale, add;
};

/* ---- values (late.c) ---- */

/* Prepares for late elements of the fun, if it has any. */
void late_prepare(struct executor *e);
/* Begins a run: nothing is captured. Takes the buffer; the heap's source gives it. */
int late_begin(struct executor *e);
void late_end(struct executor *e);
/* `out = late array[index]`, which is that element of the memory. */
int late_capture(struct executor *e, const struct stm *stm, uint64_t memory, int64_t element);
/* Enqueues a copy of element `index` of the memory to byte `place` of the buffer; nothing in
 * a fun without late elements, whose buffer nobody reads. */
int late_put(struct executor *e, uint64_t place, uint64_t memory, int64_t index,
             enum element element, struct place at);
/* Waits until all values are known and puts them where they belong: names, arrays, blocks. Nothing
 * to do: no wait. `counted`: the wait is the program's. ERR_OOM if the heap has refused something.
 */
int late_settle(struct executor *e, bool counted);
bool late_is_pending(const struct executor *e);
/* Does the expression mention a scalar that is not known? */
bool late_in(const struct executor *e, const struct expr *expr);
/* Writes an expression of i64 as a form. False where it is none: it needs the number, and *form is
 * anything. */
bool late_form_of(const struct executor *e, const struct expr *expr, struct late_form *form);
/* A form that was picked up before values became known. ERR_PROGRAM beyond 64 bits. */
int late_resolve(struct executor *e, struct late_form *form, union scalar *value,
                 enum element element);
/* Has its value become known since it was picked up? Then late_resolve may be called. */
bool late_is_known(const struct executor *e, const struct late_form *form);
/* What a scalar is; {0}: its value is known. */
struct late_form late_of(const struct executor *e, int name);
void late_bind(struct executor *e, int name, struct late_form form);
/* Where the heap finds values: the buffer, in words, and the word of a value that is pending. */
struct late_values {
    uint64_t memory;
    uint32_t words;
};
struct late_values late_values(const struct executor *e);
uint32_t late_word(const struct executor *e, uint64_t serial);
enum element late_type(const struct executor *e, uint64_t serial);
/* The scalar is needed as a number. */
int late_need(struct executor *e, int name);

/* ---- blocks (late_heap.c) ---- */

struct late_heap;

/* Builds the heap's kernels, if the fun has memory in a heap. */
int late_heap_prepare(struct executor *e);
void late_heap_forget(struct executor *e);
/* Opens the heap for a run, once the parameters are bound; the source gives its memory. */
int late_heap_begin(struct executor *e);
void late_heap_end(struct executor *e);

/* `name = alloc(expr)`: fills in the block. */
int late_heap_alloc(struct executor *e, int name, struct held_block *block, const struct expr *expr,
                    struct place at);
/* Nobody needs it any more by the last-use rule; nobody holds it any more. */
int late_heap_use_ends(struct executor *e, const struct held_block *block);
int late_heap_free(struct executor *e, struct held_block *block);
/* Gives the device the allocations that were not given yet. Whether they went well comes to the
 * buffer's first word behind them, so that nobody has to wait for that once more. */
int late_heap_submit(struct executor *e);
/* Waits; where the block lies, into the block. */
int late_heap_locate(struct executor *e, struct held_block *block);
/* Binds an array in the heap for kernels, its outermost size perhaps still unknown. */
int late_heap_bind(struct executor *e, int name);
/* Operands in the heap of a statement that is no kernel: known and located. */
int late_heap_need(struct executor *e, const struct stm *stm);
/* The slot's arguments of a kernel. */
struct late_slot {
    uint64_t slots, index;
    int64_t word;
};
struct late_slot late_heap_slot(const struct executor *e, const struct array_state *array);
/* Do the elements of any block of the heap have numbers of 31 bits? */
bool late_heap_is_near(const struct executor *e, unsigned element_bytes);
/* Values have become known: sizes of blocks, and the peaks up to now. */
int late_heap_settle(struct executor *e);
int late_heap_check_status(struct executor *e, uint32_t status);
/* Waits, and checks it. */
int late_heap_read_status(struct executor *e);
/* After a run: the peaks with the heap's blocks in them. */
void late_heap_finish(struct executor *e);

#endif
