/* State and functions that the files of the shadow machine share. */
#pragma once

#include "tests/program/shadow.h"
#include "tests/program/shadow_c.h"

enum { NO_BLOCK = -1 };

/* The thread that used a byte during a launch: a group and an item in it. Items of one group may
 * use the same byte if an `each` ended between them. */
struct user {
    uint32_t group, item, phase;
};
struct touch {
    uint32_t launch;               /* the launch that the fields below are about */
    bool written, read, by_arrays; /* by_arrays: used through more than one array */
    int array;
    struct user writer, reader;
};

struct block {
    int name;
    int64_t size;
    unsigned char *bytes;
    uint32_t *ids;         /* for each byte, the number of the write that put it there; 0: none */
    struct touch *touches; /* one for each byte; NULL until a kernel uses the block */
};

/* An array at run time: where it lies, and what it logically holds. */
struct shadow_array {
    int block;
    unsigned rank,
        threads; /* `threads`: number of leading dimensions that are a private array's threads */
    int64_t offset, count;
    int64_t shape[RANK_MAX], stride[RANK_MAX]; /* unset for the threads' dimensions */
    uint32_t *ids; /* by row-major index, without the threads; not changed after it is shared */
};

struct write {
    int name;
    unsigned line;
};

struct compiled {
    const struct kernel *kernel;
    struct c_kernel *code;
    struct compiled *next;
};

struct machine {
    const struct fun *fun;
    const struct program *program;
    const struct shadow_options *options;
    struct shadow_outcome *out;
    struct error *error;
    struct arena arena;
    union scalar *values;        /* by name */
    int *block_of;               /* by name */
    struct shadow_array *arrays; /* by name */
    struct block *blocks;
    unsigned block_count, block_capacity;
    struct write *writes; /* by number */
    uint32_t write_count, write_capacity;
    struct c_function *functions;
    struct compiled *compiled;
    union c_value *stack;
    uint32_t launch;
    uint64_t steps_left;
    unsigned line;      /* line of the statement, or of the place in a kernel's text */
    const char *kernel; /* kernel that is running, or NULL */
    int last_told[SHADOW_VIOLATIONS]; /* array of the last message; last_line: its line */
    unsigned last_line[SHADOW_VIOLATIONS];
};

/* shadow_memory.c */
int shadow_fail(struct machine *m, struct source_position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool shadow_checks(const struct machine *m, enum shadow_violation violation);
void shadow_violate(struct machine *m, enum shadow_violation violation, int array,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
int shadow_evaluate(struct machine *m, const struct expr *expr, union scalar *value);
int shadow_size(struct machine *m, const struct expr *expr, int64_t *size);
int shadow_alloc(struct machine *m, int name, int64_t bytes, struct source_position at);
/* Evaluates shape and index function of a name and finds its block; the contents stay to be set. */
int shadow_bind(struct machine *m, int name);
uint32_t *shadow_ids(struct machine *m, int64_t count); /* all 0 */
uint32_t shadow_new_write(struct machine *m, int name);
/* The element of the block where element `flat` lies (row-major; not for private arrays). */
int64_t shadow_element(const struct shadow_array *a, int64_t flat);
void shadow_indices(const struct shadow_array *a, int64_t flat, int64_t *index);
/* The bytes of an element of `array` in its block; NULL and a violation where they are outside. */
unsigned char *shadow_bytes(struct machine *m, int array, int64_t element, uint32_t **ids);
/* Reads element `flat` of an array, which lies at `element` of its block; compares the writes. */
void shadow_read(struct machine *m, int array, int64_t flat, int64_t element, void *value);
/* Writes `value` to element `flat`, as the write number `id`. */
void shadow_write(struct machine *m, int array, int64_t flat, int64_t element, const void *value,
                  uint32_t id);
/* Reports a violation if `flat` of `array` is not what lies there; used by reads and by copies. */
void shadow_compare(struct machine *m, int array, int64_t flat, int64_t element);
/* A violation unless elements of a and b lie in the same place, element by element. */
void shadow_same_place(struct machine *m, int name, const struct shadow_array *a,
                       const struct shadow_array *b, const char *what);
/* The numbers 0 to count - 1 in the order that was asked for. */
const uint32_t *shadow_order(struct machine *m, int64_t count);

/* shadow_move.c */
int shadow_fresh(struct machine *m, const struct stm *s); /* scratch, iota, replicate */
int shadow_copy(struct machine *m, const struct stm *s);
int shadow_concat(struct machine *m, const struct stm *s);
int shadow_update(struct machine *m, const struct stm *s);
int shadow_element_read(struct machine *m, const struct stm *s);
int shadow_view(struct machine *m, const struct stm *s);

/* shadow_launch.c */
int shadow_launch(struct machine *m, const struct stm *s);
