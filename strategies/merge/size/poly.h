/* Polynomials over *atoms* with whole-number coefficients, in one canonical form.
 *
 * An atom is a name or an operation that is no polynomial (`n / 2`, `min(a, b)`), with canonical
 * arguments. Atoms and polynomials are interned: equal means the same number, the same pointer.
 * An integer of any type stands for its value; i64 arithmetic that overflows stops a run, so sums
 * and products are those of the whole numbers.
 */
#pragma once

#include "base/text.h"
#include "program/program.h"

/* Past these a polynomial is given up: its maker gets NULL and makes an atom of the operation. */
enum { POLY_DEGREE_MAX = 6, POLY_TERMS_MAX = 48 };

struct term {
    int64_t coefficient;
    unsigned degree;
    int atoms[POLY_DEGREE_MAX]; /* ascending */
};

/* Terms in falling order: by degree, then by their atoms; none has coefficient 0. */
struct poly {
    struct poly *next; /* the next one in its bucket */
    uint64_t hash;
    unsigned normal_in; /* `normal` is the normal form there; 0: nowhere yet (see size.c) */
    const struct poly *normal;
    unsigned count;
    struct term terms[];
};

struct atom {
    enum expr_op op;
    enum element type; /* the operands' type; for names, constants, EXPR_CONVERT the result's */
    int64_t number;    /* the name, or the bits of a constant (a float: integers are terms) */
    const struct poly *arg[2]; /* NULL where there is none */
    uint64_t order;            /* names bound later, and what is made of them, have higher ones */
    struct atom_facts *facts;  /* see size.c */
    unsigned visited;
};

struct polys {
    struct arena arena;
    unsigned atom_count, atom_capacity;
    struct atom *atoms;
    unsigned atom_slot_count, poly_count, bucket_count; /* powers of two */
    int *atom_slots;                                    /* number + 1 */
    struct poly **buckets;
    unsigned visit;
};

/* Opens an empty table of atoms and polynomials. */
void polys_open(struct polys *ps);
/* Frees every atom and polynomial of the table. */
void polys_close(struct polys *ps);

/* The atom's number. `order` is used for names; others take theirs from their arguments. */
int poly_intern_atom(struct polys *ps, const struct atom *atom);

/* The polynomial of a constant, and that of a single atom. They are never NULL. */
const struct poly *poly_constant(struct polys *ps, int64_t value);
const struct poly *poly_atom(struct polys *ps, int atom);
/* a + factor * b, and a * b. NULL if the result passes the limits, or a coefficient 64 bits. */
const struct poly *poly_add(struct polys *ps, const struct poly *a, int64_t factor,
                            const struct poly *b);
const struct poly *poly_multiply(struct polys *ps, const struct poly *a, const struct poly *b);
/* Long division by the first term of b: a = result * b + *rest. Coefficients are rounded down: 7*n
 * by 4 is n, and the rest 3*n. b must not be 0. */
const struct poly *poly_divide(struct polys *ps, const struct poly *a, const struct poly *b,
                               const struct poly **rest);
/* p = atom * result + *rest, where rest is without the atom (outside of other atoms). */
const struct poly *poly_split(struct polys *ps, const struct poly *p, int atom,
                              const struct poly **rest);
/* p with `value` in place of the atom (not inside of other atoms). */
const struct poly *poly_substitute(struct polys *ps, const struct poly *p, int atom,
                                   const struct poly *value);

bool poly_is_constant(const struct poly *p, int64_t *value); /* value may be NULL */
int64_t poly_constant_term(const struct poly *p);            /* 0 if it has none */
int poly_single_atom(const struct poly *p); /* the atom if p is one atom and nothing else; or -1 */
/* The largest number that divides every coefficient but the constant one; 0 if there is none. */
int64_t poly_content(const struct poly *p);
/* Does `holds` return true for an atom of p, or for one inside of these? Calls it once an atom. */
bool poly_any_atom(struct polys *ps, const struct poly *p,
                   bool (*holds)(const void *context, int number, const struct atom *atom),
                   const void *context);
