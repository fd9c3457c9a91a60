#include "results/facts/case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/json_rules.h"
#include "base/tree.h"

const char *const case_status_names[] = {
#define X(name, help) #name,
    CASE_STATUS_LIST(X)
#undef X
        NULL};

const char *const case_check_names[] = {[CHECK_NONE] = "none",
                                        [CHECK_REFERENCE] = "reference",
                                        [CHECK_DIGEST] = "digest",
                                        [CHECK_BLOCKS] = "blocks",
                                        NULL};

const char *case_status_name(enum case_status status)
{
    return case_status_names[status];
}

enum case_status case_status_of(int code)
{
    switch (code) {
    case 0:
        return CASE_ok;
    case ERR_OOM:
        return CASE_oom;
    case ERR_WRONG:
        return CASE_wrong;
    case ERR_UNSUPPORTED:
        return CASE_skipped;
    default:
        return CASE_error;
    }
}

void case_round_free(struct case_round *round)
{
    free(round->samples);
    json_decref(round->spaces);
    round->samples = NULL;
    round->spaces = NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static const struct json_field key_fields[] = {
#define X(name) JSON_FIELD(TEXT, struct case_key, name),
    CASE_KEY_LIST(X)
#undef X
#define X(name) JSON_OPTIONAL(TEXT_OR_NULL, struct case_key, name),
        CASE_KEY_OPTIONAL_LIST(X)
#undef X
            JSON_FIELDS_END,
};
const struct json_struct case_key_struct = {key_fields, sizeof(struct case_key)};

json_t *case_key_to_json(const struct case_key *key)
{
    json_t *json = tree_object();
    json_put_fields(json, key_fields, key);
    return json;
}

int case_key_from_json(const json_t *json, struct case_key *key, struct error *error)
{
    return json_get_fields(json, "", key_fields, key, error);
}

static uint64_t hash_line(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ '\n') * 0x100000001b3u;
}

