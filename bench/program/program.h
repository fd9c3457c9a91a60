/* The explicit-memory program: what a `.mem` file says, as data. README.md describes the text.
 *
 * The representation is the thesis's EXPLICITMEMORY (chapter 3 of Serup, Memory Block Merging in
 * Futhark, 2017): A-normal form, every name bound once, an index function for every array. An index
 * function here is an offset and a stride for each dimension (an LMAD), which expresses every slice
 * and permutation of a contiguous array without the thesis's stack of constructors.
 *
 * Everything a program points to lives in its arena and dies with it.
 */
#ifndef GAMUT_PROGRAM_PROGRAM_H
#define GAMUT_PROGRAM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "program/element.h"

/* A position in the text of a program. */
struct source_position {
    unsigned line, column; /* from 1 */
};

/* ---- scalar expressions -------------------------------------------------------------------- */

/* X(name, text, arity); arity 1 of a text with letters is written text(a), of 2 text(a, b). */
#define EXPR_OP_LIST(X)                                                                            \
    X(NEG, "-", 1)                                                                                 \
    X(NOT, "!", 1)                                                                                 \
    X(SQRT, "sqrt", 1)                                                                             \
    X(EXP, "exp", 1)                                                                               \
    X(LOG, "log", 1)                                                                               \
    X(SIN, "sin", 1)                                                                               \
    X(COS, "cos", 1)                                                                               \
    X(MIN, "min", 2)                                                                               \
    X(MAX, "max", 2)                                                                               \
    X(MUL, "*", 2)                                                                                 \
    X(DIV, "/", 2)                                                                                 \
    X(MOD, "%", 2)                                                                                 \
    X(ADD, "+", 2)                                                                                 \
    X(SUB, "-", 2)                                                                                 \
    X(SHL, "<<", 2)                                                                                \
    X(SHR, ">>", 2)                                                                                \
    X(LT, "<", 2)                                                                                  \
    X(LE, "<=", 2)                                                                                 \
    X(GT, ">", 2)                                                                                  \
    X(GE, ">=", 2)                                                                                 \
    X(EQ, "==", 2)                                                                                 \
    X(NE, "!=", 2)                                                                                 \
    X(BITAND, "&", 2)                                                                              \
    X(AND, "&&", 2)                                                                                \
    X(OR, "||", 2)

enum expr_op {
    EXPR_CONSTANT,
    EXPR_NAME,
    EXPR_CONVERT, /* to the expression's type */
#define X(name, text, arity) EXPR_##name,
    EXPR_OP_LIST(X)
#undef X
        EXPR_OPS
};

struct expr {
    enum expr_op op;
    enum element type;
    bool untyped; /* a literal, or made of literals: takes the type that is needed */
    struct source_position at;
    union {
        union scalar value;  /* EXPR_CONSTANT */
        int name;            /* EXPR_NAME */
        struct expr *arg[2]; /* the others */
    };
};

/* ---- names --------------------------------------------------------------------------------- */

enum name_kind { NAME_SCALAR, NAME_ARRAY, NAME_MEMORY };

/* Where a memory lies, which is part of its type (as in Futhark's representation; PoCL too gives
 * each space an allocator of its own). X(name, text, sentence) */
#define SPACE_LIST(X)                                                                              \
    X(DEVICE, "device", "memory of the device")                                                    \
    X(PINNED, "pinned", "memory of the host that the device reaches")                              \
    X(HEAP, "heap", "memory handed out by a heap that the device runs itself")

enum space {
#define X(name, text, sentence) SPACE_##name,
    SPACE_LIST(X)
#undef X
        SPACES
};
const char *space_name(enum space space); /* "device", … */

/* Element [i, j] is at element offset + i * stride[0] + j * stride[1] of the block. offset == NULL
 * stands for the plain case: row-major from the start of the block. */
struct index_function {
    struct expr *offset;
    struct expr *stride[RANK_MAX];
};

enum { NO_NAME = -1 };

/* What is known of a name. Numbers of names are dense: 0 to fun->name_count - 1. */
struct name {
    const char *text;
    struct source_position at;
    enum name_kind kind;
    enum element element; /* of a scalar or an array */
    unsigned rank;        /* of an array */
    struct expr *shape[RANK_MAX];
    bool unique; /* marked `*` */
    int memory;  /* of an array: the name of its block, or NO_NAME */
    struct index_function index;
    unsigned thread_rank; /* of a kernel's private array: dimensions that index has in front */
    bool local;           /* of a kernel's local array: its memory is the work-group's */
    bool scoped; /* a kernel's own or a loop's counter: others may have the text where this is not
                    in scope */
    enum space space;   /* of a memory */
    struct expr *bytes; /* of a memory parameter: its size */
};

/* ---- statements ---------------------------------------------------------------------------- */

