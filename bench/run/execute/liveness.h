/* Which names of memories die where: after which statement no statement of the fun mentions the name
 * any more, nor an array in it. */
#ifndef GAMUT_RUN_LIVENESS_H
#define GAMUT_RUN_LIVENESS_H

#include "program/program.h"

struct names_list {
    unsigned count;
    int *names;
};

struct scope;

/* A statement. `released`: the names whose last use it is. `moved`: of a loop, those that are only its
 * initial values; the executor releases them as soon as the loop's variables hold them. */
struct step {
    struct step *next;
    const struct stm *stm;
    struct names_list released, moved;
    struct scope *then, *otherwise; /* of an if; `then` is also the body of a loop */
    void *state;                    /* the executor's own */
};

/* A body. `unused`: names dead on entry. On exit two kinds may still be held: `bound`, names that the
 * body defines, and `entrusted`, outer names whose last use is inside it (only in a branch). */
struct scope {
    const struct body *body;
    struct step *first;
    struct names_list unused, bound, entrusted;
};

/* For the body of an annotated fun. Everything that is returned is in `arena`. */
struct scope *liveness_analyse(const struct fun *fun, struct arena *arena);

#endif
