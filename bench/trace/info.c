#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json_rules.h"
#include "trace/trace.h"

#define NAME(name) #name,
static const char *const fact_names[TRACE_FACTS] = {TRACE_FACT_LIST(NAME)};
static const char *const kind_names[TRACE_KINDS] = {TRACE_KIND_LIST(NAME)};

const char *trace_fact_name(enum trace_fact fact)
{
    return fact_names[fact];
}
const char *trace_kind_name(enum trace_kind kind)
{
    return kind_names[kind];
}

size_t trace_stem(const char *path)
{
    const size_t length = strlen(path), suffix = strlen(TRACE_SUFFIX);
    const bool has = length > suffix && strcmp(path + length - suffix, TRACE_SUFFIX) == 0;
    return has ? length - suffix : length;
}

void trace_info_begin(struct trace_info *info, uint64_t us)
{
    const time_t seconds = (time_t)(us / 1000000);
    struct tm utc;
    char day[24];
    if (gmtime_r(&seconds, &utc) && strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc))
        snprintf(info->began, sizeof info->began, "%.19s.%06uZ", day, (unsigned)(us % 1000000));
}

void trace_info_free(struct trace_info *info)
{
    json_decref(info->settings);
    json_decref(info->unseen);
    info->settings = info->unseen = NULL;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static const struct json_field info_fields[] = {
    JSON_FIELD(TEXT, struct trace_info, source),
    JSON_FIELDS(TEXT_OR_NULL, struct trace_info, application, device, began, allocator),
    JSON_FIELD(COUNT, struct trace_info, time_unit_ns),
    JSON_FIELD(COUNT_OR_NULL, struct trace_info, capacity_bytes),
    JSON_FIELD(BOOLEAN, struct trace_info, lost_beginning),
    JSON_FIELDS_END,
};

static const struct json_rule info_rules[] = {
    {"", RULE_OBJECT},
    {"knows", RULE_ARRAY},
    {"knows[]", RULE_TEXT},
    {"alignment_bytes", RULE_COUNT | RULE_ABSENT},
    {"limit_least_bytes", RULE_COUNT | RULE_ABSENT},
    {"limit_most_bytes", RULE_COUNT | RULE_ABSENT},
    {"settings", RULE_OBJECT | RULE_NULL | RULE_ABSENT},
    {"unseen", RULE_OBJECT | RULE_NULL | RULE_ABSENT},
    {0},
};

json_t *trace_info_to_json(const struct trace_info *info)
{
    json_t *json = json_object(), *knows = json_array();
    json_put_fields(json, info_fields, info);
    for (int f = 0; f < TRACE_FACTS; f++)
        if (info->knows[f])
            json_array_append_new(knows, json_string(fact_names[f]));
    json_object_set_new(json, "knows", knows);
    json_object_set(json, "settings", info->settings ? info->settings : json_null());
    if (info->alignment_bytes)
        json_object_set_new(json, "alignment_bytes",
                            json_integer((json_int_t)info->alignment_bytes));
    if (info->limit_most_bytes) {
        json_object_set_new(json, "limit_least_bytes",
                            json_integer((json_int_t)info->limit_least_bytes));
        json_object_set_new(json, "limit_most_bytes",
                            json_integer((json_int_t)info->limit_most_bytes));
    }
    if (info->unseen)
        json_object_set(json, "unseen", info->unseen);
    return json;
}

/* A fact that this version does not know belongs to a newer one and is ignored. */
static void read_facts(const json_t *knows, struct trace_info *info)
{
    size_t i;
    const json_t *name;
    json_array_foreach(knows, i,
                       name) for (int f = 0; f < TRACE_FACTS;
                                  f++) if (strcmp(json_string_value(name), fact_names[f]) == 0)
        info->knows[f] = true;
}

int trace_info_from_json(const json_t *json, struct trace_info *info, struct error *error)
{
    *info = (struct trace_info){0};
    TRY(json_check(json, info_rules, error));
    TRY(json_get_fields(json, "", info_fields, info, error));
    if (info->time_unit_ns == 0)
        return error_set(error, ERR_PARSE, "time_unit_ns: expected at least 1, found 0");
    info->alignment_bytes = (uint64_t)json_integer_value(json_object_get(json, "alignment_bytes"));
    info->limit_least_bytes =
        (uint64_t)json_integer_value(json_object_get(json, "limit_least_bytes"));
    info->limit_most_bytes =
        (uint64_t)json_integer_value(json_object_get(json, "limit_most_bytes"));
    if (!trace_can_align(info->alignment_bytes))
        return error_set(error, ERR_PARSE,
                         "alignment_bytes: expected a power of two below 2^32, found %llu",
                         (unsigned long long)info->alignment_bytes);
    read_facts(json_object_get(json, "knows"), info);
    json_t *settings = json_object_get(json, "settings"), *unseen = json_object_get(json, "unseen");
    info->settings = json_is_object(settings) ? json_incref(settings) : NULL;
    info->unseen = json_is_object(unseen) ? json_incref(unseen) : NULL;
    return 0;
}

static const struct json_field totals_fields[] = {
    JSON_FIELDS(COUNT, struct trace_totals, events, blocks, live_at_end, peak_bytes, slots, queues,
                threads, requested_bytes),
    JSON_FIELD(COUNT, struct trace_totals, last_ns),
    JSON_FIELD(DIGEST, struct trace_totals, digest),
    JSON_FIELDS_END,
};

json_t *trace_totals_to_json(const struct trace_totals *totals)
{
    json_t *json = json_object(), *kinds = json_object();
    json_put_fields(json, totals_fields, totals);
    for (int k = 0; k < TRACE_KINDS; k++)
        if (totals->by_kind[k])
            json_object_set_new(kinds, kind_names[k], json_integer((json_int_t)totals->by_kind[k]));
    json_object_set_new(json, "kinds", kinds);
    return json;
}

int trace_totals_from_json(const json_t *json, struct trace_totals *totals, struct error *error)
{
    static const struct json_rule rules[] = {
        {"", RULE_OBJECT}, {"kinds", RULE_OBJECT}, {"kinds{}", RULE_COUNT}, {0}};
    *totals = (struct trace_totals){0};
    TRY(json_check(json, rules, error));
    TRY(json_get_fields(json, "", totals_fields, totals, error));
    const json_t *kinds = json_object_get(json, "kinds");
    for (int k = 0; k < TRACE_KINDS; k++)
        totals->by_kind[k] = (uint64_t)json_integer_value(json_object_get(kinds, kind_names[k]));
    return 0;
}
