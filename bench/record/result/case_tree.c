#include "record/result/case_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"

/* ---- what it says ---------------------------------------------------------------------------- */

bool case_has_status(const json_t *one_case, enum case_status status)
{
    return strcmp(tree_get_text(one_case, "status"), case_status_name(status)) == 0;
}

bool case_is_ok(const json_t *one_case)
{
    return case_has_status(one_case, CASE_ok);
}

bool case_is_skipped(const json_t *one_case)
{
    return case_has_status(one_case, CASE_skipped);
}

double case_peak(const json_t *one_case, const char *name)
{
    const json_t *counters = case_is_ok(one_case) ? json_object_get(one_case, "counters") : NULL;
    return fmax(tree_get_number(json_object_get(counters, "cold"), name),
                tree_get_number(json_object_get(counters, "warm"), name));
}

static const char *const call_counters[] = {
    "driver_alloc_count", "driver_touch_count", "driver_free_count",
    "driver_map_count",   "driver_unmap_count", "driver_sync_count",
};

double case_driver_calls(const json_t *counts)
{
    double calls = tree_get_number(counts, call_counters[0]);
    for (size_t i = 1; i < sizeof call_counters / sizeof *call_counters; i++) {
        const double more = tree_get_number(counts, call_counters[i]);
        calls += isnan(more) ? 0 : more;
    }
    return calls;
}

const json_t *case_device(const json_t *root, const char *id)
{
    const json_t *devices = json_object_get(json_object_get(root, "context"), "devices"), *device;
    for (size_t i = 0; (device = json_array_get(devices, i)); i++)
        if (strcmp(tree_get_text(device, "id"), id) == 0)
            return device;
    return NULL;
}

bool case_some_has_time(const json_t *root, const char *device)
{
    const json_t *cases = json_object_get(root, "cases"), *one_case;
    for (size_t i = 0; (one_case = json_array_get(cases, i)); i++) {
        const char *of = tree_get_text(json_object_get(one_case, "key"), "device");
        if ((!device || strcmp(of, device) == 0) &&
            !isnan(case_stat(one_case, "wall_ns", "median")))
            return true;
    }
    return false;
}

double case_stat(const json_t *one_case, const char *metric, const char *name)
{
    return tree_get_number(json_object_get(json_object_get(one_case, "stats"), metric), name);
}

double case_model_unexplained(const json_t *one_case)
{
    const double ns = tree_get_number(json_object_get(one_case, "model"), "predicted_ns");
    const double least_ns = case_stat(one_case, "wall_ns", "ci_lo");
    const double most_ns = case_stat(one_case, "wall_ns", "ci_hi");
    const double outside_ns = ns < least_ns ? least_ns - ns : ns > most_ns ? ns - most_ns : 0;
    return isnan(ns) || isnan(least_ns) || isnan(most_ns)
               ? NAN
               : outside_ns / case_stat(one_case, "wall_ns", "median");
}

const json_t *case_speedup(const json_t *one_case)
{
    const json_t *speedup = json_object_get(one_case, "speedup");
    return speedup ? speedup : json_object_get(one_case, "speedup_over_raw");
}

bool case_keys_differ(const json_t *root, const char *device, const char *member)
{
    const char *first = NULL;
    size_t i;
    json_t *one_case;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        const json_t *key = json_object_get(one_case, "key");
        const char *value = tree_get_text(key, member);
        if (strcmp(tree_get_text(key, "device"), device) != 0)
            continue;
        if (first && strcmp(first, value) != 0)
            return true;
        first = value;
    }
    return false;
}

char *case_words(char out[512], const json_t *one_case)
{
    const json_t *key = json_object_get(one_case, "key");
    const char *residency = tree_get_text(key, "residency");
    snprintf(out, 512, "%s %s %s %s %s %s%s%s", tree_get_text(key, "workload"),
             tree_get_text(key, "dataset"), tree_get_text(key, "device"),
             tree_get_text(key, "merge"), tree_get_text(key, "release"),
             tree_get_text(key, "strategy"), *residency ? " " : "", residency);
    return out;
}

/* ---- its rounds ------------------------------------------------------------------------------ */

static size_t known_values(const json_t *round, const char *metric, double *out)
{
    size_t i, count = 0;
    json_t *value;
    json_array_foreach(json_object_get(json_object_get(round, "samples"), metric), i, value)
    {
        if (json_is_number(value))
            out[count++] = json_number_value(value);
    }
    return count;
}

