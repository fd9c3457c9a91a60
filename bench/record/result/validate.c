/* Checks all that readers of a result file rely on, as a list of paths. The JSON Schema says more
 * (it is for other people's tools); with this list, the code that reads a tree needs no checks. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "record/result/case_tree.h"
#include "record/result/result.h"
#include "base/gzip_file.h"
#include "base/json_rules.h"
#include "base/tree.h"

/* "|ok|skipped..." */
#define X(name, help) "|" #name
#define STATUSES      CASE_STATUS_LIST(X)
static const struct json_rule rules[] = {
    {"", RULE_OBJECT},
    {"run", RULE_OBJECT},
    {"run.id", RULE_TEXT},
    {"run.started_at", RULE_TEXT},
    {"run.duration_ns", RULE_COUNT | RULE_NULL},
    {"run.argv", RULE_ARRAY},
    {"run.seed", RULE_COUNT},
    {"run.options", RULE_OBJECT},
    {"run.rounds", RULE_COUNT | RULE_SMALL},
    {"run.status|complete|partial|interrupted", RULE_TEXT},
    {"run.sessions", RULE_ARRAY | RULE_ABSENT},
    {"run.sessions[]", RULE_OBJECT},
    {"run.sessions[].started_at", RULE_TEXT},
    {"run.sessions[].rounds", RULE_COUNT | RULE_SMALL},
    {"run.shard", RULE_OBJECT | RULE_ABSENT},
    {"run.shard.number", RULE_COUNT | RULE_SMALL},
    {"run.shard.of", RULE_COUNT | RULE_SMALL},
    {"run.shard.own", RULE_COUNT},
    {"run.shard.items", RULE_COUNT},
    {"run.shard.list", RULE_TEXT},
    {"run.joined", RULE_ARRAY | RULE_ABSENT},
    {"run.joined[]", RULE_OBJECT},
    {"context", RULE_OBJECT},
    {"context.tool", RULE_OBJECT},
    {"context.tool.version", RULE_TEXT},
    {"context.tool.git_rev", RULE_TEXT | RULE_NULL},
    {"context.tool.git_dirty", RULE_BOOLEAN | RULE_NULL},
    {"context.host", RULE_OBJECT},
    {"context.host.machine_id", RULE_TEXT},
    {"context.devices", RULE_ARRAY},
    {"context.devices[]", RULE_OBJECT},
    {"context.devices[].id", RULE_TEXT},
    {"context.devices[].backend", RULE_TEXT},
    {"context.devices[].name", RULE_TEXT},
    {"context.devices[].driver", RULE_TEXT | RULE_NULL | RULE_ABSENT},
    {"context.devices[].copy_bytes_per_second",
     RULE_NUMBER | RULE_NULL | RULE_ABSENT | RULE_NOT_NEGATIVE},
    {"context.clock", RULE_OBJECT | RULE_ABSENT},
    {"context.clock.counter", RULE_TEXT | RULE_NULL},
    {"context.clock.why_not", RULE_TEXT | RULE_NULL},
    {"context.clock.span_ns", RULE_NUMBER | RULE_NULL | RULE_NOT_NEGATIVE},
    {"context.clock.system_span_ns", RULE_NUMBER | RULE_NULL | RULE_NOT_NEGATIVE},
    {"metrics", RULE_OBJECT},
    {"metrics{}", RULE_OBJECT},
    {"metrics{}.unit", RULE_TEXT},
    {"metrics{}.kind|sampled|exact", RULE_TEXT},
    {"metrics{}.better|lower|higher|neither", RULE_TEXT},
    {"summary", RULE_ARRAY | RULE_ABSENT},
    {"summary[]", RULE_OBJECT},
    {"summary[].cases", RULE_COUNT | RULE_ABSENT},
    {"summary[].missing", RULE_COUNT | RULE_ABSENT},
    {"summary[].median", RULE_NUMBER | RULE_NULL | RULE_ABSENT | RULE_NOT_NEGATIVE},
    {"atlas", RULE_ARRAY | RULE_ABSENT},
    {"fits", RULE_ARRAY | RULE_ABSENT},
    {"fits[]", RULE_OBJECT},
    {"fits[].id", RULE_TEXT},
    {"fits[].trace", RULE_TEXT},
    {"advice", RULE_ARRAY | RULE_ABSENT},
    {"advice[]", RULE_OBJECT},
    {"advice[].id", RULE_TEXT},
    {"advice[].traces", RULE_ARRAY},
    {"experiments", RULE_ARRAY | RULE_ABSENT},
    {"experiments[]", RULE_OBJECT},
    {"experiments[].name", RULE_TEXT},
    {"experiments[].device", RULE_TEXT},
    {"experiments[].options", RULE_OBJECT},
    {"experiments[].options{}", RULE_TEXT | RULE_INTEGER | RULE_NULL},
    {"experiments[].parameters", RULE_ARRAY},
    {"experiments[].parameters[]", RULE_OBJECT},
    {"experiments[].parameters[].name", RULE_TEXT},
    {"experiments[].parameters[].unit", RULE_TEXT | RULE_NULL},
    {"experiments[].metrics", RULE_OBJECT},
    {"experiments[].metrics{}", RULE_OBJECT},
    {"experiments[].metrics{}.unit", RULE_TEXT},
    {"experiments[].metrics{}.kind|sampled|exact", RULE_TEXT},
    {"experiments[].metrics{}.better|lower|higher|neither", RULE_TEXT},
    {"experiments[].rows", RULE_ARRAY},
    {"experiments[].rows[]", RULE_OBJECT},
    {"experiments[].rows[].key", RULE_OBJECT},
    {"experiments[].rows[].key{}", RULE_TEXT | RULE_INTEGER},
    {"experiments[].rows[].status" STATUSES, RULE_TEXT},
    {"experiments[].rows[].reason", RULE_TEXT | RULE_NULL},
    {"experiments[].rows[].digest", RULE_TEXT | RULE_NULL},
    {"experiments[].rows[].warnings", RULE_ARRAY},
    {"experiments[].rows[].warnings[]", RULE_OBJECT},
    {"experiments[].rows[].warnings[].code", RULE_TEXT},
    {"experiments[].rows[].stats", RULE_OBJECT},
    {"experiments[].rows[].stats{}", RULE_OBJECT},
    {"experiments[].rows[].stats{}{}", RULE_NUMBER | RULE_NULL | RULE_NOT_NEGATIVE},
    {"experiments[].rows[].rounds", RULE_ARRAY},
    {"experiments[].rows[].rounds[]", RULE_OBJECT},
    {"experiments[].rows[].rounds[].round", RULE_COUNT | RULE_SMALL},
    {"experiments[].rows[].rounds[].slot", RULE_COUNT},
    {"experiments[].rows[].rounds[].status" STATUSES, RULE_TEXT},
    {"experiments[].rows[].rounds[].samples", RULE_OBJECT | RULE_NULL},
    {"experiments[].rows[].rounds[].samples{}", RULE_ARRAY},
    {"experiments[].rows[].rounds[].samples{}[]", RULE_NUMBER | RULE_NOT_NEGATIVE},
    {"noise", RULE_ARRAY | RULE_ABSENT},
    {"noise[]", RULE_OBJECT},
    {"noise[].device", RULE_TEXT},
    {"noise[].machine_id", RULE_TEXT},
    {"noise[].run", RULE_TEXT},
    {"noise[].measured_at", RULE_TEXT},
    {"noise[].rounds", RULE_COUNT | RULE_SMALL},
    {"noise[].metrics", RULE_OBJECT},
    {"noise[].metrics{}", RULE_OBJECT},
    {"noise[].metrics{}.floor", RULE_NUMBER | RULE_NOT_NEGATIVE},
    {"noise[].metrics{}.by_case", RULE_OBJECT},
    {"noise[].metrics{}.by_case{}", RULE_NUMBER | RULE_NOT_NEGATIVE},
    {"noise[].metrics{}.by_configuration", RULE_OBJECT | RULE_ABSENT},
    {"noise[].metrics{}.by_configuration{}", RULE_NUMBER | RULE_NOT_NEGATIVE},
    {"origins", RULE_OBJECT | RULE_ABSENT},
    {"origins{}", RULE_ARRAY},
    {"origins{}[]", RULE_OBJECT},
    {"origins{}[].what", RULE_TEXT},
    {"origins{}[].repository", RULE_TEXT | RULE_NULL},
    {"origins{}[].file", RULE_TEXT | RULE_NULL},
    {"origins{}[].commit", RULE_TEXT | RULE_NULL},
    {"origins{}[].year", RULE_COUNT | RULE_NULL},
    {"suite", RULE_OBJECT | RULE_ABSENT},
    {"suite.name", RULE_TEXT},
    {"suite.title", RULE_TEXT},
    {"suite.source", RULE_TEXT},
    {"suite.compare", RULE_OBJECT},
    {"suite.compare{}", RULE_ARRAY},
    {"suite.rows", RULE_ARRAY},
    {"suite.rows[]", RULE_OBJECT},
    {"suite.rows[].name", RULE_TEXT},
    {"suite.rows[].measured", RULE_ARRAY | RULE_ABSENT},
    {"suite.rows[].measured[]", RULE_OBJECT},
    {"suite.rows[].measured[].ratio", RULE_OBJECT | RULE_NULL},
    {"cases", RULE_ARRAY},
    {"cases[]", RULE_OBJECT},
    {"cases[].id", RULE_TEXT},
    {"cases[].key", RULE_OBJECT},
    {"cases[].key.workload", RULE_TEXT},
    {"cases[].key.dataset", RULE_TEXT},
    {"cases[].key.merge", RULE_TEXT},
    {"cases[].key.release", RULE_TEXT},
    {"cases[].key.strategy", RULE_TEXT},
    {"cases[].key.device", RULE_TEXT},
    {"cases[].key.residency", RULE_TEXT | RULE_ABSENT},
    {"cases[].status" STATUSES, RULE_TEXT},
    {"cases[].reason", RULE_TEXT | RULE_NULL | RULE_ABSENT},
    {"cases[].program_digest", RULE_TEXT | RULE_NULL | RULE_ABSENT},
    {"cases[].inputs_digest", RULE_TEXT | RULE_NULL | RULE_ABSENT},
    {"cases[].traffic_bytes", RULE_NUMBER | RULE_NULL | RULE_ABSENT | RULE_NOT_NEGATIVE},
    {"cases[].counters", RULE_OBJECT | RULE_NULL},
    {"cases[].counters{}", RULE_OBJECT},
    {"cases[].counters{}{}", RULE_COUNT | RULE_NULL},
    {"cases[].spaces", RULE_OBJECT | RULE_ABSENT},
    {"cases[].spaces{}", RULE_OBJECT},
    {"cases[].spaces{}{}", RULE_OBJECT},
    {"cases[].spaces{}{}{}", RULE_COUNT | RULE_NULL},
    {"cases[].stats", RULE_OBJECT | RULE_ABSENT},
    {"cases[].stats{}", RULE_OBJECT | RULE_NULL},
    {"cases[].stats{}{}", RULE_NUMBER | RULE_NULL | RULE_NOT_NEGATIVE},
    {"cases[].model", RULE_OBJECT | RULE_NULL | RULE_ABSENT},
    {"cases[].model.predicted_ns", RULE_NUMBER | RULE_NULL | RULE_NOT_NEGATIVE},
    {"cases[].model.error", RULE_NUMBER | RULE_NULL},
    {"cases[].warnings", RULE_ARRAY | RULE_ABSENT},
    {"cases[].warnings[]", RULE_OBJECT},
    {"cases[].warnings[].code", RULE_TEXT},
    {"cases[].rounds", RULE_ARRAY},
    {"cases[].rounds[]", RULE_OBJECT},
    {"cases[].rounds[].round", RULE_COUNT | RULE_SMALL},
    {"cases[].rounds[].slot", RULE_COUNT},
    {"cases[].rounds[].status" STATUSES, RULE_TEXT},
    {"cases[].rounds[].samples", RULE_OBJECT | RULE_NULL},
    {"cases[].rounds[].samples{}", RULE_ARRAY},
    {"cases[].rounds[].samples{}[]", RULE_COUNT | RULE_NULL},
    {"cases[].rounds[].other_counters", RULE_OBJECT | RULE_ABSENT},
    {"cases[].rounds[].other_counters{}", RULE_OBJECT},
    {"cases[].rounds[].other_counters{}{}", RULE_COUNT | RULE_NULL},
    {"cases[].rounds[].cold_sample", RULE_OBJECT | RULE_NULL | RULE_ABSENT},
    {"cases[].rounds[].cold_sample{}", RULE_COUNT | RULE_NULL},
    {NULL, 0},
};
#undef X

