/* Computes statuses, statistics, speed-ups and means from the rounds of a result. Samples of one
 * process are not independent, so every number here starts from one median a round; intervals are
 * over rounds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/tree.h"
#include "results/file/answer.h"
#include "results/file/baseline.h"
#include "results/file/draft.h"
#include "results/file/experiment_result.h"
#include "results/file/measured.h"
#include "results/file/result.h"

/* ---- a case or a row ------------------------------------------------------------------------- */

/* Skipped rounds do not change the status of a case, but are reported as a warning. */
static void tell_skipped(struct result *result, struct result_case *one, size_t skipped,
                         const char *reason)
{
    static const char code[] = "rounds-skipped";
    size_t kept = 0;
    for (size_t i = 0; i < one->warning_count; i++)
        if (strcmp(one->warnings[i].code, code) != 0) /* the old warning counted fewer rounds */
            one->warnings[kept++] = one->warnings[i];
    one->warning_count = kept;
    char detail[1200];
    snprintf(detail, sizeof detail, "%zu of %zu rounds, the first time: %s", skipped,
             one->round_count, reason ? reason : "");
    result_warn(result, one, code, "rounds", detail);
}

/* Sets status and reason to those of the worst round. Returns whether all rounds were skipped; if
 * only some were, a warning reports them. */
static bool judge(struct result *result, struct result_case *one)
{
    const struct result_round *worst = measured_worst_round(one), *first_skipped = NULL;
    const size_t skipped = measured_skipped(one, &first_skipped);
    const bool all_skipped = skipped == one->round_count;
    if (skipped && !all_skipped)
        tell_skipped(result, one, skipped, first_skipped->reason);
    if (worst) {
        one->status = worst->status;
        one->reason = worst->reason;
    }
    /* A case with a wrong round has no times: that the answer was right in other rounds makes them
     * no times of right answers. */
    for (size_t i = 0; i < one->round_count && one->status == CASE_wrong; i++) {
        one->rounds[i].sample_count = one->rounds[i].cold_sample_count = 0;
        one->rounds[i].model = NULL;
    }
    return all_skipped;
}

/* The statistics of one metric over rounds. False if it was never known. */
static bool metric_stats(const struct result_case *one, const char *metric,
                         struct result_stat *stat)
{
    size_t value_count = 0, round_count = 0, cold_count = 0, most = 0;
    for (size_t i = 0; i < one->round_count; i++) {
        const struct result_numbers *samples = measured_samples(&one->rounds[i], metric);
        most += samples ? samples->count : 0;
    }
    double *values = must_alloc((most + 2 * one->round_count) * sizeof *values);
    double *medians = values + most, *cold = medians + one->round_count;
    for (size_t i = 0; i < one->round_count; i++) {
        const struct result_round *round = &one->rounds[i];
        const struct result_numbers *samples = measured_samples(round, metric);
        const size_t before = value_count;
        for (size_t s = 0; samples && s < samples->count; s++)
            if (!isnan(samples->values[s]))
                values[value_count++] = samples->values[s];
        if (value_count > before)
            medians[round_count++] = statistics_of(values + before, value_count - before).median;
        for (size_t c = 0; c < round->cold_sample_count; c++)
            if (strcmp(round->cold_sample[c].name, metric) == 0 &&
                !isnan(round->cold_sample[c].value))
                cold[cold_count++] = round->cold_sample[c].value;
    }
    if (round_count) {
        statistics_sort(values, value_count);
        *stat = (struct result_stat){.name = metric,
                                     .over = statistics_of(medians, round_count),
                                     .samples = value_count,
                                     .min = values[0],
                                     .p10 = statistics_quantile(values, value_count, 0.1),
                                     .p90 = statistics_quantile(values, value_count, 0.9),
                                     .max = values[value_count - 1],
                                     .cold_median = statistics_of(cold, cold_count).median};
    }
    free(values);
    return round_count > 0;
}

/* `exact_too`: exact metrics of an experiment have statistics as well. */
static void set_stats(struct result *result, struct result_case *one,
                      const struct counter_info *metrics, size_t count, bool exact_too)
{
    one->stats = arena_alloc(&result->derived, (count + 1) * sizeof *one->stats);
    one->stat_count = 0;
    for (size_t i = 0; i < count && one->status == CASE_ok; i++)
        if (exact_too || metrics[i].kind == KIND_SAMPLED)
            one->stat_count += metric_stats(one, metrics[i].name, &one->stats[one->stat_count]);
}

void experiment_summarise(struct result *result, struct result_experiment *experiment)
{
    for (size_t i = 0; i < experiment->row_count; i++) {
        judge(result, &experiment->rows[i]);
        set_stats(result, &experiment->rows[i], experiment->metrics, experiment->metric_count,
                  true);
    }
}

