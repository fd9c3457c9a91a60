/* The C text of a kernel as far as access.c needs it: tokens, statements, loops, and which names
 * are declared or changed. Only the access analysis includes this header.
 *
 * Expressions are not parsed. Some constructs make statements run in another order than they stand,
 * or give a name another meaning. The reader looks for them, and then calls the text `unclear`:
 * nothing that follows from order or names is reliable.
 */
#pragma once

#include "program/program.h"

enum ctext_token_kind { CTEXT_END, CTEXT_WORD, CTEXT_NUMBER, CTEXT_LITERAL, CTEXT_MARK };

enum { CTEXT_NONE = -1 };

struct ctext_token {
    enum ctext_token_kind kind;
    size_t begin, end; /* in the text */
    int partner;       /* a bracket: the matching one; else CTEXT_NONE */
    bool modified;     /* a word that is declared, assigned or may be changed through its address */
};

/* An expression or declaration up to its `;`, or what stands in parentheses after `if`, `for` or
 * `while`. Statements do not overlap and come in the order of the text. */
struct ctext_statement {
    int begin, end; /* tokens */
    int loop;       /* the innermost one around it, or CTEXT_NONE */
    bool plain;     /* `name[...] = expression;` with no comma operator around */
};

struct ctext_loop {
    int parent;     /* the loop around it, or CTEXT_NONE */
    int begin, end; /* tokens, header and body */
    /* The word k of `for (i32 k = A; k < B; k++)` whose body leaves k alone, so that every
     * iteration has another value of k; CTEXT_NONE for any other loop. */
    int counter;
    int first, first_end, bound, bound_end; /* tokens of A and of B, if there is a counter */
    bool inclusive;                         /* the test is k <= B */
};

struct ctext {
    const char *text;
    int token_count, statement_count, loop_count;
    struct ctext_token *tokens; /* token_count of them, then one CTEXT_END */
    struct ctext_statement *statements;
    struct ctext_loop *loops;
    const char *unclear; /* why the text is unclear, or NULL */
    size_t unclear_at;   /* in the text */
};

/* Reads the text of a kernel, in the arena. */
struct ctext *ctext_read(const struct program *program, const struct kernel *kernel,
                         struct arena *arena);

/* Is the token a word? Is its text `text`? Is it one of the list, which ends with NULL? Are a and b
 * the same word? */
bool ctext_is_word(const struct ctext *t, int token);
bool ctext_is(const struct ctext *t, int token, const char *text);
bool ctext_is_one_of(const struct ctext *t, int token, const char *const *list);
bool ctext_same_word(const struct ctext *t, int a, int b);
/* The token that begins at this offset of the text, or the next one. */
int ctext_token_at(const struct ctext *t, size_t offset);
/* Is the token `=`, `+=`, …? */
bool ctext_assigns(const struct ctext *t, int token);
/* Is it `++` or `--`? */
bool ctext_steps(const struct ctext *t, int token);
/* May `&` at this token take the address of what follows? */
bool ctext_takes_address(const struct ctext *t, int token);
/* Widens [first, last] over parentheses that hold nothing else: the operand of `((x)) = 1`. */
void ctext_unwrap(const struct ctext *t, int *first, int *last);
/* Calls the text unclear because of this token; only the first reason is kept. */
void ctext_set_unclear(struct ctext *t, int token, const char *why);
