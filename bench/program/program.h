/* The explicit-memory program: what a `.mem` file says, as data. README.md describes the text.
 *
 * The representation is the thesis's EXPLICITMEMORY (chapter 3 of Serup, Memory Block Merging in
 * Futhark, 2017): A-normal form, every name bound once, an index function for every array. An index
 * function here is an offset and a stride for each dimension (an LMAD), which expresses every slice
 * and permutation of a contiguous array without the thesis's stack of constructors.
 *
 * Everything a program points to lives in its arena and dies with it.
 */
#pragma once

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
    bool untyped;   /* consists of literals only: takes the type that its context needs */
    unsigned depth; /* operators from the root to the deepest leaf */
    struct source_position at;
    union {
        union scalar value;  /* EXPR_CONSTANT */
        int name;            /* EXPR_NAME */
        struct expr *arg[2]; /* all other operators */
    };
};

/* ---- names --------------------------------------------------------------------------------- */

enum name_kind { NAME_SCALAR, NAME_ARRAY, NAME_MEMORY };

/* The space that a memory lies in is part of its type, as in Futhark's representation; PoCL too
 * gives each space an allocator of its own. X(name, text, sentence) */
#define SPACE_LIST(X)                                                                              \
    X(DEVICE, "device", "memory of the device")                                                    \
    X(PINNED, "pinned", "memory of the host that the device reaches")

#define SPACE_OF(name, ...) SPACE_##name,
enum space { SPACE_LIST(SPACE_OF) SPACES };
const char *space_name(enum space space); /* "device", … */

/* Element [i, j] is at element offset + i * stride[0] + j * stride[1] of the block. offset == NULL
 * stands for the plain case: row-major from the start of the block. */
struct index_function {
    struct expr *offset;
    struct expr *stride[RANK_MAX];
};

enum { NO_NAME = -1 };

/* A name of a fun. Names are numbered from 0 to fun->name_count - 1. */
struct name {
    const char *text;
    struct source_position at;
    enum name_kind kind;
    enum element element; /* scalars and arrays */
    unsigned rank;        /* arrays: the number of dimensions, with sizes in `shape` */
    struct expr *shape[RANK_MAX];
    bool unique; /* marked `*` */
    int memory;  /* arrays: the name of the block, or NO_NAME */
    /* Arrays without memory, written `@ mem m`: the name that the array's own block gets. It is
     * bound with the array. NULL: the block is named after the array. */
    const char *block;
    struct index_function index;
    /* Private arrays of a kernel: how many strides of the thread's indices `index` begins with. */
    unsigned thread_rank;
    bool local; /* local arrays of a kernel: the memory is the work-group's */
    /* A kernel's own name or a loop's counter: other names may have the same text elsewhere. */
    bool scoped;
    bool made;        /* the parser's name for an expression: it gives way to a name of the text */
    enum space space; /* memories */
    struct expr *bytes; /* memory parameters: the size */
};

/* ---- statements ---------------------------------------------------------------------------- */