/* ---- a case ---------------------------------------------------------------------------------- */

/* A case and the median wall time of each of its rounds. */
struct row {
    struct result_case *of;
    size_t configuration;     /* the number of all that the key has besides workload and dataset */
    struct row *first, *next; /* the cases of the same workload, dataset and device, in order */
    struct measured_series times;
    const struct row *baseline;
    struct measured_series speedups; /* for each round that the baseline has too */
};

/* A good case is as well checked as its least checked round. */
static void judge_case(struct result *result, struct result_case *one)
{
    const bool all_skipped = judge(result, one);
    const struct result_round *least_checked = NULL;
    double worst_error = NAN;
    for (size_t i = 0; i < one->round_count; i++) {
        const struct result_round *round = &one->rounds[i];
        if (!all_skipped && round->status == CASE_skipped)
            continue;
        if (isnan(worst_error) || round->worst_error > worst_error)
            worst_error = round->worst_error;
        if (!least_checked || round->check == CHECK_NONE)
            least_checked = round;
    }
    if (!least_checked)
        return;
    one->check = least_checked->check;
    one->worst_error = worst_error;
}

/* The median over rounds of the model's predictions; NULL if no round has a prediction, with the
 * reason if there is one. */
static struct result_model *model_of(struct result *result, const struct result_case *one)
{
    struct result_model *model = NULL;
    double *values = must_alloc((one->round_count + 1) * sizeof *values);
    for (size_t i = 0; i < one->round_count; i++)
        if (one->rounds[i].model) {
            if (!model)
                model = arena_alloc(&result->derived, sizeof *model);
            model->why_not = one->rounds[i].model->why_not;
        }
#define X(member, help)                                                                            \
    if (model) {                                                                                   \
        size_t count = 0;                                                                          \
        for (size_t i = 0; i < one->round_count; i++)                                              \
            if (one->rounds[i].model && !isnan(one->rounds[i].model->member))                      \
                values[count++] = one->rounds[i].model->member;                                    \
        model->member = statistics_median(values, count);                                          \
    }
    MODEL_LIST(X)
#undef X
    if (model)
        model->error = model->predicted_ns / measured_wall_ns(one) - 1;
    free(values);
    return model;
}

static void describe_case(struct result *result, struct result_case *one)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    judge_case(result, one);
    set_stats(result, one, list, count, false);
    one->model = model_of(result, one);
    one->speedup_over_raw = (struct result_ratio){.over = statistics_of(NULL, 0)};
    one->speedup = NULL;
    one->peak_over_best = NAN;
}

/* Finds cases that belong together once, since a file may have many. */
static void group_rows(struct row *rows, size_t count)
{
    json_t *programs = tree_object(), *configurations = tree_object();
    struct row **last = must_alloc(count * sizeof *last);
    size_t program_count = 0, configuration_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct row *row = &rows[i];
        const struct case_key *key = &row->of->key;
        struct text name = {0};
        text_add(&name, "%s\n%s\n%s", key->workload, key->dataset, key->device);
        const size_t program = tree_index_of(programs, name.data, program_count);
        text_free(&name);
        row->first = program == program_count ? row : last[program]->first;
        if (program == program_count)
            program_count++;
        else
            last[program]->next = row;
        last[program] = row;
        text_add(&name, "%s\n%s\n%s\n%s\n%s", key->device, key->merge, key->release, key->residency,
                 key->strategy);
        row->configuration = tree_index_of(configurations, name.data, configuration_count);
        configuration_count += row->configuration == configuration_count;
        text_free(&name);
    }
    json_decref(programs);
    json_decref(configurations);
    free(last);
}

static const struct row *baseline_row(const struct row *row, const struct case_key *baseline)
{
    const struct row *best = NULL;
    int least = 0;
    for (const struct row *other = row->first; other; other = other->next) {
        const int rank = baseline_rank(baseline, &row->of->key, &other->of->key);
        if (rank >= 0 && (!best || rank < least)) {
            best = other;
            least = rank;
        }
    }
    return best;
}

/* Pairs the rounds: both times of a pair come from one process on one state of the machine. */
static void put_speedup(struct row *row)
{
    const struct row *base = row->baseline;
    struct measured_series *out = &row->speedups;
    for (size_t i = 0; base && i < row->times.count; i++) {
        const double base_ns = measured_in_round(&base->times, row->times.round[i], i);
        if (isnan(base_ns) || !(row->times.value[i] > 0))
            continue;
        out->round[out->count] = row->times.round[i];
        out->value[out->count++] = base_ns / row->times.value[i];
    }
    if (out->count)
        row->of->speedup_over_raw =
            (struct result_ratio){base->of->id, statistics_of(out->value, out->count)};
}

