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
#include "record/facts/case.h"
#include "record/result/answer.h"
#include "record/result/baseline.h"
#include "record/result/case_tree.h"
#include "record/result/experiment_result.h"
#include "record/result/result.h"
#include "record/statistics/statistics.h"
#include "record/result/suite_result.h"

/* A case and the median wall time of each of its rounds. */
struct row {
    json_t *json;
    struct case_key key;
    size_t configuration;     /* the number of all that the key has besides workload and dataset */
    struct row *first, *next; /* the cases of the same workload, dataset and device, in order */
    size_t round_count;
    double *round;   /* number of each round */
    double *wall_ns; /* median wall time of each round */
    const struct row *baseline;
    size_t speedup_count;
    double *speedup_round, *speedup; /* for each round that the baseline has too */
};

/* A good case is as well checked as its least checked round. */
static void judge_case(json_t *one_case)
{
    json_t *rounds = json_object_get(one_case, "rounds"), *round, *least_checked = NULL;
    const bool all_skipped = case_judge(one_case);
    double worst_error = NAN;
    size_t i;
    json_array_foreach(rounds, i, round)
    {
        if (!all_skipped && case_has_status(round, CASE_skipped))
            continue;
        double error = tree_get_number(round, "worst_error");
        if (isnan(worst_error) || error > worst_error)
            worst_error = error;
        if (!least_checked ||
            strcmp(tree_get_text(round, "check"), case_check_name(CHECK_NONE)) == 0)
            least_checked = round;
    }
    if (!least_checked)
        return;
    tree_put(one_case, "check", tree_share(least_checked, "check"));
    tree_put(one_case, "worst_error", tree_number(worst_error));
}

/* The median over rounds of the model's predictions; null if no round has a prediction, with the
 * reason if there is one. `error` is the prediction over the measured median, less 1. */
static json_t *model_stats(const json_t *rounds, double wall_ns)
{
    static const char *const names[] = {
#define X(name, help) #name,
        MODEL_LIST(X)
#undef X
    };
    json_t *round, *out = NULL;
    double *values = must_alloc(json_array_size(rounds) * sizeof *values);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        size_t i, count = 0;
        json_array_foreach((json_t *)rounds, i, round)
        {
            const json_t *model = json_object_get(round, "model");
            double value = tree_get_number(model, names[n]);
            if (json_is_object(model) && !out)
                out = tree_object();
            if (json_is_object(model) && n == 0)
                tree_put(out, "why_not", tree_share(model, "why_not"));
            if (!isnan(value))
                values[count++] = value;
        }
        double median = count ? statistics_of(values, count).median : NAN;
        if (!out)
            break;
        tree_put(out, names[n], tree_number(median));
        if (n == 0)
            tree_put(out, "error", tree_number(median / wall_ns - 1));
    }
    free(values);
    return out ? out : json_null();
}

static void describe_case(json_t *one_case)
{
    judge_case(one_case);
    json_t *stats = tree_object();
    const bool good = case_is_ok(one_case);
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; good && i < count; i++) {
        if (list[i].kind != KIND_SAMPLED)
            continue;
        json_t *metric = case_metric_stats(json_object_get(one_case, "rounds"), list[i].name);
        if (metric)
            tree_put(stats, list[i].name, metric);
    }
    tree_put(one_case, "stats", stats);
    tree_put(
        one_case, "model",
        model_stats(json_object_get(one_case, "rounds"), case_stat(one_case, "wall_ns", "median")));
    tree_put(one_case, "speedup_over_raw", json_null());
    json_object_del(one_case, "speedup");
    tree_put(one_case, "peak_over_best", json_null());
}

static struct row row_of(json_t *one_case, struct arena *arena)
{
    const size_t bytes = json_array_size(json_object_get(one_case, "rounds")) * sizeof(double);
    struct row row = {
        .json = one_case,
        .round = arena_alloc(arena, bytes),
        .wall_ns = arena_alloc(arena, bytes),
        .speedup_round = arena_alloc(arena, bytes),
        .speedup = arena_alloc(arena, bytes),
    };
    case_key_from_json(json_object_get(one_case, "key"), &row.key, NULL);
    row.round_count = case_round_medians(one_case, "wall_ns", row.round, row.wall_ns);
    return row;
}

/* Finds cases that belong together once, since a file may have many. */
static void group_rows(struct row *rows, size_t count)
{
    json_t *programs = tree_object(), *configurations = tree_object();
    struct row **last = must_alloc(count * sizeof *last);
    size_t program_count = 0, configuration_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct row *row = &rows[i];
        const struct case_key *key = &row->key;
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
        const int rank = baseline_rank(baseline, &row->key, &other->key);
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
    for (size_t i = 0; base && i < row->round_count; i++)
        for (size_t j = 0; j < base->round_count; j++)
            if (row->round[i] == base->round[j] && row->wall_ns[i] > 0) {
                row->speedup_round[row->speedup_count] = row->round[i];
                row->speedup[row->speedup_count++] = base->wall_ns[j] / row->wall_ns[i];
                break;
            }
    if (!row->speedup_count)
        return;
    struct statistics s = statistics_of(row->speedup, row->speedup_count);
    json_t *out = tree_pack("{s:o}", "baseline", tree_share(base->json, "id"));
    case_put_interval(out, &s);
    tree_put(row->json, "speedup_over_raw", out);
}

