/* Finds where names of memories die: after which statement no other mentions the name or an array
 * in it. */
#pragma once

#include "program/program.h"

struct names_list {
    unsigned count;
    int *names;
};

struct scope;

/* A statement. `released`: the names whose last use it is. `moved` (only for a loop): those of them
 * that are only its initial values; the executor releases these as soon as the loop's variables
 * hold them. */
struct step {
    struct step *next;
    const struct stm *stm;
    struct names_list released, moved;
    struct scope *then, *otherwise; /* branches of an if; `then` is also the body of a loop */
    void *state;                    /* for the executor's use */
};

/* A body. `unused`: names dead on entry. On exit two kinds may still be held: `bound`, names that
 * the body defines, and `entrusted`, outer names whose last use is inside it (only in a branch). */
struct scope {
    const struct body *body;
    struct step *first;
    struct names_list unused, bound, entrusted;
};

/* Analyses the body of an annotated fun. The result is in `arena`. */
struct scope *liveness_analyse(const struct fun *fun, struct arena *arena);
