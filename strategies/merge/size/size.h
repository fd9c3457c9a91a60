/* What is known of the sizes in a `fun`: its integer scalars as polynomials over what cannot be
 * expanded further, equalities and bounds of them, and where in the program these hold.
 *
 * Positions number a function in the order of its text: 0 is its entry; every statement has the
 * next number, then what is inside of it; the begin and the end of a nested body have one too. A
 * question is asked for a position, and is answered for every run that gets there:
 *
 *   1. A definition `let s: i64 = E` holds wherever s is in scope.
 *   2. `assert E` holds behind it, to the end of the body in which it stands. An assertion further
 *      down is not used: what it would refuse has happened by then.
 *   3. The condition of an `if` holds in its first branch, the opposite in the other.
 *   4. A dimension of an array is not negative from the statement that makes the array on, since
 *      the shape is checked before anything is written; a loop's counter and a kernel's indices
 *      are in their ranges inside.
 *
 * A name that is bound in a loop has one value an iteration; questions are about one iteration.
 * Answers are sound and incomplete: `false` means "not proved".
 */
#ifndef GAMUT_MERGE_SIZE_H
#define GAMUT_MERGE_SIZE_H

#include "merge/size/poly.h"

struct sizes;

/* Bits of `without` in sizes_open: what is left out, so that a test sees what it is for. */
enum {
    SIZES_ASSERTS = 1, /* rules 2 and 3 */
    SIZES_BOUNDS = 2,  /* rule 4 */
};

/* Reads the function once, and numbers its statements (stm->size_position; 0 for the entry). Names
 * that it gets afterwards are opaque, and statements that are moved or added afterwards have no
 * position: open it anew where that matters. */
struct sizes *sizes_open(struct program *program, const struct fun *fun, unsigned without);
void sizes_close(struct sizes *s);

/* The canonical form of an integer expression, definitions expanded, owned by `s`. Never NULL: what
 * is no polynomial, or too large for one, is an atom of its own. */
const struct poly *sizes_of(struct sizes *s, const struct expr *e);
const struct poly *sizes_of_name(struct sizes *s, int name);
const struct poly *sizes_constant(struct sizes *s, int64_t value);
const struct poly *sizes_add(struct sizes *s, const struct poly *a, const struct poly *b);
const struct poly *sizes_subtract(struct sizes *s, const struct poly *a, const struct poly *b);
const struct poly *sizes_multiply(struct sizes *s, const struct poly *a, const struct poly *b);
/* a / b where it is a polynomial and leaves nothing over, else NULL. */
const struct poly *sizes_divide(struct sizes *s, const struct poly *a, const struct poly *b);

bool sizes_equal(struct sizes *s, const struct poly *a, const struct poly *b, unsigned position);
bool sizes_at_least(struct sizes *s, const struct poly *a, const struct poly *b, unsigned position);
bool sizes_nonnegative(struct sizes *s, const struct poly *p, unsigned position);
/* The same, given that each of `assumed` is at least 0. */
bool sizes_nonnegative_given(struct sizes *s, const struct poly *p, unsigned position,
                             unsigned assumed_count, const struct poly *const *assumed);
/* The form in which equalities have been applied that hold at the position. */
const struct poly *sizes_normal(struct sizes *s, const struct poly *p, unsigned position);

/* Of a `for` loop's counter: how many values it takes from 0 on; of a kernel's index: its extent;
 * NULL for any other name. */
const struct poly *sizes_range(const struct sizes *s, int name);
/* Does p depend on the counter, which runs from iteration to iteration (thread to thread)? What is
 * bound in the loop does too, in an unknown way: `otherwise` says whether there is such a thing. */
bool sizes_varies(struct sizes *s, const struct poly *p, int counter, bool *otherwise);
/* The kernel that a private array belongs to, or NULL. */
const struct kernel *sizes_kernel_of(const struct sizes *s, int array);

#endif
