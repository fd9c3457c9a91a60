#include "run/select/merging.h"

#include <stdlib.h>

#include "merge/merge.h"
#include "run/select/dry_run.h"

static int64_t peak_bytes(void *context, const struct fun *fun)
{
    struct dry_run run;
    struct error ignored;
    if (dry_run(fun, context, RELEASE_LAST_USE, &run, &ignored))
        return -1;
    return (int64_t)run.peak_requested_bytes;
}

int merging_run(const struct fun *fun, const char *spec, const struct arguments *scalars,
                int64_t time_limit_ns, struct merge **merged, struct error *error)
{
    const struct merge_set *set;
    struct merge_options options = {.time_limit_ns = time_limit_ns};
    int code = merge_parse(spec, &set, &options.extensions, error);
    if (code)
        return code;
    union scalar *values = must_alloc((fun->name_count + 1) * sizeof *values);
    for (unsigned i = 0; scalars && i < fun->param_count; i++) {
        const struct named_value *v = argument(scalars, fun->names[fun->params[i]].text);
        if (v && fun->names[fun->params[i]].kind == NAME_SCALAR)
            values[fun->params[i]] = v->scalar;
    }
    if (scalars) {
        options.values = values;
        options.peak_bytes = peak_bytes;
        options.peak_context = (void *)scalars;
    }
    code = merge_run(fun, set, &options, merged, error);
    free(values);
    return code;
}
