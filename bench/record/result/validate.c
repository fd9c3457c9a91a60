/* What readers of a result file rely on, as a list of paths. The JSON Schema says more (it is for
 * other people's tools); this list is what keeps the code that reads a tree free of checks. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "record/result/result.h"
#include "record/result/old_words.h"
#include "base/gzip_file.h"
#include "base/tree.h"

enum {
    TEXT = 1,
    INTEGER = 2,
    NUMBER = 4,
    BOOLEAN = 8,
    OBJECT = 16,
    ARRAY = 32,
    NOTHING = 64, /* null */
    ABSENT = 128, /* may be missing */
};

/* In a path, "[]" is every element of an array and "{}" every member of an object. A parent comes
 * before what is in it. */
static const struct rule {
    const char *path;
    int types;
} rules[] = {
    {"run", OBJECT},
    {"run.id", TEXT},
    {"run.started_at", TEXT},
    {"run.duration_ns", INTEGER | NOTHING},
    {"run.argv", ARRAY},
    {"run.seed", INTEGER},
    {"run.options", OBJECT},
    {"run.rounds", INTEGER},
    {"run.status", TEXT},
    {"run.parts", ARRAY | ABSENT},
    {"run.parts[]", OBJECT},
    {"run.parts[].started_at", TEXT},
    {"run.parts[].rounds", INTEGER},
    {"context", OBJECT},
    {"context.tool", OBJECT},
    {"context.tool.version", TEXT},
    {"context.tool.git_rev", TEXT | NOTHING},
    {"context.tool.git_dirty", BOOLEAN | NOTHING},
    {"context.host", OBJECT},
    {"context.host.machine_id", TEXT},
    {"context.devices", ARRAY},
    {"context.devices[]", OBJECT},
    {"context.devices[].id", TEXT},
    {"context.devices[].backend", TEXT},
    {"context.devices[].name", TEXT},
    {"context.devices[].driver", TEXT | NOTHING | ABSENT},
    {"context.devices[].copy_bytes_per_second", NUMBER | NOTHING | ABSENT},
    {"metrics", OBJECT},
    {"metrics{}", OBJECT},
    {"metrics{}.unit", TEXT},
    {"metrics{}.kind", TEXT},
    {"metrics{}.better", TEXT},
    {"summary", ARRAY | ABSENT},
    {"atlas", ARRAY | ABSENT},
    {"experiments", ARRAY | ABSENT},
    {"experiments[]", OBJECT},
    {"experiments[].name", TEXT},
    {"experiments[].device", TEXT},
    {"experiments[].options", OBJECT},
    {"experiments[].options{}", TEXT | INTEGER | NOTHING},
    {"experiments[].parameters", ARRAY},
    {"experiments[].parameters[]", OBJECT},
    {"experiments[].parameters[].name", TEXT},
    {"experiments[].parameters[].unit", TEXT | NOTHING},
    {"experiments[].metrics", OBJECT},
    {"experiments[].metrics{}", OBJECT},
    {"experiments[].metrics{}.unit", TEXT},
    {"experiments[].metrics{}.kind", TEXT},
    {"experiments[].metrics{}.better", TEXT},
    {"experiments[].rows", ARRAY},
    {"experiments[].rows[]", OBJECT},
    {"experiments[].rows[].key", OBJECT},
    {"experiments[].rows[].key{}", TEXT | INTEGER},
    {"experiments[].rows[].status", TEXT},
    {"experiments[].rows[].reason", TEXT | NOTHING},
    {"experiments[].rows[].digest", TEXT | NOTHING},
    {"experiments[].rows[].warnings", ARRAY},
    {"experiments[].rows[].warnings[]", OBJECT},
    {"experiments[].rows[].warnings[].code", TEXT},
    {"experiments[].rows[].stats", OBJECT},
    {"experiments[].rows[].stats{}", OBJECT},
    {"experiments[].rows[].rounds", ARRAY},
    {"experiments[].rows[].rounds[]", OBJECT},
    {"experiments[].rows[].rounds[].round", INTEGER},
    {"experiments[].rows[].rounds[].slot", INTEGER},
    {"experiments[].rows[].rounds[].status", TEXT},
    {"experiments[].rows[].rounds[].samples", OBJECT | NOTHING},
    {"experiments[].rows[].rounds[].samples{}", ARRAY},
    {"experiments[].rows[].rounds[].samples{}[]", NUMBER},
    {"noise", ARRAY | ABSENT},
    {"noise[]", OBJECT},
    {"noise[].device", TEXT},
    {"noise[].machine_id", TEXT},
    {"noise[].run", TEXT},
    {"noise[].measured_at", TEXT},
    {"noise[].rounds", INTEGER},
    {"noise[].metrics", OBJECT},
    {"noise[].metrics{}", OBJECT},
    {"noise[].metrics{}.floor", NUMBER},
    {"noise[].metrics{}.by_case", OBJECT},
    {"noise[].metrics{}.by_case{}", NUMBER},
    {"noise[].metrics{}.by_way", OBJECT | ABSENT},
    {"noise[].metrics{}.by_way{}", NUMBER},
    {"suite", OBJECT | ABSENT},
    {"suite.name", TEXT},
    {"suite.title", TEXT},
    {"suite.source", TEXT},
    {"suite.compare", OBJECT},
    {"suite.compare{}", ARRAY},
    {"suite.rows", ARRAY},
    {"suite.rows[]", OBJECT},
    {"suite.rows[].name", TEXT},
    {"suite.rows[].measured", ARRAY | ABSENT},
    {"suite.rows[].measured[]", OBJECT},
    {"suite.rows[].measured[].ratio", OBJECT | NOTHING},
    {"cases", ARRAY},
    {"cases[]", OBJECT},
    {"cases[].id", TEXT},
    {"cases[].key", OBJECT},
    {"cases[].key.workload", TEXT},
    {"cases[].key.dataset", TEXT},
    {"cases[].key.merge", TEXT},
    {"cases[].key.release", TEXT},
    {"cases[].key.strategy", TEXT},
    {"cases[].key.device", TEXT},
    {"cases[].key.residency", TEXT | ABSENT},
    {"cases[].status", TEXT},
    {"cases[].reason", TEXT | NOTHING | ABSENT},
    {"cases[].program_digest", TEXT | NOTHING | ABSENT},
    {"cases[].inputs_digest", TEXT | NOTHING | ABSENT},
    {"cases[].traffic_bytes", NUMBER | NOTHING | ABSENT},
    {"cases[].counters", OBJECT | NOTHING},
    {"cases[].counters{}", OBJECT},
    {"cases[].counters{}{}", INTEGER | NOTHING},
    {"cases[].spaces", OBJECT | ABSENT},
    {"cases[].spaces{}", OBJECT},
    {"cases[].spaces{}{}", OBJECT},
    {"cases[].spaces{}{}{}", INTEGER | NOTHING},
    {"cases[].model", OBJECT | NOTHING | ABSENT},
    {"cases[].model.predicted_ns", NUMBER | NOTHING},
    {"cases[].model.error", NUMBER | NOTHING},
    {"cases[].memory", OBJECT | ABSENT},
    {"cases[].memory.timer_ns", INTEGER},
    {"cases[].memory.steps", INTEGER},
    {"cases[].memory.timeline", OBJECT},
    {"cases[].memory.timeline.events", INTEGER},
    {"cases[].memory.timeline.stride", INTEGER},
    {"cases[].memory.timeline.step", ARRAY},
    {"cases[].memory.timeline.requested_bytes", ARRAY},
    {"cases[].memory.timeline.granted_bytes", ARRAY},
    {"cases[].memory.timeline.reserved_bytes", ARRAY},
    {"cases[].memory.timeline.live_bytes", ARRAY},
    {"cases[].memory.map", OBJECT},
    {"cases[].memory.map.blocks", OBJECT},
    {"cases[].memory.map.blocks{}", ARRAY},
    {"cases[].memory.map.blocks{}[]", INTEGER | NOTHING},
    {"cases[].memory.map.memories", OBJECT},
    {"cases[].memory.map.memories.died", ARRAY},
    {"cases[].memory.map.memories.died[]", INTEGER | NOTHING},
    {"cases[].memory.map.arrays", OBJECT},
    {"cases[].memory.map.arrays{}", ARRAY},
    {"cases[].memory.map.arrays{}[]", INTEGER},
    {"cases[].memory.map.names", ARRAY},
    {"cases[].memory.map.names[]", TEXT},
    {"cases[].memory.map.blocks_left_out", INTEGER},
    {"cases[].memory.map.arrays_left_out", INTEGER},
    {"cases[].memory.latency", OBJECT},
    {"cases[].memory.latency{}", OBJECT},
    {"cases[].memory.latency{}.alloc", OBJECT | NOTHING},
    {"cases[].memory.latency{}.free", OBJECT | NOTHING},
    {"cases[].warnings", ARRAY | ABSENT},
    {"cases[].warnings[]", OBJECT},
    {"cases[].warnings[].code", TEXT},
    {"cases[].rounds", ARRAY},
    {"cases[].rounds[]", OBJECT},
    {"cases[].rounds[].round", INTEGER},
    {"cases[].rounds[].slot", INTEGER},
    {"cases[].rounds[].status", TEXT},
    {"cases[].rounds[].samples", OBJECT | NOTHING},
    {"cases[].rounds[].samples{}", ARRAY},
    {"cases[].rounds[].samples{}[]", INTEGER | NOTHING},
    {"cases[].rounds[].other_counters", OBJECT | ABSENT},
    {"cases[].rounds[].other_counters{}", OBJECT},
    {"cases[].rounds[].other_counters{}{}", INTEGER | NOTHING},
    {"cases[].rounds[].cold_sample", OBJECT | NOTHING | ABSENT},
    {"cases[].rounds[].cold_sample{}", INTEGER | NOTHING},
};