static int check_version(const json_t *root, struct error *error)
{
    const json_t *schema = json_object_get(root, "schema");
    if (strcmp(tree_get_text(schema, "name"), RESULT_SCHEMA_NAME) != 0)
        return error_set(error, ERR_PARSE,
                         "schema.name: expected \"" RESULT_SCHEMA_NAME
                         "\": this is not a gamut result file");
    const char *version = tree_get_text(schema, "version"), *end = version;
    const unsigned long major = strtoul(version, NULL, 10);
    for (size_t digits; (digits = strspn(end, "0123456789")) && end[digits] == '.';)
        end += digits + 1;
    if (end == version || !isdigit((unsigned char)*end) || end[strspn(end, "0123456789")])
        return error_set(error, ERR_PARSE, "schema.version: \"%s\" is not a version", version);
    if (major != 1)
        return error_set(error, ERR_PARSE,
                         "schema.version: %s has another major version than this gamut reads (1)",
                         version);
    return 0;
}

/* Rounds come in order, each once, and a case or a row is ok only if its rounds are. `path`:
 * "cases[3]". */
static int check_rounds(const json_t *one, const char *path, struct error *error)
{
    const json_t *rounds = json_object_get(one, "rounds"), *worst = case_worst_round(one);
    json_int_t before = -1;
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        const json_int_t round =
            json_integer_value(json_object_get(json_array_get(rounds, i), "round"));
        if (round <= before)
            return error_set(error, ERR_PARSE,
                             "%s.rounds[%zu].round: expected more than %lld, found %lld", path, i,
                             (long long)before, (long long)round);
        before = round;
    }
    if (worst && case_is_ok(one) && !case_is_ok(worst))
        return error_set(error, ERR_PARSE, "%s.status: \"ok\", but a round is \"%s\"", path,
                         tree_get_text(worst, "status"));
    return 0;
}