enum stm_kind {
    STM_SCALAR,    /* out = expr */
    STM_ELEMENT,   /* out = array[index] */
    STM_ASSERT,    /* expr */
    STM_ALLOC,     /* out = alloc(expr) */
    STM_SCRATCH,   /* out = scratch */
    STM_IOTA,      /* out = iota */
    STM_REPLICATE, /* out = replicate(expr), or replicate(array): its elements again and again */
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

/* One dimension of a slice. In a flat slice, {o :+ n : s, m : t}, all run over dimension 0 of the
 * array, which is its only one; the first has the start. */
struct slice_dim {
    bool fixed;                 /* an index: the result does not have this dimension */
    struct expr *start;         /* NULL: the whole dimension, or not the first of a flat slice */
    struct expr *length, *step; /* not set if `fixed`; step NULL: 1 */
};

/* The dimension of the array that dimension d of its slice runs over. */
static inline unsigned slice_over(const struct slice_dim *slice, unsigned d)
{
    return !slice[d].start && slice[d].length ? 0 : d;
}
/* How many dimensions a slice of `rank` dimensions expects its array to have. */
static inline unsigned slice_array_rank(const struct slice_dim *slice, unsigned rank)
{
    return rank ? slice_over(slice, rank - 1) + 1 : 0;
}

struct body {
    struct stm *first;
    unsigned result_count;
    int *results;
    struct source_position at, results_at;
};

struct piece {
    int array;
    bool copied; /* written `copy x`, which means the same; the printer writes it again */
};

struct loop {
    unsigned param_count;
    int *params;
    struct expr **init_exprs; /* initial values of scalar parameters; NULL for others */
    int *init_names;          /* initial arrays and memories; NO_NAME for scalars */
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
    struct expr *expr; /* if: the condition; update: the scalar value, or NULL */
    int array;         /* the source; update: the array that is updated */
    int value;         /* update: the array that is put in, or NO_NAME */
    bool value_copied; /* update: written `copy value` */
    bool loop_carried; /* copy: it moves a loop's result into the loop's own buffer */
    unsigned permutation[RANK_MAX];
    unsigned slice_rank; /* STM_SLICE, STM_UPDATE, STM_ELEMENT */
    struct slice_dim slice[RANK_MAX];
    unsigned piece_count;
    struct piece *pieces;
    struct body *then, *otherwise; /* if */
    struct loop *loop;
    struct kernel *kernel;
};

/* ---- kernels ------------------------------------------------------------------------------- */

/* `x[i, j]` in a kernel's text. */
struct access {
    int array;
    bool written;      /* it stands to the left of an assignment, or is incremented */
    size_t begin, end; /* offsets of the whole access in the text */
    unsigned rank;
    struct {
        size_t begin, end;
    } index[RANK_MAX];
};

struct each {
    size_t keyword, open, close; /* offsets of `each`, `{` and `}` in the text */
};

enum { DEVICE_NUMBER_MAX = 7 }; /* the largest number after `on` */

struct kernel {
    struct kernel *next; /* in fun->kernels */
    const char *name;    /* unique in the program */
    struct source_position at;
    unsigned on; /* the number of the device in a group that runs the kernel: 0 without `on` */
    unsigned rank;
    /* i32 scalars and how many values each has. In a kernel with groups the item and the size of a
     * group follow, where there is room: for a private array these are the indices of its
     * thread. */
    int indices[RANK_MAX];
    struct expr *extents[RANK_MAX];
    int *taken_over; /* for each result: the array whose block and contents it takes, or NO_NAME */
    unsigned private_count;
    int *privates;
    int item; /* the i32 scalar that numbers the items of a work-group, or NO_NAME: no groups */
    unsigned group_items; /* items in a work-group; 0: no groups */
    unsigned local_count;
    int *locals;