/* The ratio over another baseline than raw: the one of the device in the answer. */
static void put_other_speedup(struct row *row, const json_t *answer)
{
    const json_t *json = json_object_get(answer_find(answer, row->key.device), "baseline");
    struct case_key baseline = {0};
#define X(member)                                                                                  \
    snprintf(baseline.member, sizeof baseline.member, "%s", tree_get_text(json, #member));
    BASELINE_LIST(X)
#undef X
    if (baseline_same(&baseline, &baseline_raw))
        return;
    const struct row *base = baseline_row(row, &baseline);
    const struct statistics s = case_ratio(base ? base->json : NULL, row->json);
    json_t *out = json_null();
    if (s.count) {
        out = tree_pack("{s:o}", "baseline", tree_share(base->json, "id"));
        case_put_interval(out, &s);
    }
    tree_put(row->json, "speedup", out);
}

/* The requested bytes depend on program, merge set and release policy alone, not on a strategy. */
static void put_over_best(struct row *row)
{
    static const char name[] = "peak_requested_bytes";
    for (const struct row *other = row->first; other; other = other->next) {
        if (strcmp(other->key.merge, "best") != 0 || strcmp(other->key.release, "last-use") != 0 ||
            strcmp(other->key.residency, row->key.residency) != 0)
            continue;
        const double best = case_peak(other->json, name);
        if (best > 0) {
            tree_put(row->json, "peak_over_best", tree_number(case_peak(row->json, name) / best));
            return;
        }
    }
}

/* The time that the program's traffic takes at the rate of a copy, and how much of the case's time
 * that is. */
static void put_floor(struct row *row, const json_t *root)
{
    double traffic = tree_get_number(row->json, "traffic_bytes");
    double rate = tree_get_number(case_device(root, row->key.device), "copy_bytes_per_second");
    double wall = case_stat(row->json, "wall_ns", "median");
    double floor_ns = rate > 0 ? traffic * 1e9 / rate : NAN;
    tree_put(row->json, "floor_ns", tree_number(floor_ns));
    tree_put(row->json, "of_floor", tree_number(wall > 0 ? floor_ns / wall : NAN));
}

static double speedup_in_round(const struct row *row, double round)
{
    for (size_t i = 0; i < row->speedup_count; i++)
        if (row->speedup_round[i] == round)
            return row->speedup[i];
    return NAN;
}

/* The geometric mean over workloads and datasets, one value for each round that all of them have.
 */
static json_t *geometric_mean(const struct row *first, const struct row *rows, size_t count)
{
    size_t included = 0, missing = 0, mean_count = 0;
    const struct row *shortest = NULL;
    for (const struct row *row = first; row < rows + count; row++) {
        if (row->configuration != first->configuration)
            continue;
        *(row->speedup_count ? &included : &missing) += 1;
        if (row->speedup_count && (!shortest || row->speedup_count < shortest->speedup_count))
            shortest = row;
    }
    double *means = must_alloc((shortest ? shortest->speedup_count : 0) * sizeof *means);
    double *values = must_alloc(included * sizeof *values);
    for (size_t r = 0; shortest && r < shortest->speedup_count; r++) {
        size_t n = 0;
        for (const struct row *row = first; row < rows + count; row++)
            if (row->speedup_count && row->configuration == first->configuration)
                values[n++] = speedup_in_round(row, shortest->speedup_round[r]);
        double mean = statistics_geometric_mean(values, n);
        if (!isnan(mean))
            means[mean_count++] = mean;
    }
    struct statistics s = statistics_of(means, mean_count);
    const struct case_key *key = &first->key;
    json_t *out = tree_pack("{s:s, s:s, s:s, s:s}", "device", key->device, "merge", key->merge,
                            "release", key->release, "strategy", key->strategy);
    if (*key->residency)
        tree_put(out, "residency", tree_text(key->residency));
    tree_put(out, "cases", tree_count(included));
    tree_put(out, "missing", tree_count(missing));
    case_put_interval(out, &s);
    free(means);
    free(values);
    return out;
}

void result_summarise(json_t *root)
{
    json_t *cases = json_object_get(root, "cases"), *summary = tree_array(), *each;
    size_t i, count = json_array_size(cases);
    struct arena arena = {0};
    struct row *rows = arena_alloc(&arena, count * sizeof *rows);
    json_array_foreach(cases, i, each)
    {
        describe_case(each);
        rows[i] = row_of(each, &arena);
    }
    group_rows(rows, count);
    json_t *answer = answer_of(root, NULL);
    for (i = 0; i < count; i++) {
        rows[i].baseline = baseline_row(&rows[i], &baseline_raw);
        put_speedup(&rows[i]);
        put_other_speedup(&rows[i], answer);
        put_over_best(&rows[i]);
        put_floor(&rows[i], root);
    }
    /* Configurations are numbered by their first cases. */
    for (i = 0; i < count; i++)
        if (rows[i].configuration == json_array_size(summary))
            tree_append(summary, geometric_mean(&rows[i], rows, count));
    tree_put(root, "summary", summary);
    tree_put(root, "answer", answer);
    suite_result_summarise(root);
    json_array_foreach(json_object_get(root, "experiments"), i, each) experiment_summarise(each);
    arena_free(&arena);
}
