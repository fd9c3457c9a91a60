#include "run/select/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/random.h"
#include "base/text.h"

/* ---- literals -------------------------------------------------------------------------------- */

struct maker {
    const struct entry *entry;
    const struct dataset *dataset;
    const struct arguments *given; /* scalars that win over the dataset's; NULL: none */
    union scalar *dataset_values;  /* by name number of the dataset */
    struct error *error;
};

static int inputs_fail(const struct maker *m, struct source_position at, const char *what,
                       const char *name)
{
    return program_error(m->entry->program, m->error, ERR_USAGE, at, "'%s' of dataset '%s': %s",
                         name, m->dataset->name, what);
}

static int literal_scalar(const struct maker *m, const struct literal *l, enum element type,
                          const char *name, union scalar *value)
{
    if (!l->scalar)
        return inputs_fail(m, l->at, "expected a number, found a list", name);
    TRY(expr_evaluate(m->entry->program, l->scalar, m->dataset_values, value, m->error));
    bool real = element_is_float(l->scalar->type);
    if (real && !element_is_float(type))
        return inputs_fail(m, l->at, "expected a whole number", name);
    if (!scalar_fits(*value, l->scalar->type, type))
        return program_error(m->entry->program, m->error, ERR_USAGE, l->at,
                             "'%s' of dataset '%s': the number does not fit in type %s", name,
                             m->dataset->name, element_name(type));
    *value = scalar_convert(*value, l->scalar->type, type);
    return 0;
}

/* Writes the values of a list into consecutive elements from `to` on. */
static int literal_array(const struct maker *m, const struct literal *l, const char *name,
                         const struct host_array *a, unsigned dim, char **to)
{
    if (dim == a->rank) {
        union scalar value;
        TRY(literal_scalar(m, l, a->element, name, &value));
        memcpy(*to, &value, element_bytes(a->element));
        *to += element_bytes(a->element);
        return 0;
    }
    if (l->scalar)
        return inputs_fail(m, l->at, "expected a list", name);
    if ((int64_t)l->count != a->shape[dim])
        return program_error(m->entry->program, m->error, ERR_USAGE, l->at,
                             "'%s' of dataset '%s': %u values, dimension %u has %lld", name,
                             m->dataset->name, l->count, dim, (long long)a->shape[dim]);
    for (unsigned i = 0; i < l->count; i++)
        TRY(literal_array(m, &l->items[i], name, a, dim + 1, to));
    return 0;
}

static const struct setting *find_setting(const struct setting *settings, unsigned count,
                                          const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    return NULL;
}

