#include "program/arguments.h"

#include <string.h>

const struct named_value *argument(const struct arguments *arguments, const char *name)
{
    for (size_t i = 0; i < arguments->count; i++)
        if (strcmp(arguments->values[i].name, name) == 0)
            return &arguments->values[i];
    return NULL;
}

const struct named_value *argument_next(const struct arguments *arguments, const char *name,
                                        size_t *reads)
{
    size_t next = *reads;
    while (next < arguments->count && strcmp(arguments->values[next].name, name) != 0)
        next++;
    if (next < arguments->count)
        *reads = next + 1;
    return *reads ? &arguments->values[*reads - 1] : NULL;
}

int64_t argument_i64(const struct arguments *arguments, const char *name)
{
    return argument(arguments, name)->scalar.i64;
}

double argument_f64(const struct arguments *arguments, const char *name)
{
    const struct named_value *v = argument(arguments, name);
    return v->array.element == ELEMENT_f32 ? (double)v->scalar.f32 : v->scalar.f64;
}
