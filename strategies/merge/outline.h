/* The outline of a fun: the positions of statements, the bodies that they stand in, and the
 * definition and uses of every name. A pass that has moved or removed statements makes a new one.
 *
 * Positions count in the order of the text. A statement without bodies has one; an if or a loop has
 * one where it begins (`first`), then its bodies, each ending in one for its results, and one where
 * its own results are bound (`last`). Position 0 binds the parameters.
 */
#pragma once

#include "program/program.h"

struct outline_scope {
    struct body *body;
    struct stm *owner; /* the if or loop; NULL for scope 0, the fun's body */
    unsigned parent, depth;
    unsigned begin; /* the position at which its owner, or its branch, begins */
    unsigned end;   /* the position of its results */
};

struct outline_name {
    struct stm *definer; /* NULL: a parameter of the fun or of a loop, or a loop's counter */
    struct stm *binder;  /* the loop, if it is a loop's variable or counter */
    unsigned scope;      /* where it is bound */
    unsigned position;
    unsigned use_begin, use_count; /* in outline->uses, ascending */
};

struct outline {
    struct arena arena;
    const struct fun *fun;
    unsigned name_count; /* the names that the fun had when this was made */
    unsigned position_count;
    struct stm **at;    /* by position: the statement; NULL for 0 and for the ends of bodies */
    unsigned *scope_at; /* by position: the scope that the statement stands in */
    unsigned scope_count;
    struct outline_scope *scopes;
    struct outline_name *names; /* by name number */
    unsigned *uses;             /* positions at which an array or memory is read, passed or given */
};

/* Numbers the statements of the fun (stm->first, stm->last). The outline is valid until the fun
 * changes. Free with outline_free. */
struct outline *outline_new(const struct fun *fun);
void outline_free(struct outline *o); /* takes NULL */

/* Is `outer` the scope `inner`, or a scope around it? */
bool outline_encloses(const struct outline *o, unsigned outer, unsigned inner);
/* The position of the statement of scope `outer` that contains position p; p itself if it stands in
 * `outer`. *inside (`inside` may be NULL) is the scope of that statement that contains p. Scope
 * `outer` must enclose p. */
unsigned outline_lift(const struct outline *o, unsigned p, unsigned outer, unsigned *inside);
/* Can an expression be evaluated just after position p of a scope: are all its names bound there?
 */
bool outline_known(const struct outline *o, const struct expr *e, unsigned scope, unsigned p);
/* Calls `visit` for every array and memory name that the statement uses, outside of its bodies. */
void outline_operands(const struct fun *fun, const struct stm *s,
                      void (*visit)(void *context, int name), void *context);