/* One number for each round of a case that was ok and knows the metric. */
static size_t round_values(const json_t *one_case, const char *metric, double *round_number,
                           double *value, double (*of_samples)(double *values, size_t count))
{
    const json_t *rounds = json_object_get(one_case, "rounds");
    json_t *round;
    size_t i, n = 0, room = 0;
    if (!case_is_ok(one_case))
        return 0;
    double *values = NULL;
    json_array_foreach(rounds, i, round)
    {
        const json_t *samples = json_object_get(json_object_get(round, "samples"), metric);
        const size_t most = json_array_size(samples);
        if (most > room) {
            room = 2 * most;
            values = must_realloc(values, room * sizeof *values);
        }
        const size_t count = known_values(round, metric, values);
        if (!count)
            continue;
        round_number[n] = tree_get_number(round, "round");
        value[n++] = of_samples(values, count);
    }
    free(values);
    return n;
}

size_t case_round_medians(const json_t *one_case, const char *metric, double *round_number,
                          double *median)
{
    return round_values(one_case, metric, round_number, median, statistics_median);
}

static double least(double *values, size_t count)
{
    double out = values[0];
    for (size_t i = 1; i < count; i++)
        out = fmin(out, values[i]);
    return out;
}

size_t case_round_fastest(const json_t *one_case, const char *metric, double *round_number,
                          double *fastest)
{
    return round_values(one_case, metric, round_number, fastest, least);
}

struct statistics case_ratio(const json_t *over, const json_t *under)
{
    const size_t a_most = json_array_size(json_object_get(over, "rounds"));
    const size_t b_most = json_array_size(json_object_get(under, "rounds"));
    double *round = must_alloc((a_most + b_most) * sizeof *round);
    double *wall_ns = must_alloc((a_most + b_most) * sizeof *wall_ns);
    double *ratio = must_alloc(a_most * sizeof *ratio);
    const size_t a = case_round_medians(over, "wall_ns", round, wall_ns);
    const size_t b = case_round_medians(under, "wall_ns", round + a, wall_ns + a);
    size_t count = 0;
    for (size_t i = 0; i < a; i++)
        for (size_t j = a; j < a + b; j++)
            if (round[i] == round[j] && wall_ns[j] > 0)
                ratio[count++] = wall_ns[i] / wall_ns[j];
    const struct statistics s = statistics_of(ratio, count);
    free(round);
    free(wall_ns);
    free(ratio);
    return s;
}

/* ---- what follows from them ------------------------------------------------------------------ */

void case_put_interval(json_t *out, const struct statistics *s)
{
    json_t *interval =
        tree_pack("{s:o, s:o, s:o, s:o, s:o}", "rounds", tree_count(s->count), "median",
                  tree_number(s->median), "ci_lo", tree_number(s->ci_lo), "ci_hi",
                  tree_number(s->ci_hi), "ci_level", tree_number(s->ci_level));
    json_object_update(out, interval);
    json_decref(interval);
}

/* A buffer large enough for all values of one metric in all rounds. */
static double *value_buffer(const json_t *rounds, const char *metric)
{
    size_t i, count = 0;
    json_t *round;
    json_array_foreach(rounds, i, round) count +=
        json_array_size(json_object_get(json_object_get(round, "samples"), metric));
    return must_alloc(count * sizeof(double));
}

json_t *case_metric_stats(const json_t *rounds, const char *metric)
{
    size_t i, value_count = 0, round_count = 0, cold_count = 0;
    json_t *round, *out = NULL;
    double *values = value_buffer(rounds, metric);
    double *medians = must_alloc(json_array_size(rounds) * sizeof *medians);
    double *cold = must_alloc(json_array_size(rounds) * sizeof *cold);
    json_array_foreach(rounds, i, round)
    {
        size_t count = known_values(round, metric, values + value_count);
        double first = tree_get_number(json_object_get(round, "cold_sample"), metric);
        if (count)
            medians[round_count++] = statistics_of(values + value_count, count).median;
        if (!isnan(first))
            cold[cold_count++] = first;
        value_count += count;
    }
    if (round_count) {
        struct statistics over_rounds = statistics_of(medians, round_count);
        statistics_sort(values, value_count);
        out = tree_object();
        case_put_interval(out, &over_rounds);
        tree_put(out, "mad", tree_number(over_rounds.mad));
        tree_put(out, "samples", tree_count(value_count));
        tree_put(out, "min", tree_number(values[0]));
        tree_put(out, "p10", tree_number(statistics_quantile(values, value_count, 0.1)));
        tree_put(out, "p90", tree_number(statistics_quantile(values, value_count, 0.9)));
        tree_put(out, "max", tree_number(values[value_count - 1]));
        tree_put(out, "cold_median", tree_number(statistics_of(cold, cold_count).median));
    }
    free(values);
    free(medians);
    free(cold);
    return out;
}