/* Beyond types: ids that belong to their keys and come once. `seen` is an object that receives the
 * ids. */
static int check_cases(const json_t *cases, json_t *seen, struct error *error)
{
    size_t i;
    json_t *one, *other;
    json_array_foreach(cases, i, one)
    {
        struct case_key key;
        char id[13];
        struct error why;
        if (case_key_from_json(json_object_get(one, "key"), &key, &why) != 0)
            return error_set(error, ERR_PARSE, "cases[%zu].key: %s", i, why.text);
        case_id(&key, id);
        if (strcmp(id, tree_get_text(one, "id")) != 0)
            return error_set(error, ERR_PARSE, "cases[%zu].id: \"%s\" is not the id of its key, %s",
                             i, tree_get_text(one, "id"), id);
        char path[48];
        snprintf(path, sizeof path, "cases[%zu]", i);
        TRY(check_rounds(one, path, error));
        other = json_object_get(seen, id);
        if (other)
            return error_set(error, ERR_PARSE,
                             "cases[%zu].id: cases[%" JSON_INTEGER_FORMAT "] has the same", i,
                             json_integer_value(other));
        tree_put(seen, id, tree_count(i));
    }
    return 0;
}

/* A mean is of cases that are in the file. */
static int check_summary(const json_t *root, struct error *error)
{
    const json_t *summary = json_object_get(root, "summary");
    const size_t cases = json_array_size(json_object_get(root, "cases"));
    for (size_t i = 0; i < json_array_size(summary); i++) {
        const double count = tree_get_number(json_array_get(summary, i), "cases");
        if (count > (double)cases)
            return error_set(error, ERR_PARSE,
                             "summary[%zu].cases: expected at most %zu, the number of cases, found "
                             "%.0f",
                             i, cases, count);
    }
    return 0;
}

