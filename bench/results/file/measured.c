#include "results/file/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* ---- its members ------------------------------------------------------------------------------ */

const struct result_stat *measured_stat(const struct result_case *one, const char *metric)
{
    static const struct result_stat unknown = {
        .name = "",
        .over = {.median = NAN,
                 .min = NAN,
                 .max = NAN,
                 .mad = NAN,
                 .ci_lo = NAN,
                 .ci_hi = NAN,
                 .ci_level = NAN},
        .min = NAN,
        .p10 = NAN,
        .p90 = NAN,
        .max = NAN,
        .cold_median = NAN,
    };
    for (size_t i = 0; i < one->stat_count; i++)
        if (strcmp(one->stats[i].name, metric) == 0)
            return &one->stats[i];
    return &unknown;
}

double measured_stat_named(const struct result_stat *stat, const char *name)
{
    const struct {
        const char *name;
        double value;
    } all[] = {
        {"median", stat->over.median},
        {"ci_lo", stat->over.ci_lo},
        {"ci_hi", stat->over.ci_hi},
        {"rounds", *stat->name ? (double)stat->over.count : NAN},
        {"min", stat->min},
        {"p10", stat->p10},
        {"p90", stat->p90},
        {"max", stat->max},
        {"cold_median", stat->cold_median},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].value;
    return NAN;
}

double measured_wall_ns(const struct result_case *one)
{
    return measured_stat(one, "wall_ns")->over.median;
}

const struct exact_counts *measured_cold(const struct result_case *one)
{
    return one->status == CASE_ok && one->counters ? &one->counters->cold : NULL;
}

const struct exact_counts *measured_warm(const struct result_case *one)
{
    return one->status == CASE_ok && one->counters ? &one->counters->warm : NULL;
}

double measured_peak(const struct result_case *one, const char *name)
{
    return fmax(counter_value(measured_cold(one), name), counter_value(measured_warm(one), name));
}

double measured_driver_calls(const struct exact_counts *counts)
{
    static const char *const others[] = {"driver_touch_count", "driver_free_count",
                                         "driver_map_count", "driver_unmap_count",
                                         "driver_sync_count"};
    double calls = counter_value(counts, "driver_alloc_count");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const double more = counter_value(counts, others[i]);
        calls += isnan(more) ? 0 : more;
    }
    return calls;
}

double measured_unexplained(const struct result_case *one)
{
    const struct statistics *wall = &measured_stat(one, "wall_ns")->over;
    const double ns = one->model ? one->model->predicted_ns : NAN;
    const double outside_ns = ns < wall->ci_lo   ? wall->ci_lo - ns
                              : ns > wall->ci_hi ? ns - wall->ci_hi
                                                 : 0;
    return isnan(ns) || isnan(wall->ci_lo) || isnan(wall->ci_hi) ? NAN : outside_ns / wall->median;
}

const struct statistics *measured_speedup(const struct result_case *one)
{
    return one->speedup ? &one->speedup->over : &one->speedup_over_raw.over;
}

char *measured_words(char out[MEASURED_WORDS], const struct result_case *one)
{
    const struct case_key *key = &one->key;
    snprintf(out, MEASURED_WORDS, "%s %s %s %s %s %s%s%s", key->workload, key->dataset, key->device,
             key->merge, key->release, key->strategy, *key->residency ? " " : "", key->residency);
    return out;
}

/* ---- its rounds ------------------------------------------------------------------------------- */

const struct result_numbers *measured_samples(const struct result_round *round, const char *metric)
{
    for (size_t i = 0; i < round->sample_count; i++)
        if (strcmp(round->samples[i].name, metric) == 0)
            return &round->samples[i];
    return NULL;
}

/* One number for each round of a case that was ok and knows the metric. */
static size_t round_values(const struct result_case *one, const char *metric, double *round_number,
                           double *value, double (*of_samples)(double *values, size_t count))
{
    size_t n = 0, room = 0;
    double *values = NULL;
    for (size_t i = 0; i < one->round_count && one->status == CASE_ok; i++) {
        const struct result_numbers *samples = measured_samples(&one->rounds[i], metric);
        size_t count = 0;
        if (samples && samples->count > room) {
            room = 2 * samples->count;
            values = must_realloc(values, room * sizeof *values);
        }
        for (size_t s = 0; samples && s < samples->count; s++)
            if (!isnan(samples->values[s]))
                values[count++] = samples->values[s];
        if (!count)
            continue;
        round_number[n] = one->rounds[i].round;
        value[n++] = of_samples(values, count);
    }
    free(values);
    return n;
}

size_t measured_medians(const struct result_case *one, const char *metric, double *round_number,
                        double *median)
{
    return round_values(one, metric, round_number, median, statistics_median);
}

static double least(double *values, size_t count)
{
    double out = values[0];
    for (size_t i = 1; i < count; i++)
        out = fmin(out, values[i]);
    return out;
}

size_t measured_fastest(const struct result_case *one, const char *metric, double *round_number,
                        double *fastest)
{
    return round_values(one, metric, round_number, fastest, least);
}

struct statistics measured_ratio(const struct result_case *over, const struct result_case *under)
{
    if (!over || !under)
        return statistics_of(NULL, 0);
    const size_t most = over->round_count + under->round_count;
    double *round = must_alloc(3 * most * sizeof *round);
    double *wall_ns = round + most, *ratio = wall_ns + most;
    const size_t a = measured_medians(over, "wall_ns", round, wall_ns);
    const size_t b = measured_medians(under, "wall_ns", round + a, wall_ns + a);
    size_t count = 0;
    for (size_t i = 0; i < a; i++)
        for (size_t j = a; j < a + b; j++)
            if (round[i] == round[j] && wall_ns[j] > 0)
                ratio[count++] = wall_ns[i] / wall_ns[j];
    const struct statistics s = statistics_of(ratio, count);
    free(round);
    return s;
}

size_t measured_skipped(const struct result_case *one, const struct result_round **first)
{
    size_t skipped = 0;
    for (size_t i = one->round_count; i-- > 0;)
        if (one->rounds[i].status == CASE_skipped) {
            *first = &one->rounds[i];
            skipped++;
        }
    return skipped;
}

const struct result_round *measured_worst_round(const struct result_case *one)
{
    const struct result_round *worst = NULL, *first;
    const bool all_skipped = measured_skipped(one, &first) == one->round_count;
    for (const struct result_round *r = one->rounds; r < one->rounds + one->round_count; r++)
        if ((all_skipped || r->status != CASE_skipped) && (!worst || r->status > worst->status))
            worst = r;
    return worst;
}