enum stm_kind {
    STM_SCALAR,    /* out = expr */
    STM_ELEMENT,   /* out = array[index], or late array[index] */
    STM_ASSERT,    /* expr */
    STM_ALLOC,     /* out = alloc(expr) */
    STM_SCRATCH,   /* out = scratch */
    STM_IOTA,      /* out = iota */
    STM_REPLICATE, /* out = replicate(expr) */
    STM_COPY,      /* out = copy array */
    STM_CONCAT,    /* out = concat(pieces) */
    STM_ALIAS,     /* out = array */
    STM_RESHAPE,   /* out = reshape array */
    STM_REARRANGE, /* out = rearrange (permutation) array */
    STM_SLICE,     /* out = array[slice] */
    STM_UPDATE,    /* out = array with [slice] <- value */
    STM_IF,
    STM_LOOP,
    STM_KERNEL,
};

/* One dimension of a slice. */
struct slice_dim {
    bool fixed;                 /* an index: the dimension is gone */
    struct expr *start;         /* NULL: all of the dimension */
    struct expr *length, *step; /* unless fixed; step NULL: 1 */
};

struct body {
    struct stm *first;
    unsigned result_count;
    int *results;
    struct source_position at, results_at;
};

struct piece {
    int array;
    bool copied; /* written `copy x`: the same meaning, kept for the reader */
};

struct loop {
    unsigned param_count;
    int *params;
    struct expr **init_exprs; /* of scalar parameters, else NULL */
    int *init_names;          /* of arrays and memories, else NO_NAME */
    int counter;              /* `for counter < bound`, or NO_NAME */
    struct expr *bound;
    int condition; /* `while condition`, one of params, or NO_NAME */
    struct body body;
};

struct kernel;

struct stm {
    struct stm *next;
    enum stm_kind kind;
    struct source_position at;
    /* Numbers that analyses give to statements; nothing in bench/program uses them. */
    unsigned first, last;   /* merge/outline.h */
    unsigned size_position; /* merge/size/size.h */
    unsigned out_count;
    int *outs;
    struct expr *expr; /* also the condition of an if, the scalar value of an update (else NULL) */
    int array;         /* the source; of an update, what is updated */
    int value;         /* of an update: the array put in, or NO_NAME */
    bool value_copied;
    bool late;         /* of an element: nobody waits for it until its value is needed */
    bool loop_carried; /* of a copy: it moves a loop's result into the loop's own buffer */
    unsigned permutation[RANK_MAX];
    unsigned slice_rank; /* of STM_SLICE, STM_UPDATE, STM_ELEMENT */
    struct slice_dim slice[RANK_MAX];
    unsigned piece_count;
    struct piece *pieces;
    struct body *then, *otherwise; /* of an if */
    struct loop *loop;
    struct kernel *kernel;
};

/* ---- kernels ------------------------------------------------------------------------------- */

/* `x[i, j]` in a kernel's text. */
struct access {
    int array;
    bool written;      /* stands to the left of an assignment, or is incremented */
    size_t begin, end; /* of the whole, in the text */
    unsigned rank;
    struct {
        size_t begin, end;
    } index[RANK_MAX];
};

struct each {
    size_t keyword, open, close; /* of `each`, `{` and `}` in the text */
};

enum { DEVICE_NUMBER_MAX = 7 }; /* of `on` */

struct kernel {
    struct kernel *next; /* in fun->kernels */
    const char *name;    /* unique in the program */
    struct source_position at;
    unsigned on; /* the number of the device that runs it, among those of a group; 0 unless said */
    unsigned rank;
    int indices[RANK_MAX]; /* i32 scalars */
    struct expr *extents[RANK_MAX];
    int *taken_over; /* for each out of the statement: the array whose place it takes, or NO_NAME */
    unsigned private_count;
    int *privates;
    int item; /* of a group kernel: the i32 scalar of the item, else NO_NAME */
    unsigned group_items;
    unsigned local_count;
    int *locals;

    const char *text; /* between the braces */
    size_t length;
    struct source_position text_at;
    /* Found in the text: */
    unsigned access_count;
    struct access *accesses;
    unsigned each_count;
    struct each *eaches;
    unsigned array_count; /* arrays in global memory, each once: outs, then as they appear */
    int *arrays;
    unsigned scalar_count; /* scalars of the program, each once, as they appear */
    int *scalars;
};

/* ---- programs ------------------------------------------------------------------------------ */

struct name_table;

struct fun {
    const char *name;
    struct source_position at;
    unsigned param_count;
    int *params;
    struct expr *traffic; /* or NULL */
    struct body body;
    struct kernel *kernels; /* last first */
    unsigned name_count;
    struct name *names;
    struct name_table *table; /* text -> number */
    const struct program *program;
};