/* The ratio over another baseline than raw: the one of the device in the answer. */
static void put_other_speedup(struct result *result, struct row *row)
{
    const struct answer_device *device = answer_find(&result->answer, row->of->key.device);
    if (baseline_same(&device->baseline, &baseline_raw))
        return;
    const struct row *base = baseline_row(row, &device->baseline);
    row->of->speedup = arena_alloc(&result->derived, sizeof *row->of->speedup);
    *row->of->speedup = (struct result_ratio){base ? base->of->id : NULL,
                                              measured_ratio(base ? base->of : NULL, row->of)};
}

/* The requested bytes depend on program, merge set and release policy alone, not on a strategy. */
static void put_over_best(struct row *row)
{
    static const char name[] = "peak_requested_bytes";
    for (const struct row *other = row->first; other; other = other->next) {
        const struct case_key *key = &other->of->key;
        const double best = measured_peak(other->of, name);
        if (strcmp(key->merge, "best") == 0 && strcmp(key->release, "last-use") == 0 &&
            strcmp(key->residency, row->of->key.residency) == 0 && best > 0) {
            row->of->peak_over_best = measured_peak(row->of, name) / best;
            return;
        }
    }
}

/* The time that the program's traffic takes at the rate of a copy, and how much of the case's time
 * that is. */
static void put_floor(struct row *row, const struct result *result)
{
    const struct record_device *device = result_device(result, row->of->key.device);
    const double rate = device ? device->copy_bytes_per_second : NAN;
    const double wall = measured_wall_ns(row->of);
    row->of->floor_ns = rate > 0 ? row->of->traffic_bytes * 1e9 / rate : NAN;
    row->of->of_floor = wall > 0 ? row->of->floor_ns / wall : NAN;
}

/* The geometric mean over workloads and datasets, one value for each round that all of them have.
 */
static struct result_mean geometric_mean(const struct row *first, const struct row *rows,
                                         size_t count)
{
    struct result_mean out = {.key = first->of->key};
    size_t mean_count = 0;
    const struct row *shortest = NULL;
    for (const struct row *row = first; row < rows + count; row++) {
        if (row->configuration != first->configuration)
            continue;
        *(row->speedups.count ? &out.cases : &out.missing) += 1;
        if (row->speedups.count && (!shortest || row->speedups.count < shortest->speedups.count))
            shortest = row;
    }
    double *means = must_alloc((shortest ? shortest->speedups.count : 0) * sizeof *means);
    double *values = must_alloc(out.cases * sizeof *values);
    for (size_t r = 0; shortest && r < shortest->speedups.count; r++) {
        size_t n = 0;
        for (const struct row *row = first; row < rows + count; row++)
            if (row->speedups.count && row->configuration == first->configuration)
                values[n++] = measured_in_round(&row->speedups, shortest->speedups.round[r], r);
        double mean = statistics_geometric_mean(values, n);
        if (!isnan(mean))
            means[mean_count++] = mean;
    }
    out.over = statistics_of(means, mean_count);
    free(means);
    free(values);
    return out;
}

/* Configurations are numbered by their first cases. */
static void set_means(struct result *result, const struct row *rows)
{
    result->summary =
        arena_alloc(&result->derived, (result->case_count + 1) * sizeof *result->summary);
    result->mean_count = 0;
    for (size_t i = 0; i < result->case_count; i++)
        if (rows[i].configuration == result->mean_count)
            result->summary[result->mean_count++] =
                geometric_mean(&rows[i], rows, result->case_count);
}

void result_summarise(struct result *result)
{
    const size_t count = result->case_count;
    struct arena arena = {0};
    struct row *rows = arena_alloc(&arena, (count + 1) * sizeof *rows);
    arena_free(&result->derived);
    for (size_t i = 0; i < count; i++) {
        struct result_case *one = &result->cases[i];
        const size_t bytes = one->round_count * sizeof(double);
        describe_case(result, one);
        rows[i] =
            (struct row){.of = one,
                         .times = measured_medians(&arena, one, "wall_ns"),
                         .speedups = {0, arena_alloc(&arena, bytes), arena_alloc(&arena, bytes)}};
    }
    group_rows(rows, count);
    result->answer = answer_of(result, NULL, &result->derived);
    for (size_t i = 0; i < count; i++) {
        rows[i].baseline = baseline_row(&rows[i], &baseline_raw);
        put_speedup(&rows[i]);
        put_other_speedup(result, &rows[i]);
        put_over_best(&rows[i]);
        put_floor(&rows[i], result);
    }
    set_means(result, rows);
    suite_result_summarise(result);
    for (size_t i = 0; i < result->experiment_count; i++)
        experiment_summarise(result, &result->experiments[i]);
    arena_free(&arena);
}