static int type_of(const json_t *value)
{
    if (!value)
        return ABSENT;
    switch (json_typeof(value)) {
    case JSON_STRING:
        return TEXT;
    case JSON_INTEGER:
        return INTEGER | NUMBER;
    case JSON_REAL:
        return NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return BOOLEAN;
    case JSON_OBJECT:
        return OBJECT;
    case JSON_ARRAY:
        return ARRAY;
    case JSON_NULL:
        break;
    }
    return NOTHING;
}

static void describe(int types, struct text *out)
{
    static const char *const names[] = {"a text",    "an integer", "a number", "true or false",
                                        "an object", "an array",   "null",     "nothing"};
    bool first = true;
    for (int i = 0; i < 8; i++)
        if (types & 1 << i && !(1 << i == NUMBER && types & INTEGER)) {
            text_add(out, "%s%s", first ? "" : " or ", names[i]);
            first = false;
        }
}

/* Where a value stands: written out only for a message, as most files are right. */
struct place {
    const struct place *parent;
    const char *member; /* NULL: an element of an array */
    size_t length;      /* of the member's name */
    size_t element;
};

static void describe_place(const struct place *place, struct text *out)
{
    if (!place)
        return;
    describe_place(place->parent, out);
    if (place->member)
        text_add(out, "%s%.*s", place->parent ? "." : "", (int)place->length, place->member);
    else
        text_add(out, "[%zu]", place->element);
}