/* Evaluates the dataset's scalars into memory of the arena. */
static int evaluate_dataset(struct maker *m, struct arena *arena)
{
    const struct dataset *d = m->dataset;
    m->dataset_values = arena_alloc(arena, (d->names->name_count + 1) * sizeof *m->dataset_values);
    for (unsigned i = 0; i < d->setting_count; i++)
        if (d->settings[i].scalar != NO_NAME)
            TRY(expr_evaluate(m->entry->program, d->settings[i].value.scalar, m->dataset_values,
                              &m->dataset_values[d->settings[i].scalar], m->error));
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

const char *inputs_lacking(const struct fun *fun, const struct dataset *dataset)
{
    for (unsigned i = 0; i < fun->param_count; i++) {
        const struct name *n = &fun->names[fun->params[i]];
        if (n->kind == NAME_SCALAR &&
            !find_setting(dataset->settings, dataset->setting_count, n->text))
            return n->text;
    }
    return NULL;
}

static void fill_random(struct host_array *a, uint64_t seed)
{
    struct random r = {seed};
    for (size_t i = 0; i < a->count; i++) {
        union scalar v = {.f64 = random_unit(&r)};
        if (!element_is_float(a->element))
            v.i64 = (int64_t)random_below(&r, a->element == ELEMENT_bool ? 2 : 256);
        v = scalar_convert(v, element_is_float(a->element) ? ELEMENT_f64 : ELEMENT_i64, a->element);
        memcpy((char *)a->data + i * element_bytes(a->element), &v, element_bytes(a->element));
    }
}

static int shape_array(const struct maker *m, const struct name *n, const union scalar *values,
                       struct host_array *a)
{
    *a = (struct host_array){.element = n->element, .rank = n->rank, .count = 1};
    for (unsigned d = 0; d < n->rank; d++) {
        union scalar size;
        TRY(expr_evaluate(m->entry->program, n->shape[d], values, &size, m->error));
        if (size.i64 < 0 || __builtin_mul_overflow(a->count, (size_t)size.i64, &a->count) ||
            a->count > SIZE_MAX / 16)
            return inputs_fail(m, n->at, "its size is negative or beyond what a host can hold",
                               n->text);
        a->shape[d] = size.i64;
    }
    return 0;
}

static int make_array(const struct maker *m, const struct name *n, const union scalar *values,
                      struct inputs *inputs, struct named_value *out, uint64_t seed)
{
    struct host_array *a = &out->array;
    TRY(shape_array(m, n, values, a));
    size_t bytes = a->count * element_bytes(a->element);
    a->data = malloc(bytes ? bytes : 1);
    if (!a->data)
        return error_set(m->error, ERR_HOST_MEMORY, "no %zu bytes on the host for input '%s'",
                         bytes, n->text);
    inputs->bytes += bytes;
    const struct setting *s =
        find_setting(m->dataset->settings, m->dataset->setting_count, n->text);
    const struct builtin *builtin = m->entry->builtin;
    if (s) {
        char *to = a->data;
        return literal_array(m, &s->value, n->text, a, 0, &to);
    }
    if (builtin && builtin->workload->fill)
        return builtin->workload->fill(&inputs->arguments, n->text, a, seed, m->error);
    fill_random(a, seed);
    return 0;
}

static int evaluate_traffic(const struct maker *m, const union scalar *values,
                            double *traffic_bytes)
{
    const struct expr *expr = m->entry->fun->traffic;
    union scalar traffic;
    *traffic_bytes = NAN;
    if (!expr)
        return 0;
    TRY(expr_evaluate(m->entry->program, expr, values, &traffic, m->error));
    if (traffic.i64 < 0)
        return program_error(m->entry->program, m->error, ERR_USAGE, expr->at,
                             "the traffic of '%s' is %lld bytes with dataset '%s', expected 0 or "
                             "more",
                             m->entry->name, (long long)traffic.i64, m->dataset->name);
    *traffic_bytes = (double)traffic.i64;
    return 0;
}

/* `values` receives them by name number. Evaluates the traffic, which follows from them. */
static int make_scalars(struct maker *m, struct inputs *inputs, struct named_value *out,
                        union scalar *values)
{
    const struct fun *fun = m->entry->fun;
    TRY(evaluate_dataset(m, &inputs->arena));
    for (unsigned i = 0; i < fun->param_count; i++) {
        const struct name *n = &fun->names[fun->params[i]];
        if (n->kind != NAME_SCALAR)
            continue;
        const struct named_value *given = m->given ? argument(m->given, n->text) : NULL;
        const struct setting *s =
            find_setting(m->dataset->settings, m->dataset->setting_count, n->text);
        if (!s && !given)
            return inputs_fail(m, m->dataset->at, "it is not set", n->text);
        struct named_value *v = &out[inputs->arguments.count++];
        v->name = n->text;
        v->array.element = n->element;
        if (given)
            values[fun->params[i]] = given->scalar;
        else
            TRY(literal_scalar(m, &s->value, n->element, n->text, &values[fun->params[i]]));
        v->scalar = values[fun->params[i]];
    }
    return evaluate_traffic(m, values, &inputs->traffic_bytes);
}

static int make_arrays(struct maker *m, struct inputs *inputs, struct named_value *out,
                       const union scalar *values, uint64_t seed)
{
    const struct fun *fun = m->entry->fun;
    for (unsigned i = 0; i < fun->param_count; i++) {
        const struct name *n = &fun->names[fun->params[i]];
        if (n->kind != NAME_ARRAY)
            continue;
        struct named_value *v = &out[inputs->arguments.count++];
        v->name = n->text;
        TRY(make_array(m, n, values, inputs, v, random_split(seed, i)));
    }
    return 0;
}

struct input_sizes {
    uint64_t total_bytes, largest_bytes; /* sizes of all arrays together and of the largest one */
};

static int size_arrays(const struct maker *m, const union scalar *values, struct input_sizes *sizes)
{
    const struct fun *fun = m->entry->fun;
    *sizes = (struct input_sizes){0};
    for (unsigned i = 0; i < fun->param_count; i++) {
        const struct name *n = &fun->names[fun->params[i]];
        struct host_array a;
        if (n->kind != NAME_ARRAY)
            continue;
        TRY(shape_array(m, n, values, &a));
        const uint64_t bytes = a.count * element_bytes(a.element);
        sizes->largest_bytes = bytes > sizes->largest_bytes ? bytes : sizes->largest_bytes;
        if (__builtin_add_overflow(sizes->total_bytes, bytes, &sizes->total_bytes))
            sizes->total_bytes = UINT64_MAX; /* more than any device has */
    }
    return 0;
}

/* Makes the scalars; also the arrays unless `seed` is NULL. Fills in *sizes unless it is NULL. */
static int inputs_make_parts(const struct entry *entry, const struct dataset *dataset,
                             const struct arguments *given, const uint64_t *seed,
                             struct input_sizes *sizes, struct inputs *inputs, struct error *error)
{
    const struct fun *fun = entry->fun;
    *inputs = (struct inputs){.arguments = {.fun = entry->fun->name, .dataset = dataset->name}};
    struct maker m = {.entry = entry, .dataset = dataset, .given = given, .error = error};
    union scalar *values = arena_alloc(&inputs->arena, fun->name_count * sizeof *values);
    struct named_value *out = arena_alloc(&inputs->arena, fun->param_count * sizeof *out);
    inputs->arguments.values = out;
    int code = make_scalars(&m, inputs, out, values);
    THEN(code, sizes ? size_arrays(&m, values, sizes) : 0);
    THEN(code, seed ? make_arrays(&m, inputs, out, values, *seed) : 0);
    if (code)
        inputs_free(inputs);
    return code;
}

int inputs_make(const struct entry *entry, const struct dataset *dataset, uint64_t seed,
                struct inputs *inputs, struct error *error)
{
    return inputs_make_parts(entry, dataset, NULL, &seed, NULL, inputs, error);
}

int inputs_make_given(const struct entry *entry, const struct dataset *dataset,
                      const struct arguments *given, uint64_t seed, struct inputs *inputs,
                      struct error *error)
{
    return inputs_make_parts(entry, dataset, given, &seed, NULL, inputs, error);
}

int inputs_make_scalars(const struct entry *entry, const struct dataset *dataset,
                        struct inputs *inputs, struct error *error)
{
    return inputs_make_parts(entry, dataset, NULL, NULL, NULL, inputs, error);
}

/* Checks the numbers of a setting, whatever its shape. */
static int check_literal(const struct maker *m, const struct literal *l, const struct name *n)
{
    union scalar value;
    if (l->scalar)
        return literal_scalar(m, l, n->element, n->text, &value);
    for (unsigned i = 0; i < l->count; i++)
        TRY(check_literal(m, &l->items[i], n));
    return 0;
}

static int check_settings(const struct maker *m, const int *names, unsigned name_count,
                          const struct setting *settings, unsigned setting_count)
{
    for (unsigned i = 0; i < name_count; i++) {
        const struct name *n = &m->entry->fun->names[names[i]];
        const struct setting *s = find_setting(settings, setting_count, n->text);
        if (s)
            TRY(check_literal(m, &s->value, n));
    }
    return 0;
}

int inputs_check_values(const struct entry *entry, const struct dataset *dataset,
                        struct error *error)
{
    const struct fun *fun = entry->fun;
    struct inputs scalars;
    if (inputs_lacking(fun, dataset))
        return 0;
    TRY(inputs_make_scalars(entry, dataset, &scalars, error));
    struct maker m = {.entry = entry, .dataset = dataset, .error = error};
    int code = evaluate_dataset(&m, &scalars.arena);
    THEN(code, check_settings(&m, fun->params, fun->param_count, dataset->settings,
                              dataset->setting_count));
    THEN(code, check_settings(&m, fun->body.results, fun->body.result_count, dataset->expects,
                              dataset->expect_count));
    inputs_free(&scalars);
    return code;
}

void inputs_free(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->arguments.count; i++)
        free(inputs->arguments.values[i].array.data);
    arena_free(&inputs->arena);
    *inputs = (struct inputs){0};
}

