/* Finds the sizes for which gamut plan counts bytes. */
#include "cli/plan/plan_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run/select/inputs.h"
#include "run/select/select.h"

/* ---- the scalars ---------------------------------------------------------------------------- */

struct scalars {
    const struct fun *fun;
    size_t count, param_count;
    int *names; /* parameters first, then those that are read from arrays */
};

static void add_scalar(struct scalars *s, int name)
{
    s->names = must_realloc(s->names, (s->count + 1) * sizeof *s->names);
    s->names[s->count++] = name;
}

static void add_read(struct scalars *s, const struct body *body)
{
    for (const struct stm *stm = body->first; stm; stm = stm->next) {
        if (stm->kind == STM_ELEMENT)
            add_scalar(s, stm->outs[0]);
        if (stm->kind == STM_IF) {
            add_read(s, stm->then);
            add_read(s, stm->otherwise);
        } else if (stm->kind == STM_LOOP) {
            add_read(s, &stm->loop->body);
        }
    }
}

static struct scalars scalars_of(const struct fun *fun)
{
    struct scalars s = {.fun = fun};
    for (unsigned i = 0; i < fun->param_count; i++)
        if (fun->names[fun->params[i]].kind == NAME_SCALAR)
            add_scalar(&s, fun->params[i]);
    s.param_count = s.count;
    add_read(&s, &fun->body);
    return s;
}

static const char *scalar_at(void *context, size_t i)
{
    const struct scalars *s = context;
    return i < s->count ? s->fun->names[s->names[i]].text : NULL;
}

/* ---- values --------------------------------------------------------------------------------- */

/* Sizes may have a unit, as everywhere on the command line: 64k. */
static bool whole_number(const char *text, int64_t *value)
{
    uint64_t bytes;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *value = text[0] == 't';
        return true;
    }
    if (!text_to_bytes(text, &bytes) || bytes > INT64_MAX)
        return false;
    *value = (int64_t)bytes;
    return true;
}

static int read_value(const struct name *n, const char *text, union scalar *value,
                      struct error *error)
{
    union scalar wide;
    if (element_is_float(n->element)) {
        char *end;
        wide.f64 = strtod(text, &end);
        if (end == text || *end || !isfinite(wide.f64) ||
            !scalar_fits(wide, ELEMENT_f64, n->element))
            return error_set(error, ERR_USAGE, "%s is '%s', expected a number", n->text, text);
        *value = scalar_convert(wide, ELEMENT_f64, n->element);
        return 0;
    }
    if (text[0] == '-')
        return error_set(error, ERR_USAGE, "%s is %s, expected 0 or more", n->text, text);
    if (!whole_number(text, &wide.i64))
        return error_set(error, ERR_USAGE, "%s is '%s', expected a whole number", n->text, text);
    if (!scalar_fits(wide, ELEMENT_i64, n->element))
        return error_set(error, ERR_USAGE, "%s is %s, which is no %s", n->text, text,
                         element_name(n->element));
    *value = scalar_convert(wide, ELEMENT_i64, n->element);
    return 0;
}

/* Adds a value, or replaces the present one. */
static void put_value(struct named_value *list, size_t *count, const struct named_value *value)
{
    size_t i = 0;
    while (i < *count && strcmp(list[i].name, value->name) != 0)
        i++;
    list[i] = *value;
    *count += i == *count;
}

/* Reads "n=4"; a scalar that is read from an array may have several values, "c=3,1,0". */
static int read_word(const struct scalars *s, const char *word, struct named_value *list,
                     size_t *count, struct arena *arena, struct error *error)
{
    size_t length = strcspn(word, "="), i = 0;
    const char *name = arena_copy(arena, word, length);
    if (!word[length])
        return error_set(error, ERR_USAGE, "'%s' is one argument too many: sizes are name=value",
                         word);
    while (i < s->count && strcmp(scalar_at((void *)s, i), name) != 0)
        i++;
    if (i == s->count)
        return text_unknown(error, name, scalar_at, (void *)s, "%s has no scalar", s->fun->name);
    const struct name *n = &s->fun->names[s->names[i]];
    int code = 0;
    for (const char *at = word + length; *at && !code; at += length) {
        struct named_value v = {.name = n->text, .array.element = n->element};
        at++;
        length = i < s->param_count ? strlen(at) : strcspn(at, ",");
        code = read_value(n, arena_copy(arena, at, length), &v.scalar, error);
        if (i < s->param_count)
            put_value(list, count, &v);
        else
            list[(*count)++] = v;
    }
    return code;
}

/* Checks that every parameter has a size. Other missing values are reported when they are
 * needed. */
static int check_missing(const struct entry *entry, const struct arguments *arguments,
                         struct error *error)
{
    struct text missing = {0};
    for (unsigned i = 0; i < entry->fun->param_count; i++) {
        const struct name *n = &entry->fun->names[entry->fun->params[i]];
        bool is_size = n->element == ELEMENT_i64 || n->element == ELEMENT_i32;
        if (n->kind == NAME_SCALAR && is_size && !argument(arguments, n->text))
            text_add(&missing, " %s=…", n->text);
    }
    int code = 0;
    if (missing.length)
        code = error_set(error, ERR_USAGE, "%s needs values for%s%s", entry->name, missing.data,
                         entry->program->dataset_count ? ", or a dataset (-d) for what is not given"
                                                       : "");
    text_free(&missing);
    return code;
}

