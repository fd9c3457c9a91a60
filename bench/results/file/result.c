#include "results/file/result.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_kind.h"
#include "base/gzip_file.h"
#include "base/tree.h"
#include "results/facts/atlas.h"
#include "results/file/measured.h"

/* ---- what the types do not say --------------------------------------------------------------- */

static int check_version(const json_t *root, struct error *error)
{
    const json_t *schema = json_object_get(root, "schema");
    const char *version = tree_get_text(schema, "version");
    if (strcmp(tree_get_text(schema, "name"), RESULT_SCHEMA_NAME) != 0)
        return error_set(error, ERR_PARSE,
                         "schema.name: expected \"" RESULT_SCHEMA_NAME
                         "\": this is not a gamut result file");
    const char *end = version;
    for (size_t digits; (digits = strspn(end, "0123456789")) && end[digits] == '.';)
        end += digits + 1;
    const size_t last = strspn(end, "0123456789");
    if (end == version || !last || end[last])
        return error_set(error, ERR_PARSE, "schema.version: \"%.32s\" is not a version", version);
    if (strncmp(version, RESULT_SCHEMA_VERSION, 2) != 0)
        return error_set(
            error, ERR_PARSE,
            "schema.version: \"%.32s\" is another format than %.1s.x, which this gamut "
            "reads: make the file again with this gamut",
            version, RESULT_SCHEMA_VERSION);
    return 0;
}

/* Rounds come in order, each once, and a case or a row is ok only if its rounds are. `path`:
 * "cases[3]". */
static int check_rounds(const struct result_case *one, const char *path, struct error *error)
{
    const struct result_round *worst = measured_worst_round(one);
    for (size_t i = 1; i < one->round_count; i++)
        if (one->rounds[i].round <= one->rounds[i - 1].round)
            return error_set(error, ERR_PARSE,
                             "%s.rounds[%zu].round: expected more than %u, found %u", path, i,
                             one->rounds[i - 1].round, one->rounds[i].round);
    if (worst && one->status == CASE_ok && worst->status != CASE_ok)
        return error_set(error, ERR_PARSE, "%s.status: \"ok\", but a round is \"%s\"", path,
                         case_status_name(worst->status));
    return 0;
}

/* Ids belong to their keys and come once. `seen` is an object that receives the ids. */
static int check_cases(const struct result *result, json_t *seen, struct error *error)
{
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        char id[13], path[48];
        case_id(&one->key, id);
        snprintf(path, sizeof path, "cases[%zu]", i);
        if (strcmp(id, one->id) != 0)
            return error_set(error, ERR_PARSE, "%s.id: \"%s\" is not the id of its key, %s", path,
                             one->id, id);
        TRY(check_rounds(one, path, error));
        const size_t other = tree_index_of(seen, id, i);
        if (other != i)
            return error_set(error, ERR_PARSE, "%s.id: cases[%zu] has the same", path, other);
    }
    return 0;
}

/* A mean is of cases that are in the file. */
static int check_summary(const struct result *result, struct error *error)
{
    for (size_t i = 0; i < result->mean_count; i++)
        if (result->summary[i].cases > result->case_count)
            return error_set(error, ERR_PARSE,
                             "summary[%zu].cases: expected at most %zu, the number of cases, found "
                             "%u",
                             i, result->case_count, result->summary[i].cases);
    return 0;
}

static int check_atlases(const json_t *atlases, struct error *error)
{
    size_t i;
    json_t *each;
    json_array_foreach((json_t *)atlases, i, each)
    {
        struct atlas atlas;
        int code = atlas_from_json(each, &atlas, error);
        if (code) {
            error_prefix(error, "atlas[%zu]: ", i);
            return code;
        }
        atlas_free(&atlas);
        for (size_t j = 0; j < i; j++)
            if (json_equal(json_object_get(each, "device"),
                           json_object_get(json_array_get(atlases, j), "device")))
                return error_set(error, ERR_PARSE, "atlas[%zu].device: atlas[%zu] has the same", i,
                                 j);
    }
    return 0;
}

/* A row has a value for every parameter, and no row is there twice. */
static int check_rows(const struct result_experiment *experiment, size_t number,
                      struct error *error)
{
    for (size_t i = 0; i < experiment->row_count; i++) {
        const struct result_case *row = &experiment->rows[i];
        char path[64];
        snprintf(path, sizeof path, "experiments[%zu].rows[%zu]", number, i);
        TRY(check_rounds(row, path, error));
        for (size_t p = 0; p < experiment->parameter_count; p++) {
            const struct result_parameter *parameter = &experiment->parameters[p];
            const json_t *value = json_object_get(row->values, parameter->name);
            if (parameter->unit ? !json_is_integer(value) : !json_is_string(value))
                return error_set(error, ERR_PARSE,
                                 "%s.key.%s: expected %s, by the experiment's parameters", path,
                                 parameter->name, parameter->unit ? "an integer" : "a text");
        }
        for (size_t j = 0; j < i; j++)
            if (json_equal(row->values, experiment->rows[j].values))
                return error_set(error, ERR_PARSE, "%s.key: rows[%zu] has the same", path, j);
    }
    return 0;
}

