/* Access analysis: which threads of a kernel touch which elements, and in which order, as far as
 * the kernel's text shows it. Merge passes ask whether two arrays may share memory inside one
 * launch.
 *
 * The in-place rule is the interference exception of Serup 2017 with a hole closed: the thesis
 * compares one read of a block with the write, this analysis compares every read with every write.
 * The text is C and is never fully parsed. An access that is not surely right is refused, with a
 * reason.
 *
 * Assumed and not checked: the text is C, not C++; indices stay within their dimensions, and signed
 * sums within their types; the elements of an array lie at different addresses; the launch writes
 * nothing but its results.
 */
#pragma once

#include "program/program.h"

/* ---- facts ---------------------------------------------------------------------------------- */

enum access_index_kind {
    ACCESS_ANY,      /* unknown: any index of the dimension */
    ACCESS_THREAD,   /* a thread index plus a constant */
    ACCESS_CONSTANT, /* a literal */
    ACCESS_NAME,     /* a scalar of the program plus a constant: the same throughout the launch */
    ACCESS_COUNTER,  /* the counter of a loop in the text plus a constant */
    ACCESS_SUM,      /* in regions: a sum of thread indices and counters, each times a scalar */
};

struct access_index {
    enum access_index_kind kind;
    /* ACCESS_THREAD: the dimension of the index; kernel->rank: the item of a work-group.
     * ACCESS_COUNTER: the loop. */
    unsigned number;
    int name;         /* ACCESS_NAME: the scalar; else NO_NAME */
    int64_t constant; /* the constant that is added, or the literal itself */
    /* ACCESS_COUNTER, in regions: the counter's first value, and how many it takes at most */
    struct expr *first, *count;
    const struct access_sum *sum; /* ACCESS_SUM */
};

/* start + factor * index + …; each index is an ACCESS_THREAD or an ACCESS_COUNTER. */
enum { ACCESS_TERMS = 4 };
struct access_sum {
    struct expr *start;
    unsigned count;
    struct access_term {
        struct access_index index;
        struct expr *factor;
    } terms[ACCESS_TERMS];
};

struct access_fact {
    const struct access *access;
    bool read, written; /* both in `x[i] += 1` */
    struct access_index index[RANK_MAX];
    size_t begin, end; /* offsets of its statement in the text */
    bool plain;        /* the statement is `x[i] = expression;` and this is x */
    bool pure;         /* `plain`, and the expression changes nothing but x[i] */
    int loop;          /* the number of the innermost loop around it, or -1 */
};

struct ctext;

struct kernel_access {
    struct program *program;
    const struct fun *fun;
    const struct stm *stm;
    const struct kernel *kernel;
    unsigned count;
    struct access_fact *facts; /* one for each of kernel->accesses */
    const struct ctext *text;
};

/* Finds the facts of a STM_KERNEL. They are in the arena, and hold until the kernel is changed. */
struct kernel_access *access_analyse(struct program *program, const struct fun *fun,
                                     const struct stm *stm, struct arena *arena);

/* The reason why the order and the names in the text are unreliable, or NULL if they are reliable.
 * If they are not, every question below gets the most cautious answer. */
const char *access_unclear(const struct kernel_access *ka);

/* The line in the program of an offset in the kernel's text. */
unsigned access_line(const struct kernel_access *ka, size_t offset);

/* ---- may a result be written where its inputs lie? ------------------------------------------ */

/* X(name, sentence): the conditions in the order in which they are checked; the sentence says what
 * is wrong. */
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

#define ACCESS_CHECK(name, ...) ACCESS_CHECK_##name,
enum access_check { ACCESS_CHECK_LIST(ACCESS_CHECK) ACCESS_CHECKS };
#define ACCESS_WITHOUT(name) (1u << ACCESS_CHECK_##name)

/* The sentence of the list. */
const char *access_check_sentence(enum access_check check);

struct access_question {
    int out; /* a result of the kernel */
    /* All arrays that the kernel reads in the block that is to be shared. The caller has checked
     * that they are dead after the statement, and after every loop around it. */
    const int *killed;
    unsigned killed_count;
    /* Also allow kernels in which each thread has its own part of the arrays (some of the indices
     * are the thread's) and goes over it in order: y[i, k] = x[i, k] in a loop over k, or all of
     * x[i, ...] before all of y[i, ...]. */
    bool rows;
    unsigned switches; /* ACCESS_WITHOUT(...): conditions to leave out, for tests of each */
    /* Will `out` and `killed` have the same shape, and element [i, j] of both the same offset, for
     * all i, j? */
    bool (*same_place)(void *context, int out, int killed);
    void *context;
};

struct access_refusal {
    enum access_check check;
    int killed;    /* the array that it is about, or NO_NAME */
    unsigned line; /* in the program: the line of the access, or else that of the kernel */
};

/* True: in any order of the threads, the launch writes the same values if `out` overwrites the
 * `killed` arrays. False: *refusal (`refusal` may be NULL) says why. */
bool access_in_place(const struct kernel_access *ka, const struct access_question *question,
                     struct access_refusal *refusal);

/* ---- may two private arrays share memory? --------------------------------------------------- */

enum access_order { ACCESS_OVERLAP, ACCESS_BEFORE, ACCESS_AFTER };

/* ACCESS_BEFORE: in every thread all accesses to private array a come before all to b. The arrays
 * may then share memory, if no thread's part of either overlaps another thread's part of either.
 * Obeys the `switches` TEXT, LOOP, ORDER and TYPE. */
enum access_order access_private_order(const struct kernel_access *ka, int a, int b,
                                       unsigned switches);

/* ---- which elements are touched? ------------------------------------------------------------ */

/* The elements that one access may touch; an ACCESS_COUNTER has `first` and `count`. A fact has no
 * ACCESS_SUM: its index is ACCESS_ANY. */
struct access_region {
    unsigned rank;
    struct access_index dim[RANK_MAX];
};

/* The region of one access: all of the array if the text is unclear. */
struct access_region access_region_of(const struct kernel_access *ka,
                                      const struct access_fact *fact);

/* ---- which private arrays are copied into others? ------------------------------------------- */

/* `y[k + start] = x[k];` in a loop over k, for private arrays x and y of one element type: all or
 * some elements of x, each to its place in y. */
struct access_copy {
    int source, destination;
    const struct access_fact *read, *write;
    /* For each dimension of y: the one of x that runs along it, or -1; and where x begins. */
    int dim[RANK_MAX];
    struct expr *start[RANK_MAX];
};
struct access_copies {
    unsigned count;
    struct access_copy *items;
};

/* All copies between private arrays, in the order of the text and in the arena. The starts are
 * expressions of the program's arena. */
struct access_copies access_private_copies(const struct kernel_access *ka, struct arena *arena);
/* In every thread, does `fact` come before all of the copy, or after it? */
enum access_order access_copy_order(const struct kernel_access *ka, const struct access_copy *copy,
                                    const struct access_fact *fact);
