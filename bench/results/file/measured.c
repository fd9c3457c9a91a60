#include "results/file/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* ---- its members ----------------------------------------------------------------------------- */

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

/* ---- its rounds ------------------------------------------------------------------------------ */

const struct result_numbers *measured_samples(const struct result_round *round, const char *metric)
{
    for (size_t i = 0; i < round->sample_count; i++)
        if (strcmp(round->samples[i].name, metric) == 0)
            return &round->samples[i];
    return NULL;
}

/* One number for each round of a case that was ok and knows the metric. */
static struct measured_series series_of(struct arena *arena, const struct result_case *one,
                                        const char *metric,
                                        double (*of_samples)(double *values, size_t count))
{
    struct measured_series s = {0, arena_alloc(arena, one->round_count * sizeof *s.round),
                                arena_alloc(arena, one->round_count * sizeof *s.value)};
    size_t room = 0;
    double *values = NULL;
    for (size_t i = 0; i < one->round_count && one->status == CASE_ok; i++) {
        const struct result_numbers *samples = measured_samples(&one->rounds[i], metric);
        size_t count = 0;
        if (samples && samples->count > room) {
            room = 2 * samples->count;
            values = must_realloc(values, room * sizeof *values);
        }
        for (size_t n = 0; samples && n < samples->count; n++)
            if (!isnan(samples->values[n]))
                values[count++] = samples->values[n];
        if (!count)
            continue;
        s.round[s.count] = one->rounds[i].round;
        s.value[s.count++] = of_samples(values, count);
    }
    free(values);
    return s;
}

struct measured_series measured_medians(struct arena *arena, const struct result_case *one,
                                        const char *metric)
{
    return series_of(arena, one, metric, statistics_median);
}

static double least(double *values, size_t count)
{
    double out = values[0];
    for (size_t i = 1; i < count; i++)
        out = fmin(out, values[i]);
    return out;
}

struct measured_series measured_fastest(struct arena *arena, const struct result_case *one,
                                        const char *metric)
{
    return series_of(arena, one, metric, least);
}

double measured_in_round(const struct measured_series *series, double round, size_t guess)
{
    if (guess < series->count && series->round[guess] == round)
        return series->value[guess];
    for (size_t i = 0; i < series->count; i++)
        if (series->round[i] == round)
            return series->value[i];
    return NAN;
}

struct statistics measured_ratio(const struct result_case *over, const struct result_case *under)
{
    if (!over || !under)
        return statistics_of(NULL, 0);
    struct arena arena = {0};
    const struct measured_series a = measured_medians(&arena, over, "wall_ns");
    const struct measured_series b = measured_medians(&arena, under, "wall_ns");
    double *ratio = arena_alloc(&arena, a.count * sizeof *ratio);
    size_t count = 0;
    for (size_t i = 0; i < a.count; i++) {
        const double ns = measured_in_round(&b, a.round[i], i);
        if (ns > 0)
            ratio[count++] = a.value[i] / ns;
    }
    const struct statistics s = statistics_of(ratio, count);
    arena_free(&arena);
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
