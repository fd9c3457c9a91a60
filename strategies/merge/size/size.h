/* The sizes in a `fun`: its integer scalars as polynomials over atoms (poly.h), the equalities and
 * bounds of these, and where in the program each holds.
 *
 * Positions number a function in the order of its text: 0 is its entry; every statement has the
 * next number, followed by the statements inside it; the begin and the end of a nested body have
 * one too. A question is asked for a position, and the answer holds in every run that reaches it:
 *
 *   1. A definition `let s: i64 = E` holds wherever s is in scope.
 *   2. `assert E` holds from there to the end of the body in which it stands. A later assertion is
 *      not used: the program reaches the position before the assertion can stop it.
 *   3. The condition of an `if` holds in its first branch, its opposite in the other.
 *   4. From the statement that makes an array on, no dimension of the array is negative, because
 *      the shape is checked before anything is written. Inside a loop or a kernel the counter or
 *      the indices are in their ranges.
 *
 * A name that is bound in a loop has one value per iteration; questions are about one iteration.
 * Answers are sound and incomplete: false means "not proved".
 */
#pragma once

#include "merge/size/poly.h"

struct sizes;

/* Bits of `without` in sizes_open: rules that are left out, for tests of each. */
enum {
    SIZES_ASSERTS = 1, /* rules 2 and 3 */
    SIZES_BOUNDS = 2,  /* rule 4 */
};

/* Reads the function once, and numbers its statements (stm->size_position; 0 for the entry). Names
 * that it gets afterwards are opaque, and statements that are moved or added afterwards have no
 * position: open it anew where that matters. */
struct sizes *sizes_open(struct program *program, const struct fun *fun, unsigned without);
void sizes_close(struct sizes *s); /* frees what sizes_open made; not NULL */

/* The canonical polynomial of an integer expression, with definitions expanded; `s` owns it. Never
 * NULL: an operation that is no polynomial, or too large a one, becomes an atom. */
const struct poly *sizes_of(struct sizes *s, const struct expr *e);
const struct poly *sizes_of_name(struct sizes *s, int name); /* the same for a scalar */
/* A constant, a + b, a - b and a * b, as sizes_of makes them. */
const struct poly *sizes_constant(struct sizes *s, int64_t value);
const struct poly *sizes_add(struct sizes *s, const struct poly *a, const struct poly *b);
const struct poly *sizes_subtract(struct sizes *s, const struct poly *a, const struct poly *b);
const struct poly *sizes_multiply(struct sizes *s, const struct poly *a, const struct poly *b);
/* a / b if that is a polynomial without a remainder, else NULL. */
const struct poly *sizes_divide(struct sizes *s, const struct poly *a, const struct poly *b);

/* Is it proved at the position that a == b? That a >= b? That p >= 0? */
bool sizes_equal(struct sizes *s, const struct poly *a, const struct poly *b, unsigned position);
bool sizes_at_least(struct sizes *s, const struct poly *a, const struct poly *b, unsigned position);
bool sizes_nonnegative(struct sizes *s, const struct poly *p, unsigned position);
/* The same, given that each of `assumed` is at least 0. */
bool sizes_nonnegative_given(struct sizes *s, const struct poly *p, unsigned position,
                             unsigned assumed_count, const struct poly *const *assumed);
/* p with all equalities applied that hold at the position. */
const struct poly *sizes_normal(struct sizes *s, const struct poly *p, unsigned position);

/* The number of values that a `for` loop's counter, or a kernel's index, takes from 0 on. NULL for
 * any other name. */
const struct poly *sizes_range(const struct sizes *s, int name);
/* Does p depend on the counter of a loop (the index of a kernel)? *otherwise: p also mentions names
 * that are bound in the loop, which may differ between iterations in an unknown way. */
bool sizes_varies(struct sizes *s, const struct poly *p, int counter, bool *otherwise);
/* The kernel that a private array belongs to, or NULL. */
const struct kernel *sizes_kernel_of(const struct sizes *s, int array);
/* Adds "2*n*m + n - 1", atoms as "min(n, m + 1)". */
void sizes_print(const struct sizes *s, const struct poly *p, struct text *text);
