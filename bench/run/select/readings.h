/* The values of a program on which its memory depends: those of its arguments, and those that it
 * reads from arrays while it runs. With them, dry runs and merging count what a run needs. */
#pragma once

#include "device/device.h"
#include "program/generate.h"
#include "run/select/inputs.h"

/* The way in which all values became known on which memory depends. X(name, sentence) */
#define READINGS_LIST(X)                                                                           \
    X(given, "the given values are enough")                                                        \
    X(arrays, "values that the program reads are those of the dataset's arrays")                   \
    X(run, "values that the program reads are those of one run on the host")                       \
    X(unknown, "a value that the program reads is not known")

#define READINGS_FROM(name, ...) READINGS_##name,
enum readings_from { READINGS_LIST(READINGS_FROM) READINGS_COUNT };
const char *readings_from_name(enum readings_from from);     /* "run" */
const char *readings_from_sentence(enum readings_from from); /* what a user reads */

struct readings {
    struct arena arena;
    struct inputs inputs;       /* made by readings_find; else empty */
    struct arguments arguments; /* for dry_run and merging_run */
    enum readings_from from;
};

/* Runs `fun` once on `device` with the allocator `raw`, and notes each value that it reads from an
 * array. readings->arguments are `arguments`, which must outlive them, and then these values in the
 * order of the reads. `kernels` and `built` are the fun's for this device. Returns an error of the
 * run, or ERR_HOST_MEMORY if it reads more than a million values. Free with readings_free. */
int readings_take(const struct fun *fun, struct device *device, const struct kernels *kernels,
                  struct device_program *built, const struct arguments *arguments,
                  struct readings *readings, struct error *error);

/* Finds, without a GPU, the values that a dry run of the entry's fun lacks; from the first of these
 * that has all: `scalars`; the arrays of `dataset` (NULL: there is none) in the sizes that
 * `scalars` give, made from `seed`; if it `may_run`, one run with these arrays on the host, but
 * only of a built-in program, because a file is not trusted. Words of a user in `scalars` win. If
 * something is still lacking, readings->from is READINGS_unknown and *lacking names it. `scalars`
 * must outlive the readings. ERR_PROGRAM, or an error of inputs_make_given. Free with
 * readings_free. */
int readings_find(const struct entry *entry, const struct dataset *dataset,
                  const struct arguments *scalars, uint64_t seed, bool may_run,
                  struct readings *readings, struct error *lacking, struct error *error);
void readings_free(struct readings *readings); /* frees what the two made */