    const char *text; /* the text between the braces */
    size_t length;
    struct source_position text_at;
    /* The parser finds these in the text: */
    unsigned access_count;
    struct access *accesses;
    unsigned each_count;
    struct each *eaches;
    unsigned array_count; /* arrays in global memory, each once: outs, then as they appear */
    int *arrays;
    unsigned scalar_count; /* scalars of the program, each once, as they appear */
    int *scalars;
};

/* The number of indices that tell a thread with private arrays from others. */
unsigned kernel_thread_rank(const struct kernel *kernel);

/* ---- programs ------------------------------------------------------------------------------ */

struct name_table;

struct fun {
    const char *name;
    struct source_position at;
    unsigned param_count;
    int *params;
    struct expr *traffic; /* the bytes that a run must move at least, or NULL */
    struct body body;
    struct kernel *kernels; /* last first */
    unsigned name_count;
    struct name *names;
    struct name_table *table; /* text -> number */
    const struct program *program;
};

/* A value in a dataset: a scalar expression, or a list of values. */
struct literal {
    struct source_position at;
    struct expr *scalar; /* NULL: a list */
    unsigned count;
    struct literal *items;
};
/* One value that a dataset gives to a name. */
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
    struct fun *names; /* holds the names that the expressions use; it has no body */
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

/* Parses `text`, which has `length` bytes and is copied. Resolves names, types and ranks;
 * program_verify checks the rest. ERR_PARSE gives file:line:column, the line and what was expected.
 * Free *program with program_free, which takes NULL. */
int program_parse(const char *path, const char *text, size_t length, struct program **program,
                  struct error *error);
void program_free(struct program *program); /* frees the arena and all in it; takes NULL */

/* Checks everything that README.md lists under "What the verifier refuses". ERR_PARSE names the
 * position. */
int program_verify(const struct program *program, struct error *error);

/* Gives memory to every array that has none yet (chapter 3 of the thesis): a block for each fresh
 * array, the source's block for each view, existential memory for branches and loops, a double
 * buffer and its copy for a loop whose result is fresh in every iteration. ERR_PARSE if no index
 * function expresses a view. A program that is annotated already does not change. */
int program_annotate(struct program *program, struct error *error);

/* Parses, verifies, annotates and verifies again. Free *program with program_free. */
int program_read(const char *path, const char *text, size_t length, struct program **program,
                 struct error *error);

/* A program that holds a copy of `fun` alone, without datasets, for passes to change. Names keep
 * their numbers, kernels their names and arguments. The fun's own program must outlive the copy.
 * Free it with program_free. */
struct program *program_clone(const struct fun *fun);

/* Sets *index to the index function of the view that `stm` (alias, reshape, rearrange, slice or
 * update) makes of `source`. `source` need not be the name that the statement mentions. False if an
 * offset and strides cannot express it. */
bool program_view_index(struct program *program, const struct fun *fun, const struct stm *stm,
                        const struct name *source, struct index_function *index);
/* Sets *index to the index function of the part of `whole` that a slice or an update names. */
void program_slice_index(struct program *program, const struct stm *stm, const struct name *whole,
                         struct index_function *index);

/* The program as text, with memory if it is annotated. The caller frees it. */
char *program_print(const struct program *program);

/* A digest of the fun as a person wrote it. Comments, layout, annotations, datasets and other funs
 * do not change it. Never 0. */
uint64_t program_digest(const struct fun *fun);

/* The start of line `number` (from 1) of the program's text; NULL if there is no such line. */
const char *program_line(const struct program *program, unsigned number);

/* Sets the error to "path:line:column: message", the line and a caret under the column, and returns
 * `code`. */
int program_error(const struct program *program, struct error *error, int code,
                  struct source_position at, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The length of the comment, string or character of C that starts at s; 0 if none starts there. */
size_t c_literal_length(const char *s);
/* The same, and 1 for white space: the bytes that a reader of C passes over. */
size_t c_skippable(const char *s);
/* The first offset in `text`, from i on, that is neither white space nor in a comment. */
size_t c_skip_blank(const char *text, size_t i);
bool c_is_word_char(char c); /* a letter, a digit or `_` */

/* ---- names and expressions ----------------------------------------------------------------- */

/* The number of the name with this text, or NO_NAME. */
int fun_find(const struct fun *fun, const char *text, size_t length);
/* Adds a name and returns its number. If the text is taken, digits are appended, unless both names
 * are scoped: then fun_find finds the new one. */
int fun_add_name(struct program *program, struct fun *fun, const char *text,
                 const struct name *properties);
/* Gives the name another text, made of the present one and digits. */
void fun_rename(struct program *program, struct fun *fun, int name);

/* An i64 constant. This and the next functions make expressions in the program's arena. */
struct expr *expr_constant(struct program *program, int64_t value);
struct expr *expr_name(struct program *program, enum element type, int name);
/* a op b, with the constants 0 and 1 folded away. */
struct expr *expr_binary(struct program *program, enum expr_op op, struct expr *a, struct expr *b);
struct expr_operator {
    const char *text;
    unsigned arity;
};
extern const struct expr_operator expr_operators[EXPR_OPS];
/* The precedence of an operator, as in C: 1 (loosest) to 8; 9 for operators that are not infix. */
unsigned expr_binding(enum expr_op op);
bool expr_equal(const struct expr *a, const struct expr *b); /* do both have the same text? */

/* The offset of an array, and the stride of its dimension `dim`. If the array has no index function
 * of its own they are those of a row-major array from 0. */
struct expr *index_offset(struct program *program, const struct name *array);
struct expr *index_stride(struct program *program, const struct name *array, unsigned dim);
/* The bytes of a block that holds a fresh array of this type and shape. */
struct expr *array_bytes(struct program *program, const struct name *array);

/* Evaluates an expression; values[i] is the value of name i. ERR_PROGRAM: a division by zero, an
 * i64 overflow, or a shift by too many bits. */
int expr_evaluate(const struct program *program, const struct expr *expr,
                  const union scalar *values, union scalar *result, struct error *error);
/* `value`, which has the type `from`, converted to the type `to`. */
union scalar scalar_convert(union scalar value, enum element from, enum element to);
/* Whether the type `to` has the value: a float may lose digits, and may not become infinite. */
bool scalar_fits(union scalar value, enum element from, enum element to);
