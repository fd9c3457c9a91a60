#include "record/result/rounds_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"

size_t rounds_known_values(const json_t *round, const char *metric, double *out)
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

/* A buffer that is large enough for all values of one metric in all rounds. */
static double *value_buffer(const json_t *rounds, const char *metric)
{
    size_t i, count = 0;
    json_t *round;
    json_array_foreach(rounds, i, round) count +=
        json_array_size(json_object_get(json_object_get(round, "samples"), metric));
    return must_alloc(count * sizeof(double));
}

void rounds_put_interval(json_t *out, const struct statistics *s)
{
    tree_put(out, "rounds", tree_count(s->count));
    tree_put(out, "median", tree_number(s->median));
    tree_put(out, "ci_lo", tree_number(s->ci_lo));
    tree_put(out, "ci_hi", tree_number(s->ci_hi));
    tree_put(out, "ci_level", tree_number(s->ci_level));
}

json_t *rounds_metric_stats(const json_t *rounds, const char *metric)
{
    size_t i, value_count = 0, round_count = 0, cold_count = 0;
    json_t *round, *out = NULL;
    double *values = value_buffer(rounds, metric);
    double *medians = must_alloc(json_array_size(rounds) * sizeof *medians);
    double *cold = must_alloc(json_array_size(rounds) * sizeof *cold);
    json_array_foreach(rounds, i, round)
    {
        size_t count = rounds_known_values(round, metric, values + value_count);
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
        rounds_put_interval(out, &over_rounds);
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

bool rounds_round_was(const json_t *round, enum case_status status)
{
    return strcmp(tree_get_text(round, "status"), case_status_name(status)) == 0;
}

/* Rounds that a good case had to leave out are no fault of its own, but are told. */
static void tell_skipped(json_t *one, size_t skipped, const char *reason)
{
    static const char code[] = "rounds-skipped";
    json_t *warnings = json_object_get(one, "warnings"), *warning = tree_object();
    for (size_t i = json_array_size(warnings); i-- > 0;)
        if (strcmp(tree_get_text(json_array_get(warnings, i), "code"), code) == 0)
            json_array_remove(warnings, i); /* of fewer rounds */
    char detail[1200];
    snprintf(detail, sizeof detail, "%zu of %zu rounds, the first time: %s", skipped,
             json_array_size(json_object_get(one, "rounds")), reason);
    tree_put(warning, "code", tree_text(code));
    tree_put(warning, "subject", tree_text("rounds"));
    tree_put(warning, "detail", tree_text(detail));
    tree_append(warnings, warning);
}

bool rounds_judge(json_t *one)
{
    json_t *rounds = json_object_get(one, "rounds"), *round, *worst = NULL, *first_skipped = NULL;
    size_t i, skipped = 0;
    json_array_foreach(rounds, i, round)
    {
        if (rounds_round_was(round, CASE_skipped)) {
            first_skipped = first_skipped ? first_skipped : round;
            skipped++;
        }
    }
    const bool all_skipped = skipped == json_array_size(rounds);
    if (skipped && !all_skipped)
        tell_skipped(one, skipped, tree_get_text(first_skipped, "reason"));
    json_array_foreach(rounds, i, round)
    {
        if (!all_skipped && rounds_round_was(round, CASE_skipped))
            continue;
        if (!worst ||
            severity(tree_get_text(round, "status")) > severity(tree_get_text(worst, "status")))
            worst = round;
    }
    if (worst) {
        tree_put(one, "status", tree_share(worst, "status"));
        tree_put(one, "reason", tree_share(worst, "reason"));
    }
    return all_skipped;
}

void rounds_warn(json_t *one, const char *code, const char *subject, const char *detail)
{
    json_t *warnings = json_object_get(one, "warnings"), *each;
    size_t i;
    json_array_foreach(warnings, i, each)
    {
        if (strcmp(tree_get_text(each, "code"), code) == 0 &&
            strcmp(tree_get_text(each, "subject"), subject) == 0)
            return;
    }
    json_t *warning = tree_object();
    tree_put(warning, "code", tree_text(code));
    tree_put(warning, "subject", tree_text(subject));
    tree_put(warning, "detail", tree_text(detail));
    tree_append(warnings, warning);
}