static int mismatch(const struct rule *rule, const json_t *value, const struct place *place,
                    struct error *error)
{
    struct text want = {0}, have = {0}, where = {0};
    describe(rule->types, &want);
    describe(type_of(value), &have);
    describe_place(place, &where);
    int rc =
        error_set(error, ERR_PARSE, "%s: expected %s, found %s", where.data, want.data, have.data);
    text_free(&want);
    text_free(&have);
    text_free(&where);
    return rc;
}

/* Follows the rest of a rule's path from `value`, which stands at `place`. What a parent's own rule
 * has to say (that it is missing, or null) is not said again for its members. */
static int follow(const struct rule *rule, const char *rest, json_t *value,
                  const struct place *place, struct error *error)
{
    struct place next = {.parent = place};
    json_t *each;
    int rc = 0;
    if (!*rest)
        return type_of(value) & rule->types ? 0 : mismatch(rule, value, place, error);
    if (strncmp(rest, "[]", 2) == 0) {
        json_array_foreach(value, next.element, each)
        {
            if ((rc = follow(rule, rest + 2, each, &next, error)) != 0)
                return rc;
        }
        return 0;
    }
    if (strncmp(rest, "{}", 2) == 0) {
        json_object_foreach(value, next.member, each)
        {
            next.length = strlen(next.member);
            if ((rc = follow(rule, rest + 2, each, &next, error)) != 0)
                return rc;
        }
        return 0;
    }
    if (!json_is_object(value))
        return 0;
    char name[64];
    next.member = rest + (*rest == '.');
    next.length = strcspn(next.member, ".[{");
    memcpy(name, next.member, next.length);
    name[next.length] = 0;
    return follow(rule, next.member + next.length, json_object_get(value, name), &next, error);
}

static int check_version(const json_t *root, struct error *error)
{
    const json_t *schema = json_object_get(root, "schema");
    if (strcmp(tree_get_text(schema, "name"), RESULT_SCHEMA_NAME) != 0)
        return error_set(error, ERR_PARSE,
                         "schema.name: expected \"" RESULT_SCHEMA_NAME
                         "\": this is not a gamut result file");
    const char *version = tree_get_text(schema, "version");
    char *end;
    unsigned long major = strtoul(version, &end, 10);
    if (!isdigit((unsigned char)*version) || *end != '.')
        return error_set(error, ERR_PARSE, "schema.version: \"%s\" is not a version", version);
    if (major != 1)
        return error_set(error, ERR_PARSE,
                         "schema.version: %s has another major version than this gamut reads (1)",
                         version);
    return 0;
}

