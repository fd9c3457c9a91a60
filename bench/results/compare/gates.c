#include "results/compare/gates.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"

#define GATES_SCHEMA "gamut.gates/1"

static const double largest_part = 10;

struct gates gates_default(double threshold)
{
    struct gates gates = {0};
    size_t count;
    const struct counter_info *list = counter_list(&count);
    assert(count <= GATES_MAX);
    for (size_t i = 0; i < count; i++)
        gates.gate[i].is_set = list[i].kind == KIND_EXACT && list[i].better == BETTER_LOWER;
    gates.gate[0] = (struct gate){.is_set = true, .part = threshold}; /* wall_ns */
    return gates;
}

/* Digits with at most one point among them; strtod alone also takes "inf" and "0x1p3". */
static bool is_plain_number(const char *text, size_t length)
{
    size_t digits = 0, points = 0;
    for (size_t i = 0; i < length; i++) {
        digits += isdigit((unsigned char)text[i]) != 0;
        points += text[i] == '.';
    }
    return digits > 0 && points <= 1 && digits + points == length;
}

bool gate_parse_part(const char *text, double *part)
{
    size_t length = strlen(text);
    if (length == 0 || text[length - 1] != '%')
        return false;
    length--;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    if (!is_plain_number(text, length))
        return false;
    *part = strtod(text, NULL) / 100;
    return *part < largest_part;
}

static const char *counter_name(void *context, size_t i)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    return i < count ? list[i].name : NULL;
}

static bool is_pattern(const char *metric)
{
    return strpbrk(metric, "*?") || strcmp(metric, "exact") == 0 || strcmp(metric, "sampled") == 0;
}

static bool is_meant(const struct counter_info *info, const char *metric)
{
    if (strcmp(metric, "exact") == 0)
        return info->kind == KIND_EXACT;
    if (strcmp(metric, "sampled") == 0)
        return info->kind == KIND_SAMPLED;
    return text_glob(metric, info->name);
}

static int parse_limit(const struct counter_info *info, const char *limit, struct gate *gate,
                       struct error *error)
{
    static const char *const expected[] = {
        [UNIT_NS] = "a percentage such as 2% below 1000 %, as times are compared as ratios",
        [UNIT_BYTES] = "0, a size such as 4KiB, or a percentage such as 2% below 1000 %",
        [UNIT_COUNT] = "0, a whole number, or a percentage such as 2% below 1000 %",
    };
    *gate = (struct gate){.is_set = true};
    if (strcmp(limit, "0") == 0 || gate_parse_part(limit, &gate->part))
        return 0;
    if (info->unit == UNIT_BYTES && text_to_bytes(limit, &gate->amount))
        return 0;
    if (info->unit == UNIT_COUNT && text_to_u64(limit, &gate->amount))
        return 0;
    return error_set(error, ERR_USAGE, "the gate %s has the limit '%.64s', expected %s", info->name,
                     limit, expected[info->unit]);
}

static int unknown_metric(const char *metric, struct error *error)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    const int nearest = text_nearest(metric, counter_name, NULL);
    return error_set(error, ERR_USAGE,
                     "there is no metric '%.64s'%s%s%s; 'gamut list metrics' "
                     "names them, and there are exact, sampled and patterns such as peak_*",
                     metric, nearest >= 0 ? " (did you mean " : "",
                     nearest >= 0 ? list[nearest].name : "", nearest >= 0 ? "?)" : "");
}

int gates_mark_metric(const char *metric, bool marks[GATES_MAX], struct error *error)
{
    size_t count, matches = 0;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        if (is_meant(&list[i], metric)) {
            marks[i] = true;
            matches++;
        }
    return matches ? 0 : unknown_metric(metric, error);
}

int gates_add(struct gates *gates, const char *rule, struct error *error)
{
    char metric[128];
    size_t count, matches = 0;
    const struct counter_info *list = counter_list(&count);
    if (strcmp(rule, "none") == 0) {
        *gates = (struct gates){0};
        return 0;
    }
    const char *colon = strchr(rule, ':');
    if (!colon || colon == rule || (size_t)(colon - rule) >= sizeof metric)
        return error_set(error, ERR_USAGE,
                         "the gate '%.64s' is not METRIC:LIMIT such as wall_ns:2%% or "
                         "peak_reserved_bytes:0",
                         rule);
    snprintf(metric, sizeof metric, "%.*s", (int)(colon - rule), rule);
    for (size_t i = 0; i < count; i++) {
        struct gate gate;
        if (!is_meant(&list[i], metric) || (is_pattern(metric) && list[i].better == BETTER_NEITHER))
            continue;
        if (list[i].better == BETTER_NEITHER)
            return error_set(error, ERR_USAGE,
                             "%s can't be gated: neither more nor less of it is better", metric);
        if (parse_limit(&list[i], colon + 1, &gate, error))
            return ERR_USAGE;
        gates->gate[i] = gate;
        matches++;
    }
    return matches ? 0 : unknown_metric(metric, error);
}

static int add_all(struct gates *gates, const json_t *rules, struct error *error)
{
    const char *metric;
    json_t *limit;
    struct text rule = {0};
    int code = 0;
    json_object_foreach((json_t *)rules, metric, limit)
    {
        if (!json_is_string(limit)) {
            code = error_set(error, ERR_PARSE, "gates.%s: expected a text such as \"2%%\"", metric);
            break;
        }
        rule.length = 0;
        text_add(&rule, "%s:%s", metric, json_string_value(limit));
        code = gates_add(gates, rule.data, error);
        if (code)
            break;
    }
    text_free(&rule);
    return code;
}

int gates_add_file(struct gates *gates, const char *path, struct error *error)
{
    json_error_t where;
    const char *key;
    json_t *value, *root = NULL;
    struct text text = {0};
    int code = text_read_file(&text, path, error);
    if (!code)
        root = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, &where);
    text_free(&text);
    if (code)
        return code;
    if (!root)
        return error_set(error, ERR_PARSE, "%s:%d:%d: %s", path, where.line, where.column,
                         where.text);
    const json_t *rules = json_object_get(root, "gates");
    if (strcmp(tree_get_text(root, "schema"), GATES_SCHEMA) != 0)
        code = error_set(error, ERR_PARSE, "schema: expected \"" GATES_SCHEMA "\"");
    json_object_foreach(root, key, value)
    {
        if (code == 0 && strcmp(key, "schema") != 0 && strcmp(key, "gates") != 0)
            code = error_set(error, ERR_PARSE, "there is no key \"%s\"; there are: schema, gates",
                             key);
    }
    if (code == 0 && !json_is_object(rules))
        code =
            error_set(error, ERR_PARSE, "gates: expected an object such as {\"wall_ns\": \"2%%\"}");
    THEN(code, add_all(gates, rules, error));
    if (code)
        error_prefix(error, "%s: ", path);
    json_decref(root);
    return code;
}

json_t *gates_to_json(const struct gates *gates)
{
    json_t *json = tree_object();
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++) {
        const struct gate *gate = &gates->gate[i];
        char limit[48];
        if (!gate->is_set)
            continue;
        if (gate->amount)
            snprintf(limit, sizeof limit, "%llu", (unsigned long long)gate->amount);
        else if (gate->part > 0)
            snprintf(limit, sizeof limit, "%.10g%%", 100 * gate->part);
        else
            snprintf(limit, sizeof limit, "0");
        tree_put(json, list[i].name, tree_text(limit));
    }
    return json;
}
