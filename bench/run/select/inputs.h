/* The values that a fun is run with: a dataset's, the workload's own, or random ones. */
#ifndef GAMUT_RUN_INPUTS_H
#define GAMUT_RUN_INPUTS_H

#include "run/select/catalogue.h"

struct inputs {
    struct arena arena;
    struct arguments arguments;
    size_t bytes;         /* of all arrays */
    double traffic_bytes; /* of one run, by the fun's `traffic`; NaN where it does not say */
};

/* Does the dataset set every scalar parameter of the fun? */
bool inputs_fit(const struct fun *fun, const struct dataset *dataset);

/* ERR_USAGE with file, line and column where a value has the wrong type or shape. */
int inputs_make(const struct entry *entry, const struct dataset *dataset, uint64_t seed,
                struct inputs *inputs, struct error *error);
/* The scalars alone, without any array: enough for a dry run. */
int inputs_make_scalars(const struct entry *entry, const struct dataset *dataset,
                        struct inputs *inputs, struct error *error);
/* How much memory the arrays take, without making any. */
struct input_sizes {
    uint64_t total_bytes, largest_bytes; /* of all arrays, of one */
};
int inputs_sizes(const struct entry *entry, const struct dataset *dataset,
                 struct input_sizes *sizes, struct error *error);
void inputs_free(struct inputs *inputs);

/* Of all values with their names and shapes: the same for the same data on every machine; not 0. */
uint64_t inputs_digest(const struct fun *fun, const struct inputs *inputs);

/* Does the program have something to compare its results with? */
bool inputs_can_check(const struct entry *entry, const struct dataset *dataset);
/* Compares with the workload's reference or the dataset's `expect`. As workload.check. */
int inputs_check(const struct entry *entry, const struct dataset *dataset,
                 const struct inputs *inputs, const struct host_array *results, double *worst_error,
                 struct error *error);

#endif