static bool needs_f64(const struct fun *fun)
{
    for (unsigned n = 0; n < fun->name_count; n++)
        if (fun->names[n].kind == NAME_ARRAY && fun->names[n].element == ELEMENT_f64)
            return true;
    return false;
}

/* Checks that the group has all devices that kernels run on. A single device runs them all,
 * whatever the program asks for. */
static int check_members(const struct fun *fun, const struct device_info *device,
                         struct error *error)
{
    for (const struct kernel *k = fun->kernels; k && device->members > 1; k = k->next)
        if (k->on >= device->members)
            return error_set(error, ERR_UNSUPPORTED,
                             "kernel '%s' runs on device %u, %s has devices 0 to %u", k->name,
                             k->on, device->id, device->members - 1);
    return 0;
}

int inputs_check_device(const struct entry *entry, const struct dataset *dataset,
                        const struct device_info *device, uint64_t capacity_bytes,
                        struct error *error)
{
    if (needs_f64(entry->fun) && !device->has_f64)
        return error_set(error, ERR_UNSUPPORTED, "the device has no 64-bit floats");
    struct inputs scalars;
    struct input_sizes inputs;
    TRY(check_members(entry->fun, device, error));
    TRY(inputs_make_parts(entry, dataset, NULL, NULL, &inputs, &scalars, error));
    inputs_free(&scalars);
    const bool limited = capacity_bytes && capacity_bytes < device->memory_bytes;
    const uint64_t most = limited ? capacity_bytes : device->memory_bytes;
    char need[64], have[64];
    if (inputs.total_bytes > most)
        return error_set(error, ERR_UNSUPPORTED, "does not fit: its inputs alone are %s, %s %s",
                         text_bytes_exact(need, inputs.total_bytes),
                         limited ? "the limit is" : "the device has", text_bytes_exact(have, most));
    if (inputs.largest_bytes > device->max_alloc_bytes)
        return error_set(error, ERR_UNSUPPORTED,
                         "does not fit: an input is %s, a single memory of the device at most %s",
                         text_bytes_exact(need, inputs.largest_bytes),
                         text_bytes_exact(have, device->max_alloc_bytes));
    return 0;
}

