/* Which blocks there are, what may be in them, and when: memory aliases, last uses and the times at
 * which each block holds something that is still needed.
 *
 * Times are spans of positions (outline.h). An array is alive from where it is made to its last
 * use; what a loop uses from outside is alive to the loop's end, since the next iteration reads it
 * again. A block may be alive several times, with nothing of value in between. Since every name is
 * bound once and bodies are nested, one look at the last use of each name is enough: there is no
 * fixpoint.
 */
#ifndef GAMUT_MERGE_MEMORY_H
#define GAMUT_MERGE_MEMORY_H

#include "merge/outline.h"

struct span {
    unsigned first, last; /* both included */
};

struct spans {
    unsigned count, capacity;
    struct span *items; /* ascending, apart from each other */
};

enum memory_kind { MEMORY_PARAMETER, MEMORY_ALLOCATED, MEMORY_EXISTENTIAL };

struct access_point {
    unsigned position;
    int array;
};

struct memory {
    enum memory_kind kind;
    bool foreign; /* a parameter's that is not unique: its contents are the caller's */
    bool escapes; /* a loop passes it to its next iteration, where it is allocated anew */
    struct stm *alloc;
    unsigned scope, position; /* of the allocation */
    unsigned actual_count;    /* of an existential: the blocks it may be; else itself */
    int *actuals;
    unsigned existential_count; /* of an actual block: the existentials that it may be */
    int *existentials;
    unsigned array_count; /* the arrays in it, by this name */
    int *arrays;
    unsigned first_bound; /* the position at which the first of them is bound */
    /* of actual blocks, all names that may be it together: */
    struct spans spans;
    unsigned access_count; /* statements that read or write it: ascending */
    struct access_point *accesses;
};

struct memory_map {
    struct arena arena;
    const struct outline *outline;
    bool by_branch;       /* does an array that one branch uses last die at once in the other? */
    unsigned block_count; /* actual blocks, in the order of their first use */
    int *blocks;
    struct memory *of; /* by name number */
};

/* Bits of what memory_map_new is told. */
enum {
    MEMORY_BY_BRANCH = 1, /* what one branch uses last is dead at once in the other */
    MEMORY_ALL_OURS = 2,  /* the caller does not need what it gave: for tests */
};
struct memory_map *memory_map_new(const struct outline *o, unsigned how);
void memory_map_free(struct memory_map *m);
/* May the memory name `e` denote the block `b`? */
bool memory_may_be(const struct memory_map *m, int e, int b);

/* When the contents of one array are needed. The spans are the caller's (spans_free). */
void memory_array_spans(const struct memory_map *m, int array, struct spans *spans);

void spans_free(struct spans *s);
void spans_add(struct spans *to, unsigned first, unsigned last); /* joins what touches */
void spans_join(struct spans *to, const struct spans *from);
/* The next position from `from` on at which both are alive: the span *first to *last in which they
 * are. False where there is none. */
bool spans_meet(const struct spans *a, const struct spans *b, unsigned from, struct span *meeting);
/* The end of the span that `position` is in; 0 if it is in none. */
unsigned spans_last(const struct spans *s, unsigned position);

#endif
