/* What the text of a kernel tells about the memory it touches: which threads touch which elements,
 * and what comes first. Merge passes ask whether two arrays may share memory inside one launch.
 *
 * The in-place rule is the interference exception of Serup 2017 with a hole closed: there one read
 * of a block was compared with the write, here every read is compared with every write. The text is
 * C that is never fully parsed. What is not surely right is refused, with a reason.
 *
 * Believed and not checked: the text is C, not C++; indices stay within their dimensions; the
 * elements of an array lie at different places; nobody but this kernel's results is written in the
 * launch.
 */
#ifndef GAMUT_MERGE_ACCESS_H
#define GAMUT_MERGE_ACCESS_H

#include "base/text.h"
#include "program/program.h"

/* ---- facts ---------------------------------------------------------------------------------- */

enum access_index_kind {
    ACCESS_ANY,      /* nothing is known: anything in the dimension */
    ACCESS_THREAD,   /* a thread index plus a constant */
    ACCESS_CONSTANT, /* a literal */
    ACCESS_NAME,     /* a scalar of the program plus a constant: the same throughout the launch */
    ACCESS_COUNTER,  /* the counter of a loop in the text plus a constant */
};

struct access_index {
    enum access_index_kind kind;
    unsigned number;  /* of the thread's index, kernel->rank for the item of a group; of the loop */
    int name;         /* of ACCESS_NAME, else NO_NAME */
    int64_t constant; /* what is added, or the literal itself */
};

struct access_fact {
    const struct access *access;
    bool read, written; /* both in `x[i] += 1` */
    struct access_index index[RANK_MAX];
    size_t begin, end; /* its statement, in the text */
    bool plain;        /* the statement is `x[i] = expression;` and this is x */
    bool pure;         /* and nobody but x[i] gets anything from the expression */
    int loop;          /* the innermost loop around it, or -1 */
};

struct ctext;

struct kernel_access {
    const struct fun *fun;
    const struct stm *stm;
    const struct kernel *kernel;
    unsigned count;
    struct access_fact *facts; /* one for each of kernel->accesses */
    const struct ctext *text;
};

/* The facts of a STM_KERNEL, in the arena; they hold until the kernel is changed. */
struct kernel_access *access_analyse(const struct program *program, const struct fun *fun,
                                     const struct stm *stm, struct arena *arena);

/* Why order and names in the text cannot be relied on, or NULL: then every question is answered
 * with the worst. */
const char *access_unclear(const struct kernel_access *ka);

/* The line in the program of a place in the kernel's text. */
unsigned access_line(const struct kernel_access *ka, size_t offset);

/* ---- may a result be written where its inputs lie? ------------------------------------------ */

/* X(name, what is wrong): the conditions, in the order in which they are checked. */
#define ACCESS_CHECK_LIST(X)                                                                       \
    X(TEXT, "the text is not understood, so the order of its statements is unknown")               \
    X(OUT, "the array is not a result of the kernel")                                              \
    X(TAKEN_OVER, "the result takes over another array's contents")                                \
    X(INPUT_WRITTEN, "the array that would be overwritten is a result of the kernel itself")       \
    X(SIZE, "the elements of the two arrays have different sizes")                                 \
    X(PLACE, "the same indices are at different offsets in the two arrays")                        \
    X(WRITE_INDEX, "a thread writes the result at other indices than its own")                     \
    X(WRITE_THREADS, "two threads may write the same element")                                     \
    X(OUT_READ, "the result is read before it is written, or at other indices")                    \
    X(READ_INDEX, "the array is read at other indices than those at which the result is written")  \
    X(LOOP, "a loop comes back to an element that it has overwritten")                             \
    X(ORDER, "the array is read, or may be read, after the result is written")                     \
    X(TYPE, "C compilers may assume that values of these two types never share memory")

enum access_check {
#define X(name, sentence) ACCESS_CHECK_##name,
    ACCESS_CHECK_LIST(X)
#undef X
        ACCESS_CHECKS
};
#define ACCESS_WITHOUT(name) (1u << ACCESS_CHECK_##name)

const char *access_check_name(enum access_check check); /* "ORDER" */
const char *access_check_sentence(enum access_check check);

struct access_question {
    int out; /* a result of the kernel */
    /* All arrays that the kernel reads in the block that is to be shared. That they are dead after
     * the statement, in every loop around it as well, is for the caller to know. */
    const int *killed;
    unsigned killed_count;
    /* Also where each thread has a part of the arrays of its own, told by some of the indices being
     * all the thread's, and goes over it in the same order: y[i, k] = x[i, k] in a loop over k, or
     * all of x[i, ...] before all of y[i, ...]. */
    bool rows;
    unsigned switches; /* ACCESS_WITHOUT(...): conditions to leave out, to show what they are for */
    /* Will element [i, j] of `out` and of `killed` be at the same place in the block, for all i, j,
     * and have both the same shape? NULL: as their index functions are spelt now. */
    bool (*same_place)(void *context, int out, int killed);
    void *context;
};

struct access_refusal {
    enum access_check check;
    int killed;    /* the array that it is about, or NO_NAME */
    unsigned line; /* of the access that it is about, in the program; else of the kernel */
};

/* True: whatever the threads' order, the launch writes the same with `out` in the place of the
 * `killed`. False: *refusal (may be NULL) says why. */
bool access_in_place(const struct kernel_access *ka, const struct access_question *question,
                     struct access_refusal *refusal);

/* ---- may two private arrays share memory? --------------------------------------------------- */

enum access_order { ACCESS_OVERLAP, ACCESS_BEFORE, ACCESS_AFTER };

/* ACCESS_BEFORE: in every thread all accesses of private array a come before all of b. They may
 * share memory then if a thread's part of either overlaps no other thread's part of either. Obeys
 * the `switches` TEXT, LOOP, ORDER and TYPE. */
enum access_order access_private_order(const struct kernel_access *ka, int a, int b,
                                       unsigned switches);

/* ---- which elements are touched? ------------------------------------------------------------ */

/* What one access may touch: in each dimension ACCESS_ANY, ACCESS_THREAD, ACCESS_CONSTANT or
 * ACCESS_NAME. */
struct access_region {
    unsigned rank;
    struct access_index dim[RANK_MAX];
};
struct access_regions {
    unsigned count;
    struct access_region *items;
};

/* All that the launch may read or write of an array is in one of these; in the arena. */
struct access_regions access_reads(const struct kernel_access *ka, int array, struct arena *arena);
struct access_regions access_writes(const struct kernel_access *ka, int array, struct arena *arena);

#endif
