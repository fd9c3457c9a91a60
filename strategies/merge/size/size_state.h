/* The state of the size analysis: shared by size.c, size_expr.c and the proofs of disjointness. */
#pragma once

#include "merge/size/size.h"

/* The positions at which a fact holds: `from` to `*to`, both included. `*to` is the end of the
 * body, or UINT32_MAX while the walk is inside the body. */
struct validity {
    unsigned from;
    const unsigned *to;
};

/* name = value. The value mentions no name that a rule replaces at valid.from. */
struct rule {
    struct rule *next;
    struct validity valid;
    const struct poly *value;
};

/* scale * atom >= limit; if `upper`, scale * atom <= limit. scale > 0. */
struct atom_bound {
    struct atom_bound *next;
    struct validity valid;
    bool upper;
    int64_t scale;
    const struct poly *limit;
};

struct atom_facts {
    struct rule *rules;
    struct atom_bound *bounds; /* newest first */
};

struct size_name {
    const struct poly *value;    /* its definition, or its own atom; NULL: not computed yet */
    const struct poly *range;    /* a counter or an index: how many values it takes */
    unsigned from, to;           /* a counter: names bound at these positions vary too */
    bool is_index;               /* the name is an index of a kernel */
    bool bound;                  /* the walk has seen where the name is bound */
    unsigned bound_at;           /* the position of that */
    const struct kernel *kernel; /* a private array: its kernel */
};

struct sizes {
    struct program *program;
    const struct fun *fun;
    unsigned without;
    struct polys polys; /* its arena owns everything else, too */
    unsigned name_capacity;
    struct size_name *names;
    unsigned last_position;
    unsigned world_count; /* worlds: sets of rules that hold together */
    unsigned *world_at;   /* by position: its world */
    unsigned world_capacity;
};

static inline bool validity_has(struct validity valid, unsigned position)
{
    return valid.from <= position && position <= *valid.to;
}

/* The entry of `name`, valid until the next call, which may move the table. */
struct size_name *sizes_name(struct sizes *s, int name);
/* The canonical form of an operation on operands of this type. */
const struct poly *sizes_operation(struct sizes *s, enum expr_op op, enum element type,
                                   const struct poly *a, const struct poly *b);
