#include "record/result/case_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"

json_t *case_key_to_json(const struct case_key *key)
{
    json_t *json = tree_object();
#define X(name) tree_put(json, #name, tree_text(key->name));
    CASE_KEY_LIST(X)
#undef X
#define X(name)                                                                                    \
    if (*key->name)                                                                                \
        tree_put(json, #name, tree_text(key->name));
    CASE_KEY_OPTIONAL_LIST(X)
#undef X
    return json;
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

static json_t *exact_to_json(const struct exact_counts *counts)
{
    json_t *json = tree_object();
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == KIND_EXACT)
            tree_put(json, list[i].name, tree_count(counter_exact(counts, i)));
    return json;
}

static json_t *sample_to_json(const struct sample *sample)
{
    json_t *json = tree_object();
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == KIND_SAMPLED)
            tree_put(json, list[i].name, tree_count(counter_sample(sample, i)));
    return json;
}

static json_t *samples_to_json(const struct sample *samples, size_t sample_count)
{
    json_t *json = tree_object();
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        if (list[i].kind != KIND_SAMPLED)
            continue;
        json_t *values = tree_array();
        for (size_t s = 0; s < sample_count; s++)
            tree_append(values, tree_count(counter_sample(&samples[s], i)));
        tree_put(json, list[i].name, values);
    }
    return json;
}

/* Null where nobody has tried. */
static json_t *model_to_json(const struct case_model *model)
{
    if (!model->asked)
        return json_null();
    json_t *json = tree_object();
#define X(name, help) tree_put(json, #name, tree_count(model->name));
    MODEL_LIST(X)
#undef X
    tree_put(json, "why_not", tree_text_or_null(model->why_not));
    return json;
}

static json_t *digest_to_json(uint64_t digest)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, digest);
    return digest ? tree_text(text) : json_null();
}

json_t *case_round_to_json(const struct case_round *round)
{
    json_t *json = tree_object();
    tree_put(json, "key", case_key_to_json(&round->key));
    tree_put(json, "round", tree_count(round->round));
    tree_put(json, "slot", tree_count(round->slot));
    tree_put(json, "status", tree_text(case_status_name(round->status)));
    tree_put(json, "reason", tree_text_or_null(round->reason));
    tree_put(json, "check", tree_text(case_check_name(round->check)));
    tree_put(json, "digest", digest_to_json(round->digest));
    tree_put(json, "program_digest", digest_to_json(round->program_digest));
    tree_put(json, "inputs_digest", digest_to_json(round->inputs_digest));
    tree_put(json, "worst_error", tree_number(round->worst_error));
    tree_put(json, "traffic_bytes", tree_number(round->traffic_bytes));
    tree_put(json, "cold", exact_to_json(&round->cold));
    tree_put(json, "warm", exact_to_json(&round->warm));
    tree_put(json, "cold_sample", sample_to_json(&round->cold_sample));
    tree_put(json, "samples", samples_to_json(round->samples, round->sample_count));
    tree_put(json, "model", model_to_json(&round->model));
    if (round->spaces)
        tree_put(json, "spaces", json_incref(round->spaces));
    if (round->memory)
        tree_put(json, "memory", json_incref(round->memory));
    return json;
}

/* Reading. Each function takes the value out of `object` by `key` and says what is wrong with it.
 */

static const json_t *member(const json_t *object, const char *key, struct error *error)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        error_set(error, ERR_PARSE, "a case round has no \"%s\"", key);
    return value;
}

static int read_text(const json_t *object, const char *key, char *out, size_t size,
                     struct error *error)
{
    const json_t *value = member(object, key, error);
    if (!value)
        return ERR_PARSE;
    if (!json_is_string(value) && !json_is_null(value))
        return error_set(error, ERR_PARSE, "a case round's \"%s\" is not a text", key);
    const char *text = json_is_null(value) ? "" : json_string_value(value);
    if (strlen(text) >= size)
        return error_set(error, ERR_PARSE, "a case round's \"%s\" has more than %zu bytes", key,
                         size - 1);
    strcpy(out, text);
    return 0;
}