static int check_atlases(const json_t *atlases, struct error *error)
{
    size_t i;
    json_t *each;
    json_array_foreach(atlases, i, each)
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

/* Beyond types: a key for every parameter, no row and no experiment twice. */
static int check_rows(const json_t *experiment, size_t number, struct error *error)
{
    const json_t *parameters = json_object_get(experiment, "parameters");
    const json_t *rows = json_object_get(experiment, "rows");
    size_t i, j;
    json_t *row, *parameter;
    json_array_foreach(rows, i, row)
    {
        const json_t *key = json_object_get(row, "key");
        char path[64];
        snprintf(path, sizeof path, "experiments[%zu].rows[%zu]", number, i);
        TRY(check_rounds(row, path, error));
        json_array_foreach(parameters, j, parameter)
        {
            const char *name = tree_get_text(parameter, "name");
            const bool is_word = json_is_null(json_object_get(parameter, "unit"));
            const json_t *value = json_object_get(key, name);
            if (is_word ? !json_is_string(value) : !json_is_integer(value))
                return error_set(error, ERR_PARSE,
                                 "experiments[%zu].rows[%zu].key.%s: expected %s, by the "
                                 "experiment's parameters",
                                 number, i, name, is_word ? "a text" : "an integer");
        }
        for (j = 0; j < i; j++)
            if (json_equal(key, json_object_get(json_array_get(rows, j), "key")))
                return error_set(error, ERR_PARSE,
                                 "experiments[%zu].rows[%zu].key: rows[%zu] has the same", number,
                                 i, j);
    }
    return 0;
}

static int check_experiments(const json_t *experiments, struct error *error)
{
    size_t i;
    json_t *each;
    json_array_foreach(experiments, i, each)
    {
        TRY(check_rows(each, i, error));
        for (size_t j = 0; j < i; j++) {
            const json_t *other = json_array_get(experiments, j);
            if (json_equal(json_object_get(each, "name"), json_object_get(other, "name")) &&
                json_equal(json_object_get(each, "device"), json_object_get(other, "device")))
                return error_set(error, ERR_PARSE,
                                 "experiments[%zu]: experiments[%zu] has the same name and device",
                                 i, j);
        }
    }
    return 0;
}

int result_validate(const json_t *root, struct error *error)
{
    int code = json_is_object(root) ? check_version(root, error) : 0;
    if (code == 0)
        code = json_check(root, rules, error);
    json_t *seen = tree_object();
    if (code == 0)
        code = check_cases(json_object_get(root, "cases"), seen, error);
    json_decref(seen);
    if (code == 0)
        code = check_summary(root, error);
    if (code == 0)
        code = check_experiments(json_object_get(root, "experiments"), error);
    return code ? code : check_atlases(json_object_get(root, "atlas"), error);
}

/* ---- old words ------------------------------------------------------------------------------- */

static void renew_key(json_t *object, const char *old, const char *new)
{
    json_t *value = json_object_get(object, old);
    if (value && !json_object_get(object, new)) {
        tree_put(object, new, json_incref(value));
        json_object_del(object, old);
    }
}

static void renew_experiment(json_t *experiment)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(experiment, "parameters"), i, each)
    {
        if (strcmp(tree_get_text(each, "name"), "way") == 0)
            tree_put(each, "name", tree_text("method"));
    }
    json_array_foreach(json_object_get(experiment, "rows"), i, each)
        renew_key(json_object_get(each, "key"), "way", "method");
}

