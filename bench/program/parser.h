/* The state that the files of the parser share; no other file includes this header. */
#pragma once

#include <setjmp.h>

#include "base/treap.h"
#include "program/program.h"

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_INTEGER, TOKEN_REAL, TOKEN_MARK };

struct token {
    enum token_kind kind;
    const char *text;
    size_t length;
    struct source_position at;
};

enum { NESTING_MAX = 200 }; /* most levels of bodies and expressions: the parser recurses */
/* Most levels of an expression's tree, of which each term of a sum is one: passes, printer and
 * evaluation recurse, and a level takes up to 1 KiB of stack. */
enum { DEPTH_MAX = 1000 };

struct parser {
    struct program *program;
    struct fun *fun; /* binds new names: the fun being parsed, or dataset->names */
    bool *in_scope;  /* by name number: may the next token use it? */
    unsigned in_scope_capacity;
    const char *cursor; /* the text after `token` */
    struct source_position cursor_at;
    struct token token;   /* the next token, not taken yet */
    union scalar *values; /* by name number: the value of a constant `let` */
    bool *constant;       /* by name number: is it a constant `let`? */
    unsigned values_capacity, constant_capacity;
    struct stm **end; /* where the next statement of the body goes */
    unsigned nesting;
    struct treap kernels; /* kernels of all funs, by name: parse_kernel.c */
    struct error *error;
    jmp_buf failed; /* parser_fail jumps here; everything allocated is in the arena */
};

/* A growing list of ints that lives in the arena. */
struct ints {
    int *data;
    unsigned count, capacity;
};

/* lexer.c: tokens */
void parser_advance(struct parser *p);                    /* reads the next token into p->token */
bool parser_at(const struct parser *p, const char *text); /* is the next token this word or mark? */
bool parser_take(struct parser *p, const char *text);     /* takes it if it is */
/* Takes it, or fails: "expected 'TEXT' WHY, found …". */
void parser_expect(struct parser *p, const char *text, const char *why);
/* Takes `{`, everything to the matching `}` read by the rules of C, and the `}`. */
void parser_raw_block(struct parser *p, const char **text, size_t *length,
                      struct source_position *at);
/* Sets the error and leaves program_parse. */
_Noreturn void parser_fail(struct parser *p, struct source_position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same at the next token: "expected EXPECTED, found …". */
_Noreturn void parser_unexpected(struct parser *p, const char *expected);
/* The position `offset` bytes after `at` in the text. */
struct source_position position_after(struct source_position at, const char *text, size_t offset);

/* lexer.c: names */
char *parse_new_name(struct parser *p, const char *what); /* takes a word that may be a name */
/* Binds a new name, in scope from here on; fails if it is bound already. Returns its number. */
int parse_bind(struct parser *p, const char *text, struct source_position at,
               const struct name *properties);
int parse_use(struct parser *p, const struct token *t); /* its name in scope, or NO_NAME */
/* Takes a name in scope of this kind, or fails; `what` is what was expected. */
int parse_take_use(struct parser *p, enum name_kind kind, const char *what);
void parse_scope(struct parser *p, int name, bool in_scope); /* puts it into or out of scope */
void parse_nest(struct parser *p); /* one level deeper; fails if too deep */
/* Appends `value` to the list. */
void ints_push(struct parser *p, struct ints *list, int value);

/* parse_expression.c */
struct expr *parse_expression(struct parser *p); /* any type */
/* The same, of this type: literals take the type; any other expression must have it. `what` names
 * the expression in the error. */
struct expr *parse_typed(struct parser *p, enum element type, const char *what);
struct expr *parse_size(struct parser *p); /* an i64 */
/* The value of an expression over literals and constant `let`s; false if it is no such
 * expression. */
bool parse_constant(struct parser *p, const struct expr *e, union scalar *value);
/* Notes that the scalar `name` is a constant `let` if its expression `e` is constant. */
void parse_note_constant(struct parser *p, int name, const struct expr *e);
struct name parse_type(struct parser *p, unsigned thread_rank); /* `: type` of an unbound name */

/* parse_kernel.c: parses the text after the word `kernel`, for the names that `stm` binds. */
struct kernel *parse_kernel(struct parser *p, struct stm *stm);

/* The table of a fun's names. */

/* An empty table. */
struct name_table *names_new(void);
/* Frees the table and the names of a fun. */
void names_free(struct fun *fun);
/* Gives a copied fun a table and names of its own. */
void names_clone(struct fun *fun);
/* Is the text a word of this language, or one with a meaning in a kernel's C? */
bool name_is_reserved(const char *text);
