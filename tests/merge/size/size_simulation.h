/* The scalars of a function in numbers: one run on small random values, as far as it gets. */
#ifndef GAMUT_TESTS_SIZE_SIMULATION_H
#define GAMUT_TESTS_SIZE_SIMULATION_H

#include "base/random.h"
#include "program/program.h"

struct simulation {
    const struct program *program;
    const struct fun *fun;
    struct random random;
    union scalar *values; /* by name; so far */
    /* Called for every statement that is reached, after what it checks first has been checked and
     * before it writes. */
    void (*visit)(struct simulation *sim, const struct stm *stm);
    void *context;
    unsigned visits;
};

/* Parameters get values below `limit`; of each loop one iteration is run. It ends where an
 * assertion fails, a dimension is negative, an expression has no value, a loop runs no iteration.
 */
void simulate(struct simulation *sim, unsigned limit);

/* The value; false where it has none. */
bool simulation_value(const struct simulation *sim, const struct expr *e, int64_t *value);

/* The statement that binds the name; NULL: a parameter. */
const struct stm *simulation_find(const struct body *body, int name);

#endif
