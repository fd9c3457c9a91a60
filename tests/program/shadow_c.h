/* The C of kernel texts, interpreted: a text becomes a tree in which every type is known and every
 * name is a slot; running the tree is a switch. It takes the C that README.md of bench/program
 * documents (no pointers, structs, switch or preprocessor) and refuses the rest with a message.
 * Integers wrap at their width and f32 is rounded after each operation. */
#pragma once

#include "program/program.h"

/* X(name, C type, bits): in the order of C's usual conversions, from i32 on. */
#define C_TYPE_LIST(X)                                                                             \
    X(bool, uint8_t, 1)                                                                            \
    X(i8, int8_t, 8)                                                                               \
    X(u8, uint8_t, 8)                                                                              \
    X(i32, int32_t, 32)                                                                            \
    X(u32, uint32_t, 32)                                                                           \
    X(i64, int64_t, 64)                                                                            \
    X(u64, uint64_t, 64)                                                                           \
    X(f32, float, 32)                                                                              \
    X(f64, double, 64)

enum c_type {
#define X(name, type, bits) C_##name,
    C_TYPE_LIST(X)
#undef X
        C_TYPES
};

/* Integers of all types are kept in i, extended by their own sign; a u64 by its bits. */
union c_value {
    int64_t i;
    float f;
    double d;
};

/* clang-format off */
enum c_op {
    /* expressions */
    CX_CONSTANT,
    CX_VARIABLE,  /* slot */
    CX_INDEXED,   /* slot + kid 0, below count: an array of C's own */
    CX_ELEMENT,   /* element of array `slot` at the indices in kids 0 to count - 1 */
    CX_CONVERT,   /* kid 0 to the type */
    CX_NEGATE,
    CX_COMPLEMENT,
    CX_NOT,
    CX_MUL, CX_DIV, CX_MOD, CX_ADD, CX_SUB, CX_SHL, CX_SHR,
    CX_LT, CX_GT, CX_LE, CX_GE, CX_EQ, CX_NE, /* the kids have one type; the result is i32 */
    CX_BITAND, CX_XOR, CX_BITOR,
    CX_AND, CX_OR,
    CX_CHOOSE,    /* kid 0 ? kid 1 : kid 2 */
    CX_ASSIGN,    /* kid 0 = kid 1; a compound assignment reads kid 0 in kid 1 */
    CX_POST,      /* the value of kid 0 before kid 1 is run */
    CX_COMMA,     /* kid 0, then kid 1 */
    CX_CALL,      /* function, arguments chained from kid 0 */
    CX_MATH,      /* math, arguments in kids 0 to 2 */
    /* statements; those of a block are chained from kid 0 */
    CX_BLOCK,
    CX_IF,        /* condition, then, else or NULL */
    CX_LOOP,      /* condition or NULL, step or NULL, body; test_last: the body runs first */
    CX_BREAK,
    CX_CONTINUE,
    CX_RETURN,
    CX_EACH,      /* kid 0 for every item */
};
/* clang-format on */

enum { C_PARAMETERS = 24 };

struct c_function {
    const char *name;
    size_t length;
    enum c_type type;
    unsigned parameter_count, slots;
    enum c_type parameters[C_PARAMETERS];
    struct c_node *body;
    struct c_function *next;
};

struct c_node {
    enum c_op op;
    enum c_type type;
    unsigned line; /* line of the program's text */
    int slot;
    unsigned count;
    bool test_last;
    int math;
    union c_value value;
    const struct c_function *function;
    struct c_node *next;
    struct c_node *kid[]; /* 3 kids; RANK_MAX for CX_ELEMENT */
};

/* A kernel's text, ready to run. Frame slots: the indices, the item, the scalars, then the
 * variables of the C text. */
struct c_kernel {
    struct c_node *body;
    unsigned slots;
    int item_slot;
    int *arrays; /* array slot -> name: kernel->arrays, then kernel->locals */
    unsigned array_count;
};

/* Reads the functions of a program's `code` items into *functions. ERR_UNSUPPORTED with file and
 * line for C beyond the subset. Everything lives in the arena. */
int c_read_functions(const struct program *program, struct arena *arena,
                     struct c_function **functions, struct error *error);
/* Reads the text of a kernel, which may call `functions`, in the same way. */
int c_read_kernel(const struct fun *fun, const struct kernel *kernel,
                  const struct c_function *functions, struct arena *arena,
                  struct c_kernel **compiled, struct error *error);

/* The memory that a body works on, and the items of a group. */
struct c_run {
    void *context;
    union c_value (*read)(struct c_run *run, const struct c_node *element, const int64_t *index);
    void (*write)(struct c_run *run, const struct c_node *element, const int64_t *index,
                  union c_value value);
    union c_value *frame, *top, *end; /* the running function's slots, and the stack's end */
    int item_slot;
    unsigned items, item, phase; /* phase: how many `each` this group has been through */
    const uint32_t *item_order;
    uint64_t steps_left;
    const char *failure; /* undefined behaviour, or too many steps; NULL: none */
    unsigned failure_line;
};

/* Runs a body once, with frame already holding indices and scalars; stops at a failure. */
void c_run_body(struct c_run *run, const struct c_kernel *kernel);

bool c_is_float(enum c_type type);
enum c_type c_type_of(enum element element);
union c_value c_convert(union c_value value, enum c_type from, enum c_type to);

/* X(name, arity): functions of math.h on f64; those on f32 have an f at the end. */
#define C_MATH_LIST(X)                                                                             \
    X(sqrt, 1)                                                                                     \
    X(fabs, 1)                                                                                     \
    X(floor, 1)                                                                                    \
    X(ceil, 1)                                                                                     \
    X(exp, 1)                                                                                      \
    X(log, 1)                                                                                      \
    X(sin, 1)                                                                                      \
    X(cos, 1)                                                                                      \
    X(fmin, 2)                                                                                     \
    X(fmax, 2)                                                                                     \
    X(pow, 2)                                                                                      \
    X(atan2, 2)                                                                                    \
    X(fma, 3)

enum c_math {
#define X(name, arity) MATH_##name,
    C_MATH_LIST(X)
#undef X
        MATHS
};
