/* The blocks of a program: which arrays may be in each, and when each holds values that are still
 * needed.
 *
 * Times are spans of positions (outline.h). An array is alive from the statement that makes it to
 * its last use. An array that a loop uses from outside is alive to the loop's end, because the next
 * iteration reads it again. A block may be alive several times, and hold nothing of value in
 * between. Every name is bound once and bodies are nested, so one look at the last use of each name
 * is enough: no fixpoint is needed.
 */
#pragma once

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

/* Facts about a memory name. An *actual* block is allocated or a parameter; an *existential*
 * one is what a loop or a branch passes on: one of several actual blocks. */
struct memory {
    enum memory_kind kind;
    bool foreign; /* a parameter that is not unique: its contents belong to the caller */
    bool escapes; /* a loop passes it to its next iteration, where it is allocated anew */
    struct stm *alloc;
    unsigned scope, position; /* where it is allocated or bound */
    unsigned actual_count;    /* the actual blocks that it may be: for an actual block, itself */
    int *actuals;             /* their names */
    unsigned existential_count, existential_capacity; /* the existentials that may be this block */
    int *existentials;
    unsigned array_count, array_capacity; /* the arrays whose type names this memory */
    int *arrays;
    unsigned first_bound; /* the position at which the first of these arrays is bound */
    /* For actual blocks, counting all arrays that may be in them: */
    struct spans spans;
    unsigned access_count, access_capacity; /* statements that read or write it, ascending */
    struct access_point *accesses;
};

struct memory_map {
    struct arena arena;
    const struct outline *outline;
    bool by_branch;       /* MEMORY_BY_BRANCH */
    unsigned block_count; /* actual blocks, in the order of their first use */
    int *blocks;
    struct memory *of; /* by name number */
};

/* Flags for memory_map_new. */
enum {
    MEMORY_BY_BRANCH = 1, /* an array whose last use is in one branch is dead in the other */
    MEMORY_ALL_OURS = 2,  /* tests: the caller does not need its arrays after the run */
};
/* The map of the fun that `o` outlines; `flags` are those above. `o` must outlive it. Free with
 * memory_map_free, which takes NULL. */
struct memory_map *memory_map_new(const struct outline *o, unsigned flags);
void memory_map_free(struct memory_map *m);
/* May the memory name `e` denote the block `b`? */
bool memory_may_be(const struct memory_map *m, int e, int b);

/* Adds to `spans` the positions at which the contents of one array are needed. The caller frees
 * `spans` (spans_free). */
void memory_array_spans(const struct memory_map *m, int array, struct spans *spans);

void spans_free(struct spans *s); /* frees the items and empties it */
/* Adds the positions `first` to `last`; spans that overlap become one. */
void spans_add(struct spans *to, unsigned first, unsigned last);
void spans_join(struct spans *to, const struct spans *from); /* adds all spans of `from` */
/* Sets *meeting to the first span, from position `from` on, in which both are alive. False if there
 * is none. */
bool spans_meet(const struct spans *a, const struct spans *b, unsigned from, struct span *meeting);
/* The end of the span that contains `position`; 0 if none does. */
unsigned spans_last(const struct spans *s, unsigned position);
