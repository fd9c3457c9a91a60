/* The state of the size analysis: shared by size.c, size_expr.c and the proofs of disjointness. */
#ifndef GAMUT_MERGE_SIZE_STATE_H
#define GAMUT_MERGE_SIZE_STATE_H

#include "merge/size/size.h"

/* Where something holds: positions from `from` to `*to`, both included. The end is that of the
 * body, and far away while the walk is inside. */
struct span {
    unsigned from;
    const unsigned *to;
};

/* name = value; the value is free of what is replaced at span.from. */
struct rule {
    struct rule *next;
    struct span span;
    const struct poly *value;
};

/* scale * atom >= limit, or <= with `upper`; scale > 0. */
struct bound {
    struct bound *next;
    struct span span;
    bool upper;
    int64_t scale;
    const struct poly *limit;
};

struct atom_facts {
    struct rule *rules;
    struct bound *bounds; /* newest first */
};

struct size_name {
    const struct poly *value; /* its definition, or its own atom; NULL: not asked for yet */
    const struct poly *range; /* of a counter or an index */
    unsigned from, to;        /* of a counter: what is bound there varies with it, too */
    bool is_index;            /* of a kernel */
    bool bound;               /* seen when the function was read, at: */
    unsigned bound_at;
    const struct kernel *kernel; /* of a private array */
};

struct sizes {
    struct program *program;
    const struct fun *fun;
    unsigned without;
    struct polys polys; /* its arena owns everything else, too */
    unsigned name_capacity;
    struct size_name *names;
    unsigned last_position;
    unsigned world_count; /* sets of rules that hold together; of each position: */
    unsigned *world_at;
    unsigned world_capacity;
};

static inline bool span_has(struct span span, unsigned position)
{
    return span.from <= position && position <= *span.to;
}

struct size_name *sizes_name(struct sizes *s, int name); /* grows the table */
/* The canonical form of an operation on operands of this type. */
const struct poly *sizes_operation(struct sizes *s, enum expr_op op, enum element type,
                                   const struct poly *a, const struct poly *b);

#endif
