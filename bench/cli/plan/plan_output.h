/* The output of `gamut plan -m`: tables, sentences and JSON about merge sets. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "run/select/merging.h"
#include "run/select/readings.h"

/* The sizes for which bytes are counted: from words name=value, a dataset, or both. */
struct plan_values {
    struct arena arena;
    struct arguments arguments;
    struct readings readings;      /* what the program reads from arrays, if bytes depend on it */
    const struct arguments *known; /* readings.arguments; NULL: neither sizes nor a dataset */
    const char *dataset;           /* NULL: none was used */
    bool chosen;                   /* the dataset is a default: the user gave no parameter */
};

/* The seed of the arrays that are made; the default of `gamut run`. */
enum { PLAN_SEED = 42 };

/* Collects the scalars of a function. `words` are "name=value" for its scalar parameters and for
 * scalars that it reads from arrays; the latter may have several values, "name=first,second,…", one
 * for each read, the last one for all further reads. Words win over `dataset` (NULL: none is
 * named). If no dataset is named, it is the first that has the values of all parameters in `words`;
 * without such words "smoke", or the first that fits. Values that the program reads are found as
 * readings_find does, which may run a built-in program. ERR_USAGE: a name or a value is not
 * understood, or a size is missing. Errors of readings_find. */
int plan_values_make(const struct entry *entry, const char *dataset, const char *const *words,
                     size_t word_count, struct plan_values *values, struct error *error);
/* Frees what plan_values_make made. */
void plan_values_free(struct plan_values *values);

/* Prints a table of the sets, then what each set merged and what it refused. */
void plan_print_table(const struct merge_report *report, FILE *out);

/* Prints as sentences what each set decided about the array or block `name`. ERR_USAGE if the
 * function has no such name. */
int plan_print_why(const struct merge_report *report, const char *name, FILE *out,
                   struct error *error);

/* The report as JSON, in the format that `gamut plan --help` describes. The caller owns it. */
json_t *plan_json(const struct merge_report *report, const struct plan_values *values);

/* `gamut plan --lifetimes`: offsets for the buffers of a CSV file. */
struct lifetimes_options {
    const char *path; /* the format is that of trace/lifetime_table.h */
    bool has_capacity;
    uint64_t capacity; /* any plan within it will do */
    uint64_t time_limit_ns;
    const char *planner; /* of another project, or "all": compare it; NULL: none */
    bool as_json;
};

/* Writes the file's rows with an offset each, a table of planners, or JSON to `out`. Writes to
 * stderr how high the plan is and whether it is proved to be the lowest, and what the offsets
 * are worth that the file has. Returns 0, or ERR_OOM if no plan fits into the capacity, or none
 * was found in time; nothing is written then. ERR_USAGE if there is no such planner. ERR_WRONG
 * if the file's offsets are no plan, after everything is written. Or an error of
 * lifetime_table_read_file. */
int plan_lifetimes(const struct lifetimes_options *options, FILE *out, struct error *error);