static int read_count(const json_t *object, const char *key, uint64_t *out, struct error *error)
{
    const json_t *value = member(object, key, error);
    if (!value)
        return ERR_PARSE;
    if (json_is_null(value)) {
        *out = UNKNOWN_NS;
        return 0;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return error_set(error, ERR_PARSE, "a case round's \"%s\" is not a count", key);
    *out = (uint64_t)json_integer_value(value);
    return 0;
}

static int read_unsigned(const json_t *object, const char *key, unsigned *out, struct error *error)
{
    uint64_t value;
    int rc = read_count(object, key, &value, error);
    if (rc == 0 && value > UINT32_MAX)
        rc = error_set(error, ERR_PARSE, "a case round's \"%s\" is not a small count", key);
    *out = rc ? 0 : (unsigned)value;
    return rc;
}

static int read_number(const json_t *object, const char *key, double *out, struct error *error)
{
    const json_t *value = member(object, key, error);
    if (!value)
        return ERR_PARSE;
    if (!json_is_number(value) && !json_is_null(value))
        return error_set(error, ERR_PARSE, "a case round's \"%s\" is not a number", key);
    *out = tree_to_number(value);
    return 0;
}

static int read_choice(const json_t *object, const char *key, const char *(*name)(int), int count,
                       int *out, struct error *error)
{
    char text[32];
    int rc = read_text(object, key, text, sizeof text, error);
    if (rc)
        return rc;
    for (*out = 0; *out < count; (*out)++)
        if (strcmp(text, name(*out)) == 0)
            return 0;
    return error_set(error, ERR_PARSE, "a case round's \"%s\" is \"%s\", which is none", key, text);
}

static const char *status_name(int status)
{
    return case_status_name((enum case_status)status);
}
static const char *check_name(int check)
{
    return case_check_name((enum case_check)check);
}

static int read_digest(const json_t *object, const char *key, uint64_t *digest, struct error *error)
{
    char text[17], *end = text;
    *digest = 0;
    int rc = read_text(object, key, text, sizeof text, error);
    if (rc == 0 && *text) {
        *digest = strtoull(text, &end, 16);
        if (strlen(text) != 16 || *end)
            rc = error_set(error, ERR_PARSE, "a case round's \"%s\" is not 16 hex digits", key);
    }
    return rc;
}

static int read_exact(const json_t *object, const char *key, struct exact_counts *counts,
                      struct error *error)
{
    const json_t *values = member(object, key, error);
    if (!values)
        return ERR_PARSE;
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        if (list[i].kind != KIND_EXACT)
            continue;
        int rc = read_count(values, list[i].name, &value, error);
        if (rc)
            return rc;
        counter_set_exact(counts, i, value);
    }
    return 0;
}

static int read_sample(const json_t *object, const char *key, struct sample *sample,
                       struct error *error)
{
    const json_t *values = member(object, key, error);
    if (!values)
        return ERR_PARSE;
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        if (list[i].kind != KIND_SAMPLED)
            continue;
        int rc = read_count(values, list[i].name, &value, error);
        if (rc)
            return rc;
        counter_set_sample(sample, i, value);
    }
    return 0;
}

/* One array a metric, all of the same length, become an array of samples. */
static int read_samples(const json_t *object, struct case_round *round, struct error *error)
{
    const json_t *columns = member(object, "samples", error);
    if (!columns)
        return ERR_PARSE;
    size_t count;
    const struct counter_info *list = counter_list(&count);
    round->sample_count = json_array_size(json_object_get(columns, list[0].name));
    if (round->sample_count)
        round->samples = must_alloc(round->sample_count * sizeof *round->samples);
    for (size_t i = 0; i < count; i++) {
        if (list[i].kind != KIND_SAMPLED)
            continue;
        const json_t *values = member(columns, list[i].name, error);
        if (!values)
            return ERR_PARSE;
        if (!json_is_array(values) || json_array_size(values) != round->sample_count)
            return error_set(error, ERR_PARSE,
                             "a case round's samples of \"%s\" are not %zu values", list[i].name,
                             round->sample_count);
        for (size_t s = 0; s < round->sample_count; s++) {
            const json_t *value = json_array_get(values, s);
            bool known = json_is_integer(value) && json_integer_value(value) >= 0;
            if (!known && !json_is_null(value))
                return error_set(error, ERR_PARSE, "sample %zu of \"%s\" is not a count", s,
                                 list[i].name);
            counter_set_sample(&round->samples[s], i,
                               known ? (uint64_t)json_integer_value(value) : UNKNOWN_NS);
        }
    }
    return 0;
}

