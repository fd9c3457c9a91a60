/* The values of a run, by the names that they have in the program. */
#pragma once

#include "program/element.h"

/* An array on the host, row-major and contiguous. */
struct host_array {
    enum element element;
    unsigned rank;
    int64_t shape[RANK_MAX];
    size_t count; /* elements */
    void *data;
};

/* A value with the name it has in the program: a scalar (array.data == NULL) or an array. */
struct named_value {
    const char *name;
    union scalar scalar;
    struct host_array array;
};

/* The values of one run of a fun. */
struct arguments {
    const char *fun;     /* the name of the fun */
    const char *dataset; /* the dataset's name */
    size_t count;
    const struct named_value *values;
};

/* The value of that name, owned by `arguments`; NULL if there is none. */
const struct named_value *argument(const struct arguments *arguments, const char *name);
/* The value of the next read of the scalar `name`, owned by `arguments`: successive reads consume
 * successive values of that name, and the last is used for all further reads. *reads is 0 before
 * the first read; the caller keeps it. NULL if there is none. */
const struct named_value *argument_next(const struct arguments *arguments, const char *name,
                                        size_t *reads);
/* The scalar of that name, which must exist and be an i64. */
int64_t argument_i64(const struct arguments *arguments, const char *name);
/* The scalar of that name, which must exist and be an f32 or an f64. */
double argument_f64(const struct arguments *arguments, const char *name);
