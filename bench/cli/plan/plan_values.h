/* The sizes that `gamut plan` is asked about: words name=value, a dataset, or both. */
#ifndef GAMUT_CLI_PLAN_VALUES_H
#define GAMUT_CLI_PLAN_VALUES_H

#include "run/select/catalogue.h"

struct plan_values {
    struct arena arena;
    struct arguments arguments;
    const struct arguments
        *known;          /* &arguments, or NULL: no sizes were given, there is no dataset */
    const char *dataset; /* NULL: none was used */
    bool chosen;         /* nobody asked for that dataset */
};

/* `words` are "name=value" of the fun's scalar parameters and of scalars that it reads from arrays
 * (of those also "name=first,second,…": what is read each time, the last one from then on); they go
 * before what `dataset` says (NULL: none is named). Where neither gives a parameter, the dataset
 * "smoke" or the first that fits is used. ERR_USAGE: a name or a value is not understood, or a size
 * is missing. */
int plan_values_make(const struct entry *entry, const char *dataset, const char *const *words,
                     size_t word_count, struct plan_values *values, struct error *error);
void plan_values_free(struct plan_values *values);

#endif
