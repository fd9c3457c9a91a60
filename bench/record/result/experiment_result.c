#include "record/result/experiment_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record/result/case_tree.h"
#include "base/tree.h"

static json_t *parameter_to_json(const struct experiment_parameter *p)
{
    return tree_pack("{s:s, s:s?, s:s}", "name", p->name, "unit",
                     p->is_number ? counter_unit_name(p->unit) : NULL, "help", p->help);
}

json_t *experiment_tree(const char *name, const char *device, const json_t *options,
                        const struct experiment_parameter *parameters,
                        const struct counter_info *metrics, size_t metric_count)
{
    json_t *list = tree_array(), *infos = tree_object();
    for (const struct experiment_parameter *p = parameters; p->name; p++)
        tree_append(list, parameter_to_json(p));
    for (size_t i = 0; i < metric_count; i++)
        tree_put(infos, metrics[i].name, counter_to_json(&metrics[i]));
    return tree_pack("{s:s, s:s, s:o, s:o, s:o, s:[]}", "name", name, "device", device, "options",
                     json_deep_copy(options), "parameters", list, "metrics", infos, "rows");
}

json_t *experiment_find(const json_t *root, const char *name, const char *device)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(root, "experiments"), i, each)
    {
        if (strcmp(tree_get_text(each, "name"), name) == 0 &&
            strcmp(tree_get_text(each, "device"), device) == 0)
            return each;
    }
    return NULL;
}

json_t *experiment_row(const json_t *experiment, const json_t *key)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(experiment, "rows"), i, row)
    {
        if (json_equal(json_object_get(row, "key"), key))
            return row;
    }
    return NULL;
}

size_t experiment_row_count(const json_t *root)
{
    size_t i, count = 0;
    json_t *experiment;
    json_array_foreach(json_object_get(root, "experiments"), i, experiment) count +=
        json_array_size(json_object_get(experiment, "rows"));
    return count;
}

/* ---- filing rounds --------------------------------------------------------------------------- */

json_t *experiment_expect_row(json_t *experiment, const json_t *key)
{
    json_t *row = experiment_row(experiment, key);
    if (row)
        return row;
    row = tree_pack("{s:o, s:s, s:s, s:n, s:[], s:{}, s:[]}", "key", json_deep_copy(key), "status",
                    case_status_name(CASE_skipped), "reason",
                    "not measured: the run ended before its turn", "digest", "warnings", "stats",
                    "rounds");
    tree_append(json_object_get(experiment, "rows"), row);
    return row;
}

json_t *experiment_round(unsigned round, size_t slot, enum case_status status, const char *reason)
{
    return tree_pack("{s:i, s:i, s:s, s:o, s:n, s:n}", "round", (int)round, "slot", (int)slot,
                     "status", case_status_name(status), "reason", tree_text_or_null(reason),
                     "digest", "samples");
}

/* The first row in the result whose answer should be the same; NULL: there is none yet. */
static const json_t *first_with_digest(const json_t *root, const json_t *experiment,
                                       const json_t **of)
{
    size_t i, j;
    json_t *each, *row;
    json_array_foreach(json_object_get(root, "experiments"), i, each)
    {
        if (!json_equal(json_object_get(each, "name"), json_object_get(experiment, "name")) ||
            !json_equal(json_object_get(each, "options"), json_object_get(experiment, "options")))
            continue;
        json_array_foreach(json_object_get(each, "rows"), j, row)
        {
            *of = each;
            if (json_is_string(json_object_get(row, "digest")))
                return row;
        }
    }
    return NULL;
}

static void compare_digest(const json_t *root, const json_t *experiment, json_t *row, json_t *round)
{
    const json_t *of, *first = first_with_digest(root, experiment, &of);
    const json_t *digest = json_object_get(round, "digest");
    if (!case_has_status(round, CASE_ok) || !json_is_string(digest))
        return;
    if (!first || json_equal(digest, json_object_get(first, "digest"))) {
        tree_put(row, "digest", tree_share(round, "digest"));
        return;
    }
    struct text reason = {0};
    text_add(&reason, "the answer %s differs from %s, that of ", json_string_value(digest),
             tree_get_text(first, "digest"));
    experiment_row_words(of, first, &reason);
    text_add(&reason, " on %s", tree_get_text(of, "device"));
    tree_put(round, "status", tree_text(case_status_name(CASE_wrong)));
    tree_put(round, "reason", tree_text(reason.data));
    text_free(&reason);
}

/* Adds a warning for each exact metric that differs from that of the first round. */
static void compare_exact(const json_t *experiment, json_t *row, const json_t *round)
{
    const json_t *first = json_array_get(json_object_get(row, "rounds"), 0);
    const char *name;
    json_t *metric;
    if (!first || !case_is_ok(first) || !case_is_ok(round))
        return;
    json_object_foreach(json_object_get(experiment, "metrics"), name, metric)
    {
        const json_t *before = json_object_get(json_object_get(first, "samples"), name);
        const json_t *now = json_object_get(json_object_get(round, "samples"), name);
        if (strcmp(tree_get_text(metric, "kind"), "exact") == 0 && (before || now) &&
            !json_equal(before, now))
            case_warn(row, "not-deterministic", name, "differs between rounds");
    }
}

void experiment_add_round(const json_t *root, json_t *experiment, const json_t *key, json_t *round)
{
    json_t *row = experiment_expect_row(experiment, key);
    compare_digest(root, experiment, row, round);
    if (!case_is_ok(round))
        tree_put(round, "samples", json_null());
    compare_exact(experiment, row, round);
    tree_append(json_object_get(row, "rounds"), round);
}

static void summarise_row(const json_t *experiment, json_t *row)
{
    json_t *stats = tree_object();
    const char *name;
    json_t *metric;
    case_judge(row);
    if (case_is_ok(row))
        json_object_foreach(json_object_get(experiment, "metrics"), name, metric)
        {
            json_t *of_metric = case_metric_stats(json_object_get(row, "rounds"), name);
            if (of_metric)
                tree_put(stats, name, of_metric);
        }
    tree_put(row, "stats", stats);
}

void experiment_summarise(json_t *experiment)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(experiment, "rows"), i, row) summarise_row(experiment, row);
}

/* ---- reading --------------------------------------------------------------------------------- */

const char *experiment_word(const json_t *row, const char *parameter)
{
    return tree_get_text(json_object_get(row, "key"), parameter);
}

double experiment_number(const json_t *row, const char *parameter)
{
    return tree_get_number(json_object_get(row, "key"), parameter);
}

void experiment_value_text(double value, const char *unit, struct text *out)
{
    char buffer[32];
    if (isnan(value))
        text_add(out, "-");
    else if (value == 0)
        text_add(out, "0");
    else if (strcmp(unit, "ns") == 0)
        text_add(out, "%s", text_ns(buffer, value));
    else if (strcmp(unit, "bytes") == 0)
        text_add(out, "%s", text_bytes(buffer, (uint64_t)value));
    else if (strcmp(unit, "count") == 0)
        text_add(out, "%.0f", value);
    else
        text_add(out, "%.4g", value);
}

void experiment_row_words(const json_t *experiment, const json_t *row, struct text *out)
{
    size_t i;
    json_t *parameter;
    json_array_foreach(json_object_get(experiment, "parameters"), i, parameter)
    {
        const char *name = tree_get_text(parameter, "name");
        text_add(out, "%s%s=", i ? " " : "", name);
        if (*tree_get_text(parameter, "unit"))
            text_add(out, "%.0f", experiment_number(row, name));
        else
            text_add(out, "%s", experiment_word(row, name));
    }
}