static int check_experiments(const struct result *result, struct error *error)
{
    for (size_t i = 0; i < result->experiment_count; i++) {
        const struct result_experiment *each = &result->experiments[i];
        TRY(check_rows(each, i, error));
        for (size_t j = 0; j < i; j++)
            if (strcmp(each->name, result->experiments[j].name) == 0 &&
                strcmp(each->device, result->experiments[j].device) == 0)
                return error_set(error, ERR_PARSE,
                                 "experiments[%zu]: experiments[%zu] has the same name and device",
                                 i, j);
    }
    return 0;
}

/* Checks the members that are kept as JSON. */
static int check_json(const json_t *root, struct error *error)
{
    static const struct json_rule rules[] = {
        {"run.options", RULE_OBJECT},
        {"run.argv[]", RULE_TEXT},
        {"atlas", RULE_ARRAY | RULE_ABSENT},
        {"fits", RULE_ARRAY | RULE_ABSENT},
        {"fits[]", RULE_OBJECT},
        {"fits[].id", RULE_TEXT},
        {"fits[].trace", RULE_TEXT},
        {"advice", RULE_ARRAY | RULE_ABSENT},
        {"advice[]", RULE_OBJECT},
        {"advice[].id", RULE_TEXT},
        {"advice[].traces", RULE_ARRAY},
        {"experiments[].options", RULE_OBJECT},
        {"experiments[].options{}", RULE_TEXT | RULE_INTEGER | RULE_NULL},
        {"experiments[].rows[].key", RULE_OBJECT},
        {"experiments[].rows[].key{}", RULE_TEXT | RULE_INTEGER},
        {"cases[].spaces", RULE_OBJECT | RULE_ABSENT},
        {"cases[].spaces{}", RULE_OBJECT},
        {"cases[].spaces{}{}", RULE_OBJECT},
        {"cases[].spaces{}{}{}", RULE_COUNT | RULE_NULL},
        {"origins", RULE_OBJECT | RULE_ABSENT},
        {"origins{}", RULE_ARRAY},
        {"origins{}[]", RULE_OBJECT},
        {"origins{}[].what", RULE_TEXT},
        {"origins{}[].repository", RULE_TEXT | RULE_NULL},
        {"origins{}[].file", RULE_TEXT | RULE_NULL},
        {"origins{}[].commit", RULE_TEXT | RULE_NULL},
        {"origins{}[].year", RULE_COUNT | RULE_NULL},
        {NULL, 0},
    };
    return json_check(root, rules, error);
}

