/* Computes the scalars of a function in one run on small random values, as far as the run gets. */
#pragma once

#include "base/random.h"
#include "program/program.h"

struct simulation {
    const struct program *program;
    const struct fun *fun;
    struct random random;
    union scalar *values; /* by name; those that the run has reached */
    /* Called for every statement that is reached, after its checks and before it writes. */
    void (*visit)(struct simulation *sim, const struct stm *stm);
    void *context;
    unsigned visits;
};

/* Parameters get values below `limit`; each loop runs one iteration. The run ends when an assertion
 * fails, a dimension is negative, an expression has no value or a loop has no iteration. */
void simulate(struct simulation *sim, unsigned limit);

/* Computes the value of an expression; false if it has none. */
bool simulation_value(const struct simulation *sim, const struct expr *e, int64_t *value);

/* The statement that binds the name; NULL: a parameter. */
const struct stm *simulation_find(const struct body *body, int name);