void case_id(const struct case_key *key, char out[13])
{
    uint64_t hash = 0xcbf29ce484222325u;
#define X(name) hash = hash_line(hash, key->name);
    CASE_KEY_LIST(X)
#undef X
#define X(name) hash = *key->name ? hash_line(hash, key->name) : hash;
    CASE_KEY_OPTIONAL_LIST(X)
#undef X
    snprintf(out, 13, "%012" PRIx64, hash >> 16);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

#define X(name, unit, kind, better, help) JSON_FIELD(COUNT_OR_UNKNOWN, struct sample, name),
static const struct json_field sample_fields[] = {SAMPLE_LIST(X) JSON_FIELDS_END};
#undef X

#define COPY(kind, prefix, member)                                                                 \
    {prefix,                                                                                       \
     FIELD_COUNT_OR_UNKNOWN,                                                                       \
     offsetof(struct exact_counts, copy) + COPY_##kind * sizeof(struct copy_counts) +              \
         offsetof(struct copy_counts, member),                                                     \
     sizeof(uint64_t),                                                                             \
     NULL,                                                                                         \
     NULL,                                                                                         \
     0,                                                                                            \
     JSON_REQUIRED},
#define COPIES(kind, help)                                                                         \
    COPY(kind, "copy_" #kind "_count", count)                                                      \
    COPY(kind, "copy_" #kind "_bytes", bytes)                                                      \
    COPY(kind, "elided_" #kind "_count", elided_count)                                             \
    COPY(kind, "elided_" #kind "_bytes", elided_bytes)
#define X(name, unit, kind, better, help) JSON_FIELD(COUNT_OR_UNKNOWN, struct exact_counts, name),
static const struct json_field exact_fields[] = {EXACT_LIST(X) COPY_KIND_LIST(COPIES)
                                                     JSON_FIELDS_END};
#undef X
#undef COPIES
#undef COPY
const struct json_struct exact_counts_struct = {exact_fields, sizeof(struct exact_counts)};

static const struct json_field model_fields[] = {
#define X(name, help) JSON_FIELD(COUNT_OR_UNKNOWN, struct case_model, name),
    MODEL_LIST(X)
#undef X
        JSON_FIELD(TEXT_OR_NULL, struct case_model, why_not),
    JSON_FIELDS_END,
};

static const struct json_field round_fields[] = {
    JSON_FIELD(COUNT, struct case_round, round),
    JSON_FIELD(COUNT, struct case_round, slot),
    JSON_WORD(struct case_round, status, case_status_names),
    JSON_FIELD(TEXT_OR_NULL, struct case_round, reason),
    JSON_WORD(struct case_round, check, case_check_names),
    JSON_FIELD(DIGEST, struct case_round, digest),
    JSON_FIELD(DIGEST, struct case_round, program_digest),
    JSON_FIELD(DIGEST, struct case_round, inputs_digest),
    JSON_FIELD(NUMBER, struct case_round, worst_error),
    JSON_FIELD(NUMBER, struct case_round, traffic_bytes),
    JSON_FIELDS_END,
};

static uint64_t *value_of(struct sample *sample, const struct json_field *field)
{
    return (uint64_t *)((char *)sample + field->offset);
}

/* An object with one array a metric. */
static json_t *samples_to_json(struct sample *samples, size_t count)
{
    json_t *json = tree_object();
    for (const struct json_field *f = sample_fields; f->name; f++) {
        json_t *values = tree_array();
        for (size_t s = 0; s < count; s++)
            tree_append(values, tree_count(*value_of(&samples[s], f)));
        tree_put(json, f->name, values);
    }
    return json;
}

json_t *case_round_to_json(const struct case_round *round)
{
    const struct {
        const char *name;
        const struct json_field *fields;
        const void *from;
    } counters[] = {
        {"cold", exact_fields, &round->cold},
        {"warm", exact_fields, &round->warm},
        {"cold_sample", sample_fields, &round->cold_sample},
    };
    json_t *json = tree_object(), *model = round->model.asked ? tree_object() : json_null();
    tree_put(json, "key", case_key_to_json(&round->key));
    json_put_fields(json, round_fields, round);
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        json_t *values = tree_object();
        json_put_fields(values, counters[i].fields, counters[i].from);
        tree_put(json, counters[i].name, values);
    }
    tree_put(json, "samples", samples_to_json(round->samples, round->sample_count));
    if (round->model.asked)
        json_put_fields(model, model_fields, &round->model);
    tree_put(json, "model", model);
    if (round->spaces)
        tree_put(json, "spaces", json_incref(round->spaces));
    return json;
}

/* Arrays of the same length, one a metric, become an array of samples. */
static int read_samples(const json_t *json, struct case_round *round, struct error *error)
{
    static const struct json_rule rules[] = {
        {"samples", RULE_OBJECT},
        {"samples{}", RULE_ARRAY},
        {"samples{}[]", RULE_COUNT | RULE_NULL},
        {NULL, 0},
    };
    const json_t *columns = json_object_get(json, "samples");
    int code = json_check(json, rules, error);
    round->sample_count = json_array_size(json_object_get(columns, sample_fields[0].name));
    if (!code && round->sample_count)
        round->samples = must_alloc(round->sample_count * sizeof *round->samples);
    for (const struct json_field *f = sample_fields; f->name && !code; f++) {
        const json_t *values = json_object_get(columns, f->name);
        if (json_array_size(values) != round->sample_count)
            code = error_set(error, ERR_PARSE, "samples.%s: expected %zu values, found %zu",
                             f->name, round->sample_count, json_array_size(values));
        for (size_t s = 0; s < round->sample_count && !code; s++) {
            const json_t *value = json_array_get(values, s);
            *value_of(&round->samples[s], f) =
                json_is_null(value) ? UNKNOWN_NS : (uint64_t)json_integer_value(value);
        }
    }
    return code;
}

static int read_model(const json_t *json, struct case_model *model, struct error *error)
{
    const json_t *said = json_object_get(json, "model");
    *model = (struct case_model){.asked = json_is_object(said)};
#define X(name, help) model->name = UNKNOWN_NS;
    MODEL_LIST(X)
#undef X
    return model->asked ? json_get_fields(said, "model", model_fields, model, error) : 0;
}

int case_round_from_json(const json_t *json, struct case_round *round, struct error *error)
{
    *round = (struct case_round){0};
    int code = json_get_fields(json, "", round_fields, round, error);
    THEN(code,
         json_get_fields(json_object_get(json, "key"), "key", key_fields, &round->key, error));
    THEN(code,
         json_get_fields(json_object_get(json, "cold"), "cold", exact_fields, &round->cold, error));
    THEN(code,
         json_get_fields(json_object_get(json, "warm"), "warm", exact_fields, &round->warm, error));
    THEN(code, json_get_fields(json_object_get(json, "cold_sample"), "cold_sample", sample_fields,
                               &round->cold_sample, error));
    THEN(code, read_model(json, &round->model, error));
    THEN(code, read_samples(json, round, error));
    round->spaces = json_incref(json_object_get(json, "spaces"));
    if (code) {
        error_prefix(error, "a case round: ");
        case_round_free(round);
        *round = (struct case_round){0};
    }
    return code;
}