static int check(const json_t *root, const struct result *result, struct error *error)
{
    TRY(check_json(root, error));
    json_t *seen = tree_object();
    int code = check_cases(result, seen, error);
    json_decref(seen);
    TRY(code);
    TRY(check_summary(result, error));
    TRY(check_experiments(result, error));
    return check_atlases(result->atlas, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

int result_read(json_t *root, struct result *result, struct error *error)
{
    *result = (struct result){0};
    int code = json_is_object(root) ? check_version(root, error) : 0;
    THEN(code, json_get_fields_in(&result->arena, root, "", result_struct.fields, result, error));
    THEN(code, check(root, result, error));
    result->root = json_incref(root);
    result->version = tree_get_text(json_object_get(root, "schema"), "version");
    if (code)
        result_release(result);
    return code;
}

static int parse(const char *path, const struct text *text, struct result *result,
                 struct error *error)
{
    json_error_t where;
    json_t *root = json_loadb(text->data, text->length, JSON_REJECT_DUPLICATES, &where);
    *result = (struct result){0};
    if (!root)
        return error_set(error, ERR_PARSE, "%s:%d:%d: %s", path, where.line, where.column,
                         where.text);
    int code = result_read(root, result, error);
    if (code)
        error_prefix(error, "%s: ", path);
    json_decref(root);
    return code;
}

int result_open(const char *path, struct result *result, struct error *error)
{
    struct text text = {0};
    *result = (struct result){0};
    int code = gzip_read_file(&text, path, TEXT_MOST_BYTES, error);
    THEN(code, parse(path, &text, result, error));
    text_free(&text);
    return file_explain(path, "result", code, error);
}

void result_release(struct result *result)
{
    arena_free(&result->arena);
    arena_free(&result->derived);
    json_decref(result->root);
    json_decref(result->kept);
    *result = (struct result){0};
}

/* ---- changes --------------------------------------------------------------------------------- */

json_t *result_keep(struct result *result, json_t *value)
{
    if (!result->kept)
        result->kept = tree_array();
    tree_append(result->kept, value);
    return value;
}

void result_warn(struct result *result, struct result_case *one, const char *code,
                 const char *subject, const char *detail)
{
    for (size_t i = 0; i < one->warning_count; i++)
        if (strcmp(one->warnings[i].code, code) == 0 &&
            strcmp(one->warnings[i].subject, subject) == 0)
            return;
    one->warnings = arena_grow(&result->arena, one->warnings, (unsigned)one->warning_count,
                               &(unsigned){0}, sizeof *one->warnings);
    one->warnings[one->warning_count++] =
        (struct result_warning){arena_copy(&result->arena, code, strlen(code)),
                                arena_copy(&result->arena, subject, strlen(subject)),
                                arena_copy(&result->arena, detail, strlen(detail))};
}

/* ---- what is in it --------------------------------------------------------------------------- */

void result_status_counts(const struct result *result, size_t counts[CASE_STATUSES])
{
    memset(counts, 0, CASE_STATUSES * sizeof *counts);
    for (size_t i = 0; i < result->case_count; i++)
        counts[result->cases[i].status]++;
}

const struct record_device *result_device(const struct result *result, const char *id)
{
    for (size_t i = 0; i < result->context.device_count; i++)
        if (strcmp(result->context.devices[i].id, id) == 0)
            return &result->context.devices[i];
    return NULL;
}

const struct result_case *result_case_of(const struct result *result, const char *id)
{
    for (size_t i = 0; i < result->case_count; i++)
        if (strcmp(result->cases[i].id, id) == 0)
            return &result->cases[i];
    return NULL;
}

json_t *result_index(const struct result *result)
{
    json_t *index = tree_object();
    for (size_t i = 0; i < result->case_count; i++)
        tree_put(index, result->cases[i].id, tree_count(i));
    return index;
}

const struct result_case *result_indexed(const struct result *result, const json_t *index,
                                         const char *id)
{
    const json_t *at = json_object_get(index, id);
    return at ? &result->cases[json_integer_value(at)] : NULL;
}

bool result_has_times(const struct result *result, const char *device)
{
    for (size_t i = 0; i < result->case_count; i++)
        if ((!device || strcmp(result->cases[i].key.device, device) == 0) &&
            measured_stat(&result->cases[i], "wall_ns")->over.count)
            return true;
    return false;
}

const struct result_experiment *result_experiment_of(const struct result *result, const char *name,
                                                     const char *device)
{
    for (size_t i = 0; i < result->experiment_count; i++)
        if (strcmp(result->experiments[i].name, name) == 0 &&
            strcmp(result->experiments[i].device, device) == 0)
            return &result->experiments[i];
    return NULL;
}

/* ---- the newest files ------------------------------------------------------------------------ */

/* Names begin with the time. */
static int newest_first(const void *a, const void *b)
{
    return -strcmp(text_file_name(*(char *const *)a), text_file_name(*(char *const *)b));
}

/* Most result files lack the member, and have many megabytes of samples. Each member of the root
 * begins a line, so this one is found without reading the rest as JSON. */
static bool load_with(const char *path, const char *member, struct result *result)
{
    struct text text = {0}, line = {0};
    bool has = false;
    text_add(&line, "\n\"%s\": [", member);
    if (gzip_read_file(&text, path, TEXT_MOST_BYTES, NULL) == 0 && strstr(text.data, line.data))
        has = parse(path, &text, result, NULL) == 0;
    text_free(&text);
    text_free(&line);
    return has;
}

void newest_results(const char *results, const char *member,
                    bool (*take)(void *context, const char *path, const struct result *result),
                    void *context)
{
    static const char *const suffixes[] = {"json", "json.gz"};
    glob_t files = {0};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        struct text pattern = {0};
        text_add(&pattern, "%s/*/*.%s", results, suffixes[i]);
        glob(pattern.data, GLOB_NOSORT | (i ? GLOB_APPEND : 0), NULL, &files);
        text_free(&pattern);
    }
    if (files.gl_pathc)
        qsort(files.gl_pathv, files.gl_pathc, sizeof *files.gl_pathv, newest_first);
    bool has_all = false;
    for (size_t i = 0; i < files.gl_pathc && !has_all; i++) {
        struct result result;
        if (!load_with(files.gl_pathv[i], member, &result))
            continue;
        has_all = take(context, files.gl_pathv[i], &result);
        result_release(&result);
    }
    globfree(&files);
}