static int severity(const char *status)
{
    int s = CASE_STATUSES;
    while (--s > CASE_ok && strcmp(status, case_status_name((enum case_status)s)) != 0)
        ;
    return s;
}

/* Skipped rounds do not change the status of a case, but are reported as a warning. */
static void tell_skipped(json_t *one, size_t skipped, const char *reason)
{
    static const char code[] = "rounds-skipped";
    json_t *warnings = json_object_get(one, "warnings");
    for (size_t i = json_array_size(warnings); i-- > 0;)
        if (strcmp(tree_get_text(json_array_get(warnings, i), "code"), code) == 0)
            json_array_remove(warnings, i); /* the old warning counted fewer rounds */
    char detail[1200];
    snprintf(detail, sizeof detail, "%zu of %zu rounds, the first time: %s", skipped,
             json_array_size(json_object_get(one, "rounds")), reason);
    case_warn(one, code, "rounds", detail);
}

void case_drop_times(json_t *one)
{
    static const char *const of_round[] = {"cold_sample", "samples", "model"};
    static const char *const of_case[] = {"model", "speedup_over_raw"};
    size_t i;
    json_t *round;
    json_array_foreach(json_object_get(one, "rounds"), i, round)
    {
        for (size_t m = 0; m < sizeof of_round / sizeof *of_round; m++)
            if (json_object_get(round, of_round[m]))
                tree_put(round, of_round[m], json_null());
    }
    for (size_t m = 0; m < sizeof of_case / sizeof *of_case; m++)
        if (json_object_get(one, of_case[m]))
            tree_put(one, of_case[m], json_null());
    tree_put(one, "stats", tree_object());
}

/* The number of skipped rounds; *first receives the first of them. */
static size_t count_skipped(const json_t *rounds, const json_t **first)
{
    const json_t *round;
    size_t skipped = 0;
    for (size_t i = json_array_size(rounds); i-- > 0;)
        if (case_has_status(round = json_array_get(rounds, i), CASE_skipped)) {
            *first = round;
            skipped++;
        }
    return skipped;
}

const json_t *case_worst_round(const json_t *one)
{
    const json_t *rounds = json_object_get(one, "rounds"), *worst = NULL, *round;
    const bool all_skipped = count_skipped(rounds, &round) == json_array_size(rounds);
    for (size_t i = 0; (round = json_array_get(rounds, i)); i++) {
        if (!all_skipped && case_has_status(round, CASE_skipped))
            continue;
        if (!worst ||
            severity(tree_get_text(round, "status")) > severity(tree_get_text(worst, "status")))
            worst = round;
    }
    return worst;
}

bool case_judge(json_t *one)
{
    const json_t *rounds = json_object_get(one, "rounds"), *worst = case_worst_round(one);
    const json_t *first_skipped = NULL;
    const size_t skipped = count_skipped(rounds, &first_skipped);
    const bool all_skipped = skipped == json_array_size(rounds);
    if (skipped && !all_skipped)
        tell_skipped(one, skipped, tree_get_text(first_skipped, "reason"));
    if (worst) {
        tree_put(one, "status", tree_share(worst, "status"));
        tree_put(one, "reason", tree_share(worst, "reason"));
    }
    if (case_has_status(one, CASE_wrong))
        case_drop_times(one);
    return all_skipped;
}

void case_warn(json_t *one, const char *code, const char *subject, const char *detail)
{
    json_t *warnings = json_object_get(one, "warnings"), *each;
    size_t i;
    json_array_foreach(warnings, i, each)
    {
        if (strcmp(tree_get_text(each, "code"), code) == 0 &&
            strcmp(tree_get_text(each, "subject"), subject) == 0)
            return;
    }
    tree_append(warnings, tree_pack("{s:s, s:s, s:o}", "code", code, "subject", subject, "detail",
                                    tree_text(detail)));
}