/* A value in a dataset: a scalar expression or a list of values. */
struct literal {
    struct source_position at;
    struct expr *scalar; /* NULL: a list */
    unsigned count;
    struct literal *items;
};
struct setting {
    const char *name;
    struct source_position at;
    int scalar; /* the setting's number among the dataset's names, or NO_NAME for a list */
    struct literal value;
};
struct dataset {
    const char *name;
    struct source_position at;
    unsigned setting_count, expect_count;
    struct setting *settings, *expects;
    struct fun *names; /* owns the names that the expressions use; it has no body */
};

struct code {
    struct source_position at;
    const char *text;
    size_t length;
};

struct program {
    struct arena arena;
    const char *path; /* for messages */
    const char *text;
    unsigned fun_count, dataset_count, code_count;
    struct fun *funs;
    struct dataset *datasets;
    struct code *codes;
};

/* ---- reading, checking, writing ------------------------------------------------------------ */

/* Parses `text` (of `length` bytes, copied). ERR_PARSE with file:line:column, the line and what was
 * expected. Names, types and ranks are resolved; program_verify checks the rest. */
int program_parse(const char *path, const char *text, size_t length, struct program **program,
                  struct error *error);
void program_free(struct program *program);

/* Checks what README.md says the verifier refuses. */
int program_verify(const struct program *program, struct error *error);

/* Gives memory to every array that has none yet (chapter 3 of the thesis): a block for each fresh
 * array, the source's block for each view, existential memory for branches and loops, a double
 * buffer and its copy for a loop whose result is fresh in every iteration. ERR_PARSE where an index
 * function cannot express a view. A program that is annotated throughout is left as it is. */
int program_annotate(struct program *program, struct error *error);

/* Parse, verify, annotate, verify. */
int program_read(const char *path, const char *text, size_t length, struct program **program,
                 struct error *error);

/* A program of this one fun, to be changed by passes. Names keep their numbers, kernels their names
 * and arguments. The fun's own program must outlive it (program_free). It has no datasets. */
struct program *program_clone(const struct fun *fun);

/* The place of a view in its source's block, which is that of `source` changed by the statement
 * (alias, reshape, rearrange, slice, update): into *index. `source` need not be the name that the
 * statement mentions. False where an offset and strides cannot express it. */
bool program_view_index(struct program *program, const struct fun *fun, const struct stm *stm,
                        const struct name *source, struct index_function *index);
/* The place of the part of `whole` that a slice statement or an update names. */
void program_slice_index(struct program *program, const struct stm *stm, const struct name *whole,
                         struct index_function *index);

/* The program as text, at the level it is at. Owned by the caller (free). */
char *program_print(const struct program *program);

/* Of the fun as a person wrote it, without comments, layout, datasets and other funs: how it is
 * annotated does not change it. Not 0. */
uint64_t program_digest(const struct fun *fun);

/* The start of a line of the program's text, counted from 1; NULL where there is none. */
const char *program_line(const struct program *program, unsigned number);

/* Formats "path:line:column: message", the line and a caret under the column. */
int program_error(const struct program *program, struct error *error, int code,
                  struct source_position at, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The length of the comment, string or character of C that starts at s; 0 where none does. */
size_t c_literal_length(const char *s);

/* ---- names and expressions ----------------------------------------------------------------- */

int fun_find(const struct fun *fun, const char *text, size_t length); /* or NO_NAME */
/* A new name. Its text is made unique by appending digits when it is taken, unless both are scoped;
 * fun_find then finds the new one. */
int fun_add_name(struct program *program, struct fun *fun, const char *text,
                 const struct name *properties);

struct expr *expr_constant(struct program *program, int64_t value);
/* a op b, with the constants 0 and 1 folded away. */
struct expr *expr_binary(struct program *program, enum expr_op op, struct expr *a, struct expr *b);
/* How tightly an operator binds, as in C: 1 (loosest) to 8, 9 for what is not infix. */
unsigned expr_binding(enum expr_op op);
bool expr_equal(const struct expr *a, const struct expr *b); /* the same text */

/* Offset and strides of an array, also where they are implied. */
struct expr *index_offset(struct program *program, const struct name *array);
struct expr *index_stride(struct program *program, const struct name *array, unsigned dim);
/* Bytes of a block that holds a fresh array of this type and shape. */
struct expr *array_bytes(struct program *program, const struct name *array);

/* The value of an expression; values[i] is that of name i. ERR_PROGRAM for a division by zero or an
 * i64 overflow. */
int expr_evaluate(const struct program *program, const struct expr *expr,
                  const union scalar *values, union scalar *result, struct error *error);
/* value, of type `from`, as type `to`. */
union scalar scalar_convert(union scalar value, enum element from, enum element to);

#endif
