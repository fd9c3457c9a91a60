/* Declarations that the files of the maker of random programs share. */
#pragma once

#include <stdbool.h>

#include "base/random.h"
#include "base/text.h"
#include "program/element.h"

enum { MAKER_RANK = 3, MAKER_ARRAYS = 200, MAKER_FAMILIES = 2000, MAKER_SCALARS = 100 };

/* A size: its text, and its value with the dataset. */
struct size {
    char text[32];
    int64_t value;
};

struct made {
    char name[16];
    enum element element;
    unsigned rank;
    struct size dim[MAKER_RANK];
    int family;
    bool plain;   /* row-major from the start of a block, or known to be so */
    bool written; /* all elements are written */
};

struct made_scalar {
    char name[16];
    bool is_i64; /* else i32 */
};

/* Arrays that may share elements are a family, as the verifier has it. */
struct made_family {
    int parent;
    unsigned depth;
    bool foreign, consumed;
};

struct maker {
    struct random random;
    struct text *out;
    unsigned depth, indent; /* number of loops, and of bodies, around this place */
    unsigned names, kernels;
    int budget; /* statements still to be made */
    struct size sizes[8];
    unsigned size_count;
    struct made arrays[MAKER_ARRAYS]; /* in scope, oldest first */
    unsigned array_count;
    struct made_scalar scalars[MAKER_SCALARS];
    unsigned scalar_count;
    struct made_family families[MAKER_FAMILIES];
    int family_count;
};

/* program_maker.c */
unsigned below(struct maker *g, unsigned bound);
bool chance(struct maker *g, unsigned percent);
void line(struct maker *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
int find_family(struct maker *g, int family); /* the family that this one was joined to */
int family_of(struct maker *g, const struct made *a);
int new_family(struct maker *g, unsigned depth, bool foreign);
void join_families(struct maker *g, int a, int b);
bool usable(struct maker *g, const struct made *a);
bool consumable(struct maker *g, const struct made *a);
void consume(struct maker *g, const struct made *a);
/* A fresh name "a7" into `name`. */
void fresh_name(struct maker *g, char name[16], char letter);
/* Brings an array into scope; `like` gives type and shape. Its family is new. */
struct made *bring(struct maker *g, const struct made *like);
/* "[n][m]i32" */
const char *type_text(const struct made *a, char text[128]);
/* The same for an array that gets a block of its own; sometimes it names the block. */
const char *fresh_type_text(struct maker *g, const struct made *a, char text[128]);
struct size some_size(struct maker *g);
enum element some_element(struct maker *g);

/* The array to look for among those in scope. */
struct wish {
    int element;            /* -1: any */
    unsigned rank;          /* 0: any */
    const struct size *dim; /* with these values, or NULL */
    bool consumable, plain;
    int not_family; /* -1: any */
};
#define ANY_WISH .element = -1, .not_family = -1
/* An index in g->arrays, mostly that of a recent array; -1 if no array fits. */
int find_array(struct maker *g, struct wish wish);
bool same_type(const struct made *a, const struct made *b);

/* program_maker_kernel.c */
/* Makes a kernel that makes new arrays. `like`, if not NULL, is the shape and type of one of them;
 * `from`, if not -1, is an array that the kernel reads. Returns the index of the array that is like
 * `like`. */
int make_kernel(struct maker *g, const struct made *like, int from);
/* Makes a kernel that takes over an array; returns the index of the result. */
int make_kernel_with(struct maker *g, int taken);
/* Makes a kernel of groups whose items have local and private arrays. */
void make_groups(struct maker *g);

/* program_maker_array.c. Each function makes a statement, and often the statements that it needs;
 * it makes none if no array in scope fits. */
void make_iota(struct maker *g);
void make_replicate(struct maker *g);
void make_listed(struct maker *g);
void make_copy(struct maker *g);
void make_scratch(struct maker *g);
void make_concat(struct maker *g);
void make_reshape(struct maker *g);
void make_rearrange(struct maker *g);
void make_slice(struct maker *g);
void make_alias(struct maker *g);
void make_some_update(struct maker *g);
void make_some_with(struct maker *g);
/* Makes an update of this array. Returns the result, or -1 if no array fits. */
int make_update(struct maker *g, int array);
void some_shape(struct maker *g, struct made *model, unsigned rank);

/* program_maker_control.c */
void make_if(struct maker *g);
void make_loop(struct maker *g);

/* generate_program.c */
void make_statements(struct maker *g, int count);
