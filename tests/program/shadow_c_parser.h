/* Declarations that the two files of the reader of kernel texts share. */
#pragma once

#include <setjmp.h>

#include "tests/program/shadow_c.h"

enum { C_VARIABLES = 200 }; /* the most variables in scope at once */

enum c_token { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_MARK };

struct c_variable {
    const char *name;
    size_t length;
    enum c_type type;
    int slot;
    unsigned count; /* elements of an array, else 0 */
};

struct c_parser {
    const struct program *program;
    const struct fun *fun;        /* the fun around a kernel's text; NULL in a function */
    const struct kernel *kernel;  /* likewise */
    struct c_kernel *compiled;    /* likewise */
    struct c_function *function;  /* the function whose body is being read, else NULL */
    struct c_function *functions; /* functions that can be called */
    struct arena *arena;
    struct error *error;
    jmp_buf failed;
    const char *at, *end; /* `at`: after the token */
    unsigned line;
    enum c_token kind;
    const char *token;
    size_t length;
    unsigned variable_count, slots;
    struct c_variable variables[C_VARIABLES]; /* innermost last */
};

/* shadow_c_parse.c */
_Noreturn void c_fail(struct c_parser *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void c_advance(struct c_parser *p);
bool c_at(const struct c_parser *p, const char *text);
bool c_take(struct c_parser *p, const char *text);
void c_expect(struct c_parser *p, const char *text);
bool c_take_type(struct c_parser *p, enum c_type *type);

/* shadow_c_expression.c */
struct c_node *c_node(struct c_parser *p, enum c_op op, enum c_type type);
struct c_node *c_converted(struct c_parser *p, struct c_node *n, enum c_type type);
struct c_node *c_assignment(struct c_parser *p); /* no comma outside of parentheses */
struct c_node *c_expression(struct c_parser *p);
