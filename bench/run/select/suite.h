/* A suite: a JSON file that names pairs of cases, and the published ratio of the times of a pair.
 * suites/README.md describes the format.
 *
 * The two cases of a pair differ in one axis of their key, which is the same in the whole file: the
 * allocator ("strategy"), the variant of a program ("workload"), the merge set, the release policy,
 * or the dataset.
 */
#pragma once

#include <jansson.h>

#include "run/select/select.h"

/* A suite whose text is part of this binary. */
struct builtin_suite {
    const char *name, *path, *text;
};
/* Written by the build from suites/; ends with a NULL name. */
extern const struct builtin_suite builtin_suites[];

struct suite {
    char *name, *path;
    json_t *json; /* the file, checked, without the rows that suite_narrow has dropped */
    size_t row_count;
    struct selection *rows; /* the names of each row; empty for a row with `missing` */
};

/* Reads a built-in suite by its name, or a file by its path (which ends in ".json"), and resolves
 * the names in it. ERR_USAGE for a name that does not exist; ERR_IO; ERR_PARSE with
 * "PATH:LINE:COLUMN: " or "PATH: rows[3].published: " for a file that is not a suite. On an error
 * there is nothing to free. */
int suite_open(const char *name_or_path, struct catalogue *catalogue, struct suite *suite,
               struct error *error);
/* The same for a text in memory; `path` is for messages. */
int suite_read(const char *path, const char *text, size_t length, struct catalogue *catalogue,
               struct suite *suite, struct error *error);
/* Keeps the rows that a comma list of globs matches; NULL: all. ERR_USAGE if none is left. */
int suite_narrow(struct suite *suite, const char *workloads, const char *datasets,
                 struct error *error);
/* Makes the cases of all rows on these devices, each case once. The caller frees `selection` with
 * select_free. ERR_USAGE if there is no case. */
int suite_cases(struct suite *suite, const struct device_info *devices, size_t device_count,
                struct selection *selection, struct error *error);
/* Frees everything in the suite. */
void suite_close(struct suite *suite);
