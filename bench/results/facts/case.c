#include "results/facts/case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json_rules.h"
#include "base/text.h"
#include "base/tree.h"

const char *const case_status_names[] = {CASE_STATUS_LIST(TEXT_NAME) NULL};

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

#define REQUIRED(name) JSON_FIELD(TEXT, struct case_key, name),
#define OPTIONAL(name) JSON_OPTIONAL(TEXT_OR_NULL, struct case_key, name),
static const struct json_field key_fields[] = {
    CASE_KEY_LIST(REQUIRED) CASE_KEY_OPTIONAL_LIST(OPTIONAL) JSON_FIELDS_END};
const struct json_struct case_key_struct = {key_fields, sizeof(struct case_key)};

json_t *case_key_to_json(const struct case_key *key)
{
    return json_of_fields(key_fields, key);
}

int case_key_from_json(const json_t *json, struct case_key *key, struct error *error)
{
    return json_get_fields(json, "", key_fields, key, error);
}

/* Of the text as a file has it. */
static uint64_t hash_line(uint64_t hash, const char *text)
{
    json_t *kept = tree_text(text);
    for (text = json_string_value(kept); *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    json_decref(kept);
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

bool case_same_but_merge(const struct case_key *a, const struct case_key *b)
{
    return strcmp(a->release, b->release) == 0 && strcmp(a->residency, b->residency) == 0 &&
           strcmp(a->strategy, b->strategy) == 0;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

#define X(name, unit, kind, better, help) JSON_FIELD(COUNT_OR_UNKNOWN, struct sample, name),
static const struct json_field sample_fields[] = {SAMPLE_LIST(X) JSON_FIELDS_END};
#undef X
static const struct json_struct sample_struct = {sample_fields, sizeof(struct sample)};

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
    JSON_FIELD(BOOLEAN, struct case_model, asked),
#define X(name, help) JSON_FIELD(COUNT_OR_UNKNOWN, struct case_model, name),
    MODEL_LIST(X)
#undef X
        JSON_FIELD(TEXT_OR_NULL, struct case_model, why_not),
    JSON_FIELDS_END,
};
static const struct json_struct model_struct = {model_fields, sizeof(struct case_model)};

static const struct json_field round_fields[] = {
    JSON_NESTED(OBJECT, struct case_round, key, &case_key_struct),
    JSON_FIELDS(COUNT, struct case_round, round, slot),
    JSON_WORD(struct case_round, status, case_status_names),
    JSON_FIELD(TEXT_OR_NULL, struct case_round, reason),
    JSON_WORD(struct case_round, check, case_check_names),
    JSON_FIELDS(DIGEST, struct case_round, digest, program_digest, inputs_digest),
    JSON_FIELDS(NUMBER, struct case_round, worst_error, traffic_bytes),
    JSON_NESTED(OBJECT, struct case_round, cold, &exact_counts_struct),
    JSON_NESTED(OBJECT, struct case_round, warm, &exact_counts_struct),
    JSON_NESTED(OBJECT, struct case_round, cold_sample, &sample_struct),
    JSON_MANY(LIST, struct case_round, samples, sample_count, &sample_struct),
    JSON_NESTED(OBJECT, struct case_round, model, &model_struct),
    JSON_OPTIONAL(JSON, struct case_round, spaces),
    JSON_FIELDS_END,
};

json_t *case_round_to_json(const struct case_round *round)
{
    return json_of_fields(round_fields, round);
}

int case_round_from_json(const json_t *json, struct case_round *round, struct error *error)
{
    struct arena arena = {0};
    const int code = json_get_fields_in(&arena, json, "", round_fields, round, error);
    if (code) {
        error_prefix(error, "a case round: ");
        *round = (struct case_round){0};
    }
    const size_t bytes = round->sample_count * sizeof *round->samples;
    round->samples = bytes ? memcpy(must_alloc(bytes), round->samples, bytes) : NULL;
    json_incref(round->spaces);
    arena_free(&arena);
    return code;
}