uint64_t inputs_digest(const struct fun *fun, const struct inputs *inputs)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < inputs->arguments.count; i++) {
        const struct named_value *value = &inputs->arguments.values[i];
        const struct host_array *array = &value->array;
        const int name = fun_find(fun, value->name, strlen(value->name));
        digest = digest_bytes(digest, value->name, strlen(value->name));
        if (fun->names[name].kind == NAME_ARRAY) {
            digest = digest_bytes(digest, array->shape, array->rank * sizeof *array->shape);
            digest =
                digest_bytes(digest, array->data, array->count * element_bytes(array->element));
        } else {
            digest = digest_bytes(digest, &value->scalar, element_bytes(fun->names[name].element));
        }
    }
    return digest ? digest : 1;
}

/* ---- checking -------------------------------------------------------------------------------- */

bool inputs_can_check(const struct entry *entry, const struct dataset *dataset)
{
    return entry->builtin || dataset->expect_count;
}

static double as_double(const char *at, enum element element)
{
    union scalar v;
    memcpy(&v, at, element_bytes(element));
    return scalar_convert(v, element, ELEMENT_f64).f64;
}

static int compare_arrays(const struct host_array *got, const struct host_array *want,
                          const char *name, double *worst, struct error *error)
{
    double tolerance = got->element == ELEMENT_f32 ? 1e-5 : got->element == ELEMENT_f64 ? 1e-12 : 0;
    size_t bytes = element_bytes(got->element);
    for (size_t i = 0; i < got->count; i++) {
        double g = as_double((char *)got->data + i * bytes, got->element);
        double w = as_double((char *)want->data + i * bytes, want->element);
        if (memcmp((char *)got->data + i * bytes, (char *)want->data + i * bytes, bytes) == 0)
            continue;
        double relative = fabs(g - w) / fmax(fabs(w), 1e-30);
        if (!(relative <= tolerance))
            return error_set(error, ERR_WRONG, "element %zu of '%s' is %.9g, expected %.9g", i,
                             name, g, w);
        *worst = fmax(*worst, relative);
    }
    return 0;
}

static int check_expected(const struct maker *m, const struct setting *s, const struct name *n,
                          const struct host_array *got, double *worst)
{
    struct host_array want = *got;
    want.data = must_alloc(got->count * element_bytes(got->element));
    char *to = want.data;
    int code = literal_array(m, &s->value, n->text, &want, 0, &to);
    if (code)
        code = error_set(m->error, ERR_WRONG, "'%s' does not have the expected shape", n->text);
    else
        code = compare_arrays(got, &want, n->text, worst, m->error);
    free(want.data);
    return code;
}

int inputs_check(const struct entry *entry, const struct dataset *dataset,
                 const struct inputs *inputs, const struct host_array *results, double *worst_error,
                 struct error *error)
{
    const struct body *body = &entry->fun->body;
    *worst_error = 0;
    if (!dataset->expect_count)
        return entry->builtin->workload->check(&inputs->arguments, results, body->result_count,
                                               worst_error, error);
    struct arena arena = {0};
    struct maker m = {.entry = entry, .dataset = dataset, .error = error};
    int code = evaluate_dataset(&m, &arena);
    unsigned checked = 0;
    for (unsigned r = 0; r < body->result_count && !code; r++) {
        const struct name *n = &entry->fun->names[body->results[r]];
        const struct setting *s = find_setting(dataset->expects, dataset->expect_count, n->text);
        if (s)
            code = check_expected(&m, s, n, &results[r], worst_error);
        checked += s != NULL;
    }
    THEN(code, checked != dataset->expect_count
                   ? program_error(entry->program, error, ERR_USAGE, dataset->at,
                                   "dataset '%s' expects a result that '%s' does not have",
                                   dataset->name, entry->fun->name)
                   : 0);
    arena_free(&arena);
    return code;
}