void result_renew_words(json_t *root)
{
    size_t i, j;
    json_t *each, *curve;
    renew_key(json_object_get(root, "run"), "parts", "sessions");
    json_array_foreach(json_object_get(root, "atlas"), i, each)
    {
        json_array_foreach(json_object_get(each, "curves"), j, curve)
            renew_key(curve, "way", "method");
    }
    json_array_foreach(json_object_get(root, "experiments"), i, each) renew_experiment(each);
}

/* Files of older builds keep the times that a wrong case has from its good rounds. */
static void drop_times_of_wrong(json_t *cases)
{
    size_t i;
    json_t *one;
    json_array_foreach(cases, i, one)
    {
        if (case_has_status(one, CASE_wrong))
            case_drop_times(one);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

int result_parse(const char *path, const struct text *text, json_t **root, struct error *error)
{
    json_error_t where;
    *root = json_loadb(text->data, text->length, JSON_REJECT_DUPLICATES, &where);
    if (!*root)
        return error_set(error, ERR_PARSE, "%s:%d:%d: %s", path, where.line, where.column,
                         where.text);
    result_renew_words(*root);
    int code = result_validate(*root, error);
    if (code) {
        error_prefix(error, "%s: ", path);
        json_decref(*root);
        *root = NULL;
        return code;
    }
    size_t i;
    json_t *experiment;
    drop_times_of_wrong(json_object_get(*root, "cases"));
    json_array_foreach(json_object_get(*root, "experiments"), i, experiment)
        drop_times_of_wrong(json_object_get(experiment, "rows"));
    return 0;
}

int result_load(const char *path, json_t **root, struct error *error)
{
    struct text text = {0};
    *root = NULL;
    int code = gzip_read_file(&text, path, TEXT_MOST_BYTES, error);
    if (code == 0)
        code = result_parse(path, &text, root, error);
    text_free(&text);
    return code;
}