static int read_model(const json_t *object, struct case_model *model, struct error *error)
{
    const json_t *json = json_object_get(object, "model");
    int rc = 0;
    *model = (struct case_model){.asked = json_is_object(json)};
#define X(name, help)                                                                              \
    model->name = UNKNOWN_NS;                                                                      \
    if (rc == 0 && model->asked)                                                                   \
        rc = read_count(json, #name, &model->name, error);
    MODEL_LIST(X)
#undef X
    if (rc == 0 && model->asked)
        rc = read_text(json, "why_not", model->why_not, sizeof model->why_not, error);
    return rc;
}

int case_key_from_json(const json_t *json, struct case_key *key, struct error *error)
{
    int rc = 0;
    memset(key, 0, sizeof *key);
#define X(name)                                                                                    \
    if (rc == 0)                                                                                   \
        rc = read_text(json, #name, key->name, sizeof key->name, error);
    CASE_KEY_LIST(X)
#undef X
#define X(name)                                                                                    \
    if (rc == 0 && json_object_get(json, #name))                                                   \
        rc = read_text(json, #name, key->name, sizeof key->name, error);
    CASE_KEY_OPTIONAL_LIST(X)
#undef X
    return rc;
}

int case_round_from_json(const json_t *json, struct case_round *round, struct error *error)
{
    int status = 0, check = 0, rc;
    memset(round, 0, sizeof *round);
    const json_t *key = member(json, "key", error);
    if (!key)
        return ERR_PARSE;
    if ((rc = case_key_from_json(key, &round->key, error)) == 0 &&
        (rc = read_unsigned(json, "round", &round->round, error)) == 0 &&
        (rc = read_unsigned(json, "slot", &round->slot, error)) == 0 &&
        (rc = read_choice(json, "status", status_name, CASE_STATUSES, &status, error)) == 0 &&
        (rc = read_text(json, "reason", round->reason, sizeof round->reason, error)) == 0 &&
        (rc = read_choice(json, "check", check_name, CHECK_DIGEST + 1, &check, error)) == 0 &&
        (rc = read_digest(json, "digest", &round->digest, error)) == 0 &&
        (rc = read_digest(json, "program_digest", &round->program_digest, error)) == 0 &&
        (rc = read_digest(json, "inputs_digest", &round->inputs_digest, error)) == 0 &&
        (rc = read_number(json, "worst_error", &round->worst_error, error)) == 0 &&
        (rc = read_number(json, "traffic_bytes", &round->traffic_bytes, error)) == 0 &&
        (rc = read_exact(json, "cold", &round->cold, error)) == 0 &&
        (rc = read_exact(json, "warm", &round->warm, error)) == 0 &&
        (rc = read_sample(json, "cold_sample", &round->cold_sample, error)) == 0 &&
        (rc = read_model(json, &round->model, error)) == 0)
        rc = read_samples(json, round, error);
    round->status = (enum case_status)status;
    round->check = (enum case_check)check;
    round->spaces = json_incref(json_object_get(json, "spaces"));
    round->memory = json_incref(json_object_get(json, "memory"));
    if (rc) {
        case_round_free(round);
        memset(round, 0, sizeof *round);
    }
    return rc;
}

char *case_round_to_line(const struct case_round *round)
{
    json_t *json = case_round_to_json(round);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(json);
    size_t length = text ? strlen(text) : 0;
    char *line = must_realloc(text, length + 2);
    strcpy(line + length, "\n");
    return line;
}

int case_round_from_line(const char *line, struct case_round *round, struct error *error)
{
    json_error_t where;
    memset(round, 0, sizeof *round);
    json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, &where);
    if (!json)
        return error_set(error, ERR_PARSE, "a case round is not JSON: %s", where.text);
    int rc = case_round_from_json(json, round, error);
    json_decref(json);
    return rc;
}