static bool is_status(const char *name)
{
    for (int s = 0; s < CASE_STATUSES; s++)
        if (strcmp(name, case_status_name((enum case_status)s)) == 0)
            return true;
    return false;
}

/* Beyond types: known statuses, and ids that belong to their keys and come once. `seen` is an
 * object that receives the ids. */
static int check_cases(const json_t *cases, json_t *seen, struct error *error)
{
    size_t i, j;
    json_t *one, *other;
    json_array_foreach(cases, i, one)
    {
        struct case_key key;
        char id[13];
        struct error why;
        if (!is_status(tree_get_text(one, "status")))
            return error_set(error, ERR_PARSE, "cases[%zu].status: \"%s\" is no status", i,
                             tree_get_text(one, "status"));
        if (case_key_from_json(json_object_get(one, "key"), &key, &why) != 0)
            return error_set(error, ERR_PARSE, "cases[%zu].key: %s", i, why.text);
        case_id(&key, id);
        if (strcmp(id, tree_get_text(one, "id")) != 0)
            return error_set(error, ERR_PARSE, "cases[%zu].id: \"%s\" is not the id of its key, %s",
                             i, tree_get_text(one, "id"), id);
        json_array_foreach(json_object_get(one, "rounds"), j, other)
        {
            if (!is_status(tree_get_text(other, "status")))
                return error_set(error, ERR_PARSE,
                                 "cases[%zu].rounds[%zu].status: \"%s\" is no status", i, j,
                                 tree_get_text(other, "status"));
        }
        other = json_object_get(seen, id);
        if (other)
            return error_set(error, ERR_PARSE,
                             "cases[%zu].id: cases[%" JSON_INTEGER_FORMAT "] has the same", i,
                             json_integer_value(other));
        tree_put(seen, id, tree_count(i));
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
        int rc = atlas_from_json(each, &atlas, error);
        if (rc) {
            error_prefix(error, "atlas[%zu]: ", i);
            return rc;
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

/* Beyond types: known statuses, a key for every parameter, no row and no experiment twice. */
static int check_rows(const json_t *experiment, size_t number, struct error *error)
{
    const json_t *parameters = json_object_get(experiment, "parameters");
    const json_t *rows = json_object_get(experiment, "rows");
    size_t i, j;
    json_t *row, *parameter;
    json_array_foreach(rows, i, row)
    {
        const json_t *key = json_object_get(row, "key");
        if (!is_status(tree_get_text(row, "status")))
            return error_set(error, ERR_PARSE,
                             "experiments[%zu].rows[%zu].status: \"%s\" is no status", number, i,
                             tree_get_text(row, "status"));
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
        int rc = check_rows(each, i, error);
        if (rc)
            return rc;
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
    if (!json_is_object(root))
        return error_set(error, ERR_PARSE, "expected an object, the result");
    int rc = check_version(root, error);
    for (size_t i = 0; rc == 0 && i < sizeof rules / sizeof *rules; i++)
        rc = follow(&rules[i], rules[i].path, (json_t *)root, NULL, error);
    json_t *seen = tree_object();
    if (rc == 0)
        rc = check_cases(json_object_get(root, "cases"), seen, error);
    json_decref(seen);
    if (rc == 0)
        rc = check_experiments(json_object_get(root, "experiments"), error);
    return rc ? rc : check_atlases(json_object_get(root, "atlas"), error);
}

int result_parse(const char *path, const struct text *text, json_t **root, struct error *error)
{
    json_error_t where;
    *root = json_loadb(text->data, text->length, JSON_REJECT_DUPLICATES, &where);
    if (!*root)
        return error_set(error, ERR_PARSE, "%s:%d:%d: %s", path, where.line, where.column,
                         where.text);
    result_renew_words(*root);
    int rc = result_validate(*root, error);
    if (rc) {
        error_prefix(error, "%s: ", path);
        json_decref(*root);
        *root = NULL;
    }
    return rc;
}

int result_load(const char *path, json_t **root, struct error *error)
{
    struct text text = {0};
    *root = NULL;
    int rc = gzip_read_file(&text, path, RESULT_MOST_BYTES, error);
    if (rc == 0)
        rc = result_parse(path, &text, root, error);
    text_free(&text);
    return rc;
}
