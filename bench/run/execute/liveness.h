/* Which memory names die where. */
#ifndef GAMUT_RUN_LIVENESS_H
#define GAMUT_RUN_LIVENESS_H

#include "program/program.h"

struct names_list {
    unsigned count;
    int *names;
};

struct scope;

/* A statement and the memory names whose last use it is. For a loop, `moved` are those that are
 * only its initial values: they are let go of as soon as the loop's variables hold them. */
struct step {
    struct step *next;
    const struct stm *stm;
    struct names_list released, moved;
    struct scope *then, *otherwise; /* of an if; `then` is also the body of a loop */
    void *state;                    /* the executor's own */
};

/* A body. `unused` die at its entry. At its end `bound`, the names that it binds, may still be
 * held, and so may `entrusted`, names from outside that die in it (a branch's). */
struct scope {
    const struct body *body;
    struct step *first;
    struct names_list unused, bound, entrusted;
};

/* For the body of an annotated fun. Everything is in `arena`. */
struct scope *liveness_analyse(const struct fun *fun, struct arena *arena);

#endif