static const struct dataset *default_dataset(const struct entry *entry)
{
    const struct dataset *smoke = select_dataset(entry, "smoke");
    if (smoke && !inputs_lacking(entry->fun, smoke))
        return smoke;
    for (unsigned d = 0; d < entry->program->dataset_count; d++)
        if (!inputs_lacking(entry->fun, &entry->program->datasets[d]))
            return &entry->program->datasets[d];
    return NULL;
}

static const char *dataset_at(void *context, size_t i)
{
    const struct program *program = context;
    return i < program->dataset_count ? program->datasets[i].name : NULL;
}

static int find_dataset(const struct entry *entry, const char *name, const struct dataset **dataset,
                        struct error *error)
{
    *dataset = select_dataset(entry, name);
    return *dataset ? 0
                    : text_unknown(error, name, dataset_at, (void *)entry->program,
                                   "%s has no dataset", entry->name);
}

static int use_dataset(const struct entry *entry, const struct dataset *dataset,
                       struct named_value *list, size_t *count, struct error *error)
{
    struct inputs inputs;
    TRY(inputs_check_values(entry, dataset, error));
    TRY(inputs_make_scalars(entry, dataset, &inputs, error));
    for (size_t i = 0; i < inputs.arguments.count; i++) /* names are the program's */
        put_value(list, count, &inputs.arguments.values[i]);
    inputs_free(&inputs);
    return 0;
}

static bool is_parameter(const struct fun *fun, const char *name)
{
    for (unsigned p = 0; p < fun->param_count; p++)
        if (strcmp(fun->names[fun->params[p]].text, name) == 0)
            return true;
    return false;
}

static bool gives_parameter(const struct fun *fun, const struct named_value *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_parameter(fun, list[i].name))
            return true;
    return false;
}

/* Does the dataset set all parameters, those in the list to the same values? */
static bool dataset_has(const struct entry *entry, const struct dataset *dataset,
                        const struct named_value *list, size_t count)
{
    struct inputs inputs;
    struct error ignored;
    if (inputs_lacking(entry->fun, dataset) ||
        inputs_make_scalars(entry, dataset, &inputs, &ignored))
        return false;
    bool same = true;
    for (size_t i = 0; i < count; i++) {
        const struct named_value *has = argument(&inputs.arguments, list[i].name);
        same &= !has ||
                memcmp(&has->scalar, &list[i].scalar, element_bytes(list[i].array.element)) == 0;
    }
    inputs_free(&inputs);
    return same;
}

static const struct dataset *dataset_with(const struct entry *entry, const struct named_value *list,
                                          size_t count)
{
    for (unsigned d = 0; d < entry->program->dataset_count; d++)
        if (dataset_has(entry, &entry->program->datasets[d], list, count))
            return &entry->program->datasets[d];
    return NULL;
}

static int values_make(const struct entry *entry, const char *name, const char *const *words,
                       size_t word_count, struct plan_values *v, struct error *error)
{
    struct scalars scalars = scalars_of(entry->fun);
    size_t most = scalars.count + word_count + 1;
    for (size_t i = 0; i < word_count; i++)
        for (const char *c = words[i]; *c; c++)
            most += *c == ',';
    struct named_value *from_words = arena_alloc(&v->arena, most * sizeof *from_words);
    struct named_value *list = arena_alloc(&v->arena, most * sizeof *list);
    const struct dataset *dataset = NULL;
    size_t given = 0, count = 0;
    int code = 0;
    for (size_t i = 0; i < word_count && !code; i++)
        code = read_word(&scalars, words[i], from_words, &given, &v->arena, error);
    THEN(code, name ? find_dataset(entry, name, &dataset, error) : 0);
    const bool sized = gives_parameter(entry->fun, from_words, given);
    if (!code && !name)
        dataset = sized ? dataset_with(entry, from_words, given) : default_dataset(entry);
    THEN(code, dataset ? use_dataset(entry, dataset, list, &count, error) : 0);
    for (size_t i = 0; i < given && !code; i++)
        if (is_parameter(entry->fun, from_words[i].name))
            put_value(list, &count, &from_words[i]);
        else
            list[count++] = from_words[i];
    v->dataset = dataset ? dataset->name : NULL;
    v->chosen = dataset && !name && !sized;
    v->arguments = (struct arguments){
        .fun = entry->fun->name, .dataset = v->dataset, .count = count, .values = list};
    v->known = dataset || given ? &v->arguments : NULL;
    THEN(code, v->known ? check_missing(entry, v->known, error) : 0);
    struct error lacking;
    if (!code && v->known)
        code =
            readings_find(entry, dataset, v->known, PLAN_SEED, true, &v->readings, &lacking, error);
    if (!code && v->known)
        v->known = &v->readings.arguments;
    free(scalars.names);
    return code;
}

int plan_values_make(const struct entry *entry, const char *dataset, const char *const *words,
                     size_t word_count, struct plan_values *values, struct error *error)
{
    *values = (struct plan_values){0};
    int code = values_make(entry, dataset, words, word_count, values, error);
    if (code)
        plan_values_free(values);
    return code;
}

void plan_values_free(struct plan_values *values)
{
    readings_free(&values->readings);
    arena_free(&values->arena);
    *values = (struct plan_values){0};
}
